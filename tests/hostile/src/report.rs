//! The results of all attacks.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::item::Item;

/// The result of one variant.
#[derive(Clone, Debug)]
pub(crate) enum Result {
    /// The program kept its promise.
    Held(String),
    /// The attack succeeded.
    Broken(String),
    /// It could not be tried.
    Untried(String),
}

/// One variant that was tried.
#[derive(Clone, Debug, Serialize)]
struct Line {
    item: &'static str,
    variant: String,
    seed: u64,
    result: &'static str,
    observed: String,
    took_s: u64,
}

/// The variants of all items.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    seed: u64,
    lines: Vec<Line>,
}

impl Report {
    /// Nothing was tried yet.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            lines: Vec::new(),
        }
    }

    /// Adds a variant, and says what came of it.
    pub(crate) fn add(&mut self, item: &Item, variant: String, result: Result, took: Duration) {
        let (result, observed) = match result {
            Result::Held(seen) => ("held", seen),
            Result::Broken(seen) => ("broken", seen),
            Result::Untried(why) => ("untried", why),
        };
        let took_s = took.as_secs();
        eprintln!("    {result:8} {took_s:3} s  {variant}: {observed}");
        self.lines.push(Line {
            item: item.name,
            variant,
            seed: self.seed,
            result,
            observed,
            took_s,
        });
    }

    fn count(&self, result: &str) -> usize {
        let lines = self.lines.iter();
        lines.filter(|line| line.result == result).count()
    }

    /// True if everything was tried, and held.
    pub(crate) fn is_good(&self) -> bool {
        self.count("held") == self.lines.len()
    }

    /// Prints the sum, or all of it for scripts.
    pub(crate) fn print(&self, is_json: bool) -> anyhow::Result<()> {
        let (held, broken) = (self.count("held"), self.count("broken"));
        let untried = self.count("untried");
        let tried = held + broken;
        if is_json {
            let object = json!({
                "seed": self.seed,
                "tried": tried,
                "held": held,
                "broken": broken,
                "untried": untried,
                "items": self.lines,
            });
            println!("{}", serde_json::to_string_pretty(&object)?);
        } else {
            println!("tried {tried}, held {held}, broken {broken}, could not be tried {untried}");
        }
        Ok(())
    }
}
