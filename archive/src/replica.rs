//! The server's own copy of an episode: only archived actions step it, and it decides score and digest.
//!
//! It must not know of files and uploads.

mod error;
mod module_file;
mod opening;
mod replaying;
mod resumed;

use env_core::digest::Fnv1a;
use env_core::tally::{add_rewards, write_sums};
use env_core::view::ViewFacts;
use env_core::{Action, Policy, Spec, StepOutcome, World, choose_action};
use policy::Partners;
use protocol::change::Change;
use protocol::log::{Ending, Header};
use protocol::rules::Rules;
use protocol::{Controller, Seat, Tick};
use rollback::Live;

use crate::stored::Stored;
pub use error::{ReplayError, ReplicaError, RowError};
pub(crate) use opening::{add_network, open_world, world};
pub use replaying::{replay, replay_from};
use server_core::arbiter::Snapshot;
use study::SeatTotals;

/// A native environment with its AI partners, somewhere in an episode.
pub struct Replica {
    world: Box<dyn World + Send>,
    page_facts: Option<ViewFacts>,
    /// True if all seats do what the log says, because its world does not repeat itself.
    is_record: bool,
    /// False if what the seats observe is not known.
    knows_observations: bool,
    /// The networks that were called so far.
    partners: Partners,
    stored: Box<Stored>,
    players: Vec<Player>,
    /// Changes whose tick is not reached, in their order, and who plays from then on.
    waiting: Vec<(Change, Player)>,
    seed: u64,
    tick_hz: u16,
    rules: Rules,
    /// The action of each seat in the next tick; `None` for a person.
    chosen: Vec<Option<Action>>,
    observation: Vec<f32>,
    outcome: StepOutcome,
    /// After 0, 1, 2, … steps.
    digests: Vec<u64>,
    score: i64,
    /// The sum of each seat's rewards.
    rewards: Vec<f64>,
}

/// The player of a seat.
enum Player {
    Person,
    Nobody,
    Partner {
        policy: Box<dyn Policy>,
        /// Its state before it chose for the next tick.
        before: Vec<u8>,
    },
    /// A function of the environment itself.
    Environment,
}

impl Replica {
    /// Opens the environment of an episode at its first state. If this program does not have the environment, or has
    /// another version, its module is used. AI partners that are networks are played with the networks that `stored`
    /// returns.
    ///
    /// # Errors
    /// [`ReplicaError`]
    pub fn open(
        header: &Header,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + 'static,
    ) -> Result<Self, ReplicaError> {
        let (world, sprites) = open_world(header, &stored)?;
        let page_facts = opening::page_facts(header, &*world, sprites)?;
        let mut replica = Self::of_world(header, world, Box::new(stored))?;
        replica.page_facts = page_facts;
        Ok(replica)
    }

    /// The episode of a log whose rows cannot be simulated again: its players do what the rows say, and the world shows
    /// what was recorded.
    pub(crate) fn of_record(
        header: &Header,
        world: Box<dyn World + Send>,
        knows_observations: bool,
    ) -> Result<Self, ReplicaError> {
        let seats = header.controllers.len();
        let header = Header {
            controllers: vec![Controller::Human; seats],
            rules: Rules::default(),
            ..header.clone()
        };
        let stored = |_: &str| Err(std::io::Error::other("a record needs no module"));
        let mut replica = Self::of_world(&header, world, Box::new(stored))?;
        (replica.is_record, replica.knows_observations) = (true, knows_observations);
        Ok(replica)
    }

