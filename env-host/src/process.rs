//! A world in its own process: two pipes, limits of time and memory, and an end that leaves nothing behind.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use env_core::contract::Action;
use serde_json::Value;

use crate::contract::{HostFacts, HostFault, HostStep, HostedWorld, Picture};
use crate::error_output::ErrorOutput;
use crate::os_process::{has_exited, kill_group, spawn_in_group, wait_for_bytes};
use crate::wire::{self, AnswerBuffer, AnswerKind, Request, WireError};

/// The time that a process that closed its pipe may take to end by itself.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// The start of a process that speaks the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// Variables of its environment, in addition to those of this process.
    pub variables: Vec<(OsString, OsString)>,
}

/// Variables that make a world repeat itself, keep it on one core, and let it draw without a screen.
const VARIABLES: [(&str, &str); 8] = [
    ("PYTHONHASHSEED", "0"),
    ("PYTHONUNBUFFERED", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("SDL_VIDEODRIVER", "dummy"),
    ("SDL_AUDIODRIVER", "dummy"),
    ("MPLBACKEND", "Agg"),
];

impl HostCommand {
    /// The host in Python: `files` is the folder from [`crate::write_python_host`], `folder` that of the study.
    pub fn python(interpreter: &Path, files: &Path, folder: &Path) -> Self {
        let variables = VARIABLES.map(|(name, value)| (name.into(), value.into()));
        let mut variables = Vec::from(variables);
        variables.push(("PYTHONPATH".into(), files.into()));
        Self {
            program: interpreter.to_owned(),
            arguments: ["-m", "coplay_host"].map(OsString::from).into(),
            folder: folder.to_owned(),
            variables,
        }
    }

    /// Starts the process as the leader of a group. Secrets of this process stay here.
    fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("COPLAY_") {
                command.env_remove(name);
            }
        }
        command
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        spawn_in_group(&mut command)
    }
}

/// The limits of a world in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Time to load the world and make its first step, ms.
    pub start_ms: u32,
    /// Time to start an episode, ms.
    pub reset_ms: u32,
    /// Time for every other answer, ms.
    pub step_ms: u32,
    /// Memory of the process, bytes; 0 for no limit.
    pub memory_bytes: u64,
    /// Length of an answer, bytes.
    pub answer_bytes: usize,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self {
            start_ms: 300_000,
            reset_ms: 20_000,
            step_ms: 5_000,
            memory_bytes: 4 << 30,
            answer_bytes: 64 << 20,
        }
    }
}

impl HostLimits {
    /// Returns these limits with those under `limits` of a world, which the process does not get: `start_s`, `step_ms`
    /// and `memory_mb`, whole numbers.
    pub fn take_from(mut self, world: &mut Value) -> Self {
        let named = world
            .as_object_mut()
            .and_then(|world| world.remove("limits"));
        let limit = |name: &str| named.as_ref()?.get(name)?.as_u64();
        let short = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        if let Some(start_s) = limit("start_s") {
            self.start_ms = short(start_s.saturating_mul(1_000));
        }
        if let Some(step_ms) = limit("step_ms") {
            self.step_ms = short(step_ms);
            self.reset_ms = self.reset_ms.max(self.step_ms);
        }
        if let Some(memory_mb) = limit("memory_mb") {
            self.memory_bytes = memory_mb << 20;
        }
        self
    }
}

/// A world in its own process.
pub struct ProcessHost {
    child: Child,
    to: Option<ChildStdin>,
    from: ChildStdout,
    errors: ErrorOutput,
    limits: HostLimits,
    facts: HostFacts,
    step: HostStep,
    request: Vec<u8>,
    answer: AnswerBuffer,
    fault: Option<HostFault>,
}

