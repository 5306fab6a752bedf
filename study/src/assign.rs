//! Random assignment of a participant or a group: the seed, a level of each between-factor, an order of each
//! within-factor. Pure: the same design, seed, number and counts give the same draw, on every machine and in every
//! version.
//!
//! The generator is SplitMix64, numbers below a bound come by rejection, orders by Fisher–Yates; there is no float.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::{Assign, Design, LevelOrder, Pool, Quota, Unit, Within};

/// The assignment of a unit. It is stored with the unit, and never drawn again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnitAssignment {
    /// The seed by which blocks are shuffled and chosen.
    pub seed: u64,
    /// Name of the level, by factor.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// Names of the levels in their order, by factor.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub orders: BTreeMap<String, Vec<String>>,
    /// Number of the sequence that an order is, for factors whose sequences are balanced.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sequences: BTreeMap<String, u16>,
    /// For a group that its lobby completes with an AI partner drawn by the study: the name of that partner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
}

impl UnitAssignment {
    /// The name of the treatment by these factors, as [`Design::treatment_name`] has it: their levels with slashes
    /// between, in the order of the factors.
    pub fn treatment_name<'a>(&self, factors: impl IntoIterator<Item = &'a str>) -> String {
        let levels = factors
            .into_iter()
            .filter_map(|name| self.levels.get(name).map(String::as_str));
        levels.collect::<Vec<_>>().join("/")
    }
}

/// The assignment of a participant, and of each group that they were in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Their own draw.
    pub own: UnitAssignment,
    /// The draw of a group, by the position of the lobby that made it in the participant's route.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<u16, UnitAssignment>,
}

/// The number of units that have a treatment, or a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Units that completed the study.
    pub completed: u32,
    /// Units that may still do so.
    pub under_way: u32,
}

impl Fill {
    fn places(self) -> u32 {
        self.completed.saturating_add(self.under_way)
    }

    /// The fewest places taken come first, then the fewest completed.
    fn rank(self) -> (u32, u32) {
        (self.places(), self.completed)
    }
}

/// The number of units with each draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By the levels between units, then the numbers of sequences.
    cells: BTreeMap<(Vec<String>, Vec<u16>), Fill>,
}

/// The state of a unit that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It completed the study.
    Completed,
    /// It may still do so.
    UnderWay,
}

/// No place is left: the quota is reached, or those under way may reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the study is full")]
pub struct StudyFull;

impl Counts {
    /// Counts a unit. Abandoned units and tests do not count: leave them out.
    pub fn add(&mut self, design: &Design, draw: &UnitAssignment, standing: Standing) {
        let level = |name: &str| draw.levels.get(name).cloned().unwrap_or_default();
        let levels = design.between.iter().map(|factor| level(&factor.name));
        let row = |name: &String| draw.sequences.get(name).copied().unwrap_or(0);
        let pools = design.pools.iter().map(|pool| row(&pool.name));
        let sequences = balanced(design)
            .map(|factor| row(&factor.name))
            .chain(pools);
        let fill = self
            .cells
            .entry((levels.collect(), sequences.collect()))
            .or_default();
        match standing {
            Standing::Completed => fill.completed += 1,
            Standing::UnderWay => fill.under_way += 1,
        }
    }

    /// All units with these levels between units, in the order of the factors.
    pub fn fill_of(&self, levels: &[String]) -> Fill {
        self.fill(Some(levels), &[])
    }

    /// All units with these levels and with sequences that begin so.
    fn fill(&self, levels: Option<&[String]>, sequences: &[u16]) -> Fill {
        self.fill_where(levels, |having| having.starts_with(sequences))
    }

    /// All units with these levels and with sequences that are meant.
    fn fill_where(&self, levels: Option<&[String]>, is_meant: impl Fn(&[u16]) -> bool) -> Fill {
        let cells = self.cells.iter().filter(|((of, having), _)| {
            levels.is_none_or(|levels| of == levels) && is_meant(having)
        });
        cells.fold(Fill::default(), |sum, (_, fill)| Fill {
            completed: sum.completed.saturating_add(fill.completed),
            under_way: sum.under_way.saturating_add(fill.under_way),
        })
    }
}

/// The factors whose sequences are balanced.
fn balanced(design: &Design) -> impl Iterator<Item = &Within> {
    let within = design.within.iter();
    within.filter(|factor| matches!(factor.order, LevelOrder::Latin | LevelOrder::Williams))
}

