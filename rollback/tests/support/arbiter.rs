//! The server of a simulated match, as far as sessions feel it: archive, fences, cuts, leases, states to come back to.

use env_core::{Action, Policy, World};
use protocol::change::{Change, LEASE_S};
use protocol::control::{Report, Return};
use protocol::{Controller, Era, Life, Seat, Tick};

use super::toy::Partner;

/// A message of the server to a page.
#[derive(Clone)]
pub(crate) enum Word {
    Fence(Seat, Life),
    Change(Change),
    Archived(Tick),
    Running(Tick, Vec<Change>),
    Return(Box<Return>),
}

/// A seat that is being taken.
struct Take {
    /// Pages that have not answered, by seat.
    awaited: u16,
    /// Pages that have, and what.
    answered: u16,
    reports: Vec<Report>,
}

pub(crate) struct Arbiter {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) tick_hz: u16,
    /// Takes the least instead of the greatest: a mistake.
    pub(crate) cuts_at_least: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) archive: Vec<Action>,
    pub(crate) ended: Option<u32>,
    takes: Vec<Option<Take>>,
}

impl Arbiter {
    pub(crate) fn new(controllers: &[Controller], tick_hz: u16, cuts_at_least: bool) -> Self {
        Self {
            controllers: controllers.to_vec(),
            tick_hz,
            cuts_at_least,
            changes: Vec::new(),
            archive: Vec::new(),
            ended: None,
            takes: controllers.iter().map(|_| None).collect(),
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
        let mut changes = self.changes.iter().rev();
        let last = changes.find(|change| change.seat.index() == seat && change.tick.0 <= tick);
        *last.map_or(&self.controllers[seat], |change| &change.controller) == Controller::Human
    }

    /// The first tick of the present stint of a seat.
    pub(crate) fn start(&self, seat: usize) -> u32 {
        self.last(seat).map_or(0, |change| change.tick.0)
    }

    /// Rows that a page has confirmed; whether they are what others confirmed.
    pub(crate) fn upload(&mut self, first: u32, rows: &[Action]) -> bool {
        let at = first as usize * self.controllers.len();
        if at > self.archive.len() {
            return true;
        }
        let known = (self.archive.len() - at).min(rows.len());
        let same = self.archive[at..at + known] == rows[..known];
        self.archive.extend(&rows[known..]);
        same
    }

    /// A seat is to be taken; `members` are the connected pages of the others.
    pub(crate) fn take(&mut self, seat: usize, members: u16) -> bool {
        if !self.is_person(seat) || self.takes[seat].is_some() {
            return false;
        }
        self.takes[seat] = Some(Take {
            awaited: members,
            answered: 0,
            reports: Vec::new(),
        });
        true
    }

    /// Seats that are being taken.
    pub(crate) fn fences(&self) -> Vec<(Seat, Life)> {
        let seats = (0..self.takes.len()).filter(|&seat| self.takes[seat].is_some());
        seats
            .map(|seat| (Seat(seat as u8), self.life(seat)))
            .collect()
    }

    pub(crate) fn report(&mut self, from: usize, report: Report) {
        let seat = report.seat.index();
        if let Some(take) = &mut self.takes[seat]
            && take.awaited >> from & 1 == 1
        {
            take.awaited &= !(1 << from);
            take.answered |= 1 << from;
            take.reports.push(report);
        }
    }

    /// A page's connection was lost: it is not waited for, and what it said is void.
    pub(crate) fn left(&mut self, from: usize, others: impl Fn(usize) -> u16) {
        for seat in 0..self.takes.len() {
            if let Some(take) = &mut self.takes[seat] {
                // Reports carry no sender: all that is still here is asked again.
                take.awaited = others(seat) & !(1 << from);
                take.answered = 0;
                take.reports.clear();
            }
        }
    }

    /// A page's connection is there: it is asked, too.
    pub(crate) fn came(&mut self, from: usize) {
        for (seat, take) in self.takes.iter_mut().enumerate() {
            if let Some(take) = take.as_mut().filter(|_| seat != from) {
                take.awaited |= 1 << from;
            }
        }
    }

    /// True if the page of a seat has played since before what is durable.
    pub(crate) fn is_settled(&self, seat: usize) -> bool {
        self.start(seat) <= self.durable()
    }

    /// Carries out a take that all connected pages have answered: at least one of those that are settled or, if there
    /// is none, all `others` that play.
    pub(crate) fn commit(&mut self, seat: usize, others: u16, then: Controller) -> Option<Change> {
        let take = self.takes[seat].as_ref()?;
        let settled = (0..self.takes.len()).filter(|&other| self.is_settled(other));
        let settled = settled.fold(0, |settled, other| settled | 1 << other) & others;
        let is_sure = match settled {
            0 => take.answered & others == others,
            settled => take.answered & settled != 0,
        };
        if take.awaited != 0 || !is_sure {
            return None;
        }
        let take = self.takes[seat].take()?;
        let best = take.reports.iter().max_by_key(|report| report.have);
        let have = take.reports.iter().map(|report| report.have.0);
        let told = if self.cuts_at_least {
            have.clone().min()
        } else {
            have.clone().max()
        };
        let cut = told.unwrap_or(0).max(self.durable()).max(self.start(seat));
        let first = have.min().unwrap_or(cut).min(self.durable());
        // A page that has yet to play again began behind what is durable.
        let back = self.changes.iter().filter(|change| {
            change.controller == Controller::Human && change.tick.0 >= self.durable()
        });
        let first = back.map(|change| change.from.0).fold(first, u32::min);
        let first = first.max(self.start(seat)).min(cut);
        let inputs = (first..cut).rev();
        let mut inputs: Vec<_> = inputs
            .map_while(|tick| self.input(seat, tick, best))
            .collect();
        inputs.reverse();
        Some(self.change(seat, cut, then, 0, inputs))
    }

    fn input(&self, seat: usize, tick: u32, best: Option<&Report>) -> Option<Action> {
        let at = tick as usize * self.controllers.len() + seat;
        let durable = self.archive.get(at).copied();
        durable.or_else(|| {
            let back = best?.have.0.checked_sub(tick)? as usize;
            let inputs = &best?.inputs;
            inputs.get(inputs.len().checked_sub(back)?).copied()
        })
    }

    /// Gives a seat to a page that is ready.
    pub(crate) fn give(&mut self, seat: usize) -> Change {
        let lease = LEASE_S * u32::from(self.tick_hz);
        let tick = (self.durable() + lease + 1).max(self.start(seat));
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
        };
        self.changes.push(change.clone());
        change
    }

