//! Numbers in fewer bits the more likely they are: an adaptive binary range coder.
//!
//! A [`Chance`] learns how often its bit is set; likely values cost almost nothing. The same code drives [`Writer`] and
//! [`Reader`], so they cannot disagree on the meaning of a bit.
//!
//! Source: Martin, "Range encoding: an algorithm for removing redundancy from a digitised message", 1979.

use crate::DecodeError;

/// A fresh chance, of 65,536.
const HALF: u16 = 1 << 15;
/// Bits of a chance that count.
const PRECISION: u32 = 12;
/// A chance remembers about this many bits.
const MEMORY: u16 = 60;
/// Below this the range is widened by a byte.
const NARROW: u32 = 1 << 24;
/// The most ones before a number: no number needs more bits.
const LONGEST: usize = 40;
/// Numbers of more bits than this share their chances.
const CLASSES: usize = 8;

/// The probability that a bit is not set, learned from the bits before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    clear: u16,
    bits: u16,
}

impl Default for Chance {
    fn default() -> Self {
        Self {
            clear: HALF,
            bits: 0,
        }
    }
}

impl Chance {
    /// The part of a range that a bit has that is not set: never none, and never all, as no chance comes nearer than
    /// [`MEMORY`] to an end.
    fn share(self, range: u32) -> u32 {
        (range >> PRECISION) * (u32::from(self.clear) >> (16 - PRECISION))
    }

    fn learn(&mut self, bit: bool) {
        let wanted = if bit { 0 } else { u16::MAX };
        let by = self.clear.abs_diff(wanted) / (self.bits + 2);
        if bit {
            self.clear -= by;
        } else {
            self.clear += by;
        }
        self.bits = (self.bits + 1).min(MEMORY);
    }
}

/// The chances of a number: of the ones before it and the 0 that ends them, and of the bit after its highest one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number {
    length: [Chance; CLASSES],
    next: [Chance; CLASSES],
}

/// Writes or reads bits: it returns the bit at this position, and a [`Writer`] first writes the bit that it gets.
pub(super) trait Coder {
    /// True if it finds what was written.
    const READS: bool;

    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool;

    /// An Elias gamma code: as many ones as the number plus one has bits after its highest one, a 0, then these bits.
    fn number(&mut self, model: &mut Number, number: u64) -> Result<u64, DecodeError> {
        let code = number + 1;
        let length = code.ilog2() as usize;
        let mut ones = 0;
        while self.bit(&mut model.length[ones.min(CLASSES - 1)], ones < length) {
            ones += 1;
            if ones > LONGEST {
                return Err(super::MALFORMED);
            }
        }
        let mut read = 1;
        for at in (0..ones).rev() {
            let next = &mut model.next[ones.min(CLASSES - 1)];
            let mut even = Chance::default();
            let chance = if at + 1 == ones { next } else { &mut even };
            read = read << 1 | u64::from(self.bit(chance, code >> at & 1 == 1));
        }
        Ok(read - 1)
    }

    /// A number that is zigzagged first.
    fn signed(&mut self, model: &mut Number, number: i64) -> Result<i64, DecodeError> {
        let number = self.number(model, (number << 1 ^ number >> 63).cast_unsigned())?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    low: u32,
    range: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.clear();
        Self {
            out,
            low: 0,
            range: u32::MAX,
        }
    }

    fn add(&mut self, more: u32) {
        let (low, is_carried) = self.low.overflowing_add(more);
        self.low = low;
        let mut bytes = self.out.iter_mut().rev();
        let mut carry = is_carried;
        while carry && let Some(byte) = bytes.next() {
            (*byte, carry) = byte.overflowing_add(1);
        }
    }

    fn shift(&mut self) {
        self.out.push((self.low >> 24) as u8);
        self.low <<= 8;
    }

    /// Writes the lowest end that has no more than a byte, without zeros, which a reader takes to follow.
    pub(super) fn finish(mut self) {
        let end = NARROW - 1;
        if self.low & end != 0 {
            self.add(NARROW - (self.low & end));
        }
        self.shift();
        while self.out.last() == Some(&0) {
            self.out.pop();
        }
    }
}

impl Coder for Writer<'_> {
    const READS: bool = false;

    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool {
        let share = chance.share(self.range);
        if bit {
            self.add(share);
            self.range -= share;
        } else {
            self.range = share;
        }
        while self.range < NARROW {
            self.shift();
            self.range <<= 8;
        }
        chance.learn(bit);
        bit
    }
}

pub(super) struct Reader<'a> {
    bytes: std::slice::Iter<'a, u8>,
    code: u32,
    range: u32,
    /// Zeros that were read after the last byte.
    zeros: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut reader = Self {
            bytes: bytes.iter(),
            code: 0,
            range: u32::MAX,
            zeros: 0,
        };
        (0..4).for_each(|_| reader.shift());
        reader
    }

    fn shift(&mut self) {
        let byte = self.bytes.next().copied();
        self.zeros += usize::from(byte.is_none());
        self.code = self.code << 8 | u32::from(byte.unwrap_or(0));
    }

    /// Tells if [`Writer::finish`] writes the bytes that were read, but for zeros at the end, after what was read: the
    /// lowest number of the range that has one byte more.
    pub(super) fn is_at_end(&self) -> bool {
        self.zeros >= 3 && self.code < NARROW
    }
}

impl Coder for Reader<'_> {
    const READS: bool = true;

    fn bit(&mut self, chance: &mut Chance, _: bool) -> bool {
        let share = chance.share(self.range);
        let bit = self.code >= share;
        if bit {
            self.code -= share;
            self.range -= share;
        } else {
            self.range = share;
        }
        while self.range < NARROW {
            self.shift();
            self.range <<= 8;
        }
        chance.learn(bit);
        bit
    }
}
