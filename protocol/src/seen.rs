//! What a participant saw: which state each frame showed, from what knowledge, and when.
//!
//! A state that was shown follows from the episode's header, the changes and inputs that the page knew, and the tick:
//! so that is what is noted. Inputs that the page had but that never became part of the log, because the episode
//! ended or the seat was cut before them, are here too.
//!
//! A chunk is a string of bits, filled from the least significant bit of each byte upwards and ended with zero bits.
//! Numbers are Elias gamma codes of the number plus one, signed numbers are zigzagged first. A chunk stands alone:
//! before its first frame everything is 0. First comes the number of frames, then for each frame:
//!
//! - how much later it came than the frame before, less that frame's own such distance, signed;
//! - its tick, less that of the frame before and 1, signed;
//! - 1 if `changes`, `ahead`, `wish` and `hidden` are as before; or 0, `changes`, `ahead`, `wish`, a bit for `hidden`;
//! - 1 if each `have` is the one before and the fresh inputs; or 0 and for each seat how much it is more, signed;
//! - for each seat, 1 if there are as many fresh inputs as in the frame before, or 0 and how many there are;
//!   then for each of them 1 if it is the seat's last one again, or 0 and the action.
//!
//! This module must not know how frames are drawn.

use crate::{DecodeError, MAX_SEATS, Tick};

/// The most frames of a chunk, so that a few bytes never become more than a few megabytes of frames.
pub const MAX_FRAMES: usize = 1_024;

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
    /// Whether the page was out of sight.
    pub hidden: bool,
}

impl Frame {
    /// Ticks that it showed, those ahead among them.
    pub fn shows(&self) -> u32 {
        self.tick.0.saturating_add(self.ahead.into())
    }
}

/// Replaces `out` by a chunk with these frames, at most [`MAX_FRAMES`], of an episode with so many seats, at most
/// [`MAX_SEATS`].
pub fn encode(frames: &[Frame], seats: usize, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let mut last = Last::new(seats);
    writer.number(frames.len() as u64);
    for frame in frames {
        last.write(frame, &mut writer);
    }
    writer.finish();
}

/// Decodes a chunk of an episode with so many seats.
///
/// # Errors
/// [`DecodeError::Malformed`] for anything that [`encode`] would not have written, and for more than [`MAX_FRAMES`] or
/// [`MAX_SEATS`].
pub fn decode(bytes: &[u8], seats: usize) -> Result<Vec<Frame>, DecodeError> {
    if seats > MAX_SEATS {
        return Err(MALFORMED);
    }
    let mut reader = Reader { bytes, at: 0 };
    let mut last = Last::new(seats);
    let count = usize::try_from(reader.number()?).ok();
    let count = count.filter(|count| *count <= MAX_FRAMES);
    let frames = (0..count.ok_or(MALFORMED)?).map(|_| last.read(&mut reader));
    let frames = frames.collect::<Result<_, _>>()?;
    reader.finish()?;
    Ok(frames)
}

const MALFORMED: DecodeError = DecodeError::Malformed("seen-log");

/// What the next frame is told against.
struct Last {
    at_ms: i64,
    distance_ms: i64,
    tick: i64,
    aspect: (u16, u8, u16, bool),
    have: Vec<i64>,
    fresh: Vec<usize>,
    inputs: Vec<u16>,
}

impl Last {
    fn new(seats: usize) -> Self {
        let seats = seats.min(MAX_SEATS);
        Self {
            at_ms: 0,
            distance_ms: 0,
            tick: 0,
            aspect: (0, 0, 0, false),
            have: vec![0; seats],
            fresh: vec![0; seats],
            inputs: vec![0; seats],
        }
    }

