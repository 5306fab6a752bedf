//! A scripted server: it collects the uploads of pages, and does what a test says.

use std::collections::{BTreeMap, BTreeSet};

use env_core::{Policy, World};
use protocol::chain::{Chain, PageKey, SigningKey};
use protocol::change::{Change, LEAD_S};
use protocol::control::{ClientMessage, Plan, Return, ServerMessage, Timing, Upload};
use protocol::{Controller, Life, Seat, Tick};

use super::toy;

/// Ticks a second of every episode here.
pub(crate) const HZ: u32 = 60;
const INPUT_DELAY: u8 = 2;
/// From the last page that is ready to tick 0, microseconds.
const COUNTDOWN_US: u64 = 500_000;

/// The inputs of a seat, from the pages that played it.
struct OwnInputs {
    chain: Chain,
    /// By tick, of all lives.
    said: BTreeMap<u32, u16>,
}

/// The key of the page of a seat.
pub(crate) fn key(seat: Seat) -> SigningKey {
    SigningKey::from_bytes(&[seat.0 + 1; 32])
}

pub(crate) struct Server {
    pub(crate) horizon: u32,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) lives: Vec<Life>,
    pub(crate) changes: Vec<Change>,
    pub(crate) t0_us: Option<u64>,
    /// Durable actions.
    pub(crate) rows: Vec<u16>,
    /// The inputs that the page of each seat has said.
    inputs: Vec<OwnInputs>,
    digests: Vec<(Tick, u64)>,
    pub(crate) ended: Option<Tick>,
    /// People whose page has reported the end.
    finished: BTreeSet<Seat>,
    /// Notes by seat, life and number.
    pub(crate) notes: BTreeMap<(Seat, Life, u32), Timing>,
    /// True if uploads are stored and answered.
    pub(crate) is_archiving: bool,
    /// True if it says what it has stored.
    pub(crate) is_answering: bool,
    /// The number of uploads of each page.
    pub(crate) uploads: Vec<u32>,
    /// The number of times that each page said that it is ready.
    pub(crate) ready: Vec<u32>,
    /// Everything else that pages said: when, who, what.
    pub(crate) heard: Vec<(u64, Seat, ClientMessage)>,
    /// The messages to be sent.
    pub(crate) outbox: Vec<(Seat, ServerMessage)>,
    /// True if pages are to count how many packets are lost, and what each said of it.
    pub(crate) measures_loss: bool,
    pub(crate) losses: BTreeMap<Seat, Vec<Option<u16>>>,
}

impl Server {
    pub(crate) fn new(controllers: Vec<Controller>, horizon: u32) -> Self {
        Self {
            horizon,
            lives: vec![Life(0); controllers.len()],
            inputs: (0..controllers.len() as u8)
                .map(|seat| OwnInputs {
                    chain: Chain::new("e", Seat(seat), Life(0), Tick(0)),
                    said: BTreeMap::new(),
                })
                .collect(),
            ready: vec![0; controllers.len()],
            uploads: vec![0; controllers.len()],
            is_answering: true,
            controllers,
            changes: Vec::new(),
            t0_us: None,
            rows: Vec::new(),
            digests: Vec::new(),
            ended: None,
            finished: BTreeSet::new(),
            notes: BTreeMap::new(),
            is_archiving: true,
            heard: Vec::new(),
            outbox: Vec::new(),
            measures_loss: false,
            losses: BTreeMap::new(),
        }
    }

    pub(crate) fn plan(&self, seat: Seat, running: bool) -> Plan {
        let life = self.lives[seat.index()];
        Plan {
            era: protocol::Era(7),
            episode: "e".into(),
            seat,
            controllers: self.controllers.clone(),
            env: "toy".into(),
            env_version: "1.0.0".into(),
            seed: 9,
            tick_hz: HZ as u16,
            measures_loss: self.measures_loss,
            life: if running { life.next() } else { life },
            running,
            ..Plan::for_testing(self.controllers.len())
        }
    }

    pub(crate) fn seats(&self) -> usize {
        self.controllers.len()
    }

    pub(crate) fn through(&self) -> Tick {
        Tick((self.rows.len() / self.seats()) as u32)
    }

    /// The seats that a person has at the end of all changes.
    pub(crate) fn people(&self) -> Vec<Seat> {
        let seats = (0..self.seats() as u8).map(Seat);
        seats
            .filter(|&seat| *self.controller(seat) == Controller::Human)
            .collect()
    }

    fn controller(&self, seat: Seat) -> &Controller {
        let last = self.changes.iter().rev().find(|change| change.seat == seat);
        last.map_or(&self.controllers[seat.index()], |change| &change.controller)
    }

    pub(crate) fn tell(&mut self, to: Seat, message: ServerMessage) {
        self.outbox.push((to, message));
    }

