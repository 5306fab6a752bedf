//! The frames of an episode log, without a look at what they say.

use anyhow::{Context as _, ensure};

/// The bytes before the first frame.
const MAGIC: usize = 8;

/// The bytes before the body of a frame.
const HEAD: usize = 12;

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
