//! The figures of a study before it runs, and warnings about what is odd but not wrong.

mod lobbies;
mod pay;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::assign;
use crate::design::{LevelOrder, Quota, Unit};
use crate::host::EnvFactsByStage;
use crate::outcome::Outcome;
use crate::problem::{Problem, ProblemReport};
use crate::recruitment::{Provider, usual_floor_per_hour};
use crate::stage::chat::Chat;
use crate::stage::lobby::OnTimeout;
use crate::stage::{Mode, Stage, StageKind};
use crate::study::{FILE, Study};
use crate::timeline::most::greatest_weight;
use crate::yaml::Data;

pub use lobbies::LobbyOutline;
pub use pay::{OutcomePay, PayBounds};

/// The figures of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outline {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its title.
    pub title: String,
    /// SHA-256 of its canonical form.
    pub hash: String,
    /// Its stages, in the order of the file.
    pub stages: Vec<StageOutline>,
    /// Visits of the longest route.
    pub visits: usize,
    /// The unit that gets levels and orders.
    pub unit: Unit,
    /// The number of units that should complete the study; `None` for no limit.
    pub quota: Option<u32>,
    /// Names of the treatments; empty if nothing varies between units.
    pub treatments: Vec<String>,
    /// The factors of which a unit gets every level.
    pub orders: Vec<FactorOutline>,
    /// The lobbies.
    pub lobbies: Vec<LobbyOutline>,
    /// Every way that a participant's session can end.
    pub outcomes: Vec<OutcomePay>,
    /// The time that it takes, as far as that is known.
    pub minutes: Minutes,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageOutline {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The most visits that a participant makes.
    pub visits: usize,
    /// Seats, of an env stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seats: Option<usize>,
    /// Seats that people take, of an env stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub people: Option<usize>,
}

/// A factor of which a unit gets every level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactorOutline {
    /// Its name.
    pub factor: String,
    /// Its levels.
    pub levels: usize,
    /// Their order.
    pub order: LevelOrder,
    /// The number of balanced sequences; `None` if any order is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequences: Option<u16>,
}

/// The time that a study takes, minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Minutes {
    /// As the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<f64>,
    /// Episodes at most.
    pub play: f64,
    /// Chats, unless there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatMinutes>,
    /// Waiting for partners at most, until the lobby's time is up.
    pub wait: f64,
}

/// The duration of the chats of a study, minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChatMinutes {
    /// The least time, until a member can continue from all of them.
    pub least: f64,
    /// Until their time is up.
    pub most: f64,
}

impl Study {
    /// The figures of the study. `playable` are the facts of its environments, as [`crate::DraftStudy::check`] returns them.
    pub fn make_outline(&self, playable: &EnvFactsByStage) -> Outline {
        let quota = match &self.design.quota {
            Quota::None => None,
            Quota::Total(count) => Some(*count),
            Quota::Each(counts) => Some(counts.iter().sum()),
        };
        let names = self.design.list_treatments();
        let names = names.iter().map(|cell| self.design.treatment_name(cell));
        Outline {
            id: self.id.clone(),
            version: self.version.clone(),
            title: self.title.usual_text().to_owned(),
            hash: self.hash.clone(),
            stages: self.parts(),
            visits: self.most(|_| 1.0) as usize,
            unit: self.design.unit,
            quota,
            treatments: names.filter(|name| !name.is_empty()).collect(),
            orders: self.orders(),
            lobbies: self.outline_lobbies(),
            outcomes: self
                .outcomes()
                .into_iter()
                .map(|outcome| self.outcome_pay(outcome, playable))
                .collect(),
            minutes: Minutes {
                declared: self.recruitment.pay_terms.minutes,
                play: self.most(|stage| self.seconds(stage, playable)) / 60.0,
                chat: self.chatting(),
                wait: self.most(|stage| self.waiting(stage)) / 60.0,
            },
        }
    }

    /// Returns the greatest sum of a route, where each stage counts as much as `weight` says.
    fn most(&self, weight: impl Fn(u16) -> f64) -> f64 {
        greatest_weight(&self.tree, &self.design, &self.timeline, &weight)
    }

    fn parts(&self) -> Vec<StageOutline> {
        let part = |(index, stage): (u16, &Stage)| {
            let env = match &stage.kind {
                StageKind::Env(env) => Some(env),
                _ => None,
            };
            StageOutline {
                id: stage.id.clone(),
                kind: stage.kind.name(),
                visits: self.most(|other| f64::from(u8::from(other == index))) as usize,
                seats: env.map(|env| env.players.len()),
                people: env.map(|env| env.people()),
            }
        };
        (0..).zip(&self.timeline).map(part).collect()
    }

