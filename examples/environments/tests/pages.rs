//! The pages say what the examples say: each piece of Rust in them stands in a file that is compiled and tested,
//! and each figure is counted.

use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 2] = ["docs/grid-toolkit.md", "docs/porting.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("the file is there")
}

/// Lines without their indentation, so that a piece of a method may begin at the left.
fn flat(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Every file that the pages may quote.
fn sources() -> Vec<String> {
    let folders = [
        "examples/environments/src",
        "examples/environments/tests",
        "examples/environments/examples",
    ];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).expect("the folder is there"));
    files
        .map(|file| flat(&fs::read_to_string(file.expect("a file").path()).expect("text")))
        .collect()
}

/// The blocks of Rust of a page.
fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```rust\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

#[test]
fn every_piece_of_rust_in_the_pages_is_compiled_and_tested() {
    let sources = sources();
    for path in PAGES {
        let page = read(path);
        let blocks = blocks(&page);
        assert!(blocks.len() > 3, "{path} has pieces");
        for block in blocks {
            // A piece may leave lines out.
            for part in flat(block)
                .split("// …")
                .map(str::trim)
                .filter(|part| !part.is_empty())
            {
                let stands = sources.iter().any(|source| source.contains(part));
                assert!(stands, "{path} quotes what no example says:\n{part}");
            }
        }
    }
}

/// Lines that are neither blank nor a comment.
fn lines_of_code(path: &str) -> usize {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    read(path).lines().filter(is_code).count()
}

#[test]
fn the_lines_of_the_examples_are_as_many_as_the_page_says() {
    let page = read("docs/grid-toolkit.md");
    for (name, original) in [("goal", 48), ("moving_goal", 115), ("ported", 61)] {
        let count = lines_of_code(&format!("examples/environments/src/{name}.rs"));
        let row = format!("`examples/environments/src/{name}.rs` | {original} | {count} |");
        assert!(page.contains(&row), "the page lacks: {row}");
        assert!(count < original, "{name} has grown");
    }
}

#[test]
fn the_page_names_every_use_feature_and_hook() {
    let page = read("docs/grid-toolkit.md");
    let kind = read("env-core/src/grid/kind.rs");
    let uses = kind
        .split("pub enum Use {")
        .nth(1)
        .and_then(|rest| rest.split("\n}").next())
        .expect("the uses");
    let variants = uses
        .lines()
        .filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    let names = variants
        .map(str::trim)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    let names: Vec<&str> = names
        .map(|line| line.split(['(', ',', ' ']).next().unwrap_or_default())
        .collect();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        assert!(
            page.contains(&format!("| `{name}")),
            "the page lacks the use {name}"
        );
    }
    // The refusal of a feature that does not exist lists those that do.
    let refusal = env_core::envs::open("overcooked", r#"{"features":["?"]}"#).map(drop);
    let reason = refusal.expect_err("there is no such feature").reason;
    let list = reason.split("there is: ").nth(1).expect("a list");
    let features: Vec<&str> = list.trim_end_matches(')').split(", ").collect();
    assert!(features.len() > 10, "{reason}");
    for name in features {
        let named = page.contains(&format!("`{name}`"));
        assert!(named, "the page lacks the feature {name}");
    }
    let toolkit = read("env-core/src/grid/world.rs");
    let hooks = toolkit
        .split("pub trait GridWorld")
        .nth(1)
        .and_then(|rest| rest.split("\n}").next())
        .expect("the hooks");
    for name in hooks
        .lines()
        .filter_map(|line| line.strip_prefix("    fn "))
    {
        let name = name.split(['(', '<']).next().unwrap_or_default();
        assert!(
            page.contains(&format!("`{name}`")),
            "the page lacks the method {name}"
        );
    }
}
