//! The frames that a page showed, from the record: a session gets what the page knew at each frame.
//!
//! This is exact, because the simulation of a session follows only from the inputs and changes that it knows: not from
//! the order in which they came, nor from earlier predictions.

use env_core::{Action, Policy, World};
use protocol::change::Change;
use protocol::seen::Frame;
use protocol::{Controller, Seat, Tick};

use crate::config::Config;
use crate::effects::ChangeError;
use crate::session::{FORESEEN, Session};

/// The record of an episode.
#[derive(Clone, Copy, Debug)]
pub struct EpisodeRecord<'a> {
    /// The changes of seats, in order.
    pub changes: &'a [Change],
    /// All actions from tick 0, `[tick, seat]`, row-major.
    pub rows: &'a [Action],
}

/// The reason why frames do not fit a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// A frame used an input that neither the frames nor the record have.
    #[error("no input of seat {} for tick {}", .seat.0, .tick.0)]
    Input {
        /// The seat.
        seat: Seat,
        /// For which tick.
        tick: Tick,
    },
    /// A frame knew more changes than there are, or one that does not fit.
    #[error("change {number}: {why:?}")]
    Change {
        /// Its number.
        number: u16,
        /// The reason why it does not fit; `None` if it does not exist.
        why: Option<ChangeError>,
    },
    /// A frame contradicts the frames before it: it has another number of seats, a tick beyond the window or an end, or
    /// a tick that is too far away.
    #[error("frame {0} does not follow from those before")]
    Frame(usize),
    /// There are more frames than a screen can have shown.
    #[error("frame {0} is one more than a screen can have shown")]
    TooMany(usize),
}

/// Returns the digest of the state that each frame showed. `config` is the config of the episode's start with the
/// page's seat as the local one, `world` is in any state, and `partner` makes a policy by its name; the frames belong
/// to one life of the seat, in order.
///
/// # Errors
/// [`RebuildError`].
pub fn rebuild<W: World>(
    config: Config,
    world: W,
    partner: impl FnMut(&str) -> Option<Box<dyn Policy>>,
    record: EpisodeRecord<'_>,
    frames: &[Frame],
) -> Result<Vec<u64>, RebuildError> {
    let mut rebuilder = Rebuilder::new(config, world, partner, record);
    frames.iter().map(|frame| rebuilder.show(frame)).collect()
}

/// [`rebuild`] one frame after the other, for as many as there are.
pub struct Rebuilder<'a, W: World, P> {
    session: Session<W>,
    local: Option<Seat>,
    partner: P,
    record: EpisodeRecord<'a>,
    seats: usize,
    /// Frames so far.
    shown: usize,
    /// Ticks that may still be simulated.
    left: u64,
    /// Frames that may still follow.
    frames_left: u64,
}

/// Ticks that may be simulated for each tick of the record, and for half an hour more at 60 Hz, which is how long pages
/// may continue without a server. A page goes back if a seat changes hands, or if it was sent something else than the
/// server.
const EACH_TICK: u64 = 16;
const MORE_TICKS: u64 = 1 << 17;
/// Further ticks that may be simulated for each input: a page goes back because one came, and no further than the
/// window. A frame alone is no reason to go back, and there may be millions of frames.
const EACH_INPUT: u64 = 64;
/// Frames of each second of the record, and as many more as pages show without a server: half an hour at 60 Hz.
const FRAMES_EACH_S: u64 = 1_000;
const MORE_FRAMES: u64 = 1 << 17;

impl<'a, W: World, P: FnMut(&str) -> Option<Box<dyn Policy>>> Rebuilder<'a, W, P> {
    /// As for [`rebuild`].
    pub fn new(config: Config, world: W, mut partner: P, record: EpisodeRecord<'a>) -> Self {
        let local = config.local;
        let seats = usize::from(world.spec().seats);
        let partners = config.controllers.iter().map(|c| policy(c, &mut partner));
        let partners = partners.collect();
        let ticks = (record.rows.len() / seats.max(1)) as u64;
        let frames = FRAMES_EACH_S * ticks / u64::from(config.tick_hz.max(1));
        let mut session = Session::new(config, world, partners);
        if record.changes.is_empty() {
            session.keep_few_states();
        }
        Self {
            session,
            local,
            partner,
            record,
            seats,
            shown: 0,
            left: EACH_TICK * ticks + MORE_TICKS,
            frames_left: frames + MORE_FRAMES,
        }
    }

    /// Returns the digest of the state that the next frame showed.
    ///
    /// # Errors
    /// [`RebuildError`]; later results are then useless.
    pub fn show(&mut self, frame: &Frame) -> Result<u64, RebuildError> {
        self.show_world(frame, |world| world.digest())
    }

