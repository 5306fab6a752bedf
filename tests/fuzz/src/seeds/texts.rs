//! Inputs that are texts or states: signals, forms, answers, states, for the targets of these names.

use std::num::NonZeroU32;

use env_core::Action;
use env_core::envs;
use protocol::signal::{self, Signal};

use crate::state::{call, open};

/// Steps to a state in the middle of an episode.
const STEPS: usize = 40;

fn texts<const N: usize>(seeds: [(&str, &str); N]) -> Vec<(String, Vec<u8>)> {
    let seeds = seeds.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    seeds.into()
}

pub(super) fn signals() -> Vec<(String, Vec<u8>)> {
    let (connection, sdp) = (NonZeroU32::MAX, "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\n");
    let candidate = Signal::Candidate {
        connection,
        candidate: "candidate:1 1 udp 2113937151 192.0.2.1 40000 typ host".into(),
        mid: Some("0".into()),
        line: Some(0),
    };
    let offer = Signal::Offer {
        connection,
        sdp: sdp.into(),
    };
    let answer = Signal::Answer {
        connection: NonZeroU32::MIN,
        sdp: sdp.into(),
    };
    let told = [
        ("call", signal::encode(&Signal::Call)),
        ("offer", signal::encode(&offer)),
        ("answer", signal::encode(&answer)),
        ("candidate", signal::encode(&candidate)),
        (
            "bare-candidate",
            r#"{"Candidate":{"candidate":"\u00e9\ud83d\ude00","connection":1}}"#.to_owned(),
        ),
    ];
    let told = told.map(|(name, text)| (name.to_owned(), text.into_bytes()));
    told.into()
}

/// See the form of `study/study.yaml`.
pub(super) fn answers() -> Vec<(String, Vec<u8>)> {
    texts([
        ("taken", "fun 5"),
        (
            "taken-all",
            "fun 7\nwho 2\nsaw [\"pot\",\"plate\"]\nagain true\nage 30\nmail \"a@b.org\"\nwords \"hm\"\nrows {\"a\":1,\"b\":2}",
        ),
        ("missing", "again false"),
        ("twice", "fun 5\nfun 5"),
        ("unknown", "fun 5\nodd 1"),
        ("out-of-range", "fun 8"),
        ("malformed", "fun 5\nrows {\"a\":"),
        ("nested", "fun 5\nrows {\"a\":[[[[1]]]]}"),
    ])
}

pub(super) fn forms() -> Vec<(String, Vec<u8>)> {
    let all = crate::survey::survey().surveyjs.to_string();
    texts([
        ("all", &all),
        (
            "pages",
            r#"{"title":{"default":"T","de":"U"},"pages":[{"elements":[{"type":"text","name":"a","isRequired":true}]},{"elements":[]},{"questions":[{"name":"b"}]}]}"#,
        ),
        (
            "panels",
            r#"{"elements":[{"type":"panel","elements":[{"type":"panel","elements":[{"type":"text","inputType":"number","name":"1e9"}]}]}]}"#,
        ),
        (
            "ratings",
            r#"{"elements":[{"type":"rating","name":"a","rateMin":-9223372036854775808,"rateMax":9223372036854775807,"rateStep":0},{"type":"rating","name":"b","rateCount":-1}]}"#,
        ),
        (
            "branches",
            r#"{"elements":[{"type":"boolean","name":"a","defaultValue":true},{"type":"panel","title":"P","visibleIf":"{a} = true and !({a} empty)","elements":[{"type":"checkbox","name":"b","choices":[1,2],"hasOther":true,"hasNone":true,"maxSelectedChoices":1},{"type":"text","name":"c","requiredIf":"{b} contains 1","enableIf":"{b} notempty","validators":[{"type":"regex","regex":"^[a-z]+$"},{"type":"expression","expression":"{c} <> {b}"}]}]}]}"#,
        ),
        ("list", "[]"),
        ("malformed", r#"{"pages":"#),
    ])
}

/// The state of every environment at its start and in the middle, and of every AI partner.
pub(super) fn states() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let mut add = |whose: usize, name: String, state: &[u8]| {
        seeds.push((name, [&[whose as u8], state].concat()));
    };
    let mut state = Vec::new();
    for (whose, id) in envs::IDS.iter().enumerate() {
        let mut world = open(id);
        let (seats, actions) = (world.spec().seats.into(), world.spec().actions.len());
        world.state(&mut state);
        add(whose, format!("{id}-first"), &state);
        for step in 0..STEPS {
            let action = |seat| ((step / 3 + step * seat) % actions) as Action;
            world.step(&(0..seats).map(action).collect::<Vec<_>>());
        }
        world.state(&mut state);
        add(whose, format!("{id}-later"), &state);
    }
    let first = open(envs::IDS[0]);
    for (whose, name) in policy::NAMES.iter().enumerate() {
        call(name, first.spec()).state(&mut state);
        add(envs::IDS.len() + whose, name.to_string(), &state);
    }
    add(0, "short".to_owned(), &[1, 2, 3]);
    seeds
}
