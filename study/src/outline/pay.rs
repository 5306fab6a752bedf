//! Pay before a study runs: the least and the greatest pay of each outcome, and warnings about it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::design::{Between, Unit};
use crate::formula::bounds::{Bounds, FormulaBounds, Possible, find_bounds};
use crate::host::EnvFactsByStage;
use crate::limits::{MAX_AMOUNT, MAX_SEATS};
use crate::money::{SCALES, decimals_of};
use crate::outcome::Outcome;
use crate::recruitment::WayOut;
use crate::stage::StageKind;
use crate::study::Study;
use crate::timeline::most::most_in;
use crate::timeline::retries::most_again;
use crate::timeline::tree::Node;

/// A way that a participant's session can end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomePay {
    /// The outcome.
    pub outcome: Outcome,
    /// The pay rule; `None` if the study has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay: Option<String>,
    /// The possible amounts; `None` if nothing is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<PayBounds>,
}

/// The possible amounts of a pay rule, in units of the currency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PayBounds {
    /// The currency.
    pub currency: String,
    /// The least amount.
    pub least: f64,
    /// The greatest amount; `None` if the rule has no upper limit.
    pub most: Option<f64>,
}

/// The rule of a withdrawal where the study has none.
const AS_OTHERWISE: &str = "as without the withdrawal";

/// A score as a formula sees it: a whole number of 64 bits.
const SCORES: Bounds = Bounds::new(i64::MIN as f64, i64::MAX as f64);

impl Study {
    pub(super) fn outcome_pay(&self, outcome: Outcome, playable: &EnvFactsByStage) -> OutcomePay {
        let ways = &self.recruitment.outcomes;
        let way = ways.get(&outcome);
        let follows = outcome == Outcome::Withdrew && way.is_none() && !ways.is_empty();
        let amount = match follows {
            true => self.withdrawal_bounds(playable),
            false => way.and_then(|way| self.pay_bounds(outcome, way, playable)),
        };
        OutcomePay {
            outcome,
            pay: way
                .map(WayOut::rule)
                .or(follows.then_some(AS_OTHERWISE))
                .map(str::to_owned),
            amount,
        }
    }

    /// The amounts of those who withdraw at the debriefing, where the study has no rule for them: they are paid as they
    /// would be otherwise.
    fn withdrawal_bounds(&self, playable: &EnvFactsByStage) -> Option<PayBounds> {
        let otherwise = self.list_outcomes_at_debriefing().into_iter();
        let ways = otherwise.filter_map(|it| Some((it, self.recruitment.outcomes.get(&it)?)));
        let amounts = ways.map(|(it, way)| self.pay_bounds(it, way, playable));
        let amounts: Vec<Option<PayBounds>> = amounts.collect();
        let nothing = amounts.iter().any(Option::is_none);
        let all = amounts.into_iter().flatten().reduce(PayBounds::join)?;
        Some(PayBounds {
            least: if nothing { 0.0 } else { all.least },
            ..all
        })
    }

    /// Returns the possible amounts of a rule, over all treatments.
    fn pay_bounds(
        &self,
        outcome: Outcome,
        way: &WayOut,
        playable: &EnvFactsByStage,
    ) -> Option<PayBounds> {
        let currency = self.recruitment.pay_terms.currency.clone()?;
        let pay = way.pay.as_ref()?;
        let scale = SCALES[decimals_of(&currency)] as f64;
        let amounts = self.design.list_treatments().into_iter().map(|treatment| {
            let mut variables = self.possible_facts(outcome, &treatment, playable);
            variables.extend(self.possible_money(way, &variables, scale));
            paid(find_bounds(pay.expr(), &variables), scale)
        });
        let all = amounts.reduce(Bounds::join)?;
        Some(PayBounds {
            currency,
            least: all.least,
            most: (all.most < MAX_AMOUNT).then_some(all.most),
        })
    }

    /// `base`, `bonus` and `time`, as far as a rule names them.
    fn possible_money(
        &self,
        way: &WayOut,
        facts: &BTreeMap<String, Possible>,
        scale: f64,
    ) -> [(String, Possible); 3] {
        let terms = &self.recruitment.pay_terms;
        let bonus = self.bonus.as_ref();
        let bonus = bonus.map(|bonus| paid(find_bounds(bonus.expr(), facts), scale));
        let rate = terms.time_rate_per_hour.unwrap_or(0.0);
        let most_time = rate * terms.most_time_minutes() / 60.0;
        let all = [
            (
                "base",
                in_units(Bounds::only(terms.base.unwrap_or(0.0)), scale),
            ),
            ("bonus", bonus.unwrap_or(Bounds::only(0.0))),
            ("time", in_units(Bounds::new(0.0, most_time), scale)),
        ];
        let named = |name: &str| way.is_paid(name);
        all.map(|(name, bounds)| {
            let bounds = if named(name) {
                bounds
            } else {
                Bounds::only(0.0)
            };
            (name.to_owned(), Possible::Number(bounds))
        })
    }