    fn orders(&self) -> Vec<FactorOutline> {
        let orders = |factor: &crate::design::Within| {
            let balanced = matches!(factor.order, LevelOrder::Latin | LevelOrder::Williams);
            let levels = factor.levels.len();
            FactorOutline {
                factor: factor.name.clone(),
                levels,
                order: factor.order,
                sequences: balanced.then(|| assign::rows(factor.order, levels)),
            }
        };
        self.design.within.iter().map(orders).collect()
    }

    /// Lists every outcome that a participant can have.
    pub fn outcomes(&self) -> BTreeSet<Outcome> {
        let mut all = BTreeSet::from([Outcome::LeftEarly]);
        for stage in &self.timeline {
            match &stage.kind {
                StageKind::Screening(it) => drop(all.insert(it.or_else)),
                StageKind::Consent(it) => drop(all.insert(it.or_else)),
                StageKind::Quiz(it) => drop(all.insert(it.or_else)),
                StageKind::Lobby(it) => drop(all.insert(it.or_else)),
                StageKind::External(it) => all.extend(it.or_else),
                // Who comes too late for the group.
                StageKind::Chat(_) => drop(all.insert(Outcome::TimedOut)),
                StageKind::End(it) => drop(all.insert(it.outcome)),
                StageKind::Debrief(it) => {
                    all.extend(it.allow_withdraw.then_some(Outcome::Withdrew))
                }
                StageKind::Env(it) => {
                    all.extend([Outcome::Technical, Outcome::PageFailed]);
                    if it.people() > 1 {
                        // If all are gone, whatever the study says about one person; and people who come too late for
                        // the group.
                        all.extend([Outcome::PartnerLeft, Outcome::TimedOut]);
                    }
                }
                _ => {}
            }
        }
        all.extend(self.expires_s().map(|_| Outcome::TimedOut));
        all.extend((self.design.quota != Quota::None).then_some(Outcome::StudyFull));
        all
    }

    /// Seconds that the episodes of a visit last at most.
    fn seconds(&self, stage: u16, playable: &EnvFactsByStage) -> f64 {
        let Some(StageKind::Env(env)) = self
            .timeline
            .get(usize::from(stage))
            .map(|stage| &stage.kind)
        else {
            return 0.0;
        };
        let longest = playable
            .range((stage, String::new())..(stage + 1, String::new()))
            .map(|(_, facts)| f64::from(facts.horizon) / f64::from(facts.tick_hz.max(1)))
            .fold(0.0, f64::max);
        longest * f64::from(env.course.episodes)
    }

    /// Returns the duration of chats; `None` if there are no chats.
    fn chatting(&self) -> Option<ChatMinutes> {
        let chat = |stage: u16| match &self.timeline.get(usize::from(stage))?.kind {
            StageKind::Chat(chat) => Some(chat),
            _ => None,
        };
        let minutes = |of: fn(&Chat) -> u32| {
            self.most(|stage| chat(stage).map_or(0.0, |chat| f64::from(of(chat)))) / 60.0
        };
        let (least, most) = (minutes(|chat| chat.min_s), minutes(|chat| chat.max_s));
        (most > 0.0).then_some(ChatMinutes { least, most })
    }

    /// Seconds until the time of a lobby is up.
    fn waiting(&self, stage: u16) -> f64 {
        match self
            .timeline
            .get(usize::from(stage))
            .map(|stage| &stage.kind)
        {
            Some(StageKind::Lobby(lobby)) => f64::from(lobby.timeout_s),
            _ => 0.0,
        }
    }

    /// A title in a language that nobody is offered, as some page is not there in it.
    fn warn_of_languages(&self, warn: &impl Fn(&str, String)) {
        let title = self.source.at("study.title").map(|node| &node.data);
        let Some(Data::Map(entries)) = title else {
            return;
        };
        let names = entries.iter().map(|(key, _)| &key.name);
        let is_missed = |name: &&String| **name != self.language && !self.languages.contains(name);
        for name in names.filter(is_missed) {
            let message = format!(
                "nobody is offered `{name}`, as not every page and text is there in it; add the pages, such as \
                 `consent.{name}.md`, and write `languages: [{}, {name}]` in `study` to be told what is missing",
                self.language
            );
            warn(&format!("study.title.{name}"), message);
        }
    }

