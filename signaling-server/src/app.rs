//! The state that the handlers share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::body::Bytes;
use clock::Clock;
use protocol::hash::is_sha256;
use server_core::arbiter::Event;
use server_core::limits::Limits;
use store::data_folder::EnvModule;
use study::media::Media;
use study::recruitment::Provider;
use tokio::sync::{Semaphore, mpsc};

use crate::assets::Assets;
use crate::disk::DiskRoom;
use crate::films::Films;
use crate::gate::ConnectionGate;
use crate::sentences::StudySentences;
use crate::site_rules::Sites;
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
    /// The files of these folders that are being sent.
    pub sending: SharedFiles,
    /// The recordings that participants watch.
    pub films: Films,
    /// Open connections.
    pub connections: Arc<Connections>,
    /// The disk of the data folder.
    pub disk: Arc<DiskRoom>,
    /// Every connection.
    pub gate: Arc<ConnectionGate>,
    /// Addresses of proxies that are trusted about the address of a client.
    pub trusted_proxies: Vec<IpAddr>,
    /// One permit for each connection that may still open.
    pub slots: Arc<Semaphore>,
    /// Sentences of pages that the study replaces or adds.
    pub sentences: Option<StudySentences>,
    /// The recruiter of the study.
    pub provider: Provider,
    /// The sites on other hosts that are answered.
    pub sites: Sites,
    /// The origins of pages that may show the study in a frame.
    pub parents: Vec<String>,
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

/// Files that are being sent. All requests for a file share one copy, so that slow readers take its room once, however
/// many they are.
#[derive(Debug, Default)]
pub struct SharedFiles(Mutex<HashMap<PathBuf, Weak<Vec<u8>>>>);

/// A file as it is sent.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl SharedFiles {
    /// Reads a file that never changes, unless it is being sent already.
    fn read(&self, path: &Path) -> Option<Bytes> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|_, file| file.strong_count() > 0);
        let file = match files.get(path).and_then(Weak::upgrade) {
            Some(file) => file,
            None => {
                let file = Arc::new(std::fs::read(path).ok()?);
                files.insert(path.to_owned(), Arc::downgrade(&file));
                file
            }
        };
        Some(Bytes::from_owner(Shared(file)))
    }
}

impl App {
    /// The module with this hash.
    pub fn module(&self, hash: &str) -> Option<ServedModule> {
        let known = self.modules.iter().find(|module| module.hash == hash);
        let packed = known.and_then(|module| {
            let packed = self.assets.read(&format!("modules/{}.wasm.br", module.env));
            packed.map(own_bytes)
        });
        let path = self.modules_dir.join(format!("{hash}.wasm"));
        let bytes = is_sha256(hash)
            .then(|| self.sending.read(&path))
            .flatten()?;
        Some(ServedModule { bytes, packed })
    }

    /// The facts of a hosted environment with this hash.
    pub fn facts(&self, hash: &str) -> Option<Vec<u8>> {
        let path = self.modules_dir.join(format!("{hash}.facts"));
        is_sha256(hash).then(|| std::fs::read(path).ok()).flatten()
    }

    /// The network with this hash.
    pub fn network(&self, hash: &str) -> Option<Bytes> {
        let path = self.networks_dir.join(format!("{hash}.network"));
        is_sha256(hash).then(|| self.sending.read(&path)).flatten()
    }
}

/// Bytes of the program or of a file, as they are sent.
pub fn own_bytes(bytes: store::data_folder::Bytes) -> Bytes {
    match bytes {
        std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        std::borrow::Cow::Owned(bytes) => bytes.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_room_once_while_it_is_sent_and_none_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one.network");
        std::fs::write(&path, "network").unwrap();
        let files = SharedFiles::default();
        let (one, other) = (files.read(&path).unwrap(), files.read(&path).unwrap());
        assert_eq!((one.as_ptr(), &one[..]), (other.as_ptr(), &b"network"[..]));
        assert!(files.read(&dir.path().join("other")).is_none());
        drop((one, other));
        std::fs::write(&path, "another").unwrap();
        assert_eq!(&files.read(&path).unwrap()[..], b"another");
        assert_eq!(files.0.lock().unwrap().len(), 1);
    }
}
