//! `hostile`: dishonest clients against the real program.

use std::ffi::OsString;

use anyhow::Result;

use crate::workspace::{CHECKED, Workspace, become_program, run};

/// `cargo xtask hostile`: builds the program and its attackers, which read their own options.
pub(crate) fn command(mut parser: lexopt::Parser) -> Result<()> {
    let options: Vec<OsString> = parser.raw_args()?.collect();
    let workspace = Workspace::find()?;
    let build = ["build", "--quiet", "--profile", CHECKED];
    let mut build = workspace.cargo(&build);
    build.args(["-p", "coplay", "-p", "hostile", "--bins"]);
    run("the program and its attackers", &mut build)?;
    let mut hostile = workspace.command(workspace.checked("hostile"));
    hostile.env("COPLAY_BIN", workspace.checked("coplay"));
    become_program({
        hostile.args(options);
        hostile
    })
}
