//! A batch together with the partners that play in it. It knows nothing of Python.

use batch::{Arrays, BatchError, Episode, Infos, Observations, Vector};
use env_core::{Action, Policy};

use crate::partner::mask_bits;
use crate::saved::Saved;

/// The reason why a call was refused.
pub(crate) enum Refused {
    /// The caller asked for something wrong.
    Call(String),
    /// The module of someone else broke down.
    Module { instance: usize, fault: String },
}

impl<E: std::error::Error> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Call(error.to_string())
    }
}

/// The policies that play one seat, an instance each.
type Players = Vec<Box<dyn Policy>>;

/// A batch and its partners.
pub(crate) struct Engine {
    batch: Box<dyn Vector>,
    seats: usize,
    observation: usize,
    /// Actions of all seats, `[instance, seat]`.
    actions: Vec<Action>,
    /// Seats whose actions the caller gives.
    played: Vec<usize>,
    /// The other seats.
    partners: Vec<(usize, Players)>,
    /// The position of each instance's stream of seeds.
    streams: Vec<u64>,
    /// The instances whose episode restarted in the last step.
    restarted: Vec<bool>,
    /// The observation of a partner, where the array holds bytes.
    row: Vec<f32>,
}

impl Engine {
    /// Joins a batch and, for each seat, its players, or `None` if the caller plays.
    pub(crate) fn new(batch: Box<dyn Vector>, partners: Vec<Option<Players>>) -> Self {
        let spec = batch.spec();
        let (instances, seats) = (batch.instances(), usize::from(spec.seats));
        let mut seated: Vec<_> = partners.into_iter().map(Some).collect();
        seated.resize_with(seats, || Some(None));
        let played = (0..seats)
            .filter(|&seat| matches!(seated[seat], Some(None)))
            .collect();
        let partners = seated
            .into_iter()
            .enumerate()
            .filter_map(|(seat, players)| Some((seat, players??)))
            .collect();
        Self {
            seats,
            observation: spec.observation_len(),
            actions: vec![spec.noop; instances * seats],
            played,
            partners,
            streams: (0..instances as u64).collect(),
            restarted: vec![false; instances],
            row: Vec::new(),
            batch,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.batch.threads()
    }

    /// The instances whose episode restarted in the last step.
    pub(crate) fn restarted(&self) -> &[bool] {
        &self.restarted
    }

    /// Restarts episodes and returns their seeds; see `Vector::reset` in Python.
    pub(crate) fn reset(
        &mut self,
        seeds: &[Option<u64>],
        which: Option<&[bool]>,
        arrays: Arrays<'_>,
    ) -> Result<Vec<u64>, Refused> {
        let chosen = |instance: usize| which.is_none_or(|which| which.get(instance) == Some(&true));
        let mut episodes = Vec::with_capacity(seeds.len());
        let mut first = Vec::with_capacity(seeds.len());
        for (instance, seed) in seeds.iter().enumerate() {
            let mut episode = self.batch.episode(instance)?;
            first.push(seed.unwrap_or_else(|| episode.next_seed()));
            episodes.push(seed.map_or(episode, Episode::new));
        }
        self.batch.reset(&first, which, arrays)?;
        self.stand()?;
        self.restarted.fill(false);
        let mut state = Vec::new();
        for instance in (0..seeds.len()).filter(|&instance| chosen(instance)) {
            let episode = episodes[instance];
            if seeds[instance].is_none() {
                // The batch takes a seed as the beginning of a stream; this one is from the middle of the instance's
                // stream.
                self.batch.state(instance, &mut state)?;
                self.batch.restore(instance, &state, episode)?;
            }
            self.streams[instance] = episode.seeds;
            self.seat(instance, first[instance]);
        }
        Ok(first)
    }

    /// Lets the partners of an instance begin an episode.
    fn seat(&mut self, instance: usize, seed: u64) {
        for (seat, players) in &mut self.partners {
            players[instance].reset(*seat, seed);
        }
    }

    /// Advances every instance, and returns whether an episode restarted or a seat ended.
    pub(crate) fn step(
        &mut self,
        actions: &[i64],
        mut arrays: Arrays<'_>,
    ) -> Result<bool, Refused> {
        self.take(actions)?;
        self.ask(
            &arrays.observations,
            arrays.masks.as_deref().unwrap_or_default(),
        );
        let ends =
            |arrays: &Arrays<'_>| arrays.terminated.contains(&1) || arrays.truncated.contains(&1);
        let ended_before = ends(&arrays);
        let lent = lend(&mut arrays);
        self.batch.step(&self.actions, lent)?;
        self.stand()?;
        let ended = ends(&arrays);
        // Episodes restart in the step that ends them or in the one after it, in no other.
        self.restarted.fill(false);
        if ended || ended_before {
            self.notice()?;
        }
        Ok(ended || ended_before)
    }

    /// Refuses a batch in which a module failed.
    fn stand(&self) -> Result<(), Refused> {
        match self.batch.fault() {
            None => Ok(()),
            Some((instance, fault)) => Err(Refused::Module { instance, fault }),
        }
    }

    /// Finds the episodes that restarted, and lets their partners begin.
    fn notice(&mut self) -> Result<(), BatchError> {
        for instance in 0..self.streams.len() {
            let stream = self.batch.episode(instance)?.seeds;
            let before = std::mem::replace(&mut self.streams[instance], stream);
            if stream != before {
                self.restarted[instance] = true;
                self.seat(instance, Episode::new(before).next_seed());
            }
        }
        Ok(())
    }

    /// Takes the actions of the seats that the caller plays.
    fn take(&mut self, actions: &[i64]) -> Result<(), Refused> {
        let (rows, known) = (self.streams.len(), &self.batch.spec().actions);
        if actions.len() != rows * self.played.len() {
            return Err(Refused::Call(format!(
                "actions: {} are given; this batch takes {}",
                actions.len(),
                rows * self.played.len()
            )));
        }
        let wrong =
            |action: &i64| usize::try_from(*action).map_or(true, |index| index >= known.len());
        if let Some(at) = actions.iter().position(wrong) {
            return Err(Refused::Call(format!(
                "actions[{at}]: there is no action {}; the actions are 0 ({}) to {} ({})",
                actions[at],
                known[0].name,
                known.len() - 1,
                known[known.len() - 1].name
            )));
        }
        if self.partners.is_empty() {
            for (to, &from) in self.actions.iter_mut().zip(actions) {
                *to = from as Action;
            }
            return Ok(());
        }
        let given = actions.chunks_exact(self.played.len().max(1));
        for (row, given) in self.actions.chunks_exact_mut(self.seats).zip(given) {
            for (&seat, &action) in self.played.iter().zip(given) {
                row[seat] = action as Action;
            }
        }
        Ok(())
    }

    /// The actions of all seats in the last step, `[instance, seat]`.
    pub(crate) fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Asks the partners for their actions.
    fn ask(&mut self, observations: &Observations<'_>, masks: &[u8]) {
        let Self {
            seats,
            observation,
            actions,
            partners,
            row,
            ..
        } = self;
        for (seat, players) in partners {
            for (instance, player) in players.iter_mut().enumerate() {
                let at = (instance * *seats + *seat) * *observation;
                let seen = match observations {
                    Observations::F32(values) => &values[at..][..*observation],
                    Observations::Compact(values) => {
                        row.clear();
                        row.extend(values[at..][..*observation].iter().map(|&v| f32::from(v)));
                        &row[..]
                    }
                    Observations::None => &[],
                };
                let place = instance * *seats + *seat;
                let count = masks.len() / actions.len();
                let mask = || masks[place * count..][..count].iter().map(|it| *it != 0);
                actions[place] = match player.wants_mask() {
                    true => player.act_masked(seen, mask_bits(mask())),
                    false => player.act(seen),
                };
            }
        }
    }

    /// The episode of an instance on its way.
    pub(crate) fn save(&mut self, instance: usize) -> Result<Saved, BatchError> {
        let mut state = Vec::new();
        self.batch.state(instance, &mut state)?;
        let mut partners = vec![Vec::new(); self.seats];
        for (seat, players) in &self.partners {
            players[instance].state(&mut partners[*seat]);
        }
        Ok(Saved {
            episode: self.batch.episode(instance)?,
            state,
            partners,
        })
    }

    /// Loads the episode of an instance, and writes its observations.
    pub(crate) fn take_up(
        &mut self,
        instance: usize,
        saved: &Saved,
        arrays: Arrays<'_>,
    ) -> Result<(), Refused> {
        let before = self.save(instance)?;
        let result = self.restore(instance, saved);
        if result.is_err() {
            self.restore(instance, &before)?;
        }
        let Arrays {
            observations,
            rewards,
            terminated,
            truncated,
            masks,
            infos,
            ..
        } = arrays;
        self.batch.observe(observations, masks)?;
        let row = instance * self.seats..(instance + 1) * self.seats;
        rewards[row.clone()].fill(0.0);
        terminated[row.clone()].fill(0);
        truncated[row.clone()].fill(0);
        if let Some(Infos {
            episode_return,
            episode_length,
            ..
        }) = infos
        {
            let episode = self.batch.episode(instance)?;
            episode_return[row].copy_from_slice(&episode.returns[..self.seats]);
            episode_length[instance] = episode.length;
        }
        result
    }

    fn restore(&mut self, instance: usize, saved: &Saved) -> Result<(), Refused> {
        self.batch.restore(instance, &saved.state, saved.episode)?;
        self.streams[instance] = saved.episode.seeds;
        for (seat, players) in &mut self.partners {
            let state = saved.partners.get(*seat).map_or(&[][..], Vec::as_slice);
            players[instance].restore(state)?;
        }
        Ok(())
    }
}

/// Lends arrays on, so that they can be looked at afterwards.
fn lend<'a>(arrays: &'a mut Arrays<'_>) -> Arrays<'a> {
    let again = |observations: &'a mut Observations<'_>| match observations {
        Observations::None => Observations::None,
        Observations::F32(values) => Observations::F32(values),
        Observations::Compact(values) => Observations::Compact(values),
    };
    Arrays {
        observations: again(&mut arrays.observations),
        final_observations: again(&mut arrays.final_observations),
        rewards: &mut *arrays.rewards,
        terminated: &mut *arrays.terminated,
        truncated: &mut *arrays.truncated,
        masks: arrays.masks.as_deref_mut(),
        infos: arrays.infos.as_mut().map(|infos| Infos {
            episode_return: &mut *infos.episode_return,
            episode_length: &mut *infos.episode_length,
            events: &mut *infos.events,
        }),
    }
}
