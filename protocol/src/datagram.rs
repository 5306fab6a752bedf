//! The packet that peers exchange each tick, hand-packed: inputs, receipts and round trip in one,
//! 14 to 22 bytes for two players in steady state.
//!
//! Integers are little-endian. Bits are filled from the least significant bit of each byte upwards.
//!
//! | Bytes | What |
//! | --- | --- |
//! | 1 | low nibble: [`crate::VERSION`]; high nibble: the sender's seat |
//! | 2 | era |
//! | 1 | bits 0–6: the life of the sender's seat; bit 7: a delay follows |
//! | 0 or 3 | delay: ticks are due this many milliseconds later than by `T0`; never 0 here |
//! | 1 | the number of changes of seats that the sender knows, modulo 256 |
//! | 3 | `first`, the tick of the first input carried |
//! | 1 | bits 0–5: the number of inputs, at most [`MAX_INPUTS`]; bit 6: an echo follows; bit 7: done |
//! | 1 or 4 per seat except the sender's | receipt: signed distance from `first + count`; −128 announces an absolute
//! tick in 3 bytes |
//! | 2 | `sent_ms` |
//! | 0 or 3 | echo: `sent_ms` of the last packet that came the other way (2), milliseconds since it came (1) |
//! | rest | the inputs, one after the other: bit 1 for "same as the one before", or bit 0 and `k` bits of the action |
//!
//! `k` is the number of bits that the largest action needs; before the first input stands action 0.
//! The last byte is filled with zero bits. There is exactly one encoding of a datagram: a decoder refuses bytes that
//! say the same in a longer way, and bytes left over.
//!
//! This module must not know why a peer sends what it sends; that is the session's business.

use crate::{DecodeError, Era, Life, MAX_SEATS, Seat, Tick, VERSION};

/// The most inputs that a datagram carries.
pub const MAX_INPUTS: usize = 40;

/// The first tick that a datagram cannot name: ticks travel in three bytes.
pub const TICK_LIMIT: u32 = 1 << 24;

/// The longest datagram, bytes: every receipt far away, every action 16 bits wide.
pub const MAX_DATAGRAM: usize =
    1 + 2 + 4 + 1 + 3 + 1 + 4 * (MAX_SEATS - 1) + 2 + 3 + (MAX_INPUTS * 17).div_ceil(8);

/// The longest delay that a datagram can say, milliseconds: more than four hours.
pub const MAX_DELAY_MS: u32 = (1 << 24) - 1;

const DELAYED: u8 = 1 << 7;
const ECHO: u8 = 1 << 6;
const DONE: u8 = 1 << 7;
const COUNT: u8 = ECHO - 1;
const FAR: i8 = i8::MIN;

/// Facts of an episode that both ends know, and the packet therefore leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramLayout {
    /// Number of seats, 1 to [`MAX_SEATS`].
    pub seats: u8,
    /// Number of actions, at least 1.
    pub actions: u16,
}

impl DatagramLayout {
    /// Bits of one action.
    fn action_bits(self) -> u32 {
        u16::BITS - self.actions.saturating_sub(1).leading_zeros()
    }
}

/// The sender's clock as it came, sent back for measuring the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// [`Datagram::sent_ms`] of the last packet that came the other way.
    pub sent_ms: u16,
    /// Milliseconds since it came.
    pub held_ms: u8,
}

/// One packet from one peer to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The episode.
    pub era: Era,
    /// The sender.
    pub from: Seat,
    /// The life of the sender's seat.
    pub life: Life,
    /// The longest delay of the ticks that the sender knows of, milliseconds; at most [`MAX_DELAY_MS`].
    pub delay_ms: u32,
    /// How many changes of seats the sender knows, modulo 256: they say to which lives its receipts belong.
    pub changes: u8,
    /// The tick of the first input.
    pub first: Tick,
    /// The sender's inputs from `first` on: all that this receiver has not acknowledged, at most [`MAX_INPUTS`].
    pub inputs: Vec<u16>,
    /// Receipts, one a seat: the sender has every input of that seat before this tick.
    /// Its own entry is always `first + inputs.len()` and does not travel.
    pub have: Vec<Tick>,
    /// The sender's clock, milliseconds, wrapping.
    pub sent_ms: u16,
    /// Present if a packet came the other way since the last one was sent.
    pub echo: Option<Echo>,
    /// True if the sender has confirmed the end of the episode.
    pub done: bool,
}

