//! The server's own copy of an episode: stepped by archived actions alone, it has the last word on score and digest.
//!
//! It must not know of files and uploads.

use env_core::{Action, Outcome, Policy, Spec, World};
use protocol::log::{Ending, Header, Log, Record};
use protocol::{Controller, Seat, Tick};

use crate::assets::sha256_hex;

/// Why an episode cannot be simulated by this program.
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
        /// Why it cannot be played.
        reason: String,
    },
    /// The environment here has other rules.
    #[error("recorded with {env} {recorded}; this program has {here}")]
    Version {
        /// Environment id.
        env: String,
        /// Version in the log.
        recorded: String,
        /// Version built in.
        here: String,
    },
    /// The episode has another number of seats than the environment.
    #[error("{recorded} seats recorded; the environment has {here} with these parameters")]
    Seats {
        /// Seats in the log.
        recorded: usize,
        /// Seats of the environment.
        here: usize,
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

/// Why a row is not the next one of an episode. The replica is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The environment has ended before.
    #[error("a row after the end of the episode")]
    Over,
    /// Not one action a seat, or an action that the environment does not have.
    #[error("a row that is not one action of the environment for each seat")]
    Malformed,
    /// The AI partner of a seat did not choose this.
    #[error("seat {}: action {found}, but its policy chose {expected}", seat.0)]
    Partner {
        /// The seat.
        seat: Seat,
        /// What the policy chose.
        expected: Action,
        /// What the row says.
        found: Action,
    },
    /// The environment broke down in this row, and stands still.
    #[error("the environment was stopped")]
    Stopped,
}

/// Where a log and its re-simulation part.
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
        /// Why.
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

/// A native environment with its AI partners, somewhere in an episode.
pub struct Replica {
    world: Box<dyn World + Send>,
    controllers: Vec<Controller>,
    partners: Vec<Option<Box<dyn Policy>>>,
    seed: u64,
    /// What the AI partner of each seat plays in the next tick.
    chosen: Vec<Option<Action>>,
    observation: Vec<f32>,
    outcome: Outcome,
    /// After 0, 1, 2, … steps.
    digests: Vec<u64>,
    score: i64,
}

impl Replica {
    /// Opens the environment of an episode at its first state. One that this program does not bring is played
    /// in its module, which `modules` gives by its hash.
    ///
    /// # Errors
    /// [`ReplicaError`]
    pub fn open(
        header: &Header,
        modules: impl FnOnce(&str) -> std::io::Result<Vec<u8>>,
    ) -> Result<Self, ReplicaError> {
        let mut world = world(header, modules)?;
        let (version, here) = (
            world.spec().version.clone(),
            usize::from(world.spec().seats),
        );
        if version != header.env_version {
            let (env, recorded) = (header.env.clone(), header.env_version.clone());
            return Err(ReplicaError::Version {
                env,
                recorded,
                here: version,
            });
        }
        if header.controllers.len() != here {
            return Err(ReplicaError::Seats {
                recorded: header.controllers.len(),
                here,
            });
        }
        world.reset(header.seed);
        let (digest, score) = (world.digest(), world.score());
        let mut replica = Self {
            world,
            controllers: header.controllers.clone(),
            partners: std::iter::repeat_with(|| None).take(here).collect(),
            seed: header.seed,
            chosen: vec![None; here],
            observation: Vec::new(),
            outcome: Outcome::default(),
            digests: vec![digest],
            score,
        };
        for (seat, controller) in (0..).zip(&header.controllers) {
            replica.control(Seat(seat), controller)?;
        }
        if let Some(reason) = replica.world.fault() {
            return Err(ReplicaError::Module {
                env: header.env.clone(),
                hash: header.module.clone(),
                reason,
            });
        }
        Ok(replica)
    }

    /// Gives a seat to another controller from the next tick on.
    ///
    /// # Errors
    /// [`ReplicaError::Policy`]; the seat then keeps its controller.
    pub fn control(&mut self, seat: Seat, controller: &Controller) -> Result<(), ReplicaError> {
        let partner = match controller {
            Controller::Human | Controller::Vacant => None,
            Controller::Ai { policy } => Some(self.partner(seat, policy)?),
        };
        self.partners[seat.index()] = partner;
        self.controllers[seat.index()] = controller.clone();
        self.choose(seat.index());
        Ok(())
    }

    fn partner(&self, seat: Seat, name: &str) -> Result<Box<dyn Policy>, ReplicaError> {
        let spec = self.world.spec();
        let unknown = || ReplicaError::Policy {
            name: name.into(),
            env: spec.id.clone(),
        };
        let mut policy = policy::by_name(name, spec).ok_or_else(unknown)?;
        policy.reset(seat.index(), self.seed);
        Ok(policy)
    }

    /// Lets the AI partner of a seat choose for the next tick: once a tick, because choosing moves its state.
    fn choose(&mut self, seat: usize) {
        self.chosen[seat] = self.partners[seat].as_mut().map(|policy| {
            self.world.observe(seat, &mut self.observation);
            let action = policy.act(&self.observation);
            let spec = self.world.spec();
            if usize::from(action) < spec.actions.len() {
                action
            } else {
                spec.noop
            }
        });
    }

