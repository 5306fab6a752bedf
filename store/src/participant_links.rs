//! Participant links: the store keeps hashes only, so the tokens come from a secret of the data folder and can be
//! printed again after a restart.

use std::io;
use std::path::Path;

use protocol::hash::sha256_hex;

use crate::data_folder::read_secret;

/// The file of the secret in a data folder.
pub(crate) const LINKS_KEY: &str = "links.key";

/// The secret of a data folder.
pub struct LinkKey([u8; 32]);

impl LinkKey {
    /// Reads the secret, and makes it if it is not there.
    ///
    /// # Errors
    /// The disk refused, or the file is not a secret of ours.
    pub fn open(data: &Path) -> io::Result<Self> {
        read_secret(data, LINKS_KEY).map(Self)
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
