//! A rehearsal in one process, on a virtual clock: the same bots, the same arbiter, archive and database as in the real
//! program, and a simulated network between them.
//!
//! The same seed has the same rehearsal, event for event. Nothing reaches the other end of a line sooner than
//! [`Lines::least_us`]. So the people and the machine of the server run for that time, and then exchange their
//! messages. One thread runs the machine, and then the people that the other thread has not come to.

mod crowd;
mod database;
mod folder;
mod machine;
mod network;
mod people;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Context as _;
use catalog::models;
use server_core::arbiter::{EnvStage, EnvStages};
use server_core::limits::Limits;
use simulation::rng::SeededRng;
use simulation::server::{EPOCH_US, Program};
use store::data_folder::DataDir;
use study::{EnvFacts, EnvFactsByStage, StageKind, Study};

use tracing::subscriber::NoSubscriber;

use crate::agent::Agent;
use crate::bot::{StudyInfo, WireId, read_hosted_specs};
use crate::entry::EntryWay;
use crate::line::{Line, describe_progress};
use crate::options::RehearsalOptions;
use crate::played::Played;
use crate::record::{Phase, Shared};
use crate::schedule::Schedule;
use crowd::Crowd;
use database::Database;
use folder::FolderStorage;
use machine::Machine;
use network::{Down, Lines, Sent, Up};

/// A second, microseconds.
const S: u64 = 1_000_000;

/// The secret of participant links in a data folder.
const LINKS_KEY: &str = "links.key";

/// A run of this many sessions takes two threads. With fewer sessions, the threads would mostly wait for each other.
const MANY: usize = 100;

/// How many steps pass between two looks at whether to show progress.
const STEPS_A_LOOK: u32 = 256;

/// Rehearses a study on a virtual clock. Agents, if there are any, take part instead of people: they share the sessions
/// among them, one after the other.
///
/// # Errors
/// The disk or the database failed.
pub(crate) async fn rehearse(
    options: &RehearsalOptions,
    study: Arc<Study>,
    facts: &EnvFactsByStage,
    data: &Path,
    agents: Vec<Arc<Agent>>,
) -> anyhow::Result<Played> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (options, facts, data) = (options.clone(), facts.clone(), data.to_owned());
    let stop = Arc::clone(&is_stopped);
    let work = move || {
        let run = VirtualRun::open(&options, study, facts, &data, &agents)?;
        run.run(&options, &data, &stop)
    };
    let thread = thread::Builder::new().name("rehearsal".to_owned());
    let (done, result) = tokio::sync::oneshot::channel();
    // A separate server would log to a file; nobody should mistake its notes for those of this program.
    let work = move || tracing::subscriber::with_default(NoSubscriber::new(), work);
    let thread = thread.spawn(move || drop(done.send(work())))?;
    // Who does not want the result any more waits until nothing is written any more.
    let _stopper = Stopper(is_stopped, Some(thread));
    result.await.context("the rehearsal panicked")?
}

/// Stops a run and waits for its end when it is dropped.
struct Stopper(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        // After a panic the result is missing.
        let _ = self.1.take().map(thread::JoinHandle::join);
    }
}

/// A run.
struct VirtualRun {
    study: Arc<Study>,
    machine: Machine,
    crowd: Crowd,
    lines: Lines,
    sessions: Vec<(String, Shared)>,
    began_us: u64,
    now_us: u64,
    line: Line,
}

