//! The arbiter and the archive behind it, between pages that say anything in any order, all driven by bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use archive::Episode;
use archive::work::perform_work;
use protocol::chain::Chain;
use protocol::control::{self, Answer, ClientMessage, Entry, Link, ServerMessage, Timing, Upload};
use protocol::{Era, Life, Seat, Tick, log};
use server_core::arbiter::{Arbiter, ConnId, Effect, EnvStage, EnvStages, Event, Restored, Work};
use server_core::limits::Limits;
use study::Study;

use crate::input::Input;
use crate::memory::{Memory, no_module};
use crate::seeds::page_key;

/// Pages at the same time: two groups and one more.
const PAGES: usize = 5;
/// The most commands that are carried out: the rest of a long input teaches nothing new.
const COMMANDS: usize = 1_000;
/// The most effects of one event: everybody gets a few messages.
const EFFECTS: usize = 32 * PAGES;
/// The most timeouts that are due at one moment.
const TIMEOUTS: usize = 100;

/// A page's knowledge.
#[derive(Clone, Default)]
struct Page {
    conn: Option<ConnId>,
    token: Option<String>,
    stage: u16,
    era: Option<Era>,
    episode: String,
    life: Life,
    seat: u8,
    through: Tick,
    notes: u32,
    recheck: u16,
    /// Its own inputs, as far as they are signed.
    chain: Option<Chain>,
}

struct Server {
    arbiter: Arbiter,
    now_us: u64,
    pages: [Page; PAGES],
    conns: u64,
    closed: BTreeSet<ConnId>,
    work: VecDeque<(Era, Work)>,
    episodes: BTreeMap<u16, (Option<Episode>, Memory)>,
}

/// The study of `study/`, and what its env stages play.
pub(crate) fn terms() -> &'static (Arc<Study>, EnvStages) {
    static TERMS: OnceLock<(Arc<Study>, EnvStages)> = OnceLock::new();
    TERMS.get_or_init(|| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("study");
        let (study, facts) =
            catalog::read_study(&dir).unwrap_or_else(|problems| panic!("{problems:#?}"));
        let module = String::new();
        let stages = facts.into_iter().map(|(index, facts)| {
            let module = module.clone();
            (index, EnvStage { facts, module })
        });
        (Arc::new(study), stages.collect())
    })
}

/// Lets pages come and go, say what fits and what does not, lets time pass, and does the archive's work, as the bytes
/// say. Nothing panics, effects and timeouts are bounded, a closed connection hears nothing more, and every episode
/// file can be read and taken up again.
pub fn arbiter(bytes: &[u8]) {
    play(bytes);
}

fn play(bytes: &[u8]) -> Server {
    let mut server = Server::new();
    let mut bytes = Input(bytes);
    for _ in 0..COMMANDS {
        if bytes.0.is_empty() {
            break;
        }
        server.command(&mut bytes);
    }
    for (episode, file) in server.episodes.values() {
        let Some(episode) = episode else { continue };
        let bytes = file.copy();
        let read = log::read_log(&bytes).expect("what was written can be read");
        assert!(!read.torn && read.through == episode.recorded_through());
        assert!(read.changes().eq(episode.changes()));
        let again = Episode::recover_from(Box::new(Memory::of(bytes)), no_module)
            .expect("what was written can be taken up again");
        assert_eq!(again.recorded_through(), episode.recorded_through());
    }
    server
}

impl Server {
    fn new() -> Self {
        let (study, stages) = terms().clone();
        let mut state = 0_u8;
        let random = Box::new(move |bytes: &mut [u8]| {
            bytes.fill_with(|| {
                state = state.wrapping_mul(5).wrapping_add(77);
                state
            });
        });
        let limits = Limits {
            sessions: 2 * PAGES,
            ..Limits::default()
        };
        let restored = Restored::default();
        Self {
            arbiter: Arbiter::new(0, study, limits, stages, true, random, restored),
            now_us: 0,
            pages: Default::default(),
            conns: 0,
            closed: BTreeSet::new(),
            work: VecDeque::new(),
            episodes: BTreeMap::new(),
        }
    }

    fn command(&mut self, bytes: &mut Input<'_>) {
        let command = bytes.byte();
        let (what, who) = (command & 15, usize::from(command >> 4) % PAGES);
        let page = self.pages[who].clone();
        let message = match what {
            0 => return self.connect(who, bytes.byte()),
            1 => return self.disconnect(who),
            2 => self.leave_stage(&page, bytes.byte()),
            3 => ready(&page),
            4 | 5 => upload(&mut self.pages[who], bytes),
            6 => silence(&page, bytes.byte()),
            7 => hidden(&page, bytes.byte()),
            8 => ClientMessage::Unloading,
            9 => ClientMessage::TakeBack {
                era: page.era.unwrap_or(Era(0)),
            },
            10 | 11 => return self.wait(1_000 << (bytes.byte() & 15)),
            12 => return self.work(usize::from(bytes.byte()), false),
            13 if bytes.byte() & 3 == 0 => return self.work(1, true),
            13 => aside(bytes.byte()),
            14 => {
                let len = usize::from(bytes.byte());
                match control::decode(bytes.take(len)) {
                    Ok(message) => message,
                    Err(_) => return,
                }
            }
            _ if bytes.byte() == 255 => return self.handle(Event::Stop),
            _ => return self.work(2, false),
        };
        let Some(conn) = page.conn else { return };
        self.handle(Event::Message(conn, message));
    }

