//! The state that all participants of a rehearsal over the real program share.

use std::sync::{Arc, Mutex};

use clock::Clock;
use study::Study;
use tokio::sync::watch;

/// The state that all participants share.
pub(crate) struct SharedState {
    /// The study.
    pub(crate) study: Arc<Study>,
    /// The clock of server and bots.
    pub(crate) clock: Clock,
    /// The address that the server listens on; `None` while it is down.
    pub(crate) address: watch::Receiver<Option<String>>,
    /// Round trips to the server, microseconds of the machine.
    pub(super) round_trips: Arc<Mutex<Vec<u64>>>,
}
