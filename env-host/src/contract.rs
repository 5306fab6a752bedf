//! The contract between the server and a world that only the server steps.

use std::collections::BTreeMap;

use env_core::Spec;
use env_core::contract::{Action, MAX_SEATS, StepOutcome};
use env_core::draw::DrawList;
use env_core::guest::Sprite;
use serde::{Deserialize, Serialize};

/// The facts of a hosted world, fixed before its first episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Seats, actions, observation and pace.
    pub spec: Spec,
    /// The pictures that its draw lists name.
    #[serde(default)]
    pub sprites: Vec<Sprite>,
    /// The names that the environment itself gives its seats, in the order of seats; empty if it gives none.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Versions of what steps it, by name: the interpreter and the packages that it loaded.
    #[serde(default)]
    pub packages: BTreeMap<String, String>,
    /// Remarks for the researcher, such as a key of an observation that was left out.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The result of a reset or a step. Reused from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct HostStep {
    /// Rewards, ends and events.
    pub outcome: StepOutcome,
    /// The score of the group after the step.
    pub score: i64,
    /// The score of each seat after the step; entries past the last seat are 0.
    pub seat_scores: [i64; MAX_SEATS],
    /// The seats whose actions count in the next step: bit `s` for seat `s`.
    pub acting: u16,
    /// The actions that may have an effect in the next step, for each seat: bit `a` for action `a`.
    pub masks: [u64; MAX_SEATS],
    /// A hash of the observation that each seat has after the step; see [`crate::hash_observation`].
    pub observed: [u64; MAX_SEATS],
    /// The infos that the study named, as JSON values: those of a seat, or of the group.
    pub infos: Vec<HostInfo>,
}

/// An info of a step that the study named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostInfo {
    /// The seat to which it belongs; `None` for an info of the whole group.
    pub seat: Option<u8>,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: serde_json::Value,
}

impl Default for HostStep {
    fn default() -> Self {
        Self {
            outcome: StepOutcome::default(),
            score: 0,
            seat_scores: [0; MAX_SEATS],
            acting: u16::MAX,
            masks: [u64::MAX; MAX_SEATS],
            observed: [0; MAX_SEATS],
            infos: Vec::new(),
        }
    }
}

/// Pixels of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pixels {
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Red, green and blue of every pixel: `[row, col, channel]`, row-major, `u8`.
    pub rgb: Vec<u8>,
}

/// The picture of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Picture {
    /// The world gives no picture.
    #[default]
    None,
    /// Shapes, which the page draws.
    List(DrawList),
    /// Pixels, which the page shows as they are.
    Pixels(Pixels),
}

impl Picture {
    /// The list to draw into, with the memory of the last one.
    pub fn as_list(&mut self) -> &mut DrawList {
        match self {
            Self::List(list) => list,
            other => {
                *other = Self::List(DrawList::default());
                other.as_list()
            }
        }
    }

    /// The pixels to write into, with the memory of the last ones.
    pub fn as_pixels(&mut self) -> &mut Pixels {
        match self {
            Self::Pixels(pixels) => pixels,
            other => {
                *other = Self::Pixels(Pixels::default());
                other.as_pixels()
            }
        }
    }
}

/// The end of a hosted world before its time. Only its own episode ends with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostFault {
    /// The environment cannot be loaded as the study asks.
    #[error("{0}")]
    Refused(String),
    /// The environment raised an exception.
    #[error("the environment raised an exception:\n{traceback}")]
    Threw {
        /// The traceback, as the environment's language writes it.
        traceback: String,
    },
    /// An answer took longer than the limit.
    #[error("the environment gave no answer to `{request}` within {limit_ms} ms{}", after(.stderr))]
    TooSlow {
        /// The request that was not answered.
        request: &'static str,
        /// The limit.
        limit_ms: u32,
        /// The last words of its error output.
        stderr: String,
    },
    /// Its memory reached the limit.
    #[error("the environment needs more memory than the limit of {} MiB:\n{traceback}", .limit_bytes >> 20)]
    Memory {
        /// The limit.
        limit_bytes: u64,
        /// The place in the environment.
        traceback: String,
    },
    /// The process ended.
    #[error("the process of the environment ended ({status}){}", after(.stderr))]
    Gone {
        /// Its exit status, in words.
        status: String,
        /// The last words of its error output.
        stderr: String,
    },
    /// It broke the protocol.
    #[error("the process of the environment broke the protocol: {0}")]
    Protocol(String),
}

fn after(stderr: &str) -> String {
    match stderr.trim_end() {
        "" => String::new(),
        text => format!(":\n{text}"),
    }
}

/// A world that only the server steps.
///
/// After a fault, the episode is over: every further call returns the same fault, until a world is opened again.
pub trait HostedWorld: Send {
    /// The facts that were fixed before the first episode.
    fn facts(&self) -> &HostFacts;

    /// Seats, actions, observation and pace.
    fn spec(&self) -> &Spec {
        &self.facts().spec
    }

    /// Starts the episode with this seed.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    fn reset(&mut self, seed: u64) -> Result<&HostStep, HostFault>;

    /// Advances by one step. `actions` has one entry a seat; an action that a seat does not have is the no-op.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    fn step(&mut self, actions: &[Action]) -> Result<&HostStep, HostFault>;

    /// Replaces `out` by the picture of the state as a seat sees it.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    fn picture(&mut self, seat: usize, out: &mut Picture) -> Result<(), HostFault>;

    /// Replaces `out` by the observation of a seat: [`Spec::observation_len`] values.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) -> Result<(), HostFault>;

    /// Replaces `out` by the state in words, as seen from a seat.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    fn describe(&mut self, seat: usize, out: &mut String) -> Result<(), HostFault>;

    /// The action that a point on a seat's picture means, in the units of the picture; `None` if it means nothing.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed.
    fn point(&mut self, _seat: usize, _at: [f32; 2]) -> Result<Option<Action>, HostFault> {
        Ok(None)
    }

    /// The action that the researcher's own function chooses for a seat.
    ///
    /// # Errors
    /// [`HostFault`] if the world failed, or has no such function.
    fn choose(&mut self, _seat: usize) -> Result<Action, HostFault> {
        Err(HostFault::Refused(
            "this environment has no function that chooses actions".into(),
        ))
    }
}

impl<H: HostedWorld + ?Sized> HostedWorld for Box<H> {
    fn facts(&self) -> &HostFacts {
        (**self).facts()
    }

    fn reset(&mut self, seed: u64) -> Result<&HostStep, HostFault> {
        (**self).reset(seed)
    }

    fn step(&mut self, actions: &[Action]) -> Result<&HostStep, HostFault> {
        (**self).step(actions)
    }

    fn picture(&mut self, seat: usize, out: &mut Picture) -> Result<(), HostFault> {
        (**self).picture(seat, out)
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) -> Result<(), HostFault> {
        (**self).observe(seat, out)
    }

    fn describe(&mut self, seat: usize, out: &mut String) -> Result<(), HostFault> {
        (**self).describe(seat, out)
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Result<Option<Action>, HostFault> {
        (**self).point(seat, at)
    }

    fn choose(&mut self, seat: usize) -> Result<Action, HostFault> {
        (**self).choose(seat)
    }
}
