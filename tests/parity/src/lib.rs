//! Parity: recorded trajectories of another implementation, played by ours and compared field for field.
//!
//! Each episode is played twice: from the recorded first state with the recorded draws injected, and from the
//! seed alone. [`host::Native`] plays in this process, [`host::Module`] in the wasm module under V8;
//! the comparison is the same. It must not know how environments work inside, but for the translation of states.

pub mod host;
mod overcooked;
pub mod recording;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use env_core::digest::Fnv1a;
use env_core::envs::overcooked::kitchen::Kitchen;
use env_core::envs::overcooked::state::State;
use env_core::{Environment, MAX_SEATS, envs};
use serde::Serialize;

use host::{Episode, Frame, Host};
use recording::{Episodes, Header, Record, Recorded, Step};

/// Mismatches that a report spells out.
const SHOWN: usize = 8;

/// What came of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Report {
    /// Every episode was played.
    Compared {
        /// Name of the recorded environment.
        env: String,
        /// Episodes in the file.
        episodes: u32,
        /// Steps in the file; each was played twice.
        steps: u64,
        /// Fields that differed.
        mismatches: u64,
        /// The first of them, in words.
        first: Vec<String>,
    },
    /// The environment, or this variant of it, is not there yet.
    Unknown {
        /// Name of the recorded environment.
        env: String,
    },
    /// The file cannot be read, or is not a recording.
    Malformed {
        /// What is wrong, and in which line.
        reason: String,
    },
}

/// What came of a file in a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileReport {
    /// Name of the file.
    pub file: String,
    /// Who played: `native` or `module`.
    pub host: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub report: Report,
}

impl FileReport {
    /// Fields that differed.
    pub fn mismatches(&self) -> u64 {
        match self.report {
            Report::Compared { mismatches, .. } => mismatches,
            Report::Unknown { .. } | Report::Malformed { .. } => 0,
        }
    }

    /// Whether something differed or could not be read.
    pub fn failed(&self) -> bool {
        self.mismatches() > 0 || matches!(self.report, Report::Malformed { .. })
    }
}

/// Plays every recording of a folder natively, and in a module too if one is given.
///
/// # Errors
/// The folder has no recordings, or the host of the module does not start.
pub fn run(folder: &Path, module: Option<&Path>) -> Result<Vec<FileReport>> {
    let mut hosts: Vec<Box<dyn Host>> = vec![Box::new(host::Native)];
    if let Some(module) = module {
        hosts.push(Box::new(host::Module::start(module)?));
    }
    let mut reports = Vec::new();
    for path in recordings(folder)? {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for host in &mut hosts {
            let report = replay(&path, host.as_mut()).unwrap_or_else(|error| Report::Malformed {
                reason: format!("{error:#}"),
            });
            let played = matches!(report, Report::Compared { .. });
            reports.push(FileReport {
                file: file.clone(),
                host: host.name(),
                report,
            });
            // What the first host cannot play, no other can.
            if !played {
                break;
            }
        }
    }
    Ok(reports)
}

/// Plays random episodes of every environment natively and in a module, and compares every byte.
///
/// # Errors
/// The host of the module does not start or breaks down.
pub fn agree(module: &Path) -> Result<FileReport> {
    let mut module = host::Module::start(module)?;
    let mut tally = Tally::default();
    for episode in overcooked::random_episodes() {
        let (native, module) = (host::Native.play(&episode)?, module.play(&episode)?);
        for (at, (native, module)) in native.iter().zip(&module).enumerate() {
            let place = format!("{} seed {}, step {at}", episode.params, episode.seed);
            Check {
                place,
                tally: &mut tally,
            }
            .field("frame", native, module);
        }
        tally.episodes += 1;
        tally.steps += episode.actions.len() as u64;
    }
    let Tally {
        episodes,
        steps,
        mismatches,
        first,
    } = tally;
    let report = Report::Compared {
        env: "overcooked".into(),
        episodes,
        steps,
        mismatches,
        first,
    };
    Ok(FileReport {
        file: "random play".into(),
        host: "module",
        report,
    })
}

fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder
        .read_dir()
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let mut paths: Vec<_> = paths
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(".jsonl.gz"))
        .collect();
    ensure!(
        !paths.is_empty(),
        "there are no recordings (*.jsonl.gz) in {}",
        folder.display()
    );
    paths.sort();
    Ok(paths)
}

/// Plays the recording in a file.
///
/// # Errors
/// The file is malformed (file and line are named), or the host broke down.
pub fn replay(file: &Path, host: &mut dyn Host) -> Result<Report> {
    let bytes = File::open(file).with_context(|| format!("{}", file.display()))?;
    replay_bytes(bytes, host).with_context(|| format!("{}", file.display()))
}

/// Plays a recording.
///
/// # Errors
/// The recording is malformed (the line is named), or the host broke down.
pub fn replay_bytes(bytes: impl Read, host: &mut dyn Host) -> Result<Report> {
    let mut tally = Tally::default();
    let mut env = String::new();
    for recorded in Episodes::new(bytes) {
        let recorded = recorded?;
        let Some(params) = overcooked::params(&recorded.header) else {
            return Ok(Report::Unknown {
                env: recorded.header.env,
            });
        };
        let episode = recorded.header.episode;
        let player = Player {
            kitchen: Kitchen::new(params.layout),
            params: serde_json::to_string(&params)?,
            recorded,
        };
        player
            .play(host, &mut tally)
            .with_context(|| format!("episode {episode}"))?;
        env = player.recorded.header.env;
    }
    ensure!(tally.episodes > 0, "line 1: there is no episode");
    let Tally {
        episodes,
        steps,
        mismatches,
        first,
    } = tally;
    Ok(Report::Compared {
        env,
        episodes,
        steps,
        mismatches,
        first,
    })
}

/// What was compared so far.
#[derive(Default)]
struct Tally {
    episodes: u32,
    steps: u64,
    mismatches: u64,
    first: Vec<String>,
}

/// One recorded episode and what plays it.
struct Player {
    kitchen: Kitchen,
    params: String,
    recorded: Recorded,
}

impl Player {
    fn play(&self, host: &mut dyn Host, tally: &mut Tally) -> Result<()> {
        let Recorded { header, steps } = &self.recorded;
        for step in steps {
            ensure!(
                step.a.len() == header.n_agents,
                "step {}: `a` needs one action for each agent",
                step.t
            );
        }
        let from_seed = Episode {
            environment: envs::overcooked::Overcooked::ID.into(),
            params: self.params.clone(),
            seats: header.n_agents,
            seed: header.seed,
            actions: steps.iter().map(|step| step.a.clone()).collect(),
            ..Episode::default()
        };
        let start = overcooked::state(&self.kitchen, &header.reset)?;
        let injected = Episode {
            // Another seed, so that nothing but the injected draws can give the recorded course.
            seed: !header.seed,
            start: Some(postcard::to_allocvec(&start)?),
            draws: steps.iter().map(|step| step.prio.clone()).collect(),
            ..from_seed.clone()
        };
        for (mode, episode) in [
            ("from the seed", from_seed),
            ("with injected draws", injected),
        ] {
            let frames = host.play(&episode)?;
            let mut check = Check {
                place: String::new(),
                tally,
            };
            for (at, frame) in frames.iter().enumerate() {
                check.place = format!("episode {}, step {at}, {mode}", header.episode);
                self.compare(&mut check, frame, at.checked_sub(1).map(|at| &steps[at]))?;
            }
            check.field("steps", steps.len() + 1, frames.len());
        }
        tally.episodes += 1;
        tally.steps += steps.len() as u64;
        Ok(())
    }

