//! Playthroughs of grid worlds that a person can read, kept in `tests/golden`: a change of the rules is a change
//! of lines. `UPDATE_GOLDEN=1` writes them again.

use std::fmt::Write as _;
use std::path::Path;

use env_core::digest::digest;
use env_core::grid::{CogridRules, Grid, GridWorld, State};
use env_core::{Environment, StepOutcome};

/// One sign a step: `^v<>` moves, `x` picks up or drops, `t` toggles, `.` waits.
const SIGNS: &str = "^v<>xt.";

/// The actions of a step, from one row of signs a seat.
pub(crate) fn actions(play: &[&str], step: usize) -> Vec<u16> {
    let sign = |row: &&str| row.as_bytes()[step] as char;
    play.iter()
        .map(|row| SIGNS.find(sign(row)).unwrap() as u16)
        .collect()
}

/// A grid as rows of symbols, agents by the way that they look.
fn picture<W: GridWorld, C: CogridRules<W>>(grid: &Grid<W, C>, state: &State<W::Extra>) -> String {
    let tables = grid.tables();
    let sign = |cell: u16| {
        let agent = state.agents[..tables.seats]
            .iter()
            .find(|agent| agent.cell == cell);
        let kind = tables.kind(state.kind(cell));
        match agent {
            Some(agent) => b">v<^"[agent.facing as usize] as char,
            None => kind.and_then(|kind| kind.symbol).unwrap_or(' '),
        }
    };
    let mut out = String::new();
    for row in 0..tables.rows {
        let cells = (0..tables.cols).map(|col| sign((row * tables.cols + col) as u16));
        writeln!(out, "    {}", cells.collect::<String>().trim_end()).unwrap();
    }
    out
}

/// Plays rows of signs from the first state of a seed, and describes what happens.
pub(crate) fn tell<W: GridWorld>(params: W::Params, seed: u64, play: &[&str]) -> String {
    let grid = Grid::<W>::new(params).unwrap();
    let spec = grid.spec();
    let mut state = grid.reset(seed);
    let mut shown = picture(&grid, &state);
    let mut out = format!(
        "# {} {}, {:?}, seed {seed}\n\n{shown}",
        W::ID,
        W::VERSION,
        grid.tables().rules
    );
    let mut outcome = StepOutcome::default();
    for step in 0..play[0].len() {
        let joint = actions(play, step);
        grid.step(&mut state, &joint, &mut outcome);
        let names = joint
            .iter()
            .map(|&action| spec.actions[usize::from(action)].name.as_str());
        write!(
            out,
            "{}: {}",
            step + 1,
            names.collect::<Vec<_>>().join(", ")
        )
        .unwrap();
        for event in &outcome.events {
            let kind = &spec.events[usize::from(event.kind)];
            write!(out, "; {kind} by {} {:+}", event.seat, event.value).unwrap();
        }
        let rewards = &outcome.rewards[..usize::from(spec.seats)];
        if rewards.iter().any(|&reward| reward != 0.0) {
            write!(out, "; rewards {rewards:?}").unwrap();
        }
        if outcome.terminated != 0 {
            write!(out, "; terminated {:b}", outcome.terminated).unwrap();
        }
        writeln!(out, "{}", if outcome.over { "; over" } else { "" }).unwrap();
        let now = picture(&grid, &state);
        if now != shown {
            out += &now;
            shown = now;
        }
    }
    let (score, digest) = (grid.score(&state), digest(&state));
    writeln!(out, "score {score}, digest {digest:016x}\n").unwrap();
    for seat in 0..usize::from(spec.seats) {
        grid.describe(&state, seat, &mut out);
        out.push('\n');
    }
    out
}

/// Compares with the recorded text.
pub(crate) fn check(name: &str, told: &str) {
    let path = format!("{}/../tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, told).unwrap();
    }
    let recorded = std::fs::read_to_string(Path::new(&path)).unwrap();
    for (number, (recorded, told)) in recorded.lines().zip(told.lines()).enumerate() {
        assert_eq!(recorded, told, "line {} of {path}", number + 1);
    }
    assert_eq!(recorded, told);
}