impl Datagram {
    /// Replaces `out` by the encoding.
    ///
    /// Beyond the layout nothing travels: more than [`MAX_INPUTS`] inputs are cut, missing receipts are sent as 0,
    /// ticks from [`TICK_LIMIT`] on are sent as the last one before it.
    pub fn encode(&self, layout: DatagramLayout, out: &mut Vec<u8>) {
        out.clear();
        let inputs = &self.inputs[..self.inputs.len().min(MAX_INPUTS)];
        let first = self.first.0.min(TICK_LIMIT - 1);
        out.push(VERSION & 0x0f | self.from.0 << 4);
        out.extend_from_slice(&self.era.0.to_le_bytes());
        let delay_ms = self.delay_ms.min(MAX_DELAY_MS);
        let delayed = if delay_ms > 0 { DELAYED } else { 0 };
        out.push(self.life.0 & Life::LAST.0 | delayed);
        if delay_ms > 0 {
            put_tick(delay_ms, out);
        }
        out.push(self.changes);
        put_tick(first, out);
        let flags = if self.echo.is_some() { ECHO } else { 0 } | if self.done { DONE } else { 0 };
        out.push(inputs.len() as u8 | flags);
        let end = first + inputs.len() as u32;
        for seat in (0..layout.seats).filter(|&seat| seat != self.from.0) {
            let have = self
                .have
                .get(usize::from(seat))
                .map_or(0, |tick| tick.0.min(TICK_LIMIT - 1));
            match near(have, end) {
                Some(distance) => out.push(distance as u8),
                None => {
                    out.push(FAR as u8);
                    put_tick(have, out);
                }
            }
        }
        out.extend_from_slice(&self.sent_ms.to_le_bytes());
        if let Some(echo) = self.echo {
            out.extend_from_slice(&echo.sent_ms.to_le_bytes());
            out.push(echo.held_ms);
        }
        put_inputs(inputs, layout.action_bits(), out);
    }

    /// Decodes a packet.
    ///
    /// # Errors
    /// [`DecodeError`] for another version, a packet over [`MAX_DATAGRAM`], and anything that [`Datagram::encode`]
    /// would not have written: an action or seat out of range, more than [`MAX_INPUTS`] inputs, bytes left over.
    pub fn decode(bytes: &[u8], layout: DatagramLayout) -> Result<Self, DecodeError> {
        let mut datagram = Self::default();
        datagram.decode_into(bytes, layout)?;
        Ok(datagram)
    }

    /// Decodes a packet into this one, reusing its memory; after an error its content means nothing.
    ///
    /// # Errors
    /// As [`Datagram::decode`].
    pub fn decode_into(&mut self, bytes: &[u8], layout: DatagramLayout) -> Result<(), DecodeError> {
        if bytes.len() > MAX_DATAGRAM {
            return Err(DecodeError::TooLong {
                len: bytes.len(),
                limit: MAX_DATAGRAM,
            });
        }
        Reader { bytes }.datagram(layout, self)
    }
}

impl Default for Datagram {
    fn default() -> Self {
        Self {
            era: Era(0),
            from: Seat(0),
            life: Life(0),
            delay_ms: 0,
            changes: 0,
            first: Tick(0),
            inputs: Vec::new(),
            have: Vec::new(),
            sent_ms: 0,
            echo: None,
            done: false,
        }
    }
}

/// The distance of a receipt from the end of the inputs, if one byte holds it.
fn near(have: u32, end: u32) -> Option<i8> {
    i8::try_from(i64::from(have) - i64::from(end))
        .ok()
        .filter(|&distance| distance != FAR)
}

fn put_tick(tick: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&tick.to_le_bytes()[..3]);
}

fn put_inputs(inputs: &[u16], action_bits: u32, out: &mut Vec<u8>) {
    let (mut pending, mut filled, mut last) = (0u32, 0, 0);
    for &input in inputs {
        if input == last {
            pending |= 1 << filled;
            filled += 1;
        } else {
            let action = u32::from(input) & ((1 << action_bits) - 1);
            pending |= action << (filled + 1);
            filled += 1 + action_bits;
        }
        last = input;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(pending as u8);
    }
}

