//! `dst`: whole studies on a virtual clock and a simulated network, by seed.

use std::ffi::OsString;

use anyhow::Result;

use crate::workspace::{Workspace, become_program};

/// `cargo xtask dst`: the program of `simulation/` reads its own options.
pub(crate) fn command(mut parser: lexopt::Parser) -> Result<()> {
    let options: Vec<OsString> = parser.raw_args()?.collect();
    let workspace = Workspace::find()?;
    let mut dst = workspace.cargo(&["run", "--quiet", "--release", "-p", "simulation", "--"]);
    become_program({
        dst.args(options);
        dst
    })
}
