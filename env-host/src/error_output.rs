//! The last words of a process on its error output.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The number of bytes that are kept.
const KEPT: usize = 64 << 10;

/// The wait for the end of the output once the process has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads an output on its own thread, so that the process never waits for a reader, and keeps its end.
#[derive(Debug)]
pub(crate) struct ErrorOutput(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    kept: Mutex<Kept>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    ended: bool,
}

impl ErrorOutput {
    pub(crate) fn read(mut output: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                let count = output.read(&mut chunk).unwrap_or(0);
                let mut kept = writer.kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.bytes.extend(&chunk[..count]);
                let surplus = kept.bytes.len().saturating_sub(KEPT);
                kept.bytes.drain(..surplus);
                if count == 0 {
                    kept.ended = true;
                    writer.ended.notify_all();
                    return;
                }
            }
        });
        Self(shared)
    }

    /// Everything so far, at most the last 64 KiB.
    pub(crate) fn text(&self) -> String {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.bytes.make_contiguous()).into_owned()
    }

    /// The text after the end of the process.
    pub(crate) fn last_text(&self) -> String {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A grandchild may hold the output open: then this is all there is.
        let waited = self
            .0
            .ended
            .wait_timeout_while(kept, PATIENCE, |kept| !kept.ended);
        drop(waited);
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let long: Vec<u8> = (0..KEPT * 3).map(|at| b'a' + (at / KEPT) as u8).collect();
        let text = ErrorOutput::read(std::io::Cursor::new(long)).last_text();
        assert_eq!(text, "c".repeat(KEPT));
    }
}
