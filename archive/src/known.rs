//! The inputs that pages lack, or may have otherwise than the server: from the rows, and from what waits for its row.

use protocol::change::Change;
use protocol::datagram::MAX_INPUTS;
use protocol::{Controller, Seat, Tick};
use server_core::arbiter::{KnownInputs, Recheck};

use super::Episode;
use super::inputs::SeatInputs;

/// The most inputs that a change or a message brings: two minutes at 60 Hz.
const MAX_BACKFILL: u32 = 8_192;
/// The most packets of inputs before the final ticks that a page may lack, or have differently.
const MAX_BACK: usize = 8;
/// The furthest that a seat is cut beyond the final ticks: a page that begins there gets all inputs up to the cut.
const MAX_AHEAD: u32 = MAX_BACKFILL - (MAX_BACK * MAX_INPUTS) as u32;

impl Episode {
    /// Returns the tick at which a seat is taken from its person: after the last input that their own page has sent,
    /// unless that is further beyond the final ticks than a change can say.
    pub(super) fn cut(&self, seat: Seat) -> Tick {
        cut(self.next_input(seat), self.recorded_through())
    }

    /// The inputs before a cut that a change brings.
    pub(super) fn backfill_actions(&self, seat: Seat, cut: Tick) -> Vec<u16> {
        let first = Tick(cut.0.saturating_sub(MAX_BACKFILL));
        let first = self.first_lacked(seat).max(first);
        self.inputs_between(seat, first, cut).inputs
    }

    /// The inputs that the page of a seat has said in its present life, from the first tick that some page may lack, in
    /// parts that each fit into a message.
    pub fn known_inputs(&self, seat: Seat) -> Vec<KnownInputs> {
        self.inputs_since(seat, self.first_lacked(seat)).collect()
    }

    /// Makes the request to a page to send its digests again, with the inputs of all other people since they were
    /// equal.
    pub fn recheck(&mut self, seat: Seat) -> Recheck {
        let others = (0..).map(Seat).take(self.count_seats());
        let others = others
            .filter(|other| *other != seat && self.controller(*other) == Some(&Controller::Human));
        let others: Vec<Seat> = others.collect();
        let told = others.iter().map(|other| self.next_input(*other)).min();
        self.pages[seat.index()].told = told.unwrap_or(Tick(u32::MAX));
        let page = &self.pages[seat.index()];
        let inputs = |other| self.inputs_since(other, page.agreed);
        Recheck {
            number: page.recheck,
            agreed: page.agreed,
            inputs: others.into_iter().flat_map(inputs).collect(),
        }
    }

    /// Returns the first tick for which some page may lack an input of a seat, or have another one. Nobody's own inputs
    /// are further beyond those of the others than a packet can hold, a page that comes back began at the durable
    /// ticks, and the digests of a page show that it was sent other inputs, unless it sends none for long.
    pub(super) fn first_lacked(&self, seat: Seat) -> Tick {
        let others = (0..).map(Seat).take(self.count_seats());
        let others = others
            .filter(|other| *other != seat && self.controller(*other) == Some(&Controller::Human));
        let back = |packets: usize| {
            let inputs = (packets * MAX_INPUTS) as u32;
            Tick(self.recorded_through().0.saturating_sub(inputs))
        };
        let agreed = others.clone().map(|other| self.pages[other.index()].agreed);
        let least = agreed.fold(back(1), Tick::min).max(back(MAX_BACK));
        let silent = others.filter_map(|other| Some((other, self.last(other)?)));
        let silent = silent.filter(|(other, back)| self.next_input(*other) <= back.tick);
        silent.map(|(_, back)| back.from).fold(least, Tick::min)
    }

    /// The inputs of a seat in its present life from a tick on, in parts.
    fn inputs_since(&self, seat: Seat, first: Tick) -> impl Iterator<Item = KnownInputs> {
        let (first, end) = (first.max(self.entered(seat)).0, self.next_input(seat).0);
        let parts = (first..end).step_by(MAX_BACKFILL as usize);
        parts.map(move |first| {
            let end = end.min(first.saturating_add(MAX_BACKFILL));
            self.inputs_between(seat, Tick(first), Tick(end))
        })
    }

    /// The inputs of a seat in its present life between two ticks.
    fn inputs_between(&self, seat: Seat, first: Tick, end: Tick) -> KnownInputs {
        let first = first.max(self.entered(seat)).0.min(end.0);
        let rows = self
            .rows
            .chunks_exact(self.count_seats())
            .skip(first as usize);
        let durable = rows.map(|row| row[seat.index()]);
        let ahead = self.inputs[seat.index()].iter();
        let unplayed = Tick(first).max(self.recorded_through());
        let ahead = ahead.flat_map(|inputs: &SeatInputs| inputs.actions_from(unplayed));
        let inputs = durable.chain(ahead).take((end.0 - first) as usize);
        KnownInputs {
            seat,
            life: self.life(seat),
            first: Tick(first),
            inputs: inputs.collect(),
        }
    }

    /// The first tick of the present stint of a seat.
    fn entered(&self, seat: Seat) -> Tick {
        self.last(seat).map_or(Tick(0), |change| change.tick)
    }

    /// Limits what pages have been sent, because a seat is about to change hands, durably: it ends there. If pages were
    /// sent other inputs before their last right digest, they never get the person's inputs for ticks before those in
    /// the change.
    pub(super) fn limit_told(&mut self, change: &Change) {
        let is_taken = self.controller(change.seat) == Some(&Controller::Human);
        let entered = self.entered(change.seat);
        let brought = Tick(change.tick.0.saturating_sub(change.inputs.len() as u32));
        for (_, page) in (0..)
            .map(Seat)
            .zip(&mut self.pages)
            .filter(|(seat, _)| *seat != change.seat)
        {
            page.told = page.told.min(change.tick);
            if is_taken && brought > page.agreed.max(entered) {
                page.untold = page.untold.max(brought);
            }
        }
    }
}

/// The tick at which a seat is taken from a person whose own page has `said` the inputs before that tick, where the ticks
/// up to `through` are final.
pub fn cut(said: Tick, through: Tick) -> Tick {
    let furthest = Tick(through.0.saturating_add(MAX_AHEAD));
    said.min(furthest).max(through)
}
