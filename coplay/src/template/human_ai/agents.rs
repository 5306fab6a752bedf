//! The agents of the study, and the names that they have in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// An agent of the study.
pub(super) struct Agent {
    /// Its name among the partners of the study.
    pub(super) name: String,
    /// The policy in the study file: a script, or the file of a model.
    pub(super) policy: String,
    /// The file of a model.
    pub(super) file: Option<PathBuf>,
    /// The observation that a model takes, if it is another one than that of the rules.
    pub(super) encoding: Option<&'static str>,
}

/// Reads the agents, with their names.
pub(super) fn read_agents(given: &[String]) -> anyhow::Result<Vec<Agent>> {
    ensure!(
        given.len() > 1,
        "one agent leaves nothing to compare; add another one, or a built-in policy: `--agents {} cook`",
        given.first().map_or("agent.onnx", String::as_str)
    );
    let (mut agents, mut names) = (Vec::new(), BTreeSet::new());
    for given in given {
        let is_script = catalog::agent::SCRIPTS.contains(&given.as_str());
        let file = (!is_script).then(|| PathBuf::from(given));
        if let Some(file) = &file {
            let scripts = catalog::agent::SCRIPTS.join(", ");
            let ending = file.extension().is_some_and(|ending| ending == "onnx");
            ensure!(
                ending,
                "`{given}` is no model (.onnx) and no built-in policy; the built-in policies are {scripts}"
            );
            ensure!(
                file.is_file(),
                "there is no file `{given}`; name a model, or a built-in policy: {scripts}"
            );
        }
        let stem = file.as_deref().and_then(Path::file_stem);
        let stem = stem.map_or_else(|| given.clone(), |stem| stem.to_string_lossy().into_owned());
        let wanted = word(&stem);
        let mut numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let name = match names.contains(&wanted) {
            true => numbered.find(|name| !names.contains(name)),
            false => Some(wanted.clone()),
        };
        let name = name.context("numbers have no end")?;
        let policy = file
            .as_ref()
            .map_or_else(|| given.clone(), |_| format!("{name}.onnx"));
        names.insert(name.clone());
        agents.push(Agent {
            name,
            policy,
            file,
            encoding: None,
        });
    }
    Ok(agents)
}

/// Makes the name of a partner from the name of a file: lower-case letters, digits and `_`, a letter first.
fn word(stem: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '_',
    };
    let word: String = stem.chars().take(30).map(plain).collect();
    match word.starts_with(|c: char| c.is_ascii_lowercase()) {
        // Names that the template uses for something else.
        true if !TAKEN.contains(&word.as_str()) => word,
        _ => format!("agent_{word}"),
    }
}

/// Names in the template that are no partners.
const TAKEN: [&str; 16] = [
    "side", "partner", "layout", "self", "vacant", "play", "rate", "post", "how", "quiz",
    "consent", "practice", "tutorial", "debrief", "thanks", "kitchens",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_become_names_of_partners() {
        for (stem, name) in [
            ("SP-seed 1", "sp_seed_1"),
            ("1", "agent_1"),
            ("side", "agent_side"),
            ("ä", "agent__"),
        ] {
            assert_eq!(word(stem), name);
        }
    }
}
