//! The chain of a page's own inputs: each page signs its blocks, each together with all blocks before it. So a log
//! itself proves that nobody else has put them there.
//!
//! The chain begins with a hash over the episode, the seat and its life. The leaf of a block is a hash over its first
//! tick, its inputs and a salt; the chain after it is a hash over the chain before and the leaf. A block can therefore be
//! erased, salt and all: its leaf reveals nothing about the inputs, and the blocks around it can still be checked.
//!
//! This module must not know who keeps the keys.

pub use ed25519_dalek::SigningKey;
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use sha2::{Digest as _, Sha256};

use crate::control::Block;
use crate::{Life, Seat, Tick};

/// The most inputs of a block: half an hour at 60 Hz in one block would still fit into a message.
pub const MAX_BLOCK: usize = 8_192;

/// The reason why a block does not continue a chain. The chain is then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// It begins somewhere else than where the block before ended.
    #[error("a block from tick {}, where tick {} is next", .found.0, .next.0)]
    Tick {
        /// Where it begins.
        found: Tick,
        /// Where it should.
        next: Tick,
    },
    /// It has no inputs, or too many.
    #[error("a block of {0} inputs")]
    Length(usize),
    /// The page of the seat did not sign it.
    #[error("the block from tick {} is not signed by the seat's page", .0.0)]
    Signature(Tick),
}

/// The end of the known inputs of a life of a seat, and the hash over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    head: [u8; 32],
    next: Tick,
}

impl Chain {
    /// The chain before the first input of a life of a seat.
    pub fn new(episode: &str, seat: Seat, life: Life, first: Tick) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"coplay inputs\0");
        hash.update(episode);
        hash.update([0, seat.0, life.0]);
        Self {
            head: hash.finalize().into(),
            next: first,
        }
    }

    /// The tick of the next input.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// Makes the next block of the page's own inputs: at least one, at most [`MAX_BLOCK`].
    pub fn sign(&mut self, key: &SigningKey, inputs: Vec<u16>, salt: [u8; 16]) -> Block {
        let first = self.next;
        self.extend(leaf(first, &inputs, &salt), inputs.len());
        let signature = key.sign(&self.head);
        Block {
            first,
            inputs,
            salt,
            signature: [*signature.r_bytes(), *signature.s_bytes()],
        }
    }

    /// Takes the next block of somebody's inputs.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn accept(&mut self, key: &[u8; 32], block: &Block) -> Result<(), ChainError> {
        let len = block.inputs.len();
        if len == 0 || len > MAX_BLOCK {
            return Err(ChainError::Length(len));
        }
        self.check(key, block.first, len, leaf_of(block), &block.signature)
    }

    /// Takes the next block of somebody's inputs, of which only the leaf is left.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn check(
        &mut self,
        key: &[u8; 32],
        first: Tick,
        len: usize,
        leaf: [u8; 32],
        signature: &[[u8; 32]; 2],
    ) -> Result<(), ChainError> {
        if first != self.next {
            let (found, next) = (first, self.next);
            return Err(ChainError::Tick { found, next });
        }
        let mut after = self.clone();
        after.extend(leaf, len);
        let [r, s] = *signature;
        let signature = Signature::from_components(r, s);
        let is_signed = VerifyingKey::from_bytes(key)
            .is_ok_and(|key| key.verify_strict(&after.head, &signature).is_ok());
        if !is_signed {
            return Err(ChainError::Signature(first));
        }
        *self = after;
        Ok(())
    }

    fn extend(&mut self, leaf: [u8; 32], len: usize) {
        let mut hash = Sha256::new();
        hash.update(self.head);
        hash.update(leaf);
        self.head = hash.finalize().into();
        self.next = Tick(self.next.0.saturating_add(len as u32));
    }
}

/// The leaf of a block.
pub fn leaf_of(block: &Block) -> [u8; 32] {
    leaf(block.first, &block.inputs, &block.salt)
}

fn leaf(first: Tick, inputs: &[u16], salt: &[u8; 16]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(salt);
    hash.update(first.0.to_le_bytes());
    for input in inputs {
        hash.update(input.to_le_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn chain() -> Chain {
        Chain::new("e1", Seat(1), Life(0), Tick(4))
    }

    /// Two blocks of three and two inputs, from tick 4 on.
    fn blocks() -> [Block; 2] {
        let mut own = chain();
        let first = own.sign(&key(7), vec![1, 0, 2], [5; 16]);
        [first, own.sign(&key(7), vec![3, 3], [6; 16])]
    }

    #[test]
    fn blocks_of_the_right_key_are_taken_in_their_order() {
        let public = key(7).verifying_key().to_bytes();
        let (mut theirs, [first, second]) = (chain(), blocks());
        let early = theirs.accept(&public, &second);
        let (found, next) = (Tick(7), Tick(4));
        assert_eq!(early, Err(ChainError::Tick { found, next }));
        assert_eq!(theirs.accept(&public, &first), Ok(()));
        assert_eq!(theirs.accept(&public, &second), Ok(()));
        assert_eq!(theirs.next(), Tick(9));
    }

    #[test]
    fn nobody_else_can_make_a_block_or_change_one() {
        let (public, [first, _]) = (key(7).verifying_key().to_bytes(), blocks());
        let other = |change: fn(&mut Block)| {
            let mut block = first.clone();
            change(&mut block);
            chain().accept(&public, &block)
        };
        let unsigned = Err(ChainError::Signature(Tick(4)));
        assert_eq!(other(|block| block.inputs[1] = 1), unsigned);
        assert_eq!(other(|block| block.inputs.push(0)), unsigned);
        assert_eq!(other(|block| block.salt[0] ^= 1), unsigned);
        assert_eq!(other(|block| block.signature[0][0] ^= 1), unsigned);
        assert_eq!(other(|block| block.signature[1] = [0xff; 32]), unsigned);
        assert_eq!(
            other(|block| block.inputs.clear()),
            Err(ChainError::Length(0))
        );
        let stranger = key(8).verifying_key().to_bytes();
        assert_eq!(chain().accept(&stranger, &first), unsigned);
        assert_eq!(chain().accept(&[0; 32], &first), unsigned);
        for mut elsewhere in [
            Chain::new("e2", Seat(1), Life(0), Tick(4)),
            Chain::new("e1", Seat(0), Life(0), Tick(4)),
            Chain::new("e1", Seat(1), Life(1), Tick(4)),
        ] {
            assert_eq!(elsewhere.accept(&public, &first), unsigned);
        }
    }

    #[test]
    fn a_block_that_was_erased_leaves_the_others_to_be_proven() {
        let (public, [first, second]) = (key(7).verifying_key().to_bytes(), blocks());
        let mut theirs = chain();
        let left = leaf_of(&first);
        let checked = theirs.check(&public, first.first, 3, left, &first.signature);
        assert_eq!(checked, Ok(()));
        assert_eq!(theirs.accept(&public, &second), Ok(()));
    }
}