    /// The values of what formulas can ask, of participants with a treatment and an outcome. What is missing may have any
    /// value, or none.
    fn possible_facts(
        &self,
        outcome: Outcome,
        treatment: &[usize],
        playable: &EnvFactsByStage,
    ) -> BTreeMap<String, Possible> {
        let mut facts = BTreeMap::new();
        for (index, stage) in (0_u16..).zip(&self.timeline) {
            let StageKind::Env(env) = &stage.kind else {
                continue;
            };
            let horizons = playable.range((index, String::new())..(index + 1, String::new()));
            let longest = horizons.map(|(_, facts)| f64::from(facts.horizon));
            let longest = longest.fold(0.0, f64::max);
            let visit = |other: u16| f64::from(u8::from(other == index));
            let visits = most_in(&self.tree, &self.design, &self.timeline, treatment, &visit)
                + most_again(self, treatment, index);
            let episodes = visits * f64::from(env.course.limit());
            let most_reward = f64::from(f32::MAX) * longest;
            let reward = || Possible::Number(Bounds::new(-most_reward, most_reward));
            let seats = Bounds::new(0.0, MAX_SEATS.into());
            let list = |of: Possible| Possible::List(Box::new(of), seats);
            let episode = Possible::record([
                ("score", Possible::Number(SCORES)),
                ("own_score", Possible::Number(SCORES)),
                ("scores", list(Possible::Number(SCORES))),
                ("own_reward", reward()),
                ("rewards", list(reward())),
                ("ticks", Possible::Number(Bounds::new(0.0, longest))),
                ("success", Possible::Bool(None)),
                ("reason", Possible::Any),
                ("partners", Possible::Any),
            ]);
            let list = Possible::List(Box::new(episode), Bounds::new(0.0, episodes));
            facts.insert(stage.id.clone(), Possible::record([("episodes", list)]));
        }
        let has_levels = self.has_levels(outcome);
        let levels = self.design.between.iter().zip(treatment);
        let value = |(factor, level): (&Between, &usize)| {
            let value = Possible::of(&factor.levels[*level].value);
            let value = if has_levels { value } else { value.unsure() };
            (factor.name.clone(), value)
        };
        facts.extend(levels.map(value));
        facts
    }

    /// Returns whether everybody with an outcome has a level of each factor. Groups get theirs in a lobby, and who finds
    /// no place gets none.
    fn has_levels(&self, outcome: Outcome) -> bool {
        let is_of_group = |name: &str| self.design.unit_of(name) == Unit::Group;
        let unit = match self.design.names().any(is_of_group) {
            true => Unit::Group,
            false => Unit::Participant,
        };
        match unit {
            Unit::Participant => outcome != Outcome::StudyFull,
            Unit::Group => {
                self.last_outcome() == Some(outcome)
                    && self.outcomes_that_cut().all(|other| other != outcome)
                    && passes_last_lobby(&self.tree, self)
            }
        }
    }

