//! Pay before a study runs: the least and the most that each outcome can come to, and warnings about it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::design::Between;
use crate::formula::bounds::{Bounds, Possible, find_bounds};
use crate::host::EnvFactsByStage;
use crate::limits::MAX_AMOUNT;
use crate::outcome::Outcome;
use crate::payment::{SCALES, decimals};
use crate::recruitment::WayOut;
use crate::stage::StageKind;
use crate::study::Study;
use crate::timeline::most::most_in;

/// A way that a participant's session can end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomePay {
    /// The outcome.
    pub outcome: Outcome,
    /// The pay rule; `None` if the study has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay: Option<String>,
    /// The amounts that it can come to; `None` if nothing is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<PayBounds>,
}

/// The amounts that a pay rule can come to, in units of the currency.
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

impl Study {
    pub(super) fn outcome_pay(&self, outcome: Outcome, playable: &EnvFactsByStage) -> OutcomePay {
        let way = self.recruitment.outcomes.get(&outcome);
        let follows = outcome == Outcome::Withdrew && !self.recruitment.outcomes.is_empty();
        let usual = follows.then_some(AS_OTHERWISE);
        OutcomePay {
            outcome,
            pay: way.map(WayOut::rule).or(usual).map(str::to_owned),
            amount: way.and_then(|way| self.pay_bounds(way, playable)),
        }
    }

    /// The amounts that a rule can come to, over all treatments.
    fn pay_bounds(&self, way: &WayOut, playable: &EnvFactsByStage) -> Option<PayBounds> {
        let currency = self.recruitment.pay_terms.currency.clone()?;
        let pay = way.pay.as_ref()?;
        let amounts = self.design.treatments().into_iter().map(|treatment| {
            let mut variables = self.possible_facts(&treatment, playable);
            variables.extend(self.possible_money(way, &variables));
            paid(find_bounds(pay.expr(), &variables))
        });
        let all = amounts.reduce(Bounds::join)?;
        let scale = SCALES[decimals(&currency)] as f64;
        let rounded = |amount: f64| (amount * scale).round() / scale;
        Some(PayBounds {
            currency,
            least: rounded(all.least),
            most: (all.most < MAX_AMOUNT).then(|| rounded(all.most)),
        })
    }

    /// `base`, `bonus` and `time`, as far as a rule names them.
    fn possible_money(
        &self,
        way: &WayOut,
        facts: &BTreeMap<String, Possible>,
    ) -> [(String, Possible); 3] {
        let terms = &self.recruitment.pay_terms;
        let bonus = self.bonus.as_ref();
        let bonus = bonus.map(|bonus| paid(find_bounds(bonus.expr(), facts)));
        let rate = terms.time_rate_per_hour.unwrap_or(0.0);
        let most_time = rate * terms.most_time_minutes() / 60.0;
        let all = [
            ("base", Bounds::only(terms.base.unwrap_or(0.0))),
            ("bonus", bonus.unwrap_or(Bounds::only(0.0))),
            ("time", Bounds::new(0.0, most_time)),
        ];
        let named = |name: &str| way.pays(name);
        all.map(|(name, bounds)| {
            let bounds = if named(name) {
                bounds
            } else {
                Bounds::only(0.0)
            };
            (name.to_owned(), Possible::Number(bounds))
        })
    }

    /// The values of what formulas can ask, of participants with a treatment.
    fn possible_facts(
        &self,
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
            let visits = most_in(&self.tree, &self.design, &self.timeline, treatment, &visit);
            let episodes = visits * f64::from(env.course.limit());
            let episode = Possible::record([
                ("score", Possible::Number(Bounds::ALL)),
                ("ticks", Possible::Number(Bounds::new(0.0, longest))),
                ("success", Possible::Bool(None)),
            ]);
            let list = Possible::List(Box::new(episode), Bounds::new(0.0, episodes));
            facts.insert(stage.id.clone(), Possible::record([("episodes", list)]));
        }
        let levels = self.design.between.iter().zip(treatment);
        let value = |(factor, level): (&Between, &usize)| {
            (
                factor.name.clone(),
                Possible::of(&factor.levels[*level].value),
            )
        };
        facts.extend(levels.map(value));
        facts
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
            way.is_some_and(|way| way.pays("time"))
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

    /// Ways out of people who gave their time, of which a study that pays says nothing.
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

    /// A rule for withdrawals that nobody comes to, or that lowers the pay.
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

/// An amount as it is paid: never negative.
fn paid(bounds: Bounds) -> Bounds {
    Bounds::new(
        bounds.least.clamp(0.0, MAX_AMOUNT),
        bounds.most.clamp(0.0, MAX_AMOUNT),
    )
}
