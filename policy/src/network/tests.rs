use env_core::Policy;
use env_core::contract::{ActionSpec, FieldSpec};
use proptest::prelude::*;

use super::*;
use crate::Partners;

/// An environment with this many values and actions.
fn spec(values: u32, actions: usize) -> Spec {
    let action = |index: usize| ActionSpec {
        name: format!("a{index}"),
        momentary: false,
        keys: Vec::new(),
        ..ActionSpec::default()
    };
    Spec {
        id: "lab".into(),
        version: "1.0.0".into(),
        title: "Lab".into(),
        seats: 2,
        actions: (0..actions).map(action).collect(),
        noop: 0,
        observation: vec![FieldSpec {
            name: "all".into(),
            shape: vec![values],
            ..FieldSpec::default()
        }],
        tick_hz: 10,
        horizon: 100,
        events: Vec::new(),
        compact: false,
        ..Spec::default()
    }
}

/// Two values in, three actions out, and a running sum of what was seen that tips the choice.
fn counter(choice: ActionChoice) -> Network {
    Network {
        fields: Vec::new(),
        registers: vec![2, 2, 2, 3],
        steps: vec![
            KernelStep::Pair {
                left: 0,
                right: 1,
                to: 2,
                pair: Pair::Add,
            },
            KernelStep::Dense {
                from: 2,
                to: 3,
                rows: 1,
                weights: 0,
                bias: 6,
            },
        ],
        memory: vec![MemoryRegister {
            enters: 1,
            leaves: 2,
        }],
        mask: None,
        logits: 3,
        choice,
        weights: vec![1.0, 0.0, 0.5, 0.0, 1.0, 0.5, 0.0, 0.0, 0.25],
    }
}

fn player(network: &Network) -> Box<dyn Policy> {
    let mut partners = Partners::default();
    let sha256 = "ab".repeat(32);
    partners
        .add_model(&sha256, &network.encode().unwrap())
        .unwrap();
    let name = crate::policy_name("counter.onnx", &sha256);
    let actions = network.actions();
    let mut player = partners
        .open(&name, &spec(network.inputs() as u32, actions))
        .unwrap();
    player.reset(0, 7);
    player
}

#[test]
fn the_bytes_give_the_network_back_and_nothing_else_does() {
    let network = counter(ActionChoice::default());
    let bytes = network.encode().unwrap();
    assert_eq!(Network::decode(&bytes).unwrap(), network);
    assert_eq!(
        Network::decode(&bytes[..bytes.len() - 1]),
        Err(NetworkError::Bytes)
    );
    assert_eq!(
        Network::decode(&[&bytes[..], &[0]].concat()),
        Err(NetworkError::Bytes)
    );
    assert_eq!(Network::decode(b"COPLAYN0"), Err(NetworkError::Bytes));
}

/// Has every step that came after the first kernels, and an action mask.
fn later() -> Network {
    let shape = Conv {
        channels: 1,
        size: [2, 2],
        filters: 1,
        kernel: [2, 1],
        stride: [1, 1],
        dilation: [1, 1],
        pads: [0; 4],
        groups: 1,
    };
    let matrices = Matrices {
        count: 1,
        rows: 1,
        inner: 2,
        columns: 2,
    };
    let reduction = Reduction::Mean;
    let steps = vec![
        KernelStep::Pool {
            from: 0,
            to: 2,
            shape,
            pooling: Pooling::Max,
        },
        KernelStep::Product {
            left: 2,
            right: 0,
            to: 3,
            shape: matrices,
        },
        KernelStep::Select {
            condition: 1,
            left: 3,
            right: 2,
            to: 4,
        },
        KernelStep::Reduce {
            from: 4,
            to: 5,
            reduction,
        },
        KernelStep::Map {
            from: 4,
            to: 6,
            map: Map::Gelu,
        },
    ];
    Network {
        fields: Vec::new(),
        registers: vec![4, 2, 2, 2, 2, 1, 2],
        steps,
        memory: vec![],
        mask: Some(1),
        logits: 4,
        choice: ActionChoice {
            is_masked: true,
            ..ActionChoice::default()
        },
        weights: vec![],
    }
}

