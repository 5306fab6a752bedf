//! Observations for batches: updated, one byte per value, all seats together.
//!
//! The batch engine needs these for thousands of instances. The author of an environment need not know them:
//! [`BatchObserver`] has a default for each, and grids have fast ones.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::contract::Environment;

/// An environment that a batch observes.
pub trait BatchObserver: Environment {
    /// Brings an observation up to date: `out` holds an earlier one of the same seat, under the same parameters.
    /// Equal to [`Environment::observe`], which it is by default; an environment may leave out what never changes.
    fn refresh(&self, state: &Self::State, seat: usize, out: &mut [f32]) {
        self.observe(state, seat, out);
    }

    /// Writes the observation of a seat, one byte per value; only if [`crate::Spec::compact`] says so.
    fn observe_compact(&self, state: &Self::State, seat: usize, out: &mut [i8]) {
        let mut values = vec![0.0; out.len()];
        self.observe(state, seat, &mut values);
        for (byte, value) in out.iter_mut().zip(values) {
            *byte = value as i8;
        }
    }

    /// [`BatchObserver::refresh`] for the compact form.
    fn refresh_compact(&self, state: &Self::State, seat: usize, out: &mut [i8]) {
        self.observe_compact(state, seat, out);
    }

    /// Writes the observations of this many seats together, `[seat, value]`; an environment may share work among them.
    /// Equal to [`Environment::observe`] for each. With a trail that knows what `out` holds, an environment may leave
    /// out what does not change.
    fn observe_all(
        &self,
        state: &Self::State,
        seats: usize,
        trail: Option<&mut Trail<f32>>,
        out: &mut [f32],
    ) {
        let follows = trail.is_some_and(Trail::follow);
        let rows = out.chunks_exact_mut((out.len() / seats).max(1)).enumerate();
        rows.for_each(|(seat, out)| match follows {
            true => self.refresh(state, seat, out),
            false => self.observe(state, seat, out),
        });
    }

    /// [`BatchObserver::observe_all`] for the compact form.
    fn observe_all_compact(
        &self,
        state: &Self::State,
        seats: usize,
        trail: Option<&mut Trail<i8>>,
        out: &mut [i8],
    ) {
        let follows = trail.is_some_and(Trail::follow);
        let rows = out.chunks_exact_mut((out.len() / seats).max(1)).enumerate();
        rows.for_each(|(seat, out)| match follows {
            true => self.refresh_compact(state, seat, out),
            false => self.observe_compact(state, seat, out),
        });
    }
}

/// The memory of an array of observations that one instance writes again and again, and nobody else changes: whether
/// it holds an earlier observation, and the values of it that steps change.
#[derive(Clone, Debug, Default)]
pub struct Trail<V> {
    holds: Holds,
    /// Where a value was changed, and the value below, in order.
    marks: Vec<(u32, V)>,
}

/// The contents of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Holds {
    #[default]
    Unknown,
    /// An earlier observation.
    Earlier,
    /// The marks over the values that no step changes; there may be several such grounds, by number.
    Ground(u8),
}

/// The fewest and the most marks that a trail has room for: an observation with more is written whole next time.
const ROOM: [usize; 2] = [64, 1024];

/// An observation of at most so many bytes is copied faster than marks are taken back.
const FEW_BYTES: usize = 1_024;

impl<V: Copy> Trail<V> {
    /// A trail of observations with this many values for each seat, if it makes them faster.
    pub(crate) fn worth(trail: Option<&mut Self>, values: usize) -> Option<&mut Self> {
        trail.filter(|_| values * size_of::<V>() > FEW_BYTES)
    }

    /// Forgets the array: it is written whole next time.
    pub fn forget(&mut self) {
        self.holds = Holds::Unknown;
    }

    /// Checks whether the array holds an earlier observation, and notes that it will.
    pub fn follow(&mut self) -> bool {
        core::mem::replace(&mut self.holds, Holds::Earlier) != Holds::Unknown
    }

    /// Takes the marks back, last first; true if nothing but this ground is left, otherwise it must be written now.
    pub(crate) fn take_back(&mut self, ground: u8, out: &mut [V]) -> bool {
        let is_left = self.holds == Holds::Ground(ground);
        if is_left {
            for &(place, value) in self.marks.iter().rev() {
                if let Some(there) = out.get_mut(place as usize) {
                    *there = value;
                }
            }
        }
        self.marks.clear();
        self.marks.reserve((out.len() / 4).clamp(ROOM[0], ROOM[1]));
        self.holds = Holds::Ground(ground);
        is_left
    }

    /// Notes a value that is about to be changed.
    #[inline]
    pub(crate) fn note(&mut self, place: usize, value: V) {
        if self.marks.len() < self.marks.capacity() {
            self.marks.push((place as u32, value));
        } else {
            self.holds = Holds::Earlier;
        }
    }
}

/// Changes the values of observations, and notes them in a trail if there is one.
pub(crate) struct Marker<'a, V> {
    out: &'a mut [V],
    trail: Option<&'a mut Trail<V>>,
    /// Where the first observation begins in the array, and the distance to the next.
    first: usize,
    step: usize,
    /// The observations that are changed alike, by number.
    alike: Range<usize>,
}

impl<'a, V: Copy> Marker<'a, V> {
    /// Changes one observation, which is the whole array.
    pub(crate) fn new(out: &'a mut [V]) -> Self {
        Self::of_all(out, None, [0, 0], 1)
    }

    /// Changes this many observations alike, of which the first begins somewhere, and the others at equal distances.
    pub(crate) fn of_all(
        out: &'a mut [V],
        trail: Option<&'a mut Trail<V>>,
        [first, step]: [usize; 2],
        count: usize,
    ) -> Self {
        Self {
            out,
            trail,
            first,
            step,
            alike: 0..count,
        }
    }

    /// Changes one of them alone from now on.
    pub(crate) fn turn_to(&mut self, number: usize) {
        self.alike = number..number + 1;
    }

    /// Changes a value of each, if it is there.
    #[inline]
    pub(crate) fn change(&mut self, place: usize, change: impl Fn(&mut V)) {
        for number in self.alike.clone() {
            let place = self.first + number * self.step + place;
            if let Some(value) = self.out.get_mut(place) {
                if let Some(trail) = &mut self.trail {
                    trail.note(place, *value);
                }
                change(value);
            }
        }
    }
}
