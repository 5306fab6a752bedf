//! The check of an environment before a study plays it: random play in two processes, and a report.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use env_core::contract::Action;
use env_core::rng::Rng;
use serde::Serialize;

use crate::contract::{HostFault, HostStep, HostedWorld as _, Picture};
use crate::process::ProcessHost;

/// Steps that the check of the way `page` tries before and after it copies the state.
const PAGE_STEPS: u32 = 40;

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// The environment as it was loaded; `None` if it was not.
    #[serde(flatten)]
    pub world: Option<WorldReport>,
    /// The ways into a study, and whether they work.
    pub ways: HostWays,
}

/// The ways into a study.
#[derive(Clone, Debug, Serialize)]
pub struct HostWays {
    /// A process beside the server steps it.
    pub host: Way,
    /// Every page steps it.
    pub page: Way,
}

/// A way into a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// True if it works.
    pub ok: bool,
    /// The reason.
    pub why: String,
}

/// The facts of an environment, and its behaviour in random play.
#[derive(Clone, Debug, Serialize)]
pub struct WorldReport {
    /// Its id.
    pub id: String,
    /// Version of its rules.
    pub version: String,
    /// Names of its seats.
    pub seats: Vec<String>,
    /// Names of its actions.
    pub actions: Vec<String>,
    /// Its default keys, by action.
    pub keys: BTreeMap<String, Vec<String>>,
    /// The actions that people can only take with a key: not the one while no key is held, nor directives, and none if
    /// people can point at the picture.
    #[serde(skip)]
    need_keys: Vec<String>,
    /// The action that does nothing.
    pub noop: String,
    /// The fields of a seat's observation with their shapes.
    pub observation: BTreeMap<String, Vec<u32>>,
    /// Steps a second; 0 for turns.
    pub tick_hz: u16,
    /// Steps of an episode, at most.
    pub horizon: u32,
    /// The form of its picture.
    pub picture: PictureReport,
    /// Steps that were played.
    pub steps: usize,
    /// Episodes that came to an end.
    pub episodes: usize,
    /// Time of a step, half of them take less, µs.
    pub step_us: u64,
    /// Time of a step, one in twenty takes more, µs.
    pub slow_step_us: u64,
    /// Time of a picture of one seat, half of them take less, µs.
    pub picture_us: u64,
    /// True if steps and pictures fit into a tick.
    pub in_time: bool,
    /// The comparison of two runs with equal seeds and actions.
    pub repeats: Way,
    /// Versions of what steps it.
    pub packages: BTreeMap<String, String>,
    /// Remarks of the host.
    pub notes: Vec<String>,
}

/// The form of a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureReport {
    /// `shapes`, `pixels` or `none`.
    pub kind: &'static str,
    /// Width, in cells or pixels.
    pub width: f32,
    /// Height, in cells or pixels.
    pub height: f32,
}

/// Plays an environment at random for this many steps, twice, and reports what does not fit.
pub fn check_host(
    open: &mut dyn FnMut() -> Result<ProcessHost, HostFault>,
    steps: usize,
    seed: u64,
) -> HostReport {
    let mut play = match open() {
        Ok(host) => RandomPlay::new(host, seed),
        Err(fault) => return refused(&fault),
    };
    let played = play.run(steps);
    let repeats = match (&played, open()) {
        (Err(_), _) => Way::no("it failed"),
        (_, Err(fault)) => Way::no(fault.to_string()),
        (Ok(()), Ok(host)) => play.repeat(host),
    };
    let page = match play.host.check_page(PAGE_STEPS, seed) {
        Ok((ok, why)) => Way { ok, why },
        Err(fault) => Way::no(fault.to_string()),
    };
    let world = play.report(repeats);
    let host = match played {
        Err(fault) => Way::no(fault.to_string()),
        Ok(()) => judge(&world),
    };
    HostReport {
        world: Some(world),
        ways: HostWays { host, page },
    }
}

