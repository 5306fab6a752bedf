//! The trace of a run, line by line, if somebody wants it.

/// The lines, or a checksum of nothing.
#[derive(Debug, Default)]
pub struct Trace {
    wanted: bool,
}

impl Trace {
    /// A trace that prints its lines if they are wanted.
    pub fn new(wanted: bool) -> Self {
        Self { wanted }
    }

    /// Prints a line.
    pub fn line(&self, now_us: u64, line: impl FnOnce() -> String) {
        if self.wanted {
            println!("{:>10.3} ms  {}", now_us as f64 / 1_000.0, line());
        }
    }
}
