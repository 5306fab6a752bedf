//! The episodes of an env stage: how many there are, what they begin with, what ends them, and what formulas may ask
//! while one is played.

use std::collections::BTreeMap;

use protocol::rules::{Gauge, Rules};
use serde::Serialize;

use super::env::{Capture, Env};
use crate::assign::Rng;
use crate::formula::{Formula, Template, Type, Types};
use crate::read::{Fields, Place};
use crate::timeline::Bindings;

/// How many episodes an env stage has, what they begin with and what ends them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// Episodes at most.
    pub episodes: u16,
    /// What ends an episode, or the stage, before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// What the seeds of episodes are drawn from; empty for a seed of its own for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seed: Vec<String>,
    /// Whether time goes on by itself.
    pub mode: Mode,
}

/// What ends an episode, or the stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Until {
    /// Ends an episode on the first confirmed tick on which it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<Formula>,
    /// Ends the stage after so many episodes with a positive score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_successes: Option<u16>,
    /// Ends the stage after so many episodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_episodes: Option<u16>,
}

/// Whether time goes on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At the tick rate.
    Ticks,
    /// With every action of the participant.
    Turns,
}

impl Course {
    /// The most episodes of a visit.
    pub fn limit(&self) -> u16 {
        let until = self.until.as_ref();
        until
            .and_then(|until| until.max_episodes)
            .unwrap_or(self.episodes)
    }

    /// Whether another episode follows after so many, of which some succeeded.
    pub fn goes_on(&self, played: u16, successes: u16) -> bool {
        let enough = self.until.as_ref().and_then(|until| until.min_successes);
        played < self.limit() && enough.is_none_or(|enough| successes < enough)
    }

    /// The seed of an episode, if the study says what it is drawn from. Equal values give equal seeds.
    pub(crate) fn seed(&self, of: Seeding<'_>) -> Option<u64> {
        if self.seed.is_empty() {
            return None;
        }
        let mut keys = text_keys("episode seed");
        for name in &self.seed {
            keys.extend(text_keys(name));
            match name.as_str() {
                "participant" => keys.push(of.participant),
                "group" => keys.push(of.group),
                "episode" => keys.push(of.episode.into()),
                name => keys.extend(
                    of.names
                        .get(name)
                        .map(|level| text_keys(&level.name))
                        .unwrap_or_default(),
                ),
            }
        }
        Some(Rng::of(of.study, &keys).bits())
    }
}

/// What the seed of an episode can be drawn from.
#[derive(Clone, Copy)]
pub(crate) struct Seeding<'a> {
    /// What everything in the study is drawn from.
    pub study: u64,
    /// What was drawn for the participant.
    pub participant: u64,
    /// What was drawn for their group; for the participant if they have none.
    pub group: u64,
    /// Which episode of the visit, from 0.
    pub episode: u16,
    /// What names stand for.
    pub names: &'a Bindings,
}

/// A text as numbers: its length in bytes, and the bytes, eight to a number, the first lowest.
fn text_keys(text: &str) -> Vec<u64> {
    let chunks = text.as_bytes().chunks(8);
    let number = |chunk: &[u8]| {
        chunk
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    std::iter::once(text.len() as u64)
        .chain(chunks.map(number))
        .collect()
}

impl Env {
    /// What the study adds to the rules of the environment, where names stand for these values as JSON.
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

    /// What is told beside the picture, in a language, to the person of a seat: what does not change while they play
    /// is put in.
    pub fn hud(&self, language: &str, names: &[(String, String)], told: Told) -> Vec<Gauge> {
        let mut values = values(names);
        let numbers = [
            ("episode", told.episode + 1),
            ("episodes", told.episodes),
            ("successes", told.successes),
            ("seat", u16::from(told.seat)),
        ];
        values.extend(numbers.map(|(name, number)| (name.to_owned(), f64::from(number).into())));
        let gauge = |gauge: &super::Gauge| Gauge {
            label: gauge.label.in_language(language).to_owned(),
            value: gauge.value.pieces().bind(&values),
        };
        self.screen.hud.iter().map(gauge).collect()
    }
}

/// What a person is told beside what happens in the episode.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Which episode of the visit it is, from 0.
    pub episode: u16,
    /// How many there are at most.
    pub episodes: u16,
    /// How many of those before succeeded.
    pub successes: u16,
    /// The seat.
    pub seat: u8,
}

/// The values that names stand for as formulas know them; what happens in the episode goes first.
fn values(names: &[(String, String)]) -> BTreeMap<String, formula::Value> {
    let live = live(Mode::Ticks);
    let names = names.iter().filter(|(name, _)| !live.contains_key(name));
    names
        .filter_map(|(name, value)| Some((name.clone(), serde_json::from_str(value).ok()?)))
        .collect()
}

/// What names stand for, each with its value as JSON.
pub fn names(bindings: &Bindings) -> Vec<(String, String)> {
    let named = bindings.iter();
    named
        .map(|(name, level)| (name.clone(), level.value.to_string()))
        .collect()
}

/// What formulas may ask of a running episode; `rollback::Live` has the values.
pub fn live(mode: Mode) -> Types {
    let timeless: &[&str] = &["score", "ticks"];
    let timed: &[&str] = &["score", "ticks", "elapsed_s", "left_s"];
    let names = if mode == Mode::Turns { timeless } else { timed };
    names
        .iter()
        .map(|name| ((*name).to_owned(), Type::Number))
        .collect()
}

/// What the texts shown beside a running episode may ask: what its formulas may, and what a person is told.
pub(crate) fn of_episode(mode: Mode) -> Types {
    let told = ["episode", "episodes", "successes", "seat"];
    let told = told.map(|name| (name.to_owned(), Type::Number));
    live(mode).into_iter().chain(told).collect()
}