    fn write(&mut self, frame: &Frame, out: &mut Writer) {
        let (at_ms, tick) = (i64::from(frame.at_ms), i64::from(frame.tick.0));
        let distance_ms = at_ms - self.at_ms;
        out.signed(distance_ms - self.distance_ms);
        out.signed(tick - self.tick - 1);
        (self.at_ms, self.distance_ms, self.tick) = (at_ms, distance_ms, tick);
        let aspect = (frame.changes, frame.ahead, frame.wish, frame.hidden);
        out.bit(aspect == self.aspect);
        if aspect != self.aspect {
            out.number(u64::from(frame.changes));
            out.number(u64::from(frame.ahead));
            out.number(u64::from(frame.wish));
            out.bit(frame.hidden);
            self.aspect = aspect;
        }
        self.write_inputs(frame, out);
    }

    fn write_inputs(&mut self, frame: &Frame, out: &mut Writer) {
        let fresh = |seat: usize| frame.fresh.get(seat).map_or(&[][..], Vec::as_slice);
        let mut more = [0; MAX_SEATS];
        for (seat, have) in self.have.iter_mut().enumerate() {
            let told = frame.have.get(seat).map_or(0, |tick| i64::from(tick.0));
            more[seat] = told - *have - fresh(seat).len() as i64;
            *have = told;
        }
        let is_regular = more == [0; MAX_SEATS];
        out.bit(is_regular);
        for (seat, last) in self.inputs.iter_mut().enumerate() {
            if !is_regular {
                out.signed(more[seat]);
            }
            let inputs = fresh(seat);
            out.bit(inputs.len() == self.fresh[seat]);
            if inputs.len() != self.fresh[seat] {
                out.number(inputs.len() as u64);
                self.fresh[seat] = inputs.len();
            }
            for &input in inputs {
                out.bit(input == *last);
                if input != *last {
                    out.number(u64::from(input));
                    *last = input;
                }
            }
        }
    }

    fn read(&mut self, from: &mut Reader) -> Result<Frame, DecodeError> {
        self.distance_ms = add(self.distance_ms, from.signed()?)?;
        self.at_ms = add(self.at_ms, self.distance_ms)?;
        self.tick = add(self.tick, add(from.signed()?, 1)?)?;
        if !from.bit()? {
            let aspect = (
                narrow(from.number()?)?,
                narrow(from.number()?)?,
                narrow(from.number()?)?,
                from.bit()?,
            );
            replace(&mut self.aspect, aspect)?;
        }
        let fresh = self.read_inputs(from)?;
        let (changes, ahead, wish, hidden) = self.aspect;
        let have = self.have.iter().map(|&have| narrow(have).map(Tick));
        Ok(Frame {
            at_ms: narrow(self.at_ms)?,
            tick: Tick(narrow(self.tick)?),
            changes,
            have: have.collect::<Result<_, _>>()?,
            fresh,
            ahead,
            wish,
            hidden,
        })
    }

    fn read_inputs(&mut self, from: &mut Reader) -> Result<Vec<Vec<u16>>, DecodeError> {
        let is_regular = from.bit()?;
        let mut fresh = Vec::with_capacity(self.have.len());
        let mut skips = false;
        for seat in 0..self.have.len() {
            let more = if is_regular { 0 } else { from.signed()? };
            skips |= more != 0;
            if !from.bit()? {
                replace(&mut self.fresh[seat], narrow(from.number()?)?)?;
            }
            let mut inputs = Vec::new();
            for _ in 0..self.fresh[seat] {
                if !from.bit()? {
                    replace(&mut self.inputs[seat], narrow(from.number()?)?)?;
                }
                inputs.push(self.inputs[seat]);
            }
            self.have[seat] = add(add(self.have[seat], more)?, inputs.len() as i64)?;
            fresh.push(inputs);
        }
        if is_regular == skips {
            return Err(MALFORMED);
        }
        Ok(fresh)
    }
}

/// Takes a value that is told because it is another one.
fn replace<T: PartialEq>(old: &mut T, new: T) -> Result<(), DecodeError> {
    if *old == new {
        return Err(MALFORMED);
    }
    *old = new;
    Ok(())
}

fn add(one: i64, other: i64) -> Result<i64, DecodeError> {
    one.checked_add(other).ok_or(MALFORMED)
}

