//! Seats that change hands, words of the server on them, and a session that begins in the middle.

use std::ops::Range;

use env_core::contract::Policy;
use env_core::{Action, World};
use protocol::change::Change;
use protocol::control::Return;
use protocol::datagram::TICK_LIMIT;
use protocol::{Controller, Life, Seat, Tick};

use super::Session;
use crate::config::Config;
use crate::effects::{ChangeError, ResumeError, SessionEvent};
use crate::link::Link;
use crate::roster::Seats;

impl<W: World> Session<W> {
    /// Begins in the middle of an episode, at the server's state. `config` is the config of the episode's start, with
    /// the controllers of tick 0; `partner` makes a policy by its name.
    ///
    /// # Errors
    /// [`ResumeError`].
    pub fn resume(
        config: Config,
        world: W,
        mut partner: impl FnMut(&str) -> Option<Box<dyn Policy>>,
        start: &Return,
    ) -> Result<Self, ResumeError> {
        let mut session = Self::at(config, world, start.tick.0, |_, policy| partner(policy));
        for change in &start.changes {
            let policy = match &change.controller {
                Controller::Ai { policy } => partner(policy),
                Controller::Human | Controller::Vacant => None,
            };
            session.check_order(change)?;
            session.check_inputs(change)?;
            session.apply_change(change, policy);
        }
        // The server's state includes all of them.
        session.sound = session.current;
        if let Some(own) = session.config.local.map(Seat::index) {
            // If no change says so yet, the next life is this page's.
            let life = session.roster.life(own);
            let is_here = session.roster.people().contains(own);
            session.life = if is_here { life } else { life.next() };
        }
        session.told = std::array::from_fn(|seat| session.inputs.known_through(seat));
        session.schedule.put_off(start.delay_ms);
        session.world.reset(session.config.seed);
        session.world.restore(&start.state)?;
        let found = session.world.digest();
        if found != start.digest {
            let expected = start.digest;
            return Err(ResumeError::Digest { expected, found });
        }
        let seed = session.config.seed;
        for (seat, policy) in session.roster.partners(start.tick.0) {
            policy.reset(seat, seed);
            if let Some((_, state)) = start.partners.iter().find(|(of, _)| of.index() == seat) {
                policy.restore(state)?;
            }
        }
        session.begin_checkpoints();
        Ok(session)
    }

    /// Takes the ticks that the server has made durable: they are final, and no change comes before them. The digests
    /// of this session up to `agreed` are the server's; after it, inputs may still come that differ from the known
    /// ones.
    pub fn handle_durable(&mut self, through: Tick, agreed: Tick) {
        self.durable = self.durable.max(through.0);
        self.agreed = self.agreed.max(agreed.0);
        self.confirm_ticks();
        self.take_turns();
    }

    /// Takes inputs of another person from tick `first` on. The server sends them, and has them from that person's own
    /// page: they replace inputs from other sources. Inputs of another life, of the local seat and of final ticks are
    /// ignored.
    pub fn handle_inputs(
        &mut self,
        now_us: u64,
        seat: Seat,
        life: Life,
        first: Tick,
        inputs: &[Action],
    ) {
        let at = seat.index();
        let is_known = |input: &Action| usize::from(*input) < self.spec.actions.len();
        let fits = first.0 < TICK_LIMIT && inputs.iter().all(is_known);
        if !self.peers().contains(at) || self.roster.life(at) != life || !fits || self.lost {
            return;
        }
        self.now_us = now_us;
        let end = first.0.saturating_add(inputs.len() as u32);
        let first = Tick(first.0.max(self.settled().0).min(end));
        let inputs = &inputs[inputs.len() - (end - first.0) as usize..];
        let wrong = self.correct(at, first.0..end, inputs);
        self.sound = self.sound.min(wrong);
        // The next frame has the inputs that are known instead.
        self.told[at] = self.told[at].min(wrong);
        self.receive(at, first.0, inputs, end.min(TICK_LIMIT));
        self.resimulate();
        self.confirm_ticks();
        self.take_turns();
    }