/// The formulas of an env stage.
#[derive(Default)]
pub(crate) struct Formulas {
    until: Option<Formula>,
    hud: Vec<Template>,
}

impl Formulas {
    /// Reads them where names have these types; every fault is reported.
    pub(crate) fn read(place: &Place<'_>, env: &Env, mut names: Types) -> Self {
        names.extend(live(env.course.mode));
        let until = place.at("until");
        let until = until.and_then(|until| {
            if until.is_block() {
                until.at("formula")
            } else {
                Some(until)
            }
        });
        let until = until.and_then(|until| Formula::read(&until, &names, &Type::Bool));
        names.extend(of_episode(env.course.mode));
        let value = |at: usize| {
            let place = place.at(&format!("hud[{at}].value"))?;
            Template::read_value(&place, &names)
        };
        let hud = (0..env.screen.hud.len()).map(|at| value(at).unwrap_or_default());
        Self {
            until,
            hud: hud.collect(),
        }
    }

    /// Puts them into the stage.
    pub(crate) fn enter(self, env: &mut Env) {
        if let Some(until) = &mut env.course.until {
            until.formula = self.until;
        }
        for (gauge, value) in env.screen.hud.iter_mut().zip(self.hud) {
            gauge.value = value;
        }
    }
}

/// Reports what the seeds of a stage cannot be drawn from: names that stand for nothing, and people who are not alone.
pub(crate) fn check_seed(place: &Place<'_>, env: &Env, names: &[&str], has_group: bool) {
    for (at, name) in env.course.seed.iter().enumerate() {
        let key = format!("seed[{at}]");
        match name.as_str() {
            "participant" if env.people() > 1 => {
                place.wrong_at(
                    &key,
                    "several people play here, and all need the same seed; write `group`",
                );
            }
            // Where several play, that there is a lobby is asked of the stage itself.
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
                let hint = crate::problem::hint(name, &known);
                place.wrong_at(&key, format!("`{name}` stands for nothing here; {hint}"));
            }
        }
    }
}

/// Reports a stage in turns that several people play.
pub(crate) fn check_turns(place: &Place<'_>, env: &Env) {
    if env.course.mode == Mode::Turns && env.people() > 1 {
        let message = "in turns, time goes by with every action of one participant, and here play several people; \
                       write `mode: ticks`, or AI partners such as `{policy: cook}` instead of `partner`";
        place.wrong_at("mode", message);
    }
}

/// The most episodes of a stage.
const MAX_EPISODES: u16 = 1_000;

pub(super) fn read(fields: &mut Fields<'_>) -> Option<Course> {
    let doc = "The number of episodes, played one after the other.";
    let episodes = fields.key("episodes", doc);
    let written = episodes.place.clone();
    let episodes = episodes.or(1, |place| place.whole(1..=MAX_EPISODES, "episodes"));
    let doc = "A formula that ends an episode on the first confirmed tick on which it holds; or a block of \
               criteria. Without this key, an episode ends as the environment says.";
    let until = fields.key("until", doc).maybe(|place| until(&place));
    let doc = "What decides the seed of an episode: `participant`, `group`, `episode` (its index in the visit), and \
               names of factors or of `for_each`. Episodes that agree in all of these get the same seed. Without \
               this key, every episode gets its own.";
    let seed = fields.key("seed", doc).or(Vec::new(), |place| {
        let names = place.list("names", 8)?;
        let names: Vec<_> = names.iter().map(Place::id).collect();
        names.into_iter().collect()
    });
    let modes = [("ticks", Mode::Ticks), ("turns", Mode::Turns)];
    let doc = "`ticks`: time advances at the tick rate. `turns`: time advances with every action of the \
               participant, who plays without other people.";
    let mode = fields.key("mode", doc);
    let mode = mode.or(Mode::Ticks, |place| place.word("mode", &modes));
    let most = until
        .as_ref()
        .and_then(|until| until.as_ref()?.max_episodes);
    if let (Some(place), Some(most)) = (written, most) {
        place.wrong(format!(
            "`until.max_episodes` says {most} already; keep one of the two"
        ));
        return None;
    }
    Some(Course {
        episodes: episodes?,
        until: until?,
        seed: seed?,
        mode: mode?,
    })
}

/// Reads what ends episodes and the stage; the formula is read once it is known what names stand for.
fn until(place: &Place<'_>) -> Option<Until> {
    let plain = place.may(!place.is_block()).then(|| {
        place.text(1_000)?;
        Some(Until::default())
    });
    let block = place.may(place.is_block()).then(|| {
        let mut fields = place.fields("what ends an episode or the stage")?;
        let doc = "Ends an episode on the first confirmed tick on which this formula holds.";
        let formula = fields.key("formula", doc).maybe(|place| place.text(1_000));
        let count = |place: Place<'_>| place.whole(1..=MAX_EPISODES, "episodes");
        let doc = "Ends the stage after this many episodes with a score above 0. It needs `max_episodes`.";
        let min_successes = fields.key("min_successes", doc).maybe(count);
        let doc = "Ends the stage after this many episodes, whatever their scores.";
        let max_episodes = fields.key("max_episodes", doc).maybe(count);
        fields.done();
        let (min_successes, max_episodes) = (min_successes?, max_episodes?);
        if min_successes.is_some() && max_episodes.is_none() {
            let message = "missing, so somebody who never succeeds would never go on; write for example `max_episodes: 20`";
            place.wrong_at("max_episodes", message);
            return None;
        }
        formula?;
        Some(Until {
            formula: None,
            min_successes,
            max_episodes,
        })
    });
    plain.or(block).flatten()
}
