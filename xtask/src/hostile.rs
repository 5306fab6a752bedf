//! `hostile`: dishonest clients against the real program.

use std::ffi::OsString;

use anyhow::Result;

use crate::workspace::{CHECKED, Workspace, become_program, run};
use crate::{build, setup};

/// The environment variable that names the program under attack.
const PROGRAM: &str = "COPLAY_BIN";

/// `cargo xtask hostile`: builds the program and its attackers, which read their own options. They attack another program
/// if the environment names one, such as one with a fix switched off.
pub(crate) fn command(mut parser: lexopt::Parser) -> Result<()> {
    let options: Vec<OsString> = parser.raw_args()?.collect();
    let workspace = Workspace::find()?;
    // Some of the honest people are real browsers.
    let chromium = setup::find_chromium(&workspace)?;
    build::page(&workspace, false)?;
    let mut cargo = workspace.cargo(&["build", "--quiet", "--profile", CHECKED]);
    cargo.args(["-p", "coplay", "-p", "hostile", "--bins"]);
    run("the program and its attackers", &mut cargo)?;
    let mut hostile = workspace.command(workspace.checked("hostile"));
    if std::env::var_os(PROGRAM).is_none() {
        hostile.env(PROGRAM, workspace.checked("coplay"));
    }
    hostile.env("COPLAY_CHROMIUM", chromium);
    become_program({
        hostile.args(options);
        hostile
    })
}
