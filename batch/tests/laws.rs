//! A batch equals as many single worlds, bit for bit, whatever the threads.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use batch::{Arrays, Autoreset, BatchError, BatchOptions, Episode, Infos, Observations, Vector};
use env_core::envs::{IDS, open};
use env_core::rng::Rng;
use env_core::{Action, Spec, StepOutcome, World};
use proptest::prelude::*;

/// Every array that a batch can fill.
#[derive(Clone, Debug, PartialEq)]
struct Buffers {
    observations: Vec<f32>,
    compact: Vec<i8>,
    last: Vec<f32>,
    rewards: Vec<f32>,
    terminated: Vec<u8>,
    truncated: Vec<u8>,
    masks: Vec<u8>,
    returns: Vec<f32>,
    lengths: Vec<u32>,
    events: Vec<f32>,
}

impl Buffers {
    fn new(spec: &Spec, instances: usize) -> Self {
        let rows = instances * usize::from(spec.seats);
        // What no environment writes, so that a row that was forgotten shows.
        let values = rows * spec.observation_len();
        Self {
            observations: vec![f32::MAX; values],
            compact: vec![99; values],
            last: vec![f32::MAX; values],
            rewards: vec![f32::MAX; rows],
            terminated: vec![99; rows],
            truncated: vec![99; rows],
            masks: vec![99; rows * spec.actions.len()],
            returns: vec![f32::MAX; rows],
            lengths: vec![99; instances],
            events: vec![f32::MAX; rows * spec.events.len()],
        }
    }

    fn arrays(&mut self, compact: bool) -> Arrays<'_> {
        Arrays {
            observations: if compact {
                Observations::Compact(&mut self.compact)
            } else {
                Observations::F32(&mut self.observations)
            },
            final_observations: Observations::F32(&mut self.last),
            masks: Some(&mut self.masks),
            infos: Some(Infos {
                episode_return: &mut self.returns,
                episode_length: &mut self.lengths,
                events: &mut self.events,
            }),
            ..Arrays::new(&mut self.rewards, &mut self.terminated, &mut self.truncated)
        }
    }
}

/// The same by single worlds, written as plainly as possible.
struct Single {
    worlds: Vec<Box<dyn World + Send>>,
    episodes: Vec<Episode>,
    autoreset: Autoreset,
}

