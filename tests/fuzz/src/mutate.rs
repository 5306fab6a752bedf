//! Seeded mutations, for the smoke test: a fuzzing engine finds more, this finds the same every time.

use crate::seeds::Random;

/// One to eight mutations of `bytes`: flipped bits, changed, cut, repeated and inserted bytes, a splice with `other`.
pub fn mutate(bytes: &[u8], other: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random(seed | 1);
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(out.len() + 1);
        match random.below(7) {
            0 => out
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte ^= 1 << (seed % 8)),
            1 => {
                let value = [0, 1, 0x7f, 0x80, 0xff][random.below(5)];
                out.iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|byte| *byte = value);
            }
            2 => out.truncate(at),
            3 => out.insert(at, random.below(256) as u8),
            4 => drop(out.drain(at..(at + random.below(8)).min(out.len()))),
            5 => {
                let piece = out[at..(at + random.below(16)).min(out.len())].to_vec();
                drop(out.splice(at..at, piece));
            }
            _ => {
                out.truncate(at);
                out.extend(&other[random.below(other.len() + 1)..]);
            }
        }
    }
    out
}