/// Draws for a unit: the `number`-th of its kind, from 0, by the seed of the study. If the design has nothing for units
/// of this kind, that is a seed alone. `counts` has the units of this kind, by [`Design::of`] of it.
///
/// # Errors
/// [`StudyFull`] if no treatment has a place left.
pub fn assign(
    design: &Design,
    unit: Unit,
    seed: u64,
    number: u64,
    counts: &Counts,
) -> Result<UnitAssignment, StudyFull> {
    let mut rng = Rng::of(seed, &[unit as u64, number]);
    let mut draw = UnitAssignment {
        seed: rng.draw_bits(),
        ..UnitAssignment::default()
    };
    if design.is_nothing_for(unit) {
        return Ok(draw);
    }
    let design = &design.of(unit);
    let treatment = treatment(design, seed, number, counts, &mut rng)?;
    let level =
        |(factor, level): (&crate::design::Between, &usize)| factor.levels[*level].name.clone();
    let levels: Vec<String> = design.between.iter().zip(&treatment).map(level).collect();
    let mut sequences: Vec<u16> = Vec::new();
    for factor in balanced(design) {
        let all = rows(factor.order, factor.levels.len());
        let fill = |row: u16| {
            let mut known = sequences.clone();
            known.push(row);
            counts.fill(Some(&levels), &known)
        };
        let row = least((0..all).map(|row| (fill(row), row)), &mut rng);
        sequences.push(row);
        draw.sequences.insert(factor.name.clone(), row);
    }
    for factor in &design.within {
        let name = |level: usize| factor.levels[level].name.clone();
        let mut order: Vec<usize> = (0..factor.levels.len()).collect();
        match (factor.order, draw.sequences.get(&factor.name)) {
            (LevelOrder::Random, _) => rng.shuffle(&mut order),
            (_, Some(row)) => order = level_sequence(factor.order, order.len(), usize::from(*row)),
            _ => {}
        }
        draw.orders
            .insert(factor.name.clone(), order.into_iter().map(name).collect());
    }
    draw_pools(design, counts, &levels, &mut draw, &mut rng);
    let names = design.between.iter().map(|factor| factor.name.clone());
    draw.levels = names.zip(levels).collect();
    Ok(draw)
}

/// Draws an order of the members of each pool. The first member is the one that the fewest units with these levels have
/// first, whatever they have of the other pools.
fn draw_pools(
    design: &Design,
    counts: &Counts,
    levels: &[String],
    draw: &mut UnitAssignment,
    rng: &mut Rng,
) {
    let before = balanced(design).count();
    for (at, Pool { name, members, .. }) in design.pools.iter().enumerate() {
        let all = rows(LevelOrder::Latin, members.len());
        let fill = |row: u16| {
            counts.fill_where(Some(levels), |having| having.get(before + at) == Some(&row))
        };
        let row = least((0..all).map(|row| (fill(row), row)), rng);
        let order = level_sequence(LevelOrder::Latin, members.len(), usize::from(row));
        let order = order.into_iter().map(|member| members[member].name.clone());
        draw.orders.insert(name.clone(), order.collect());
        draw.sequences.insert(name.clone(), row);
    }
}

/// Returns the number of units that are still wanted, beyond those that have completed or are under way; `None` without
/// a quota.
pub fn places_left(design: &Design, counts: &Counts) -> Option<u32> {
    let design = &design.of(design.unit);
    match &design.quota {
        Quota::None => None,
        Quota::Total(most) => Some(most.saturating_sub(counts.fill(None, &[]).places())),
        Quota::Each(most) => {
            let cells = open(design, counts).into_iter();
            let taken = |cell: &[usize]| {
                let all = design.list_treatments();
                all.iter().position(|known| known == cell)
            };
            let left = cells.filter_map(|(cell, fill)| {
                let most = most.get(taken(&cell)?)?;
                Some(most.saturating_sub(fill.places()))
            });
            Some(left.sum())
        }
    }
}

/// Returns whether the treatment of a unit has a place left, by the counts of the others.
pub fn has_place(design: &Design, counts: &Counts, draw: &UnitAssignment) -> bool {
    let design = &design.of(design.unit);
    let is_own = |cell: &[usize]| {
        let mut levels = design.between.iter().zip(cell);
        levels.all(|(factor, level)| {
            draw.levels.get(&factor.name) == Some(&factor.levels[*level].name)
        })
    };
    match &design.quota {
        Quota::Each(_) => open(design, counts).iter().any(|(cell, _)| is_own(cell)),
        Quota::None | Quota::Total(_) => places_left(design, counts) != Some(0),
    }
}

/// The treatments that have a place left, and how filled each is.
fn open(design: &Design, counts: &Counts) -> Vec<(Vec<usize>, Fill)> {
    let names = |cell: &[usize]| {
        let levels = design.between.iter().zip(cell);
        levels
            .map(|(factor, level)| factor.levels[*level].name.clone())
            .collect::<Vec<_>>()
    };
    let all = counts.fill(None, &[]).places();
    let cells = design.list_treatments().into_iter().enumerate();
    let cells = cells.map(|(index, cell)| {
        let fill = counts.fill(Some(&names(&cell)), &[]);
        (index, cell, fill)
    });
    let cells = cells.filter(|(index, _, fill)| match &design.quota {
        Quota::None => true,
        Quota::Total(most) => all < *most,
        Quota::Each(most) => most.get(*index).is_none_or(|most| fill.places() < *most),
    });
    cells.map(|(_, cell, fill)| (cell, fill)).collect()
}

