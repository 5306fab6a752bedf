//! An item: a principle, and an attack on it in as many variants as wanted.

use std::fmt::{Debug, Write as _};
use std::pin::Pin;

use serde::Serialize;

use crate::world::World;

/// The result of an attack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Observed {
    /// The program kept its promise.
    Held(String),
    /// The attack succeeded.
    Broken(String),
}

impl Observed {
    /// Broken if it holds; the text says what was seen in either case.
    pub(crate) fn broken_if(is_broken: bool, seen: impl Into<String>) -> Self {
        match is_broken {
            true => Self::Broken(seen.into()),
            false => Self::Held(seen.into()),
        }
    }
}

/// An attack under way.
pub(crate) type Attack<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Observed>> + 'a>>;

/// An item.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// The attack in one sentence.
    pub tries: &'static str,
    /// True if it needs the machine for itself, because it measures time or fills tables.
    pub alone: bool,
    /// Tries one variant; an error means that it could not be tried.
    pub attack: for<'a> fn(&'a mut World, &'a mut Variant) -> Attack<'a>,
}

/// One variant of an item: choices drawn by the seed, which describe it.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    origin: u64,
    seed: u64,
    number: u64,
    choices: u64,
    words: String,
}

impl Variant {
    /// The variant of an item with a number.
    pub(crate) fn new(seed: u64, item: &str, number: u64) -> Self {
        let origin = hash(seed, item);
        Self {
            origin,
            seed: hash(origin, &number.to_string()),
            number,
            choices: 0,
            words: String::new(),
        }
    }

    /// Its choices so far, in words.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// A random number of this variant.
    pub(crate) fn bits(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.seed)
    }

    /// A random number below another one.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    /// One of several. Variants that follow each other choose different ones, and once all were chosen they meet other
    /// ones of the choices before.
    pub(crate) fn choose<T: Copy + Debug>(&mut self, what: &str, among: &[T]) -> T {
        let length = among.len() as u64;
        let start = hash(self.origin, what) % length;
        let turn = self.number / length * self.choices;
        let chosen = among[((start + self.number + turn) % length) as usize];
        self.choices += 1;
        self.note(what, &chosen);
        chosen
    }

    /// A number in a range, its ends included.
    pub(crate) fn draw(&mut self, what: &str, least: u64, most: u64) -> u64 {
        let drawn = least + self.below(most - least + 1);
        self.note(what, &drawn);
        drawn
    }

    fn note(&mut self, what: &str, value: &dyn Debug) {
        let comma = if self.words.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(self.words, "{comma}{what} {value:?}");
    }
}

/// A number that depends on a number and a text.
///
/// Source: FNV-1a, Fowler, Noll and Vo.
fn hash(number: u64, text: &str) -> u64 {
    let bytes = number.to_le_bytes().into_iter().chain(text.bytes());
    mix(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// Spreads every bit of a number over all others.
///
/// Source: SplitMix64, Steele, Lea and Flood 2014.
fn mix(number: u64) -> u64 {
    let bits = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_choose_differently_and_so_do_seeds() {
        let choose = |seed, number| {
            let mut variant = Variant::new(seed, "item", number);
            let pair = (
                variant.choose("one", &[1, 2, 3]),
                variant.choose("other", &[1, 2, 3]),
            );
            assert_eq!(variant.words(), format!("one {}, other {}", pair.0, pair.1));
            pair
        };
        let all: std::collections::BTreeSet<_> = (0..9).map(|number| choose(1, number)).collect();
        assert_eq!(all.len(), 9);
        let starts: std::collections::BTreeSet<_> = (0..30).map(|seed| choose(seed, 0)).collect();
        assert!(starts.len() > 6, "{starts:?}");
    }
}
