//! The state that the handlers share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clock::Clock;
use protocol::hash::is_sha256;
use server_core::arbiter::Event;
use server_core::limits::Limits;
use store::data_folder::{Bytes, EnvModule};
use study::media::Media;
use study::recruitment::Provider;
use tokio::sync::{Semaphore, mpsc};

use crate::assets::Assets;
use crate::disk::DiskRoom;
use crate::gate::ConnectionGate;
use crate::socket::Connections;

/// The state that the handlers share.
#[derive(Debug)]
pub struct App {
    /// Limits.
    pub limits: Limits,
    /// The server's clock.
    pub clock: Clock,
    /// The front end.
    pub assets: Assets,
    /// The environment modules of the study.
    pub modules: Vec<EnvModule>,
    /// Pictures and videos of the study's pages, by the end of their path.
    pub media: HashMap<String, Media>,
    /// Folder of the modules that episodes of this data folder were played with.
    pub modules_dir: PathBuf,
    /// Folder of the networks that AI partners of this data folder have played with.
    pub networks_dir: PathBuf,
    /// Open connections.
    pub connections: Arc<Connections>,
    /// The disk of the data folder.
    pub disk: Arc<DiskRoom>,
    /// Every connection.
    pub gate: Arc<ConnectionGate>,
    /// Addresses of proxies whose word on the address of a client counts.
    pub trusted_proxies: Vec<IpAddr>,
    /// One permit for each connection that may still open.
    pub slots: Arc<Semaphore>,
    /// Sentences of pages that the study replaces or adds, as JSON; empty if there are none.
    pub sentences: String,
    /// The recruiter of the study.
    pub provider: Provider,
    /// To the driver.
    pub events: mpsc::Sender<Event>,
}

/// A module as it is served.
#[derive(Debug)]
pub struct ServedModule {
    /// The module.
    pub bytes: Bytes,
    /// Its Brotli form.
    pub packed: Option<Bytes>,
}

impl App {
    /// The module with this hash.
    pub fn module(&self, hash: &str) -> Option<ServedModule> {
        if let Some(module) = self.modules.iter().find(|module| module.hash == hash) {
            let packed = self.assets.read(&format!("modules/{}.wasm.br", module.env));
            return Some(ServedModule {
                bytes: module.bytes.clone(),
                packed,
            });
        }
        let path = self.modules_dir.join(format!("{hash}.wasm"));
        let bytes = is_sha256(hash)
            .then(|| std::fs::read(path).ok())
            .flatten()?;
        Some(ServedModule {
            bytes: bytes.into(),
            packed: None,
        })
    }

    /// The facts of a hosted environment with this hash.
    pub fn facts(&self, hash: &str) -> Option<Vec<u8>> {
        let path = self.modules_dir.join(format!("{hash}.facts"));
        is_sha256(hash).then(|| std::fs::read(path).ok()).flatten()
    }

    /// The network with this hash.
    pub fn network(&self, hash: &str) -> Option<Vec<u8>> {
        let path = self.networks_dir.join(format!("{hash}.network"));
        is_sha256(hash).then(|| std::fs::read(path).ok()).flatten()
    }
}