/// Draws the treatment of a unit. Factors that are drawn come first, then those of permuted blocks, then the least
/// filled of the remaining treatments.
fn treatment(
    design: &Design,
    seed: u64,
    number: u64,
    counts: &Counts,
    rng: &mut Rng,
) -> Result<Vec<usize>, StudyFull> {
    let mut cells = open(design, counts);
    if cells.is_empty() {
        return Err(StudyFull);
    }
    for (at, factor) in design.between.iter().enumerate() {
        if factor.assign == Assign::Random {
            let mut levels: Vec<usize> = cells.iter().map(|(cell, _)| cell[at]).collect();
            levels.sort_unstable();
            levels.dedup();
            let level = levels[rng.draw_below(levels.len())];
            cells.retain(|(cell, _)| cell[at] == level);
        }
    }
    let of_block = |cell: &[usize]| -> Vec<usize> {
        let factors = design.between.iter().zip(cell);
        let blocks = factors.filter(|(factor, _)| factor.assign == Assign::Block);
        blocks.map(|(_, level)| *level).collect()
    };
    let mut parts: Vec<Vec<usize>> = design
        .list_treatments()
        .iter()
        .map(|cell| of_block(cell))
        .collect();
    parts.sort();
    parts.dedup();
    let (block, turn) = (number / parts.len() as u64, number % parts.len() as u64);
    Rng::of(seed, &[BLOCKS, block]).shuffle(&mut parts);
    // The treatment whose turn it is; if it is full, the next one.
    parts.rotate_left(turn as usize);
    let is_open = |part: &&Vec<usize>| cells.iter().any(|(cell, _)| of_block(cell) == **part);
    if let Some(part) = parts.iter().find(is_open).cloned() {
        cells.retain(|(cell, _)| of_block(cell) == part);
    }
    Ok(least(
        cells.into_iter().map(|(cell, fill)| (fill, cell)),
        rng,
    ))
}

/// Purpose of a generator: permuted blocks; 0 and 1 are the units.
const BLOCKS: u64 = 2;
/// Completion codes.
pub(crate) const CODES: u64 = 3;
/// The numbers that participants take along.
pub(crate) const RECEIPTS: u64 = 4;

/// One of the least filled, evenly.
fn least<T>(of: impl Iterator<Item = (Fill, T)>, rng: &mut Rng) -> T {
    let mut all: Vec<(Fill, T)> = of.collect();
    let fewest = all.iter().map(|(fill, _)| fill.rank()).min();
    all.retain(|(fill, _)| Some(fill.rank()) == fewest);
    let chosen = rng.draw_below(all.len());
    all.swap_remove(chosen).1
}

/// Returns the number of sequences of a balanced order of this many levels.
pub fn rows(order: LevelOrder, levels: usize) -> u16 {
    let twice = order == LevelOrder::Williams && levels % 2 == 1;
    u16::try_from(if twice { 2 * levels } else { levels }).unwrap_or(u16::MAX)
}

/// A sequence of a balanced order: a Latin square is cyclic, or Bradley's if the number of levels is even, as only then
/// neighbours are balanced too; a Williams design has as many sequences as levels, or twice as many if that is odd.
///
/// Source: Bradley, "Complete counterbalancing of immediate sequential effects in a Latin square design", 1958;
/// Williams, "Experimental designs balanced for the estimation of residual effects of treatments", 1949.
pub fn level_sequence(order: LevelOrder, levels: usize, row: usize) -> Vec<usize> {
    if order == LevelOrder::Latin && levels % 2 == 1 {
        return (0..levels).map(|at| (at + row) % levels).collect();
    }
    // 0, 1, n-1, 2, n-2, …: every difference between neighbours once.
    let step = |at: usize| match at % 2 {
        0 => (levels - at / 2) % levels,
        _ => at.div_ceil(2),
    };
    let shifted = (0..levels).map(|at| (step(at) + row) % levels);
    // The second half of an odd design mirrors the first.
    if row >= levels {
        shifted.rev().collect()
    } else {
        shifted.collect()
    }
}

/// The generator of everything that is drawn: SplitMix64.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Makes the generator for a seed and a purpose.
    pub fn of(seed: u64, keys: &[u64]) -> Self {
        keys.iter()
            .fold(Self(seed), |mut rng, key| Self(rng.draw_bits() ^ mix(*key)))
    }

    /// The next 64 bits.
    pub fn draw_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`, evenly: numbers of the last, incomplete round are rejected. 0 if the bound is 0.
    pub fn draw_below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        let rest = (u64::MAX % bound + 1) % bound;
        loop {
            let bits = self.draw_bits();
            if bits <= u64::MAX - rest {
                return (bits % bound) as usize;
            }
        }
    }

    /// Source: Fisher–Yates, in Durstenfeld's form.
    /// Puts items into an order, any evenly.
    ///
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.draw_below(last + 1));
        }
    }
}

fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_never_change() {
        // Source: the reference implementation's outputs for seed 1234567.
        let mut rng = Rng(1_234_567);
        let first: [u64; 3] = core::array::from_fn(|_| rng.draw_bits());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        let mut order: Vec<u8> = (0..10).collect();
        Rng::of(7, &[1, 2]).shuffle(&mut order);
        assert_eq!(order, [2, 7, 0, 5, 6, 3, 8, 9, 4, 1]);
    }
}
