//! Ours and GGRS in the same toy world, on the same simulated network, in one run.
//!
//! GGRS 0.13 is unmodified. It reads its own clocks. Where these are a page's clocks, as in the wasm build, the caller
//! gives it virtual ones through [`Clocks`], and whole matches pass in virtual time.

pub(crate) mod arena;
pub(crate) mod figures;
pub(crate) mod ours;
pub(crate) mod theirs;
pub(crate) mod tick;

/// The clocks of the host.
#[derive(Clone, Copy)]
pub(crate) struct Clocks {
    /// Real time, nanoseconds.
    pub(crate) real_ns: fn() -> f64,
    /// Sets the time that everybody's clocks show from now on, virtual microseconds.
    pub(crate) set_us: fn(u64),
}

/// The value in the middle.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value below which this share of the values lies.
pub(crate) fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * part) as usize;
    values[at.min(values.len() - 1)]
}