    /// Returns the result of `look` for the state that the next frame showed.
    ///
    /// # Errors
    /// [`RebuildError`]; later results are then useless.
    pub fn show_world<T>(
        &mut self,
        frame: &Frame,
        look: impl FnOnce(&mut W) -> T,
    ) -> Result<T, RebuildError> {
        self.reach(frame, frame.ahead.into(), look)
    }

    /// Returns the result of `look` for the state that the page had simulated at the next frame, before the ticks that
    /// it showed ahead.
    ///
    /// # Errors
    /// [`RebuildError`]; later results are then useless.
    pub fn simulate<T>(
        &mut self,
        frame: &Frame,
        look: impl FnOnce(&mut W) -> T,
    ) -> Result<T, RebuildError> {
        self.reach(frame, 0, look)
    }

    /// Looks at the state that the next frame showed, or would have shown with `ahead` ticks ahead.
    fn reach<T>(
        &mut self,
        frame: &Frame,
        ahead: u32,
        look: impl FnOnce(&mut W) -> T,
    ) -> Result<T, RebuildError> {
        let number = self.shown;
        self.shown += 1;
        if number == 0 {
            self.session.begin_at(self.begun(frame));
        }
        self.frames_left =
            (self.frames_left.checked_sub(1)).ok_or(RebuildError::TooMany(number))?;
        let is_whole = [frame.have.len(), frame.fresh.len()] == [self.seats; 2];
        if !is_whole || u32::from(frame.ahead) > FORESEEN {
            return Err(RebuildError::Frame(number));
        }
        self.learn_changes(frame.changes)?;
        for seat in 0..self.seats {
            self.learn_inputs(frame, seat, number)?;
        }
        let session = &mut self.session;
        if !session.go_to(frame.tick.0, &mut self.left) {
            return Err(RebuildError::Frame(number));
        }
        let mut seen = None;
        session.look_ahead(ahead, frame.wish, |world| {
            seen = Some(look(world));
        });
        Ok(seen.expect("a look ahead always ends with a look"))
    }

    /// The first tick of the page's life of the seat in which it showed this frame.
    fn begun(&self, frame: &Frame) -> u32 {
        let known = self.record.changes.iter().take(usize::from(frame.changes));
        let own = known.rev().find(|change| Some(change.seat) == self.local);
        let given = own.filter(|change| change.controller == Controller::Human);
        given.map_or(0, |change| change.from.0)
    }

    /// Learns the changes that a frame knew.
    fn learn_changes(&mut self, changes: u16) -> Result<(), RebuildError> {
        while self.session.changes() < changes {
            let number = self.session.changes();
            let refused = |why| RebuildError::Change { number, why };
            let change = self.record.changes.get(usize::from(number));
            let change = change.ok_or(refused(None))?;
            let before = change.tick.0.saturating_sub(change.inputs.len() as u32);
            if self.session.is_persons(change.seat) {
                self.recall(change.seat.index(), before)?;
            }
            let partner = policy(&change.controller, &mut self.partner);
            let learned = self.session.learn_change(change, partner);
            learned.map_err(|why| refused(Some(why)))?;
        }
        Ok(())
    }

    /// Learns the inputs of a seat that a frame knew.
    fn learn_inputs(
        &mut self,
        frame: &Frame,
        seat: usize,
        number: usize,
    ) -> Result<(), RebuildError> {
        let fresh = &frame.fresh[seat];
        let first = u32::try_from(fresh.len()).ok();
        let first = first.and_then(|count| frame.have[seat].0.checked_sub(count));
        let first = first.ok_or(RebuildError::Frame(number))?;
        if !self.session.is_persons(Seat(seat as u8)) {
            return Ok(());
        }
        let before = self.session.known_through(seat);
        self.recall(seat, first)?;
        self.session.learn_inputs(seat, first, fresh);
        let more = self.session.known_through(seat).saturating_sub(before);
        self.left += EACH_INPUT * u64::from(more);
        if self.session.known_through(seat) != frame.have[seat].0 {
            return Err(RebuildError::Frame(number));
        }
        Ok(())
    }

    /// Learns from the record the inputs of a seat before `end` that are in no frame.
    fn recall(&mut self, seat: usize, end: u32) -> Result<(), RebuildError> {
        for tick in self.session.known_through(seat)..end {
            let input = self.record.rows.get(tick as usize * self.seats + seat);
            let missing = RebuildError::Input {
                seat: Seat(seat as u8),
                tick: Tick(tick),
            };
            let input = *input.ok_or(missing)?;
            self.session.learn_inputs(seat, tick, &[input]);
        }
        Ok(())
    }
}

fn policy(
    controller: &Controller,
    partner: &mut impl FnMut(&str) -> Option<Box<dyn Policy>>,
) -> Option<Box<dyn Policy>> {
    match controller {
        Controller::Ai { policy } => partner(policy),
        Controller::Human | Controller::Vacant => None,
    }
}
