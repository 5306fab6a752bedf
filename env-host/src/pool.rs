//! Processes that are ready before an episode needs them: loading a world can take many seconds.

use std::sync::{Arc, Mutex, PoisonError};

use crate::contract::HostFault;
use crate::process::ProcessHost;

/// Opens a process with the world of the pool.
pub type OpenHost = dyn Fn() -> Result<ProcessHost, HostFault> + Send + Sync;

/// A pool of processes with the same world.
#[derive(Clone)]
pub struct HostPool {
    open: Arc<OpenHost>,
    spares: usize,
    shared: Arc<Mutex<Spares>>,
}

#[derive(Default)]
struct Spares {
    ready: Vec<ProcessHost>,
    opening: usize,
    /// The failure of the last opening that nobody has seen.
    fault: Option<HostFault>,
}

impl HostPool {
    /// Makes a pool that keeps `spares` processes ready, and immediately starts the first of them, each on its own
    /// thread.
    pub fn new(open: Arc<OpenHost>, spares: usize) -> Self {
        let pool = Self {
            open,
            spares,
            shared: Arc::default(),
        };
        pool.refill();
        pool
    }

    /// A process for an episode: one that is ready, or one that is started now.
    ///
    /// # Errors
    /// [`HostFault`] if the world cannot be loaded.
    pub fn take(&self) -> Result<ProcessHost, HostFault> {
        let ready = self.lock().ready.pop();
        let taken = match ready {
            Some(host) => Ok(host),
            None => (self.open)(),
        };
        self.refill();
        taken
    }

    /// Takes back a process after an episode; one that failed ends here.
    pub fn give_back(&self, host: ProcessHost) {
        let mut spares = self.lock();
        if host.is_sound() && spares.ready.len() < self.spares {
            spares.ready.push(host);
        }
    }

    /// The number of processes that are ready.
    pub fn count_ready(&self) -> usize {
        self.lock().ready.len()
    }

    /// The failure of the last process that was started ahead, once.
    pub fn take_fault(&self) -> Option<HostFault> {
        self.lock().fault.take()
    }

    fn refill(&self) {
        let mut spares = self.lock();
        while spares.ready.len() + spares.opening < self.spares && spares.fault.is_none() {
            spares.opening += 1;
            let pool = self.clone();
            std::thread::spawn(move || pool.open_one());
        }
    }

    fn open_one(&self) {
        let opened = (self.open)();
        let mut spares = self.lock();
        spares.opening -= 1;
        match opened {
            Ok(host) if spares.ready.len() < self.spares => spares.ready.push(host),
            Ok(_) => {}
            Err(fault) => spares.fault = Some(fault),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Spares> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
