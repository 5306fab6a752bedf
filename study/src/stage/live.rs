//! Facts for formulas while an episode is played, and the rules that the study adds to an environment.

use std::collections::BTreeMap;

use protocol::control::TurnLimit;
use protocol::rules::{Gauge, Rules};

use super::course::Mode;
use super::env::{Capture, Env};
use crate::formula::{Formula, TextTemplate, Type, Types};
use crate::host::EnvFacts;
use crate::problem::make_hint;
use crate::progress::Episode;
use crate::read::Cursor;
use crate::timeline::tree::Bindings;

impl Env {
    /// Returns the rules that the study adds to the environment, with these values for names, as JSON.
    pub fn rules(&self, names: &[(String, String)]) -> Rules {
        let until = self
            .course
            .until
            .as_ref()
            .and_then(|until| until.formula.as_ref());
        Rules {
            until: until.map(|until| until.expr().bind(&values(names))),
            turns: self.course.mode == Mode::Turns,
            press: self.screen.capture == Capture::Press,
        }
    }

    /// True if the numbers beside the picture ask for the sums of the rewards.
    pub fn shows_rewards(&self) -> bool {
        let mut templates = self.screen.hud.iter().map(|gauge| gauge.value.pieces());
        templates.any(protocol::rules::asks_rewards)
    }

    /// Returns the time that a person may take for a choice, if there is a limit.
    pub fn turn_limit(&self, facts: &EnvFacts) -> Option<TurnLimit> {
        let limit_s = self.course.turn_limit_s?;
        let default = self.course.turn_default.as_ref();
        let action = default.and_then(|name| facts.actions.iter().position(|of| of == name));
        Some(TurnLimit {
            limit_ms: limit_s.saturating_mul(1_000),
            action: action.map_or(facts.noop, |action| action as u16),
        })
    }

    /// The numbers beside the picture, in a language, for the person of a seat: what does not change while they play
    /// is put in.
    pub fn describe_hud(
        &self,
        language: &str,
        names: &[(String, String)],
        told: HudFacts,
    ) -> Vec<Gauge> {
        let mut values = values(names);
        let numbers = [
            ("episode", told.episode + 1),
            ("episodes", told.episodes),
            ("successes", told.successes),
            ("seat", u16::from(told.seat)),
        ];
        values.extend(numbers.map(|(name, number)| (name.to_owned(), f64::from(number).into())));
        let gauge = |gauge: &super::env::HudGauge| Gauge {
            label: gauge.label.in_language(language).to_owned(),
            value: gauge.value.pieces().bind(&values),
        };
        self.screen.hud.iter().map(gauge).collect()
    }
}

/// Facts for the numbers beside the picture that do not change during the episode.
#[derive(Clone, Copy, Debug)]
pub struct HudFacts {
    /// Which episode of the visit it is, from 0.
    pub episode: u16,
    /// The most episodes that there can be.
    pub episodes: u16,
    /// The number of earlier ones that succeeded.
    pub successes: u16,
    /// The seat.
    pub seat: u8,
}

/// Returns the values of names for formulas; facts of the episode have priority.
fn values(names: &[(String, String)]) -> BTreeMap<String, formula::Value> {
    let live = live_types(Mode::Ticks);
    let names = names.iter().filter(|(name, _)| !live.contains_key(name));
    names
        .filter_map(|(name, value)| Some((name.clone(), serde_json::from_str(value).ok()?)))
        .collect()
}

/// The names with their values as JSON.
pub fn names(bindings: &Bindings) -> Vec<(String, String)> {
    let named = bindings.iter();
    named
        .map(|(name, level)| (name.clone(), level.value.to_string()))
        .collect()
}

