//! The frames of an episode log, without a look at what they say.

use anyhow::{Context as _, ensure};
use ed25519_dalek::SigningKey;
use serde::{Deserialize, Serialize};

use super::chain::{Chain, public};
use super::messages::Block;

/// The bytes before the first frame.
const MAGIC: usize = 8;

/// The bytes before the body of a frame.
const HEAD: usize = 12;

/// The body of a frame with inputs that a page has signed.
#[derive(Deserialize, Serialize)]
struct SignedInputs {
    kind: u8,
    seat: u8,
    life: u8,
    block: Block,
}

/// A log, cut into frames: the header first, then the records.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    magic: Vec<u8>,
    /// The number and the body of each.
    pub frames: Vec<(u32, Vec<u8>)>,
}

impl Frames {
    /// Cuts a log.
    ///
    /// # Errors
    /// A frame that is not whole.
    pub(crate) fn read(bytes: &[u8]) -> anyhow::Result<Self> {
        let (magic, mut rest) = bytes
            .split_at_checked(MAGIC)
            .context("a log without a head")?;
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let (head, after) = rest.split_at_checked(HEAD).context("half a frame")?;
            let word = |at: usize| {
                u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            let (length, number) = (word(0) as usize, word(4));
            let (body, after) = after.split_at_checked(length).context("half a body")?;
            ensure!(!body.is_empty(), "a frame without a body");
            frames.push((number, body.to_owned()));
            rest = after;
        }
        Ok(Self {
            magic: magic.to_owned(),
            frames,
        })
    }

    /// Gives every frame the number of its place.
    pub(crate) fn renumber(&mut self) {
        for ((number, _), place) in self.frames.iter_mut().zip(0..) {
            *number = place;
        }
    }

    /// The log as a program of version 4 would have written it, which numbered no frames.
    pub(crate) fn write_unnumbered(&self) -> Vec<u8> {
        let mut out = self.magic.clone();
        out[0] = 4;
        for (_, body) in &self.frames {
            let head = (body.len() as u32).to_le_bytes();
            let mut sum = crc32fast::Hasher::new();
            sum.update(&head);
            sum.update(body);
            out.extend(head);
            out.extend(sum.finalize().to_le_bytes());
            out.extend(body);
        }
        out
    }

    /// Takes away what pages have signed or noted, and the digests.
    pub(crate) fn remove_proofs(&mut self) {
        let is_kept = |(_, body): &(u32, Vec<u8>)| !matches!(body.first(), Some(2 | 3 | 9));
        let mut records = self.frames.split_off(1.min(self.frames.len()));
        records.retain(is_kept);
        self.frames.append(&mut records);
    }

    /// Puts another key in the place of that of a seat's first page, and signs everything anew that this page has signed.
    /// Gives the number of blocks.
    ///
    /// # Errors
    /// The page has signed nothing, or its key is not in the header.
    pub(crate) fn sign_anew(
        &mut self,
        episode: &str,
        seat: u8,
        key: &SigningKey,
    ) -> anyhow::Result<usize> {
        let (mut chain, mut count) = (Chain::new(episode, seat, 0, 0), 0);
        for at in 1..self.frames.len() {
            let Ok(mut inputs) = postcard::from_bytes::<SignedInputs>(&self.frames[at].1) else {
                continue;
            };
            if (inputs.kind, inputs.seat, inputs.life) != (9, seat, 0) {
                continue;
            }
            if count == 0 {
                let header = &mut self.frames[0].1;
                let mut places = 0..header.len().saturating_sub(31);
                let place = places.find(|place| {
                    let found = header[*place..].first_chunk();
                    found.is_some_and(|found| chain.is_next(found, &inputs.block))
                });
                let place = place.context("the header has no key of the seat")?;
                header[place..place + 32].copy_from_slice(&public(key));
            }
            inputs.block = chain.sign(key, inputs.block.inputs, inputs.block.salt);
            self.frames[at].1 = postcard::to_extend(&inputs, Vec::new())?;
            count += 1;
        }
        ensure!(count > 0, "the page of the seat has signed nothing");
        Ok(count)
    }

    /// The log again, with checksums that fit.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.magic.clone();
        for (number, body) in &self.frames {
            let head = [body.len() as u32, *number].map(u32::to_le_bytes).concat();
            let mut sum = crc32fast::Hasher::new();
            sum.update(&head);
            sum.update(body);
            out.extend(head);
            out.extend(sum.finalize().to_le_bytes());
            out.extend(body);
        }
        out
    }
}
