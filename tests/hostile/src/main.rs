//! Dishonest clients against the real program.
//!
//! `hostile` starts `coplay serve` for every attack, with honest people beside the attacker, and reads the data afterwards
//! as a researcher would. An item is a file in `items/` and its name in the list there.

#![forbid(unsafe_code)]

mod aftermath;
mod conduct;
mod deeds;
mod item;
mod items;
mod page;
mod player;
mod report;
mod setting;
mod study;
mod victim;
mod wire;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use lexopt::prelude::*;

use aftermath::Stalled;
use item::{Item, Observed, Variant};
use tokio::time::{Instant, timeout};

use report::{Report, Result as Tried};
use world::World;

const HELP: &str = "\
hostile [--seed N] [--variants N] [--item NAME]... [--json] [--list]

Attacks the program that the environment variable COPLAY_BIN names, and says what came of it. `cargo xtask hostile`
attacks the program of the checkout if the variable is not set.

--seed N      draws other variants [default: 1]
--variants N  variants of each item [default: 3]
--item NAME   only this item; may be given several times
--json        one object: seed, tried, held, broken, untried, items
--list        only lists the items

Exits with 1 if an attack succeeded, or could not be tried.

An attack counts only if it succeeds with its fix switched off. To repeat such a proof, switch the fix off in another
checkout, build the program there, and attack it:

  COPLAY_BIN=/path/to/other/target/checked/coplay cargo xtask hostile --item NAME --json

docs/security.md has the fixes that were switched off, and what came of it.";

/// The longest time of one variant: an attack that needs a minute, and what comes before and after it on a busy machine.
const LIMIT: Duration = Duration::from_secs(150);

/// The command line.
struct Options {
    seed: u64,
    variants: u64,
    items: Vec<String>,
    is_json: bool,
}

fn main() -> ExitCode {
    match attack() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line, and attacks; false if something is broken or could not be tried.
fn attack() -> anyhow::Result<bool> {
    let Some(options) = read_options()? else {
        return Ok(true);
    };
    let program = std::env::var_os("COPLAY_BIN").context("COPLAY_BIN names no program")?;
    let program = PathBuf::from(program);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = try_all(&options, &program) => report,
            // Every process ends with its world.
            _ = tokio::signal::ctrl_c() => bail!("stopped"),
        }
    })?;
    report.print(options.is_json)?;
    Ok(report.is_good())
}

fn read_options() -> anyhow::Result<Option<Options>> {
    let mut options = Options {
        seed: 1,
        variants: 3,
        items: Vec::new(),
        is_json: false,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("variants") => options.variants = parser.value()?.parse()?,
            Long("item") => options.items.push(parser.value()?.parse()?),
            Long("json") => options.is_json = true,
            Long("list") => {
                for item in items::all() {
                    println!("{:28} {}", item.name, item.tries);
                }
                return Ok(None);
            }
            Long("help") | Short('h') => {
                println!("{HELP}");
                return Ok(None);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(options))
}

/// Tries every requested item: its variants in parallel, unless it needs the machine for itself.
async fn try_all(options: &Options, program: &std::path::Path) -> anyhow::Result<Report> {
    let all = items::all();
    for name in &options.items {
        if !all.iter().any(|item| item.name == name) {
            bail!("there is no item {name}; --list lists them");
        }
    }
    let mut report = Report::new(options.seed);
    let is_asked = |item: &&Item| {
        options.items.is_empty() || options.items.iter().any(|name| name == item.name)
    };
    for item in all.iter().filter(is_asked) {
        eprintln!("==> {}: {}", item.name, item.tries);
        let variants =
            (0..options.variants).map(|number| Variant::new(options.seed, item.name, number));
        let attempts = variants.map(|variant| try_one(item, variant, program));
        let results = match item.alone {
            false => futures_util::future::join_all(attempts).await,
            true => {
                let mut results = Vec::new();
                for attempt in attempts {
                    results.push(attempt.await);
                }
                results
            }
        };
        for (words, result, took) in results {
            report.add(item, words, result, took);
        }
    }
    Ok(report)
}

/// Tries one variant in its own world; once more if the machine was too busy.
async fn try_one(
    item: &Item,
    fresh: Variant,
    program: &std::path::Path,
) -> (String, Tried, Duration) {
    let began = Instant::now();
    let mut variant = fresh.clone();
    let mut result = try_once(item, &mut variant, program).await;
    if matches!(&result, Err(error) if error.is::<Stalled>()) {
        variant = fresh;
        result = try_once(item, &mut variant, program).await;
    }
    let result = match result {
        Ok(Observed::Held(seen)) => Tried::Held(seen),
        Ok(Observed::Broken(seen)) => Tried::Broken(seen),
        Err(error) => Tried::Untried(format!("{error:#}")),
    };
    (variant.words().to_owned(), result, began.elapsed())
}

async fn try_once(
    item: &Item,
    variant: &mut Variant,
    program: &std::path::Path,
) -> anyhow::Result<Observed> {
    let attempt = async {
        let mut world = World::new(program)?;
        (item.attack)(&mut world, variant).await
    };
    let within = timeout(LIMIT, attempt).await;
    within.with_context(|| format!("it takes longer than {} s", LIMIT.as_secs()))?
}