    /// The state that a page begins with, from the archive alone.
    pub(crate) fn state<W: World>(&self, world: &mut W, seed: u64, input_delay: u8) -> Return {
        let mut replica = Replica::new(world, self, seed);
        let tick = self.durable();
        for row in self.archive.chunks(self.controllers.len()) {
            replica.step(row);
        }
        let partners = replica.partners.iter().enumerate();
        let partners = partners.filter_map(|(seat, partner)| {
            let mut bytes = Vec::new();
            partner.as_ref()?.state(&mut bytes);
            Some((Seat(seat as u8), bytes))
        });
        let partners = partners.collect();
        let mut state = Vec::new();
        world.state(&mut state);
        Return {
            era: Era(9),
            t0_us: 0,
            delay_ms: 0,
            input_delay,
            changes: self.changes.clone(),
            tick: Tick(tick),
            digest: world.digest(),
            state,
            partners,
        }
    }
}

/// A world that is stepped through a log, with its partners.
pub(crate) struct Replica<'a, W: World> {
    pub(crate) world: &'a mut W,
    partners: Vec<Option<Partner>>,
    arbiter: &'a Arbiter,
    seed: u64,
    tick: u32,
}

impl<'a, W: World> Replica<'a, W> {
    pub(crate) fn new(world: &'a mut W, arbiter: &'a Arbiter, seed: u64) -> Self {
        world.reset(seed);
        let partners = arbiter.controllers.iter().map(|_| None).collect();
        let mut replica = Self {
            world,
            partners,
            arbiter,
            seed,
            tick: 0,
        };
        for seat in 0..arbiter.controllers.len() {
            replica.seat(seat, &arbiter.controllers[seat]);
        }
        replica.change();
        replica
    }

    fn seat(&mut self, seat: usize, controller: &Controller) {
        self.partners[seat] = matches!(controller, Controller::Ai { .. }).then(|| {
            let mut partner = Partner::new(false);
            partner.reset(seat, self.seed);
            partner
        });
    }

    fn change(&mut self) {
        let (arbiter, tick) = (self.arbiter, self.tick);
        for change in arbiter.changes.iter().filter(|c| c.tick.0 == tick) {
            self.seat(change.seat.index(), &change.controller);
        }
    }

    /// The actions of partners and empty seats in the next tick; none for people.
    pub(crate) fn choices(&mut self) -> Vec<Option<Action>> {
        let mut observation = Vec::new();
        let actions = self.world.spec().actions.len();
        let choices = self.partners.iter_mut().enumerate().map(|(seat, partner)| {
            let Some(partner) = partner else {
                return (!self.arbiter.awaits(seat, self.tick)).then_some(0);
            };
            self.world.observe(seat, &mut observation);
            let action = partner.act(&observation);
            Some(if usize::from(action) < actions {
                action
            } else {
                0
            })
        });
        choices.collect()
    }

    /// Steps; the first seat without a person that plays something else in this row.
    pub(crate) fn step(&mut self, row: &[Action]) -> (bool, Option<usize>) {
        let choices = self.choices();
        let mut differs = choices.iter().zip(row);
        let differs = differs.position(|(choice, action)| choice.is_some_and(|c| c != *action));
        let over = self.world.step(row).over;
        self.tick += 1;
        self.change();
        (over, differs)
    }
}
