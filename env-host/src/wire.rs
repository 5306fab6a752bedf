//! The protocol with the process of a world, sans-IO: requests as bytes, answers from bytes.
//!
//! `docs/host-protocol.md` is the prose. No decoder panics, and none allocates more than its input can fill.

mod decode;

use env_core::contract::Action;
use serde_json::Value;

pub use decode::{
    ToldFault, decode_action, decode_facts, decode_fault, decode_picture, decode_step,
    decode_values,
};

/// Version of the protocol.
pub const VERSION: u32 = 1;

/// Bytes before the body of a frame: its length and its kind.
const HEADER: usize = 5;

/// A request of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// Loads the world.
    Hello {
        /// The world, as the study names it.
        world: &'a Value,
        /// Limit of memory; 0 for none.
        memory_bytes: u64,
    },
    /// Starts an episode.
    Reset {
        /// Its seed.
        seed: u64,
    },
    /// Makes a step.
    Step(&'a [Action]),
    /// Asks for a seat's picture.
    Picture(u8),
    /// Asks for a seat's observation.
    Observe(u8),
    /// Asks for the words for a seat.
    Describe(u8),
    /// Asks what a point on a seat's picture means.
    Point(u8, [f32; 2]),
    /// Asks the researcher's own function for a seat's action.
    Choose(u8),
    /// Asks whether the world could run in pages, too.
    Check {
        /// Steps to try.
        steps: u32,
        /// Seed of the trial.
        seed: u64,
    },
}

impl Request<'_> {
    /// Name of the request, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Reset { .. } => "reset",
            Self::Step(_) => "step",
            Self::Picture(_) => "picture",
            Self::Observe(_) => "observe",
            Self::Describe(_) => "describe",
            Self::Point(..) => "point",
            Self::Choose(_) => "choose",
            Self::Check { .. } => "check",
        }
    }

    /// Replaces `out` by the frame of the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend([0; HEADER]);
        let kind = match self {
            Self::Hello {
                world,
                memory_bytes,
            } => {
                let hello = serde_json::json!({
                    "coplay_host": VERSION,
                    "memory_bytes": memory_bytes,
                    "world": world,
                });
                out.extend(hello.to_string().bytes());
                1
            }
            Self::Reset { seed } => {
                out.extend(seed.to_le_bytes());
                2
            }
            Self::Step(actions) => {
                out.extend(actions.iter().flat_map(|action| action.to_le_bytes()));
                3
            }
            Self::Picture(seat) => seat_request(*seat, 4, out),
            Self::Observe(seat) => seat_request(*seat, 5, out),
            Self::Describe(seat) => seat_request(*seat, 6, out),
            Self::Point(seat, [x, y]) => {
                out.push(*seat);
                out.extend(x.to_le_bytes());
                out.extend(y.to_le_bytes());
                7
            }
            Self::Choose(seat) => seat_request(*seat, 8, out),
            Self::Check { steps, seed } => {
                let check = serde_json::json!({ "steps": steps, "seed": seed });
                out.extend(check.to_string().bytes());
                9
            }
        };
        let length = (out.len() - HEADER) as u32;
        out[..4].copy_from_slice(&length.to_le_bytes());
        out[4] = kind;
    }
}

fn seat_request(seat: u8, kind: u8, out: &mut Vec<u8>) -> u8 {
    out.push(seat);
    kind
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// The facts after a hello.
    Ready,
    /// The result of a reset or a step.
    Stepped,
    /// A picture of pixels.
    Pixels,
    /// A picture of shapes.
    Shapes,
    /// An observation.
    Values,
    /// Words.
    Text,
    /// An action, or none.
    Action,
    /// The result of a check.
    Checked,
    /// There is no picture.
    NoPicture,
    /// The world failed.
    Fault,
}

impl AnswerKind {
    fn of(kind: u8) -> Option<Self> {
        Some(match kind {
            0x81 => Self::Ready,
            0x82 => Self::Stepped,
            0x83 => Self::Pixels,
            0x84 => Self::Shapes,
            0x85 => Self::Values,
            0x86 => Self::Text,
            0x87 => Self::Action,
            0x88 => Self::Checked,
            0x8E => Self::NoPicture,
            0x8F => Self::Fault,
            _ => return None,
        })
    }
}

/// An answer that breaks the protocol; the text says how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

fn broken<T>(what: impl Into<String>) -> Result<T, WireError> {
    Err(WireError(what.into()))
}

/// Collects the bytes of answers until one is complete.
#[derive(Debug)]
pub struct AnswerBuffer {
    bytes: Vec<u8>,
    limit: usize,
}

impl AnswerBuffer {
    /// A buffer for answers of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
        }
    }

    /// Adds bytes that arrived, and returns whether an answer is complete.
    ///
    /// # Errors
    /// [`WireError`] if the answer is longer than the limit, or more arrived than one answer.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<bool, WireError> {
        self.bytes.extend_from_slice(bytes);
        let Some(end) = self.end()? else {
            return Ok(false);
        };
        match self.bytes.len().cmp(&end) {
            std::cmp::Ordering::Less => Ok(false),
            std::cmp::Ordering::Equal => Ok(true),
            std::cmp::Ordering::Greater => broken("there are bytes after the answer to a request"),
        }
    }

    /// The number of bytes that are missing, as far as it is known.
    pub fn missing_bytes(&self) -> usize {
        let end = self.end().ok().flatten().unwrap_or(HEADER);
        end.saturating_sub(self.bytes.len())
    }

    fn end(&self) -> Result<Option<usize>, WireError> {
        let Some(length) = self.bytes.first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        match length > self.limit {
            true => broken(format!(
                "an answer of {length} bytes is longer than the limit of {} bytes",
                self.limit
            )),
            false => Ok(Some(HEADER + length)),
        }
    }

    /// The complete answer: its kind and its body.
    ///
    /// # Errors
    /// [`WireError`] if no answer is complete, or its kind is not known.
    pub fn read_answer(&self) -> Result<(AnswerKind, &[u8]), WireError> {
        let Some((header, body)) = self.bytes.split_at_checked(HEADER) else {
            return broken("the answer is incomplete");
        };
        match AnswerKind::of(header[4]) {
            Some(kind) => Ok((kind, body)),
            None => broken(format!("there is no answer of kind {:#04x}", header[4])),
        }
    }

    /// Forgets the answer, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}
