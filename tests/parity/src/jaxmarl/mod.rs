//! Recordings of originals other than CoGrid: format 2, with state and observations by name.
//!
//! The recorders are in `tests/parity/record/`. What a file records, its header says in the words of the original.

mod hanabi;
mod overcooked_jaxmarl_v2;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};

use anyhow::{Context as _, Result, bail, ensure};
use env_core::Action;
use env_core::MAX_SEATS;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::compare::{Check, Tally, bits};
use crate::host::{Episode, Frame, Host};
use crate::recording::Sparse;
use crate::translate::Unsupported;

/// State of a record by the names of the original, flattened.
type Fields = BTreeMap<String, Vec<i64>>;

/// A state as recorded, and what came of it for the agents.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    x: Fields,
    oh: Vec<String>,
    obs: Option<Vec<Sparse>>,
    /// For each agent its legal actions: bit `a` for action `a`.
    legal: Option<Vec<u64>>,
}

/// The field that distinguishes the first line of an episode from a step.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The first line of an episode.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "format")]
    _format: u32,
    /// Name and version of the original.
    original: String,
    env: String,
    episode: u32,
    seed: u64,
    n_agents: usize,
    /// The settings, as the original calls them.
    config: Value,
    obs_dim: usize,
    /// The cards, in the order of the deck.
    deck: Option<Vec<u32>>,
    reset: Start,
}

/// A line of a step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    t: usize,
    a: Vec<Action>,
    r: Vec<f32>,
    shaped: Option<Vec<f32>>,
    te: Option<Vec<u8>>,
    tr: Option<Vec<u8>>,
    x: Fields,
    oh: Vec<String>,
    obs: Option<Vec<Sparse>>,
    legal: Option<Vec<u64>>,
}

/// A state as recorded, and what agents observe of it and may do.
#[derive(Clone, Copy)]
struct Look<'a> {
    x: &'a Fields,
    oh: &'a [String],
    obs: Option<&'a [Sparse]>,
    legal: Option<&'a [u64]>,
}

impl Start {
    fn look(&self) -> Look<'_> {
        Look {
            x: &self.x,
            oh: &self.oh,
            obs: self.obs.as_deref(),
            legal: self.legal.as_deref(),
        }
    }
}

impl Step {
    fn look(&self) -> Look<'_> {
        Look {
            x: &self.x,
            oh: &self.oh,
            obs: self.obs.as_deref(),
            legal: self.legal.as_deref(),
        }
    }
}

/// One way to play a recorded episode.
struct Way {
    /// The way in words.
    words: &'static str,
    params: String,
    start: Option<Vec<u8>>,
    /// Words to inject, by step.
    draws: Vec<Vec<u32>>,
    /// True if the first state is the recorded one.
    starts_alike: bool,
}

/// An original beside ours.
trait Dialect {
    /// Id of our environment.
    fn id(&self) -> &'static str;
    /// The ways to play an episode.
    ///
    /// # Errors
    /// The record is no state of this environment.
    fn ways(&self, header: &Header, steps: &[Step]) -> Result<Vec<Way>>;
    /// The fields of a record that show a state of ours.
    ///
    /// # Errors
    /// The bytes are no state.
    fn show(&self, state: &[u8]) -> Result<Fields>;
    /// The action that every mask has, whatever the original says.
    fn noop(&self) -> Action;
    /// The shaped reward of each agent, from the events of a step.
    fn shaped(&self, _frame: &Frame) -> Option<Vec<f32>> {
        None
    }
    /// Length of an observation.
    fn observation_len(&self) -> usize;
}

/// Checks whether compressed bytes begin with a recording of this format.
pub(crate) fn is_recording(bytes: &[u8]) -> bool {
    let mut line = String::new();
    let read = BufReader::new(GzDecoder::new(bytes)).read_line(&mut line);
    let header: Option<Value> = serde_json::from_str(&line).ok();
    read.is_ok() && header.is_some_and(|header| header["format"] == 2)
}

