//! SHA-256 as it names modules, models, texts and tokens, and bytes as text.

use sha2::{Digest as _, Sha256};

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256, lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(&sha256(bytes))
}

/// Bytes as lower-case hex.
pub fn to_hex(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(bytes)
}

/// Tells whether a name is a SHA-256 in hex, and so cannot lead out of a folder.
pub fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The SHA-256 of the model in the name of a policy, such as `cook@ab12…`; `None` for a policy without a model.
pub fn model_sha256(policy: &str) -> Option<&str> {
    let (_, sha256) = policy.rsplit_once('@')?;
    is_sha256(sha256).then_some(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_sixty_four_lower_case_digits() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), expected);
        assert_eq!(model_sha256(&format!("cook@{expected}")), Some(expected));
        assert_eq!(model_sha256("idle"), None);
        assert!(is_sha256(expected) && !is_sha256("../abc"));
    }
}
