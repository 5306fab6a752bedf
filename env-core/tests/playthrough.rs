//! A readable playthrough by each kind of rules, kept in `tests/golden/overcooked.txt`:
//! a change of the rules is a change that a person can read. `UPDATE_GOLDEN=1` writes it anew.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fmt::Write as _;
use std::path::Path;

use env_core::digest::digest;
use env_core::envs::kitchen::Extra;
use env_core::envs::overcooked::{Overcooked, Params, Rules};
use env_core::grid;
use env_core::{Environment, Outcome};

type State = grid::State<Extra>;

/// One sign a step: `^v<>` moves, `x` picks up or drops, `.` waits, as in `Overcooked`'s order of actions.
const SIGNS: &str = "^v<>x_.";
/// Three onions by the first cook; by the second a plate in the very step in which the soup is ready, and the delivery.
const PLAY: [&str; 2] = [
    "<x>^x<x>^x<x>^x<....................................",
    "<vx...............>^........................xv>vx...",
];

fn action(play: &str, step: usize) -> u16 {
    let sign = play.as_bytes()[step] as char;
    SIGNS.find(sign).unwrap() as u16
}

fn item(env: &Overcooked, kind: u8) -> char {
    match env.tables().kind(kind).map(|kind| kind.name.as_str()) {
        None => ' ',
        Some("onion_soup") => 's',
        Some(name) => name.chars().next().unwrap(),
    }
}

/// A cell as two signs: what it is or the way that its cook looks, and what lies on it or is held.
fn cell(env: &Overcooked, state: &State, at: u16) -> String {
    let tables = env.tables();
    let mut agents = state.agents[..tables.seats].iter();
    if let Some(agent) = agents.find(|agent| agent.cell == at) {
        let way = b">v<^"[agent.facing as usize] as char;
        return format!("{way}{}", item(env, agent.held));
    }
    let kind = state.kind(at);
    let symbol = tables.kind(kind).and_then(|kind| kind.symbol);
    let lying = match state.fixture_in(tables, at) {
        Some(index) => (b'0' + state.fixture(tables, index).count()) as char,
        None => item(env, state.value(tables, at)),
    };
    match symbol {
        None | Some('o' | 'P' | 'S') => format!(" {}", item(env, kind)),
        Some(symbol) => format!("{symbol}{lying}"),
    }
}

fn picture(env: &Overcooked, state: &State, out: &mut String) {
    let tables = env.tables();
    for row in 0..tables.rows {
        let cells: String = (0..tables.cols)
            .map(|col| cell(env, state, (row * tables.cols + col) as u16))
            .collect();
        writeln!(out, "    {}", cells.trim_end()).unwrap();
    }
}

/// Count and timer of the pot.
fn pot(env: &Overcooked, state: &State) -> (u8, u8) {
    let pot = state.fixture(env.tables(), 0);
    (pot.count(), pot.timer())
}

/// What a person would see change.
fn seen(env: &Overcooked, state: &State) -> impl PartialEq + use<> {
    let mut cells = String::new();
    picture(env, state, &mut cells);
    (cells, pot(env, state).1 == 0)
}

fn step(env: &Overcooked, state: &mut State, number: usize, out: &mut String) {
    let spec = env.spec();
    let actions = PLAY.map(|play| action(play, number));
    let (before, mut outcome) = (seen(env, state), Outcome::default());
    env.step(state, &actions, &mut outcome);
    let names = actions.map(|action| spec.actions[usize::from(action)].name.as_str());
    write!(out, "{}: {}, {}", number + 1, names[0], names[1]).unwrap();
    for event in &outcome.events {
        let kind = &spec.events[usize::from(event.kind)];
        write!(out, "; {kind} by {} {:+}", event.seat, event.value).unwrap();
    }
    write!(out, "; pot {}", pot(env, state).1).unwrap();
    if outcome.rewards[0] != 0.0 {
        write!(out, "; rewards {:?}", &outcome.rewards[..2]).unwrap();
    }
    writeln!(out, "{}", if outcome.over { "; over" } else { "" }).unwrap();
    if before != seen(env, state) {
        picture(env, state, out);
    }
}

fn playthrough(rules: Rules) -> String {
    let env = Overcooked::new(Params {
        rules,
        horizon: PLAY[0].len() as u32,
        ..Params::default()
    })
    .unwrap();
    let mut state = env.reset(7);
    let mut out = format!(
        "# {} {}, cramped_room, {rules:?}\n\nseed 7: ",
        Overcooked::ID,
        Overcooked::VERSION
    );
    writeln!(
        out,
        "{}",
        [0, 1]
            .map(|seat| format!("{:?}", state.agents[seat]))
            .join(", ")
    )
    .unwrap();
    (state.agents[0].cell, state.agents[1].cell) = (7, 12);
    picture(&env, &state, &mut out);
    for number in 0..PLAY[0].len() {
        step(&env, &mut state, number, &mut out);
    }
    writeln!(
        out,
        "score {}, digest {:016x}\n",
        env.score(&state),
        digest(&state)
    )
    .unwrap();
    for seat in 0..2 {
        env.describe(&state, seat, &mut out);
        out.push('\n');
    }
    out
}

#[test]
fn playthroughs_are_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/overcooked.txt");
    let played = [Rules::Cogrid, Rules::Corrected]
        .map(playthrough)
        .join("\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &played).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (number, (recorded, played)) in recorded.lines().zip(played.lines()).enumerate() {
        assert_eq!(
            recorded,
            played,
            "line {} of tests/golden/overcooked.txt",
            number + 1
        );
    }
    assert_eq!(recorded, played);
}
