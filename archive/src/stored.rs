//! The files that an episode was played with: modules and models, each under its hash.

use std::path::Path;
use std::{fs, io};

use protocol::hash::is_sha256;

/// Reads a file that an episode was played with by its SHA-256: the module of its environment, or the model of an AI
/// partner.
pub type Stored = dyn Fn(&str) -> io::Result<Vec<u8>> + Send;

/// Reads modules and models by their SHA-256 from the data folder that holds the folder of the episodes.
pub fn open_stored(episodes: &Path) -> impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + use<> {
    let data = episodes.parent().unwrap_or(Path::new("")).to_owned();
    move |hash: &str| {
        if !is_sha256(hash) {
            let message = "this is no SHA-256";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let module = data.join("modules").join(format!("{hash}.wasm"));
        match fs::read(module) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::read(data.join("networks").join(format!("{hash}.network")))
            }
            read => read,
        }
    }
}
