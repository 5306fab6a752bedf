//! The record of what a participant saw: which state each frame showed, what the page then knew, and when.
//!
//! The episode's header, the changes and inputs that the page knew, and the tick determine a shown state, so the record
//! has these. It also has inputs that the page had but that are not in the log, because the episode ended or the seat
//! was cut before them.
//!
//! A chunk can be decoded alone: it begins with the time of its first frame, and without knowledge of what is likely. A
//! [`coder`] writes and reads it, and [`Last::frame`] defines its content.
//!
//! This module must not know how frames are drawn.

mod coder;

use crate::{DecodeError, MAX_SEATS, Tick};
use coder::{Chance, Coder, Number, Reader, Writer};

/// The most frames of a chunk, so that a few bytes never become more than a few megabytes of frames.
pub const MAX_FRAMES: usize = 1_024;
/// The most fresh inputs of a chunk, of all seats together: sixteen people at 60 Hz have 18 minutes of them, and a page
/// that is hidden for that long has lost its seat.
pub const MAX_INPUTS: usize = 1 << 20;

/// A frame that showed something new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Frame {
    /// When it was presented, milliseconds since tick 0 was due.
    pub at_ms: u32,
    /// Ticks that were simulated.
    pub tick: Tick,
    /// How many changes of seats were known.
    pub changes: u16,
    /// The first input of each seat that was missing.
    pub have: Vec<Tick>,
    /// The inputs of each seat that came since the frame before; the last of them is that of the tick before `have`.
    pub fresh: Vec<Vec<u16>>,
    /// Ticks beyond `tick` that were shown ahead.
    pub ahead: u8,
    /// The action of the own seat in the ticks shown ahead for which it was not yet fixed.
    pub wish: u16,
    /// True if the page was out of sight.
    pub hidden: bool,
}

impl Frame {
    /// Ticks that it showed, those ahead among them.
    pub fn ticks_shown(&self) -> u32 {
        self.tick.0.saturating_add(self.ahead.into())
    }
}

/// Replaces `out` by a chunk with these frames, at most [`MAX_FRAMES`] with [`MAX_INPUTS`], of an episode with this
/// number of seats, at most [`MAX_SEATS`].
pub fn encode(frames: &[Frame], seats: usize, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    // Everything beyond the limits is left out, and a decoder refuses such a chunk.
    code(&mut writer, frames, seats, &mut Vec::new()).ok();
    writer.finish();
}

/// Decodes a chunk of an episode with this many seats.
///
/// # Errors
/// [`DecodeError::Malformed`] for anything that [`encode`] would not have written, and for more than [`MAX_FRAMES`],
/// [`MAX_INPUTS`] or [`MAX_SEATS`].
pub fn decode(bytes: &[u8], seats: usize) -> Result<Vec<Frame>, DecodeError> {
    let mut frames = Vec::new();
    decode_into(bytes, seats, &mut frames)?;
    Ok(frames)
}

/// Replaces `out` by the frames of a chunk, as [`decode`] gives them. The memory of earlier frames is used again.
///
/// # Errors
/// As for [`decode`]; any frames may then be in `out`.
pub fn decode_into(bytes: &[u8], seats: usize, out: &mut Vec<Frame>) -> Result<(), DecodeError> {
    if seats > MAX_SEATS {
        return Err(MALFORMED);
    }
    let mut reader = Reader::new(bytes);
    let count = code(&mut reader, &[], seats, out)?;
    out.truncate(count);
    match reader.is_at_end() && bytes.last() != Some(&0) {
        true => Ok(()),
        false => Err(MALFORMED),
    }
}

const MALFORMED: DecodeError = DecodeError::Malformed("seen-log");

