//! The real arbiter and archive, run as by the server's driver: effects in their order, the archive beside them with
//! one queue per episode. A crash removes everything except what the disk has.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use archive::Episode;
use archive::work::{perform_work, repeat_ended};
use protocol::Era;
use protocol::control::ServerMessage;
use server_core::arbiter::{Arbiter, ConnId, Effect, EnvStages, Event, Work, Write};
use server_core::language_model::{ModelFailure, ModelReply};
use server_core::limits::Limits;
use study::Study;

use crate::database::Database;
use crate::fault_injection::FaultInjection;
use crate::rng::SeededRng;
use crate::storage::{MemoryStorage, Storage};

/// The time of the server's clock when a run begins, microseconds.
pub const EPOCH_US: u64 = 1_700_000_000_000_000;

/// Work on a connection.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// Sends a message.
    Send(ConnId, ServerMessage),
    /// Sends a datagram, or drops it.
    Relay(ConnId, ServerMessage),
    /// Closes a connection after the messages that were sent.
    Close(ConnId),
}

/// The program of a server, and its options at the start.
#[derive(Clone, Debug)]
pub struct Program {
    /// The study.
    pub study: Arc<Study>,
    /// The facts of its env stages.
    pub stages: EnvStages,
    /// Limits.
    pub limits: Limits,
    /// True if people are let in without a link.
    pub is_open: bool,
}

/// The machine: what is durable, and the process if it runs.
pub struct SimulatedServer<S = MemoryStorage> {
    program: Program,
    rng: SeededRng,
    injected: FaultInjection,
    /// Its tables and files, which outlive the process.
    storage: S,
    skew_us: u64,
    process: Option<Process>,
    outgoing: VecDeque<Outgoing>,
}

/// The process, which a crash takes.
struct Process {
    arbiter: Arbiter,
    todo: VecDeque<Todo>,
    /// The write that the database is busy with, and until when.
    storing: Option<(u64, Write)>,
    writers: BTreeMap<u16, EpisodeWriter>,
    /// The episodes that have got work and may have nothing else to do.
    ready: BTreeSet<u16>,
    /// The episodes that are busy, with the time at which they are done.
    busy: BTreeSet<(u64, u16)>,
    /// The time at which the arbiter wants to be called, server clock, microseconds.
    due_us: Option<u64>,
}

/// Work of the arbiter that is done in its order.
#[allow(clippy::large_enum_variant, reason = "it is done at once")]
enum Todo {
    /// Something goes out.
    Send(Outgoing),
    /// The database writes.
    Store(Write),
    /// The thread of an episode works.
    Archive(Era, Work),
    /// A language model is asked.
    Ask(Era, u32),
}

/// The thread of an episode.
#[derive(Default)]
struct EpisodeWriter {
    name: String,
    episode: Option<Episode>,
    queue: VecDeque<Work>,
    /// The end of its work, its report, and the length of the file before.
    busy: Option<(u64, Event, usize)>,
    /// The length of the file before the last finished write.
    before: usize,
}

/// Limits whose waits are short, so that runs are.
pub fn test_limits() -> Limits {
    Limits {
        countdown: std::time::Duration::from_millis(1_000),
        restart: std::time::Duration::from_secs(12),
        ..Limits::default()
    }
}

impl SimulatedServer {
    /// A machine on which nothing runs yet, with everything in memory.
    pub fn new(seed: u64, study: Arc<Study>, stages: EnvStages, injected: FaultInjection) -> Self {
        let program = Program {
            study,
            stages,
            limits: test_limits(),
            is_open: true,
        };
        let storage = MemoryStorage {
            database: Database::new(injected),
            ..MemoryStorage::default()
        };
        Self::with_storage(seed, program, storage, injected)
    }
}

impl<S: Storage> SimulatedServer<S> {
    /// A machine on which nothing runs yet, with this storage.
    pub fn with_storage(seed: u64, program: Program, storage: S, injected: FaultInjection) -> Self {
        Self {
            program,
            rng: SeededRng::new(seed, "server"),
            injected,
            storage,
            skew_us: 0,
            process: None,
            outgoing: VecDeque::new(),
        }
    }

    /// The storage, which outlives the process.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// The same, once the machine is not needed any more.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The server's clock.
    pub fn clock_us(&self, now_us: u64) -> u64 {
        EPOCH_US + now_us + self.skew_us
    }