fn narrow<A, B: TryFrom<A>>(value: A) -> Result<B, DecodeError> {
    B::try_from(value).map_err(|_| MALFORMED)
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that do not fill a byte yet, and how many.
    pending: u8,
    filled: u32,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        out.clear();
        Self {
            out,
            pending: 0,
            filled: 0,
        }
    }

    fn bit(&mut self, bit: bool) {
        self.pending |= u8::from(bit) << self.filled;
        self.filled += 1;
        if self.filled == 8 {
            self.out.push(self.pending);
            (self.pending, self.filled) = (0, 0);
        }
    }

    /// Source: Elias, "Universal codeword sets and representations of the integers", 1975: the code γ.
    fn number(&mut self, number: u64) {
        let code = number + 1;
        let bits = u64::BITS - code.leading_zeros();
        (1..bits).for_each(|_| self.bit(false));
        (0..bits).rev().for_each(|at| self.bit(code >> at & 1 == 1));
    }

    fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63).cast_unsigned());
    }

    fn finish(self) {
        if self.filled > 0 {
            self.out.push(self.pending);
        }
    }
}

/// The most zeros before a number: no number needs more bits.
const LONGEST: u32 = 40;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn bit(&mut self) -> Result<bool, DecodeError> {
        let byte = self.bytes.get(self.at / 8).ok_or(MALFORMED)?;
        let bit = byte >> (self.at % 8) & 1 == 1;
        self.at += 1;
        Ok(bit)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        let mut zeros = 0;
        while !self.bit()? {
            zeros += 1;
            if zeros > LONGEST {
                return Err(MALFORMED);
            }
        }
        let mut code = 1;
        for _ in 0..zeros {
            code = code << 1 | u64::from(self.bit()?);
        }
        Ok(code - 1)
    }

    fn signed(&mut self) -> Result<i64, DecodeError> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Less than a byte is left, and nothing in it.
    fn finish(mut self) -> Result<(), DecodeError> {
        while !self.at.is_multiple_of(8) {
            if self.bit()? {
                return Err(MALFORMED);
            }
        }
        if self.at / 8 == self.bytes.len() {
            Ok(())
        } else {
            Err(MALFORMED)
        }
    }
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
            (Just(seats), vec(frame, 0..20))
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
            // A frame is no less than four bits and one for each seat, an input no less than one.
            if let Ok(frames) = decode(&bytes, seats) {
                let inputs: usize = frames.iter().flat_map(|frame| &frame.fresh).map(Vec::len).sum();
                prop_assert!(frames.len() * (4 + seats) + inputs <= bytes.len() * 8);
            }
        }

        #[test]
        fn a_damaged_chunk_never_panics((seats, frames) in frames(), at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let mut bytes = Vec::new();
            encode(&frames, seats, &mut bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let damaged = decode(&bytes, seats);
            prop_assert!(damaged != Ok(frames));
        }

        #[test]
        fn a_byte_more_or_less_is_refused((seats, frames) in frames(), more in any::<u8>()) {
            let mut bytes = Vec::new();
            encode(&frames, seats, &mut bytes);
            bytes.push(more);
            prop_assert!(decode(&bytes, seats).is_err());
            bytes.truncate(bytes.len() - 2);
            prop_assert!(decode(&bytes, seats).is_err());
        }
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
    fn a_steady_frame_of_two_people_is_a_byte() {
        let frame = |at: u32| Frame {
            at_ms: 16 * at,
            tick: Tick(at),
            have: vec![Tick(at), Tick(at)],
            fresh: vec![vec![2]; 2],
            ..Frame::default()
        };
        let size = |count: u32| {
            let mut bytes = Vec::new();
            encode(&(1..=count).map(frame).collect::<Vec<_>>(), 2, &mut bytes);
            bytes.len()
        };
        // The number of frames takes a few bits more, too.
        assert!((1_000..=1_003).contains(&(size(1_002) - size(2))));
    }
}
