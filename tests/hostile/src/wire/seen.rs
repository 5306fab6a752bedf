//! Seen-logs, as far as an attacker wants to write them: frames that may say what never was.

/// A frame that a page claims to have shown. It knew no changes, showed nothing ahead, and was in sight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub at_ms: u32,
    pub tick: u32,
    /// For each seat, the first tick whose input was missing.
    pub have: Vec<u32>,
    /// For each seat, how many inputs came since the frame before; each is the no-op 0.
    pub fresh: Vec<usize>,
}

/// The chance of a bit, of 65,536 that it is 0, and how many bits it has seen.
#[derive(Clone, Copy)]
struct Chance(u32, u32);

const EVEN: Chance = Chance(1 << 15, 0);

/// The chances of a number.
#[derive(Clone, Copy)]
struct Odds {
    ones: [Chance; 8],
    first: [Chance; 8],
}

const FRESH_ODDS: Odds = Odds {
    ones: [EVEN; 8],
    first: [EVEN; 8],
};

/// Writes bits by their chances: a range coder of 32 bits.
struct Coder {
    bytes: Vec<u8>,
    low: u64,
    range: u32,
}

impl Coder {
    fn write_bit(&mut self, chance: &mut Chance, bit: bool) {
        let Chance(clear, seen) = *chance;
        let zeros = (self.range >> 12) * (clear >> 4);
        let by = |distance: u32| distance / (seen + 2);
        match bit {
            true => {
                self.low += u64::from(zeros);
                self.range -= zeros;
                chance.0 -= by(clear);
            }
            false => {
                self.range = zeros;
                chance.0 += by(0xffff - clear);
            }
        }
        chance.1 = (seen + 1).min(60);
        while self.range < 1 << 24 {
            self.write_byte();
            self.range <<= 8;
        }
    }

    /// Writes the highest byte of the low end; what is beyond 32 bits goes into the bytes before.
    fn write_byte(&mut self) {
        if self.low >> 32 != 0 {
            for byte in self.bytes.iter_mut().rev() {
                *byte = byte.wrapping_add(1);
                if *byte != 0 {
                    break;
                }
            }
        }
        self.bytes.push((self.low >> 24) as u8);
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    fn write_number(&mut self, odds: &mut Odds, number: u64) {
        let code = number + 1;
        let length = code.ilog2() as usize;
        for at in 0..=length {
            self.write_bit(&mut odds.ones[at.min(7)], at < length);
        }
        for at in (0..length).rev() {
            let bit = code >> at & 1 == 1;
            match at + 1 == length {
                true => self.write_bit(&mut odds.first[length.min(7)], bit),
                false => self.write_bit(&mut { EVEN }, bit),
            }
        }
    }

    fn write_signed(&mut self, odds: &mut Odds, number: i64) {
        self.write_number(odds, ((number << 1) ^ (number >> 63)) as u64);
    }

    /// The highest byte of the lowest multiple of 2²⁴ in the range, and no zeros at the end.
    fn finish(mut self) -> Vec<u8> {
        self.low = self.low.next_multiple_of(1 << 24);
        self.write_byte();
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

/// The odds that a signed number has by the one before.
fn after(signed: i64) -> usize {
    match signed {
        0 => 0,
        1 => 1,
        -1 => 2,
        _ => 3,
    }
}

/// A chunk of frames.
pub(crate) fn write_chunk(frames: &[Frame], seats: usize) -> Vec<u8> {
    let mut coder = Coder {
        bytes: Vec::new(),
        low: 0,
        range: u32::MAX,
    };
    let mut head = FRESH_ODDS;
    coder.write_number(&mut head, frames.len() as u64);
    let Some(first) = frames.first() else {
        return coder.finish();
    };
    coder.write_number(&mut head, first.at_ms.into());
    coder.write_number(&mut head, first.tick.into());
    let (mut later, mut ticks) = ([FRESH_ODDS; 4], [FRESH_ODDS; 4]);
    let (mut same, mut regular, mut input) = (EVEN, EVEN, EVEN);
    let (mut more, mut counts) = (FRESH_ODDS, [[FRESH_ODDS; 3]; 3]);
    let (mut at_ms, mut distance, mut last_later) = (i64::from(first.at_ms) - 17, 17, 0);
    let (mut tick, mut last_steps) = (i64::from(first.tick) - 1, 0);
    let mut have = vec![i64::from(first.tick); seats];
    let mut before = vec![[0_usize; 2]; seats];
    for frame in frames {
        let further = i64::from(frame.at_ms) - at_ms - distance;
        coder.write_signed(&mut later[after(last_later)], further);
        (last_later, distance) = (further, distance + further);
        at_ms = i64::from(frame.at_ms);
        let steps = i64::from(frame.tick) - tick - 1;
        coder.write_signed(&mut ticks[after(last_steps)], steps);
        (last_steps, tick) = (steps, i64::from(frame.tick));
        // Changes, ticks ahead, wish and sight are always the same.
        coder.write_bit(&mut same, true);
        let jumps: Vec<i64> = (0..seats)
            .map(|seat| i64::from(frame.have[seat]) - have[seat] - frame.fresh[seat] as i64)
            .collect();
        let is_regular = jumps.iter().all(|jump| *jump == 0);
        coder.write_bit(&mut regular, is_regular);
        for seat in 0..seats {
            if !is_regular {
                coder.write_signed(&mut more, jumps[seat]);
            }
            let [one, two] = before[seat].map(|count| count.min(2));
            let fresh = frame.fresh[seat];
            coder.write_number(&mut counts[one][two], fresh as u64);
            before[seat] = [fresh, before[seat][0]];
            for _ in 0..fresh {
                coder.write_bit(&mut input, true);
            }
            have[seat] = frame.have[seat].into();
        }
    }
    coder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_the_one_that_a_page_would_write() {
        let frame = |at_ms, tick, fresh: [usize; 2], have: [u32; 2]| Frame {
            at_ms,
            tick,
            have: have.to_vec(),
            fresh: fresh.to_vec(),
        };
        let frames = [
            frame(500, 5, [2, 0], [7, 5]),
            frame(517, 6, [0, 3], [7, 8]),
            frame(530, 6, [0, 0], [7, 9]),
            frame(547, 1 << 31, [1, 0], [8, 1 << 31]),
        ];
        let bytes = write_chunk(&frames, 2);
        assert_eq!(bytes, GOLDEN);
        assert!(write_chunk(&[], 2).is_empty());
    }

    /// The same frames, as a page writes them.
    const GOLDEN: [u8; 23] = [
        207, 249, 30, 165, 30, 174, 155, 40, 137, 23, 168, 236, 15, 2, 254, 162, 161, 189, 16, 3,
        225, 251, 47,
    ];
}