    /// True if the process runs.
    pub fn is_up(&self) -> bool {
        self.process.is_some()
    }

    /// Starts the process from what is durable.
    ///
    /// # Errors
    /// Something durable cannot be read.
    pub fn start(&mut self, now_us: u64) -> Result<(), String> {
        // Between two processes the clock of the machine may have been set.
        self.skew_us += self.rng.draw_below(30_000);
        let clock_us = self.clock_us(now_us);
        let (restored, logs) = self.storage.restore(clock_us, &self.program.study)?;
        let mut writers = BTreeMap::new();
        for (era, episode) in logs {
            let writer = EpisodeWriter {
                name: episode.header().episode.clone(),
                episode: Some(episode),
                ..EpisodeWriter::default()
            };
            writers.insert(era.0, writer);
        }
        let mut rng = SeededRng::new(self.rng.draw_bits(), "secrets");
        let random = Box::new(move |bytes: &mut [u8]| {
            bytes.fill_with(|| rng.draw_bits() as u8);
        });
        let arbiter = Arbiter::new(
            clock_us,
            Arc::clone(&self.program.study),
            self.program.limits.clone(),
            self.program.stages.clone(),
            self.program.is_open,
            random,
            restored,
        );
        self.process = Some(Process {
            arbiter,
            todo: VecDeque::new(),
            storing: None,
            writers,
            ready: BTreeSet::new(),
            busy: BTreeSet::new(),
            due_us: None,
        });
        self.carry_out(now_us)
    }

    /// Lets the process die; files may end in the middle of a write.
    ///
    /// # Errors
    /// The database refuses the write that just made it.
    pub fn crash_and_restart(&mut self, now_us: u64) -> Result<(), String> {
        let clock_us = self.clock_us(now_us);
        let Some(process) = self.process.take() else {
            return Ok(());
        };
        self.outgoing.clear();
        if let Some((_, write)) = process.storing
            && self.rng.one_in(2)
        {
            self.storage.write(clock_us, write)?;
        }
        for writer in process.writers.into_values() {
            let Some(len) = self.storage.file_len(&writer.name) else {
                continue;
            };
            match writer.busy {
                Some((_, Event::Opened(..), _)) if self.rng.one_in(2) => {
                    self.storage.forget(&writer.name);
                }
                Some((_, Event::Opened(..), _)) => {}
                Some((_, _, before)) => {
                    let written = len.saturating_sub(before) as u64;
                    let kept = before + self.rng.draw_between(0, written) as usize;
                    self.storage.tear(&writer.name, kept);
                }
                None => {}
            }
            if self.injected.lose_writes {
                self.storage.tear(&writer.name, writer.before.max(1));
            }
        }
        Ok(())
    }

    /// Something comes in.
    ///
    /// # Errors
    /// The database refuses a write.
    pub fn handle(&mut self, now_us: u64, event: Event) -> Result<(), String> {
        let clock_us = self.clock_us(now_us);
        if let Some(process) = &mut self.process {
            process.arbiter.handle_event(clock_us, event);
        }
        self.carry_out(now_us)
    }

    /// The time at which [`Self::run`] wants to be called.
    pub fn next_us(&self) -> Option<u64> {
        let process = self.process.as_ref()?;
        let due = process.due_us;
        let due = due.map(|at_us| at_us.saturating_sub(EPOCH_US + self.skew_us));
        let storing = process.storing.as_ref().map(|(until_us, _)| *until_us);
        let busy = process.busy.first().map(|(until_us, _)| *until_us);
        [busy, due, storing].into_iter().flatten().min()
    }

    /// Does what is due.
    ///
    /// # Errors
    /// The database refuses a write.
    pub fn run(&mut self, now_us: u64) -> Result<(), String> {
        let clock_us = self.clock_us(now_us);
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        if let Some((_, write)) = process.storing.take_if(|(until_us, _)| *until_us <= now_us) {
            self.storage.write(clock_us, write)?;
        }
        for event in process.finish(now_us) {
            if let Event::Ended(era, _) = &event {
                process.writers.remove(&era.0);
            }
            process.arbiter.handle_event(clock_us, event);
        }
        process.arbiter.handle_timeout(clock_us);
        self.carry_out(now_us)
    }

