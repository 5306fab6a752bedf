//! The chain of a page's own inputs, as far as an attacker wants to sign one, true or not.

use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use sha2::{Digest as _, Sha256};

use super::messages::Block;

/// A chain of blocks of one life of a seat.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    head: [u8; 32],
    /// The tick of the next input.
    pub next: u32,
}

impl Chain {
    /// The chain before the first block.
    pub(crate) fn new(episode: &str, seat: u8, life: u8, first: u32) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"coplay inputs\0");
        hash.update(episode);
        hash.update([0, seat, life]);
        Self {
            head: hash.finalize().into(),
            next: first,
        }
    }

    /// True if the page with a key has signed this as the next block.
    pub(crate) fn is_next(&self, public: &[u8; 32], block: &Block) -> bool {
        let mut after = self.clone();
        after.extend(&block.inputs, &block.salt);
        let [r, s] = block.signature;
        let signature = Signature::from_components(r, s);
        let key = VerifyingKey::from_bytes(public);
        key.is_ok_and(|key| key.verify(&after.head, &signature).is_ok())
    }

    fn extend(&mut self, inputs: &[u16], salt: &[u8; 16]) {
        let mut leaf = Sha256::new();
        leaf.update(salt);
        leaf.update(self.next.to_le_bytes());
        for input in inputs {
            leaf.update(input.to_le_bytes());
        }
        let mut hash = Sha256::new();
        hash.update(self.head);
        hash.update(leaf.finalize());
        self.head = hash.finalize().into();
        self.next += inputs.len() as u32;
    }

    /// Signs the next block.
    pub(crate) fn sign(&mut self, key: &SigningKey, inputs: Vec<u16>, salt: [u8; 16]) -> Block {
        let first = self.next;
        self.extend(&inputs, &salt);
        let signature = key.sign(&self.head);
        Block {
            first,
            inputs,
            salt,
            signature: [*signature.r_bytes(), *signature.s_bytes()],
        }
    }
}

/// Signs a seal over all inputs of a life of a seat from its first tick on.
pub(crate) fn sign_seal(
    key: &SigningKey,
    episode: &str,
    (seat, life): (u8, u8),
    first: u32,
    inputs: &[u16],
) -> [[u8; 32]; 2] {
    let mut hash = Sha256::new();
    hash.update(b"coplay seal\0");
    hash.update(episode);
    hash.update([0, seat, life]);
    for input in inputs {
        hash.update(input.to_le_bytes());
    }
    hash.update((first + inputs.len() as u32).to_le_bytes());
    let signature = key.sign(&hash.finalize());
    [*signature.r_bytes(), *signature.s_bytes()]
}

/// The packet of a seal.
pub(crate) fn encode_seal(
    (seat, life): (u8, u8),
    era: u16,
    through: u32,
    signature: &[[u8; 32]; 2],
) -> Vec<u8> {
    let mut bytes = vec![seat << 4];
    bytes.extend(era.to_le_bytes());
    bytes.push(life);
    bytes.extend(&through.to_le_bytes()[..3]);
    bytes.extend(signature.as_flattened());
    bytes
}

/// The tick after the last input under a seal, and its signature; `None` for a packet that is no seal.
pub(crate) fn read_seal(bytes: &[u8]) -> Option<(u32, [[u8; 32]; 2])> {
    let bytes: &[u8; 71] = bytes.try_into().ok()?;
    if bytes[0] & 0x0f != 0 {
        return None;
    }
    let through = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], 0]);
    let (halves, _) = bytes[7..].as_chunks();
    Some((through, [halves[0], halves[1]]))
}

/// The bytes of a public key.
pub(crate) fn public(key: &SigningKey) -> [u8; 32] {
    key.verifying_key().to_bytes()
}