/// Codes a chunk, in either direction, and returns the number of its frames. A reader puts them into `out`, from its
/// beginning on.
fn code<C: Coder>(
    coder: &mut C,
    frames: &[Frame],
    seats: usize,
    out: &mut Vec<Frame>,
) -> Result<usize, DecodeError> {
    let none = Frame::default();
    let frame = |at: usize| frames.get(at).unwrap_or(&none);
    let mut head = Number::default();
    let mut number = |number| coder.number(&mut head, number);
    let count = number(frames.len() as u64)?;
    let (at_ms, tick) = match count {
        0 => (0, 0),
        _ => (
            number(frame(0).at_ms.into())?,
            number(frame(0).tick.0.into())?,
        ),
    };
    let count: usize = narrow(count)?;
    if count > MAX_FRAMES {
        return Err(MALFORMED);
    }
    let mut last = Last::new(narrow(at_ms)?, narrow(tick)?, seats);
    let mut odds = Odds::default();
    for at in 0..count {
        let place = if C::READS { at } else { 0 };
        if out.len() == place {
            out.push(Frame::default());
        }
        last.frame(coder, &mut odds, frame(at), &mut out[place])?;
        if at == 0 {
            // The head has them.
            differ((last.later_ms, last.steps) == (0, 0), false)?;
        }
    }
    Ok(count)
}

/// The odds, learnt from the frames before.
#[derive(Default)]
struct Odds {
    /// By the value before.
    later: [Number; 4],
    tick: [Number; 4],
    is_same_aspect: Chance,
    aspect: [Number; 3],
    is_hidden: Chance,
    is_regular: Chance,
    more: Number,
    /// By how many fresh inputs the seat had in the two frames before.
    fresh: [[Number; 3]; 3],
    is_same_input: Chance,
    input: Number,
}

/// The assumed distance between the first two frames of a chunk: that of a screen of 60 Hz, milliseconds.
const DISTANCE_MS: i64 = 17;

/// The frame before, relative to which the next one is coded.
struct Last {
    at_ms: i64,
    distance_ms: i64,
    later_ms: i64,
    tick: i64,
    steps: i64,
    aspect: (u16, u8, u16, bool),
    seats: Vec<LastOfSeat>,
    /// Fresh inputs that a chunk may still have.
    room: usize,
}

#[derive(Clone, Copy, Default)]
struct LastOfSeat {
    have: i64,
    /// The numbers of its fresh inputs in the frame before, and in the one before that.
    fresh: [usize; 2],
    input: u16,
}

/// Which chances a signed number has by the one before.
fn after(signed: i64) -> usize {
    match signed {
        0 => 0,
        1 => 1,
        -1 => 2,
        _ => 3,
    }
}

impl Last {
    /// Before the first frame of a chunk.
    fn new(at_ms: u32, tick: u32, seats: usize) -> Self {
        let seat = LastOfSeat {
            have: tick.into(),
            ..LastOfSeat::default()
        };
        Self {
            at_ms: i64::from(at_ms) - DISTANCE_MS,
            distance_ms: DISTANCE_MS,
            later_ms: 0,
            tick: i64::from(tick) - 1,
            steps: 0,
            aspect: (0, 0, 0, false),
            seats: vec![seat; seats.min(MAX_SEATS)],
            room: MAX_INPUTS,
        }
    }

    /// Codes the next frame, in either direction. `out` is then the frame that a writer got, or that a reader found; its
    /// memory is reused.
    fn frame<C: Coder>(
        &mut self,
        coder: &mut C,
        odds: &mut Odds,
        frame: &Frame,
        out: &mut Frame,
    ) -> Result<(), DecodeError> {
        let later_ms = i64::from(frame.at_ms) - self.at_ms - self.distance_ms;
        self.later_ms = coder.signed(&mut odds.later[after(self.later_ms)], later_ms)?;
        self.distance_ms = add(self.distance_ms, self.later_ms)?;
        self.at_ms = add(self.at_ms, self.distance_ms)?;
        let steps = i64::from(frame.tick.0) - self.tick - 1;
        self.steps = coder.signed(&mut odds.tick[after(self.steps)], steps)?;
        self.tick = add(self.tick, add(self.steps, 1)?)?;
        self.aspect(coder, odds, frame)?;
        self.inputs(coder, odds, frame, out)?;
        (out.changes, out.ahead, out.wish, out.hidden) = self.aspect;
        out.at_ms = narrow(self.at_ms)?;
        out.tick = Tick(narrow(self.tick)?);
        Ok(())
    }

