//! Networks as AI partners: trained by a researcher, and lowered to a few bit-equal kernels.
//!
//! A [`Network`] is plain data with bytes of its own, under whose SHA-256 it is kept and served: registers of `f32`
//! values, steps that fill them in order, and how an action is chosen from the last. It is checked when it is read,
//! so that playing cannot fail; this module must not know where it comes from.

mod choice;
mod first;
mod fits;
mod functions;
mod kernels;
mod player;
mod program;
#[cfg(test)]
mod tests;

use std::ops::Range;

use env_core::Spec;
use env_core::contract::FieldSpec;
use serde::{Deserialize, Serialize};

pub use choice::ActionChoice;
pub use functions::{Conv, Map, Matrices, Pair, Pooling, Reduction};
pub use player::ActionValues;
pub(crate) use player::Player;
pub use program::KernelStep;

/// The most bytes of a network.
pub const MAX_LEN: usize = 16 << 20;

/// The most multiplications of a decision: about 15 ms in a browser, several times a tick where it rolls back.
pub const MAX_WORK: u64 = 20_000_000;

/// The most values of all registers together.
pub const MAX_VALUES: u64 = 4 << 20;

/// The longest time between two decisions, ticks.
pub const MAX_EVERY: u8 = 60;

/// The first bytes; another version of the kernels has others.
const MAGIC: [u8; 8] = *b"COPLAYN3";

/// The first bytes of a network that the first kernels can play. Such a network is still written in this form, so its
/// hash stays the same, and recordings that name it can be played again.
const FIRST_MAGIC: [u8; 8] = *b"COPLAYN2";

/// A field of the observation that a network takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Number of values that the network takes; values that the observation lacks are 0.
    pub len: u32,
}

/// Which values in the registers a network remembers from decision to decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRegister {
    /// Where they stand before a decision; 0 at first.
    pub enters: u16,
    /// Where they stand after it.
    pub leaves: u16,
}

/// A network: a policy without the seat that it plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The fields of the observation that it takes, one after the other; empty for all of it.
    pub fields: Vec<Field>,
    /// Number of values of each register. The first is what it takes of the observation.
    pub registers: Vec<u32>,
    /// The steps, in the order in which they are computed.
    pub steps: Vec<KernelStep>,
    /// The registers that are remembered.
    pub memory: Vec<MemoryRegister>,
    /// The register, if any, with 1 for each action that may have an effect, and 0 for the others.
    pub mask: Option<u16>,
    /// The register with one value an action: the greater, the better.
    pub logits: u16,
    /// How the action is chosen.
    pub choice: ActionChoice,
    /// Everything that was trained, and constants.
    pub weights: Vec<f32>,
}

/// The reason why a network cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The bytes are not those of a network.
    #[error("these bytes are not a network of this version")]
    Bytes,
    /// It breaks a bound.
    #[error("{what}: {found}, and at most {limit} can be")]
    TooLarge {
        /// The thing of which there is too much.
        what: &'static str,
        /// The amount.
        found: u64,
        /// The greatest amount.
        limit: u64,
    },
    /// A part of it does not fit the others.
    #[error("step {step} does not fit: {why}")]
    KernelStep {
        /// Index of the step.
        step: usize,
        /// The fault.
        why: &'static str,
    },
    /// Something is wrong with the whole.
    #[error("{0}")]
    Whole(&'static str),
}

/// The reason why a network does not play an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It wants another observation.
    #[error(
        "it takes {found} values, and the observation of `{env}` has {wanted} for it ({fields}); open the environment with the \
         layout, the rules and the encodings with which the model was trained"
    )]
    Observation {
        /// The environment.
        env: String,
        /// The number of values that the model takes.
        found: usize,
        /// The number of values that the environment gives for it.
        wanted: usize,
        /// Its fields, with their shapes.
        fields: String,
    },
    /// It wants a field that is not there, or less of it than there is.
    #[error(
        "it takes {len} values of a field `{name}`, and {there}; all of the observation is {fields}"
    )]
    Field {
        /// The field.
        name: String,
        /// The number of values of it that the model takes.
        len: u32,
        /// The environment's fields of that name, in words.
        there: String,
        /// The environment's fields, with their shapes.
        fields: String,
    },
    /// It knows other actions.
    #[error(
        "it chooses among {found} actions, and `{env}` has {wanted} ({actions}); open the environment and the rules in which \
         the model was trained"
    )]
    Actions {
        /// The environment.
        env: String,
        /// The number of actions that the model gives.
        found: usize,
        /// The number of actions that the environment takes.
        wanted: usize,
        /// Their names.
        actions: String,
    },
}

