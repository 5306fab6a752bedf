//! Readable playthroughs of kitchens by each kind of rules, kept in `tests/golden`: a change of the rules is
//! a change that a person can read. `UPDATE_GOLDEN=1` writes them again.

use std::fmt::Write as _;
use std::path::Path;

use env_core::digest::digest;
use env_core::envs::kitchen::params::{Params, Variant};
use env_core::envs::kitchen::{Extra, Kitchens};
use env_core::envs::{overcooked, overcooked_v2};
use env_core::grid::{self, RuleSet};
use env_core::{Environment, StepOutcome};

type State = grid::State<Extra>;

/// One sign a step: `^v<>` moves, `x` picks up or drops, `.` waits, `t` toggles: in the order of the actions.
const SIGNS: &str = "^v<>xt.";
/// Three onions by the first cook; by the second a plate in the very step in which the soup is ready, and the delivery.
const PLAY: [&str; 2] = [
    "<x>^x<x>^x<x>^x<....................................",
    "<vx...............>^........................xv>vx...",
];

/// The first cook presses the button twice, the second time as it goes out; the second cook makes the soup.
const PLAY_V2: [&str; 2] = [
    ">t.........t....................................",
    ">v>x^<<x>v>x^<<x>v>x^<<x^<xv<..............x>>x.",
];

fn action(play: &str, step: usize) -> u16 {
    let sign = play.as_bytes()[step] as char;
    SIGNS.find(sign).unwrap() as u16
}

fn item<V: Variant>(env: &Kitchens<V>, kind: u8) -> char {
    match env.tables().kind(kind).map(|kind| kind.name.as_str()) {
        None => ' ',
        Some(name) if name.ends_with("_soup") || name.starts_with("soup_") => 's',
        Some(name) => name.chars().next().unwrap(),
    }
}

/// A cell as two signs: its kind or the direction of its cook, and the thing on it or in the cook's hands.
fn cell<V: Variant>(env: &Kitchens<V>, state: &State, at: u16) -> String {
    let tables = env.tables();
    let mut agents = state.agents[..tables.seats].iter();
    if let Some(agent) = agents.find(|agent| agent.cell == at) {
        let way = b">v<^"[agent.facing as usize] as char;
        return format!("{way}{}", item(env, agent.held));
    }
    let kind = state.kind(at);
    let symbol = tables.kind(kind).and_then(|kind| kind.symbol);
    let lying = match state.fixture_in(tables, at) {
        Some(index) => match state.fixture(tables, index) {
            button if button.capacity() == 0 && button.timer() > 0 => '!',
            fixture => (b'0' + fixture.count()) as char,
        },
        None => item(env, state.value(tables, at)),
    };
    match symbol {
        None | Some('o' | 'P' | 'S') => format!(" {}", item(env, kind)),
        Some(symbol) => format!("{symbol}{lying}"),
    }
}

fn picture<V: Variant>(env: &Kitchens<V>, state: &State, out: &mut String) {
    let tables = env.tables();
    for row in 0..tables.rows {
        let cells: String = (0..tables.cols)
            .map(|col| cell(env, state, (row * tables.cols + col) as u16))
            .collect();
        writeln!(out, "    {}", cells.trim_end()).unwrap();
    }
}

/// The timers of pots and buttons.
fn timers<V: Variant>(env: &Kitchens<V>, state: &State) -> Vec<u8> {
    let fixtures = state.fixtures(env.tables());
    fixtures.map(|fixture| fixture.timer()).collect()
}

/// The parts of a state that a person would see change.
fn seen<V: Variant>(env: &Kitchens<V>, state: &State) -> impl PartialEq + use<V> {
    let mut cells = String::new();
    picture(env, state, &mut cells);
    let ready = timers(env, state).into_iter().map(|timer| timer == 0);
    (cells, ready.collect::<Vec<_>>())
}

fn step<V: Variant>(
    env: &Kitchens<V>,
    state: &mut State,
    play: [&str; 2],
    number: usize,
    out: &mut String,
) {
    let spec = env.spec();
    let actions = play.map(|play| action(play, number));
    let (before, mut outcome) = (seen(env, state), StepOutcome::default());
    env.step(state, &actions, &mut outcome);
    let names = actions.map(|action| spec.actions[usize::from(action)].name.as_str());
    write!(out, "{}: {}, {}", number + 1, names[0], names[1]).unwrap();
    for event in &outcome.events {
        let kind = &spec.events[usize::from(event.kind)];
        write!(out, "; {kind} by {} {:+}", event.seat, event.value).unwrap();
    }
    let timers = timers(env, state)
        .into_iter()
        .map(|timer| timer.to_string());
    write!(out, "; timers {}", timers.collect::<Vec<_>>().join(" ")).unwrap();
    if outcome.rewards[0] != 0.0 {
        write!(out, "; rewards {:?}", &outcome.rewards[..2]).unwrap();
    }
    writeln!(out, "{}", if outcome.over { "; over" } else { "" }).unwrap();
    if before != seen(env, state) {
        picture(env, state, out);
    }
}

fn playthrough<V: Variant>(params: Params<V>, play: [&str; 2], places: Option<[u16; 2]>) -> String {
    let rules = params.rules;
    let env = Kitchens::<V>::new(Params {
        horizon: play[0].len() as u32,
        ..params
    })
    .unwrap();
    let spec = env.spec();
    let mut state = env.reset(7);
    let mut out = format!("# {} {}, {rules:?}\n\nseed 7: ", spec.id, spec.version);
    let agents = [0, 1].map(|seat| format!("{:?}", state.agents[seat]));
    writeln!(out, "{}", agents.join(", ")).unwrap();
    if let Some(places) = places {
        [state.agents[0].cell, state.agents[1].cell] = places;
    }
    picture(&env, &state, &mut out);
    for number in 0..play[0].len() {
        step(&env, &mut state, play, number, &mut out);
    }
    let (score, digest) = (env.score(&state), digest(&state));
    writeln!(out, "score {score}, digest {digest:016x}\n").unwrap();
    for seat in 0..2 {
        env.describe(&state, seat, &mut out);
        out.push('\n');
    }
    out
}

/// Compares with the recorded text, line by line.
fn check(name: &str, played: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, played).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (number, (recorded, played)) in recorded.lines().zip(played.lines()).enumerate() {
        assert_eq!(recorded, played, "line {} of {name}.txt", number + 1);
    }
    assert_eq!(recorded, played);
}

const RULES: [RuleSet; 2] = [RuleSet::Cogrid, RuleSet::Corrected];

#[test]
fn overcooked_is_played_as_recorded() {
    let played = RULES.map(|rules| {
        let params = overcooked::Params {
            rules,
            ..Params::default()
        };
        playthrough(params, PLAY, Some([7, 12]))
    });
    check("overcooked", &played.join("\n"));
}

#[test]
fn overcooked_v2_is_played_as_recorded() {
    let played = RULES.map(|rules| {
        let params = overcooked_v2::Params {
            rules,
            ..Params::default()
        };
        playthrough(params, PLAY_V2, None)
    });
    check("overcooked_v2", &played.join("\n"));
}
