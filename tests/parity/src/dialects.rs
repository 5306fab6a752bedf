//! Recordings of Overcooked dialects: format 3, which `cargo xtask record` writes.
//!
//! The course follows from the layout, the directions at the start and the actions; every field of state, reward,
//! shaped reward, events and observation is compared.

use anyhow::{Context, Result, ensure};
use env_core::Environment;
use env_core::digest::Fnv1a;
use env_core::envs::overcooked_ai::{
    COMPONENTS, EVENTS, Item, OvercookedAi, Params, Recipe, State,
};
use flate2::Crc;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::compare::{Check, Tally};
use crate::host::{Episode, Frame, Host};
use crate::recording::Sparse;
use crate::translate::Unsupported;

/// The first line of an episode.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "format")]
    _format: u32,
    dialect: String,
    #[serde(rename = "original")]
    _original: String,
    kitchen: String,
    layout: String,
    episode: u32,
    horizon: u32,
    encodings: Vec<String>,
    params: Map<String, Value>,
    /// True if what lies is listed in the order of putting down.
    ordered: bool,
    directions: Option<Vec<u8>>,
    reset: Record,
}

/// A state as recorded, and what the cooks observe of it.
#[derive(Clone, Debug, Deserialize)]
struct Record {
    players: Vec<(i64, i64, u8, String)>,
    pots: Vec<[i64; 5]>,
    lying: Vec<(i64, i64, String)>,
    t: u32,
    /// `[seat][encoding]`
    oh: Vec<Vec<String>>,
    obs: Option<Vec<Vec<Sparse>>>,
    /// The legal actions of each seat.
    mask: Option<Vec<Vec<u8>>>,
}

/// The line of a step.
#[derive(Clone, Debug, Deserialize)]
struct Step {
    a: Vec<u16>,
    r: Vec<f64>,
    /// Of each seat; one number for all of them where the original tells no more.
    sr: Vec<f32>,
    e: Option<Vec<Vec<String>>>,
    done: bool,
    #[serde(flatten)]
    record: Record,
}

/// Checks whether a line begins an episode of this format.
pub(crate) fn is_dialect(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|line| line["format"] == 3)
}

fn is_header(line: &str) -> bool {
    line.contains("\"type\":\"episode\"")
}

/// Plays the episodes of a recording.
///
/// # Errors
/// [`Unsupported`]; the recording is malformed; the host broke down.
pub(crate) fn play(
    text: &str,
    host: &mut dyn Host,
    env: &mut String,
    environment: &mut String,
    tally: &mut Tally,
) -> Result<()> {
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let header: Header = serde_json::from_str(line)
            .with_context(|| format!("line {}: is no episode", number + 1))?;
        let mut steps = Vec::new();
        while let Some((number, line)) = lines.next_if(|(_, line)| !is_header(line)) {
            let step: Step = serde_json::from_str(line)
                .with_context(|| format!("line {}: is no step", number + 1))?;
            steps.push(step);
        }
        *env = format!("{} {}", header.dialect, header.kitchen);
        *environment = OvercookedAi::ID.into();
        let episode = header.episode;
        play_episode(&header, &steps, host, tally).with_context(|| format!("episode {episode}"))?;
    }
    Ok(())
}

fn play_episode(
    header: &Header,
    steps: &[Step],
    host: &mut dyn Host,
    tally: &mut Tally,
) -> Result<()> {
    let mut params = json!({
        "layout": header.layout,
        "rules": header.dialect,
        "horizon": header.horizon,
        "observation": header.encodings,
        "directions": header.directions,
    });
    for (name, value) in &header.params {
        params[name] = value.clone();
    }
    let read: Params = serde_json::from_value(params.clone())?;
    let world = OvercookedAi::new(read).map_err(|error| Unsupported(error.to_string()))?;
    let lengths: Vec<usize> = world
        .spec()
        .observation
        .iter()
        .map(|field| field.shape.iter().product::<u32>() as usize)
        .collect();
    let seats = header.reset.players.len();
    ensure!(
        steps.iter().all(|step| step.a.len() == seats),
        "a step has not one action for each of {seats} seats"
    );
    let frames = host.play(&Episode {
        environment: OvercookedAi::ID.into(),
        params: params.to_string(),
        seats,
        seed: 0,
        start: None,
        actions: steps.iter().map(|step| step.a.clone()).collect(),
        draws: Vec::new(),
    })?;
    let place = |at: usize| format!("episode {}, step {at}", header.episode);
    let mut check = Check {
        place: place(0),
        tally,
    };
    check.field("steps", steps.len() + 1, frames.len());
    for (at, frame) in frames.iter().enumerate() {
        check.place = place(at);
        let step = at.checked_sub(1).and_then(|at| steps.get(at));
        let record = step.map_or(&header.reset, |step| &step.record);
        let moment = Moment {
            world: &world,
            header,
            lengths: &lengths,
            frame,
        };
        moment.compare_state(&mut check, record)?;
        moment.compare_observations(&mut check, record);
        if let Some(step) = step {
            moment.compare_outcome(&mut check, step);
        }
    }
    tally.episodes += 1;
    tally.steps += steps.len() as u64;
    Ok(())
}