    /// Applies a change: a seat changes hands. A known change is ignored; an AI partner comes with the change. If
    /// another page or nobody plays the local seat from now on, this session stands still: [`SessionEvent::Lost`].
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn handle_change(
        &mut self,
        now_us: u64,
        change: &Change,
        partner: Option<Box<dyn Policy>>,
    ) -> Result<(), ChangeError> {
        if change.number < self.roster.changes() || self.lost {
            return Ok(());
        }
        self.check_order(change)?;
        if self.config.local == Some(change.seat) && change.life != self.life {
            // This page does not decide where its inputs end, even if it has confirmed more ticks alone.
            self.lost = true;
            self.send_to(Seats(0));
            self.report(SessionEvent::Lost { tick: change.tick });
            return Ok(());
        }
        let (tick, settled) = (change.tick, self.settled());
        if tick < settled {
            return Err(ChangeError::Settled { tick, settled });
        }
        self.check_inputs(change)?;
        self.now_us = now_us;
        self.apply_change(change, partner);
        // Immediately: the guesses for the seat's last player do not hold for the next one.
        self.resimulate();
        self.confirm_ticks();
        self.take_turns();
        Ok(())
    }

    /// True if a change is the next one, and fits the seat's changes before.
    pub(super) fn check_order(&self, change: &Change) -> Result<(), ChangeError> {
        let (expected, found) = (self.roster.changes(), change.number);
        if found != expected {
            return Err(ChangeError::Order { expected, found });
        }
        if change.seat.0 >= self.layout.seats {
            return Err(ChangeError::Seat(change.seat));
        }
        if change.tick.0 >= TICK_LIMIT {
            return Err(ChangeError::Tick(change.tick));
        }
        let settled = Tick(self.roster.start(change.seat.index()));
        if change.tick < settled {
            let tick = change.tick;
            return Err(ChangeError::Settled { tick, settled });
        }
        Ok(())
    }

    /// True if a change that takes a seat from a person brings all inputs that are missing here.
    pub(super) fn check_inputs(&self, change: &Change) -> Result<(), ChangeError> {
        let seat = change.seat.index();
        let have = self.inputs.known_through(seat);
        let is_taken = self.roster.people().contains(seat);
        if is_taken && have < change.tick.0 && last_inputs(change).start > have {
            return Err(ChangeError::Gap {
                seat: change.seat,
                from: Tick(have),
            });
        }
        Ok(())
    }

    /// Applies a change, except for the simulation.
    pub(super) fn apply_change(&mut self, change: &Change, partner: Option<Box<dyn Policy>>) {
        let (seat, tick) = (change.seat.index(), change.tick.0);
        let mut wrong = tick;
        let is_taken = self.roster.people().contains(seat);
        if is_taken {
            let span = last_inputs(change);
            wrong = wrong.min(self.correct(seat, span.clone(), &change.inputs));
            let (first, skipped) = self.missing(seat, &span);
            let received = self.receive(seat, first, &change.inputs[skipped..], tick);
            wrong = wrong.min(received.wrong.unwrap_or(tick));
        }
        self.inputs.cut_inputs(seat, tick);
        self.roster.apply_change(change, partner);
        // Between one person and the next, there are no inputs that a frame could have.
        self.told[seat] = if is_taken {
            self.told[seat].min(wrong)
        } else {
            tick
        };
        self.links[seat] = Link::default();
        if change.controller == Controller::Human {
            self.inputs.add_peer(seat, change.from.0.min(tick));
        }
        self.sound = self.sound.min(wrong);
    }

    /// Returns the missing part of a span of inputs: its first tick, and the number of inputs before it.
    fn missing(&self, seat: usize, span: &Range<u32>) -> (u32, usize) {
        let first = self.inputs.known_through(seat).clamp(span.start, span.end);
        (first, (first - span.start) as usize)
    }

    /// Corrects inputs that a person sent differently to others than to the server: the server's count. Returns the
    /// first tick that differs.
    fn correct(&mut self, seat: usize, span: Range<u32>, inputs: &[Action]) -> u32 {
        let first = self.settled().0.max(self.roster.start(seat));
        let open = first..self.inputs.known_through(seat);
        let mut wrong = u32::MAX;
        for (tick, &input) in span.zip(inputs) {
            if open.contains(&tick) && self.inputs.row(tick)[seat] != input {
                self.inputs.set(tick, seat, input);
                self.stats.equivocations += 1;
                wrong = wrong.min(tick);
            }
        }
        wrong
    }
}

/// The ticks of the inputs that a change brings.
fn last_inputs(change: &Change) -> Range<u32> {
    let count = u32::try_from(change.inputs.len()).unwrap_or(u32::MAX);
    change.tick.0.saturating_sub(count)..change.tick.0
}