    pub(crate) fn hear(&mut self, now_us: u64, from: Seat, message: ClientMessage) {
        let era = protocol::Era(7);
        match message {
            ClientMessage::Relay { to, bytes } => {
                self.tell(to, ServerMessage::Relay { from, bytes });
            }
            ClientMessage::Upload(upload) => self.store(from, upload),
            ClientMessage::Ready { loss_permille, .. } if self.t0_us.is_none() => {
                self.losses.insert(from, loss_permille);
                self.ready[from.index()] += 1;
                let people = self.people();
                if people.iter().all(|seat| self.ready[seat.index()] > 0) {
                    let t0_us = now_us + COUNTDOWN_US;
                    self.t0_us = Some(t0_us);
                    for seat in people {
                        let input_delay = INPUT_DELAY;
                        self.tell(
                            seat,
                            ServerMessage::Start {
                                era,
                                t0_us,
                                input_delay,
                            },
                        );
                    }
                }
            }
            ClientMessage::Ready { .. } => self.give(now_us, from),
            other => self.heard.push((now_us, from, other)),
        }
    }

    fn store(&mut self, from: Seat, upload: Upload) {
        self.uploads[from.index()] += 1;
        // Once everybody has reported the end, nothing more is taken.
        if !self.is_archiving
            || self
                .people()
                .iter()
                .all(|seat| self.finished.contains(seat))
        {
            return;
        }
        if upload.life == self.lives[from.index()]
            && let Some(block) = &upload.block
        {
            let own = &mut self.inputs[from.index()];
            let public = PageKey::new(&key(from).verifying_key().to_bytes());
            match own.chain.accept_block(&public, block) {
                Ok(()) => own
                    .said
                    .extend((block.first.0..).zip(block.inputs.iter().copied())),
                Err(error) => assert!(block.first < own.chain.next(), "{error}"),
            }
            self.play();
        }
        if usize::from(upload.changes) == self.changes.len() {
            self.digests.extend(&upload.digests);
        }
        self.ended = self.ended.or(upload.ended);
        self.finished.extend(upload.ended.map(|_| from));
        if let Some(note) = upload.timing {
            let key = (from, upload.life, note.number);
            let before = self.notes.insert(key, note.clone());
            assert!(
                before.is_none_or(|before| before == note),
                "a number says two things"
            );
        }
        let of = self
            .notes
            .keys()
            .filter(|(seat, life, _)| (*seat, *life) == (from, upload.life));
        let notes = of.count() as u32;
        let (era, through, own) = (upload.era, self.through(), self.own(from));
        if !self.is_answering {
            return;
        }
        self.tell(
            from,
            ServerMessage::Archived {
                era,
                through,
                own,
                agreed: through,
                notes,
            },
        );
    }

    /// All notes of a seat, in order.
    pub(crate) fn notes_of(&self, seat: Seat) -> impl Iterator<Item = &Timing> {
        let all = self.notes.iter();
        all.filter(move |((of, ..), _)| *of == seat)
            .map(|(_, note)| note)
    }

    /// The first tick for which the page of a seat has not said its input.
    pub(crate) fn own(&self, seat: Seat) -> Tick {
        self.inputs[seat.index()].chain.next()
    }

    /// Plays the ticks for which all inputs are here.
    fn play(&mut self) {
        let mut replica = Replica::new(self);
        replica.run(self, self.through());
        while replica.tick < self.horizon {
            let row: Option<Vec<u16>> = (0..self.seats())
                .map(|seat| {
                    replica
                        .chosen(seat)
                        .or_else(|| self.input(seat, replica.tick))
                })
                .collect();
            let Some(row) = row else { return };
            self.rows.extend(row);
            replica.run(self, Tick(replica.tick + 1));
        }
    }

    /// The input of a seat without a partner.
    fn input(&self, seat: usize, tick: u32) -> Option<u16> {
        let changes = self.changes.iter().rev();
        let mut of_seat = changes.filter(|change| change.seat.index() == seat);
        let before = of_seat.find(|change| change.tick.0 <= tick);
        let controller = before.map_or(&self.controllers[seat], |change| &change.controller);
        if *controller == Controller::Vacant {
            return Some(0);
        }
        self.inputs[seat].said.get(&tick).copied()
    }

    /// Gives a seat to an AI or to nobody, after the last input that its page has said.
    pub(crate) fn take(&mut self, seat: Seat, controller: Controller) {
        let durable = self.through();
        let tick = self.own(seat).max(durable);
        let entered = self.changes.iter().rfind(|change| change.seat == seat);
        let first = entered.map_or(0, |change| change.tick.0);
        let said = self.inputs[seat.index()].said.range(first..tick.0);
        let inputs = said.map(|(_, input)| *input).collect();
        self.record(seat, tick, controller, durable, inputs);
        self.play();
        let change = self.changes.last().expect("it was just recorded").clone();
        for other in (0..self.seats() as u8).map(Seat) {
            self.tell_change(other, &change);
        }
    }

