//! Field for field.

use std::collections::BTreeMap;
use std::fmt::Debug;

use env_core::digest::Fnv1a;

use crate::host::Frame;
use crate::recording::{Record, Sparse, Step};

/// Mismatches that a report spells out.
const SHOWN: usize = 8;
/// Characters of a value in a mismatch.
const LONG: usize = 120;

/// The comparisons so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) episodes: u32,
    pub(crate) steps: u64,
    /// Fields that differed, by name.
    pub(crate) mismatches: BTreeMap<String, u64>,
    /// The first of them, in words.
    pub(crate) first: Vec<String>,
}

/// Compares at one place of a recording.
pub(crate) struct Check<'a> {
    pub(crate) place: String,
    pub(crate) tally: &'a mut Tally,
}

impl Check<'_> {
    pub(crate) fn field<T: PartialEq<U> + Debug, U: Debug>(
        &mut self,
        name: &str,
        recorded: T,
        ours: U,
    ) {
        if recorded == ours {
            return;
        }
        *self.tally.mismatches.entry(name.into()).or_default() += 1;
        if self.tally.first.len() < SHOWN {
            let (recorded, ours) = (short(&recorded), short(&ours));
            self.tally.first.push(format!(
                "{}: `{name}` recorded {recorded}, ours {ours}",
                self.place
            ));
        }
    }

    pub(crate) fn observations(&mut self, record: &Record, frame: &Frame) {
        self.looks(&record.oh, record.obs.as_deref(), frame);
    }

    /// Compares hashes of observations, and the observations themselves where they are recorded.
    pub(crate) fn looks(&mut self, hashes: &[String], whole: Option<&[Sparse]>, frame: &Frame) {
        let our_hashes: Vec<String> = frame
            .observations
            .iter()
            .map(|values| hash(values))
            .collect();
        self.field("oh", hashes, our_hashes.as_slice());
        if let Some(recorded) = whole {
            let ours: Vec<Sparse> = frame
                .observations
                .iter()
                .map(|values| sparse(values))
                .collect();
            self.field("obs", recorded, ours.as_slice());
        }
    }

    /// `common` says of each reward whether every agent gets it.
    pub(crate) fn outcome(&mut self, seats: usize, step: &Step, common: &[bool], frame: &Frame) {
        let outcome = &frame.outcome;
        self.field("r", step.r.as_slice(), &outcome.rewards[..seats]);
        self.field("te", &step.te, &bits(outcome.terminated, seats));
        self.field("tr", &step.tr, &bits(outcome.truncated, seats));
        let components = components(seats, common, frame);
        // The recordings leave out what is zero throughout.
        let any = components.iter().flatten().any(|&value| value != 0.0);
        self.field("rc", step.rc.as_ref(), any.then_some(&components));
    }
}

/// A value in a message, not longer than anyone would read.
fn short(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Bit `s` of a mask for each seat `s`.
pub(crate) fn bits(mask: u16, seats: usize) -> Vec<u8> {
    (0..seats).map(|seat| (mask >> seat & 1) as u8).collect()
}

/// Components of the reward, `[component, agent]`, from the events of a step.
fn components(seats: usize, common: &[bool], frame: &Frame) -> Vec<Vec<f32>> {
    let mut sums = vec![vec![0.0_f64; seats]; common.len()];
    for event in &frame.outcome.events {
        let kind = usize::from(event.kind);
        if let (Some(sums), Some(&common)) = (sums.get_mut(kind), common.get(kind)) {
            for (seat, sum) in sums.iter_mut().enumerate() {
                // A common reward goes to all, whoever earned it.
                if common || seat == usize::from(event.seat) {
                    *sum += f64::from(event.value);
                }
            }
        }
    }
    let rounded = |sums: Vec<f64>| sums.into_iter().map(|sum| sum as f32).collect();
    sums.into_iter().map(rounded).collect()
}

fn sparse(values: &[f32]) -> Sparse {
    let values = values.iter().copied().enumerate();
    values.filter(|&(_, value)| value != 0.0).unzip()
}

/// The hash of an observation as recorded: FNV-1a over its bytes, -0.0 as 0.0.
fn hash(values: &[f32]) -> String {
    let hash = values.iter().fold(Fnv1a::EMPTY, |hash, value| {
        hash.with(&(value + 0.0).to_le_bytes())
    });
    format!("{:016x}", hash.value())
}
