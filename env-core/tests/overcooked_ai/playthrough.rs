//! A readable playthrough by the rules of the package, kept in `tests/golden`; `UPDATE_GOLDEN=1` writes it again.

use std::fmt::Write as _;
use std::path::Path;

use env_core::digest::digest;
use env_core::envs::overcooked_ai::{OvercookedAi, Params};
use env_core::{Environment, StepOutcome};

/// Onions, the start of the cooking and the wait by the first cook; the dish and the delivery by the second.
const PLAY: [&str; 2] = [
    "^<x>^x<x>^x<x>^xx<.......................",
    "v<<v..x...........>^................xv>vx",
];

#[test]
fn it_is_played_as_recorded() {
    let env = OvercookedAi::new(Params {
        horizon: PLAY[0].len() as u32,
        ..Params::default()
    })
    .unwrap();
    let (spec, mut state, mut outcome) = (env.spec(), env.reset(0), StepOutcome::default());
    let mut out = format!("# {} {}\n\n", spec.id, spec.version);
    env.describe(&state, 0, &mut out);
    for step in 0..PLAY[0].len() {
        let actions = PLAY.map(|play| "^v><.x".find(&play[step..=step]).unwrap() as u16);
        env.step(&mut state, &actions, &mut outcome);
        let names = actions.map(|action| spec.actions[usize::from(action)].name.as_str());
        write!(out, "{}: {}", step + 1, names.join(", ")).unwrap();
        for event in &outcome.events {
            let kind = &spec.events[usize::from(event.kind)];
            write!(out, "; {kind} by {}", event.seat).unwrap();
        }
        if outcome.rewards != [0.0; 16] {
            write!(out, "; rewards {:?}", &outcome.rewards[..2]).unwrap();
        }
        let clocks: Vec<u16> = state.pots.iter().map(|pot| pot.clock).collect();
        writeln!(
            out,
            "; pots {clocks:?}{}",
            if outcome.over { "; over" } else { "" }
        )
        .unwrap();
    }
    env.describe(&state, 1, &mut out);
    writeln!(out, "digest {:016x}", digest(&state)).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/overcooked_ai.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &out).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (line, (recorded, played)) in recorded.lines().zip(out.lines()).enumerate() {
        assert_eq!(recorded, played, "line {}", line + 1);
    }
    assert_eq!(recorded, out);
}