/// Plays an environment at random for this many steps, twice: what [`check_host`] reports of it, without the way `page`.
///
/// # Errors
/// [`HostFault`]: it cannot be opened, or failed.
pub fn play_host(
    open: &mut dyn FnMut() -> Result<ProcessHost, HostFault>,
    steps: usize,
    seed: u64,
) -> Result<WorldReport, HostFault> {
    let mut play = RandomPlay::new(open()?, seed);
    play.run(steps)?;
    let repeats = play.repeat(open()?);
    Ok(play.report(repeats))
}

fn refused(fault: &HostFault) -> HostReport {
    let way = Way::no(fault.to_string());
    let (host, page) = (way.clone(), way);
    HostReport {
        world: None,
        ways: HostWays { host, page },
    }
}

fn judge(world: &WorldReport) -> Way {
    if let Some(why) = world.lack_of_picture().or(world.check_delay()) {
        return Way::no(why);
    }
    match world.repeats.ok {
        true => Way::yes("it steps, draws and repeats itself: its record can be verified"),
        false => Way::yes(
            "it steps and draws; it does not repeat itself, so its record is kept as it was and is not verified",
        ),
    }
}

impl Way {
    fn no(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { ok: false, why }
    }

    fn yes(why: &str) -> Self {
        let why = why.to_owned();
        Self { ok: true, why }
    }
}

/// Random play, with everything that it showed.
struct RandomPlay {
    host: ProcessHost,
    seed: u64,
    rng: Rng,
    /// The seeds of episodes and the actions of steps, in order.
    script: Vec<Move>,
    shown: Vec<HostStep>,
    step_times: Vec<Duration>,
    picture_times: Vec<Duration>,
    picture: Picture,
}

enum Move {
    Reset(u64),
    Step(Vec<Action>),
}

impl RandomPlay {
    fn new(host: ProcessHost, seed: u64) -> Self {
        Self {
            host,
            seed,
            rng: Rng::new(seed),
            script: Vec::new(),
            shown: Vec::new(),
            step_times: Vec::new(),
            picture_times: Vec::new(),
            picture: Picture::None,
        }
    }

    fn run(&mut self, steps: usize) -> Result<(), HostFault> {
        let mut episode = 0;
        let (mut values, mut words) = (Vec::new(), String::new());
        for _ in 0..steps {
            let over = self.shown.last().is_none_or(|step| step.outcome.over);
            if over {
                let seed = self.seed.wrapping_add(episode);
                episode += 1;
                let first = self.host.reset(seed)?.clone();
                self.script.push(Move::Reset(seed));
                self.shown.push(first);
            }
            let actions = self.choose();
            let began = Instant::now();
            let step = self.host.step(&actions)?.clone();
            self.step_times.push(began.elapsed());
            self.script.push(Move::Step(actions));
            self.shown.push(step);
            let began = Instant::now();
            self.host.picture(0, &mut self.picture)?;
            self.picture_times.push(began.elapsed());
        }
        for seat in 0..usize::from(self.host.spec().seats) {
            self.host.picture(seat, &mut self.picture)?;
            self.host.observe(seat, &mut values)?;
            self.host.describe(seat, &mut words)?;
        }
        Ok(())
    }

    /// An action for each seat among those that it may choose.
    fn choose(&mut self) -> Vec<Action> {
        let spec = self.host.spec();
        let masks = self.shown.last().map(|step| step.masks);
        let mut row = Vec::with_capacity(usize::from(spec.seats));
        for seat in 0..usize::from(spec.seats) {
            let mask = masks.map_or(u64::MAX, |masks| masks[seat]);
            let legal: Vec<Action> = (0..spec.actions.len() as Action)
                .filter(|&action| spec.has_action(seat, action))
                .filter(|&action| action >= 64 || mask >> action & 1 == 1)
                .collect();
            let at = self.rng.below(legal.len().max(1) as u32) as usize;
            row.push(legal.get(at).copied().unwrap_or(spec.noop));
        }
        row
    }

