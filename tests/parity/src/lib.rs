//! Parity: recorded trajectories of CoGrid, played by ours and compared field for field.
//!
//! Each episode is played twice: from the recorded first state with the recorded draws injected, and from the
//! seed alone. [`host::Native`] plays in this process, [`host::Module`] in a wasm module under V8;
//! the comparison is the same. A recording says itself what world it is of: [`translate::target`] finds ours.

#![forbid(unsafe_code)]

mod compare;
mod dialects;
pub mod host;
mod jaxmarl;
mod player;
pub mod recording;
pub mod translate;
mod world;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use env_core::envs;
use env_core::rng::Rng;
use flate2::read::GzDecoder;
use serde::Serialize;

use compare::{Check, Tally};
use host::{Episode, Host, Module, Native};
use recording::Episodes;
use translate::Unsupported;

/// The result of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Report {
    /// Every episode was played.
    Compared {
        /// Name of the recorded environment.
        env: String,
        /// Id of ours.
        environment: String,
        /// Episodes in the file.
        episodes: u32,
        /// Steps in the file; each was played twice.
        steps: u64,
        /// Fields that differed, by name.
        differing: BTreeMap<String, u64>,
        /// The first of them, in words.
        first: Vec<String>,
    },
    /// Ours has not got what was recorded.
    Unsupported {
        /// Name of the recorded environment.
        env: String,
        /// The part that we do not have.
        reason: String,
    },
    /// The file cannot be read, or is not a recording.
    Malformed {
        /// The fault, with line and field.
        reason: String,
    },
}

/// The result of a file in a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileReport {
    /// Name of the file.
    pub file: String,
    /// The host: `native` or `module`.
    pub host: &'static str,
    /// The result.
    #[serde(flatten)]
    pub report: Report,
}

impl FileReport {
    /// Fields that differed.
    pub fn mismatches(&self) -> u64 {
        match &self.report {
            Report::Compared { differing, .. } => differing.values().sum(),
            Report::Unsupported { .. } | Report::Malformed { .. } => 0,
        }
    }

    /// Steps that were compared, each in two modes.
    pub fn steps(&self) -> u64 {
        match self.report {
            Report::Compared { steps, .. } => steps,
            Report::Unsupported { .. } | Report::Malformed { .. } => 0,
        }
    }

    /// Checks whether the recording was played to the end, step by step, and nothing differed.
    pub fn is_equal(&self) -> bool {
        self.steps() > 0 && self.mismatches() == 0
    }
}

/// The modules of environments by id, each started when it is first needed.
#[derive(Debug, Default)]
pub struct Modules {
    files: BTreeMap<String, PathBuf>,
    started: BTreeMap<String, Module>,
}

impl Modules {
    /// Takes up a module; the name of its file is the id of its environment.
    pub fn add(&mut self, file: PathBuf) {
        let id = file.file_stem().unwrap_or_default().to_string_lossy();
        self.files.insert(id.into_owned(), file);
    }

    /// Checks that nothing is there.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn of(&mut self, id: &str) -> Result<&mut Module> {
        let file = self.files.get(id);
        let file = file.with_context(|| format!("there is no module of `{id}`"))?;
        if !self.started.contains_key(id) {
            self.started.insert(id.into(), Module::start(file)?);
        }
        self.started.get_mut(id).context("it was just started")
    }
}

impl Host for Modules {
    fn name(&self) -> &'static str {
        "module"
    }

    fn play(&mut self, episode: &Episode) -> Result<Vec<host::Frame>> {
        self.of(&episode.environment)?.play(episode)
    }
}

