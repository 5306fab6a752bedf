//! The real hub and archive, carried out as the server's driver does: effects in their order, the archive beside
//! them with one queue an episode, all of it gone in a crash but for what the disk has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use archive::work::perform_work;
use archive::{Episode, OpenError};
use protocol::Era;
use protocol::change::Change;
use protocol::control::{Report, ServerMessage};
use protocol::log::Header;
use server_core::arbiter::{Arbiter, ConnId, Effect, EnvStages, Event, RecordWork, Work, Write};
use server_core::limits::Limits;
use study::Study;

use crate::agent::stored;
use crate::database::Database;
use crate::disk::Disk;
use crate::fault_injection::FaultInjection;
use crate::rng::SeededRng;

/// The time of the server's clock when a run begins, microseconds.
pub const EPOCH_US: u64 = 1_700_000_000_000_000;

/// Work on a connection.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// Sends a message.
    Send(ConnId, ServerMessage),
    /// Sends a datagram, or drops it.
    Relay(ConnId, ServerMessage),
    /// Closes a connection after what was sent.
    Close(ConnId),
}

/// A seat that was taken from its person, and what pages had reported of it.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The episode.
    pub era: Era,
    /// How it changed hands.
    pub change: Change,
    /// The reports that the archive was given.
    pub reports: Vec<Report>,
}

/// The machine: what is durable, and the process if it runs.
pub struct Server {
    study: Arc<Study>,
    stages: EnvStages,
    limits: Limits,
    rng: SeededRng,
    injected: FaultInjection,
    /// The files, which outlive the process.
    pub disk: Disk,
    database: Database,
    skew_us: u64,
    process: Option<Process>,
    outgoing: VecDeque<Outgoing>,
    taken: Vec<Taken>,
}

/// The process, which a crash takes.
struct Process {
    hub: Arbiter,
    todo: VecDeque<Todo>,
    /// The write that the database is busy with, and until when.
    storing: Option<(u64, Write)>,
    writers: BTreeMap<u16, EpisodeWriter>,
}

/// Work of the hub that is done in its order.
enum Todo {
    /// Something goes out.
    Send(Outgoing),
    /// The database writes.
    Store(Write),
    /// The thread of an episode works.
    Archive(Era, Work),
}

/// The thread of an episode.
#[derive(Default)]
struct EpisodeWriter {
    name: String,
    episode: Option<Episode>,
    queue: VecDeque<Work>,
    /// Until when it works, what it will report, and how long the file was before.
    busy: Option<(u64, Event, usize)>,
    /// How long the file was before the last write that is done.
    before: usize,
}

/// Limits whose waits are short, so that runs are.
pub fn limits() -> Limits {
    Limits {
        countdown: std::time::Duration::from_millis(1_000),
        restart: std::time::Duration::from_secs(12),
        ..Limits::default()
    }
}

impl Server {
    /// A machine on which nothing runs yet.
    pub fn new(seed: u64, study: Arc<Study>, stages: EnvStages, injected: FaultInjection) -> Self {
        Self {
            study,
            stages,
            limits: limits(),
            rng: SeededRng::new(seed, "server"),
            injected,
            disk: Disk::default(),
            database: Database::new(injected.lose_drafts),
            skew_us: 0,
            process: None,
            outgoing: VecDeque::new(),
            taken: Vec::new(),
        }
    }

    /// The tables.
    pub fn database(&self) -> &Database {
        &self.database
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
        self.skew_us += self.rng.below(30_000);
        let mut writers = BTreeMap::new();
        let mut rows = Vec::new();
        for row in self.database.running() {
            let file = self.disk.open(&row.episode);
            let file = file.ok_or_else(|| format!("recovery: {} has no file", row.episode))?;
            let episode = Episode::recover_from(Box::new(file), stored)
                .map_err(|error| format!("recovery: {}: {error}", row.episode))?;
            let writer = EpisodeWriter {
                name: row.episode.clone(),
                episode: Some(episode),
                ..EpisodeWriter::default()
            };
            writers.insert(row.era.0, writer);
            rows.push(row);
        }
        let running: Vec<_> = rows
            .into_iter()
            .filter_map(|row| {
                let episode = writers.get(&row.era.0)?.episode.as_ref()?;
                Some((row, episode))
            })
            .collect();
        let restored = self
            .database
            .restore(&self.study, &running)
            .map_err(|error| format!("recovery: {error}"))?;
        let mut rng = SeededRng::new(self.rng.bits(), "secrets");
        let random = Box::new(move |bytes: &mut [u8]| {
            bytes.fill_with(|| rng.bits() as u8);
        });
        let hub = Arbiter::new(
            self.clock_us(now_us),
            Arc::clone(&self.study),
            self.limits.clone(),
            self.stages.clone(),
            true,
            random,
            restored,
        );
        self.process = Some(Process {
            hub,
            todo: VecDeque::new(),
            storing: None,
            writers,
        });
        self.carry_out(now_us)
    }

