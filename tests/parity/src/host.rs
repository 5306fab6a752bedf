//! The hosts of an episode: the native library, or the wasm module under V8.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use env_core::{Action, StepOutcome, World, abi, envs};

/// An episode to play.
#[derive(Clone, Debug, Default)]
pub struct Episode {
    /// Id of the environment.
    pub environment: String,
    /// Its parameters, JSON.
    pub params: String,
    /// Number of seats.
    pub seats: usize,
    /// The seed.
    pub seed: u64,
    /// Canonical bytes of the state to start from instead of the seed's own.
    pub start: Option<Vec<u8>>,
    /// Actions, `[step, seat]`.
    pub actions: Vec<Vec<Action>>,
    /// Draws to inject, `[step, word]`, or none at all.
    pub draws: Vec<Vec<u32>>,
}

/// The output of an episode after the reset or after a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The result of the step; empty after the reset.
    pub outcome: StepOutcome,
    /// Canonical bytes of the state.
    pub state: Vec<u8>,
    /// Digest of the state.
    pub digest: u64,
    /// Observation of each seat.
    pub observations: Vec<Vec<f32>>,
    /// For each seat the actions that may have an effect.
    pub masks: Vec<u64>,
}

/// Plays episodes.
pub trait Host {
    /// Name in reports.
    fn name(&self) -> &'static str;

    /// Plays an episode and gives one frame for the reset and one for each step.
    ///
    /// # Errors
    /// The environment refuses its parameters or the start state, or the host broke down.
    fn play(&mut self, episode: &Episode) -> Result<Vec<Frame>>;
}

/// The native library.
#[derive(Debug)]
pub struct Native;

impl Host for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn play(&mut self, episode: &Episode) -> Result<Vec<Frame>> {
        let mut world = envs::open(&episode.environment, &episode.params)?;
        world.reset(episode.seed);
        if let Some(start) = &episode.start {
            world.restore(start)?;
        }
        let mut frames = vec![frame(world.as_mut(), episode.seats, StepOutcome::default())];
        for (step, actions) in episode.actions.iter().enumerate() {
            if let Some(draws) = episode.draws.get(step) {
                world.inject(draws);
            }
            let outcome = world.step(actions).clone();
            frames.push(frame(world.as_mut(), episode.seats, outcome));
        }
        Ok(frames)
    }
}

fn frame(world: &mut dyn World, seats: usize, outcome: StepOutcome) -> Frame {
    let mut frame = Frame {
        outcome,
        digest: world.digest(),
        ..Frame::default()
    };
    world.state(&mut frame.state);
    frame.observations = vec![Vec::new(); seats];
    for (seat, observation) in frame.observations.iter_mut().enumerate() {
        world.observe(seat, observation);
        frame.masks.push(world.mask(seat));
    }
    frame
}

/// The wasm module, run by `node`; one child process for the life of the host.
#[derive(Debug)]
pub struct Module {
    child: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl Module {
    /// Starts `node` with a module.
    ///
    /// # Errors
    /// `node` is not there.
    pub fn start(module: &Path) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("module_host.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .arg(module)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `node`, which runs the wasm module; install Node 20 or newer")?;
        let requests = child.stdin.take();
        let answers = child
            .stdout
            .take()
            .context("the output of node was asked for")?;
        Ok(Self {
            child,
            requests,
            answers,
        })
    }

    fn exchange(&mut self, request: &[u8]) -> std::io::Result<Vec<u8>> {
        let requests = self.requests.as_mut().expect("taken on drop only");
        requests.write_all(&(request.len() as u32).to_le_bytes())?;
        requests.write_all(request)?;
        requests.flush()?;
        let mut len = [0; 4];
        self.answers.read_exact(&mut len)?;
        let mut answer = vec![0; u32::from_le_bytes(len) as usize];
        self.answers.read_exact(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // The end of its input ends the child.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}

impl Host for Module {
    fn name(&self) -> &'static str {
        "module"
    }

    fn play(&mut self, episode: &Episode) -> Result<Vec<Frame>> {
        let answer = self
            .exchange(&request(episode))
            .context("the host of the wasm module ended")?;
        let mut answer = Cursor(&answer);
        if answer.u32()? != 0 {
            bail!("{}", String::from_utf8_lossy(answer.0));
        }
        let world = envs::open(&episode.environment, &episode.params)?;
        let components = world.spec().components.len();
        let frames = (0..=episode.actions.len())
            .map(|_| answer.frame(episode.seats, components))
            .collect::<Result<Vec<_>>>()?;
        ensure!(
            answer.0.is_empty(),
            "the host of the wasm module answered too much"
        );
        Ok(frames)
    }
}

/// The request of an episode, in the form that `module_host.mjs` states.
fn request(episode: &Episode) -> Vec<u8> {
    let mut out = Vec::new();
    let block = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    block(&mut out, episode.params.as_bytes());
    out.extend_from_slice(&episode.seed.to_le_bytes());
    block(&mut out, episode.start.as_deref().unwrap_or_default());
    out.extend_from_slice(&(episode.seats as u32).to_le_bytes());
    out.extend_from_slice(&(episode.actions.len() as u32).to_le_bytes());
    for (step, actions) in episode.actions.iter().enumerate() {
        let actions: Vec<u8> = actions
            .iter()
            .flat_map(|action| action.to_le_bytes())
            .collect();
        let draws = episode.draws.get(step).into_iter().flatten();
        block(&mut out, &actions);
        block(
            &mut out,
            &draws
                .flat_map(|word| word.to_le_bytes())
                .collect::<Vec<u8>>(),
        );
    }
    out
}

/// Reads an answer.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self
            .0
            .split_at_checked(len)
            .context("the answer of the wasm module ends early")?;
        self.0 = rest;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(4)?.try_into()?))
    }

    fn block(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()?;
        self.bytes(len as usize)
    }

    fn frame(&mut self, seats: usize, components: usize) -> Result<Frame> {
        let mut frame = Frame::default();
        let outcome = self.block()?;
        if !outcome.is_empty() {
            abi::decode_outcome(outcome, seats, components, &mut frame.outcome)
                .context("the module gave a malformed outcome")?;
        }
        frame.state = self.block()?.to_vec();
        frame.digest = u64::from_le_bytes(self.bytes(8)?.try_into()?);
        for _ in 0..seats {
            let values = self.block()?.chunks_exact(4);
            frame.observations.push(
                values
                    .map(|v| f32::from_le_bytes([v[0], v[1], v[2], v[3]]))
                    .collect(),
            );
            let mask = self.bytes(8)?.try_into()?;
            frame.masks.push(u64::from_le_bytes(mask));
        }
        Ok(frame)
    }
}
