//! Manual pages of the command, and completions for shells.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;

/// The name of the program.
const NAME: &str = "coplay";

/// Writes the completions for a shell.
///
/// # Errors
/// Nothing can be written there.
pub fn write_completions(shell: Shell, out: &mut impl Write) -> io::Result<()> {
    // The generator panics where it cannot write, as in a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    out.write_all(&script)
}

/// Writes the manual pages into a folder, one for each command, and gives the pages of the folder in order.
///
/// # Errors
/// The folder cannot be made or written.
pub fn write_manual(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("writing into {}", folder.display()))?;
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let page = entry?.path();
        if page.extension().is_some_and(|end| end == "1") {
            pages.push(page);
        }
    }
    pages.sort();
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [
            Shell::Bash,
            Shell::Elvish,
            Shell::Fish,
            Shell::PowerShell,
            Shell::Zsh,
        ] {
            let mut script = Vec::new();
            write_completions(shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            for command in ["rehearse", "serve", "export"] {
                assert!(script.contains(command), "{shell}: {command}");
            }
        }
    }

    #[test]
    fn every_command_has_a_manual_page_with_its_options_and_examples() {
        let folder = tempfile::tempdir().unwrap();
        let pages = write_manual(folder.path()).unwrap();
        let names: Vec<_> = pages
            .iter()
            .filter_map(|page| page.file_name()?.to_str())
            .collect();
        for name in [
            "coplay.1",
            "coplay-serve.1",
            "coplay-env-check.1",
            "coplay-new-overcooked.1",
        ] {
            assert!(names.contains(&name), "{names:?}");
        }
        let page = std::fs::read_to_string(folder.path().join("coplay-serve.1")).unwrap();
        for part in ["trusted\\-proxy", "Examples:", "coplay serve"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