    fn compare(&self, check: &mut Check<'_>, frame: &Frame, step: Option<&Step>) -> Result<()> {
        let header = &self.recorded.header;
        let record = step.map_or(&header.reset, |step| &step.record);
        let state: State =
            postcard::from_bytes(&frame.state).context("the state cannot be read back")?;
        check.field(
            "digest",
            Fnv1a::EMPTY.with(&frame.state).value(),
            frame.digest,
        );
        let mut ours = overcooked::fields(&self.kitchen, &state);
        for (name, recorded) in recorded_fields(record) {
            check.field(&name, Some(recorded), ours.remove(&name));
        }
        for (name, extra) in ours {
            check.field(&name, None, Some(extra));
        }
        compare_observations(check, record, frame);
        if let Some(step) = step {
            compare_outcome(check, header, step, frame);
        }
        Ok(())
    }
}

fn recorded_fields(record: &Record) -> BTreeMap<String, Vec<i64>> {
    let mut fields = BTreeMap::from([
        ("pos".into(), record.pos.as_flattened().to_vec()),
        ("dir".into(), record.dir.clone()),
        ("inv".into(), record.inv.clone()),
        ("otm".into(), record.otm.clone()),
        ("osm".into(), record.osm.clone()),
    ]);
    fields.extend(
        record
            .x
            .iter()
            .map(|(name, values)| (format!("x.{name}"), values.clone())),
    );
    fields
}

fn compare_observations(check: &mut Check<'_>, record: &Record, frame: &Frame) {
    let hashes: Vec<String> = frame
        .observations
        .iter()
        .map(|values| hash(values))
        .collect();
    check.field("oh", &record.oh, &hashes);
    if let Some(recorded) = &record.obs {
        let sparse = |values: &Vec<f32>| -> (Vec<usize>, Vec<f32>) {
            values
                .iter()
                .copied()
                .enumerate()
                .filter(|&(_, value)| value != 0.0)
                .unzip()
        };
        check.field(
            "obs",
            recorded,
            &frame.observations.iter().map(sparse).collect::<Vec<_>>(),
        );
    }
}

/// The hash of an observation as recorded: FNV-1a over its bytes, -0.0 as 0.0.
fn hash(values: &[f32]) -> String {
    let hash = values.iter().fold(Fnv1a::EMPTY, |hash, value| {
        hash.with(&(value + 0.0).to_le_bytes())
    });
    format!("{:016x}", hash.value())
}

fn compare_outcome(check: &mut Check<'_>, header: &Header, step: &Step, frame: &Frame) {
    let seats = header.n_agents;
    let outcome = &frame.outcome;
    check.field(
        "r",
        step.r.as_slice(),
        &outcome.rewards[..seats.min(MAX_SEATS)],
    );
    let bits = |mask: u16| {
        (0..seats)
            .map(|seat| (mask >> seat & 1) as u8)
            .collect::<Vec<_>>()
    };
    check.field("te", &step.te, &bits(outcome.terminated));
    check.field("tr", &step.tr, &bits(outcome.truncated));
    check.field("done", &step.done, &vec![u8::from(outcome.over); seats]);
    let mut components = vec![vec![0.0_f32; seats]; header.rewards.len()];
    for event in &outcome.events {
        // Common rewards: what one agent earns goes to all.
        if let Some(component) = components.get_mut(usize::from(event.kind)) {
            component.iter_mut().for_each(|sum| *sum += event.value);
        }
    }
    // The recordings leave out what is zero throughout.
    let any = components.iter().flatten().any(|&value| value != 0.0);
    check.field("rc", step.rc.as_ref(), any.then_some(&components));
}

/// Compares at one place of a recording.
struct Check<'a> {
    place: String,
    tally: &'a mut Tally,
}

impl Check<'_> {
    fn field<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
        &mut self,
        name: &str,
        recorded: T,
        ours: U,
    ) {
        if recorded == ours {
            return;
        }
        self.tally.mismatches += 1;
        if self.tally.first.len() < SHOWN {
            self.tally.first.push(format!(
                "{}: `{name}` recorded {recorded:?}, ours {ours:?}",
                self.place
            ));
        }
    }
}