/// The bytes left to read.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn datagram(&mut self, layout: DatagramLayout, out: &mut Datagram) -> Result<(), DecodeError> {
        let [head] = self.take()?;
        if head & 0x0f != VERSION {
            return Err(DecodeError::Version { found: head & 0x0f });
        }
        out.from = Seat(head >> 4);
        if out.from.0 >= layout.seats {
            return Err(MALFORMED);
        }
        out.era = Era(u16::from_le_bytes(self.take()?));
        let [life] = self.take()?;
        out.life = Life(life & Life::LAST.0);
        out.delay_ms = match life & DELAYED {
            0 => 0,
            _ => self.tick()?.0,
        };
        if life & DELAYED != 0 && out.delay_ms == 0 {
            return Err(MALFORMED);
        }
        [out.changes] = self.take()?;
        out.first = self.tick()?;
        let [flags] = self.take()?;
        out.done = flags & DONE != 0;
        let count = usize::from(flags & COUNT);
        let end = out.first.0 + count as u32;
        if count > MAX_INPUTS || end > TICK_LIMIT {
            return Err(MALFORMED);
        }
        out.have.clear();
        for seat in 0..layout.seats {
            out.have.push(if seat == out.from.0 {
                Tick(end)
            } else {
                self.receipt(end)?
            });
        }
        out.sent_ms = u16::from_le_bytes(self.take()?);
        out.echo = if flags & ECHO == 0 {
            None
        } else {
            Some(Echo {
                sent_ms: u16::from_le_bytes(self.take()?),
                held_ms: self.take::<1>()?[0],
            })
        };
        self.inputs(count, layout, &mut out.inputs)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(MALFORMED)?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn tick(&mut self) -> Result<Tick, DecodeError> {
        let [a, b, c] = self.take()?;
        Ok(Tick(u32::from_le_bytes([a, b, c, 0])))
    }

    fn receipt(&mut self, end: u32) -> Result<Tick, DecodeError> {
        let distance = self.take::<1>()?[0] as i8;
        if distance == FAR {
            let have = self.tick()?;
            return if near(have.0, end).is_none() {
                Ok(have)
            } else {
                Err(MALFORMED)
            };
        }
        match end.checked_add_signed(i32::from(distance)) {
            Some(have) if have < TICK_LIMIT => Ok(Tick(have)),
            _ => Err(MALFORMED),
        }
    }

    /// The inputs are all that is left, zero bits at the end included.
    fn inputs(
        &self,
        count: usize,
        layout: DatagramLayout,
        out: &mut Vec<u16>,
    ) -> Result<(), DecodeError> {
        let (mut at, mut last) = (0, 0);
        out.clear();
        for _ in 0..count {
            if self.bits(at, 1)? == 1 {
                at += 1;
            } else {
                let action = self.bits(at + 1, layout.action_bits())?;
                at += 1 + layout.action_bits();
                if action == last || action >= layout.actions {
                    return Err(MALFORMED);
                }
                last = action;
            }
            out.push(last);
        }
        let used = at.div_ceil(8);
        if self.bytes.len() != used as usize || self.bits(at, used * 8 - at)? != 0 {
            return Err(MALFORMED);
        }
        Ok(())
    }

    /// Reads at most 16 bits, starting with bit `at`.
    fn bits(&self, at: u32, count: u32) -> Result<u16, DecodeError> {
        let mut value = 0;
        for bit in 0..count {
            let place = at + bit;
            let byte = self.bytes.get((place / 8) as usize).ok_or(MALFORMED)?;
            value |= u16::from(byte >> (place % 8) & 1) << bit;
        }
        Ok(value)
    }
}

