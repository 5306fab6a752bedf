//! The server of a simulated match, as far as sessions notice it: what pages say about their own inputs, the archive
//! that it makes of them, cuts, and states to come back to.

use env_core::{Action, Policy, World};
use protocol::change::{Change, LEAD_S};
use protocol::control::Return;
use protocol::datagram::MAX_INPUTS;
use protocol::{Controller, Era, Life, Seat, Tick, digest_ticks};

use super::toy::Partner;

/// A message of the server to a page.
#[derive(Clone)]
pub(crate) enum Word {
    Change(Change),
    Archived(Tick),
    Running(Tick, Vec<Change>),
    Return(Box<Return>),
}

pub(crate) struct Arbiter<W: World> {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) tick_hz: u16,
    /// Cuts a seat before what is final: a mistake.
    pub(crate) cuts_early: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) archive: Vec<Action>,
    /// The digests of the archive's states.
    pub(crate) digests: Vec<(Tick, u64)>,
    pub(crate) ended: Option<u32>,
    /// For each seat and tick, the input that the page said which played it then.
    words: Vec<Vec<Option<Action>>>,
    replica: Replica<W>,
}

impl<W: World> Arbiter<W> {
    pub(crate) fn new(
        controllers: &[Controller],
        world: W,
        seed: u64,
        tick_hz: u16,
        cuts_early: bool,
    ) -> Self {
        Self {
            controllers: controllers.to_vec(),
            tick_hz,
            cuts_early,
            changes: Vec::new(),
            archive: Vec::new(),
            digests: Vec::new(),
            ended: None,
            words: controllers.iter().map(|_| Vec::new()).collect(),
            replica: Replica::new(world, controllers, seed),
        }
    }

    pub(crate) fn durable(&self) -> u32 {
        (self.archive.len() / self.controllers.len()) as u32
    }

    fn last(&self, seat: usize) -> Option<&Change> {
        let mut changes = self.changes.iter().rev();
        changes.find(|change| change.seat.index() == seat)
    }

    pub(crate) fn life(&self, seat: usize) -> Life {
        self.last(seat).map_or(Life(0), |change| change.life)
    }

    pub(crate) fn is_person(&self, seat: usize) -> bool {
        let controller = self.last(seat).map(|change| &change.controller);
        *controller.unwrap_or(&self.controllers[seat]) == Controller::Human
    }

    /// True if a person gives the input of a seat at a tick.
    pub(crate) fn awaits(&self, seat: usize, tick: u32) -> bool {
        awaits(&self.controllers, &self.changes, seat, tick)
    }

    /// The first tick of the present stint of a seat.
    pub(crate) fn start(&self, seat: usize) -> u32 {
        self.last(seat).map_or(0, |change| change.tick.0)
    }

    /// The first tick of the present stint of a seat on which its page has not said anything.
    pub(crate) fn said(&self, seat: usize) -> u32 {
        let start = self.start(seat);
        let words = self.words[seat].iter().skip(start as usize);
        start + words.take_while(|word| word.is_some()).count() as u32
    }

    /// The page of a seat says its inputs from a tick on; whether anything became final.
    pub(crate) fn hear(&mut self, seat: usize, first: u32, inputs: &[Action]) -> bool {
        let said = self.said(seat);
        if !self.is_person(seat) || first > said {
            return false;
        }
        for (tick, &input) in (first..).zip(inputs).skip_while(|(tick, _)| *tick < said) {
            self.set_word(seat, tick, input);
        }
        self.assemble()
    }

    fn set_word(&mut self, seat: usize, tick: u32, input: Action) {
        let (words, at) = (&mut self.words[seat], tick as usize);
        words.resize(words.len().max(at + 1), None);
        words[at] = Some(input);
    }

    /// Plays the ticks of which everything is known; whether there were some.
    fn assemble(&mut self) -> bool {
        let before = self.durable();
        while self.ended.is_none() {
            let tick = self.durable();
            let chosen = self.replica.chosen().iter();
            let row = chosen.enumerate().map(|(seat, choice)| {
                let word = || self.words[seat].get(tick as usize).copied().flatten();
                choice.or_else(word)
            });
            let Some(row) = row.collect::<Option<Vec<Action>>>() else {
                break;
            };
            let over = self.replica.step(&row, &self.changes);
            self.archive.extend(row);
            if over || (tick + 1).is_multiple_of(digest_ticks(self.tick_hz)) {
                let digest = self.replica.world.digest();
                self.digests.push((Tick(tick + 1), digest));
            }
            self.ended = over.then_some(tick + 1);
        }
        self.durable() > before
    }

    /// Takes a seat from its person, after the last input that their page has said.
    pub(crate) fn take(&mut self, seat: usize, then: Controller) -> Option<Change> {
        if !self.is_person(seat) {
            return None;
        }
        let mut cut = self.said(seat);
        if self.cuts_early {
            cut = self.durable().saturating_sub(1).max(self.start(seat));
        }
        let first = self.lacking().max(self.start(seat)).min(cut);
        let inputs = first..cut;
        let inputs = inputs.filter_map(|tick| self.words[seat][tick as usize]);
        let inputs = inputs.collect();
        let change = self.change(seat, cut, then, 0, inputs);
        self.words[seat].truncate(cut as usize);
        self.assemble();
        Some(change)
    }

