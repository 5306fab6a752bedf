//! CoGrid's own Overcooked, unmodified from its package, in the Python of pages, beside the native one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod release;

use std::io::{BufRead as _, BufReader};

use env_core::digest::Fnv1a;
use env_core::{World, conformance};
use flate2::read::GzDecoder;
use page_python::{Archive, NodeWorld, fetch_wheels};
use serde_json::{Value, json};

const KITCHEN: &str = include_str!("../../tests/python-page/kitchen.py");
const REQUIREMENTS: &str = include_str!("../../tests/python-page/requirements.txt");

/// Its archive; episodes end after this many ticks.
fn archive(horizon: usize) -> Vec<u8> {
    let release = release::installed();
    let wheels = fetch_wheels(REQUIREMENTS).unwrap();
    let world = json!({
        "python": "kitchen.py:make", "picture": "kitchen.py:picture", "tick_hz": 10, "horizon": horizon,
    });
    let mut archive = Archive::new(world, release, wheels.needs_numpy);
    archive.add_source("kitchen.py", KITCHEN.as_bytes());
    for (name, bytes) in &wheels.files {
        archive.add_wheel(name, bytes).unwrap();
    }
    archive.pack().unwrap()
}

/// An episode of CoGrid, as it was recorded outside of pages; the native environment is compared with the same
/// recording.
const RECORDED: &[u8] = include_bytes!("../../tests/golden/Overcooked-CrampedRoom-V0.jsonl.gz");

/// Steps of the recording that are played.
const STEPS: usize = 150;

/// The hashes of the observations in a recorded line.
fn hashes(line: &Value) -> Vec<u64> {
    let hashes = line["oh"].as_array().unwrap().iter();
    hashes
        .map(|hash| u64::from_str_radix(hash.as_str().unwrap(), 16).unwrap())
        .collect()
}

/// FNV-1a over the values of a seat's observation, as the recording has it.
fn observed(world: &mut NodeWorld, seat: usize) -> u64 {
    let mut values = Vec::new();
    world.observe(seat, &mut values);
    let bytes = values.iter().flat_map(|value| (value + 0.0).to_le_bytes());
    Fnv1a::EMPTY.with(&bytes.collect::<Vec<u8>>()).value()
}

#[test]
fn cogrids_own_kitchen_plays_in_pages_what_it_played_elsewhere() {
    let mut lines = BufReader::new(GzDecoder::new(RECORDED)).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let header = next();
    let mut world = page_python::open_world(&archive(STEPS + 1), "").unwrap();
    world.reset(header["seed"].as_u64().unwrap());
    let first: Vec<u64> = (0..2).map(|seat| observed(&mut world, seat)).collect();
    assert_eq!(first, hashes(&header["reset"]));
    let mut earned = 0.0;
    for step in 1..=STEPS {
        let line = next();
        let row = |key: &str| line[key].as_array().unwrap().clone();
        let actions: Vec<u16> = row("a")
            .iter()
            .map(|a| a.as_u64().unwrap() as u16)
            .collect();
        // A rollback in between changes nothing.
        if step % 50 == 0 {
            world.save(3);
            world.step(&[0, 1]);
            world.load(3);
        }
        let rewards = world.step(&actions).rewards;
        for (seat, reward) in row("r").iter().enumerate() {
            assert_eq!(
                f64::from(rewards[seat]),
                reward.as_f64().unwrap(),
                "step {step}"
            );
        }
        earned += rewards[0];
        let seen: Vec<u64> = (0..2).map(|seat| observed(&mut world, seat)).collect();
        assert_eq!(seen, hashes(&line), "step {step}");
    }
    assert!(earned > 3.0, "{earned}: it delivers");
}

#[test]
fn cogrids_own_kitchen_keeps_the_laws_of_an_environment() {
    let bytes = archive(100);
    let mut open = || Ok(Box::new(page_python::open_world(&bytes, "").unwrap()) as Box<dyn World>);
    let report = conformance::check_world(&mut open, 0, &[1], &mut |_| ());
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}