    /// Plays the same again in another process.
    fn repeat(&self, mut host: ProcessHost) -> Way {
        for (at, (played, shown)) in self.script.iter().zip(&self.shown).enumerate() {
            let again = match played {
                Move::Reset(seed) => host.reset(*seed),
                Move::Step(actions) => host.step(actions),
            };
            match again {
                Ok(step) if step == shown => {}
                Ok(step) => {
                    return Way::no(format!("after {at} steps {}", difference(step, shown)));
                }
                Err(fault) => return Way::no(fault.to_string()),
            }
        }
        Way::yes("equal seeds and actions gave equal steps")
    }

    fn report(&self, repeats: Way) -> WorldReport {
        let facts = self.host.facts();
        let spec = &facts.spec;
        let seat_names = (0..spec.seats).map(|seat| format!("seat {seat}"));
        let (step, slow) = (
            quantile(&self.step_times, 50),
            quantile(&self.step_times, 95),
        );
        let picture = quantile(&self.picture_times, 50);
        let tick = 1_000_000_u64.checked_div(spec.tick_hz.into());
        let own = step + picture * u64::from(spec.seats);
        let name = |action: &env_core::contract::ActionSpec| action.name.clone();
        let numbered = (0..).zip(&spec.actions);
        let need_keys = numbered
            .filter(|(number, action)| *number != spec.noop && !action.directive && !spec.pointer);
        WorldReport {
            need_keys: need_keys.map(|(_, action)| name(action)).collect(),
            id: spec.id.clone(),
            version: spec.version.clone(),
            seats: match facts.agents.is_empty() {
                true => seat_names.collect(),
                false => facts.agents.clone(),
            },
            actions: spec.actions.iter().map(name).collect(),
            keys: spec
                .actions
                .iter()
                .map(|action| (name(action), action.keys.clone()))
                .collect(),
            noop: spec
                .actions
                .get(usize::from(spec.noop))
                .map(name)
                .unwrap_or_default(),
            observation: spec
                .observation
                .iter()
                .map(|f| (f.name.clone(), f.shape.clone()))
                .collect(),
            tick_hz: spec.tick_hz,
            horizon: spec.horizon,
            picture: PictureReport::of(&self.picture),
            steps: self.step_times.len(),
            episodes: self.shown.iter().filter(|step| step.outcome.over).count(),
            step_us: step,
            slow_step_us: slow,
            picture_us: picture,
            in_time: tick.is_none_or(|tick| own <= tick),
            repeats,
            packages: facts.packages.clone(),
            notes: facts.notes.clone(),
        }
    }
}

/// The first thing that differs between two steps, in words.
fn difference(one: &HostStep, two: &HostStep) -> &'static str {
    if one.outcome.rewards != two.outcome.rewards {
        "the rewards differ"
    } else if one.observed != two.observed {
        "the observations differ"
    } else if one.masks != two.masks || one.acting != two.acting {
        "the legal actions differ"
    } else if one.infos != two.infos {
        "the infos differ"
    } else {
        "the ends, the score or the events differ"
    }
}

fn quantile(times: &[Duration], percent: usize) -> u64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0, |time| time.as_micros() as u64)
}

impl WorldReport {
    /// The fault of an environment that people cannot see; `None` if they can.
    pub fn lack_of_picture(&self) -> Option<String> {
        let is_unseen = self.picture.kind == "none";
        is_unseen.then(|| {
            "it gives no picture: write a method `draw(self, seat)`, or let `render` return an array".to_owned()
        })
    }

    /// The reason why its ticks would be late; `None` if they are in time.
    pub fn check_delay(&self) -> Option<String> {
        let (step, tick) = (self.step_us, 1_000_000 / u64::from(self.tick_hz.max(1)));
        (!self.in_time).then(|| {
            format!(
                "a step takes {step} µs and a picture {} µs, and a tick lasts {tick} µs: lower `tick_hz`",
                self.picture_us
            )
        })
    }

