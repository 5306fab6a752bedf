//! A rehearsal over the real program: its server in its own process, real sockets, and `kill -9`.
//!
//! The clocks of server and bots run faster than real time, as fast as the machine keeps up with: when it lags behind,
//! time slows down, so that a busy machine is not mistaken for a bad network. Everything else is as in a study.

mod driver;
pub(crate) mod honest;
pub(crate) mod host;
mod pacer;
pub(crate) mod shared_state;
mod wire;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use study::{Assignment, EnvFactsByStage, Study};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::bot::{HostedSpecs, StudyInfo, Ticket, read_hosted_specs};
use crate::browser::{self, Chromium};
use crate::entry::EntryWay;
use crate::line::{Line, describe_progress};
use crate::options::RehearsalOptions;
use crate::played::{Played, read_assignments};
use crate::record::{Phase, Shared};
use crate::schedule::Schedule;
use catalog::models;
use clock::{Clock, Pace};
use host::{Host, Place};
use pacer::{Pacer, Who};
use shared_state::SharedState;
use store::StudyStore;
use store::data_folder::DataDir;

/// A second, microseconds.
const S: u64 = 1_000_000;

/// How often the rehearsal checks its progress.
const LOOKS: Duration = Duration::from_millis(50);

/// Rehearses a study with the real program.
///
/// # Errors
/// The program or the browser does not start, or stops by itself.
pub(crate) async fn rehearse(
    options: &RehearsalOptions,
    study: Arc<Study>,
    facts: &EnvFactsByStage,
    data: &Path,
    scratch: &Path,
) -> anyhow::Result<Played> {
    DataDir::open(data)?.mark_rehearsal()?;
    let place = Place {
        program: options.program.clone(),
        study: options.study.clone(),
        data: data.to_owned(),
        log: scratch.join("server.log"),
        links: if EntryWay::is_by_links(&study) {
            options.sessions
        } else {
            0
        },
        has_turn: options.has_webrtc,
    };
    let chromium = match options.browsers {
        0 => None,
        _ => {
            anyhow::ensure!(
                options.has_pages,
                "this program was built without its pages, so no browser can show them; build it with `cargo xtask build`"
            );
            Some(Chromium::start(options.chromium.as_deref(), scratch).await?)
        }
    };
    let mut rehearsal = Rehearsal::open(options, study, facts, place, chromium).await?;
    let began = Instant::now();
    rehearsal.run().await?;
    if let Some(chromium) = rehearsal.chromium.take() {
        chromium.stop().await;
    }
    rehearsal.settle().await?;
    let took = began.elapsed();
    rehearsal.cpu_s += rehearsal.host.cpu_s().unwrap_or(0.0);
    rehearsal.over(took).await
}

/// A running rehearsal.
struct Rehearsal {
    options: RehearsalOptions,
    study: Arc<Study>,
    hosted: HostedSpecs,
    place: Place,
    host: Host,
    pacer: Pacer,
    clock: Clock,
    address: watch::Sender<Option<String>>,
    sessions: Vec<(String, Shared)>,
    round_trips: Arc<Mutex<Vec<u64>>>,
    began_us: u64,
    /// When the server is killed, the last time first, microseconds.
    kills_us: Vec<u64>,
    killed: usize,
    snapshots: Vec<BTreeMap<String, Assignment>>,
    cpu_s: f64,
    chromium: Option<Chromium>,
    product: Option<String>,
    line: Line,
}

impl Rehearsal {
    pub(super) async fn open(
        options: &RehearsalOptions,
        study: Arc<Study>,
        facts: &EnvFactsByStage,
        place: Place,
        chromium: Option<Chromium>,
    ) -> anyhow::Result<Self> {
        let hosted = read_hosted_specs(facts);
        let hz = facts.values().map(|facts| facts.tick_hz).max().unwrap_or(0);
        let pace = Pace::REAL;
        let host = Host::start(&place, 0, &pace).await?;
        anyhow::ensure!(
            host.links.len() >= place.links,
            "the server gave {} links for {} sessions",
            host.links.len(),
            options.sessions
        );
        let (set, clock) = Clock::paced(pace);
        let round_trips = Arc::new(Mutex::new(Vec::new()));
        let pacer = Pacer::new(
            set,
            clock.clone(),
            options.speed,
            pacer::most_in_play(hz, options.has_webrtc),
            Arc::clone(&round_trips),
        );
        let began_us = clock.now_us() + S;
        let schedule = Schedule::new(options, &study, &host.links, began_us);
        let (address, _) = watch::channel(Some(host.address.clone()));
        let rehearsal = Self {
            hosted,
            options: options.clone(),
            sessions: schedule.sessions(),
            study,
            place,
            host,
            pacer,
            clock,
            address,
            round_trips,
            began_us,
            kills_us: schedule.kills_us,
            killed: 0,
            snapshots: Vec::new(),
            cpu_s: 0.0,
            product: chromium.as_ref().map(|chromium| chromium.product.clone()),
            chromium,
            line: Line::new(),
        };
        let (real, tickets) = (schedule.tickets)
            .into_iter()
            .partition(|ticket| ticket.record.lock().is_real);
        rehearsal.send_browsers(real);
        rehearsal.send_bots(tickets)?;
        Ok(rehearsal)
    }

    /// Starts the people at real pages.
    fn send_browsers(&self, tickets: Vec<Ticket>) {
        let around = Arc::new(self.around());
        for (ticket, chromium) in tickets.into_iter().zip(std::iter::repeat(&self.chromium)) {
            if let Some(chromium) = chromium {
                let person = browser::take_part(Arc::clone(&around), chromium.open_tools(), ticket);
                tokio::spawn(person);
            }
        }
    }