    fn aspect<C: Coder>(
        &mut self,
        coder: &mut C,
        odds: &mut Odds,
        frame: &Frame,
    ) -> Result<(), DecodeError> {
        let aspect = (frame.changes, frame.ahead, frame.wish, frame.hidden);
        if coder.bit(&mut odds.is_same_aspect, aspect == self.aspect) {
            return Ok(());
        }
        let [changes, ahead, wish] = &mut odds.aspect;
        let before = self.aspect;
        self.aspect = (
            narrow(coder.number(changes, aspect.0.into())?)?,
            narrow(coder.number(ahead, aspect.1.into())?)?,
            narrow(coder.number(wish, aspect.2.into())?)?,
            coder.bit(&mut odds.is_hidden, aspect.3),
        );
        differ(self.aspect, before)
    }

    /// The first input of each seat that was missing, and the fresh ones.
    fn inputs<C: Coder>(
        &mut self,
        coder: &mut C,
        odds: &mut Odds,
        frame: &Frame,
        out: &mut Frame,
    ) -> Result<(), DecodeError> {
        out.have.clear();
        out.fresh.resize_with(self.seats.len(), Vec::new);
        let fresh = |seat: usize| frame.fresh.get(seat).map_or(&[][..], Vec::as_slice);
        let more = |seat: usize, last: &LastOfSeat| {
            let have = frame.have.get(seat).map_or(0, |tick| i64::from(tick.0));
            have - last.have - fresh(seat).len() as i64
        };
        let mut seats = self.seats.iter().enumerate();
        let is_regular = seats.all(|(seat, last)| more(seat, last) == 0);
        let is_regular = coder.bit(&mut odds.is_regular, is_regular);
        let mut is_so = true;
        for (seat, last) in self.seats.iter_mut().enumerate() {
            let more = match is_regular {
                true => 0,
                false => coder.signed(&mut odds.more, more(seat, last))?,
            };
            is_so &= more == 0;
            let [one, two] = last.fresh.map(|count| count.min(2));
            let length = coder.number(&mut odds.fresh[one][two], fresh(seat).len() as u64)?;
            let length = usize::try_from(length).map_err(|_| MALFORMED)?;
            self.room = self.room.checked_sub(length).ok_or(MALFORMED)?;
            last.fresh = [length, last.fresh[0]];
            let inputs = &mut out.fresh[seat];
            inputs.clear();
            for at in 0..length {
                let input = fresh(seat).get(at).copied().unwrap_or_default();
                if !coder.bit(&mut odds.is_same_input, input == last.input) {
                    let other = narrow(coder.number(&mut odds.input, input.into())?)?;
                    differ(other, last.input)?;
                    last.input = other;
                }
                inputs.push(last.input);
            }
            last.have = add(add(last.have, more)?, length as i64)?;
            out.have.push(Tick(narrow(last.have)?));
        }
        differ(is_regular, !is_so)
    }
}

/// Refuses a value that is written as another one although it is the same: there is one way to write a chunk.
fn differ<T: PartialEq>(value: T, before: T) -> Result<(), DecodeError> {
    if value == before {
        return Err(MALFORMED);
    }
    Ok(())
}

fn add(one: i64, other: i64) -> Result<i64, DecodeError> {
    one.checked_add(other).ok_or(MALFORMED)
}