    /// The actions that no key gives, if the study has these keys; without any, its own count.
    pub fn tell_keyless(&self, keys: &BTreeMap<String, Vec<String>>) -> Option<String> {
        let keys = if keys.is_empty() { &self.keys } else { keys };
        let has_key = |action: &&String| keys.get(*action).is_some_and(|keys| !keys.is_empty());
        let keyless = self.need_keys.iter().filter(|action| !has_key(action));
        let keyless: Vec<String> = keyless.map(|action| format!("`{action}`")).collect();
        (!keyless.is_empty()).then(|| {
            format!(
                "no key gives {}, so people cannot take it: name keys under `keys`",
                keyless.join(", ")
            )
        })
    }

    /// The first difference between two runs with equal seeds and actions; `None` if there is none.
    pub fn check_repetition(&self) -> Option<String> {
        (!self.repeats.ok).then(|| {
            format!(
                "with the same seed and actions it does not repeat itself ({}), so that its record is kept as it was and is not verified; \
                 take every random number from the seed of `reset`",
                self.repeats.why
            )
        })
    }
}

impl PictureReport {
    fn of(picture: &Picture) -> Self {
        let (kind, width, height) = match picture {
            Picture::None => ("none", 0.0, 0.0),
            Picture::List(list) => ("shapes", list.width, list.height),
            Picture::Pixels(pixels) => ("pixels", pixels.width as f32, pixels.height as f32),
        };
        Self {
            kind,
            width,
            height,
        }
    }
}

impl HostReport {
    /// Checks whether the environment can be played.
    pub fn is_fine(&self) -> bool {
        self.ways.host.ok || self.ways.page.ok
    }
}

impl fmt::Display for HostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(world) = &self.world {
            writeln!(f, "{world}")?;
        }
        let ways = [("host", &self.ways.host), ("page", &self.ways.page)];
        for (at, (name, Way { ok, why })) in ways.into_iter().enumerate() {
            let mark = if *ok { "works" } else { "NO   " };
            let line = format!(
                "  {name}  {mark}  {}",
                why.trim_end().replace('\n', "\n               ")
            );
            match at {
                0 => writeln!(f, "{line}")?,
                _ => write!(f, "{line}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for WorldReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})\n", self.id, self.version)?;
        writeln!(f, "  seats        {}", self.seats.join(", "))?;
        let actions = self
            .actions
            .iter()
            .map(|action| match self.keys.get(action) {
                Some(keys) if !keys.is_empty() => format!("{action} [{}]", keys.join(" ")),
                _ => action.clone(),
            });
        writeln!(
            f,
            "  actions      {}",
            actions.collect::<Vec<_>>().join(", ")
        )?;
        writeln!(f, "  no key held  {}", self.noop)?;
        let fields = self
            .observation
            .iter()
            .map(|(name, shape)| format!("{name} {shape:?}"));
        writeln!(
            f,
            "  observation  {}",
            fields.collect::<Vec<_>>().join(", ")
        )?;
        match self.tick_hz {
            0 => writeln!(f, "  pace         turns, at most {}", self.horizon)?,
            hz => writeln!(
                f,
                "  pace         {hz} steps a second, at most {}",
                self.horizon
            )?,
        }
        let PictureReport {
            kind,
            width,
            height,
        } = &self.picture;
        writeln!(f, "  picture      {kind}, {width} × {height}")?;
        writeln!(
            f,
            "  time         step {} µs, slow step {} µs, picture {} µs, over {} steps",
            self.step_us, self.slow_step_us, self.picture_us, self.steps
        )?;
        writeln!(f, "  repeats      {}", self.repeats.why)?;
        let keyless = self.tell_keyless(&BTreeMap::new());
        for note in self.notes.iter().chain(&keyless) {
            writeln!(f, "  note         {note}")?;
        }
        Ok(())
    }
}
