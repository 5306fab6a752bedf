//! Observations of random play: updated ones equal completely written ones, and they are compact where possible.

use super::*;

/// Plays at random and holds each observation against the laws.
fn play<const CHANGES: bool>(params: &Params, seed: u64) {
    let env = Grid::<World<CHANGES>>::new(params.clone()).unwrap();
    let spec = env.spec();
    let (len, seats) = (spec.observation_len(), usize::from(spec.seats));
    let (mut rng, mut outcome) = (Rng::new(seed), StepOutcome::default());
    let mut state = env.reset(seed);
    let mut kept = vec![(vec![0.0; len], vec![0; len]); seats];
    for (seat, (wide, compact)) in kept.iter_mut().enumerate() {
        env.observe(&state, seat, wide);
        env.observe_compact(&state, seat, compact);
    }
    for _ in 0..80 {
        let actions: Vec<u16> = (0..seats)
            .map(|_| [0, 1, 2, 3, 4, 4, 4, 5][rng.below(8) as usize])
            .collect();
        env.step(&mut state, &actions, &mut outcome);
        if rng.below(8) == 0 {
            state.extra = Extra {
                orders: vec![None, Some((rng.below(2) as u8, rng.below(100) as u16))],
                target: rng.below(2) as u8,
                delivered: rng.flip(),
            };
        }
        if outcome.over {
            state = env.reset(seed ^ 1);
        }
        for (seat, (wide, compact)) in kept.iter_mut().enumerate() {
            let mut fresh = vec![f32::NAN; len];
            env.observe(&state, seat, &mut fresh);
            env.refresh(&state, seat, wide);
            assert_eq!(fresh, *wide, "refreshed, with {params:?}");
            assert!(
                fresh
                    .iter()
                    .all(|value| value.is_finite() && value.abs() < 128.0)
            );
            env.refresh_compact(&state, seat, compact);
            let mut bytes = vec![1; len];
            env.observe_compact(&state, seat, &mut bytes);
            assert_eq!(bytes, *compact, "refreshed in bytes, with {params:?}");
            if spec.compact {
                let same = bytes
                    .iter()
                    .zip(&fresh)
                    .all(|(&byte, &value)| f32::from(byte) == value);
                assert!(same, "a byte holds every value, with {params:?}");
            }
        }
    }
    let mut unseen = vec![1.0; len];
    env.observe(&state, seats, &mut unseen);
    assert!(
        unseen.iter().all(|&value| value == 0.0),
        "a seat that is not there sees nothing"
    );
}

#[test]
fn an_observation_that_is_brought_up_to_date_is_the_observation() {
    let layouts: [&[&str]; 4] = [
        &ROOM,
        &["CCUCC", "O   O", "C   C", "C=C@C"],
        &["CUC  T", " o D =", "C L  @", "O  U  "],
        &["O U = @ C"],
    ];
    let compact = [
        "agent_dir",
        "inventory",
        "next_to_counter",
        "ordered_pot_features",
        "object_type_masks",
        "layout_id",
    ];
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        for (index, rows) in layouts.into_iter().enumerate() {
            for features in [&ALL[..], &compact] {
                let params = Params {
                    rows: rows.iter().map(|&row| row.into()).collect(),
                    radius: (index % 2 == 0 && features.len() == ALL.len()).then_some(index as u8),
                    cook_time: 3,
                    ..params(rules, features)
                };
                play::<false>(&params, index as u64);
                play::<true>(&params, index as u64);
                let generated = Params {
                    generated: true,
                    ..params
                };
                play::<false>(&generated, index as u64);
            }
        }
    }
}

#[test]
fn only_what_a_byte_holds_is_compact() {
    let compact = |params: Params| Env::new(params).unwrap().spec().compact;
    let of = |names: &[&str]| params(RuleSet::Corrected, names);
    assert!(compact(of(&[
        "agent_dir",
        "ordered_pot_features",
        "object_type_masks"
    ])));
    assert!(!compact(Params {
        cook_time: 200,
        ..of(&["ordered_pot_features"])
    }));
    assert!(!compact(of(&["agent_dir", "local_view"])));
    assert!(!compact(of(&["steps_done"])));
}
