//! The chain of a page's own inputs: each page signs its blocks, each together with all blocks before it. So a log
//! itself proves that nobody else has put them there.
//!
//! The chain begins with a hash over the episode, the seat and its life. The leaf of a block is a hash over its first
//! tick, its inputs and a salt; the chain after it is a hash over the chain before and the leaf. A block can therefore be
//! erased, salt and all: its leaf reveals nothing about the inputs, and the blocks around it can still be checked.
//!
//! A signature is over the chain after its block, so it proves all blocks before it, too: the reader of a whole chain
//! needs only the last signature.
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

/// The public key of a page, ready to check signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey(Option<VerifyingKey>);

impl PageKey {
    /// The key with these bytes. Bytes that are no key have signed nothing.
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self(VerifyingKey::from_bytes(bytes).ok())
    }

    /// Returns true if the page has signed this message.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[[u8; 32]; 2]) -> bool {
        let [r, s] = *signature;
        let signature = Signature::from_components(r, s);
        let key = self.0.as_ref();
        key.is_some_and(|key| key.verify_strict(message, &signature).is_ok())
    }
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

    /// Takes the next block of somebody's inputs, if their page has signed it.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn accept_block(&mut self, key: &PageKey, block: &Block) -> Result<(), ChainError> {
        let mut after = self.clone();
        after.follow(block.first, block.inputs.len(), leaf_of(block))?;
        if !after.is_signed(key, &block.signature) {
            return Err(ChainError::Signature(block.first));
        }
        *self = after;
        Ok(())
    }

    /// Takes the next block of somebody's inputs, of which the leaf is enough. Who signed it is not checked: see
    /// [`Chain::is_signed`].
    ///
    /// # Errors
    /// [`ChainError`], but for a signature.
    pub fn follow(&mut self, first: Tick, len: usize, leaf: [u8; 32]) -> Result<(), ChainError> {
        if len == 0 || len > MAX_BLOCK {
            return Err(ChainError::Length(len));
        }
        if first != self.next {
            let (found, next) = (first, self.next);
            return Err(ChainError::Tick { found, next });
        }
        self.extend(leaf, len);
        Ok(())
    }

    /// Returns true if the page with a key has signed all blocks so far.
    pub fn is_signed(&self, key: &PageKey, signature: &[[u8; 32]; 2]) -> bool {
        key.has_signed(&self.head, signature)
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

    fn page_key(seed: u8) -> PageKey {
        PageKey::new(&key(seed).verifying_key().to_bytes())
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
        let public = page_key(7);
        let (mut theirs, [first, second]) = (chain(), blocks());
        let early = theirs.accept_block(&public, &second);
        let (found, next) = (Tick(7), Tick(4));
        assert_eq!(early, Err(ChainError::Tick { found, next }));
        assert_eq!(theirs.accept_block(&public, &first), Ok(()));
        assert_eq!(theirs.accept_block(&public, &second), Ok(()));
        assert_eq!(theirs.next(), Tick(9));
    }

    #[test]
    fn nobody_else_can_make_a_block_or_change_one() {
        let (public, [first, _]) = (page_key(7), blocks());
        let other = |change: fn(&mut Block)| {
            let mut block = first.clone();
            change(&mut block);
            chain().accept_block(&public, &block)
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
        let stranger = page_key(8);
        assert_eq!(chain().accept_block(&stranger, &first), unsigned);
        assert_eq!(
            chain().accept_block(&PageKey::new(&[0; 32]), &first),
            unsigned
        );
        assert_eq!(
            chain().accept_block(&PageKey::new(&[2; 32]), &first),
            unsigned
        );
        for mut elsewhere in [
            Chain::new("e2", Seat(1), Life(0), Tick(4)),
            Chain::new("e1", Seat(0), Life(0), Tick(4)),
            Chain::new("e1", Seat(1), Life(1), Tick(4)),
        ] {
            assert_eq!(elsewhere.accept_block(&public, &first), unsigned);
        }
    }

    #[test]
    fn a_block_that_was_erased_leaves_the_others_to_be_proven() {
        let (public, [first, second]) = (page_key(7), blocks());
        let mut theirs = chain();
        assert_eq!(theirs.follow(first.first, 3, leaf_of(&first)), Ok(()));
        assert!(theirs.is_signed(&public, &first.signature));
        assert_eq!(theirs.accept_block(&public, &second), Ok(()));
    }

    #[test]
    fn the_last_signature_proves_all_blocks_before_it() {
        let (public, [first, second]) = (page_key(7), blocks());
        let is_proven = |blocks: [&Block; 2]| {
            let mut theirs = chain();
            for block in blocks {
                let followed = theirs.follow(block.first, block.inputs.len(), leaf_of(block));
                assert_eq!(followed, Ok(()));
            }
            theirs.is_signed(&public, &blocks[1].signature)
        };
        assert!(is_proven([&first, &second]));
        let mut forged = first.clone();
        forged.inputs[0] = 2;
        assert!(!is_proven([&forged, &second]));
        let mut other = second.clone();
        other.inputs[1] = 0;
        assert!(!is_proven([&first, &other]));
    }
}