    /// The first tick for which a page that plays may lack inputs of others. Nobody's own inputs are further beyond
    /// those of the others than a packet can hold; a page that comes back begins at the durable ticks.
    fn lacking(&self) -> u32 {
        let back = self.changes.iter().filter(|change| {
            let seat = change.seat.index();
            change.controller == Controller::Human && self.said(seat) <= change.tick.0
        });
        let least = self.durable().saturating_sub(MAX_INPUTS as u32);
        back.map(|change| change.from.0).fold(least, u32::min)
    }

    /// Gives a seat to a page that is ready, while tick `present` is due; none ever is in turns.
    pub(crate) fn give(&mut self, seat: usize, present: Option<u32>) -> Change {
        let lead = LEAD_S * u32::from(self.tick_hz);
        let due = present.map(|present| self.durable().max(present) + lead);
        let tick = due.unwrap_or(self.durable()).max(self.start(seat));
        self.change(seat, tick, Controller::Human, self.durable(), Vec::new())
    }

    fn change(
        &mut self,
        seat: usize,
        tick: u32,
        controller: Controller,
        from: u32,
        inputs: Vec<Action>,
    ) -> Change {
        let change = Change {
            number: self.changes.len() as u16,
            seat: Seat(seat as u8),
            tick: Tick(tick),
            controller,
            life: self.life(seat).next(),
            from: Tick(from),
            inputs,
            key: None,
        };
        self.changes.push(change.clone());
        self.replica.enter(&self.changes[self.changes.len() - 1..]);
        change
    }

    /// The state that a page begins with.
    pub(crate) fn state(&mut self, input_delay: u8) -> Return {
        let (tick, replica) = (self.durable(), &mut self.replica);
        let partners = replica.partners.iter().enumerate();
        let partners = partners.filter_map(|(seat, partner)| {
            let mut bytes = Vec::new();
            partner.as_ref()?.before.state(&mut bytes);
            Some((Seat(seat as u8), bytes))
        });
        let partners = partners.collect();
        let mut state = Vec::new();
        replica.world.state(&mut state);
        Return {
            era: Era(9),
            t0_us: 0,
            delay_ms: 0,
            input_delay,
            changes: self.changes.clone(),
            tick: Tick(tick),
            digest: replica.world.digest(),
            state,
            partners,
        }
    }
}

fn awaits(controllers: &[Controller], changes: &[Change], seat: usize, tick: u32) -> bool {
    let mut changes = changes.iter().rev();
    let last = changes.find(|change| change.seat.index() == seat && change.tick.0 <= tick);
    *last.map_or(&controllers[seat], |change| &change.controller) == Controller::Human
}

/// A partner before and after it chose for the next tick.
struct Player {
    before: Partner,
    after: Partner,
}

/// A world that is stepped through a log, with its partners.
pub(crate) struct Replica<W: World> {
    pub(crate) world: W,
    partners: Vec<Option<Player>>,
    /// The actions of partners and empty seats in the next tick; `None` for people.
    chosen: Vec<Option<Action>>,
    seed: u64,
    tick: u32,
}

impl<W: World> Replica<W> {
    pub(crate) fn new(mut world: W, controllers: &[Controller], seed: u64) -> Self {
        world.reset(seed);
        let mut replica = Self {
            world,
            partners: controllers.iter().map(|_| None).collect(),
            chosen: vec![None; controllers.len()],
            seed,
            tick: 0,
        };
        for (seat, controller) in controllers.iter().enumerate() {
            replica.seat(seat, controller);
        }
        replica
    }

    /// Another controller plays a seat from the next tick on.
    fn seat(&mut self, seat: usize, controller: &Controller) {
        self.partners[seat] = matches!(controller, Controller::Ai { .. }).then(|| {
            let mut partner = Partner::new(false);
            partner.reset(seat, self.seed);
            Player {
                before: partner.clone(),
                after: partner,
            }
        });
        self.chosen[seat] = (*controller != Controller::Human).then_some(0);
        self.choose(seat);
    }

    fn choose(&mut self, seat: usize) {
        let Some(player) = &mut self.partners[seat] else {
            return;
        };
        let mut observation = Vec::new();
        self.world.observe(seat, &mut observation);
        player.before = player.after.clone();
        let action = player.after.act(&observation);
        let fits = usize::from(action) < self.world.spec().actions.len();
        self.chosen[seat] = Some(if fits { action } else { 0 });
    }

    /// Applies the changes whose tick is the next one.
    pub(crate) fn enter(&mut self, changes: &[Change]) {
        let tick = self.tick;
        for change in changes.iter().filter(|change| change.tick.0 == tick) {
            self.seat(change.seat.index(), &change.controller);
        }
    }

    /// The actions of partners and empty seats in the next tick; `None` for people.
    pub(crate) fn chosen(&self) -> &[Option<Action>] {
        &self.chosen
    }

    /// Steps, and carries out the changes that come then; whether the world is over.
    pub(crate) fn step(&mut self, row: &[Action], changes: &[Change]) -> bool {
        let over = self.world.step(row).over;
        self.tick += 1;
        (0..row.len()).for_each(|seat| self.choose(seat));
        self.enter(changes);
        over
    }
}