    /// Returns warnings about what is odd, but not wrong. `playable` are the facts of its environments, as
    /// [`crate::DraftStudy::check`] returns them.
    pub fn list_warnings(&self, playable: &EnvFactsByStage) -> Vec<Problem> {
        let report = ProblemReport::new(FILE);
        let warn =
            |path: &str, message: String| report.add(self.source.locate(path), path, message);
        let playable_at = |index: u16| {
            let from = (index, String::new())..(index + 1, String::new());
            playable.range(from).map(|(_, facts)| facts)
        };
        for (index, (stage, path)) in (0_u16..).zip(self.timeline.iter().zip(&self.paths)) {
            if matches!(&stage.kind, StageKind::Lobby(lobby) if lobby.on_timeout == OnTimeout::Wait)
            {
                let message = "whoever is left over waits here without an end, as `on_timeout` is `wait`; write \
                               `on_timeout: bot` to let them play with an AI partner";
                warn(&format!("{path}.on_timeout"), message.to_owned());
            }
            if let StageKind::Env(env) = &stage.kind
                && env.course.mode == Mode::Turns
                && env.course.turn_limit_s.is_none()
                && env.people() > 1
            {
                let message = "whoever stops to play keeps the others waiting without an end; write a \
                               `turn_limit_s`, such as `turn_limit_s: 60`";
                warn(&format!("{path}.mode"), message.to_owned());
            }
            if playable_at(index).any(|facts| facts.is_old) {
                let message = "the module has an older version of the interface: no pictures, scores or actions by seat, no events, \
                               no parts of rewards, no turns of some seats, no points on the picture; if the study needs one \
                               of these, build the module with the `env-core` of this release";
                warn(&format!("{path}.env"), message.to_owned());
            }
            if let StageKind::Survey(survey) = &stage.kind {
                survey
                    .unused()
                    .iter()
                    .for_each(|unused| report.add_problem(unused.clone()));
                let questions = survey.names().count();
                if let Some(limit_s) = survey.time_limit_s()
                    && (limit_s as usize) < questions
                {
                    let message = format!(
                        "{questions} questions in {limit_s} s are less than a second for each; write a longer `time_limit_s`"
                    );
                    warn(&format!("{path}.time_limit_s"), message);
                }
            }
        }
        let is_paid = matches!(
            self.recruitment.provider,
            Provider::Prolific | Provider::Mturk
        );
        let asks = |stage: &Stage| matches!(stage.kind, StageKind::Consent(_));
        if is_paid && !self.timeline.iter().any(asks) {
            let message = "nobody is asked for consent; let the timeline begin with a stage of `type: consent`";
            warn("timeline", message.to_owned());
        }
        self.warn_of_languages(&warn);
        self.warn_of_sentences(&warn);
        self.warn_of_pay(playable, &warn);
        self.warn_of_time(playable, &warn);
        self.warn_of_quota(&warn);
        self.warn_of_free_factors(&warn);
        report.result(Some(())).err().unwrap_or_default()
    }

    fn warn_of_time(&self, playable: &EnvFactsByStage, warn: &impl Fn(&str, String)) {
        let pay_terms = &self.recruitment.pay_terms;
        let Some(minutes) = pay_terms.minutes else {
            return;
        };
        let play = self.most(|stage| self.seconds(stage, playable)) / 60.0;
        let (chat, what) = match self.chatting() {
            Some(chats) => (chats.most, "the episodes and chats"),
            None => (0.0, "the episodes"),
        };
        let all = play + chat;
        if all > minutes {
            let message = format!(
                "{minutes} minutes are promised, and {what} alone can last {all:.1}; write `minutes: {:.0}` or more, or shorten them",
                all.ceil()
            );
            warn("recruitment.minutes", message);
        }
        let hourly = |base: f64| base * 60.0 / minutes;
        let is_prolific = self.recruitment.provider == Provider::Prolific;
        let currency = pay_terms.currency.as_deref();
        let usual = currency.and_then(|currency| usual_floor_per_hour(is_prolific, currency));
        if let (Some(base), Some(floor)) = (pay_terms.base, pay_terms.floor_per_hour.or(usual))
            && hourly(base) < floor
        {
            let message = format!(
                "{base:.2} for {minutes} minutes are {:.2} an hour, below `floor_per_hour: {floor}`; pay {:.2} or more",
                hourly(base),
                (floor * minutes / 60.0 * 100.0).ceil() / 100.0
            );
            warn("recruitment.base", message);
        }
    }

    fn warn_of_quota(&self, warn: &impl Fn(&str, String)) {
        let (Quota::Total(quota), true) = (&self.design.quota, self.design.between.is_empty())
        else {
            return;
        };
        for orders in self.orders() {
            let sequences = orders.sequences.map_or(1, u32::from);
            if quota % sequences != 0 {
                let message = format!(
                    "{quota} cannot share the {sequences} orders of `{}` evenly; write a multiple, such as {}",
                    orders.factor,
                    quota.div_ceil(sequences) * sequences
                );
                warn("design.quota", message);
            }
        }
    }
}
