//! A player of a match with our session, driven as a page drives it: the tick clock is the server's clock, estimated
//! from the page's own clock and the answers of the server.

use env_core::Action;
use peer::clock::ServerClock;
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Seat};
use rollback::{Config, EpisodeRecord, Session, SessionEvent};

use super::arena::{Contestant, Marks};
use crate::support::toy::Toy;

/// When tick 0 is due, server clock: everybody's clock is set by then, and nothing is shown before.
pub(crate) const T0_US: u64 = 1_500_000;
/// The round trip to the server, and how much longer an answer may take, microseconds.
const SERVER_US: (u64, u64) = (40_000, 20_000);

/// How a session is set up.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) window: u8,
    pub(crate) delay: u8,
}

pub(crate) struct Player {
    session: Session<Toy>,
    config: Config,
    clock: ServerClock,
    /// The rate of this page's clock above the server's, millionths.
    drift_ppm: i64,
    /// Answers of the server under way: arrival (page clock), time of the question, and the server's time.
    answers: Vec<(u64, u64, u64)>,
    jitter: env_core::rng::Rng,
    wish: Option<Action>,
    marks: Marks,
    /// Frames shown, with the digest of each shown state, and frames not yet reported.
    frames: Option<Vec<(Frame, u64)>>,
}

impl Player {
    pub(crate) fn new(seat: usize, players: usize, terms: Terms, drift_ppm: i64) -> Self {
        let config = Config {
            era: Era(9),
            local: Some(Seat(seat as u8)),
            controllers: vec![Controller::Human; players],
            seed: 1,
            tick_hz: 60,
            input_delay: terms.delay,
            window: terms.window,
            t0_us: T0_US,
            rules: Default::default(),
        };
        Self {
            session: Session::new(config.clone(), world(players), Vec::new()),
            config,
            clock: ServerClock::default(),
            drift_ppm,
            answers: Vec::new(),
            jitter: env_core::rng::Rng::new(seat as u64 + 77),
            wish: None,
            marks: Marks::default(),
            frames: None,
        }
    }

    /// The same, noting what each frame showed.
    pub(crate) fn watched(mut self) -> Self {
        self.frames = Some(Vec::new());
        self
    }

    /// Bytes of a second of the seen-log, and the part of all frames that are rebuilt exactly from it.
    pub(crate) fn seen(&self) -> (f64, f64) {
        let shown = self.frames.as_deref().unwrap_or_default();
        let frames: Vec<Frame> = shown.iter().map(|(frame, _)| frame.clone()).collect();
        let seats = self.config.controllers.len();
        let (mut bytes, mut read, mut chunk) = (0, Vec::new(), Vec::new());
        // As a page reports them: every second.
        for part in frames.chunks(60) {
            seen::encode(part, seats, &mut chunk);
            bytes += chunk.len();
            read.extend(seen::decode(&chunk, seats).expect("it was just encoded"));
        }
        let seconds = frames
            .last()
            .map_or(1.0, |frame| f64::from(frame.at_ms) / 1e3);
        let record = EpisodeRecord {
            changes: &[],
            rows: self.session.rows(),
        };
        let none = |_: &str| None;
        let rebuilt = rollback::rebuild(self.config.clone(), world(seats), none, record, &read)
            .expect("what a page saw follows from the record");
        let exact = shown
            .iter()
            .zip(&rebuilt)
            .filter(|((_, digest), found)| digest == *found);
        (
            bytes as f64 / seconds,
            exact.count() as f64 / frames.len() as f64,
        )
    }

    /// Estimates the server's clock from the page's clock, by questions and answers over a separate network.
    fn server_us(&mut self, page_us: u64) -> u64 {
        if self.clock.poll_question(page_us) {
            let late = SERVER_US.0 + u64::from(self.jitter.below(SERVER_US.1 as u32));
            let there_us = page_us + late / 2;
            let server_us =
                there_us.saturating_add_signed(-(there_us as i64 * self.drift_ppm / 1_000_000));
            self.answers.push((page_us + late, page_us, server_us));
        }
        let (come, under_way) = self.answers.iter().partition(|answer| answer.0 <= page_us);
        self.answers = under_way;
        for (at_us, asked_us, server_us) in come {
            self.clock.handle_answer(asked_us, server_us, at_us);
        }
        self.clock.server_us(page_us)
    }

    fn show(&mut self, now_us: u64) {
        let Some(frames) = &mut self.frames else {
            return;
        };
        let mut digest = 0;
        self.session
            .preview(|world| digest = env_core::World::digest(world));
        let at_ms = (now_us.saturating_sub(T0_US) / 1_000) as u32;
        frames.push((self.session.record_frame(at_ms, false), digest));
    }
}

fn world(players: usize) -> Toy {
    Toy::new(players as u8, 1 << 20, 1 << 20)
}

impl Contestant for Player {
    fn hear(&mut self, page_us: u64, from: usize, bytes: &[u8]) {
        let now_us = self.server_us(page_us);
        self.session
            .handle_datagram(now_us, Seat(from as u8), bytes)
            .expect("an honest packet");
    }

    fn wake(&mut self, page_us: u64, wish: Action) {
        let now_us = self.server_us(page_us);
        if !self.clock.is_set() {
            return;
        }
        self.marks.running_us.get_or_insert(page_us);
        if self.wish.replace(wish) != Some(wish) {
            self.session.handle_action(now_us, wish);
        }
        let before = self.session.current();
        if (self.session.poll_timeout()).is_some_and(|(due_us, _)| due_us <= now_us) {
            self.session.handle_timeout(now_us);
        }
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Held { .. } => self.marks.stalls += 1,
                SessionEvent::Delayed { .. } => self.marks.waits += 1,
                _ => {}
            }
        }
        if self.session.current() != before {
            self.show(now_us);
        }
    }

    fn sent(&mut self) -> Option<(usize, Vec<u8>)> {
        let transmit = self.session.poll_transmit()?;
        Some((transmit.to.index(), transmit.bytes.to_vec()))
    }

    fn frame(&self) -> u32 {
        self.session.current().0
    }

    fn marks(&self) -> Marks {
        self.marks
    }
}