    /// The state that all participants share.
    fn around(&self) -> SharedState {
        SharedState {
            study: Arc::clone(&self.study),
            clock: self.clock.clone(),
            address: self.address.subscribe(),
            round_trips: Arc::clone(&self.round_trips),
        }
    }

    /// Starts the bots, on a few threads: a peer stays on the thread that it began on.
    fn send_bots(&self, tickets: Vec<Ticket>) -> anyhow::Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.div_ceil(2).min(tickets.len());
        let mut shares: Vec<Vec<Ticket>> = vec![Vec::new(); threads];
        for (at, ticket) in tickets.into_iter().enumerate() {
            shares[at % threads].push(ticket);
        }
        for (number, share) in shares.into_iter().enumerate() {
            let (around, lag) = (self.around(), self.pacer.meter());
            let info = StudyInfo {
                study: Arc::clone(&self.study),
                partners: models::read_partners(&self.study),
                hosted: self.hosted.clone(),
                has_webrtc: self.options.has_webrtc,
            };
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let work = move || {
                let (around, info) = (Rc::new(around), Arc::new(info));
                let local = LocalSet::new();
                local.spawn_local(lag.measure());
                let bots = share.into_iter().map(|ticket| {
                    let (around, info) = (Rc::clone(&around), Arc::clone(&info));
                    local.spawn_local(driver::take_part(around, info, ticket))
                });
                let bots: Vec<_> = bots.collect();
                local.block_on(&runtime, async {
                    for bot in bots {
                        // A bot that panics shows up as a session that gets stuck.
                        let _ = bot.await;
                    }
                });
            };
            std::thread::Builder::new()
                .name(format!("bots-{number}"))
                .spawn(work)?;
        }
        Ok(())
    }

    /// Runs until every bot is done.
    async fn run(&mut self) -> anyhow::Result<()> {
        loop {
            let phases = self.phases();
            if phases.iter().all(Phase::is_over) {
                return Ok(());
            }
            let who = self.who(&phases);
            self.pacer.look_at_host(&mut self.host, who).await;
            self.tell(&phases);
            if let Some(why) = self.host.poll_exit() {
                anyhow::bail!(
                    "the server ended by itself: {why}; it says:\n{}",
                    host::read_tail(&self.place.log)
                );
            }
            if self
                .kills_us
                .last()
                .is_some_and(|at_us| *at_us <= self.clock.now_us())
            {
                self.kills_us.pop();
                self.kill().await?;
            }
            tokio::time::sleep(LOOKS).await;
        }
    }

    fn who(&self, phases: &[Phase]) -> Who {
        let is_here = |phase: &Phase| !phase.is_over() && *phase != Phase::Coming;
        let is_real =
            |(of, phase): (&(String, Shared), &Phase)| is_here(phase) && of.1.lock().is_real;
        if self.sessions.iter().zip(phases).any(is_real) {
            Who::Browsers
        } else if phases.iter().any(Phase::is_playing) {
            Who::Playing
        } else if phases.iter().any(is_here) {
            Who::Waiting
        } else {
            Who::Nobody
        }
    }

    /// Kills the server, reads the assignments that are left, and starts it again.
    async fn kill(&mut self) -> anyhow::Result<()> {
        self.pacer.slow_down(&mut self.host).await;
        self.cpu_s += self.host.cpu_s().unwrap_or(0.0);
        let port = self.host.port();
        self.address.send_replace(None);
        // The old process ends before the new one starts.
        let (pace, place) = (self.pacer.pace(), self.place.clone());
        self.host.kill().await?;
        self.killed += 1;
        self.snapshots.push(read_assignments(&place.data).await?);
        self.host = Host::start(&place, port, &pace).await?;
        self.address.send_replace(Some(self.host.address.clone()));
        Ok(())
    }

    /// Waits until the server has ended by its own rules whatever nobody returns to: every episode, and every session
    /// if the study lets sessions expire.
    async fn settle(&mut self) -> anyhow::Result<()> {
        let expires_s = self.study.expires_s();
        let waits_s = expires_s.unwrap_or(0) + 1_800;
        let until_us = self.clock.now_us() + waits_s * S;
        while self.clock.now_us() < until_us {
            let store = StudyStore::read(&self.place.data).await?;
            let running = store.running_episodes().await?.len();
            let sessions = store.sessions().await?;
            store.close().await;
            let open = sessions
                .iter()
                .filter(|session| session.outcome.is_none())
                .count();
            if running == 0 && (open == 0 || expires_s.is_none()) {
                break;
            }
            self.pacer.leap_ahead(&mut self.host).await;
            self.line.tell_line(|| {
                format!("waiting for {open} sessions to expire, {running} episodes to end")
            });
            tokio::time::sleep(LOOKS).await;
        }
        Ok(())
    }

    async fn over(self, took: Duration) -> anyhow::Result<Played> {
        let lasted_us = self.clock.now_us().saturating_sub(self.began_us);
        let log = host::read_tail(&self.place.log);
        self.host.stop().await?;
        let round_trips = self.pacer.round_trips();
        Ok(Played {
            options: self.options,
            study: self.study,
            sessions: self.sessions,
            snapshots: self.snapshots,
            lasted_us,
            took,
            cpu_s: Some(self.cpu_s),
            round_trips,
            kills: self.killed,
            chromium: self.product,
            log,
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let phase = |(_, record): &(String, Shared)| record.lock().phase.clone();
        self.sessions.iter().map(phase).collect()
    }

    fn tell(&mut self, phases: &[Phase]) {
        let since_us = self.clock.now_us().saturating_sub(self.began_us);
        let speed = self.pacer.speed();
        self.line
            .tell_line(|| format!("{}, ×{speed:.1}", describe_progress(since_us, phases)));
    }
}