impl VirtualRun {
    fn open(
        options: &RehearsalOptions,
        study: Arc<Study>,
        facts: EnvFactsByStage,
        data: &Path,
        agents: &[Arc<Agent>],
    ) -> anyhow::Result<Self> {
        let links = match EntryWay::is_by_links(&study) {
            true => options.sessions,
            false => 0,
        };
        let hosted = read_hosted_specs(&facts);
        prepare(&study, data, options.seed)?;
        let database = Database::open(data, Arc::clone(&study), links)?;
        let program = Program {
            study: Arc::clone(&study),
            stages: env_stages(&study, facts),
            limits: Limits::default(),
            is_open: false,
        };
        let began_us = EPOCH_US + S;
        let lines = match agents.is_empty() {
            true => Lines::OF_PEOPLE,
            false => Lines::OF_AGENTS,
        };
        let storage = FolderStorage::new(data, database);
        let mut machine = Machine::start(
            EPOCH_US,
            options.seed,
            (options.sessions, lines),
            program,
            storage,
        )
        .map_err(anyhow::Error::msg)?;
        let mut schedule = Schedule::new(options, &study, &machine.storage().links, began_us);
        schedule.give_to(agents);
        machine.kill_at(schedule.kills_us.clone());
        let info = StudyInfo {
            study: Arc::clone(&study),
            partners: models::read_partners(&study),
            hosted,
            has_webrtc: false,
        };
        let sessions = schedule.sessions();
        Ok(Self {
            study,
            machine,
            crowd: Crowd::new((options.seed, lines), info, schedule.tickets),
            lines,
            sessions,
            began_us,
            now_us: EPOCH_US,
            line: Line::new(),
        })
    }

    fn run(
        mut self,
        options: &RehearsalOptions,
        data: &Path,
        is_stopped: &AtomicBool,
    ) -> anyhow::Result<Played> {
        let began = Instant::now();
        self.play(is_stopped)?;
        let lasted_us = self.settle(is_stopped)?.saturating_sub(self.began_us);
        let kills = self.machine.killed;
        let storage = self.machine.stop().map_err(anyhow::Error::msg)?;
        let snapshots = storage.close()?;
        // Anybody could know the tokens of links that come from a seed.
        std::fs::remove_file(data.join(LINKS_KEY))?;
        Ok(Played {
            options: options.clone(),
            study: self.study,
            sessions: self.sessions,
            snapshots,
            lasted_us,
            took: began.elapsed(),
            cpu_s: None,
            round_trips: Vec::new(),
            kills,
            chromium: None,
            log: String::new(),
        })
    }

    /// Runs the machine and the people until nobody takes part any more; many people on two threads.
    fn play(&mut self, is_stopped: &AtomicBool) -> anyhow::Result<()> {
        let crowd = &self.crowd;
        let mut clock = Clock {
            now_us: &mut self.now_us,
            machine_us: self.machine.next_us(),
            least_us: self.lines.least_us,
        };
        let (line, sessions, began_us) = (&mut self.line, &self.sessions, self.began_us);
        let mut steps = 0_u32;
        let look = |now_us: u64| {
            anyhow::ensure!(!is_stopped.load(Ordering::Relaxed), "stopped");
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS_A_LOOK) {
                tell(line, now_us.saturating_sub(began_us), sessions);
            }
            Ok(())
        };
        let machine = &mut self.machine;
        let step = |order| run_order(machine, crowd, order);
        if sessions.len() < MANY {
            return clock.advance(crowd, step, look);
        }
        thread::scope(|scope| {
            let _closing = crowd.close_later();
            // The notes of a server are for its own log.
            let help =
                || tracing::subscriber::with_default(NoSubscriber::new(), || crowd.help_out());
            scope.spawn(help);
            clock.advance(crowd, step, look)
        })
    }

    /// Waits until the server has ended by its own rules whatever nobody returns to: every episode, and every session
    /// if the study lets sessions expire. Gives the time of the end.
    fn settle(&mut self, is_stopped: &AtomicBool) -> anyhow::Result<u64> {
        let expires_s = self.study.expires_s();
        let waits_s = expires_s.unwrap_or(0) + 1_800;
        let until_us = self.now_us + waits_s * S;
        loop {
            anyhow::ensure!(!is_stopped.load(Ordering::Relaxed), "stopped");
            let (open, running) = self.machine.storage().count_unfinished();
            let is_done = running == 0 && (open == 0 || expires_s.is_none());
            let next_us = self.machine.next_us().filter(|at_us| *at_us < until_us);
            let (false, Some(next_us)) = (is_done, next_us) else {
                return Ok(self.now_us);
            };
            self.now_us = self.now_us.max(next_us);
            let sent = self.machine.run(self.now_us + self.lines.least_us);
            sent.map_err(anyhow::Error::msg)?;
        }
    }
}