/// SplitMix64, the seeds of episodes that start by themselves.
fn next_seed(stream: &mut u64) -> u64 {
    *stream = stream.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = *stream;
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Single {
    fn new(id: &str, params: &str, instances: usize, autoreset: Autoreset) -> Self {
        let worlds = (0..instances).map(|_| open(id, params).unwrap()).collect();
        Self {
            worlds,
            episodes: (0..instances as u64).map(Episode::new).collect(),
            autoreset,
        }
    }

    fn reset(&mut self, seeds: &[u64], which: &[bool], out: &mut Buffers) {
        for index in (0..seeds.len()).filter(|&index| which[index]) {
            self.episodes[index] = Episode::new(seeds[index]);
            self.worlds[index].reset(seeds[index]);
            self.write(index, &StepOutcome::default(), out);
            self.see(index, out);
        }
    }

    fn step(&mut self, actions: &[Action], out: &mut Buffers) {
        let seats = usize::from(self.worlds[0].spec().seats);
        for index in 0..self.worlds.len() {
            if self.autoreset == Autoreset::NextStep && self.episodes[index].over {
                self.restart(index);
                self.write(index, &StepOutcome::default(), out);
            } else {
                let outcome = self.worlds[index]
                    .step(&actions[index * seats..][..seats])
                    .clone();
                let episode = &mut self.episodes[index];
                episode.length += 1;
                episode.over = outcome.over;
                (0..seats).for_each(|seat| episode.returns[seat] += outcome.rewards[seat]);
                self.write(index, &outcome, out);
                if self.autoreset == Autoreset::SameStep && outcome.over {
                    let last = self.observed(index);
                    out.last[index * last.len()..][..last.len()].copy_from_slice(&last);
                    self.restart(index);
                }
            }
            self.see(index, out);
        }
    }

    fn restart(&mut self, index: usize) {
        let mut stream = self.episodes[index].seeds;
        let seed = next_seed(&mut stream);
        self.episodes[index] = Episode::new(stream);
        self.worlds[index].reset(seed);
    }

    fn write(&mut self, index: usize, outcome: &StepOutcome, out: &mut Buffers) {
        let spec = self.worlds[index].spec();
        let (seats, kinds) = (usize::from(spec.seats), spec.events.len());
        for seat in 0..seats {
            let row = index * seats + seat;
            out.rewards[row] = outcome.rewards[seat];
            out.terminated[row] = u8::from(outcome.terminated & 1 << seat != 0);
            out.truncated[row] = u8::from(outcome.truncated & 1 << seat != 0);
            out.returns[row] = self.episodes[index].returns[seat];
            out.events[row * kinds..][..kinds].fill(0.0);
        }
        for event in &outcome.events {
            out.events
                [(index * seats + usize::from(event.seat)) * kinds + usize::from(event.kind)] +=
                event.value;
        }
        out.lengths[index] = self.episodes[index].length;
    }

    fn observed(&mut self, index: usize) -> Vec<f32> {
        let mut all = Vec::new();
        let mut values = Vec::new();
        for seat in 0..usize::from(self.worlds[index].spec().seats) {
            self.worlds[index].observe(seat, &mut values);
            all.extend_from_slice(&values);
        }
        all
    }

    fn see(&mut self, index: usize, out: &mut Buffers) {
        let values = self.observed(index);
        let at = index * values.len();
        out.observations[at..][..values.len()].copy_from_slice(&values);
        for (byte, value) in out.compact[at..].iter_mut().zip(&values) {
            *byte = *value as i8;
        }
        let world = &mut self.worlds[index];
        let (seats, count) = (usize::from(world.spec().seats), world.spec().actions.len());
        for seat in 0..seats {
            let mask = world.mask(seat);
            for action in 0..count {
                out.masks[(index * seats + seat) * count + action] =
                    u8::from(mask & 1 << action != 0);
            }
        }
    }
}

/// Compares every array that the last call wrote.
fn assert_equal(batch: &Buffers, single: &Buffers, compact: bool) {
    let bits = |values: &[f32]| {
        values
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(&batch.rewards), bits(&single.rewards));
    assert_eq!(
        (&batch.terminated, &batch.truncated),
        (&single.terminated, &single.truncated)
    );
    assert_eq!(bits(&batch.returns), bits(&single.returns));
    assert_eq!(batch.lengths, single.lengths);
    assert_eq!(bits(&batch.events), bits(&single.events));
    assert!(batch.masks == single.masks, "masks");
    assert!(
        bits(&batch.last) == bits(&single.last),
        "final observations"
    );
    if compact {
        assert!(batch.compact == single.compact, "compact observations");
    } else {
        assert!(
            bits(&batch.observations) == bits(&single.observations),
            "observations"
        );
    }
}

fn assert_states_equal(batch: &mut dyn Vector, single: &mut Single) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for index in 0..batch.instances() {
        batch.state(index, &mut ours).unwrap();
        single.worlds[index].state(&mut theirs);
        assert_eq!(ours, theirs, "state of instance {index}");
        assert_eq!(batch.episode(index).unwrap(), single.episodes[index]);
    }
}