impl ProcessHost {
    /// Starts a process and loads a world, given as the study names it.
    ///
    /// # Errors
    /// [`HostFault`]: the process does not start, or the world cannot be loaded.
    pub fn open(
        command: &HostCommand,
        world: &Value,
        limits: HostLimits,
    ) -> Result<Self, HostFault> {
        let program = command.program.display();
        let refused =
            |error: io::Error| HostFault::Refused(format!("cannot start {program}: {error}"));
        let mut child = command.spawn().map_err(refused)?;
        let (Some(to), Some(from), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            let what = format!("{program} was started without its three pipes");
            return Err(HostFault::Refused(what));
        };
        let mut host = Self {
            child,
            to: Some(to),
            from,
            errors: ErrorOutput::read(errors),
            limits,
            facts: HostFacts::default(),
            step: HostStep::default(),
            request: Vec::new(),
            answer: AnswerBuffer::new(limits.answer_bytes),
            fault: None,
        };
        let memory_bytes = limits.memory_bytes;
        let hello = Request::Hello {
            world,
            memory_bytes,
        };
        host.facts = host.ask(&hello, limits.start_ms, |kind, body, _| {
            expect(kind, AnswerKind::Ready)?;
            wire::decode_facts(body)
        })?;
        Ok(host)
    }

    /// Asks whether the world could run in participants' pages, and why not.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    pub fn check_page(&mut self, steps: u32, seed: u64) -> Result<(bool, String), HostFault> {
        let request = Request::Check { steps, seed };
        let limit_ms = self.limits.start_ms;
        self.ask(&request, limit_ms, |kind, body, _| {
            expect(kind, AnswerKind::Checked)?;
            let checked: Value = serde_json::from_slice(body)
                .map_err(|error| WireError(format!("the result of a check: {error}")))?;
            let why = checked["why"].as_str().unwrap_or_default().to_owned();
            Ok((checked["ok"].as_bool().unwrap_or_default(), why))
        })
    }

    /// The last words of the process on its error output.
    pub fn error_output(&self) -> String {
        self.errors.text()
    }

    /// Checks that nothing went wrong so far.
    pub fn is_sound(&self) -> bool {
        self.fault.is_none()
    }

    /// The process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    fn ask<T>(
        &mut self,
        request: &Request<'_>,
        limit_ms: u32,
        read: impl FnOnce(AnswerKind, &[u8], &HostFacts) -> Result<T, WireError>,
    ) -> Result<T, HostFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let asked = self.exchange(request, limit_ms);
        let read = asked.and_then(|()| {
            let (kind, body) = self.answer.read_answer()?;
            match kind {
                AnswerKind::Fault => Err(told(wire::decode_fault(body)?, &self.limits)),
                _ => Ok(read(kind, body, &self.facts)?),
            }
        });
        if let Err(fault) = &read {
            self.fault = Some(fault.clone());
            self.end();
        }
        read
    }

    /// Sends a request and waits for the whole answer.
    fn exchange(&mut self, request: &Request<'_>, limit_ms: u32) -> Result<(), HostFault> {
        request.encode(&mut self.request);
        self.answer.clear();
        let sent = match &mut self.to {
            Some(to) => to.write_all(&self.request),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        if sent.is_err() {
            return Err(self.gone());
        }
        let deadline = Instant::now() + Duration::from_millis(limit_ms.into());
        let mut chunk = [0; 1 << 16];
        loop {
            if !wait_for_bytes(&self.from, deadline) {
                let stderr = self.errors.text();
                let request = request.name();
                return Err(HostFault::TooSlow {
                    request,
                    limit_ms,
                    stderr,
                });
            }
            match self.from.read(&mut chunk) {
                Ok(0) => return Err(self.gone()),
                Ok(count) if self.answer.handle_bytes(&chunk[..count])? => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.gone()),
            }
        }
    }

    /// The fault of a process that closed its pipe.
    fn gone(&mut self) -> HostFault {
        let deadline = Instant::now() + LAST_BREATH;
        // Its group is ended before it is waited for, so that its number still is its own: so this only looks.
        while !has_exited(&self.child) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        kill_group(&self.child);
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let stderr = self.errors.last_text();
        HostFault::Gone { status, stderr }
    }

    /// Ends the process and everything that it started.
    fn end(&mut self) {
        if self.to.take().is_some() {
            kill_group(&self.child);
            // The status was asked for before, where it matters.
            let _ = self.child.wait();
        }
    }
}