/// The variables of a running episode for formulas; `rollback::Live` has the values.
pub fn live_types(mode: Mode) -> Types {
    let timeless: &[&str] = &["score", "ticks"];
    let timed: &[&str] = &["score", "ticks", "elapsed_s", "left_s"];
    let names = if mode == Mode::Turns { timeless } else { timed };
    let numbers = names.iter().map(|name| ((*name).to_owned(), Type::Number));
    let of_seats = ["scores", "rewards"].map(|name| (name.to_owned(), Type::list(Type::Number)));
    numbers.chain(of_seats).collect()
}

/// Returns the variables of the texts beside a running episode: those of its formulas, and those of [`HudFacts`].
pub(crate) fn of_episode(mode: Mode) -> Types {
    let told = ["episode", "episodes", "successes", "seat"];
    let told = told.map(|name| (name.to_owned(), Type::Number));
    live_types(mode).into_iter().chain(told).collect()
}

/// The formulas of an env stage.
#[derive(Default)]
pub(crate) struct Formulas {
    until: Option<Formula>,
    success: Option<Formula>,
    hud: Vec<TextTemplate>,
}

impl Formulas {
    /// Reads them where names have these types; every fault is reported.
    pub(crate) fn read(place: &Cursor<'_>, env: &Env, mut names: Types) -> Self {
        let success = success(place, env, names.clone());
        names.extend(live_types(env.course.mode));
        let until = place.child_at("until");
        let until = until.and_then(|until| {
            if until.is_block() {
                until.child_at("formula")
            } else {
                Some(until)
            }
        });
        let until = until.and_then(|until| Formula::read(&until, &names, &Type::Bool));
        names.extend(of_episode(env.course.mode));
        let value = |at: usize| {
            let place = place.child_at(&format!("hud[{at}].value"))?;
            TextTemplate::read_value(&place, &names)
        };
        let hud = (0..env.screen.hud.len()).map(|at| value(at).unwrap_or_default());
        Self {
            until,
            success,
            hud: hud.collect(),
        }
    }

    /// Puts them into the stage.
    pub(crate) fn enter(self, env: &mut Env) {
        if let Some(until) = &mut env.course.until {
            until.formula = self.until;
            until.success = self.success;
        }
        for (gauge, value) in env.screen.hud.iter_mut().zip(self.hud) {
            gauge.value = value;
        }
    }
}

/// Reads the criterion for a success. People who play together succeed together, as otherwise they would part.
fn success(place: &Cursor<'_>, env: &Env, mut names: Types) -> Option<Formula> {
    let until = place.child_at("until").filter(Cursor::is_block)?;
    let place = until.child_at("success")?;
    names.extend(Episode::types());
    names.remove("success");
    let formula = Formula::read(&place, &names, &Type::Bool)?;
    let own = ["own_score", "own_reward"];
    let own = own.iter().find(|name| formula.source().contains(**name));
    if let (Some(own), true) = (own, env.people() > 1) {
        place.report_problem(format!(
            "several people play here, and go on together, so `{own}` cannot decide; write for example `min(scores) > 0`"
        ));
        return None;
    }
    Some(formula)
}

/// Reports impossible sources of a stage's seeds: names that stand for nothing, and people who are not alone.
pub(crate) fn check_seed(place: &Cursor<'_>, env: &Env, names: &[&str], has_group: bool) {
    for (at, name) in env.course.seed.iter().enumerate() {
        let key = format!("seed[{at}]");
        match name.as_str() {
            "participant" if env.people() > 1 => {
                place.wrong_at(
                    &key,
                    "several people play here, and all need the same seed; write `group`",
                );
            }
            // If several people play, the check of the stage itself requires a lobby.
            "group" if !has_group && env.people() == 1 => {
                place.wrong_at(&key, "there is no group here, as no lobby comes before this stage; write `participant`");
            }
            "participant" | "group" | "episode" => {}
            name if names.contains(&name) => {}
            name => {
                let known: Vec<&str> = ["participant", "group", "episode"]
                    .iter()
                    .chain(names)
                    .copied()
                    .collect();
                let hint = make_hint(name, &known);
                place.wrong_at(&key, format!("`{name}` stands for nothing here; {hint}"));
            }
        }
    }
}