/// Plays every recording of a folder natively, and in modules too if there are any; hands over each report immediately.
///
/// # Errors
/// The folder has no recordings.
pub fn run(folder: &Path, modules: &mut Modules, mut report: impl FnMut(FileReport)) -> Result<()> {
    for path in recordings(folder)? {
        let name = path.file_name().unwrap_or_default();
        let file = name.to_string_lossy().into_owned();
        let mut native = Native;
        let mut hosts: Vec<&mut dyn Host> = vec![&mut native];
        if !modules.is_empty() {
            hosts.push(modules);
        }
        for host in hosts {
            let came = replay(&path, host);
            // What the first host cannot play, no other can.
            let played = matches!(came, Report::Compared { .. });
            report(FileReport {
                file: file.clone(),
                host: host.name(),
                report: came,
            });
            if !played {
                break;
            }
        }
    }
    Ok(())
}

fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    find(folder, &mut paths)?;
    ensure!(
        !paths.is_empty(),
        "there are no recordings (*.jsonl.gz) in {}",
        folder.display()
    );
    paths.sort();
    Ok(paths)
}

/// Finds the recordings of a folder and of the folders in it.
fn find(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = folder
        .read_dir()
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, paths)?;
        } else if path.to_string_lossy().ends_with(".jsonl.gz") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Plays the recording in a file.
pub fn replay(file: &Path, host: &mut dyn Host) -> Report {
    match File::open(file) {
        Ok(bytes) => replay_bytes(bytes, host),
        Err(error) => Report::Malformed {
            reason: error.to_string(),
        },
    }
}

/// Plays a recording.
pub fn replay_bytes(bytes: impl Read, host: &mut dyn Host) -> Report {
    let (mut env, mut environment) = (String::new(), String::new());
    let mut tally = Tally::default();
    match play(bytes, host, &mut env, &mut environment, &mut tally) {
        Ok(()) => Report::Compared {
            env,
            environment,
            episodes: tally.episodes,
            steps: tally.steps,
            differing: tally.mismatches,
            first: tally.first,
        },
        Err(error) => match error.downcast_ref::<Unsupported>() {
            Some(Unsupported(reason)) => Report::Unsupported {
                env,
                reason: reason.clone(),
            },
            None => Report::Malformed {
                reason: format!("{error:#}"),
            },
        },
    }
}

fn play(
    mut bytes: impl Read,
    host: &mut dyn Host,
    env: &mut String,
    environment: &mut String,
    tally: &mut Tally,
) -> Result<()> {
    let mut packed = Vec::new();
    bytes.read_to_end(&mut packed)?;
    let bytes = packed.as_slice();
    if jaxmarl::is_recording(bytes) {
        let mut told = |recorded: &str, ours: &str| {
            recorded.clone_into(env);
            ours.clone_into(environment);
        };
        return jaxmarl::play(bytes, host, &mut told, tally);
    }
    if let Some(text) = dialect_text(bytes) {
        dialects::play(&text?, host, env, environment, tally)?;
        ensure!(tally.steps > 0, "there is no step to compare");
        return Ok(());
    }
    for recording in Episodes::new(bytes) {
        let recording = recording?;
        env.clone_from(&recording.header.env);
        let target = translate::target(&recording.header)?;
        *environment = target.id.into();
        let episode = recording.header.episode;
        player::play(&target, &recording, host, tally)
            .with_context(|| format!("episode {episode}"))?;
    }
    ensure!(tally.steps > 0, "there is no step to compare");
    Ok(())
}

/// The lines of a recording of a dialect; `None` if it is another recording.
fn dialect_text(packed: &[u8]) -> Option<Result<String>> {
    let mut first = String::new();
    let unpack = || BufReader::new(GzDecoder::new(packed));
    unpack().read_line(&mut first).ok()?;
    dialects::is_dialect(&first).then(|| {
        let mut text = String::new();
        let whole = unpack().read_to_string(&mut text);
        whole.context("cannot be unpacked")?;
        Ok(text)
    })
}

/// Steps of an episode of random play: past the end of it.
const RANDOM_HORIZON: u32 = 300;
const RANDOM_STEPS: usize = 310;

