//! The seal that a page sends to the others while they play: its signature over all its inputs so far. A page that
//! received other inputs than the server can prove it by the seal over them.
//!
//! | Bytes | What |
//! | --- | --- |
//! | 1 | low nibble: 0, which is no version; high nibble: the sender's seat |
//! | 2 | era |
//! | 1 | the life of the sender's seat |
//! | 3 | the tick after the last input under the seal |
//! | 64 | Ed25519 signature of the transcript |
//!
//! Integers are little-endian. The transcript is a SHA-256 over the episode, the seat, its life, and its inputs from the
//! first tick of that life on.
//!
//! This module must not know how seals travel.

use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest as _, Sha256};

use crate::chain::PageKey;
use crate::{Era, Life, Seat, Tick};

/// Length of a seal, bytes.
pub const SEAL_LEN: usize = 1 + 2 + 1 + 3 + 64;

/// The signature of a page over its inputs before a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The episode.
    pub era: Era,
    /// The sender.
    pub from: Seat,
    /// The life of its seat.
    pub life: Life,
    /// The tick after the last input.
    pub through: Tick,
    /// The halves of the signature.
    pub signature: [[u8; 32]; 2],
}

impl Seal {
    /// The packet. Ticks beyond three bytes are cut.
    pub fn encode(&self) -> [u8; SEAL_LEN] {
        let mut bytes = [0; SEAL_LEN];
        bytes[0] = self.from.0 << 4;
        bytes[1..3].copy_from_slice(&self.era.0.to_le_bytes());
        bytes[3] = self.life.0;
        bytes[4..7].copy_from_slice(&self.through.0.to_le_bytes()[..3]);
        bytes[7..].copy_from_slice(self.signature.as_flattened());
        bytes
    }

    /// Reads a packet; `None` if it is something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SEAL_LEN] = bytes.try_into().ok()?;
        if bytes[0] & 0xf != 0 {
            return None;
        }
        let (halves, _) = bytes[7..].as_chunks();
        Some(Self {
            from: Seat(bytes[0] >> 4),
            era: Era(u16::from_le_bytes([bytes[1], bytes[2]])),
            life: Life(bytes[3]),
            through: Tick(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], 0])),
            signature: [halves[0], halves[1]],
        })
    }
}

/// All inputs of a life of a seat so far.
#[derive(Clone, Debug)]
pub struct Transcript {
    hash: Sha256,
    next: Tick,
}

impl Transcript {
    /// Before the first input of a life of a seat.
    pub fn new(episode: &str, seat: Seat, life: Life, first: Tick) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"coplay seal\0");
        hash.update(episode);
        hash.update([0, seat.0, life.0]);
        Self { hash, next: first }
    }

    /// The tick of the next input.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// Adds the next inputs.
    pub fn extend(&mut self, inputs: impl IntoIterator<Item = u16>) {
        for input in inputs {
            self.hash.update(input.to_le_bytes());
            self.next = Tick(self.next.0.saturating_add(1));
        }
    }

    /// Signs the inputs so far.
    pub fn sign(&self, key: &SigningKey) -> [[u8; 32]; 2] {
        let signature = key.sign(&self.digest());
        [*signature.r_bytes(), *signature.s_bytes()]
    }

    /// True if the page with a public key has signed just these inputs.
    pub fn is_signed(&self, key: &[u8; 32], signature: &[[u8; 32]; 2]) -> bool {
        PageKey::new(key).has_signed(&self.digest(), signature)
    }

    fn digest(&self) -> [u8; 32] {
        let mut hash = self.hash.clone();
        hash.update(self.next.0.to_le_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_proves_the_inputs_under_it_and_no_others() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let public = key.verifying_key().to_bytes();
        let told = |inputs: &[u16]| {
            let mut transcript = Transcript::new("e1", Seat(1), Life(2), Tick(5));
            transcript.extend(inputs.iter().copied());
            transcript
        };
        let signature = told(&[1, 2, 3]).sign(&key);
        assert!(told(&[1, 2, 3]).is_signed(&public, &signature));
        for other in [&[1, 2][..], &[1, 2, 4], &[1, 2, 3, 0], &[]] {
            assert!(!told(other).is_signed(&public, &signature), "{other:?}");
        }
        let mut elsewhere = Transcript::new("e1", Seat(1), Life(3), Tick(5));
        elsewhere.extend([1, 2, 3]);
        assert!(!elsewhere.is_signed(&public, &signature));
        assert!(!told(&[1, 2, 3]).is_signed(&[9; 32], &signature));
    }

    #[test]
    fn a_seal_is_read_as_it_was_written_and_never_taken_for_a_datagram() {
        let seal = Seal {
            era: Era(770),
            from: Seat(15),
            life: Life(3),
            through: Tick(0x0004_0506),
            signature: [[8; 32], [9; 32]],
        };
        let bytes = seal.encode();
        assert_eq!(Seal::decode(&bytes), Some(seal));
        assert_eq!(Seal::decode(&bytes[1..]), None);
        let mut datagram = bytes;
        datagram[0] |= crate::VERSION;
        assert_eq!(Seal::decode(&datagram), None);
    }
}
