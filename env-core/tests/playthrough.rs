//! A readable playthrough by each kind of rules, kept in `tests/golden/overcooked.txt`:
//! a change of the rules is a change that a person can read. `UPDATE_GOLDEN=1` writes it anew.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fmt::Write as _;
use std::path::Path;

use env_core::digest::digest;
use env_core::envs::overcooked::kitchen::{COLS, Ground};
use env_core::envs::overcooked::state::{Item, State};
use env_core::envs::overcooked::{Overcooked, Params, Rules};
use env_core::{Environment, Outcome};

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

fn item(item: Item) -> char {
    match item {
        Item::Empty => ' ',
        Item::Onion => 'o',
        Item::Plate => 'p',
        Item::Soup => 's',
    }
}

/// A cell as two signs: what it is or the way that its cook looks, and what lies on it or is held.
fn cell(env: &Overcooked, state: &State, at: u8) -> String {
    if let Some(chef) = state.chefs.iter().find(|chef| chef.cell == at) {
        return format!(
            "{}{}",
            b">v<^"[chef.facing as usize] as char,
            item(chef.held)
        );
    }
    let (ground, lying) = match env.kitchen().ground[usize::from(at)] {
        Ground::Floor => (' ', item(state.item(at))),
        Ground::Counter => ('C', item(state.item(at))),
        Ground::OnionStack => ('O', ' '),
        Ground::PlateStack => ('=', ' '),
        Ground::DeliveryZone => ('@', item(state.item(at))),
        Ground::Pot => ('U', (b'0' + state.pot(env.kitchen(), at).onions) as char),
        Ground::Void => ('?', ' '),
    };
    format!("{ground}{lying}")
}

fn picture(env: &Overcooked, state: &State, out: &mut String) {
    for row in 0..env.kitchen().rows {
        let cells: String = (0..env.kitchen().cols)
            .map(|col| cell(env, state, row * COLS as u8 + col))
            .collect();
        writeln!(out, "    {}", cells.trim_end()).unwrap();
    }
}

/// What a person would see change.
fn seen(state: &State) -> impl PartialEq + use<> {
    (
        state.chefs,
        state.items,
        state.pots.map(|pot| (pot.onions, pot.ready())),
    )
}

fn step(env: &Overcooked, state: &mut State, number: usize, out: &mut String) {
    let spec = env.spec();
    let actions = PLAY.map(|play| action(play, number));
    let (before, mut outcome) = (seen(state), Outcome::default());
    env.step(state, &actions, &mut outcome);
    let names = actions.map(|action| spec.actions[usize::from(action)].name.as_str());
    write!(out, "{}: {}, {}", number + 1, names[0], names[1]).unwrap();
    for event in &outcome.events {
        let kind = &spec.events[usize::from(event.kind)];
        write!(out, "; {kind} by {} {:+}", event.seat, event.value).unwrap();
    }
    write!(out, "; pot {}", state.pots[0].timer).unwrap();
    if outcome.rewards[0] != 0.0 {
        write!(out, "; rewards {:?}", &outcome.rewards[..2]).unwrap();
    }
    writeln!(out, "{}", if outcome.over { "; over" } else { "" }).unwrap();
    if before != seen(state) {
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
        state.chefs.map(|chef| format!("{chef:?}")).join(", ")
    )
    .unwrap();
    (state.chefs[0].cell, state.chefs[1].cell) = ((COLS + 2) as u8, (2 * COLS + 2) as u8);
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
