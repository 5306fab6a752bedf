//! Traces of the originals of Overcooked: which environment plays them, and which differences are named.

use std::path::{Path, PathBuf};

use catalog::agent::{Certificate, CheckOrder, check, describe_agent};
use env_core::envs;

use super::all;
use super::files::{model, npy_floats, npy_text, npy_whole, write_npz};

/// Steps of a trace.
const STEPS: usize = 30;

/// A trace of both seats, in one episode.
struct Trace {
    package: &'static str,
    params: String,
    shape: Vec<usize>,
    observations: Vec<f32>,
    actions: Vec<i64>,
}

impl Trace {
    /// Plays fixed actions; the shape is that of the only field.
    fn play(env: &str, params: &str) -> Self {
        let mut world = envs::open(env, params).unwrap();
        let shape = &world.spec().observation[0].shape;
        let shape = shape.iter().map(|side| *side as usize).collect();
        let (mut observations, mut actions, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        world.reset(0);
        for step in 0..STEPS {
            for seat in 0..2 {
                world.observe(seat, &mut seen);
                observations.extend(&seen);
            }
            // Up, left and interact for one cook; right, down and interact for the other.
            let joint = [[0, 3, 5, 2, 5][step % 5], [2, 1, 5, 3, 5, 0][step % 6]];
            actions.extend(joint.map(i64::from));
            world.step(&joint);
        }
        Self {
            package: "",
            params: params.into(),
            shape,
            observations,
            actions,
        }
    }

    /// The same observations, `[column, row, channel]` in place of `[row, column, channel]` or the other way round.
    fn exchange(&mut self) {
        let [first, second, channels] = self.shape[..] else {
            panic!("{:?}", self.shape)
        };
        let len = first * second * channels;
        let each = self.observations.chunks_exact(len);
        let exchanged = each.flat_map(|seen| {
            let places = (0..second).flat_map(move |b| (0..first).map(move |a| (a, b)));
            places.flat_map(move |(a, b)| seen[(a * second + b) * channels..][..channels].to_vec())
        });
        self.observations = exchanged.collect();
        self.shape = vec![second, first, channels];
    }

    fn write(&self, path: &Path) {
        let shape = [&[STEPS, 2], &self.shape[..]].concat();
        let arrays = [
            ("observations", npy_floats(&shape, &self.observations)),
            ("actions", npy_whole(&[STEPS, 2], &self.actions)),
            ("seats", npy_whole(&[2], &[0, 1])),
            ("seeds", npy_whole(&[1], &[0])),
            ("package", npy_text(self.package)),
            ("params", npy_text(&self.params)),
        ];
        write_npz(path, &arrays, true);
    }

    /// Compares it with what an environment plays; the agent takes observations as they were recorded.
    fn check(&self, env: &str, rules: Option<&str>) -> anyhow::Result<Certificate> {
        let dir = tempfile::tempdir().unwrap();
        let (agent, trace) = (dir.path().join("agent.onnx"), dir.path().join("trace.npz"));
        std::fs::write(&agent, model(&self.shape)).unwrap();
        self.write(&trace);
        check(&order(agent, env, rules, trace))
    }

    fn why_not(&self, env: &str, rules: Option<&str>) -> String {
        format!("{:#}", self.check(env, rules).unwrap_err())
    }
}

fn order(agent: PathBuf, env: &str, rules: Option<&str>, trace: PathBuf) -> CheckOrder {
    CheckOrder {
        agent,
        env: env.into(),
        params: String::new(),
        rules: rules.map(str::to_owned),
        trace,
        actions_only: false,
        is_masked: false,
    }
}

/// The rules of the originals, with the environments that play them and a kitchen.
const ORIGINALS: [(&str, &str, &str); 7] = [
    ("overcooked-ai-1.1.0", "overcooked_ai@1.0.0", "cramped_room"),
    ("overcooked-ai-old", "overcooked_ai@1.0.0", "cramped_room"),
    ("jaxmarl-0.2.0", "overcooked_ai@1.0.0", "cramped_room"),
    ("cec", "overcooked_ai@1.0.0", "coord_ring_9"),
    ("neurips2019", "overcooked_ai@1.0.0", "simple"),
    ("zsc-eval", "overcooked_ai@1.0.0", "random3_m"),
    ("jaxmarl-v2", "overcooked_jaxmarl_v2@1.0.0", "cramped_room"),
];

/// The parameters with which an original is opened here.
fn own_params(rules: &str, layout: &str) -> String {
    match rules {
        "jaxmarl-v2" => format!(r#"{{"layout": "{layout}"}}"#),
        _ => format!(r#"{{"layout": "{layout}", "rules": "{rules}"}}"#),
    }
}

#[test]
fn overcooked_with_the_rules_of_an_original_is_the_environment_that_plays_them() {
    for (rules, env, layout) in ORIGINALS {
        let (id, _) = env.split_once('@').unwrap();
        let mut trace = Trace::play(id, &own_params(rules, layout));
        // The trace says them, or the command line, or both.
        let both = format!(r#"{{"layout": "{layout}", "rules": "{rules}"}}"#);
        let neither = format!(r#"{{"layout": "{layout}"}}"#);
        for (params, asked) in [(&both, None), (&neither, Some(rules)), (&both, Some(rules))] {
            trace.params.clone_from(params);
            let found = trace.check("overcooked", asked).unwrap();
            assert_eq!((found.env.as_str(), found.observations), (env, all(60)));
            let text = found.to_string();
            let is_told = text.starts_with(&format!("{env} with the rules `{rules}`: 30 steps"));
            assert!(is_told || id == "overcooked_jaxmarl_v2", "{text}");
        }
    }
}

#[test]
fn a_model_is_compiled_for_the_environment_of_the_rules() {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("agent.onnx");
    std::fs::write(&agent, model(&[4, 5, 26])).unwrap();
    let params = catalog::agent::add_rules("", Some("jaxmarl-0.2.0")).unwrap();
    let shown = describe_agent(&agent, Some(("overcooked", &params))).unwrap();
    assert_eq!(shown.compiled.unwrap().env, "overcooked_ai");
}

#[test]
fn rules_that_do_not_exist_or_belong_elsewhere_are_refused_with_those_that_do() {
    let trace = Trace::play(
        "overcooked_ai",
        &own_params("overcooked-ai-1.1.0", "cramped_room"),
    );
    let silent = Trace {
        params: "{}".into(),
        ..trace
    };
    let none = silent.why_not("overcooked", Some("jaxmarl"));
    for part in [
        "no rules `jaxmarl`",
        "`overcooked` has corrected",
        "`overcooked_ai` has overcooked-ai-1.1.0, overcooked-ai-old, jaxmarl-0.2.0",
        "`overcooked_jaxmarl_v2` has jaxmarl-v2",
    ] {
        assert!(none.contains(part), "{part} in {none}");
    }
    let elsewhere = silent.why_not("overcooked_ai", Some("jaxmarl-v2"));
    assert!(
        elsewhere.contains("write --env overcooked_jaxmarl_v2"),
        "{elsewhere}"
    );
}

#[test]
fn a_trace_of_another_version_of_a_package_is_refused_with_both() {
    for (rules, own, other) in [
        ("jaxmarl-0.2.0", "jaxmarl 0.2.0", "jaxmarl 0.0.5"),
        (
            "overcooked-ai-old",
            "overcooked 0.2.1",
            "overcooked-ai 1.1.0",
        ),
    ] {
        let mut trace = Trace::play("overcooked_ai", &own_params(rules, "cramped_room"));
        trace.package = own;
        let found = trace.check("overcooked", None).unwrap();
        assert_eq!(found.package.as_deref(), Some(own));
        trace.package = other;
        let why = trace.why_not("overcooked", None);
        for part in [
            format!("trace.npz was recorded with the package {other}"),
            format!("install {own} and record it there"),
        ] {
            assert!(why.contains(&part), "{part} in {why}");
        }
    }
}

#[test]
fn a_trace_by_other_rules_than_those_asked_for_is_refused_with_both() {
    let trace = Trace::play(
        "overcooked_ai",
        &own_params("overcooked-ai-old", "cramped_room"),
    );
    let why = trace.why_not("overcooked", Some("overcooked-ai-1.1.0"));
    for part in [
        "trace.npz was recorded with the rules `overcooked-ai-old`",
        "the rules `overcooked-ai-1.1.0` were asked for",
        "leave out `overcooked-ai-1.1.0`, or record a trace by these rules",
    ] {
        assert!(why.contains(part), "{part} in {why}");
    }
}

#[test]
fn a_trace_with_rows_and_columns_the_other_way_round_is_refused_with_both_encodings() {
    let neither = r#"{"layout": "cramped_room"}"#;
    let mut trace = Trace::play(
        "overcooked_ai",
        &own_params("jaxmarl-0.2.0", "cramped_room"),
    );
    trace.params = neither.into();
    let why = trace.why_not("overcooked_ai", None);
    for part in [
        "[4, 5, 26], which is [row, column, channel]",
        "`lossless` of `overcooked_ai` has [5, 4, 26], which is [column, row, channel]",
        "`jaxmarl` has that order: add --rules jaxmarl-0.2.0",
    ] {
        assert!(why.contains(part), "{part} in {why}");
    }
    let mut trace = Trace::play(
        "overcooked_ai",
        &own_params("overcooked-ai-old", "cramped_room"),
    );
    trace.params = neither.into();
    let why = trace.why_not("overcooked", Some("jaxmarl-0.2.0"));
    assert!(why.contains("`lossless` has that order"), "{why}");
    let mut trace = Trace::play("overcooked_jaxmarl_v2", neither);
    trace.exchange();
    let why = trace.why_not("overcooked_jaxmarl_v2", None);
    assert!(why.contains("without a transposition"), "{why}");
}

#[test]
fn in_a_square_kitchen_the_first_difference_says_that_rows_and_columns_are_exchanged() {
    let mut trace = Trace::play(
        "overcooked_ai",
        &own_params("jaxmarl-0.2.0", "forced_coord"),
    );
    assert_eq!(trace.shape, [5, 5, 26]);
    trace.exchange();
    let found = trace.check("overcooked", None).unwrap();
    assert_eq!(found.observations.equal, 0);
    let what = found.first_observation_difference.unwrap().what;
    assert!(
        what.ends_with("(equal once rows and columns are exchanged)"),
        "{what}"
    );
}

#[test]
fn the_first_difference_in_a_map_is_named_by_its_channel_column_and_row() {
    for (rules, place, meaning) in [
        (
            "overcooked-ai-1.1.0",
            [2, 1, 16],
            "channel 16, onions in a pot that does not cook, at column 2, row 1",
        ),
        (
            "jaxmarl-0.2.0",
            [1, 2, 11],
            "channel 11, counters with nothing on them, at column 2, row 1",
        ),
        (
            "cec",
            [0, 3, 21],
            "channel 21, soups that are ready or on a dish, at column 3, row 0",
        ),
        (
            "neurips2019",
            [0, 0, 16],
            "channel 16, steps that a pot has cooked, at column 0, row 0",
        ),
        (
            "zsc-eval",
            [1, 0, 24],
            "channel 24, the end of the episode is near, at column 1, row 0",
        ),
        (
            "jaxmarl-v2",
            [3, 1, 29],
            "channel 29, clock of a pot, at column 1, row 3",
        ),
    ] {
        let original = ORIGINALS.iter().find(|(name, ..)| *name == rules);
        let (_, env, layout) = original.unwrap();
        let (id, _) = env.split_once('@').unwrap();
        let mut trace = Trace::play(id, &own_params(rules, layout));
        let at = (place[0] * trace.shape[1] + place[1]) * trace.shape[2] + place[2];
        trace.observations[at] += 0.5;
        let found = trace.check(id, None).unwrap();
        let what = found.first_observation_difference.unwrap().what;
        assert!(
            what.ends_with(&format!(
                "[{}, {}, {}] ({meaning})",
                place[0], place[1], place[2]
            )),
            "{what}"
        );
    }
}

#[test]
fn the_first_difference_in_a_list_is_named_by_its_meaning() {
    for (encoding, at, meaning) in [
        ("features", 5, "own cook: holds a soup"),
        (
            "features",
            46 + 9,
            "other cook 1: rows to the closest onion",
        ),
        ("features", 93, "rows to other cook 1"),
        ("features", 94, "place of the own cook, in columns"),
        (
            "neurips2019_features",
            29 + 25,
            "other cook 1: no floor to the north",
        ),
        ("neurips2019_features", 60, "place of cook 0, in columns"),
    ] {
        let params = format!(r#"{{"layout": "cramped_room", "observation": ["{encoding}"]}}"#);
        let mut trace = Trace::play("overcooked_ai", &params);
        trace.observations[at] += 0.5;
        let found = trace.check("overcooked_ai", None).unwrap();
        let what = found.first_observation_difference.unwrap().what;
        assert_eq!(what, format!("{encoding} [{at}] ({meaning})"));
    }
}

#[test]
fn traces_that_the_scripts_recorded_in_the_packages_are_equal_here() {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("agent.onnx");
    for (package, shape, env) in [
        ("overcooked-ai", [5, 4, 26], "overcooked_ai@1.0.0"),
        ("overcooked", [5, 4, 26], "overcooked_ai@1.0.0"),
        ("jaxmarl", [4, 5, 26], "overcooked_ai@1.0.0"),
        ("jaxmarl-v2", [4, 5, 30], "overcooked_jaxmarl_v2@1.0.0"),
    ] {
        std::fs::write(&agent, model(&shape)).unwrap();
        let trace = format!("tests/agents/traces/{package}.npz").into();
        let found = check(&order(agent.clone(), "overcooked", None, trace)).unwrap();
        assert_eq!((found.env.as_str(), found.episodes), (env, 2));
        assert_eq!(found.observations, all(240), "{found}");
    }
}
