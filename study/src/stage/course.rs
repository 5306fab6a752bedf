//! The episodes of an env stage: their number, their start, their end, and what formulas may use during an episode.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::assign::Rng;
use crate::formula::Formula;
use crate::limits::MAX_EPISODES;
use crate::progress::Episode;
use crate::read::{Cursor, Fields};
use crate::timeline::tree::Bindings;

/// The number of episodes of an env stage, their start and their end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnvCourse {
    /// Episodes at most.
    pub episodes: u16,
    /// The conditions that end an episode or the stage early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The sources of the episodes' seeds; empty if each episode has its own seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seed: Vec<String>,
    /// The way in which time passes.
    pub mode: Mode,
    /// In turns, the seconds that a person has for a choice; `None` without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_limit_s: Option<u32>,
    /// The name of the action that is chosen for a person whose time is up; `None` for the no-op.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_default: Option<String>,
}

/// The conditions that end an episode or the stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Until {
    /// Ends an episode on the first confirmed tick on which it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<Formula>,
    /// Tells if an episode that was played to its end succeeded; without it, one with a positive score did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<Formula>,
    /// Ends the stage after this many episodes that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_successes: Option<u16>,
    /// The number of the last episodes that count towards `min_successes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_last: Option<u16>,
    /// Ends the stage after this many episodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_episodes: Option<u16>,
}

/// The way in which time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At the tick rate.
    Ticks,
    /// Once everybody who acts has chosen.
    Turns,
}

impl EnvCourse {
    /// One episode at the tick rate.
    pub(super) fn one() -> Self {
        Self {
            episodes: 1,
            until: None,
            seed: Vec::new(),
            mode: Mode::Ticks,
            turn_limit_s: None,
            turn_default: None,
        }
    }

    /// The most episodes of a visit.
    pub fn limit(&self) -> u16 {
        let until = self.until.as_ref();
        until
            .and_then(|until| until.max_episodes)
            .unwrap_or(self.episodes)
    }

    /// Returns whether another episode follows after those of a visit; each says whether it succeeded.
    pub fn goes_on(&self, played: &[bool]) -> bool {
        let until = self.until.as_ref();
        let of_last = until.and_then(|until| until.of_last);
        let counted = played.iter().rev();
        let counted = counted.take(of_last.map_or(usize::MAX, usize::from));
        let successes = counted.filter(|succeeded| **succeeded).count();
        let enough = until.and_then(|until| until.min_successes);
        played.len() < self.limit().into()
            && enough.is_none_or(|enough| successes < usize::from(enough))
    }

    /// Returns whether an episode that was played to its end succeeded; `None` if the stage has no criterion. A formula
    /// without a value makes it fail.
    pub(crate) fn judge(&self, episode: &Episode, names: &Bindings) -> Option<bool> {
        let success = self.until.as_ref()?.success.as_ref()?;
        let mut scope = match episode.value() {
            formula::Value::Record(facts) => facts,
            _ => BTreeMap::new(),
        };
        let named = names.iter();
        scope.extend(named.filter_map(|(name, level)| {
            Some((
                name.clone(),
                serde_json::from_value(level.value.clone()).ok()?,
            ))
        }));
        Some(success.eval(&scope) == Ok(formula::Value::Bool(true)))
    }

    /// Returns the seed of an episode, if the study names its sources. Equal values give equal seeds.
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
        Some(Rng::of(of.study, &keys).draw_bits())
    }
}

/// The sources of an episode's seed.
#[derive(Clone, Copy)]
pub(crate) struct Seeding<'a> {
    /// The seed of the study.
    pub study: u64,
    /// The seed of the participant.
    pub participant: u64,
    /// The seed of their group; the participant's seed if they have no group.
    pub group: u64,
    /// Which episode of the visit, from 0.
    pub episode: u16,
    /// The values of names.
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

