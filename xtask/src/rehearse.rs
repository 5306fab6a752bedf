//! `rehearse`: the kill test, 200 sessions of every kind of stage while the server dies twenty times.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::workspace::{Workspace, become_program};

/// The study that has every kind of stage.
const STUDY: &str = "tests/rehearsal";

/// The kill test's options, unless something else is asked for.
const DEFAULTS: [(&str, &str); 4] = [
    ("--sessions", "200"),
    ("--faults", "all"),
    ("--kills", "20"),
    ("--arrivals-per-min", "60"),
];

/// `cargo xtask rehearse`: the program reads its own options, but for `--process`.
pub(crate) fn command(mut parser: lexopt::Parser) -> Result<()> {
    let options: Vec<OsString> = parser.raw_args()?.collect();
    let workspace = Workspace::find()?;
    let mut cargo = workspace.cargo(&["run", "--quiet", "--release", "-p", "coplay"]);
    cargo.args(["--bin", "coplay", "--"]);
    become_program(rehearse_command(&workspace, cargo, &options))
}

/// The kill test with these options, by a command that runs `coplay`.
pub(crate) fn rehearse_command(
    workspace: &Workspace,
    mut coplay: Command,
    options: &[OsString],
) -> Command {
    coplay.args(["rehearse", "--process"]);
    coplay.arg(workspace.root.join(STUDY));
    for (name, value) in DEFAULTS {
        let is_given = |option: &OsString| {
            let option = option.to_string_lossy();
            option == name || option.starts_with(&format!("{name}="))
        };
        if !options.iter().any(is_given) {
            coplay.args([name, value]);
        }
    }
    coplay.args(options);
    coplay
}