const MALFORMED: DecodeError = DecodeError::Malformed("datagram");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layouts() -> impl Strategy<Value = DatagramLayout> {
        (1u8..=16, 1u16..=u16::MAX).prop_flat_map(|(seats, wide)| {
            prop_oneof![Just(wide), 1u16..=20]
                .prop_map(move |actions| DatagramLayout { seats, actions })
        })
    }

    fn datagrams() -> impl Strategy<Value = (DatagramLayout, Datagram)> {
        layouts().prop_flat_map(|layout| {
            let tick = 0..TICK_LIMIT - MAX_INPUTS as u32;
            let seats = usize::from(layout.seats);
            (
                (
                    any::<u16>(),
                    0..layout.seats,
                    tick.clone(),
                    any::<u16>(),
                    any::<bool>(),
                    0..=Life::LAST.0,
                    prop_oneof![Just(0), 0..=MAX_DELAY_MS],
                    any::<u8>(),
                ),
                proptest::collection::vec(0..layout.actions, 0..=MAX_INPUTS),
                proptest::collection::vec(
                    prop_oneof![tick.prop_map(Err), (-200i32..200).prop_map(Ok)],
                    seats,
                ),
                proptest::option::of((any::<u16>(), any::<u8>())),
            )
                .prop_map(
                    move |(
                        (era, from, first, sent_ms, done, life, delay_ms, changes),
                        inputs,
                        receipts,
                        echo,
                    )| {
                        let end = first + inputs.len() as u32;
                        let near =
                            |distance| end.saturating_add_signed(distance).min(TICK_LIMIT - 1);
                        let mut have: Vec<Tick> = receipts
                            .into_iter()
                            .map(|r| Tick(r.map_or_else(|far| far, near)))
                            .collect();
                        have[usize::from(from)] = Tick(end);
                        let echo = echo.map(|(sent_ms, held_ms)| Echo { sent_ms, held_ms });
                        let (era, from, first) = (Era(era), Seat(from), Tick(first));
                        (
                            layout,
                            Datagram {
                                era,
                                from,
                                life: Life(life),
                                delay_ms,
                                changes,
                                first,
                                inputs,
                                have,
                                sent_ms,
                                echo,
                                done,
                            },
                        )
                    },
                )
        })
    }

    proptest! {
        #[test]
        fn a_datagram_survives_the_wire((layout, datagram) in datagrams()) {
            let mut bytes = vec![1, 2, 3];
            datagram.encode(layout, &mut bytes);
            prop_assert!(bytes.len() <= MAX_DATAGRAM);
            prop_assert_eq!(Datagram::decode(&bytes, layout), Ok(datagram));
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_canonical(layout in layouts(), mut bytes in proptest::collection::vec(any::<u8>(), 0..200), right in any::<bool>()) {
            if let (true, Some(head)) = (right, bytes.first_mut()) {
                *head = VERSION | *head & 0xf0;
            }
            if let Ok(datagram) = Datagram::decode(&bytes, layout) {
                let mut again = Vec::new();
                datagram.encode(layout, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn a_damaged_datagram_is_refused_or_canonical((layout, datagram) in datagrams(), at in any::<prop::sample::Index>(), flip in 1u8..) {
            let mut bytes = Vec::new();
            datagram.encode(layout, &mut bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if let Ok(damaged) = Datagram::decode(&bytes, layout) {
                let mut again = Vec::new();
                damaged.encode(layout, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn a_byte_more_or_less_is_refused((layout, datagram) in datagrams(), more in any::<u8>()) {
            let mut bytes = Vec::new();
            datagram.encode(layout, &mut bytes);
            bytes.push(more);
            prop_assert!(Datagram::decode(&bytes, layout).is_err());
            bytes.truncate(bytes.len() - 2);
            prop_assert!(Datagram::decode(&bytes, layout).is_err());
        }
    }

    const PAIR: DatagramLayout = DatagramLayout {
        seats: 2,
        actions: 6,
    };

    fn steady() -> Datagram {
        Datagram {
            era: Era(7),
            from: Seat(1),
            life: Life(5),
            delay_ms: 0,
            changes: 3,
            first: Tick(500),
            inputs: vec![0, 0, 3, 3],
            have: vec![Tick(502), Tick(504)],
            sent_ms: 40_000,
            echo: Some(Echo {
                sent_ms: 1_000,
                held_ms: 12,
            }),
            done: false,
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_table() {
        let mut bytes = Vec::new();
        steady().encode(PAIR, &mut bytes);
        // Inputs: same, same, other + 011, same = bits 1 1 0 110 1 from the lowest.
        assert_eq!(
            bytes,
            [
                0x16,
                7,
                0,
                5,
                3,
                0xf4,
                1,
                0,
                0x44,
                0xfe,
                0x40,
                0x9c,
                0xe8,
                3,
                12,
                0b0101_1011
            ]
        );
    }

    #[test]
    fn two_players_in_steady_state_need_at_most_30_bytes() {
        // A round trip of 200 ms at 60 Hz leaves 14 inputs in flight, here all different from the one before.
        let inputs = (0..14).map(|i| 1 + i % 5).collect();
        let datagram = Datagram { inputs, ..steady() };
        let mut bytes = Vec::new();
        datagram.encode(PAIR, &mut bytes);
        assert!(bytes.len() <= 30, "{} bytes", bytes.len());
    }

    #[test]
    fn out_of_range_is_refused() {
        let mut bytes = Vec::new();
        steady().encode(PAIR, &mut bytes);
        let refused = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            Datagram::decode(&bytes, PAIR)
        };
        assert_eq!(refused(0, 0x11), Err(DecodeError::Version { found: 1 }));
        assert_eq!(refused(0, 0x26), Err(MALFORMED), "seat 2 of 2");
        assert_eq!(refused(8, 0x40 | 41), Err(MALFORMED), "41 inputs");
        assert_eq!(refused(15, 0b0111_0011), Err(MALFORMED), "action 6 of 6");
        assert_eq!(
            refused(15, 0b1101_1011),
            Err(MALFORMED),
            "a bit after the last input"
        );
    }
}
