//! Two sessions of one episode, the network between them and the archive that decides who plays, all driven by bytes.

use std::collections::VecDeque;
use std::sync::OnceLock;

use archive::Episode;
use env_core::contract::Environment as _;
use env_core::envs::overcooked::{Overcooked, Params};
use env_core::{Action, Instance, Policy, Spec, World as _};
use protocol::chain::Chain;
use protocol::change::Change;
use protocol::control::{Return, Upload};
use protocol::log::Header;
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{Config, Session};
use server_core::arbiter::KnownInputs;

use crate::input::Input;
use crate::memory::{Memory, no_module};
use crate::seeds::page_key;

const HORIZON: u32 = 90;
const TICK_US: u64 = 100_000;
const ERA: Era = Era(7);
/// The most commands that are carried out: the rest of a long input teaches nothing new.
const COMMANDS: usize = 2_000;
/// Packets on the way; more are lost.
const QUEUE: usize = 64;

type Play = Session<Instance<Overcooked>>;

/// The server's messages to a page, in order.
enum Told {
    /// The durable ticks, and up to where the page's digests are right.
    Durable(Tick, Tick),
    Inputs(KnownInputs),
    /// The page is to say its digests anew.
    Recheck(u16),
    Change(Change),
}

struct Peer {
    session: Play,
    /// The life of its seat that it plays.
    life: Life,
    /// Its own inputs, as far as they are signed.
    chain: Chain,
    /// The last request to send its digests again that it has followed.
    recheck: u16,
    /// The rows that are final so far.
    kept: Vec<Action>,
    inbox: VecDeque<Vec<u8>>,
    told: VecDeque<Told>,
}

/// All of an episode.
struct Match {
    /// The settings.
    first: u8,
    now_us: u64,
    peers: [Peer; 2],
    archive: Episode,
    file: Memory,
    /// True if everything so far was what honest pages, an honest server and any network bring about.
    honest: bool,
}

fn world() -> Instance<Overcooked> {
    let params = Params {
        horizon: HORIZON,
        ..Params::default()
    };
    Instance::new(Overcooked::new(params).expect("the parameters are allowed"))
}

fn config(seat: usize, first: u8) -> Config {
    Config {
        era: ERA,
        local: Some(Seat(seat as u8)),
        controllers: vec![Controller::Human; 2],
        seed: 1,
        tick_hz: 10,
        input_delay: first & 3,
        window: first >> 2 & 15,
        t0_us: 0,
        rules: Default::default(),
    }
}

fn spec() -> &'static Spec {
    static SPEC: OnceLock<Spec> = OnceLock::new();
    SPEC.get_or_init(|| world().spec().clone())
}

fn policy(name: &str) -> Option<Box<dyn Policy>> {
    policy::by_name(name, spec())
}

