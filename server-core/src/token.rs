//! Tokens of participant links and sessions, as they are stored, and signatures of links.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use protocol::hash::sha256_hex;

/// The stored form of a token: its SHA-256, lower-case hex.
pub fn token_hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

/// The HMAC-SHA256 of a text under a key, lower-case hex.
pub fn make_signature(key: &[u8], text: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("it takes keys of every length");
    base16ct::lower::encode_string(&mac.chain_update(text).finalize().into_bytes())
}

/// Tells if a signature is the HMAC-SHA256 of a text under a key, in hexadecimal digits.
pub fn is_signature(key: &[u8], text: &str, signature: &str) -> bool {
    let Ok(tag) = base16ct::mixed::decode_vec(signature) else {
        return false;
    };
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("it takes keys of every length");
    // In constant time: the duration does not reveal how much is right.
    mac.chain_update(text).verify_slice(&tag).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: RFC 4231, test case 2.
    #[test]
    fn a_signature_is_good_under_its_key_alone() {
        let text = "what do ya want for nothing?";
        let good = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(make_signature(b"Jefe", text.as_bytes()), good);
        assert!(is_signature(b"Jefe", text, good));
        assert!(is_signature(b"Jefe", text, &good.to_uppercase()));
        assert!(!is_signature(b"Jeff", text, good));
        assert!(!is_signature(b"Jefe", "17", good));
        for bad in ["", "5b", &good[..62], "zz"] {
            assert!(!is_signature(b"Jefe", text, bad), "{bad}");
        }
    }
}