fn narrow<A, B: TryFrom<A>>(value: A) -> Result<B, DecodeError> {
    B::try_from(value).map_err(|_| MALFORMED)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frames() -> impl Strategy<Value = (usize, Vec<Frame>)> {
        (0..=MAX_SEATS).prop_flat_map(|seats| {
            let parts = (
                any::<Frame>(),
                vec(any::<u32>().prop_map(Tick), seats),
                vec(
                    vec(prop_oneof![Just(0), Just(1), any::<u16>()], 0..4),
                    seats,
                ),
            );
            let frame = parts.prop_map(|(frame, have, fresh)| Frame {
                have,
                fresh,
                ..frame
            });
            (Just(seats), vec(frame, 1..20))
        })
    }

    proptest! {
        #[test]
        fn frames_come_back((seats, frames) in frames()) {
            let mut bytes = vec![1, 2, 3];
            encode(&frames, seats, &mut bytes);
            prop_assert_eq!(decode(&bytes, seats), Ok(frames));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300), seats in 0_usize..40) {
            if let Ok(frames) = decode(&bytes, seats) {
                let inputs: usize = frames.iter().flat_map(|frame| &frame.fresh).map(Vec::len).sum();
                prop_assert!(frames.len() <= MAX_FRAMES && inputs <= MAX_INPUTS);
            }
        }

        #[test]
        fn there_is_one_way_to_write_a_chunk(bytes in vec(prop_oneof![any::<u8>(), Just(0), Just(255)], 0..40), seats in 0_usize..4) {
            if let Ok(frames) = decode(&bytes, seats) {
                let mut again = Vec::new();
                encode(&frames, seats, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn a_damaged_chunk_never_panics((seats, frames) in frames(), at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let mut bytes = Vec::new();
            encode(&frames, seats, &mut bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let damaged = decode(&bytes, seats);
            prop_assert!(damaged.as_ref() != Ok(&frames));
            if let Ok(other) = damaged {
                let mut again = Vec::new();
                encode(&other, seats, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn a_byte_more_or_less_never_passes_for_the_same((seats, frames) in frames(), more in any::<u8>()) {
            let mut bytes = Vec::new();
            encode(&frames, seats, &mut bytes);
            bytes.push(more);
            prop_assert!(decode(&bytes, seats).as_ref() != Ok(&frames));
            bytes.truncate(bytes.len() - 2);
            prop_assert!(decode(&bytes, seats) != Ok(frames));
        }
    }

    #[test]
    fn a_first_frame_is_that_of_the_head() {
        let bytes = [
            232, 255, 255, 105, 0, 199, 192, 0, 255, 0, 194, 37, 33, 255, 0, 0, 203, 190, 0, 133,
            96, 119, 119,
        ];
        assert_eq!(decode(&bytes, 0), Err(MALFORMED));
    }

    #[test]
    fn a_chunk_has_so_many_frames() {
        let decoded = |count: usize| {
            let frame = Frame {
                have: vec![Tick(0)],
                fresh: vec![Vec::new()],
                ..Frame::default()
            };
            let mut bytes = Vec::new();
            encode(&vec![frame; count], 1, &mut bytes);
            decode(&bytes, 1).map(|frames| frames.len())
        };
        assert_eq!(decoded(MAX_FRAMES), Ok(MAX_FRAMES));
        assert_eq!(decoded(MAX_FRAMES + 1), Err(MALFORMED));
    }

    #[test]
    fn a_chunk_is_written_as_ever() {
        let frame = |at: u32| Frame {
            at_ms: 1_000 + 17 * at,
            tick: Tick(60 + at),
            changes: 1,
            have: vec![Tick(60 + at), Tick(58 + at)],
            fresh: vec![vec![at as u16 % 2], vec![3; at as usize % 3]],
            ..Frame::default()
        };
        let mut bytes = Vec::new();
        encode(&(0..6).map(frame).collect::<Vec<_>>(), 2, &mut bytes);
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            text, "dffa49b17761e180c7d67142eeca74d712",
            "another encoding is another version"
        );
    }

    #[test]
    fn more_inputs_than_a_chunk_may_have_are_refused() {
        let decoded = |more: usize| {
            let frame = Frame {
                have: vec![Tick(0)],
                fresh: vec![vec![0; MAX_INPUTS + more]],
                ..Frame::default()
            };
            let mut bytes = Vec::new();
            encode(&[frame], 1, &mut bytes);
            decode(&bytes, 1).map(|frames| frames[0].fresh[0].len())
        };
        assert_eq!(decoded(0), Ok(MAX_INPUTS));
        assert_eq!(decoded(1), Err(MALFORMED));
    }

    #[test]
    fn no_frame_is_no_byte() {
        let mut bytes = vec![1];
        encode(&[], 2, &mut bytes);
        assert!(bytes.is_empty());
        assert_eq!(decode(&bytes, 2), Ok(Vec::new()));
    }

    #[test]
    fn steady_frames_cost_next_to_nothing() {
        let frame = |at: u32| Frame {
            at_ms: 50 * at / 3,
            tick: Tick(at),
            have: vec![Tick(at); MAX_SEATS],
            fresh: vec![vec![2]; MAX_SEATS],
            ..Frame::default()
        };
        let size = |seats: usize| {
            let mut bytes = Vec::new();
            encode(&(1..=60).map(frame).collect::<Vec<_>>(), seats, &mut bytes);
            bytes.len()
        };
        assert!(size(2) < 30, "{}", size(2));
        assert!(size(MAX_SEATS) < 60, "{}", size(MAX_SEATS));
    }
}