    /// Lists the outcomes of people who do not reach the last stage by themselves.
    fn outcomes_that_cut(&self) -> impl Iterator<Item = Outcome> + '_ {
        let of_stages = self.timeline.iter().filter_map(|stage| match &stage.kind {
            StageKind::Screening(it) => Some(it.or_else),
            StageKind::Consent(it) => Some(it.or_else),
            StageKind::Quiz(it) => Some(it.or_else),
            StageKind::Lobby(it) => Some(it.or_else),
            StageKind::External(it) => it.or_else,
            _ => None,
        });
        let of_server = [
            Outcome::LeftEarly,
            Outcome::TimedOut,
            Outcome::PageFailed,
            Outcome::PartnerLeft,
            Outcome::StudyFull,
        ];
        of_stages.chain(of_server)
    }

    /// Warnings about pay rules.
    pub(super) fn warn_of_pay(&self, playable: &EnvFactsByStage, warn: &impl Fn(&str, String)) {
        if self.recruitment.pay_terms.currency.is_none() {
            return;
        }
        self.warn_of_unpaid(warn);
        self.warn_of_withdrawal(warn);
        let terms = &self.recruitment.pay_terms;
        let mut pays_time = self.outcomes().into_iter().filter(|outcome| {
            let way = self.recruitment.outcomes.get(outcome);
            way.is_some_and(|way| way.is_paid("time"))
        });
        if !terms.has_time_limit() && pays_time.next().is_some() {
            let message = format!(
                "at most {} minutes are paid, as nothing says how long the study takes; write for example `minutes: 20`, \
                 of which twice as much is paid at most, or `max_time_minutes: 30`",
                terms.most_time_minutes()
            );
            warn("recruitment.time_rate_per_hour", message);
        }
        for outcome in self.outcomes() {
            let amount = self.outcome_pay(outcome, playable).amount;
            if amount.is_some_and(|amount| amount.most.is_none()) {
                let message = format!(
                    "the pay of `{outcome}` has no upper limit; bound it, as in `clamp(…, 0.0, 5.0)`"
                );
                let bonus = self.bonus.is_some();
                let place = if bonus { "bonus" } else { "recruitment" };
                return warn(place, message);
            }
        }
    }

    /// Warns of outcomes of people who gave their time, if a study that pays says nothing about them.
    fn warn_of_unpaid(&self, warn: &impl Fn(&str, String)) {
        for outcome in self.outcomes() {
            let is_usual = matches!(
                outcome,
                Outcome::NoConsent
                    | Outcome::Ineligible
                    | Outcome::StudyFull
                    | Outcome::PageFailed
                    | Outcome::Withdrew
            );
            let way = self.recruitment.outcomes.get(&outcome);
            let is_said = self.source.has(&format!("recruitment.outcomes.{outcome}"));
            if !is_usual && !is_said && way.is_none_or(|way| way.pay.is_none()) {
                let message = format!(
                    "`{outcome}` can happen and has no pay rule, so nothing is paid; write `time_rate_per_hour: 9.00` to \
                     pay the time, or say it in `outcomes`: `{outcome}: {{do: return, pay: none}}`"
                );
                warn("recruitment", message);
            }
        }
    }

    /// Warns of a rule for withdrawals that never applies, or that lowers the pay.
    fn warn_of_withdrawal(&self, warn: &impl Fn(&str, String)) {
        let ways = &self.recruitment.outcomes;
        let Some(way) = ways.get(&Outcome::Withdrew) else {
            return;
        };
        let place = "recruitment.outcomes.withdrew";
        let full = ways.get(&Outcome::Completed).map(WayOut::rule);
        if !self.outcomes().contains(&Outcome::Withdrew) {
            let message = "nobody comes to this outcome, as no debriefing has `allow_withdraw: true`; participants who \
                           leave early end as `left_early`";
            warn(place, message.to_owned());
        } else if Some(way.rule()) != full {
            let message = "participants who withdraw at the debriefing are paid otherwise than those who do not; remove \
                           this rule, and they are paid the same. Participants who leave early end as `left_early`";
            warn(place, message.to_owned());
        }
    }
}

impl PayBounds {
    fn join(self, other: Self) -> Self {
        Self {
            currency: self.currency,
            least: self.least.min(other.least),
            most: self.most.zip(other.most).map(|(one, other)| one.max(other)),
        }
    }
}

/// Returns whether everybody who reaches the end of some nodes has passed the last lobby in them.
fn passes_last_lobby(nodes: &[Node], study: &Study) -> bool {
    let is_lobby = |node: &Node| match node {
        Node::Stage(stage) => study.lobby(*stage).is_some(),
        Node::Block(block) => has_lobby(&block.block, study),
    };
    match nodes.iter().rev().find(|node| is_lobby(node)) {
        Some(Node::Stage(_)) => true,
        Some(Node::Block(block)) => {
            let is_whole = block.when.is_none() && !block.shuffle && block.choose.is_none();
            is_whole && passes_last_lobby(&block.block, study)
        }
        None => false,
    }
}

fn has_lobby(nodes: &[Node], study: &Study) -> bool {
    nodes.iter().any(|node| match node {
        Node::Stage(stage) => study.lobby(*stage).is_some(),
        Node::Block(block) => has_lobby(&block.block, study),
    })
}

/// Returns the amounts of a rule: nothing if it has no value.
fn paid(found: FormulaBounds, scale: f64) -> Bounds {
    let nothing = found.may_fail.then_some(Bounds::only(0.0));
    in_units(
        nothing.map_or(found.bounds, |none| none.join(found.bounds)),
        scale,
    )
}

/// Returns an amount as it is paid: never negative, in whole units of the currency.
fn in_units(bounds: Bounds, scale: f64) -> Bounds {
    bounds.each(|amount| (amount.clamp(0.0, MAX_AMOUNT) * scale).round() / scale)
}
