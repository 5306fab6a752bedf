//! Every file of the corpora, and seeded mutations of the seeds, through their targets.

use std::fs;
use std::path::{Path, PathBuf};

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target)
}

/// Runs a target; a panic names the input.
fn run(target: fuzz::Target, bytes: &[u8], what: &str) {
    let outcome = std::panic::catch_unwind(|| target(bytes));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(outcome.is_ok(), "{what}: {hex}");
}

#[test]
fn every_corpus_file_passes() {
    for (name, target) in fuzz::TARGETS {
        let mut files: Vec<_> = fs::read_dir(folder(name))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        assert!(files.len() >= 3, "the corpus of {name} is nearly empty");
        for file in files {
            run(
                target,
                &fs::read(&file).unwrap(),
                &file.display().to_string(),
            );
        }
    }
}

#[test]
fn the_seeds_are_those_of_the_wire_types() {
    for (name, _) in fuzz::TARGETS {
        for (seed, bytes) in fuzz::seeds(name) {
            let stored = fs::read(folder(name).join(&seed)).ok();
            assert!(
                stored == Some(bytes),
                "corpus/{name}/{seed} is another: run `cargo run -p fuzz --example seeds`"
            );
        }
    }
}

#[test]
fn the_seeds_reach_what_they_are_for() {
    use protocol::control::{ClientMessage, ServerMessage, decode};
    use protocol::datagram::{Datagram, DatagramLayout};
    assert!(
        fuzz::seeds("control_client")
            .iter()
            .all(|(_, bytes)| decode::<ClientMessage>(bytes).is_ok())
    );
    assert!(
        fuzz::seeds("control_server")
            .iter()
            .all(|(_, bytes)| decode::<ServerMessage>(bytes).is_ok())
    );
    for (name, bytes) in fuzz::seeds("datagram") {
        let layout = DatagramLayout {
            seats: bytes[0] + 1,
            actions: u16::from(bytes[1]) + 1,
        };
        assert!(Datagram::decode(&bytes[2..], layout).is_ok(), "{name}");
    }
    for (name, bytes) in fuzz::seeds("log") {
        let readable = protocol::log::read_log(&bytes);
        assert_eq!(readable.is_ok(), name != "damaged", "{name}");
        assert_eq!(
            readable.is_ok_and(|log| log.torn),
            name == "torn" || name == "zeros",
            "{name}"
        );
    }
}

#[test]
fn seeded_mutations_pass() {
    for (name, target) in fuzz::TARGETS {
        let seeds = fuzz::seeds(name);
        let rounds = match name {
            "arbiter" | "peer" | "session" => 60,
            _ => 1_000,
        };
        for (index, (seed, bytes)) in seeds.iter().enumerate() {
            let other = &seeds[(index + 1) % seeds.len()].1;
            for round in 0..rounds {
                let number = (index as u64) << 32 | round << 1;
                let mutant = fuzz::mutate(bytes, other, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                run(
                    target,
                    &mutant,
                    &format!("{name}: {seed}, mutation {round}"),
                );
            }
        }
    }
}