#[test]
fn a_network_has_one_form_and_the_first_kernels_keep_theirs() {
    let first = counter(ActionChoice::default()).encode().unwrap();
    let bytes = later().encode().unwrap();
    assert!(first.starts_with(b"COPLAYN2") && bytes.starts_with(b"COPLAYN3"));
    assert_eq!(Network::decode(&bytes).unwrap(), later());
    for (bytes, other) in [(first, *b"COPLAYN3"), (bytes, *b"COPLAYN2")] {
        let forged = [&other[..], &bytes[8..]].concat();
        assert_eq!(Network::decode(&forged), Err(NetworkError::Bytes));
    }
}

#[test]
fn later_kernels_compute_what_their_names_say() {
    // The greatest of each column: 3, 4. Times the matrix: 3 + 12, 6 + 16; the mask keeps the second.
    let values = later().values(&[1.0, 2.0, 3.0, 4.0], 0b10, &mut []);
    assert_eq!(values, [3.0, 22.0]);
    let both = later().values(&[1.0, 2.0, 3.0, 4.0], 0b11, &mut []);
    assert_eq!(both, [15.0, 22.0]);
}

#[test]
fn a_masked_choice_keeps_to_the_mask() {
    let mut player = player(&later());
    assert!(player.wants_mask());
    assert_eq!(player.act_masked(&[1.0, 2.0, 3.0, 4.0], 0b01), 0);
    assert_eq!(player.act_masked(&[1.0, 2.0, 3.0, 4.0], 0b10), 1);
    assert_eq!(player.act(&[1.0, 2.0, 3.0, 4.0]), 1);
}

#[test]
fn what_is_remembered_decides_and_comes_back_with_its_slot() {
    let mut player = player(&counter(ActionChoice::default()));
    assert_eq!(player.act(&[1.0, 0.0]), 0);
    player.save(3);
    let digest = player.digest();
    // Remembered: 1, 3; the third action has half of both and a little more.
    assert_eq!(player.act(&[0.0, 3.0]), 1);
    assert_eq!(player.act(&[2.0, 0.0]), 2);
    let mut bytes = Vec::new();
    player.state(&mut bytes);
    let late = player.digest();
    player.load(3);
    assert_eq!(player.digest(), digest);
    player.restore(&bytes).unwrap();
    assert_eq!(player.digest(), late);
    assert_eq!(player.act(&[0.0, 0.0]), 2);
}

#[test]
fn a_state_of_another_shape_is_refused() {
    let mut one = player(&counter(ActionChoice::default()));
    let other = Network {
        registers: vec![2, 3],
        steps: vec![KernelStep::Dense {
            from: 0,
            to: 1,
            rows: 1,
            weights: 0,
            bias: 6,
        }],
        memory: Vec::new(),
        logits: 1,
        ..counter(ActionChoice::default())
    };
    let mut bytes = Vec::new();
    player(&other).state(&mut bytes);
    let before = one.digest();
    assert!(one.restore(&bytes).is_err());
    assert_eq!(one.digest(), before);
}

#[test]
fn between_decisions_the_seat_does_nothing() {
    let every = 3;
    let mut player = player(&counter(ActionChoice {
        every,
        ..ActionChoice::default()
    }));
    let acted: Vec<u16> = (0..7).map(|_| player.act(&[0.0, 1.0])).collect();
    assert_eq!(acted, [1, 0, 0, 1, 0, 0, 1]);
}

#[test]
fn what_is_no_number_is_never_remembered() {
    let mut player = player(&counter(ActionChoice::default()));
    player.act(&[f32::MAX, f32::MAX]);
    player.act(&[f32::MAX, -f32::MAX]);
    let mut bytes = Vec::new();
    player.state(&mut bytes);
    player.restore(&bytes).expect("what it remembers is finite");
}

