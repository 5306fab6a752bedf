//! The frames of an episode log, without a look at what they say.

use anyhow::{Context as _, ensure};

/// The bytes before the first frame.
const MAGIC: usize = 8;

/// The bytes before the body of a frame.
const HEAD: usize = 8;

/// A log, cut into frames: the header first, then the records.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    magic: Vec<u8>,
    pub bodies: Vec<Vec<u8>>,
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
        let mut bodies = Vec::new();
        while !rest.is_empty() {
            let (head, after) = rest.split_at_checked(HEAD).context("half a frame")?;
            let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let (body, after) = after.split_at_checked(length).context("half a body")?;
            ensure!(!body.is_empty(), "a frame without a body");
            bodies.push(body.to_owned());
            rest = after;
        }
        Ok(Self {
            magic: magic.to_owned(),
            bodies,
        })
    }

    /// The log again, with checksums that fit.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.magic.clone();
        for body in &self.bodies {
            let length = (body.len() as u32).to_le_bytes();
            let mut sum = crc32fast::Hasher::new();
            sum.update(&length);
            sum.update(body);
            out.extend(length);
            out.extend(sum.finalize().to_le_bytes());
            out.extend(body);
        }
        out
    }
}