struct Moment<'a> {
    world: &'a OvercookedAi,
    header: &'a Header,
    lengths: &'a [usize],
    frame: &'a Frame,
}

impl Moment<'_> {
    fn compare_state(&self, check: &mut Check<'_>, record: &Record) -> Result<()> {
        let state: State =
            postcard::from_bytes(&self.frame.state).context("the state cannot be read back")?;
        let digest = Fnv1a::EMPTY.with(&self.frame.state).value();
        check.field("digest", digest, self.frame.digest);
        let ground = self.world.ground(&state);
        let margin = self.world.kitchen().margin as i64;
        let at = |cell: u16| ground.column_and_row(cell).map(|at| at as i64 - margin);
        let players = state.cooks.iter().map(|cook| {
            let [x, y] = at(cook.cell);
            (x, y, cook.facing, letters(cook.held))
        });
        check.field("players", &record.players, &players.collect::<Vec<_>>());
        let pots = ground.pots.iter().zip(&state.pots).map(|(&cell, pot)| {
            let ([x, y], Recipe { onions, tomatoes }) = (at(cell), pot.contents);
            let tick = pot.tick().map_or(-1, i64::from);
            [x, y, onions.into(), tomatoes.into(), tick]
        });
        check.field("pots", &record.pots, &pots.collect::<Vec<_>>());
        let (mut said, lying) = (record.lying.clone(), state.lying.iter());
        let mut lying: Vec<_> = lying
            .map(|lying| {
                let [x, y] = at(lying.cell);
                (x, y, letters(lying.item))
            })
            .collect();
        if !self.header.ordered {
            said.sort();
            lying.sort();
        }
        check.field("lying", &said, &lying);
        check.field("t", record.t, state.steps);
        if let Some(masks) = &record.mask {
            let ours = (0..masks.len()).map(|seat| {
                let mask = self.world.mask(&state, seat);
                (0..6)
                    .map(|action| (mask >> action & 1) as u8)
                    .collect::<Vec<_>>()
            });
            check.field("mask", masks, &ours.collect::<Vec<_>>());
        }
        Ok(())
    }

    fn compare_observations(&self, check: &mut Check<'_>, record: &Record) {
        if record.oh.is_empty() {
            return;
        }
        for (seat, values) in self.frame.observations.iter().enumerate() {
            let mut from = 0;
            for (at, (&length, encoding)) in
                self.lengths.iter().zip(&self.header.encodings).enumerate()
            {
                let own = values.get(from..from + length).unwrap_or_default();
                from += length;
                let name = format!("observation {encoding} of seat {seat}");
                let said = record.oh.get(seat).and_then(|seat| seat.get(at));
                check.field(&name, said, Some(&checksum(own)));
                let whole = record.obs.as_ref().and_then(|obs| obs.get(seat)?.get(at));
                if let Some(whole) = whole {
                    let values = own.iter().copied().enumerate();
                    let sparse: Sparse = values.filter(|&(_, value)| value != 0.0).unzip();
                    check.field(&format!("{name}, whole"), whole, &sparse);
                }
            }
        }
    }

    fn compare_outcome(&self, check: &mut Check<'_>, step: &Step) {
        let outcome = &self.frame.outcome;
        let seats = step.a.len();
        let names = COMPONENTS.len();
        let mut parts = outcome.components.clone();
        parts.resize(seats * names, 0.0);
        let rewards = step.r.iter().map(|&reward| reward as f32);
        let delivered = parts.chunks(names).map(|parts| parts[0]);
        check.field(
            "r",
            &rewards.collect::<Vec<_>>(),
            &delivered.collect::<Vec<_>>(),
        );
        let shaped = parts.chunks(names).map(|parts| parts[1..].iter().sum());
        let mut shaped: Vec<f32> = shaped.collect();
        if step.sr.len() < seats {
            shaped = vec![shaped.iter().sum()];
        }
        check.field("sr", &step.sr, &shaped);
        check.field("done", step.done, outcome.over);
        if let Some(events) = &step.e {
            let mut ours = vec![Vec::new(); seats];
            for event in &outcome.events {
                ours[usize::from(event.seat)].push(EVENTS[usize::from(event.kind)].to_owned());
            }
            ours.iter_mut().for_each(|kinds| kinds.sort());
            check.field("e", events, &ours);
        }
    }
}

fn letters(item: Item) -> String {
    match item {
        Item::Nothing => String::new(),
        Item::Onion => "o".into(),
        Item::Tomato => "t".into(),
        Item::Dish => "d".into(),
        Item::Soup(Recipe { onions, tomatoes }) => {
            let (onions, tomatoes) = (usize::from(onions), usize::from(tomatoes));
            format!("s{}{}", "o".repeat(onions), "t".repeat(tomatoes))
        }
    }
}

fn checksum(values: &[f32]) -> String {
    let mut crc = Crc::new();
    for value in values {
        crc.update(&value.to_le_bytes());
    }
    format!("{:08x}", crc.sum())
}