#[test]
fn draws_follow_the_seed_and_roll_back() {
    let choice = ActionChoice {
        temperature: Some(2.0),
        ..ActionChoice::default()
    };
    let (mut one, mut other) = (player(&counter(choice)), player(&counter(choice)));
    one.save(0);
    let first: Vec<u16> = (0..40).map(|_| one.act(&[0.1, 0.0])).collect();
    let same: Vec<u16> = (0..40).map(|_| other.act(&[0.1, 0.0])).collect();
    one.load(0);
    let again: Vec<u16> = (0..40).map(|_| one.act(&[0.1, 0.0])).collect();
    assert_eq!((&first, &first), (&same, &again));
    assert!((0..3).all(|action| first.contains(&action)), "{first:?}");
}

#[test]
fn a_misfit_says_what_the_environment_has() {
    let network = counter(ActionChoice::default());
    let observation = network.check_fit(&spec(5, 3)).unwrap_err().to_string();
    assert_eq!(
        observation,
        "it takes 2 values, and the observation of `lab` has 5 for it (all [5]); open the environment with the layout, the \
         rules and the encodings with which the model was trained"
    );
    let actions = network.check_fit(&spec(2, 2)).unwrap_err().to_string();
    assert_eq!(
        actions,
        "it chooses among 3 actions, and `lab` has 2 (a0, a1); open the environment and the rules in which the model was \
         trained"
    );
}

fn own(name: &str, len: u32) -> Field {
    Field {
        name: name.into(),
        len,
    }
}

#[test]
fn fields_are_taken_by_their_names() {
    let mut spec = spec(9, 3);
    let field = |name: &str, len| FieldSpec {
        name: name.into(),
        shape: vec![len],
        ..FieldSpec::default()
    };
    spec.observation = vec![field("one", 1), field("map", 9), field("two", 1)];
    let of = |names: [&str; 2]| Network {
        fields: names.map(|name| own(name, 1)).to_vec(),
        ..counter(ActionChoice::default())
    };
    let mut seen = vec![0.0; 11];
    (seen[0], seen[10]) = (1.0, 3.0);
    for (names, action) in [(["one", "two"], 1), (["two", "one"], 0)] {
        let network = std::sync::Arc::new(of(names));
        let mut player = Player::new(network, &spec).unwrap();
        player.reset(0, 7);
        assert_eq!(player.act(&seen), action);
    }
    let why = |name| of(["one", name]).check_fit(&spec).unwrap_err().to_string();
    assert_eq!(
        why("map"),
        "it takes 1 values of a field `map`, and `lab` has 9; all of the observation is one [1], map [9], two [1]"
    );
    assert!(why("three").contains("a field `three`, and `lab` has none"));
    let mut network = of(["one", "two"]);
    network.fields[1].len = 2;
    assert_eq!(
        network.encode().unwrap_err().to_string(),
        "the fields do not fit"
    );
}

