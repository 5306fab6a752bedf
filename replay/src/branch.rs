//! Branches: an episode continues from one of its exact states with another controller of a seat.
//!
//! AI partners of other seats continue from their own states. All other seats play the recorded actions, and after the
//! last one do nothing.

use archive::{ReplayError, Replica, ReplicaError, Stored, find_partners, open_past_world, replay};
use env_core::tally::add_rewards;
use env_core::{Action, Policy, World, choose_action};
use policy::Partners;
use protocol::log::Log;
use protocol::rules::Rules;
use protocol::{Controller, Seat, Tick};
use rollback::Live;
use serde::Serialize;

use crate::advice::UnknownPolicy;

/// The most ticks of a branch in an environment without a horizon, beyond those of the episode.
const MORE_TICKS: u32 = 36_000;

/// The state from which an episode is continued.
pub struct Branch {
    tick: Tick,
    state: Vec<u8>,
    /// The sum of each seat's rewards before the tick.
    rewards: Vec<f64>,
    seat: Seat,
    policy: String,
    partners: Partners,
    /// The AI partners of other seats: policy, and its state before it chose for the tick.
    others: Vec<(Seat, String, Vec<u8>)>,
    rows: Vec<Action>,
    rules: Rules,
    seed: u64,
    tick_hz: u16,
    limit: u32,
}

/// The reason why an episode cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    /// The episode cannot be simulated here.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The world or a model cannot be opened here.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The episode has no such tick to continue from.
    #[error("the episode has {ticks} ticks: name a tick from 0 to {}", .ticks.saturating_sub(1))]
    Tick {
        /// Ticks played.
        ticks: u32,
    },
    /// The environment has no such seat.
    #[error("the episode has {seats} seats: name a seat from 0 to {}", .seats - 1)]
    Seat {
        /// Seats.
        seats: usize,
    },
    /// No policy of this name plays the environment.
    #[error(transparent)]
    Policy(#[from] UnknownPolicy),
    /// The world does not take up its own state.
    #[error("{env} cannot be continued from a state in the middle")]
    State {
        /// The environment.
        env: String,
    },
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BranchRun {
    /// Seed of the new controller, hexadecimal.
    pub seed: String,
    /// Score of the group at the end.
    pub score: i64,
    /// Ticks of the whole episode.
    pub ticks: u32,
    /// Sum of the rewards of the branched seat from the branch on.
    pub reward: f64,
    /// How it ended: `terminated`, `truncated`, or `stopped` after too many ticks.
    pub outcome: &'static str,
}

/// A world in which a branch is run, for one thread.
pub struct BranchLane<'a> {
    branch: &'a Branch,
    world: Box<dyn World + Send>,
    observation: Vec<f32>,
}

impl Branch {
    /// Simulates an episode up to a tick, from which a policy will play a seat. A policy that is a model comes with its
    /// bytes; its name ends with their SHA-256.
    ///
    /// # Errors
    /// [`BranchError`]
    pub fn open(
        log: &Log,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + Clone + 'static,
        [tick, seat]: [u32; 2],
        policy: &str,
        model: Option<&[u8]>,
    ) -> Result<Self, BranchError> {
        let (tick, seats) = (Tick(tick), log.count_seats());
        let seat = u8::try_from(seat).ok().map(Seat);
        let seat = seat.filter(|seat| seat.index() < seats);
        let seat = seat.ok_or(BranchError::Seat { seats })?;
        let look = |replica: &mut Replica| (replica.snapshot(), replica.reward_sums().to_vec());
        let mut found = None;
        if tick.0 == 0 {
            found = Some(look(&mut Replica::open(&log.header, stored.clone())?));
        }
        let replica = replay(log, stored.clone(), |_, replica| {
            if replica.ticks() == tick && !replica.outcome().over {
                found = Some(look(replica));
            }
        })?;
        let ticks = log.through.0;
        let snapshot = found.filter(|_| tick.0 < ticks);
        let (snapshot, rewards) = snapshot.ok_or(BranchError::Tick { ticks })?;
        let changes: Vec<_> = log.changes().cloned().collect();
        let controller = |seat| archive::controller_at(&log.header, &changes, seat, tick);
        let others = snapshot.partners.into_iter();
        let others = others.filter(|(other, _)| *other != seat);
        let others = others.filter_map(|(other, state)| match controller(other) {
            Controller::Ai { policy } => Some((other, policy.clone(), state)),
            Controller::Human | Controller::Vacant => None,
        });
        let others = others.collect();
        let mut partners = find_partners(log, &stored)?;
        let spec = replica.spec();
        let unknown = || UnknownPolicy::new(policy, spec);
        if let Some((sha256, bytes)) = policy::sha256_of(policy).zip(model) {
            partners.add_model(sha256, bytes).map_err(|_| unknown())?;
        }
        partners.open(policy, spec).ok_or_else(unknown)?;
        Ok(Self {
            tick,
            state: snapshot.state,
            rewards,
            seat,
            policy: policy.into(),
            others,
            partners,
            rows: log.rows(),
            rules: log.header.rules.clone(),
            seed: log.header.seed,
            tick_hz: log.header.tick_hz,
            limit: match spec.horizon {
                0 => ticks.saturating_add(MORE_TICKS),
                horizon => horizon.max(ticks),
            },
        })
    }

