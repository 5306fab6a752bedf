//! The arbiter in virtual time: no sockets, no disk.

mod admission;
mod attendance;
mod changes;
mod chaos;
mod chats;
mod episodes;
mod forms;
mod groups;
mod lobbies;
mod page_faults;
mod restart;
mod retention;
mod returns;
mod routes;
mod screening;
mod terms;
mod visits;

use std::collections::BTreeSet;
use std::path::Path;

use protocol::change::{Change, LEASE_S, Presence};
use protocol::control::{Answer, EndReason, Entry, Link, Plan, Report, Return, StageView, Upload};
use protocol::log::{Ending, Header, Record};
use protocol::{Controller, Era, Life, Tick};
use study::stage::{Env, Player};

use super::*;

const SECOND: u64 = 1_000_000;

/// Ticks per second of the example.
const HZ: u32 = 10;

/// The archive of an episode, but for what is in its rows.
#[derive(Debug)]
struct Shelf {
    header: Header,
    through: Tick,
    changes: Vec<Change>,
    seats: Vec<(Controller, Life)>,
    notes: Vec<Record>,
    routes: Vec<Record>,
    ending: Option<Ending>,
}

impl Shelf {
    fn new(header: Header) -> Self {
        let controllers = header.controllers.iter();
        let seats = controllers.map(|controller| (controller.clone(), Life(0)));
        Self {
            seats: seats.collect(),
            header,
            through: Tick(0),
            changes: Vec::new(),
            notes: Vec::new(),
            routes: Vec::new(),
            ending: None,
        }
    }

    fn change(&mut self, seat: Seat, tick: Tick, controller: Controller) -> Change {
        let (now, life) = &mut self.seats[seat.index()];
        let is_human = |controller: &Controller| *controller == Controller::Human;
        assert!(!(is_human(now) && is_human(&controller)), "a person has it");
        (*now, *life) = (controller.clone(), life.next());
        let earlier = self.changes.iter().filter(|change| change.seat == seat);
        let earliest = earlier.map(|change| change.tick).max().unwrap_or_default();
        let change = Change {
            number: self.changes.len() as u16,
            seat,
            tick: tick.max(earliest),
            controller,
            life: *life,
            from: self.through,
            inputs: Vec::new(),
        };
        self.changes.push(change.clone());
        change
    }

    fn append_upload(&mut self, seat: Seat, upload: &Upload) -> Appended {
        let (controller, life) = &self.seats[seat.index()];
        if upload.first > self.through {
            return Appended::Gap(self.through);
        }
        let rows = (upload.rows.len() / self.seats.len()) as u32;
        if *controller == Controller::Human && *life == upload.life {
            self.through = self.through.max(Tick(upload.first.0 + rows));
        }
        let last = upload.ended.is_some();
        Appended::Durable {
            through: self.through,
            over: last,
            last,
            notes: 0,
            diverged: upload.digests.iter().any(|(_, digest)| *digest == WRONG),
        }
    }

    fn perform(&mut self, era: Era, work: Work) -> Event {
        match work {
            Work::Open(_) => Event::Opened(era, true),
            Work::Append(seat, upload) => {
                Event::Appended(era, seat, self.append_upload(seat, &upload))
            }
            Work::Record(record) => self.record(era, record),
        }
    }

    fn record(&mut self, era: Era, work: RecordWork) -> Event {
        match work {
            RecordWork::End(reason) => {
                let (ticks, score, digest) = (self.through, 1, 2);
                let ending = Ending {
                    ticks,
                    reason,
                    score,
                    digest,
                };
                self.ending = Some(ending);
                Event::Ended(era, self.ending)
            }
            RecordWork::Take {
                seat,
                controller,
                reports,
            } => {
                let have = reports.iter().map(|(_, report)| report.have).max();
                let cut = self.through.max(have.unwrap_or_default());
                assert_ne!(controller, Controller::Human);
                assert_eq!(self.seats[seat.index()].0, Controller::Human);
                Event::Changed(era, seat, Some(self.change(seat, cut, controller)))
            }
            RecordWork::Give { seat, controller } => {
                let tick = Tick(self.through.0 + LEASE_S * HZ + 1);
                let human = controller == Controller::Human;
                let change = self.change(seat, tick, controller);
                let snapshot = Snapshot {
                    tick: self.through,
                    digest: 3,
                    state: vec![7; 300_000],
                    partners: Vec::new(),
                };
                match human {
                    true => Event::Given(era, seat, Some(Box::new((change, snapshot)))),
                    false => Event::Changed(era, seat, Some(change)),
                }
            }
            RecordWork::Note(note) => {
                match *note {
                    Record::Route { .. } => self.routes.push(*note),
                    note => self.notes.push(note),
                }
                Event::Noted
            }
        }
    }
}

/// A digest that no replica has.
const WRONG: u64 = 666;

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
}

fn random() -> Random {
    let mut state = 0_u8;
    Box::new(move |bytes: &mut [u8]| {
        bytes.fill_with(|| {
            state = state.wrapping_mul(5).wrapping_add(77);
            state
        });
    })
}

impl Stage {
    fn new(limits: Limits) -> Self {
        Self::of(2, limits, |_| {})
    }

    /// The example study, for groups of so many, with other terms.
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
            random(),
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

    /// A page comes in; gives its session token.
    fn enter(&mut self, conn: u64, entry: Entry) -> String {
        self.say(conn, ClientMessage::hello(entry));
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
    /// People in a running episode on connections from 1 on; gives its era and their tokens.
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

    fn report(&mut self, conn: u64, era: Era, seat: u8, life: u8, have: u32) {
        let report = Report {
            seat: Seat(seat),
            life: Life(life),
            have: Tick(have),
            inputs: Vec::new(),
        };
        self.say(conn, ClientMessage::Report { era, report });
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

    /// Uploads ticks from 0 on, which may be due.
    fn archive(&mut self, conn: u64, era: Era, life: u8, ticks: u32) {
        let seats = self.shelf(era).seats.len();
        self.say(
            conn,
            ClientMessage::Upload(Upload {
                life: Life(life),
                rows: vec![0; ticks as usize * seats],
                ..blank(era)
            }),
        );
    }
}

fn fences(messages: &[ServerMessage]) -> Vec<(u8, u8)> {
    let fence = |message: &ServerMessage| match message {
        ServerMessage::Fence { seat, life, .. } => Some((seat.0, life.0)),
        _ => None,
    };
    messages.iter().filter_map(fence).collect()
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
        first: Tick(0),
        rows: Vec::new(),
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
        rows: vec![0; 14],
        ended,
        ..blank(era)
    })
}
