//! Holds a played episode of CoGrid's own kitchen beside the native one.
//!
//! `kitchens EPISODE.coplay ENVIRONMENT` takes seed and actions from the log, plays them in the Python of pages and in the
//! native environment by the rules of CoGrid, and compares after every tick what each seat observes and earns, and
//! whether the episode is over. It prints how many ticks were equal, as JSON; at the first difference it fails.

use std::error::Error;
use std::{env, fs};

use env_core::World;
use protocol::log;

/// The kitchen of `tests/python-page/kitchen.py` as parameters of the native one.
/// Source: CoGrid 0.3.2, `Overcooked-CrampedRoom-V0`.
const NATIVE: &str = r#"{
    "layout": "cramped_room", "rules": "cogrid-0.3.2", "horizon": HORIZON,
    "features": ["agent_dir", "overcooked_inventory", "next_to_counter", "next_to_pot", "object_type_masks",
        "ordered_pot_features", "dist_to_other_players", "agent_position", "can_move_direction"],
    "rewards": [
        {"kind": "delivery", "worth": 20}, {"kind": "onion_in_pot", "worth": 3}, {"kind": "soup_in_dish", "worth": 5}
    ]
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = env::args().skip(1);
    let (Some(episode), Some(environment)) = (files.next(), files.next()) else {
        return Err("name two files: kitchens EPISODE.coplay ENVIRONMENT".into());
    };
    let log = log::read_log(&fs::read(episode)?)?;
    let mut python = page_python::open_file(&fs::read(environment)?, &log.header.params)?.world;
    let horizon = python.spec().horizon.to_string();
    let mut native = env_core::envs::open("overcooked", &NATIVE.replace("HORIZON", &horizon))?;
    let seed = log.header.seed;
    python.reset(seed);
    // The seed that Python's side gives to CoGrid, which takes 31 bits.
    native.reset((seed ^ (seed >> 33)) & 0x7fff_ffff);
    compare(&mut *python, &mut *native, 0)?;
    let (seats, mut earned) = (log.count_seats(), 0.0);
    for (tick, row) in (1..).zip(log.rows().chunks_exact(seats)) {
        let (one, other) = (python.step(row).clone(), native.step(row).clone());
        earned += f64::from(one.rewards[0]);
        if (one.rewards, one.over) != (other.rewards, other.over) {
            let [one, other] = [one, other].map(|of| (of.rewards[..seats].to_vec(), of.over));
            return Err(format!("tick {tick}: {one:?} in the page, {other:?} natively").into());
        }
        compare(&mut *python, &mut *native, tick)?;
    }
    println!("{{\"ticks\":{},\"earned\":{earned}}}", log.through.0);
    Ok(())
}

/// Compares what each seat observes after a tick.
fn compare(python: &mut dyn World, native: &mut dyn World, tick: u32) -> Result<(), String> {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for seat in 0..usize::from(native.spec().seats) {
        python.observe(seat, &mut one);
        native.observe(seat, &mut other);
        let mut values = one.iter().zip(&other);
        if let Some(at) = values.position(|(one, other)| one != other) {
            let (one, other) = (one[at], other[at]);
            return Err(format!(
                "tick {tick}, seat {seat}, value {at}: {one} in the page, {other} natively"
            ));
        }
        if one.len() != other.len() {
            let [one, other] = [one.len(), other.len()];
            return Err(format!("{one} values in the page, {other} natively"));
        }
    }
    Ok(())
}