    /// A page comes in: a new one, with its own token, or with that of another.
    fn connect(&mut self, who: usize, how: u8) {
        self.conns += 1;
        let conn = ConnId(self.conns);
        let own = &self.pages[who];
        let other = &self.pages[usize::from(how >> 4) % PAGES];
        let playing = own.era.filter(|_| how & 4 == 0).map(|era| (era, own.life));
        let token = match how & 3 {
            0 => None,
            1 | 2 => own.token.clone(),
            _ => other.token.clone(),
        };
        let entry = match token {
            Some(token) => Entry::Resume { token, playing },
            None if how & 3 == 3 => Entry::Invite("9f2c".into()),
            None => Entry::Open,
        };
        self.pages[who].conn = Some(conn);
        let mut hello = ClientMessage::make_hello(entry);
        if let ClientMessage::Hello { key, .. } = &mut hello {
            *key = page_key().verifying_key().to_bytes();
        }
        self.handle(Event::Message(conn, hello));
    }

    fn disconnect(&mut self, who: usize) {
        if let Some(conn) = self.pages[who].conn.take() {
            self.closed.insert(conn);
            self.handle(Event::Closed(conn));
        }
    }

    /// Says that a stage is done, mostly the one that the page shows, with the answers of the study's form.
    fn leave_stage(&self, page: &Page, how: u8) -> ClientMessage {
        let study = &terms().0;
        let is_survey = study.timeline.get(usize::from(page.stage));
        let is_survey = is_survey.is_some_and(|stage| stage.id == "after") && how != 1;
        let answer = Answer {
            name: "fun".into(),
            value: "5".into(),
        };
        ClientMessage::StageDone {
            stage: page.stage + u16::from(how == 2),
            answers: if is_survey { vec![answer] } else { Vec::new() },
            pages_ms: vec![1],
        }
    }

    /// Does work of the archive, or lets the disk fail.
    fn work(&mut self, count: usize, fails: bool) {
        for _ in 0..count {
            let Some((era, work)) = self.work.pop_front() else {
                return;
            };
            let event = if fails {
                work.failure_event(era)
            } else {
                let (episode, file) = self.episodes.entry(era.0).or_default();
                perform_work(era, episode, work, |header| {
                    Episode::create_in(Box::new(file.clone()), header, no_module)
                })
            };
            self.handle(event);
        }
    }

    fn wait(&mut self, us: u64) {
        let until_us = self.now_us + us;
        let mut due = 0;
        while let Some((at_us, _)) = self.arbiter.poll_timeout().filter(|due| due.0 <= until_us) {
            due = if at_us > self.now_us { 0 } else { due + 1 };
            assert!(due < TIMEOUTS, "a timeout that is due stays due");
            self.now_us = at_us.max(self.now_us);
            self.arbiter.handle_timeout(self.now_us);
            self.drain();
        }
        self.now_us = until_us;
    }

    fn handle(&mut self, event: Event) {
        self.arbiter.handle_event(self.now_us, event);
        self.drain();
    }

    fn drain(&mut self) {
        let mut effects = 0;
        while let Some((conn, message)) = self.arbiter.poll_relay() {
            self.send(conn, message);
        }
        while let Some(effect) = self.arbiter.poll_effect() {
            effects += 1;
            assert!(effects <= EFFECTS, "an event has no end of effects");
            match effect {
                Effect::Send(conn, message) => self.send(conn, message),
                Effect::Close(conn) => drop(self.closed.insert(conn)),
                Effect::Store(_) => {}
                Effect::Archive(era, work) => self.work.push_back((era, work)),
                // Its studies have no language model.
                Effect::Ask(..) => {}
            }
        }
    }

    fn send(&mut self, conn: ConnId, message: ServerMessage) {
        assert!(!self.closed.contains(&conn), "sent to a closed connection");
        if let Some(page) = self.pages.iter_mut().find(|page| page.conn == Some(conn)) {
            page.hear(message);
        }
    }
}

impl Page {
    fn hear(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Welcome { session, .. } => self.token = Some(session),
            ServerMessage::Stage { index, .. } => self.stage = index,
            ServerMessage::Match(plan) => {
                (self.era, self.life) = (Some(plan.era), plan.life);
                (self.seat, self.through, self.notes) = (plan.seat.0, Tick(0), 0);
                let begun = Chain::new(&plan.episode, plan.seat, plan.life, Tick(0));
                (self.chain, self.recheck) = (Some(begun), 0);
                self.episode = plan.episode;
            }
            ServerMessage::Running { through, .. } => self.through = through,
            ServerMessage::Recheck { number, .. } => self.recheck = number,
            ServerMessage::Return(back) => {
                self.through = back.tick;
                let seat = Seat(self.seat);
                let own = back.changes.iter().rfind(|change| change.seat == seat);
                let first = own.map_or(back.tick, |change| change.tick);
                self.chain = Some(Chain::new(&self.episode, seat, self.life, first));
            }
            ServerMessage::Archived { through, notes, .. } => {
                (self.through, self.notes) = (through, notes);
            }
            _ => {}
        }
    }
}

