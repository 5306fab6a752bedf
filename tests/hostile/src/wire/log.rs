//! The frames of an episode log, without a look at what they say.

use anyhow::{Context as _, anyhow, ensure};
use ed25519_dalek::SigningKey;
use env_core::World as _;
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

/// The beginning of a header: identities, the participant of each seat, what was played (module, environment, its
/// version and parameters), and the seed.
type Beginning = (
    [String; 6],
    Vec<String>,
    (String, String, String, String),
    u64,
);

/// The body of a frame with actions: its kind, the first tick, and the rows.
type Actions = (u8, u32, Vec<u16>);

/// The body of a frame with a digest: its kind, the tick, the seat of the page that said it, and the digest.
type Digest = (u8, u32, Option<u8>, u64);

/// The body of the last frame: its kind, the ticks, the reason, the score and the digest of the last state.
type End = (u8, u32, u8, i64, u64);

/// The kinds of these frames.
const ACTIONS: u8 = 0;
const DIGEST: u8 = 2;
const END: u8 = 4;

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

    /// Puts the digests and the end that follow from the rows in the place of those that are there, as somebody does
    /// who runs the world again.
    ///
    /// # Errors
    /// The world does not open, or a frame is not what it says.
    pub(crate) fn settle(&mut self) -> anyhow::Result<()> {
        let header = &self.frames.first().context("a log without a header")?.1;
        let (beginning, _) = postcard::take_from_bytes::<Beginning>(header)?;
        let (_, seats, (_, env, _, params), seed) = beginning;
        let opened = env_core::envs::open(&env, &params);
        let mut world =
            opened.map_err(|error| anyhow!("the environment does not open: {error}"))?;
        world.reset(seed);
        let mut digests = vec![world.digest()];
        for (_, body) in self.frames.iter().skip(1) {
            if body.first() == Some(&ACTIONS) {
                let (_, _, rows) = postcard::from_bytes::<Actions>(body)?;
                for row in rows.chunks_exact(seats.len()) {
                    world.step(row);
                    digests.push(world.digest());
                }
            }
        }
        let digest_after = |tick: u32| digests.get(tick as usize).copied();
        for (_, body) in self.frames.iter_mut().skip(1) {
            match body.first() {
                Some(&DIGEST) => {
                    let (kind, tick, seat, _) = postcard::from_bytes::<Digest>(body)?;
                    let digest = digest_after(tick).context("a digest of no tick")?;
                    *body = postcard::to_extend(&(kind, tick, seat, digest), Vec::new())?;
                }
                Some(&END) => {
                    let (kind, ticks, reason, ..) = postcard::from_bytes::<End>(body)?;
                    let end = (kind, ticks, reason, world.score(), world.digest());
                    *body = postcard::to_extend(&end, Vec::new())?;
                }
                _ => {}
            }
        }
        Ok(())
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