/// Plays a batch and as many single worlds, through episodes that end at different steps.
fn compare(id: &str, params: &str, options: BatchOptions, steps: usize, seed: u64) {
    let mut batch = batch::open(id, params, options).unwrap();
    let mut single = Single::new(id, params, options.instances, options.autoreset);
    let spec = batch.spec().clone();
    let mut ours = Buffers::new(&spec, options.instances);
    let mut theirs = ours.clone();
    let mut rng = Rng::new(seed);
    let mut compact = spec.compact && rng.flip();
    let mut which = vec![true; options.instances];
    for step in 0..steps {
        if step == 0 || rng.below(8) == 0 {
            let seeds: Vec<u64> = which.iter().map(|_| rng.bits()).collect();
            which
                .iter_mut()
                .for_each(|wanted| *wanted = step == 0 || rng.flip());
            let some = (step > 0).then_some(&*which);
            batch.reset(&seeds, some, ours.arrays(compact)).unwrap();
            single.reset(&seeds, &which, &mut theirs);
        } else {
            // The array of the other kind stays behind, and is brought up to date when its turn comes.
            compact = spec.compact && (compact != (rng.below(4) == 0));
            let count = spec.actions.len() as u32;
            let actions: Vec<Action> = ours
                .rewards
                .iter()
                .map(|_| rng.below(count) as Action)
                .collect();
            batch.step(&actions, ours.arrays(compact)).unwrap();
            single.step(&actions, &mut theirs);
        }
        assert_equal(&ours, &theirs, compact);
    }
    assert_states_equal(&mut *batch, &mut single);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_batch_equals_single_worlds(
        seed: u64, instances in prop_oneof![1..10_usize, 30..80_usize], threads in 1..5, mode in 0..3, horizon in 1..30, in_place: bool,
    ) {
        let autoreset = [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled][mode as usize];
        let options = BatchOptions { instances, threads: threads as usize, autoreset, in_place };
        for id in IDS {
            compare(id, &format!(r#"{{"horizon":{horizon}}}"#), options, 40, seed);
        }
    }
}

#[test]
fn every_dialect_in_place_equals_single_worlds() {
    let cases = [
        ("overcooked_ai", r#"{"horizon":60}"#),
        (
            "overcooked_ai",
            r#"{"horizon":60,"rules":"overcooked-ai-old","observation":["features","lossless"]}"#,
        ),
        (
            "overcooked_ai",
            r#"{"horizon":60,"rules":"jaxmarl-0.2.0","layout":"coord_ring"}"#,
        ),
        (
            "overcooked_ai",
            r#"{"horizon":60,"rules":"cec","layout":"cramped_room_9"}"#,
        ),
        (
            "overcooked_ai",
            r#"{"horizon":60,"rules":"cec","layout":"generated"}"#,
        ),
        (
            "overcooked_ai",
            r#"{"horizon":60,"rules":"neurips2019","layout":"simple"}"#,
        ),
        ("overcooked_ai", r#"{"horizon":60,"rules":"zsc-eval"}"#),
        ("overcooked_jaxmarl_v2", r#"{"horizon":60}"#),
        (
            "overcooked_jaxmarl_v2",
            r#"{"horizon":60,"layout":"grounded_coord_simple","view_radius":2,"indicate_successful_delivery":true}"#,
        ),
        (
            "overcooked_jaxmarl_v2",
            r#"{"horizon":60,"random_reset":true,"random_agent_positions":true}"#,
        ),
        (
            "overcooked",
            r#"{"horizon":60,"rules":"cogrid-0.3.2","layout":"counter_circuit"}"#,
        ),
        ("overcooked", r#"{"horizon":60,"seats":3}"#),
    ];
    let options = BatchOptions {
        instances: 20,
        threads: 2,
        autoreset: Autoreset::SameStep,
        in_place: true,
    };
    for (seed, (id, params)) in (0..).zip(cases) {
        compare(id, params, options, 400, seed);
    }
}

fn filled(batch: &mut dyn Vector) -> Buffers {
    let mut buffers = Buffers::new(&batch.spec().clone(), batch.instances());
    let seeds: Vec<u64> = (10..).take(batch.instances()).collect();
    batch.reset(&seeds, None, buffers.arrays(false)).unwrap();
    buffers
}

#[test]
fn a_refused_call_changes_nothing() {
    let options = BatchOptions {
        instances: 6,
        threads: 2,
        ..BatchOptions::default()
    };
    let mut batch = batch::open("overcooked", "", options).unwrap();
    let mut buffers = filled(&mut *batch);
    let (before, mut state) = (buffers.clone(), Vec::new());
    batch.state(4, &mut state).unwrap();

    let mut actions = vec![0; 12];
    (actions[9], actions[11]) = (7, 900);
    let error = batch.step(&actions, buffers.arrays(false)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "instance 4, seat 1: there is no action 7; the actions are 0 (move_up) to 6 (noop)"
    );
    let error = batch
        .step(&actions[..8], buffers.arrays(false))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "actions has 8 entries; [instance, seat] of this batch makes 12"
    );
    let short = Arrays::new(
        &mut buffers.rewards,
        &mut buffers.terminated[1..],
        &mut buffers.truncated,
    );
    let error = batch.step(&[0; 12], short).unwrap_err();
    assert_eq!(
        error.to_string(),
        "terminated has 11 entries; [instance, seat] of this batch makes 12"
    );
    assert!(batch.reset(&[1; 5], None, buffers.arrays(false)).is_err());
    assert!(
        batch
            .reset(&[1; 6], Some(&[true; 7]), buffers.arrays(false))
            .is_err()
    );
    let episode = batch.episode(0).unwrap();
    assert_eq!(
        batch.restore(6, &state, episode),
        Err(BatchError::Instance {
            instance: 6,
            last: 5
        })
    );
    assert!(matches!(
        batch.restore(4, &state[1..], episode),
        Err(BatchError::State(_))
    ));

    let mut after = Vec::new();
    batch.state(4, &mut after).unwrap();
    assert!(state == after && buffers == before);
}

#[test]
fn an_instance_is_brought_back_with_the_seeds_to_come() {
    let options = BatchOptions {
        instances: 3,
        threads: 2,
        autoreset: Autoreset::SameStep,
        in_place: true,
    };
    let mut batch = batch::open("overcooked", r#"{"horizon":5}"#, options).unwrap();
    let mut buffers = filled(&mut *batch);
    let play = |batch: &mut dyn Vector, buffers: &mut Buffers| {
        (0..8).for_each(|_| {
            batch
                .step(&[1, 3, 2, 0, 4, 1], buffers.arrays(false))
                .unwrap()
        });
    };
    play(&mut *batch, &mut buffers);
    let (mut state, episode) = (Vec::new(), batch.episode(1).unwrap());
    batch.state(1, &mut state).unwrap();
    assert_eq!(episode.length, 3);
    play(&mut *batch, &mut buffers);
    let (mut expected, end) = (Vec::new(), batch.episode(1).unwrap());
    batch.state(1, &mut expected).unwrap();
    let seen = buffers.clone();

    batch.restore(1, &state, episode).unwrap();
    batch
        .observe(
            Observations::F32(&mut buffers.observations),
            Some(&mut buffers.masks),
        )
        .unwrap();
    assert!(buffers.observations != seen.observations);
    play(&mut *batch, &mut buffers);
    let row = seen.observations.len() / 3;
    assert!(buffers.observations[row..2 * row] == seen.observations[row..2 * row]);
    batch.state(1, &mut state).unwrap();
    assert_eq!((state, batch.episode(1).unwrap()), (expected, end));
}

#[test]
fn worlds_of_their_own_play_like_natives() {
    let params = r#"{"horizon":9}"#;
    let options = BatchOptions {
        instances: 5,
        threads: 3,
        autoreset: Autoreset::SameStep,
        in_place: true,
    };
    let worlds = || {
        (0..5)
            .map(|_| open("overcooked", params).unwrap())
            .collect::<Vec<_>>()
    };
    let mut batches = [
        batch::open("overcooked", params, options).unwrap(),
        batch::of_worlds(worlds(), options).unwrap(),
    ];
    let mut buffers = batches.each_mut().map(|batch| filled(&mut **batch));
    let mut rng = Rng::new(5);
    for _ in 0..40 {
        let actions: Vec<Action> = (0..10).map(|_| rng.below(7) as Action).collect();
        let both = batches.iter_mut().zip(&mut buffers);
        both.for_each(|(batch, buffers)| batch.step(&actions, buffers.arrays(true)).unwrap());
        assert!(buffers[0] == buffers[1]);
    }
    let mut mixed = worlds();
    mixed[3] = open("overcooked", "").unwrap();
    let error = batch::of_worlds(mixed, options).err().unwrap();
    assert_eq!(
        error.to_string(),
        "worlds: number 3 has other parameters than number 0; open all with the same"
    );
    assert!(batch::of_worlds(Vec::new(), options).is_err());
}

#[test]
fn options_out_of_range_are_refused() {
    for (field, options) in [
        (
            "instances",
            BatchOptions {
                instances: 0,
                ..BatchOptions::default()
            },
        ),
        (
            "instances",
            BatchOptions {
                instances: usize::MAX,
                ..BatchOptions::default()
            },
        ),
        (
            "threads",
            BatchOptions {
                threads: 65,
                ..BatchOptions::default()
            },
        ),
    ] {
        assert_eq!(
            batch::open("overcooked", "", options).err().unwrap().field,
            field
        );
    }
    assert_eq!(
        batch::open("overcoked", "", BatchOptions::default())
            .err()
            .unwrap()
            .field,
        "environment"
    );
}