/// A convolution by its definition: for each value the bias, then the products in their order.
fn convolve(shape: &Conv, from: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f32> {
    let [height, width] = shape.size.map(i64::from);
    let [rows, columns] = shape.out_size().map(i64::from);
    let [tall, wide] = shape.kernel.map(i64::from);
    let channels = i64::from(shape.channels / shape.groups);
    let mut out = Vec::new();
    for filter in 0..i64::from(shape.filters) {
        let first = filter / i64::from(shape.filters / shape.groups) * channels;
        for (y, x) in (0..rows * columns).map(|place| (place / columns, place % columns)) {
            let mut sum = bias[filter as usize];
            for tap in 0..channels * tall * wide {
                let (channel, ky, kx) = (tap / (tall * wide), tap / wide % tall, tap % wide);
                let at = |axis: usize, out: i64, tap: i64| {
                    out * i64::from(shape.stride[axis]) + tap * i64::from(shape.dilation[axis])
                        - i64::from(shape.pads[axis])
                };
                let (row, column) = (at(0, y, ky), at(1, x, kx));
                if (0..height).contains(&row) && (0..width).contains(&column) {
                    let weight = weights[(filter * channels * tall * wide + tap) as usize];
                    let place = ((first + channel) * height + row) * width + column;
                    sum += weight * from[place as usize];
                }
            }
            out.push(sum);
        }
    }
    out
}

#[test]
fn a_convolution_is_what_its_definition_says_to_the_last_bit() {
    let plain = Conv {
        channels: 2,
        size: [4, 3],
        filters: 2,
        kernel: [3, 2],
        stride: [1, 2],
        dilation: [1, 1],
        pads: [1, 0, 1, 1],
        groups: 1,
    };
    let shapes = [
        plain,
        // More filters than are computed side by side.
        Conv {
            filters: 37,
            pads: [2, 3, 0, 1],
            ..plain
        },
        Conv {
            channels: 6,
            filters: 36,
            groups: 2,
            size: [7, 9],
            dilation: [2, 3],
            ..plain
        },
        // Each channel for itself, and kernels that lie outside at a corner.
        Conv {
            channels: 3,
            filters: 3,
            groups: 3,
            kernel: [1, 1],
            pads: [2, 2, 2, 2],
            ..plain
        },
    ];
    for shape in shapes {
        let value = |index: u32| match index % 3 {
            0 => 0.0,
            _ => (index as f32 * 0.37).fract() - 0.5,
        };
        let all = |from: u32, len: u32| -> Vec<f32> { (from..from + len).map(value).collect() };
        let from = all(0, shape.channels * shape.size[0] * shape.size[1]);
        let weights = all(100, shape.filters * shape.taps() as u32);
        let bias = all(1, shape.filters);
        let expected = convolve(&shape, &from, &weights, &bias);
        let mut out = vec![f32::NAN; expected.len()];
        let filters = kernels::Filters::new(&shape, &weights);
        kernels::conv(&shape, &from, &filters, &bias, &mut out);
        let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|it| it.to_bits()).collect() };
        assert_eq!(bits(&out), bits(&expected), "{shape:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = || counter(ActionChoice::default());
    let why = |network: Network| network.encode().unwrap_err().to_string();
    let with = |step: KernelStep| Network {
        steps: vec![good().steps[0].clone(), step],
        ..good()
    };
    let dense = |from, to, rows, weights| KernelStep::Dense {
        from,
        to,
        rows,
        weights,
        bias: 6,
    };
    assert_eq!(
        why(with(dense(9, 3, 1, 0))),
        "step 1 does not fit: it reads what is not filled"
    );
    assert_eq!(
        why(with(dense(2, 2, 1, 0))),
        "step 1 does not fit: it fills what is filled"
    );
    assert_eq!(
        why(with(dense(2, 3, 1, 4))),
        "step 1 does not fit: it reads beyond the weights"
    );
    assert_eq!(
        why(with(dense(2, 3, 0, 0))),
        "step 1 does not fit: the rows do not fit"
    );
    let pick = KernelStep::Pick {
        from: vec![2],
        to: 3,
        places: vec![0, 1, 2],
    };
    assert_eq!(
        why(with(pick)),
        "step 1 does not fit: it picks what is not there"
    );
    let weights = vec![f32::NAN; 9];
    assert_eq!(
        why(Network { weights, ..good() }),
        "a weight is infinite or not a number"
    );
    assert_eq!(
        why(Network {
            logits: 7,
            ..good()
        }),
        "a result is never filled"
    );
    let choice = ActionChoice {
        every: 0,
        ..ActionChoice::default()
    };
    assert_eq!(why(counter(choice)), "the choice is out of its bounds");
    let registers = vec![2, 2, 2, u32::MAX];
    assert!(
        why(Network {
            registers,
            ..good()
        })
        .starts_with("values: 4294967301")
    );
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader_or_what_it_plays(mut bytes in prop_oneof![Just(counter(ActionChoice::default()).encode().unwrap()), Just(later().encode().unwrap())], changes in prop::collection::vec((8_usize..71, any::<u8>()), 1..4)) {
        for (place, byte) in changes {
            if let Some(there) = bytes.get_mut(place) {
                *there = byte;
            }
        }
        if let Ok(network) = Network::decode(&bytes) {
            prop_assume!(network.inputs() < 4096 && network.actions() < 4096);
            let observation = vec![0.5; network.inputs()];
            let mut player = player(&network);
            for _ in 0..3 {
                let action = player.act(&observation);
                prop_assert!(usize::from(action) < network.actions());
            }
        }
    }
}