    /// The next work on a connection.
    pub fn poll_outgoing(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// Carries effects out until the database or nothing is left to wait for.
    fn carry_out(&mut self, now_us: u64) -> Result<(), String> {
        let clock_us = self.clock_us(now_us);
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        loop {
            // Datagrams wait for no disk.
            while let Some((conn, message)) = process.arbiter.poll_relay() {
                self.outgoing.push_back(Outgoing::Relay(conn, message));
            }
            while let Some(effect) = process.arbiter.poll_effect() {
                let todo = match effect {
                    Effect::Send(conn, message) => Todo::Send(Outgoing::Send(conn, message)),
                    Effect::Close(conn) => Todo::Send(Outgoing::Close(conn)),
                    Effect::Store(write) => Todo::Store(write),
                    Effect::Archive(era, work) => Todo::Archive(era, work),
                    // Nobody asks providers here: the fallback of the study is used.
                    Effect::Ask(era, request) => Todo::Ask(era, request.number),
                };
                process.todo.push_back(todo);
            }
            if process.storing.is_some() {
                break;
            }
            let Some(todo) = process.todo.pop_front() else {
                break;
            };
            match todo {
                Todo::Send(outgoing) => self.outgoing.push_back(outgoing),
                Todo::Ask(era, number) => {
                    let result = Err(ModelFailure::NotAsked);
                    let reply = ModelReply { result, retries: 0 };
                    process
                        .arbiter
                        .handle_event(clock_us, Event::Answered(era, number, reply));
                }
                Todo::Store(write) => {
                    let until_us = now_us + latency(&mut self.rng);
                    process.storing = Some((until_us, write));
                }
                Todo::Archive(era, work) => {
                    if let Some(failed) = process.hand(era, work) {
                        process.arbiter.handle_event(clock_us, failed);
                    }
                }
            }
        }
        for era in std::mem::take(&mut process.ready) {
            let Some(writer) = process.writers.get_mut(&era) else {
                continue;
            };
            let (storage, rng) = (&mut self.storage, &mut self.rng);
            writer.work(now_us, Era(era), storage, rng);
            if let Some((until_us, ..)) = &writer.busy {
                process.busy.insert((*until_us, era));
            }
        }
        process.due_us = process.arbiter.poll_timeout().map(|(at_us, _)| at_us);
        Ok(())
    }
}

impl Process {
    /// The results of the episodes that are done with their work, in the order of their eras.
    fn finish(&mut self, now_us: u64) -> Vec<Event> {
        let later = self.busy.split_off(&(now_us + 1, 0));
        let done = std::mem::replace(&mut self.busy, later);
        let eras: BTreeSet<u16> = done.into_iter().map(|(_, era)| era).collect();
        let mut events = Vec::new();
        for era in eras {
            let Some(writer) = self.writers.get_mut(&era) else {
                continue;
            };
            if let Some((_, event, before)) = writer.busy.take() {
                writer.before = before;
                self.ready.insert(era);
                events.push(event);
            }
        }
        events
    }

    /// Hands work to the thread of an episode; the failure if there is none.
    fn hand(&mut self, era: Era, work: Work) -> Option<Event> {
        if let Work::Open(header) = &work {
            let writer = EpisodeWriter {
                name: header.episode.clone(),
                ..EpisodeWriter::default()
            };
            self.writers.insert(era.0, writer);
        }
        self.ready.insert(era.0);
        match self.writers.get_mut(&era.0) {
            Some(writer) => writer.queue.push_back(work),
            None => return Some(work.failure_event(era)),
        }
        None
    }
}

impl EpisodeWriter {
    /// Begins the next work if it has nothing to do. Gives a change that takes a seat.
    fn work(&mut self, now_us: u64, era: Era, storage: &mut impl Storage, rng: &mut SeededRng) {
        if self.busy.is_some() {
            return;
        }
        let Some(work) = self.queue.pop_front() else {
            return;
        };
        let before = storage.file_len(&self.name).unwrap_or(0);
        let event = perform_work(era, &mut self.episode, work, |header| {
            storage.create(header)
        });
        repeat_ended(&event, &mut self.episode);
        self.busy = Some((now_us + latency(rng), event, before));
    }
}

/// Half a millisecond for the disk, now and then much more.
fn latency(rng: &mut SeededRng) -> u64 {
    match rng.draw_below(20) {
        0 => rng.draw_between(1_000, 60_000),
        _ => rng.draw_between(100, 1_000),
    }
}