fn ready(page: &Page) -> ClientMessage {
    ClientMessage::Ready {
        era: page.era.unwrap_or(Era(0)),
        links: vec![Link::Relay; 2],
        rtt_us: vec![0, 20_000],
        loss_permille: vec![None, Some(20)],
    }
}

/// Own inputs that follow those of before, or leave a gap, or are signed for another tick; noted or not, and perhaps the
/// last.
fn upload(page: &mut Page, bytes: &mut Input<'_>) -> ClientMessage {
    let (how, ticks) = (bytes.byte(), usize::from(bytes.byte() % 24));
    let mut inputs = vec![6; ticks];
    let own = bytes.take(if how & 1 == 0 { ticks } else { 0 });
    for (input, action) in inputs.iter_mut().zip(own) {
        *input = u16::from(action % 8);
    }
    let timing = Timing {
        number: page.notes + u32::from(how & 64 != 0),
        hidden: vec![(Tick(1), Tick(2))],
        delays: vec![(Tick(1), 100)],
        ..Timing::default()
    };
    let chain = page.chain.as_mut().filter(|_| ticks > 0);
    let block = chain.map(|chain| match how >> 1 & 7 {
        0 => chain.clone().sign(&page_key(), inputs, [1; 16]),
        1 => {
            let first = Tick(chain.next().0 + 1);
            let mut ahead = Chain::new(&page.episode, Seat(page.seat), page.life, first);
            ahead.sign(&page_key(), inputs, [1; 16])
        }
        _ => chain.sign(&page_key(), inputs, [1; 16]),
    });
    let end = page.chain.as_ref().map_or(Tick(0), Chain::next);
    ClientMessage::Upload(Upload {
        era: page.era.unwrap_or(Era(0)),
        life: page.life,
        block,
        changes: 9,
        recheck: page.recheck,
        digests: (how & 16 != 0)
            .then_some((Tick(10), 9))
            .into_iter()
            .collect(),
        ended: (how & 32 != 0).then_some(end),
        timing: (how & 128 != 0).then_some(timing),
    })
}

fn silence(page: &Page, how: u8) -> ClientMessage {
    ClientMessage::Silent {
        era: page.era.unwrap_or(Era(0)),
        seat: Seat(how >> 1),
        silent: how & 1 == 0,
    }
}

fn hidden(page: &Page, how: u8) -> ClientMessage {
    ClientMessage::Hidden {
        era: page.era.unwrap_or(Era(0)),
        hidden: how & 1 == 0,
    }
}

/// Messages that move nobody, and the way out.
fn aside(how: u8) -> ClientMessage {
    let to = Seat(how >> 4);
    match how & 15 {
        0 => ClientMessage::Leave,
        1 => ClientMessage::Trouble {
            message: "no WebGL".into(),
        },
        2 => ClientMessage::LinkChanged {
            era: Era(0),
            seat: to,
            link: Link::Direct,
        },
        3 => ClientMessage::Clock { sent_us: 1 },
        4..=8 => ClientMessage::Signal {
            to,
            data: "{}".into(),
        },
        _ => ClientMessage::Relay {
            to,
            bytes: vec![1, 2, 3],
        },
    }
}

#[cfg(test)]
mod tests {
    use protocol::Controller;
    use protocol::control::EndReason;

    use super::*;

    /// The controllers of a seat in the first episode of a seed, and its end.
    fn seed(name: &str) -> (Vec<Controller>, Option<EndReason>) {
        let seeds = crate::seeds("arbiter");
        let server = play(&seeds.iter().find(|(seed, _)| seed == name).unwrap().1);
        let (episode, _) = server.episodes.values().next().unwrap();
        let episode = episode.as_ref().unwrap();
        let hands = episode.changes().iter().map(|change| &change.controller);
        (
            hands.cloned().collect(),
            episode.ending().map(|end| end.reason),
        )
    }

    #[test]
    fn the_seeds_reach_what_they_are_for() {
        let idle = Controller::Ai {
            policy: "idle".into(),
        };
        let there_and_back = vec![idle.clone(), Controller::Human];
        assert_eq!(seed("played"), (Vec::new(), Some(EndReason::Played)));
        assert_eq!(seed("gone"), (vec![idle.clone()], None));
        assert_eq!(
            seed("back"),
            (there_and_back.clone(), Some(EndReason::Played))
        );
        assert_eq!(seed("hidden"), (there_and_back, None));
        assert_eq!(seed("failed"), (vec![idle], Some(EndReason::Technical)));
    }
}