    /// Plays a tick.
    ///
    /// # Errors
    /// [`RowError`]
    pub fn step(&mut self, row: &[Action]) -> Result<(), RowError> {
        if self.outcome.over {
            return Err(RowError::Over);
        }
        let actions = self.spec().actions.len();
        if row.len() != self.chosen.len()
            || row.iter().any(|action| usize::from(*action) >= actions)
        {
            return Err(RowError::Malformed);
        }
        for (seat, (&found, chosen)) in (0..).map(Seat).zip(row.iter().zip(&self.chosen)) {
            if let Some(expected) = chosen.filter(|expected| *expected != found) {
                return Err(RowError::Partner {
                    seat,
                    expected,
                    found,
                });
            }
        }
        self.outcome.clone_from(self.world.step(row));
        let (digest, score) = (self.world.digest(), self.world.score());
        if let Some(fault) = self.world.fault() {
            tracing::error!(fault, "the environment of an episode was stopped");
            // What a world says that broke down is no end of the episode.
            self.outcome.clear();
            return Err(RowError::Stopped);
        }
        self.digests.push(digest);
        self.score = score;
        if !self.outcome.over {
            (0..row.len()).for_each(|seat| self.choose(seat));
        }
        Ok(())
    }

    /// What the parameters of the environment fix.
    pub fn spec(&self) -> &Spec {
        self.world.spec()
    }

    /// Ticks played.
    pub fn ticks(&self) -> Tick {
        Tick(u32::try_from(self.digests.len() - 1).expect("a log counts its ticks in 32 bits"))
    }

    /// What the last tick gave.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The score now.
    pub fn score(&self) -> i64 {
        self.score
    }

    /// Who controls each seat in the next tick.
    pub fn controllers(&self) -> &[Controller] {
        &self.controllers
    }

    /// What the AI partner of a seat plays in the next tick; none for a person.
    pub fn chosen(&self, seat: Seat) -> Option<Action> {
        self.chosen[seat.index()]
    }

    /// The digest after so many steps, if they were played.
    pub fn digest(&self, tick: Tick) -> Option<u64> {
        self.digests.get(usize::try_from(tick.0).ok()?).copied()
    }

    /// The end as it would be written now, for this reason unless the environment itself has ended.
    pub fn ending(&self, reason: protocol::control::EndReason) -> Ending {
        let reason = if self.outcome.over {
            protocol::control::EndReason::Played
        } else {
            reason
        };
        let digest = *self.digests.last().expect("the first state has a digest");
        Ending {
            ticks: self.ticks(),
            reason,
            score: self.score,
            digest,
        }
    }
}

fn world(
    header: &Header,
    modules: impl FnOnce(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Box<dyn World + Send>, ReplicaError> {
    let is_ours = env_core::envs::IDS.contains(&header.env.as_str());
    if is_ours || header.module.is_empty() {
        return Ok(env_core::envs::open(&header.env, &header.params)?);
    }
    let refused = |reason: String| ReplicaError::Module {
        env: header.env.clone(),
        hash: header.module.clone(),
        reason,
    };
    let bytes = modules(&header.module).map_err(|error| refused(error.to_string()))?;
    if sha256_hex(&bytes) != header.module {
        return Err(refused("the stored file has another hash".into()));
    }
    let world = module::load(&bytes, &header.params, module::Limits::default());
    Ok(Box::new(world.map_err(|error| refused(error.to_string()))?))
}

/// Simulates a log again and compares; `each` sees the replica after each row.
///
/// # Errors
/// [`ReplayError`] at the first thing that differs.
pub fn replay(
    log: &Log,
    modules: impl FnOnce(&str) -> std::io::Result<Vec<u8>>,
    mut each: impl FnMut(&[Action], &Replica),
) -> Result<Replica, ReplayError> {
    let mut replica = Replica::open(&log.header, modules)?;
    for record in &log.records {
        match record {
            Record::Actions { rows, .. } => {
                for row in rows.chunks_exact(log.seats()) {
                    let tick = replica.ticks();
                    replica
                        .step(row)
                        .map_err(|error| ReplayError::Row { tick, error })?;
                    each(row, &replica);
                }
            }
            Record::Change(change) => replica.control(change.seat, &change.controller)?,
            Record::Digest {
                tick,
                seat: None,
                digest: recorded,
            } => {
                let found = replica.digest(*tick).unwrap_or_default();
                if found != *recorded {
                    return Err(ReplayError::Digest {
                        tick: *tick,
                        recorded: *recorded,
                        found,
                    });
                }
            }
            Record::End(recorded) => {
                let found = replica.ending(recorded.reason);
                let claimed = recorded.reason == protocol::control::EndReason::Played
                    && !replica.outcome.over;
                if found != *recorded || claimed {
                    return Err(ReplayError::End {
                        recorded: *recorded,
                        found,
                    });
                }
            }
            Record::Digest { seat: Some(_), .. }
            | Record::Timing { .. }
            | Record::Presence { .. }
            | Record::Diverged { .. } => {}
        }
    }
    Ok(replica)
}