pub(super) fn read(fields: &mut Fields<'_>) -> Option<EnvCourse> {
    let doc = "The number of episodes, played one after the other.";
    let episodes = fields.key("episodes", doc);
    let written = episodes.place.clone();
    let episodes = episodes.or(1, |place| place.read_whole(1..=MAX_EPISODES, "episodes"));
    let doc = "A formula that ends an episode on the first confirmed tick on which it holds; or a block of \
               criteria. Without this key, an episode ends as the environment says.";
    let until = fields.key("until", doc).maybe(|place| until(&place));
    let doc = "What decides the seed of an episode: `participant`, `group`, `episode` (its index in the visit), and \
               names of factors or of `for_each`. Episodes that agree in all of these get the same seed. Without \
               this key, every episode gets its own.";
    let seed = fields.key("seed", doc).or(Vec::new(), |place| {
        let names = place.list("names", 8)?;
        let names: Vec<_> = names.iter().map(Cursor::id).collect();
        names.into_iter().collect()
    });
    let modes = [("ticks", Mode::Ticks), ("turns", Mode::Turns)];
    let doc = "`ticks`: time advances at the tick rate. `turns`: time advances once everybody who acts has chosen, \
               one after the other or all at the same time, as the environment says.";
    let mode = fields.key("mode", doc);
    let mode = mode.or(Mode::Ticks, |place| place.read_word("mode", &modes));
    let (turn_limit_s, turn_default) = turn_limit(fields, mode);
    let most = until
        .as_ref()
        .and_then(|until| until.as_ref()?.max_episodes);
    if let (Some(place), Some(most)) = (written, most) {
        place.report_problem(format!(
            "`until.max_episodes` says {most} already; keep one of the two"
        ));
        return None;
    }
    Some(EnvCourse {
        episodes: episodes?,
        until: until?,
        seed: seed?,
        mode: mode?,
        turn_limit_s: turn_limit_s?,
        turn_default: turn_default?,
    })
}

/// Reads the time that people may take for a choice, and the choice for them after that.
fn turn_limit(
    fields: &mut Fields<'_>,
    mode: Option<Mode>,
) -> (Option<Option<u32>>, Option<Option<String>>) {
    let is_timed = mode == Some(Mode::Ticks);
    let in_turns = |place: &Cursor<'_>| {
        if is_timed {
            place.report_problem(
                "only turns wait for a choice; write `mode: turns`, or leave this out",
            );
        }
        !is_timed
    };
    let doc = "With `mode: turns`: the seconds that a participant has for a choice. Without this key, there is no \
               limit.";
    let limit = fields.key("turn_limit_s", doc).maybe(|place| {
        let limit_s = place.read_whole(1..=3_600, "seconds")?;
        in_turns(&place).then_some(limit_s)
    });
    let doc = "With `turn_limit_s`: the name of the action that is chosen for a participant whose time is up. By \
               default the action that does nothing.";
    let action = fields.key("turn_default", doc).maybe(|place| {
        let action = place.text(80)?;
        in_turns(&place).then(|| action.to_owned())
    });
    (limit, action)
}

/// Reads what ends episodes and the stage; the formula is read once the meanings of names are known.
fn until(place: &Cursor<'_>) -> Option<Until> {
    let plain = place.may(!place.is_block()).then(|| {
        place.text(1_000)?;
        Some(Until::default())
    });
    let block = place.may(place.is_block()).then(|| {
        let mut fields = place.fields("what ends an episode or the stage")?;
        let doc = "Ends an episode on the first confirmed tick on which this formula holds.";
        let formula = fields.key("formula", doc).maybe(|place| place.text(1_000));
        let count = |place: Cursor<'_>| place.read_whole(1..=MAX_EPISODES, "episodes");
        let doc = "Whether an episode that was played to its end is a success, by `score`, `scores`, `rewards`, `ticks`, \
                   and, where one person plays, `own_score` and `own_reward`. Without this key, a score above 0 is one.";
        let success = fields.key("success", doc).maybe(|place| place.text(1_000));
        let doc = "Ends the stage after this many successes. It needs `max_episodes`.";
        let min_successes = fields.key("min_successes", doc).maybe(count);
        let doc = "Counts only this many of the last episodes towards `min_successes`: with the same number, \
                   successes in a row; with a larger one, a proportion.";
        let of_last = fields.key("of_last", doc).maybe(count);
        let doc = "Ends the stage after this many episodes, whatever their scores.";
        let max_episodes = fields.key("max_episodes", doc).maybe(count);
        fields.done();
        let (min_successes, of_last) = (min_successes?, of_last?);
        let max_episodes = max_episodes?;
        if min_successes.is_some() && max_episodes.is_none() {
            let message = "missing, so somebody who never succeeds would never go on; write for example `max_episodes: 20`";
            place.wrong_at("max_episodes", message);
            return None;
        }
        if of_last.is_some_and(|of_last| min_successes.is_none_or(|least| least > of_last)) {
            place.wrong_at("of_last", "it is about `min_successes`, which must be there, and not greater; for 3 successes in a row, write `min_successes: 3` and `of_last: 3`");
            return None;
        }
        formula?;
        success?;
        Some(Until {
            formula: None,
            success: None,
            min_successes,
            of_last,
            max_episodes,
        })
    });
    plain.or(block).flatten()
}
