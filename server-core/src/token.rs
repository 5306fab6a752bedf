//! Tokens of participant links and sessions, as they are stored.

use protocol::hash::sha256_hex;

/// The stored form of a token: its SHA-256, lower-case hex.
pub fn token_hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}