/// Plays a recording; gives the name of what was recorded, and our id, by `told`.
///
/// # Errors
/// [`Unsupported`]; the recording is malformed; the host broke down.
pub(crate) fn play(
    bytes: &[u8],
    host: &mut dyn Host,
    mut told: impl FnMut(&str, &str),
    tally: &mut Tally,
) -> Result<()> {
    let mut current: Option<(Header, Vec<Step>)> = None;
    let mut finish = |header: Header, steps: Vec<Step>, tally: &mut Tally| -> Result<()> {
        told(&header.env, "");
        let dialect = dialect_of(&header)?;
        told(&header.env, dialect.id());
        let episode = header.episode;
        play_episode(&*dialect, &header, &steps, host, tally)
            .with_context(|| format!("episode {episode}"))
    };
    for (index, line) in BufReader::new(GzDecoder::new(bytes)).lines().enumerate() {
        let at = || format!("line {}", index + 1);
        let line = line.with_context(|| format!("{}: cannot be unpacked", at()))?;
        let Kind { kind } = parse(&line).with_context(at)?;
        if kind.is_some() {
            let header: Header = parse(&line).with_context(at)?;
            check_header(&header).with_context(at)?;
            if let Some((header, steps)) = current.replace((header, Vec::new())) {
                finish(header, steps, tally)?;
            }
        } else {
            let step: Step = parse(&line).with_context(at)?;
            let Some((header, steps)) = &mut current else {
                bail!("{}: a step before any episode", at());
            };
            check_step(&step, steps.len() + 1, header.n_agents).with_context(at)?;
            steps.push(step);
        }
    }
    if let Some((header, steps)) = current.take() {
        finish(header, steps, tally)?;
    }
    ensure!(tally.steps > 0, "there is no step to compare");
    Ok(())
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T> {
    Ok(serde_json::from_str(line)?)
}

fn check_header(header: &Header) -> Result<()> {
    let agents = header.n_agents;
    ensure!(
        (1..=MAX_SEATS).contains(&agents),
        "field `n_agents` is {agents}; there can be 1 to {MAX_SEATS}"
    );
    ensure!(
        header.reset.oh.len() == agents,
        "field `oh` has {} entries and needs {agents}",
        header.reset.oh.len()
    );
    Ok(())
}

fn check_step(step: &Step, number: usize, agents: usize) -> Result<()> {
    let t = step.t;
    ensure!(t == number, "field `t` is {t}, and this is step {number}");
    for (name, len) in [
        ("a", step.a.len()),
        ("r", step.r.len()),
        ("oh", step.oh.len()),
    ] {
        ensure!(
            len == agents,
            "field `{name}` has {len} entries and needs {agents}"
        );
    }
    Ok(())
}

fn dialect_of(header: &Header) -> Result<Box<dyn Dialect>> {
    let unsupported = |what: String| Err(Unsupported(what).into());
    if header.original != "jaxmarl-0.2.0" {
        return unsupported(format!("the original `{}`", header.original));
    }
    match header.env.split('-').next() {
        Some("Hanabi") => Ok(Box::new(hanabi::Cards::new(header)?)),
        Some("OvercookedV2") => Ok(Box::new(overcooked_jaxmarl_v2::Kitchens::new(header)?)),
        _ => unsupported(format!("the environment `{}`", header.env)),
    }
}

/// A setting of the original.
fn setting<T: DeserializeOwned>(header: &Header, name: &str) -> Result<Option<T>> {
    let value = header.config.get(name).filter(|value| !value.is_null());
    value
        .map(|value| serde_json::from_value(value.clone()))
        .transpose()
        .with_context(|| format!("field `config.{name}`"))
}

/// Refuses settings that nothing was made of.
fn check_settings(header: &Header, known: &[&str]) -> Result<()> {
    let settings = header
        .config
        .as_object()
        .context("field `config` is no object")?;
    match settings.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Unsupported(format!("`config.{name}`")).into()),
        None => Ok(()),
    }
}

fn play_episode(
    dialect: &dyn Dialect,
    header: &Header,
    steps: &[Step],
    host: &mut dyn Host,
    tally: &mut Tally,
) -> Result<()> {
    for way in dialect.ways(header, steps)? {
        let frames = host.play(&Episode {
            environment: dialect.id().into(),
            params: way.params,
            seats: header.n_agents,
            seed: header.seed,
            start: way.start,
            actions: steps.iter().map(|step| step.a.clone()).collect(),
            draws: way.draws,
        })?;
        let place = |at: usize| format!("episode {}, step {at}, {}", header.episode, way.words);
        let mut check = Check {
            place: place(0),
            tally,
        };
        check.field("steps", steps.len() + 1, frames.len());
        check.field("obs_dim", header.obs_dim, dialect.observation_len());
        for (at, frame) in frames.iter().enumerate() {
            check.place = place(at);
            let step = at.checked_sub(1).and_then(|at| steps.get(at));
            match step {
                Some(step) => {
                    compare(dialect, &mut check, step.look(), frame)?;
                    outcome(dialect, &mut check, step, header.n_agents, frame);
                }
                None if at == 0 && !way.starts_alike => {}
                None => compare(dialect, &mut check, header.reset.look(), frame)?,
            }
        }
    }
    tally.episodes += 1;
    tally.steps += steps.len() as u64;
    Ok(())
}

fn compare(
    dialect: &dyn Dialect,
    check: &mut Check<'_>,
    recorded: Look<'_>,
    frame: &Frame,
) -> Result<()> {
    let mut ours = dialect.show(&frame.state)?;
    for (name, values) in recorded.x {
        check.field(
            &format!("x.{name}"),
            Some(values),
            ours.remove(name).as_ref(),
        );
    }
    for (name, more) in ours {
        check.field(&format!("x.{name}"), None::<Vec<i64>>, Some(more));
    }
    check.looks(recorded.oh, recorded.obs, frame);
    if let Some(legal) = recorded.legal {
        let noop = 1 << dialect.noop();
        let with_noop: Vec<u64> = legal.iter().map(|bits| bits | noop).collect();
        check.field("legal", with_noop.as_slice(), frame.masks.as_slice());
    }
    Ok(())
}

fn outcome(dialect: &dyn Dialect, check: &mut Check<'_>, step: &Step, seats: usize, frame: &Frame) {
    let outcome = &frame.outcome;
    check.field("r", step.r.as_slice(), &outcome.rewards[..seats]);
    let none = vec![0; seats];
    for (name, recorded, ours) in [
        ("te", &step.te, outcome.terminated),
        ("tr", &step.tr, outcome.truncated),
    ] {
        let recorded = recorded.as_ref().unwrap_or(&none);
        check.field(name, recorded, &bits(ours, seats));
    }
    if let Some(shaped) = &step.shaped {
        check.field("shaped", Some(shaped), dialect.shaped(frame).as_ref());
    }
}
