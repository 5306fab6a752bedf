//! Environments in Python, stepped as a page does, by the Python of pages.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod release;

use env_core::World;
use env_core::conformance;
use page_python::{Archive, Manifest};
use serde_json::json;

fn archive_of(name: &str, source: &str) -> Vec<u8> {
    let world = json!({"python": format!("{name}:make")});
    let mut archive = Archive::new(world, release::installed(), false);
    archive.add_source(name, source.as_bytes());
    archive.pack().unwrap()
}

const RACE: &str = include_str!("games/race.py");

#[test]
fn an_environment_in_python_keeps_the_laws_of_an_environment() {
    let bytes = archive_of("race.py", RACE);
    let mut open =
        || Ok(Box::new(page_python::open_world(&bytes, "{}").unwrap()) as Box<dyn World>);
    let report = conformance::check_world(&mut open, 0, &[1, 2], &mut |_| ());
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert!(report.steps > 300);
}

#[test]
fn the_same_files_make_the_same_archive() {
    let (one, two) = (archive_of("race.py", RACE), archive_of("race.py", RACE));
    assert_eq!(one, two);
    let manifest = Manifest::read(&one).unwrap();
    assert_eq!(manifest.pyodide, release::installed().version());
    assert_eq!(manifest.release.len(), 6);
    assert!(Manifest::read(b"PK\x03\x04 and no more").is_err());
}

#[test]
fn parameters_reach_the_function_that_makes_the_environment() {
    let bytes = archive_of("race.py", RACE);
    let mut world = page_python::open_world(&bytes, r#"{"size": 9}"#).unwrap();
    let mut list = env_core::draw::DrawList::default();
    world.draw(Some(0), &mut list);
    assert_eq!((list.width, list.items.len()), (9.0, 3));
    let refused = page_python::open_world(&bytes, r#"{"length": 9}"#).unwrap_err();
    assert!(refused.to_string().contains("length"), "{refused}");
}

#[test]
fn an_environment_that_fails_ends_its_own_world_with_its_traceback() {
    let source = RACE.replace("rewards = dict", "1 / 0; rewards = dict");
    let bytes = archive_of("broken.py", &source);
    let refused = page_python::open_world(&bytes, "{}")
        .unwrap_err()
        .to_string();
    assert!(refused.contains("ZeroDivisionError"), "{refused}");
    let source = RACE.replace(
        "rewards = dict",
        "self.agents[0 if self.rng.random() < 0.9 else 7]; rewards = dict",
    );
    let bytes = archive_of("fragile.py", &source);
    let mut world = page_python::open_world(&bytes, "{}").unwrap();
    let mut other = page_python::open_world(&bytes, "{}").unwrap();
    world.reset(3);
    other.reset(3);
    (0..200).for_each(|_| {
        world.step(&[0, 0]);
    });
    let fault = World::fault(&world).unwrap();
    assert!(
        fault.contains("IndexError") && fault.contains("fragile.py"),
        "{fault}"
    );
    assert_eq!(World::fault(&other), None);
    assert!(!other.step(&[1, 2]).over);
}
