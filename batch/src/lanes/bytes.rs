//! A byte for each of sixty-four lanes, and what is done with them.
//!
//! Each loop over the lanes has no dependence between them, so that the compiler makes vector instructions of it.
//! A mask is a byte of ones or of zeros.

/// Instances of a block.
pub(super) const LANES: usize = 64;

/// A byte a lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Bytes(pub(super) [u8; LANES]);

impl Default for Bytes {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Bytes {
    pub(super) const ZERO: Self = Self([0; LANES]);

    /// Checks whether any lane has a byte that is not 0.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.0.iter().fold(0, |any, &byte| any | byte) != 0
    }

    /// The lanes whose byte is not 0; quick where there are few.
    #[inline(always)]
    pub(super) fn set(&self) -> impl Iterator<Item = usize> {
        let (words, _) = self.0.as_chunks::<8>();
        let full = |&(_, word): &(usize, &[u8; 8])| *word != [0; 8];
        words
            .iter()
            .enumerate()
            .filter(full)
            .flat_map(|(number, word)| {
                let set = word.iter().enumerate().filter(|(_, byte)| **byte != 0);
                set.map(move |(lane, _)| 8 * number + lane)
            })
    }
}

#[inline(always)]
pub(super) fn mask(is: bool) -> u8 {
    u8::from(is).wrapping_neg()
}

#[inline(always)]
pub(super) fn select_byte(mask: u8, yes: u8, no: u8) -> u8 {
    (yes & mask) | (no & !mask)
}

/// Calls `f` for each lane.
#[inline(always)]
pub(super) fn each_lane(mut f: impl FnMut(usize)) {
    for lane in 0..LANES {
        f(lane);
    }
}

#[inline(always)]
pub(super) fn map(f: impl FnMut(usize) -> u8) -> Bytes {
    Bytes(std::array::from_fn(f))
}

/// Where a byte is one of these.
#[inline(always)]
pub(super) fn one_of(bytes: &Bytes, these: &[u8]) -> Bytes {
    let mut any = Bytes::ZERO;
    for &this in these {
        each_lane(|lane| any.0[lane] |= mask(bytes.0[lane] == this));
    }
    any
}
