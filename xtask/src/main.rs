//! Every developer command of Coplay: `cargo xtask` lists them, `cargo xtask COMMAND --help` teaches one.
//!
//! A command is a module with its help text and its options; this file only finds it.

#![forbid(unsafe_code)]

mod bench;
mod browsers;
mod build;
mod demo;
mod deny;
mod dist;
mod dst;
mod exports;
mod figures;
mod formats;
mod garage;
mod hostile;
mod hosts;
mod modules;
mod net;
mod notices;
mod options;
mod parity;
mod postgres;
mod python;
mod record;
mod rehearse;
mod setup;
mod tally;
mod test;
mod tidy;
mod trunk;
mod workspace;

use anyhow::{Result, bail};
use lexopt::prelude::*;

const HELP: &str = "\
cargo xtask COMMAND [OPTIONS]

  demo        the first match, in your browser or in two headless ones
  test        everything that must hold; --quick while editing, --all once in a while
  lints       clippy over everything, for host and wasm
  build       the page, the environment modules and the server
  dist        a release: wheel, archive, container file, bill of materials
  setup       what the other commands need and this machine lacks
  dst         whole studies in simulated networks, by seed
  hostile     dishonest clients against the real program
  net         matches of real browsers across bad networks, every pairing
  rehearse    the server dies twenty times in a study of 200 sessions
  parity      recorded trajectories through the library and the module
  record      trajectories of the Overcooked dialects, by their originals
  python      the Python package, its tests and its types
  exports     policies exported by PyTorch, JAX and TensorFlow today, beside onnxruntime
  formats     a published study by validators of its standards; the analysis in R
  hosts       heavy environments from their packages through the host in Python
  postgres    two servers of one study over a real PostgreSQL server
  trunk       the page by trunk beside ours, and `trunk serve` in a browser
  bench       the figures of docs/benchmarks.md
  tidy        the rules of the house that no compiler knows
  advisories  known vulnerabilities of third-party crates

`cargo xtask COMMAND --help` says more about each.";

fn main() {
    if let Err(error) = dispatch() {
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn dispatch() -> Result<()> {
    let mut parser = lexopt::Parser::from_env();
    match parser.next()? {
        Some(Value(command)) => match command.to_str() {
            Some("advisories") => deny::command(parser),
            Some("bench") => bench::command(parser),
            Some("build") => build::command(parser),
            Some("demo") => demo::command(parser),
            Some("dist") => dist::command(parser),
            Some("dst") => dst::command(parser),
            Some("exports") => exports::command(parser),
            Some("formats") => formats::command(parser),
            Some("hostile") => hostile::command(parser),
            Some("lints") => test::lints_command(parser),
            Some("net") => net::command(parser),
            Some("hosts") => hosts::command(parser),
            Some("parity") => parity::command(parser),
            Some("postgres") => postgres::command(parser),
            Some("python") => python::command(parser),
            Some("record") => record::command(parser),
            Some("rehearse") => rehearse::command(parser),
            Some("setup") => setup::command(parser),
            Some("test") => test::command(parser),
            Some("tidy") => tidy::command(parser),
            Some("trunk") => trunk::command(parser),
            Some("help") => options::print_help(HELP),
            _ => bail!(
                "there is no command {}; `cargo xtask` lists them",
                command.display()
            ),
        },
        None | Some(Long("help") | Short('h')) => options::print_help(HELP),
        Some(other) => Err(other.unexpected().into()),
    }
}