/// Shows how far everybody is.
fn tell(line: &mut Line, since_us: u64, sessions: &[(String, Shared)]) {
    line.tell_line(|| {
        let phases = sessions
            .iter()
            .map(|(_, record)| record.lock().phase.clone());
        describe_progress(since_us, &phases.collect::<Vec<Phase>>())
    });
}

/// The time of a run, which goes from one thing that happens to the next.
struct Clock<'run> {
    now_us: &'run mut u64,
    /// When the machine does something next.
    machine_us: Option<u64>,
    /// How long the fastest message is under way.
    least_us: u64,
}

impl Clock<'_> {
    /// Steps machine and people until nobody takes part any more, with a look at every step.
    fn advance(
        &mut self,
        crowd: &Crowd,
        mut step: impl FnMut(Order) -> Option<Ran>,
        mut look: impl FnMut(u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut up = Vec::new();
        while !crowd.is_over() {
            look(*self.now_us)?;
            let coming_us = up.iter().map(|sent: &Sent<_>| sent.at_us).min();
            let times = [crowd.next_us(), self.machine_us, coming_us];
            let next_us = times.into_iter().flatten().min();
            let next_us = next_us.context("nothing will ever happen again")?;
            *self.now_us = next_us.max(*self.now_us);
            let until_us = *self.now_us + self.least_us;
            crowd.offer(until_us);
            // A thread that is gone has panicked, and its scope reports it.
            let Some(ran) = step(Order { up, until_us }) else {
                return Ok(());
            };
            self.machine_us = ran.next_us;
            up = crowd.collect_sent();
            let down = ran.down.map_err(anyhow::Error::msg)?;
            down.into_iter().for_each(|sent| crowd.take(sent));
        }
        // What is under way still arrives.
        let until_us = *self.now_us;
        step(Order { up, until_us });
        Ok(())
    }
}

/// An order to the machine: to take these messages, and to run until a time.
struct Order {
    up: Vec<Sent<(WireId, Up)>>,
    until_us: u64,
}

/// The result of an order, and when something happens next.
struct Ran {
    down: Result<Vec<Sent<Down>>, String>,
    next_us: Option<u64>,
}

/// Runs the machine, and then the people whom the other thread has not come to; `None` if that thread has panicked.
fn run_order(machine: &mut Machine, crowd: &Crowd, order: Order) -> Option<Ran> {
    order.up.into_iter().for_each(|sent| machine.take(sent));
    let down = machine.run(order.until_us);
    let next_us = machine.next_us();
    crowd.run().then_some(Ran { down, next_us })
}

/// Makes the data folder with what a server puts there at its start.
fn prepare(study: &Study, data: &Path, seed: u64) -> anyhow::Result<()> {
    let folder = DataDir::open(data)?;
    folder.mark_rehearsal()?;
    folder.store_study(study)?;
    for stage in &study.timeline {
        if let StageKind::Env(env) = &stage.kind
            && let Some(file) = &env.module
        {
            folder.store_module(&env.env, file.bytes.to_vec().into())?;
        }
    }
    for model in &study.models {
        folder.store_model(model)?;
    }
    folder.store_clips(study)?;
    let mut rng = SeededRng::new(seed, "links");
    let mut key = [0; 32];
    key.fill_with(|| rng.draw_bits() as u8);
    std::fs::write(data.join(LINKS_KEY), key).context("the secret of the participant links")
}

/// The facts of each env stage. Environments of this program are played natively, and so have no module.
fn env_stages(study: &Study, facts: EnvFactsByStage) -> EnvStages {
    let stage = |((index, params), facts): ((u16, String), EnvFacts)| {
        let StageKind::Env(env) = &study.timeline[usize::from(index)].kind else {
            return None;
        };
        let module = env.module.as_ref().map(|file| file.sha256.clone());
        let module = module.unwrap_or_default();
        Some(((index, params), EnvStage { facts, module }))
    };
    facts.into_iter().filter_map(stage).collect()
}
