//! Every developer command of Coplay: `cargo xtask` lists them, `cargo xtask COMMAND --help` teaches one.
//!
//! A command is a module. This file owns the command line and nothing else.

mod build;
mod setup;
mod workspace;

use anyhow::{Result, bail};
use lexopt::prelude::*;

use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND [OPTIONS]

  demo      the first match, in your browser or in two headless ones
  test      everything that must hold; --quick while editing
  build     the page, the environment modules and the server
  setup     what the other commands need and this machine lacks
  parity    recorded trajectories through the library and the module
  bench     the figures of docs/benchmarks.md
  tidy      the rules of the house that no compiler knows

`cargo xtask COMMAND --help` says more about each.";

const SETUP: &str = "\
cargo xtask setup

Adds the wasm target (rustup), the browser driver (npm ci in tests/e2e)
and Chromium (apt-get, if this is Debian and you are root), where absent.
The other commands call the part of it that they need, so it is rarely typed.

COPLAY_CHROMIUM   the Chromium or Chrome to drive, instead of the one in PATH";

const BUILD: &str = "\
cargo xtask build [--dev]

Compiles the page and the environment modules to wasm, generates the bindings,
compresses everything into dist/, and builds target/release/coplay around it.
What is up to date is skipped.

--dev    an unoptimised page with names and debug information: quicker to build,
         several times slower to run";

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
            Some("setup") => setup_command(parser),
            Some("build") => build_command(parser),
            Some("help") => help(HELP),
            _ => bail!(
                "there is no command {}; `cargo xtask` lists them",
                command.display()
            ),
        },
        None | Some(Long("help") | Short('h')) => help(HELP),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn help(text: &str) -> Result<()> {
    println!("{text}");
    Ok(())
}

fn setup_command(mut parser: lexopt::Parser) -> Result<()> {
    while let Some(arg) = parser.next()? {
        match arg {
            Long("help") | Short('h') => return help(SETUP),
            other => return Err(other.unexpected().into()),
        }
    }
    let workspace = Workspace::find()?;
    setup::wasm(&workspace)?;
    let chromium = setup::browser(&workspace)?;
    workspace::say(format_args!(
        "all is there; the browser tests drive {}",
        chromium.display()
    ));
    Ok(())
}

fn build_command(mut parser: lexopt::Parser) -> Result<()> {
    let mut dev = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("dev") => dev = true,
            Long("help") | Short('h') => return help(BUILD),
            other => return Err(other.unexpected().into()),
        }
    }
    build::all(&Workspace::find()?, dev)
}
