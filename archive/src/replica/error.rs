//! The ways in which an episode, a row or a log cannot be simulated.

use env_core::Action;
use protocol::log::Ending;
use protocol::{Seat, Tick};

/// The reason why this program cannot simulate an episode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    /// The environment is not here, or refuses the parameters.
    #[error("environment: {0}")]
    Environment(#[from] env_core::contract::ParamError),
    /// The module of an environment that this program does not bring.
    #[error("module {hash} of `{env}`: {reason}")]
    Module {
        /// Environment id.
        env: String,
        /// SHA-256 of the module, as recorded.
        hash: String,
        /// The reason why it cannot be played.
        reason: String,
    },
    /// The environment here has other rules.
    #[error("recorded with {env} {recorded}; this program has {here}{reason}")]
    Version {
        /// Environment id.
        env: String,
        /// Version in the log.
        recorded: String,
        /// Version built in.
        here: String,
        /// The reason why its module does not help; empty if it names no module.
        reason: String,
    },
    /// The episode has another number of seats than the environment.
    #[error("{recorded} seats recorded; the environment has {here} with these parameters")]
    Seats {
        /// Seats in the log.
        recorded: usize,
        /// Seats of the environment.
        here: usize,
    },
    /// The network of an AI partner.
    #[error("network {hash} of `{name}`: {reason}")]
    Network {
        /// Name of the policy.
        name: String,
        /// SHA-256 of the network, as recorded.
        hash: String,
        /// The reason why it cannot be played.
        reason: String,
    },
    /// An AI partner that this program does not have.
    #[error("there is no policy `{name}` for {env}")]
    Policy {
        /// Name of the policy.
        name: String,
        /// Environment id.
        env: String,
    },
}

/// The reason why a row is not the next one of an episode. The replica is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The environment has ended before.
    #[error("a row after the end of the episode")]
    Over,
    /// Not one action a seat, or an action that the environment does not have.
    #[error("a row that is not one action of the environment for each seat")]
    Malformed,
    /// The seat did not play this: its AI partner chose something else, it is vacant, or its person was gone and
    /// the cut says otherwise.
    #[error("seat {}: action {found}, but it played {expected}", seat.0)]
    Partner {
        /// The seat.
        seat: Seat,
        /// The action that it played.
        expected: Action,
        /// The action in the row.
        found: Action,
    },
    /// The environment broke down in this row, and stands still.
    #[error("the environment was stopped")]
    Stopped,
}

/// The first difference between a log and its re-simulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be simulated here.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// A row cannot be played.
    #[error("tick {}: {error}", tick.0)]
    Row {
        /// The tick.
        tick: Tick,
        /// The reason.
        error: RowError,
    },
    /// The replica had another digest when the log was written.
    #[error("tick {}: digest {recorded:016x} recorded, {found:016x} found", tick.0)]
    Digest {
        /// After how many steps.
        tick: Tick,
        /// In the log.
        recorded: u64,
        /// By re-simulation.
        found: u64,
    },
    /// The recorded end is not the one found.
    #[error("the end: {recorded:?} recorded, {found:?} found")]
    End {
        /// In the log.
        recorded: Ending,
        /// By re-simulation.
        found: Ending,
    },
}