    /// The episode at the first state of an open world.
    pub(crate) fn of_world(
        header: &Header,
        mut world: Box<dyn World + Send>,
        stored: Box<Stored>,
    ) -> Result<Self, ReplicaError> {
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
                reason: String::new(),
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
            page_facts: None,
            is_record: false,
            knows_observations: true,
            partners: Partners::default(),
            stored,
            players: Vec::new(),
            waiting: Vec::new(),
            seed: header.seed,
            tick_hz: header.tick_hz,
            rules: header.rules.clone(),
            chosen: vec![None; here],
            observation: Vec::new(),
            outcome: StepOutcome::default(),
            digests: vec![digest],
            score,
            rewards: vec![0.0; here],
        };
        for (seat, controller) in (0..).map(Seat).zip(&header.controllers) {
            let player = replica.player(seat, controller)?;
            replica.players.push(player);
        }
        (0..here).for_each(|seat| replica.choose(seat));
        if let Some(reason) = replica.world.fault() {
            return Err(ReplicaError::Module {
                env: header.env.clone(),
                hash: header.module.clone(),
                reason,
            });
        }
        Ok(replica)
    }

    /// The reason why the environment was stopped, if it broke down.
    pub fn world_fault(&self) -> Option<String> {
        self.world.fault()
    }

    /// Queues a change, which is applied once its tick is reached. Until then a person who loses the seat must have
    /// played the inputs that it brings.
    ///
    /// # Errors
    /// [`ReplicaError::Policy`]; the seat then keeps its controller.
    pub fn apply_change(&mut self, change: &Change) -> Result<(), ReplicaError> {
        let player = self.player(change.seat, &change.controller)?;
        self.waiting.push((change.clone(), player));
        if change.tick <= self.ticks() {
            self.enter();
            self.choose(change.seat.index());
        }
        Ok(())
    }

    fn player(&mut self, seat: Seat, controller: &Controller) -> Result<Player, ReplicaError> {
        let name = match controller {
            Controller::Ai { policy } if !self.is_record => policy,
            Controller::Vacant if !self.is_record => return Ok(Player::Nobody),
            _ => return Ok(Player::Person),
        };
        if name == policy::ENVIRONMENT {
            return Ok(Player::Environment);
        }
        add_network(&mut self.partners, name, &*self.stored)?;
        let spec = self.world.spec();
        let unknown = || ReplicaError::Policy {
            name: name.into(),
            env: spec.id.clone(),
        };
        let mut policy = self.partners.open(name, spec).ok_or_else(unknown)?;
        policy.reset(seat.index(), self.seed);
        let before = Vec::new();
        Ok(Player::Partner { policy, before })
    }

    /// Applies the changes whose tick is reached.
    fn enter(&mut self) {
        let now = self.ticks();
        let due = |(change, _): &mut (Change, Player)| change.tick <= now;
        for (change, player) in self.waiting.extract_if(.., due) {
            self.players[change.seat.index()] = player;
        }
    }

    /// Chooses the action of a seat without a person for the next tick: once per tick, because choosing changes a
    /// policy's state.
    fn choose(&mut self, seat: usize) {
        let spec = self.world.spec();
        let (noop, actions) = (spec.noop, spec.actions.len());
        self.chosen[seat] = match &mut self.players[seat] {
            Player::Person => None,
            Player::Nobody => Some(noop),
            Player::Environment => {
                let chosen = self.world.choose(seat);
                let fits = chosen.filter(|action| usize::from(*action) < actions);
                Some(fits.unwrap_or(noop))
            }
            Player::Partner { policy, before } => {
                policy.state(before);
                let world = &mut *self.world;
                Some(choose_action(
                    world,
                    &mut **policy,
                    seat,
                    &mut self.observation,
                ))
            }
        };
    }

    /// Plays a tick.
    ///
    /// # Errors
    /// [`RowError`]
    pub fn step(&mut self, row: &[Action]) -> Result<(), RowError> {
        self.check_row(row)?;
        for (seat, &found) in (0..).map(Seat).zip(row) {
            if let Some(expected) = self
                .chosen_action(seat)
                .filter(|expected| *expected != found)
            {
                return Err(RowError::Partner {
                    seat,
                    expected,
                    found,
                });
            }
        }
        self.advance(row, &[])
    }

    /// Refuses a row that the world cannot play.
    fn check_row(&self, row: &[Action]) -> Result<(), RowError> {
        if self.outcome.over {
            return Err(RowError::Over);
        }
        let actions = self.spec().actions.len();
        if row.len() != self.chosen.len()
            || row.iter().any(|action| usize::from(*action) >= actions)
        {
            return Err(RowError::Malformed);
        }
        Ok(())
    }

    /// Plays a checked row. Rewards that were `recorded` count instead of the world's.
    fn advance(&mut self, row: &[Action], recorded: &[Option<f32>]) -> Result<(), RowError> {
        self.outcome.clone_from(self.world.step(row));
        if self.world.fault().is_none() {
            let mut rewards = self.outcome.rewards;
            for (reward, recorded) in rewards.iter_mut().zip(recorded) {
                *reward = recorded.unwrap_or(*reward);
            }
            add_rewards(&mut self.rewards, &rewards);
        }
        self.end_by_study();
        let (digest, score) = (self.world.digest(), self.world.score());
        if let Some(fault) = self.world.fault() {
            tracing::error!(fault, "the environment of an episode was stopped");
            // The outcome of a failed world is not an end of the episode.
            self.outcome.clear();
            return Err(RowError::Stopped);
        }
        self.digests.push(digest);
        self.score = score;
        if !self.outcome.over {
            self.enter();
            (0..row.len()).for_each(|seat| self.choose(seat));
        }
        Ok(())
    }

    /// Lets the study end the episode where the environment would continue: that cuts off everybody who has not reached
    /// an end.
    fn end_by_study(&mut self) {
        let ticks = self.ticks().0 + 1;
        let live = Live::of(&mut *self.world, ticks, self.tick_hz).with_rewards(&self.rewards);
        let until = self.rules.until.as_ref();
        if !self.outcome.over && until.is_some_and(|until| live.has_ended(until)) {
            let all = (1_u32 << self.chosen.len()) - 1;
            self.outcome.over = true;
            self.outcome.truncated |= all as u16 & !self.outcome.terminated;
        }
    }

    /// The specification that the environment has with its parameters.
    pub fn spec(&self) -> &Spec {
        self.world.spec()
    }

    /// Ticks played.
    pub fn ticks(&self) -> Tick {
        Tick(u32::try_from(self.digests.len() - 1).expect("a log counts its ticks in 32 bits"))
    }

    /// The outcome of the last tick.
    pub fn outcome(&self) -> &StepOutcome {
        &self.outcome
    }

    /// Returns the hash of a seat's present observation.
    pub fn observe_digest(&mut self, seat: usize) -> u64 {
        self.world.observe(seat, &mut self.observation);
        hash_observation(&self.observation)
    }

    /// True if what the seats observe is known. It is not if the log is the only record, and has no observations.
    pub fn knows_observations(&self) -> bool {
        self.knows_observations
    }

    /// True if the world does not repeat itself, and shows what its log has.
    pub fn is_record(&self) -> bool {
        self.is_record
    }

    /// The observation that was last asked for.
    pub(crate) fn observation(&self) -> &[f32] {
        &self.observation
    }

    /// Returns the facts by which pages show a hosted world; `None` for a world that they step.
    pub fn page_facts(&self) -> Option<&ViewFacts> {
        self.page_facts.as_ref()
    }

    /// The world, for those who show it.
    pub fn world(&mut self) -> &mut (dyn World + Send) {
        &mut *self.world
    }

    /// Gives the source of modules and models away: no other partner can play any more.
    pub fn take_stored(&mut self) -> Box<Stored> {
        let none = |_: &str| Err(std::io::Error::other("the episode is over"));
        std::mem::replace(&mut self.stored, Box::new(none))
    }

    /// The score of the group now.
    pub fn score(&self) -> i64 {
        self.score
    }

    /// The score of a seat now.
    pub fn seat_score(&mut self, seat: Seat) -> i64 {
        self.world.seat_score(seat.index())
    }

    /// Writes the observation of a seat now.
    pub fn observe(&mut self, seat: Seat, out: &mut Vec<f32>) {
        self.world.observe(seat.index(), out);
    }

    /// Writes the canonical bytes of the state now.
    pub fn write_state(&mut self, out: &mut Vec<u8>) {
        self.world.state(out);
    }

    /// The sum of each seat's rewards.
    pub fn reward_sums(&self) -> &[f64] {
        &self.rewards
    }

    /// Scores of the seats now, and the sums of their rewards.
    pub fn seat_totals(&mut self) -> SeatTotals {
        let seats = 0..self.chosen.len();
        SeatTotals {
            scores: seats.map(|seat| self.world.seat_score(seat)).collect(),
            rewards: self.rewards.clone(),
        }
    }

    /// The action that a seat must play in the next tick; `None` if a person may play anything.
    pub fn chosen_action(&self, seat: Seat) -> Option<Action> {
        let mut cuts = self.waiting.iter().filter(|(cut, _)| cut.seat == seat);
        let backfilled = || cuts.find_map(|(cut, _)| input(cut, self.ticks()));
        self.chosen[seat.index()].or_else(backfilled)
    }

    /// The state now, for a page that comes back.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut state = Vec::new();
        self.world.state(&mut state);
        let mut rewards = Vec::new();
        write_sums(&self.rewards, &mut rewards);
        let tick = self.ticks();
        let partners = (0..).map(Seat).zip(&self.players);
        Snapshot {
            tick,
            digest: self.last_digest(),
            state,
            rewards,
            partners: partners
                .filter_map(|(seat, player)| match player {
                    Player::Partner { before, .. } => Some((seat, before.clone())),
                    Player::Person | Player::Nobody | Player::Environment => None,
                })
                .collect(),
        }
    }

    fn last_digest(&self) -> u64 {
        *self.digests.last().expect("the first state has a digest")
    }

    /// The digest after `ticks` steps, if they were played.
    pub fn digest(&self, tick: Tick) -> Option<u64> {
        self.digests.get(usize::try_from(tick.0).ok()?).copied()
    }

    /// The end as it would be written now, for this reason unless the environment itself has ended.
    pub fn read_ending(&self, reason: protocol::control::EndReason) -> Ending {
        let reason = if self.outcome.over {
            protocol::control::EndReason::Played
        } else {
            reason
        };
        Ending {
            ticks: self.ticks(),
            reason,
            score: self.score,
            digest: self.last_digest(),
        }
    }
}

/// The hash of an observation in a log.
pub fn hash_observation(values: &[f32]) -> u64 {
    let bits = values.iter().map(|value| value.to_bits());
    bits.fold(Fnv1a::EMPTY, |hash, bits| hash.with(&bits.to_le_bytes()))
        .value()
}

/// The input that a cut brings for a tick.
pub(super) fn input(cut: &Change, tick: Tick) -> Option<Action> {
    let back = cut.tick.0.checked_sub(tick.0).filter(|back| *back > 0)?;
    let index = cut.inputs.len().checked_sub(back as usize)?;
    cut.inputs.get(index).copied()
}