/// Plays random episodes of every environment that has a module natively and there, and compares every byte.
///
/// # Errors
/// A module does not start or breaks down.
pub fn agree(modules: &mut Modules) -> Result<Vec<FileReport>> {
    let mut reports = Vec::new();
    for id in envs::IDS.iter().copied() {
        if !modules.files.contains_key(id) {
            continue;
        }
        let mut tally = Tally::default();
        for episode in random_episodes(id) {
            let (native, module) = (Native.play(&episode)?, modules.play(&episode)?);
            for (at, (native, module)) in native.iter().zip(&module).enumerate() {
                let place = format!("{} seed {}, step {at}", episode.params, episode.seed);
                let mut check = Check {
                    place,
                    tally: &mut tally,
                };
                check.field("frame", native, module);
            }
            tally.episodes += 1;
            tally.steps += episode.actions.len() as u64;
        }
        reports.push(FileReport {
            file: format!("random play of {id}"),
            host: "module",
            report: Report::Compared {
                env: id.into(),
                environment: id.into(),
                episodes: tally.episodes,
                steps: tally.steps,
                differing: tally.mismatches,
                first: tally.first,
            },
        });
    }
    Ok(reports)
}

/// A world of data with one of everything, with other parameters.
fn workshop(params: serde_json::Value) -> serde_json::Value {
    let file = include_str!("../../../env-core/tests/grid/workshop.json");
    let mut world: serde_json::Map<_, _> = serde_json::from_str(file).expect("it is a world");
    world.extend(
        params
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    world.into()
}

/// The parameters of the episodes of an environment, for one agent and for more, and by each set of rules.
fn random_params(id: &str) -> Vec<serde_json::Value> {
    use serde_json::json;
    let horizon = RANDOM_HORIZON;
    let mut params = match id {
        "hanabi" => vec![
            json!({"seats": 2}),
            json!({"seats": 3, "colors": 6}),
            json!({"seats": 5}),
        ],
        "overcooked_jaxmarl_v2" => vec![
            json!({"negative_rewards": true}),
            json!({"layout": "grounded_coord_ring", "view_radius": 2, "sample_recipe_on_delivery": true,
                   "indicate_successful_delivery": true, "shaping": 1.0}),
            json!({"layout": ["0AP R", "WA AX", "LB1PW"], "random_reset": true, "start_cooking_interaction": true}),
        ],
        "overcooked_ai" => [
            ("overcooked-ai-1.1.0", "soup_coordination"),
            ("overcooked-ai-old", "cramped_room"),
            ("jaxmarl-0.2.0", "forced_coord"),
            ("cec", "generated"),
            ("neurips2019", "simple"),
            ("zsc-eval", "random3_m"),
        ]
        .map(|(rules, layout)| json!({"rules": rules, "layout": layout}))
        .into(),
        "dual_destination" => [false, true]
            .map(|random| json!({"random_reset": random}))
            .into(),
        "grid" => [1, 2, 4]
            .map(|seats| workshop(json!({"seats": seats})))
            .into(),
        _ => [
            ("corrected", 1),
            ("corrected", 2),
            ("corrected", 4),
            ("cogrid-0.3.2", 2),
            ("cogrid-0.3.2", 4),
        ]
        .map(|(rules, seats)| json!({"rules": rules, "seats": seats}))
        .into(),
    };
    params
        .iter_mut()
        .for_each(|params| params["horizon"] = horizon.into());
    params
}

/// Episodes of uniform actions.
fn random_episodes(id: &str) -> Vec<Episode> {
    let mut episodes = Vec::new();
    for (seed, params) in (1..).zip(random_params(id)) {
        // Not every environment has both sets of rules, and room for so many.
        let Ok(world) = envs::open(id, &params.to_string()) else {
            continue;
        };
        let (mut rng, actions) = (Rng::new(seed), world.spec().actions.len() as u32);
        let seats = usize::from(world.spec().seats);
        let joint = |rng: &mut Rng| (0..seats).map(|_| rng.below(actions) as u16).collect();
        episodes.push(Episode {
            environment: id.into(),
            params: params.to_string(),
            seats,
            seed,
            actions: (0..RANDOM_STEPS).map(|_| joint(&mut rng)).collect(),
            ..Episode::default()
        });
    }
    episodes
}
