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

/// The race in pixels: the coin is where a click goes, and a click beside a runner means a step there.
const PIXELS: &str = r#"
import numpy as np
from race import Race

class Painted(Race):
    def render(self):
        picture = np.full((10 * self.size, 10 * self.size, 3), 40, np.uint8)
        for color, (x, y) in [((255, 200, 0), self.coin), ((220, 0, 0), self.at["red"]), ((0, 0, 220), self.at["blue"])]:
            picture[10 * y : 10 * y + 10, 10 * x : 10 * x + 10] = color
        return picture

    draw = None

    def point(self, seat, x, y):
        column, row = (int(part * self.size / 16) for part in (x, y))
        dx, dy = column - self.at[self.possible_agents[seat]][0], row - self.at[self.possible_agents[seat]][1]
        return {(0, -1): "up", (0, 1): "down", (-1, 0): "left", (1, 0): "right"}.get((dx, dy))

def make(size=5):
    return Painted(size)
"#;

#[test]
fn a_page_shows_pixels_and_says_what_a_point_on_them_means() {
    let world = json!({"python": "painted.py:make"});
    let mut archive = Archive::new(world, release::installed(), true);
    archive.add_source("race.py", RACE.as_bytes());
    archive.add_source("painted.py", PIXELS.as_bytes());
    let bytes = archive.pack().unwrap();
    let mut world = page_python::open_world(&bytes, "{}").unwrap();
    world.reset(3);
    let mut list = env_core::draw::DrawList::default();
    world.draw(Some(0), &mut list);
    assert_eq!((list.width, list.height), (16.0, 16.0));
    let env_core::draw::Shape::Pixels { width, height, rgb } = &list.items[0].shape else {
        panic!("{:?}", list.items);
    };
    assert_eq!((*width, *height, rgb.len()), (50, 50, 50 * 50 * 3));
    assert_eq!(rgb[..3], [220, 0, 0], "red stands in the first corner");
    assert_eq!(rgb[rgb.len() - 3..], [0, 0, 220]);
    // Red may go right or down; its own cell and the other corner mean nothing.
    let meant = [[4.8, 1.0], [1.0, 4.8], [1.0, 1.0], [15.0, 15.0]].map(|at| world.point(0, at));
    assert_eq!(meant, [Some(4), Some(2), None, None]);
    assert_eq!(world.fault(), None);
    let mut open =
        || Ok(Box::new(page_python::open_world(&bytes, "{}").unwrap()) as Box<dyn World>);
    let report = conformance::check_world(&mut open, 0, &[1], &mut |_| ());
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}
