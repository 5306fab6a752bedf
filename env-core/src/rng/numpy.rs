//! NumPy's default generator, as far as CoGrid draws from it: `SeedSequence`, PCG64 (XSL-RR 128/64),
//! `Generator.integers` and `Generator.permutation`.
//!
//! Source: NumPy 2.4, `numpy/random/bit_generator.pyx`, `src/pcg64` and `src/distributions`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;

/// `numpy.random.default_rng(seed)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    state: u128,
    #[serde(deserialize_with = "odd")]
    increment: u128,
    /// The high half of a word of which the low half was given out.
    half: Option<u32>,
}

/// An even increment, which no seed gives, may let the generator stand still.
fn odd<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    let increment = u128::deserialize(deserializer)?;
    match increment & 1 {
        1 => Ok(increment),
        _ => Err(D::Error::custom("the increment of a generator is odd")),
    }
}

impl Generator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let [a, b, c, d] = seed_words(seed);
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let mut generator = Self {
            state: 0,
            increment: wide(c, d) << 1 | 1,
            half: None,
        };
        generator.advance();
        generator.state = generator.state.wrapping_add(wide(a, b));
        generator.advance();
        generator
    }

    fn advance(&mut self) {
        self.state = self
            .state
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(self.increment);
    }

    /// The next 64 bits.
    pub fn bits64(&mut self) -> u64 {
        self.advance();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// The next 32 bits: the low half of a word first, then its high half.
    pub fn bits32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.bits64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }

    /// `Generator.integers(high)`: a whole number below `high`, which is at least 1; one bound of 1 draws nothing.
    pub fn integers(&mut self, high: u64) -> u64 {
        if high <= 1 {
            return 0;
        }
        if high > u64::from(u32::MAX) {
            return self.integers64(high);
        }
        loop {
            let product = u64::from(self.bits32()) * high;
            if u64::from(product as u32) >= (1 << 32) % high {
                return product >> 32;
            }
        }
    }

    fn integers64(&mut self, high: u64) -> u64 {
        loop {
            let product = u128::from(self.bits64()) * u128::from(high);
            if product as u64 >= high.wrapping_neg() % high {
                return (product >> 64) as u64;
            }
        }
    }

    /// `Generator.permutation`, applied to a slice.
    pub fn permute<T>(&mut self, items: &mut [T]) {
        // Fisher-Yates from the top; `j` by rejection under the smallest mask of ones.
        for i in (1..items.len() as u32).rev() {
            let mask = u32::MAX >> i.leading_zeros();
            let j = loop {
                let drawn = self.bits32() & mask;
                if drawn <= i {
                    break drawn;
                }
            };
            items.swap(i as usize, j as usize);
        }
    }

    /// `Generator.random()`: a number in 0..1 with 53 bits.
    pub fn random(&mut self) -> f64 {
        (self.bits64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// `numpy.random.SeedSequence(seed).generate_state(4, uint64)`.
fn seed_words(seed: u64) -> [u64; 4] {
    let mut constant = 0x43B0_D7E5_u32;
    let mut hash = |value: u32| {
        let mixed = value ^ constant;
        constant = constant.wrapping_mul(0x931E_8875);
        let mixed = mixed.wrapping_mul(constant);
        mixed ^ mixed >> 16
    };
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(&mut hash);
    for source in 0..4 {
        for target in (0..4).filter(|&target| target != source) {
            let mixed = pool[target]
                .wrapping_mul(0xCA01_F9DD)
                .wrapping_sub(hash(pool[source]).wrapping_mul(0x4973_F715));
            pool[target] = mixed ^ mixed >> 16;
        }
    }
    let mut constant = 0x8B51_F9DD_u32;
    let mut word = |value: u32| {
        let mixed = value ^ constant;
        constant = constant.wrapping_mul(0x58F3_8DED);
        let mixed = mixed.wrapping_mul(constant);
        u64::from(mixed ^ mixed >> 16)
    };
    core::array::from_fn(|i| word(pool[2 * i % 4]) | word(pool[(2 * i + 1) % 4]) << 32)
}