    /// Opens a world for runs.
    ///
    /// # Errors
    /// [`BranchError::State`], or the error of opening a world.
    pub fn make_lane<'a>(
        &'a self,
        log: &Log,
        stored: &Stored,
    ) -> Result<BranchLane<'a>, BranchError> {
        let (mut world, _) = open_past_world(&log.header, stored)?;
        world.reset(self.seed);
        let env = log.header.env.clone();
        let taken = world.restore(&self.state);
        taken.map_err(|_| BranchError::State { env })?;
        Ok(BranchLane {
            branch: self,
            world,
            observation: Vec::new(),
        })
    }

    /// The seed of the new controller in a run: the episode's in the first one.
    fn seed(&self, run: u32) -> u64 {
        // Source: the increment of SplitMix64, whose multiples are all different.
        let step = u64::from(run).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.seed.wrapping_add(step)
    }
}

impl BranchLane<'_> {
    /// Plays from the state to an end; run 0 has the episode's own seed.
    pub fn play(&mut self, run: u32) -> BranchRun {
        let (branch, seed) = (self.branch, self.branch.seed(run));
        let (spec, seat) = (self.world.spec().clone(), branch.seat.index());
        let restored = self.world.restore(&branch.state);
        restored.expect("it took up this state before");
        let mut players: Vec<Option<Box<dyn Policy>>> = Vec::new();
        players.resize_with(usize::from(spec.seats), || None);
        let opened = branch.partners.open(&branch.policy, &spec);
        let mut own = opened.expect("it was opened before");
        own.reset(branch.seat.index(), seed);
        players[branch.seat.index()] = Some(own);
        for (seat, name, state) in &branch.others {
            let Some(mut policy) = branch.partners.open(name, &spec) else {
                continue;
            };
            policy.reset(seat.index(), branch.seed);
            if policy.restore(state).is_ok() {
                players[seat.index()] = Some(policy);
            }
        }
        let (mut ticks, mut sums) = (branch.tick.0, branch.rewards.clone());
        let mut row = vec![spec.noop; players.len()];
        let outcome = loop {
            for (seat, player) in players.iter_mut().enumerate() {
                let at = ticks as usize * row.len() + seat;
                row[seat] = match player {
                    Some(policy) => {
                        choose_action(&mut *self.world, &mut **policy, seat, &mut self.observation)
                    }
                    None => branch.rows.get(at).copied().unwrap_or(spec.noop),
                };
            }
            let step = self.world.step(&row);
            let (is_over, terminated) = (step.over, step.terminated);
            add_rewards(&mut sums, &step.rewards);
            ticks += 1;
            let until = branch.rules.until.as_ref();
            let live = |world: &mut Box<_>| {
                Live::of(&mut **world, ticks, branch.tick_hz).with_rewards(&sums)
            };
            if is_over {
                break if terminated != 0 {
                    "terminated"
                } else {
                    "truncated"
                };
            }
            if until.is_some_and(|until| live(&mut self.world).has_ended(until)) {
                break "truncated";
            }
            if ticks >= branch.limit {
                break "stopped";
            }
        };
        BranchRun {
            seed: format!("{seed:016x}"),
            score: self.world.score(),
            ticks,
            reward: sums[seat] - branch.rewards[seat],
            outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use archive::fixtures::{ai_controller, header, no_modules, play_episode};
    use protocol::log::{LogWriter, Record, read_log};

    use super::*;

    fn log(controllers: [Controller; 2]) -> Log {
        let header = header(controllers, 300);
        let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
        let rows = play_episode(&header).rows;
        let first = Tick(0);
        writer
            .append(&Record::Actions { first, rows }, &mut bytes)
            .unwrap();
        read_log(&bytes).unwrap()
    }

    fn run(log: &Log, tick: u32, policy: &str, run: u32) -> BranchRun {
        let branch = Branch::open(log, no_modules, [tick, 0], policy, None).unwrap();
        branch.make_lane(log, &no_modules).unwrap().play(run)
    }

    #[test]
    fn the_same_partner_from_the_start_ends_as_the_record_does() {
        let log = log([ai_controller("random"), ai_controller("cook")]);
        let replica = replay(&log, no_modules, |_, _| {}).unwrap();
        let found = run(&log, 0, "random", 0);
        let ticks = log.through.0;
        assert_eq!((found.score, found.ticks), (replica.score(), ticks));
        assert_eq!(found.outcome, "truncated");
    }

    #[test]
    fn runs_differ_by_their_seed_and_repeat_by_it() {
        let log = log([ai_controller("idle"), ai_controller("cook")]);
        let branch = Branch::open(&log, no_modules, [40, 0], "random", None).unwrap();
        let mut lane = branch.make_lane(&log, &no_modules).unwrap();
        let runs: Vec<BranchRun> = (0..12).map(|run| lane.play(run)).collect();
        assert_eq!(lane.play(5), runs[5]);
        assert!(
            runs.iter().any(|run| run.score != runs[0].score),
            "{runs:?}"
        );
        let helped = run(&log, 40, "cook", 0);
        let alone = run(&log, 40, "idle", 0);
        assert!(
            helped.score > alone.score,
            "two cooks deliver more than one"
        );
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let log = log([ai_controller("idle"), ai_controller("idle")]);
        let refused = |place, policy| {
            let opened = Branch::open(&log, no_modules, place, policy, None);
            opened.err().unwrap().to_string()
        };
        assert!(refused([300, 0], "cook").contains("from 0 to 299"));
        assert!(refused([0, 2], "cook").contains("from 0 to 1"));
        assert!(refused([0, 0], "chef").contains("no policy `chef`"));
        assert!(refused([0, 0], "chef").contains("one of cook, idle, random"));
    }
}
