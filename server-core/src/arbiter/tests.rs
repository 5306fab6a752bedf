//! The arbiter in virtual time: no sockets, no disk.

mod admission;
mod attendance;
mod blinding;
mod changes;
mod chaos;
mod chats;
mod datagram_paths;
mod desk;
mod desk_messages;
mod directive_buttons;
mod episodes;
mod forms;
mod groups;
mod hosting;
mod language_models;
mod lobbies;
mod page_faults;
mod restart;
mod retention;
mod returns;
mod rooms;
mod screening;
mod seat_orders;
mod shelf;
mod silence;
mod simulated;
mod terms;
mod visits;

use std::collections::BTreeSet;
use std::path::Path;

use protocol::change::{Change, LEAD_S, Presence};
use protocol::control::{
    Answer, Block, EndReason, Entry, HostView, Link, Plan, Return, StageView, Timing, Upload,
};
use protocol::log::{Ending, Header, Record};
use protocol::{Controller, Era, Life, Tick};
use study::stage::{Env, Player};

use self::shelf::{Shelf, WRONG};
use super::*;

const SECOND: u64 = 1_000_000;

/// Ticks per second of the example.
const HZ: u32 = 10;

/// An arbiter, what it has sent to each page, and an archive that takes everything.
struct Stage {
    /// True if the disk takes the files of new episodes.
    disk: bool,
    /// True if the archive works only on request.
    slow: bool,
    study: Arc<Study>,
    stages: EnvStages,
    limits: Limits,
    arbiter: Arbiter,
    now_us: u64,
    sent: BTreeMap<ConnId, Vec<ServerMessage>>,
    closed: BTreeSet<ConnId>,
    writes: Vec<Write>,
    ended: Vec<EndReason>,
    shelves: BTreeMap<u16, Shelf>,
    work: VecDeque<(Era, Work)>,
    /// Requests to language models.
    asked: Vec<(Era, crate::language_model::ModelRequest)>,
}

/// Names and tokens of a server that finds this many rows at its start: they differ from those of the server before.
fn random(rows: usize) -> Random {
    let (mut state, mut wide) = (0_u8, 0_u64);
    Box::new(move |bytes: &mut [u8]| {
        bytes.fill_with(|| {
            state = state.wrapping_mul(5).wrapping_add(77);
            wide = wide
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(rows as u64);
            state ^ (wide >> 56) as u8
        });
    })
}

impl Stage {
    fn new(limits: Limits) -> Self {
        Self::of(2, limits, |_| {})
    }

    /// The example study, for groups of this many people, with other terms.
    fn of(people: u8, limits: Limits, terms: impl FnOnce(&mut Env)) -> Self {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
        let (mut study, facts) = catalog::read_study(&dir).unwrap();
        let StageKind::Lobby(lobby) = &mut study.timeline[1].kind else {
            panic!("the lobby")
        };
        lobby.group_size = people;
        let StageKind::Env(env) = &mut study.timeline[2].kind else {
            panic!("the environment")
        };
        env.players = vec![Player::Partner; usize::from(people)];
        env.players[0] = Player::Own;
        terms(env);
        let seats = env.players.len() as u8;
        let facts = facts.into_iter().map(|(index, mut facts)| {
            facts.seats = seats;
            (index, facts)
        });
        Self::with(study, facts.collect(), limits)
    }

    /// A study with this timeline.
    fn read(timeline: &str, limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let head = "format: 1\nstudy: {id: groups, version: 1.0.0, title: Groups, contact: lab@example.edu}\n";
        let text = format!("{head}{timeline}");
        std::fs::write(dir.path().join("study.yaml"), text).unwrap();
        std::fs::write(dir.path().join("page.md"), "# Page\n").unwrap();
        let (study, facts) = catalog::read_study(dir.path()).unwrap();
        Self::with(study, facts, limits)
    }

    fn with(study: Study, facts: study::EnvFactsByStage, limits: Limits) -> Self {
        let stage = |(index, facts): ((u16, String), EnvFacts)| {
            let module = "ab".repeat(32);
            (index, EnvStage { facts, module })
        };
        let stages: EnvStages = facts.into_iter().map(stage).collect();
        let study = Arc::new(study);
        let arbiter = Arbiter::new(
            0,
            Arc::clone(&study),
            limits.clone(),
            stages.clone(),
            true,
            random(0),
            Restored::default(),
        );
        let (sent, closed) = (BTreeMap::new(), BTreeSet::new());
        Self {
            disk: true,
            slow: false,
            study,
            stages,
            limits,
            arbiter,
            now_us: 0,
            sent,
            closed,
            writes: Vec::new(),
            ended: Vec::new(),
            shelves: BTreeMap::new(),
            work: VecDeque::new(),
            asked: Vec::new(),
        }
    }