impl Network {
    /// Reads a network and checks all of it.
    ///
    /// # Errors
    /// [`NetworkError`]
    pub fn decode(bytes: &[u8]) -> Result<Self, NetworkError> {
        if bytes.len() > MAX_LEN {
            return Err(too_large("bytes", bytes.len() as u64, MAX_LEN as u64));
        }
        let first = bytes.strip_prefix(&FIRST_MAGIC);
        let network = match first {
            Some(rest) => whole::<first::Network<'_>>(rest)?.into(),
            None => whole::<Self>(bytes.strip_prefix(&MAGIC).ok_or(NetworkError::Bytes)?)?,
        };
        // A network has one form, so that its hash names it.
        if first::Network::of(&network).is_some() != first.is_some() {
            return Err(NetworkError::Bytes);
        }
        network.check().map(|()| network)
    }

    /// The bytes of the network: equal networks have equal bytes.
    ///
    /// # Errors
    /// [`NetworkError`]
    pub fn encode(&self) -> Result<Vec<u8>, NetworkError> {
        self.check()?;
        let bytes = match first::Network::of(self) {
            Some(first) => postcard::to_extend(&first, FIRST_MAGIC.to_vec()),
            None => postcard::to_extend(self, MAGIC.to_vec()),
        };
        let bytes = bytes.expect("plain data serialises into memory");
        match bytes.len() {
            len if len > MAX_LEN => Err(too_large("bytes", len as u64, MAX_LEN as u64)),
            _ => Ok(bytes),
        }
    }

    /// Checks that it can play an environment.
    ///
    /// # Errors
    /// [`Misfit`]
    pub fn check_fit(&self, spec: &Spec) -> Result<(), Misfit> {
        self.parts(spec)?;
        let (found, wanted) = (self.actions(), spec.actions.len());
        if found != wanted {
            let names: Vec<&str> = spec.actions.iter().map(|it| it.name.as_str()).collect();
            return Err(Misfit::Actions {
                env: spec.id.clone(),
                found,
                wanted,
                actions: names.join(", "),
            });
        }
        Ok(())
    }

    /// Where what it takes lies in an observation, and at which of its own values each part begins.
    fn parts(&self, spec: &Spec) -> Result<Vec<(Range<usize>, usize)>, Misfit> {
        let (found, wanted) = (self.len(0), spec.observation_len());
        if self.fields.is_empty() && found != wanted {
            return Err(Misfit::Observation {
                env: spec.id.clone(),
                found,
                wanted,
                fields: listed(spec),
            });
        }
        if self.fields.is_empty() {
            return Ok(vec![(0..wanted, 0)]);
        }
        let mut own = 0;
        let part = |field: &Field| {
            let at = own;
            own += field.len as usize;
            Ok((field.part(spec)?, at))
        };
        self.fields.iter().map(part).collect()
    }

    /// Number of values that it takes.
    pub fn inputs(&self) -> usize {
        self.len(0)
    }

    /// Number of actions that it chooses among.
    pub fn actions(&self) -> usize {
        self.len(self.logits)
    }

    /// Values of a register; 0 for one that is not there.
    fn len(&self, register: u16) -> usize {
        let len = self.registers.get(usize::from(register));
        len.map_or(0, |len| *len as usize)
    }
}

impl Field {
    /// Where it lies in an observation.
    fn part(&self, spec: &Spec) -> Result<Range<usize>, Misfit> {
        let mut start = 0;
        let misfit = |there| Misfit::Field {
            name: self.name.clone(),
            len: self.len,
            there,
            fields: listed(spec),
        };
        for field in &spec.observation {
            let len = field.shape.iter().product::<u32>();
            if field.name != self.name {
                start += len as usize;
            } else if len > self.len {
                return Err(misfit(format!("`{}` has {len}", spec.id)));
            } else {
                return Ok(start..start + len as usize);
            }
        }
        Err(misfit(format!("`{}` has none", spec.id)))
    }
}

/// The fields of an observation, with their shapes.
fn listed(spec: &Spec) -> String {
    let field = |field: &FieldSpec| {
        let shape: Vec<String> = field.shape.iter().map(u32::to_string).collect();
        format!("{} [{}]", field.name, shape.join(", "))
    };
    let fields: Vec<String> = spec.observation.iter().map(field).collect();
    fields.join(", ")
}

/// Reads a value from all of these bytes.
fn whole<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, NetworkError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(NetworkError::Bytes),
    }
}

fn too_large(what: &'static str, found: u64, limit: u64) -> NetworkError {
    NetworkError::TooLarge { what, found, limit }
}