    /// The process dies; files may end in the middle of what was being written.
    ///
    /// # Errors
    /// The database refuses the write that just made it.
    pub fn crash(&mut self) -> Result<(), String> {
        let Some(process) = self.process.take() else {
            return Ok(());
        };
        self.outgoing.clear();
        if let Some((_, write)) = process.storing
            && self.rng.one_in(2)
        {
            self.database.write(write)?;
        }
        for writer in process.writers.into_values() {
            let Some(file) = self.disk.open(&writer.name) else {
                continue;
            };
            match writer.busy {
                Some((_, Event::Opened(..), _)) if self.rng.one_in(2) => {
                    self.disk.forget(&writer.name);
                }
                Some((_, Event::Opened(..), _)) => {}
                Some((_, _, before)) => {
                    let written = file.len().saturating_sub(before) as u64;
                    file.tear(before + self.rng.between(0, written) as usize);
                }
                None => {}
            }
            if self.injected.lose_writes {
                file.tear(writer.before.max(1));
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
            process.hub.handle_event(clock_us, event);
        }
        self.carry_out(now_us)
    }

    /// When [`Self::run`] wants to be called.
    pub fn next_us(&self) -> Option<u64> {
        let process = self.process.as_ref()?;
        let hub = process.hub.poll_timeout();
        let hub = hub.map(|(at_us, _)| at_us.saturating_sub(EPOCH_US + self.skew_us));
        let storing = process.storing.as_ref().map(|(until_us, _)| *until_us);
        let writers = process.writers.values();
        let busy = writers.filter_map(|writer| writer.busy.as_ref().map(|busy| busy.0));
        busy.chain(hub).chain(storing).min()
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
            self.database.write(write)?;
        }
        let mut done = Vec::new();
        for writer in process.writers.values_mut() {
            if let Some((_, event, before)) =
                writer.busy.take_if(|(until_us, ..)| *until_us <= now_us)
            {
                writer.before = before;
                done.push(event);
            }
        }
        for event in done {
            if let Event::Ended(era, _) = &event {
                process.writers.remove(&era.0);
            }
            process.hub.handle_event(clock_us, event);
        }
        process.hub.handle_timeout(clock_us);
        self.carry_out(now_us)
    }

    /// The next work on a connection.
    pub fn poll_outgoing(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// The next seat that was taken from its person.
    pub fn poll_taken(&mut self) -> Option<Taken> {
        self.taken.pop()
    }

    /// Carries effects out until the database or nothing is left to wait for.
    fn carry_out(&mut self, now_us: u64) -> Result<(), String> {
        let clock_us = self.clock_us(now_us);
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        loop {
            // Datagrams wait for no disk.
            while let Some((conn, message)) = process.hub.poll_relay() {
                self.outgoing.push_back(Outgoing::Relay(conn, message));
            }
            while let Some(effect) = process.hub.poll_effect() {
                let todo = match effect {
                    Effect::Send(conn, message) => Todo::Send(Outgoing::Send(conn, message)),
                    Effect::Close(conn) => Todo::Send(Outgoing::Close(conn)),
                    Effect::Store(write) => Todo::Store(write),
                    Effect::Archive(era, work) => Todo::Archive(era, work),
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
                Todo::Store(write) => {
                    let until_us = now_us + latency(&mut self.rng);
                    process.storing = Some((until_us, write));
                }
                Todo::Archive(era, work) => {
                    if let Some(failed) = process.hand(era, work) {
                        process.hub.handle_event(clock_us, failed);
                    }
                }
            }
        }
        let Self {
            process: Some(process),
            disk,
            rng,
            injected,
            taken,
            ..
        } = self
        else {
            return Ok(());
        };
        for (&era, writer) in &mut process.writers {
            taken.extend(writer.work(now_us, Era(era), disk, rng, *injected));
        }
        Ok(())
    }
}

impl Process {
    /// Hands work to the thread of an episode; the failure if there is none.
    fn hand(&mut self, era: Era, work: Work) -> Option<Event> {
        if let Work::Open(header) = &work {
            let writer = EpisodeWriter {
                name: header.episode.clone(),
                ..EpisodeWriter::default()
            };
            self.writers.insert(era.0, writer);
        }
        match self.writers.get_mut(&era.0) {
            Some(writer) => writer.queue.push_back(work),
            None => return Some(work.failure_event(era)),
        }
        None
    }
}

impl EpisodeWriter {
    /// Begins the next work if it has nothing to do. Gives a change that takes a seat.
    fn work(
        &mut self,
        now_us: u64,
        era: Era,
        disk: &mut Disk,
        rng: &mut SeededRng,
        injected: FaultInjection,
    ) -> Option<Taken> {
        if self.busy.is_some() {
            return None;
        }
        let mut work = self.queue.pop_front()?;
        let reports = match &work {
            Work::Record(RecordWork::Take { reports, .. }) => {
                Some(reports.iter().map(|(_, report)| report.clone()).collect())
            }
            _ => None,
        };
        if injected.cut_at_least {
            cut_at_least(&mut work);
        }
        let before = disk.open(&self.name).map_or(0, |file| file.len());
        let event = perform_work(era, &mut self.episode, work, |header| create(disk, header));
        let taken = match (&event, reports) {
            (Event::Changed(_, _, Some(change)), Some(reports)) => Some(Taken {
                era,
                change: change.clone(),
                reports,
            }),
            _ => None,
        };
        self.busy = Some((now_us + latency(rng), event, before));
        taken
    }
}

/// Half a millisecond for the disk, now and then much more.
fn latency(rng: &mut SeededRng) -> u64 {
    match rng.below(20) {
        0 => rng.between(1_000, 60_000),
        _ => rng.between(100, 1_000),
    }
}

fn create(disk: &mut Disk, header: Header) -> Result<Episode, OpenError> {
    let file = disk
        .create(&header.episode)
        .ok_or_else(|| std::io::Error::other("the file is there"))?;
    Episode::create_in(Box::new(file), header, stored)
}

/// Keeps the report that has least.
fn cut_at_least(work: &mut Work) {
    if let Work::Record(RecordWork::Take { reports, .. }) = work
        && let Some(least) = reports
            .iter()
            .min_by_key(|(_, report)| report.have)
            .cloned()
    {
        *reports = vec![least];
    }
}