    fn handle(&mut self, event: Event) {
        self.arbiter.handle_event(self.now_us, event);
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            while let Some((conn, message)) = self.arbiter.poll_relay() {
                self.sent.entry(conn).or_default().push(message);
            }
            while let Some(effect) = self.arbiter.poll_effect() {
                match effect {
                    Effect::Send(conn, message) => {
                        self.sent.entry(conn).or_default().push(message);
                    }
                    Effect::Close(conn) => drop(self.closed.insert(conn)),
                    Effect::Store(write) => self.writes.push(write),
                    Effect::Archive(era, work) => self.work.push_back((era, work)),
                    Effect::Ask(era, request) => self.asked.push((era, *request)),
                }
            }
            if self.slow || !self.work_once() {
                return;
            }
        }
    }

    /// The archive does one piece of its work; false if it has none.
    fn work_once(&mut self) -> bool {
        let Some((era, work)) = self.work.pop_front() else {
            return false;
        };
        let event = match work {
            Work::Open(header) => {
                if self.disk {
                    self.shelves.insert(era.0, Shelf::new(*header));
                }
                Event::Opened(era, self.disk)
            }
            work => {
                if let Work::Record(RecordWork::End(reason)) = work {
                    self.ended.push(reason);
                }
                match self.shelves.get_mut(&era.0) {
                    Some(shelf) => shelf.perform(era, work),
                    None => work.failure_event(era),
                }
            }
        };
        self.arbiter.handle_event(self.now_us, event);
        true
    }

    fn shelf_mut(&mut self, era: Era) -> &mut Shelf {
        self.shelves.get_mut(&era.0).unwrap()
    }

    fn shelf(&self, era: Era) -> &Shelf {
        &self.shelves[&era.0]
    }

    /// Lets time pass, with every timeout on the way.
    fn wait(&mut self, us: u64) {
        let until = self.now_us + us;
        while let Some((at, _)) = self.arbiter.poll_timeout().filter(|(at, _)| *at <= until) {
            assert!(
                at >= self.now_us || self.now_us == until,
                "a timeout that is due is dealt with at once"
            );
            self.now_us = at.max(self.now_us);
            self.arbiter.handle_timeout(self.now_us);
            self.drain();
        }
        self.now_us = until;
    }

    fn say(&mut self, conn: u64, message: ClientMessage) {
        self.handle(Event::Message(ConnId(conn), message));
    }

    fn hear(&mut self, conn: u64) -> Vec<ServerMessage> {
        self.sent.remove(&ConnId(conn)).unwrap_or_default()
    }

    /// Lets a page enter; returns its session token.
    fn enter(&mut self, conn: u64, entry: Entry) -> String {
        self.say(conn, ClientMessage::make_hello(entry));
        match self.sent[&ConnId(conn)].first() {
            Some(ServerMessage::Welcome {
                session, modules, ..
            }) => {
                assert_eq!(modules, &["ab".repeat(32)], "to be fetched ahead");
                session.clone()
            }
            other => panic!("not let in: {other:?}"),
        }
    }

    /// A page comes in and goes to the lobby.
    fn queue(&mut self, conn: u64) -> String {
        let token = self.enter(conn, Entry::Open);
        self.say(
            conn,
            ClientMessage::StageDone {
                stage: 0,
                answers: Vec::new(),
                pages_ms: vec![1],
            },
        );
        token
    }

    fn plan(&mut self, conn: u64) -> Option<Plan> {
        let found = |message| match message {
            ServerMessage::Match(plan) => Some(plan),
            _ => None,
        };
        self.hear(conn).into_iter().rev().find_map(found)
    }

    fn ready(&mut self, conn: u64, era: Era, rtt_us: u32) {
        self.ready_with_loss(conn, era, rtt_us, None);
    }

    fn ready_with_loss(&mut self, conn: u64, era: Era, rtt_us: u32, loss: Option<u16>) {
        let links = vec![Link::Direct; 2];
        self.say(
            conn,
            ClientMessage::Ready {
                era,
                links,
                rtt_us: vec![rtt_us; 2],
                loss_permille: vec![loss; 2],
            },
        );
    }

    /// Two people in a running episode on connections 1 and 2.
    fn playing(&mut self) -> (Era, String, String) {
        let tokens = (self.queue(1), self.queue(2));
        let era = self.plan(1).unwrap().era;
        assert_eq!(self.plan(2).unwrap().era, era);
        self.ready(1, era, 0);
        self.ready(2, era, 0);
        assert!(matches!(self.hear(1)[..], [ServerMessage::Start { .. }]));
        self.hear(2);
        self.wait(3_500_000);
        (era, tokens.0, tokens.1)
    }
}

