//! Participant links: the store keeps hashes only, so the tokens come from a secret of the data folder and can be
//! printed again after a restart.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::assets::sha256_hex;

/// Name of the secret in a data folder.
const FILE: &str = "links.key";

/// The secret of a data folder.
pub struct LinkKey([u8; 32]);

impl LinkKey {
    /// Reads the secret, and makes it if it is not there.
    ///
    /// # Errors
    /// The disk refused, or the file is not a secret of ours.
    pub fn open(data: &Path) -> io::Result<Self> {
        let path = data.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => bytes.try_into().map(Self).map_err(|_| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{} is damaged", path.display()),
                )
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(data),
            Err(error) => Err(error),
        }
    }

    fn make(data: &Path) -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let part = data.join("links.part");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&part)?;
        file.write_all(&secret)?;
        file.sync_all()?;
        fs::rename(part, data.join(FILE))?;
        fs::File::open(data)?.sync_all()?;
        Ok(Self(secret))
    }

    /// The token of the link with this number: 128 bits, lower-case hex.
    pub fn token(&self, number: u32) -> String {
        let mut token = sha256_hex(&[&self.0[..], &number.to_le_bytes()].concat());
        token.truncate(32);
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_the_same_after_a_restart_and_no_others() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let before: Vec<_> = (0..3)
            .map(|n| LinkKey::open(dir.path()).unwrap().token(n))
            .collect();
        let after: Vec<_> = (0..3)
            .map(|n| LinkKey::open(dir.path()).unwrap().token(n))
            .collect();
        assert_eq!(before, after);
        assert_eq!(before[0].len(), 32);
        assert_ne!(before[0], before[1]);
        assert_ne!(before[0], LinkKey::open(other.path()).unwrap().token(0));
    }
}