fn header(first: u8) -> Header {
    let spec = spec();
    Header {
        episode: "e-1".into(),
        study: "fuzz".into(),
        study_version: "1".into(),
        study_hash: String::new(),
        stage: "play".into(),
        group: "G-1".into(),
        participants: vec!["P-1".into(), "P-2".into()],
        module: String::new(),
        env: spec.id.clone(),
        env_version: spec.version.clone(),
        params: format!(r#"{{"horizon":{HORIZON}}}"#),
        seed: 1,
        controllers: vec![Controller::Human; 2],
        tick_hz: 10,
        input_delay: first & 3,
        t0_us: 0,
        rules: Default::default(),
        course: None,
        keys: vec![page_key().verifying_key().to_bytes(); 2],
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

/// Presses keys, lets time pass, delivers, loses, repeats, reorders, damages and forges packets; uploads, tells
/// inputs, takes and gives seats, loses connections; as the bytes say. What is final only grows. As long as nobody lies,
/// it is what the archive keeps, every change can be carried out, and every page can come back.
pub fn session(bytes: &[u8]) {
    play(bytes);
}

fn play(bytes: &[u8]) -> Match {
    let mut input = Input(bytes);
    let mut game = Match::new(input.byte());
    for _ in 0..COMMANDS {
        if input.0.is_empty() {
            break;
        }
        game.command(&mut input);
        game.run();
        game.watch();
    }
    game.judge();
    game
}

impl Match {
    fn new(first: u8) -> Self {
        let file = Memory::default();
        let archive = Episode::create_in(Box::new(file.clone()), header(first), no_module)
            .expect("the program brings the environment");
        let peer = |seat| Peer {
            session: Session::new(config(seat, first), world(), Vec::new()),
            life: Life(0),
            chain: Chain::new("e-1", Seat(seat as u8), Life(0), Tick(0)),
            recheck: 0,
            kept: Vec::new(),
            inbox: VecDeque::new(),
            told: VecDeque::new(),
        };
        Self {
            first,
            now_us: 0,
            peers: [peer(0), peer(1)],
            archive,
            file,
            honest: true,
        }
    }

    fn command(&mut self, input: &mut Input<'_>) {
        let command = input.byte();
        let (who, value) = (usize::from(command >> 4 & 1), command >> 5);
        let peer = &mut self.peers[who];
        match command & 15 {
            0 | 1 => self.now_us += (u64::from(value) + 1) * TICK_US / 4,
            2 => {
                let action = u16::from(value) % 7;
                peer.session.handle_action(self.now_us, action);
            }
            3 => self.deliver(who),
            4 => drop(peer.inbox.pop_front()),
            5 => peer.inbox.rotate_left(1.min(peer.inbox.len())),
            6 => {
                let again = peer.inbox.front().cloned();
                peer.inbox.extend(again);
            }
            7 => {
                let len = usize::from(value) * 5;
                self.honest &= !tamper(peer, input.take(len));
            }
            8 => self.upload(who),
            9 => self.tell_inputs(who),
            10 => self.hear(who),
            11 => self.take(who, value),
            12 => self.give_back(who, value == 7, input),
            13 => self.give_on(who),
            14 => self.reconnect(who),
            _ => self.lie(who, value, input),
        }
    }

    fn deliver(&mut self, who: usize) {
        let peer = &mut self.peers[who];
        if let Some(packet) = peer.inbox.pop_front() {
            let from = Seat(1 - who as u8);
            // A refusal is an answer.
            let _ = peer.session.handle_datagram(self.now_us, from, &packet);
        }
    }

    /// Does what is due, and puts sent messages on their way.
    fn run(&mut self) {
        for who in 0..2 {
            let session = &mut self.peers[who].session;
            if (session.poll_timeout()).is_some_and(|(due_us, _)| due_us <= self.now_us) {
                session.handle_timeout(self.now_us);
            }
            let sent: Vec<_> =
                std::iter::from_fn(|| Some(session.poll_transmit()?.bytes.to_vec())).collect();
            while session.poll_event().is_some() {}
            session.preview(|_| ());
            session.record_frame((self.now_us / 1_000) as u32, false);
            let room = QUEUE.saturating_sub(self.peers[1 - who].inbox.len());
            self.peers[1 - who]
                .inbox
                .extend(sent.into_iter().take(room));
        }
    }

    /// A page uploads what is new.
    fn upload(&mut self, who: usize) {
        let peer = &mut self.peers[who];
        let (first, inputs) = peer.session.own_inputs(peer.chain.next());
        let inputs: Vec<Action> = inputs.collect();
        let is_next = first == peer.chain.next() && !inputs.is_empty();
        let upload = Upload {
            era: ERA,
            life: peer.life,
            block: is_next.then(|| peer.chain.sign(&page_key(), inputs, [1; 16])),
            changes: peer.session.changes(),
            recheck: peer.recheck,
            digests: peer.session.digests().to_vec(),
            timing: None,
            ended: peer.session.ended(),
        };
        let seat = Seat(who as u8);
        let appended = self.archive.append_upload(seat, &upload);
        assert!(
            !self.honest || appended.as_ref().is_ok_and(|appended| !appended.diverged),
            "an honest page diverged: {appended:?}"
        );
        let Ok(appended) = appended else { return };
        let told = &mut self.peers[who].told;
        told.push_back(Told::Durable(appended.through, appended.agreed));
        if appended.recheck.is_some() {
            let asked = self.archive.recheck(seat);
            told.extend(asked.inputs.into_iter().map(Told::Inputs));
            told.push_back(Told::Recheck(asked.number));
        }
    }

    /// The server has the inputs of a seat for the other page.
    fn tell_inputs(&mut self, who: usize) {
        if self.plays(who) {
            let known = self.archive.known_inputs(Seat(who as u8));
            let told = &mut self.peers[1 - who].told;
            told.extend(known.into_iter().map(Told::Inputs));
        }
    }

    fn plays(&self, who: usize) -> bool {
        self.archive.controller(Seat(who as u8)) == Some(&Controller::Human)
    }

    /// A page takes the next thing that it was told.
    fn hear(&mut self, who: usize) {
        let peer = &mut self.peers[who];
        match peer.told.pop_front() {
            None => {}
            Some(Told::Durable(through, agreed)) => peer.session.handle_durable(through, agreed),
            Some(Told::Recheck(number)) => peer.recheck = number,
            Some(Told::Inputs(known)) => {
                let KnownInputs {
                    seat,
                    life,
                    first,
                    inputs,
                } = known;
                let now_us = self.now_us;
                peer.session
                    .handle_inputs(now_us, seat, life, first, &inputs);
            }
            Some(Told::Change(change)) => {
                let partner = partner(&change.controller);
                let taken = peer.session.handle_change(self.now_us, &change, partner);
                let is_lost = peer.life != self.archive.life(Seat(who as u8));
                assert!(
                    !self.honest || is_lost || taken.is_ok(),
                    "a change that cannot be carried out: {taken:?}"
                );
            }
        }
    }

    /// The server takes a seat.
    fn take(&mut self, who: usize, value: u8) {
        if !self.plays(who) {
            return;
        }
        let controller = if value & 1 == 0 {
            Controller::Vacant
        } else {
            random()
        };
        match self.archive.take_seat(Seat(who as u8), controller) {
            Ok(change) => self.tell_change(change),
            Err(error) => assert!(self.archive.ending_so_far().is_some(), "not taken: {error}"),
        }
    }

    fn tell_change(&mut self, change: Change) {
        for peer in &mut self.peers {
            peer.told.push_back(Told::Change(change.clone()));
        }
    }

    /// A person takes their seat again, with the state of the archive, or a damaged one.
    fn give_back(&mut self, who: usize, damaged: bool, input: &mut Input<'_>) {
        let seat = Seat(who as u8);
        let key = Some(page_key().verifying_key().to_bytes());
        let given = self
            .archive
            .give_seat(seat, Controller::Human, key, self.due());
        let Ok(change) = given else { return };
        let mut snapshot = self.archive.snapshot();
        if damaged {
            let (at, bits) = (usize::from(input.byte()), input.byte());
            let state = snapshot.state.iter_mut().skip(at).take(1);
            state.for_each(|byte| *byte ^= bits);
        }
        let start = Return {
            era: ERA,
            t0_us: 0,
            delay_ms: self.peers[1 - who].session.delay_ms(),
            input_delay: self.first & 3,
            changes: self.archive.changes().to_vec(),
            tick: snapshot.tick,
            digest: snapshot.digest,
            state: snapshot.state,
            partners: snapshot.partners,
        };
        let (life, first) = (change.life, change.tick);
        self.peers[1 - who].told.push_back(Told::Change(change));
        let resumed = Session::resume(config(who, self.first), world(), policy, &start);
        assert!(
            damaged || !self.honest || resumed.is_ok(),
            "no way back: {:?}",
            resumed.err()
        );
        let peer = &mut self.peers[who];
        peer.told.clear();
        if let Ok(session) = resumed {
            (peer.session, peer.life) = (session, life);
            peer.chain = Chain::new("e-1", seat, life, first);
            (peer.kept, peer.recheck) = (Vec::new(), 0);
        }
    }

    /// The tick that is due now.
    fn due(&self) -> Option<Tick> {
        Some(Tick((self.now_us / TICK_US) as u32))
    }

    /// The grace is over: a seat that stood still is played by an AI partner.
    fn give_on(&mut self, who: usize) {
        if let Ok(change) = self
            .archive
            .give_seat(Seat(who as u8), random(), None, self.due())
        {
            self.tell_change(change);
        }
    }

    /// Lets a page lose its connection to the server and enter again: it immediately gets all changes again.
    fn reconnect(&mut self, who: usize) {
        let peer = &mut self.peers[who];
        peer.told.clear();
        let changes = self.archive.changes().iter().cloned();
        peer.told.extend(changes.map(Told::Change));
        while !self.peers[who].told.is_empty() {
            self.hear(who);
        }
    }

    /// A server that says what cannot be.
    fn lie(&mut self, who: usize, value: u8, input: &mut Input<'_>) {
        self.honest = false;
        let number = |input: &mut Input<'_>| match input.byte() {
            small @ 0..200 => u32::from(small),
            large => u32::MAX - u32::from(255 - large),
        };
        let peer = &mut self.peers[who];
        let seat = Seat(input.byte() % 20);
        match value {
            0 => {
                let (through, agreed) = (Tick(number(input)), Tick(number(input)));
                peer.session.handle_durable(through, agreed);
            }
            1 | 2 => {
                let (life, first) = (Life(input.byte()), Tick(number(input)));
                let inputs: Vec<u16> = (0..input.byte() % 60).map(|k| u16::from(k) % 8).collect();
                peer.session
                    .handle_inputs(self.now_us, seat, life, first, &inputs);
            }
            _ => {
                let change = Change {
                    number: peer.session.changes() + u16::from(value == 3),
                    seat,
                    tick: Tick(number(input)),
                    controller: [Controller::Human, Controller::Vacant, random()]
                        [usize::from(input.byte() % 3)]
                    .clone(),
                    life: Life(input.byte()),
                    from: Tick(number(input)),
                    inputs: (0..input.byte() % 8).map(u16::from).collect(),
                    key: None,
                };
                let partner = partner(&change.controller);
                // A refusal is an answer.
                let _ = peer.session.handle_change(self.now_us, &change, partner);
            }
        }
    }

    /// Final rows only grow, and are the same on both sides.
    fn watch(&mut self) {
        for peer in &mut self.peers {
            let (_, rows) = tail(peer);
            assert!(rows.starts_with(&peer.kept), "final rows changed");
            let more = rows[peer.kept.len()..].to_vec();
            peer.kept.extend(more);
        }
        let [one, two] = &self.peers;
        assert!(
            !self.honest || agree(tail(one), tail(two)),
            "two final logs"
        );
    }

    /// Final rows equal the archived ones, and lead to the same states.
    fn judge(&self) {
        if !self.honest {
            return;
        }
        let bytes = self.file.copy();
        let rows = protocol::log::read_log(&bytes)
            .expect("it was just written")
            .rows();
        for peer in &self.peers {
            assert!(agree(tail(peer), (0, &rows)), "another log than archived");
        }
        let [one, two] = self.peers.each_ref().map(|peer| {
            let digests = peer.session.digests().iter().copied();
            let settled = peer.session.settled();
            digests
                .filter(|(tick, _)| *tick <= settled)
                .collect::<Vec<_>>()
        });
        let differs = |(tick, digest): &(Tick, u64)| {
            two.iter()
                .any(|other| other.0 == *tick && other.1 != *digest)
        };
        assert!(!one.iter().any(differs), "two final states");
    }
}

/// The final rows of a peer, and the tick that they begin with.
fn tail(peer: &Peer) -> (u32, &[Action]) {
    let (first, rows) = (peer.session.first_tick().0, peer.session.rows());
    let known = 2 * peer.session.settled().0.saturating_sub(first) as usize;
    (first, &rows[..known.min(rows.len())])
}

/// True if two logs say the same about the ticks of which both know.
fn agree(one: (u32, &[Action]), two: (u32, &[Action])) -> bool {
    let (early, late) = if one.0 <= two.0 {
        (one, two)
    } else {
        (two, one)
    };
    let skipped = 2 * (late.0 - early.0) as usize;
    let mut pairs = early.1.iter().skip(skipped).zip(late.1);
    pairs.all(|(one, two)| one == two)
}

fn random() -> Controller {
    Controller::Ai {
        policy: "random".into(),
    }
}

fn partner(controller: &Controller) -> Option<Box<dyn Policy>> {
    match controller {
        Controller::Ai { policy: name } => policy(name),
        Controller::Human | Controller::Vacant => None,
    }
}

/// Damages the packet that is next, or puts a forged one before it; whether anything was done.
fn tamper(peer: &mut Peer, forged: &[u8]) -> bool {
    match (forged, peer.inbox.front_mut()) {
        ([], _) => false,
        ([at, bits, ..], Some(packet)) if forged.len() <= 5 => {
            let at = usize::from(*at) % packet.len().max(1);
            packet
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte ^= bits);
            true
        }
        _ => {
            peer.inbox.push_front(forged.to_vec());
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(name: &str) -> Match {
        let seeds = crate::seeds("session");
        play(&seeds.iter().find(|(seed, _)| seed == name).unwrap().1)
    }

    #[test]
    fn the_steady_seed_plays_to_the_end() {
        let game = seed("steady");
        assert_eq!(
            game.archive.ending_so_far().map(|end| end.ticks.0),
            Some(HORIZON)
        );
        for peer in game.peers {
            assert_eq!(peer.session.ended().map(|tick| tick.0), Some(HORIZON));
        }
    }

    #[test]
    fn the_rolling_seed_rolls_back_and_the_forged_one_is_refused() {
        let some = |name: &str, holds: fn(&Play) -> bool| {
            assert!(
                seed(name).peers.iter().any(|peer| holds(&peer.session)),
                "{name}"
            );
        };
        some("rolling", |session| session.stats().rollbacks > 3);
        some("lossy", |session| session.stats().held_us > 0);
        some("forged", |session| session.stats().dropped > 0);
    }

    #[test]
    fn the_changing_seed_takes_and_gives_seats_and_plays_to_the_end() {
        let game = seed("changing");
        assert!(game.honest);
        let hands: Vec<_> = game
            .archive
            .changes()
            .iter()
            .map(|c| &c.controller)
            .collect();
        assert_eq!(hands.len(), 5, "{hands:?}");
        assert_eq!(
            game.archive.ending_so_far().map(|end| end.ticks.0),
            Some(HORIZON)
        );
    }
}
