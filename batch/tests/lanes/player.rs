//! Two batches that are stepped in the same way, with everything that happens to a batch in between.

use batch::{Arrays, BatchOptions, Infos, Observations, Vector};
use env_core::Action;
use env_core::rng::Rng;

/// The options of a batch that always writes everything.
pub(crate) fn whole(options: BatchOptions) -> BatchOptions {
    BatchOptions {
        in_place: false,
        ..options
    }
}

/// The form in which a step is observed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Look {
    Nothing,
    Wide,
    Compact,
}

/// The output of a step.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    rewards: Vec<u32>,
    ends: [Vec<u8>; 2],
    returns: Vec<u32>,
    lengths: Vec<u32>,
    events: Vec<u32>,
    /// Those after the step, and the last of episodes.
    wide: [Vec<u32>; 2],
    compact: [Vec<i8>; 2],
    masks: Vec<u8>,
}

impl Written {
    /// The first field in which another step wrote something else: the values would fill a screen.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let fields = [
            ("rewards", self.rewards == other.rewards),
            ("ends", self.ends == other.ends),
            ("returns", self.returns == other.returns),
            ("lengths", self.lengths == other.lengths),
            ("events", self.events == other.events),
            ("f32 observations", self.wide == other.wide),
            ("compact observations", self.compact == other.compact),
            ("masks", self.masks == other.masks),
        ];
        let different = fields.into_iter().find(|(_, is_equal)| !is_equal);
        different.map(|(field, _)| field)
    }
}

/// A batch and the arrays of its caller.
struct Player {
    batch: Box<dyn Vector>,
    rewards: Vec<f32>,
    ends: [Vec<u8>; 2],
    returns: Vec<f32>,
    lengths: Vec<u32>,
    events: Vec<f32>,
    wide: [Vec<f32>; 2],
    compact: [Vec<i8>; 2],
    masks: Vec<u8>,
}

impl Player {
    fn new(batch: Box<dyn Vector>) -> Self {
        let n = batch.instances();
        let rows = n * usize::from(batch.spec().seats);
        let (kinds, values) = (batch.spec().events.len(), batch.spec().observation_len());
        Self {
            masks: vec![9; rows * batch.spec().actions.len()],
            batch,
            rewards: vec![9.0; rows],
            ends: [vec![9; rows], vec![9; rows]],
            returns: vec![9.0; rows],
            lengths: vec![9; n],
            events: vec![9.0; rows * kinds],
            wide: [vec![9.0; rows * values], vec![9.0; rows * values]],
            compact: [vec![9; rows * values], vec![9; rows * values]],
        }
    }

    fn call(
        &mut self,
        look: Look,
        is_masked: bool,
        work: impl FnOnce(&mut dyn Vector, Arrays<'_>),
    ) -> Written {
        let [terminated, truncated] = &mut self.ends;
        let mut arrays = Arrays::new(&mut self.rewards, terminated, truncated);
        arrays.infos = Some(Infos {
            episode_return: &mut self.returns,
            episode_length: &mut self.lengths,
            events: &mut self.events,
        });
        [arrays.observations, arrays.final_observations] = match look {
            Look::Nothing => [Observations::None, Observations::None],
            Look::Wide => self.wide.each_mut().map(|out| Observations::F32(out)),
            Look::Compact => self
                .compact
                .each_mut()
                .map(|out| Observations::Compact(out)),
        };
        arrays.masks = is_masked.then_some(&mut self.masks);
        work(&mut *self.batch, arrays);
        let bits = |values: &[f32]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        Written {
            rewards: bits(&self.rewards),
            ends: self.ends.clone(),
            returns: bits(&self.returns),
            lengths: self.lengths.clone(),
            events: bits(&self.events),
            wide: self.wide.each_ref().map(|values| bits(values)),
            compact: self.compact.clone(),
            masks: self.masks.clone(),
        }
    }

    fn states(&mut self) -> Vec<(Vec<u8>, batch::Episode)> {
        let mut states = Vec::new();
        for index in 0..self.batch.instances() {
            let mut bytes = Vec::new();
            self.batch.state(index, &mut bytes).unwrap();
            states.push((bytes, self.batch.episode(index).unwrap()));
        }
        states
    }
}

/// Steps two batches, compares everything that they write, and returns the earnings. The actions are drawn from these.
pub(crate) fn compare_batches(
    batches: [Box<dyn Vector>; 2],
    actions: &[Action],
    steps: usize,
    seed: u64,
) -> f32 {
    let mut players = batches.map(Player::new);
    let (n, seats) = (
        players[0].batch.instances(),
        usize::from(players[0].batch.spec().seats),
    );
    let is_compact = players[0].batch.spec().compact;
    let mut rng = Rng::new(seed);
    let mut earned = 0.0;
    // Whoever looks does so for a while, and then always in the same way.
    let looks = match is_compact {
        true => [Look::Nothing, Look::Wide, Look::Compact],
        false => [Look::Nothing, Look::Wide, Look::Wide],
    };
    let mut look = looks[seed as usize % 3];
    for _ in 0..steps {
        if rng.below(12) == 0 {
            look = looks[rng.below(3) as usize];
        }
        let is_masked = rng.below(3) == 0;
        let kind = rng.below(steps as u32 / 2);
        let seeds: Vec<u64> = (0..n).map(|_| rng.bits()).collect();
        let which: Vec<bool> = (0..n).map(|_| rng.below(4) == 0).collect();
        let actions: Vec<Action> = (0..seats * n)
            .map(|_| actions[rng.below(actions.len() as u32) as usize])
            .collect();
        let [ours, theirs] = players.each_mut().map(|player| {
            player.call(look, is_masked, |batch, arrays| match kind {
                0 => batch.reset(&seeds, Some(&which), arrays).unwrap(),
                1 => batch.reset(&seeds, None, arrays).unwrap(),
                _ => batch.step(&actions, arrays).unwrap(),
            })
        });
        if let Some(field) = ours.difference(&theirs) {
            panic!("{field} differ");
        }
        if rng.below(24) == 0 {
            let [states, others] = players.each_mut().map(Player::states);
            assert!(states == others, "states");
            let (from, to) = (rng.below(n as u32) as usize, rng.below(n as u32) as usize);
            let (state, episode) = &states[from];
            players
                .iter_mut()
                .for_each(|player| player.batch.restore(to, state, *episode).unwrap());
        }
        earned += players[0].rewards.iter().sum::<f32>();
    }
    let [states, others] = players.each_mut().map(Player::states);
    assert!(states == others, "states at the end");
    earned
}
