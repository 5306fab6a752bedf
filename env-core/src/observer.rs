//! Observations for batches: updated, one byte per value, all seats together.
//!
//! The batch engine needs these for thousands of instances. The author of an environment need not know them:
//! [`BatchObserver`] has a default for each, and grids have fast ones.

use alloc::vec;

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
    /// Equal to [`Environment::observe`] for each or, if `fresh` (`out` holds earlier ones), [`BatchObserver::refresh`].
    fn observe_all(&self, state: &Self::State, seats: usize, fresh: bool, out: &mut [f32]) {
        let rows = out.chunks_exact_mut((out.len() / seats).max(1)).enumerate();
        rows.for_each(|(seat, out)| match fresh {
            true => self.refresh(state, seat, out),
            false => self.observe(state, seat, out),
        });
    }

    /// [`BatchObserver::observe_all`] for the compact form.
    fn observe_all_compact(&self, state: &Self::State, seats: usize, fresh: bool, out: &mut [i8]) {
        let rows = out.chunks_exact_mut((out.len() / seats).max(1)).enumerate();
        rows.for_each(|(seat, out)| match fresh {
            true => self.refresh_compact(state, seat, out),
            false => self.observe_compact(state, seat, out),
        });
    }
}