    fn record(
        &mut self,
        seat: Seat,
        tick: Tick,
        controller: Controller,
        from: Tick,
        inputs: Vec<u16>,
    ) {
        let is_human = controller == Controller::Human;
        let life = self.lives[seat.index()].next();
        self.lives[seat.index()] = life;
        self.changes.push(Change {
            number: self.changes.len() as u16,
            seat,
            tick,
            controller,
            life,
            from,
            inputs,
            key: is_human.then(|| key(seat).verifying_key().to_bytes()),
        });
        if is_human {
            self.inputs[seat.index()].chain = Chain::new("e", seat, life, tick);
        }
    }

    fn tell_change(&mut self, to: Seat, change: &Change) {
        let (era, change) = (protocol::Era(7), change.clone());
        self.tell(to, ServerMessage::Change { era, change });
    }

    /// Gives a seat back to the page that is ready for it.
    fn give(&mut self, now_us: u64, seat: Seat) {
        let base = self.through();
        let t0_us = self.t0_us.expect("the episode runs");
        let due = (now_us - t0_us) * u64::from(HZ) / 1_000_000;
        let tick = Tick(base.0.max(due as u32) + LEAD_S * HZ);
        let others = self.people();
        self.record(seat, tick, Controller::Human, base, Vec::new());
        let change = self.changes.last().expect("it was just recorded").clone();
        for other in others {
            self.tell_change(other, &change);
        }
        let mut back = self.snapshot(base);
        let rest = back.state.split_off(back.state.len() / 2);
        let (era, bytes) = (protocol::Era(7), std::mem::replace(&mut back.state, rest));
        self.tell(seat, ServerMessage::Part { era, bytes });
        self.tell(seat, ServerMessage::Return(back));
    }

    fn snapshot(&self, base: Tick) -> Return {
        let mut replica = Replica::new(self);
        replica.run(self, base);
        let mut back = Return {
            era: protocol::Era(7),
            t0_us: self.t0_us.expect("the episode runs"),
            delay_ms: 0,
            input_delay: INPUT_DELAY,
            changes: self.changes.clone(),
            tick: base,
            digest: replica.world.digest(),
            state: Vec::new(),
            partners: Vec::new(),
        };
        replica.world.state(&mut back.state);
        for (seat, partner) in replica.partners.iter().enumerate() {
            if let Some(partner) = partner {
                let mut state = Vec::new();
                partner.state(&mut state);
                back.partners.push((Seat(seat as u8), state));
            }
        }
        back
    }

    /// Plays everything again: every action of an AI and every digest must be what the rules say.
    pub(crate) fn verify(&self) {
        let mut replica = Replica::new(self);
        for tick in 1..=self.through().0 {
            replica.run(self, Tick(tick));
            let digest = replica.world.digest();
            for (_, told) in self.digests.iter().filter(|(at, _)| at.0 == tick) {
                assert_eq!(*told, digest, "digest after {tick}");
            }
        }
    }
}

/// The world and the partners, as the rules say.
struct Replica {
    world: env_core::Instance<toy::Toy>,
    partners: Vec<Option<Box<dyn Policy>>>,
    tick: u32,
}

impl Replica {
    fn new(server: &Server) -> Self {
        let mut world = toy::world(server.seats() as u8, server.horizon);
        world.reset(9);
        let mut replica = Self {
            world,
            partners: Vec::new(),
            tick: 0,
        };
        for (seat, controller) in server.controllers.iter().enumerate() {
            let partner = replica.partner(seat, controller);
            replica.partners.push(partner);
        }
        replica.seat_partners(server);
        replica
    }

    fn partner(&self, seat: usize, controller: &Controller) -> Option<Box<dyn Policy>> {
        let Controller::Ai { policy } = controller else {
            return None;
        };
        let mut policy =
            policy::by_name(policy, self.world.spec()).expect("the tests name known ones");
        policy.reset(seat, 9);
        Some(policy)
    }

    /// Applies the changes of this tick. They are in the order of their seats' ticks, not of all ticks.
    fn seat_partners(&mut self, server: &Server) {
        for change in &server.changes {
            if change.tick.0 == self.tick {
                let seat = change.seat.index();
                self.partners[seat] = self.partner(seat, &change.controller);
            }
        }
    }

    /// The action of a partner in the next tick.
    fn chosen(&mut self, seat: usize) -> Option<u16> {
        let partner = self.partners[seat].as_mut()?;
        let (mut before, mut observation) = (Vec::new(), Vec::new());
        partner.state(&mut before);
        self.world.observe(seat, &mut observation);
        let action = partner.act(&observation);
        partner.restore(&before).expect("its own state");
        Some(action)
    }

    fn run(&mut self, server: &Server, until: Tick) {
        let seats = server.seats();
        while self.tick < until.0 {
            let row = &server.rows[self.tick as usize * seats..][..seats];
            for (seat, partner) in self.partners.iter_mut().enumerate() {
                if let Some(partner) = partner {
                    let mut observation = Vec::new();
                    self.world.observe(seat, &mut observation);
                    let acts = partner.act(&observation);
                    assert_eq!(acts, row[seat], "seat {seat} in tick {}", self.tick);
                }
            }
            self.world.step(row);
            self.tick += 1;
            self.seat_partners(server);
        }
    }
}