fn expect(kind: AnswerKind, wanted: AnswerKind) -> Result<(), WireError> {
    match kind == wanted {
        true => Ok(()),
        false => Err(WireError(format!(
            "the answer is {kind:?} instead of {wanted:?}"
        ))),
    }
}

fn told(fault: wire::ToldFault, limits: &HostLimits) -> HostFault {
    let limit_bytes = limits.memory_bytes;
    let traceback = fault.text;
    match fault.kind.as_str() {
        "refused" => HostFault::Refused(traceback),
        "memory" => HostFault::Memory {
            limit_bytes,
            traceback,
        },
        _ => HostFault::Threw { traceback },
    }
}

impl From<WireError> for HostFault {
    fn from(error: WireError) -> Self {
        Self::Protocol(error.0)
    }
}

impl Drop for ProcessHost {
    fn drop(&mut self) {
        self.end();
    }
}

impl HostedWorld for ProcessHost {
    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    fn reset(&mut self, seed: u64) -> Result<&HostStep, HostFault> {
        let limit_ms = self.limits.reset_ms;
        self.take_step(&Request::Reset { seed }, limit_ms)
    }

    fn step(&mut self, actions: &[Action]) -> Result<&HostStep, HostFault> {
        let spec = &self.facts.spec;
        let action = |seat: usize| {
            let action = actions.get(seat).copied();
            action
                .filter(|&action| spec.has_action(seat, action))
                .unwrap_or(spec.noop)
        };
        let actions: Vec<Action> = (0..usize::from(spec.seats)).map(action).collect();
        let limit_ms = self.limits.step_ms;
        self.take_step(&Request::Step(&actions), limit_ms)
    }

    fn picture(&mut self, seat: usize, out: &mut Picture) -> Result<(), HostFault> {
        let limit_ms = self.limits.step_ms;
        self.ask(
            &Request::Picture(seat as u8),
            limit_ms,
            |kind, body, facts| wire::decode_picture(kind, body, facts.sprites.len(), out),
        )
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) -> Result<(), HostFault> {
        let limit_ms = self.limits.step_ms;
        self.ask(
            &Request::Observe(seat as u8),
            limit_ms,
            |kind, body, facts| {
                expect(kind, AnswerKind::Values)?;
                wire::decode_values(body, facts.spec.observation_len(), out)
            },
        )
    }

    fn describe(&mut self, seat: usize, out: &mut String) -> Result<(), HostFault> {
        let limit_ms = self.limits.step_ms;
        self.ask(&Request::Describe(seat as u8), limit_ms, |kind, body, _| {
            expect(kind, AnswerKind::Text)?;
            out.clear();
            out.push_str(&String::from_utf8_lossy(body));
            Ok(())
        })
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Result<Option<Action>, HostFault> {
        let limit_ms = self.limits.step_ms;
        self.ask(
            &Request::Point(seat as u8, at),
            limit_ms,
            |kind, body, facts| {
                expect(kind, AnswerKind::Action)?;
                wire::decode_action(body, facts)
            },
        )
    }

    fn choose(&mut self, seat: usize) -> Result<Action, HostFault> {
        let limit_ms = self.limits.step_ms;
        self.ask(
            &Request::Choose(seat as u8),
            limit_ms,
            |kind, body, facts| {
                expect(kind, AnswerKind::Action)?;
                Ok(wire::decode_action(body, facts)?.unwrap_or(facts.spec.noop))
            },
        )
    }
}

impl ProcessHost {
    fn take_step(&mut self, request: &Request<'_>, limit_ms: u32) -> Result<&HostStep, HostFault> {
        let mut step = std::mem::take(&mut self.step);
        let taken = self.ask(request, limit_ms, |kind, body, facts| {
            expect(kind, AnswerKind::Stepped)?;
            wire::decode_step(body, facts, &mut step)
        });
        self.step = step;
        taken.map(|()| &self.step)
    }
}
