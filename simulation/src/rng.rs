//! Random numbers: one generator a purpose, so that a change in one place does not turn all others.

/// A source of random numbers for one purpose.
#[derive(Clone, Debug)]
pub struct SeededRng(env_core::rng::Rng);

impl SeededRng {
    /// The source of a seed for a purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a, so that purposes lie far apart.
        let mixed = purpose
            .bytes()
            .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self(env_core::rng::Rng::new(mixed))
    }

    /// 64 random bits.
    pub fn draw_bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `bound`; 0 if the bound is 0.
    pub fn draw_below(&mut self, bound: u64) -> u64 {
        u64::from(self.0.below(u32::try_from(bound).unwrap_or(u32::MAX)))
    }

    /// A number from `least` to `most`.
    pub fn draw_between(&mut self, least: u64, most: u64) -> u64 {
        least + self.draw_below(most.saturating_sub(least) + 1)
    }

    /// True in this many of 10,000 cases.
    pub fn happens(&mut self, per_ten_thousand: u32) -> bool {
        self.0.below(10_000) < per_ten_thousand
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.draw_below(n) == 0
    }

    /// One of the items.
    ///
    /// # Panics
    /// There is none.
    pub fn draw_item<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.draw_below(items.len() as u64) as usize]
    }
}