impl Stage {
    /// Puts people into a running episode on connections from 1 on; returns its era and their tokens.
    fn crowd(&mut self, people: u64) -> (Era, Vec<String>) {
        let tokens = (1..=people).map(|conn| self.queue(conn)).collect();
        let era = self.plan(1).unwrap().era;
        (1..=people).for_each(|conn| self.ready(conn, era, 0));
        self.wait(3_500_000);
        (1..=people).for_each(|conn| drop(self.hear(conn)));
        (era, tokens)
    }

    fn close(&mut self, conn: u64) {
        self.handle(Event::Closed(ConnId(conn)));
    }

    fn silent(&mut self, conn: u64, era: Era, seat: u8, silent: bool) {
        let seat = Seat(seat);
        self.say(conn, ClientMessage::Silent { era, seat, silent });
    }

    /// Lets the page of a connection say that it does not hear a seat without a connection, until that counts.
    fn miss(&mut self, conn: u64, era: Era, seat: u8) {
        self.silent(conn, era, seat, true);
        let play = self.arbiter.episodes.play_mut(era);
        let counts_us = play.and_then(|play| play.seats.is_unheard_at(Seat(seat)));
        let counts_us = counts_us.unwrap_or(self.now_us);
        self.wait(counts_us.saturating_sub(self.now_us));
        silence::tick(self, conn);
    }

    fn resume(&mut self, conn: u64, token: &str, playing: Option<(Era, u8)>) {
        let entry = Entry::Resume {
            token: token.into(),
            playing: playing.map(|(era, life)| (era, Life(life))),
        };
        self.enter(conn, entry);
    }

    fn back(&mut self, conn: u64) -> Option<Return> {
        let found = |message| match message {
            ServerMessage::Return(back) => Some(back),
            _ => None,
        };
        self.hear(conn).into_iter().find_map(found)
    }

    /// Lets the page of a connection send its own inputs up to a tick, from the durable ones on.
    fn archive(&mut self, conn: u64, era: Era, life: u8, ticks: u32) {
        let first = self.own(conn, era);
        let len = ticks.saturating_sub(first.0) as usize;
        let block = (len > 0).then(|| block(first, len));
        let life = Life(life);
        let upload = Upload {
            life,
            block,
            ..blank(era)
        };
        self.say(conn, ClientMessage::Upload(upload));
    }

    /// Lets every page that plays send its own inputs up to a tick.
    fn archive_all(&mut self, era: Era, ticks: u32) {
        let Some(play) = self.arbiter.episodes.play_mut(era) else {
            return;
        };
        let plays = |(_, state): &(Seat, &seats::SeatState)| {
            state.page == seats::Page::Plays && state.controller == Controller::Human
        };
        let seats = play.seats.people().filter(plays);
        let lives: Vec<(Seat, u8)> = seats.map(|(seat, state)| (seat, state.life.0)).collect();
        for (seat, life) in lives {
            let who = self.arbiter.episodes.session_at(era, seat).unwrap();
            let conn = self.arbiter.sessions[who].conn.unwrap();
            self.archive(conn.0, era, life, ticks);
        }
    }

    /// The ticks for which the page of a connection has said its inputs.
    fn own(&self, conn: u64, era: Era) -> Tick {
        let who = self.arbiter.sessions.find_by_conn(ConnId(conn));
        let episode = self.arbiter.episodes.get(era);
        let seat = who.and_then(|who| episode?.seat_of(who));
        seat.map_or(Tick(0), |seat| self.shelf(era).seats[seat.index()].said)
    }
}

fn block(first: Tick, len: usize) -> Block {
    Block {
        first,
        inputs: vec![0; len],
        ..Block::default()
    }
}

fn changes(messages: &[ServerMessage]) -> Vec<Change> {
    let change = |message: &ServerMessage| match message {
        ServerMessage::Change { change, .. } => Some(change.clone()),
        _ => None,
    };
    messages.iter().filter_map(change).collect()
}

fn presence(messages: &[ServerMessage]) -> Vec<(u8, Presence, u32)> {
    let peer = |message: &ServerMessage| match message {
        ServerMessage::Peer {
            seat,
            presence,
            left_ms,
            ..
        } => Some((seat.0, *presence, *left_ms)),
        _ => None,
    };
    messages.iter().filter_map(peer).collect()
}

fn cook() -> Controller {
    Controller::Ai {
        policy: "cook".into(),
    }
}

fn blank(era: Era) -> Upload {
    Upload {
        era,
        life: Life(0),
        block: None,
        changes: 0,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: None,
    }
}

fn view(messages: &[ServerMessage]) -> Option<&StageView> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Stage { view, .. } => Some(view),
        _ => None,
    })
}

fn upload(era: Era, ended: Option<Tick>) -> ClientMessage {
    ClientMessage::Upload(Upload {
        block: Some(block(Tick(0), 7)),
        ended,
        ..blank(era)
    })
}
