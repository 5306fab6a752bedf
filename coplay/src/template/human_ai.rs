//! `coplay new human-ai`: a complete study in which people cook with the agents of a lab, and rate each of them.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;

use self::agents::{Agent, read_agents};
use self::kitchens::Kitchens;
use super::study::{id, write_schema};

mod agents;
mod kitchens;

const STUDY: &str = include_str!("../../templates/study/human-ai/study.yaml");
const PAGES: [(&str, &str); 4] = [
    (
        "consent.md",
        include_str!("../../templates/study/human-ai/consent.md"),
    ),
    (
        "how.md",
        include_str!("../../templates/study/human-ai/how.md"),
    ),
    (
        "debrief.md",
        include_str!("../../templates/study/human-ai/debrief.md"),
    ),
    (
        "thanks.md",
        include_str!("../../templates/study/human-ai/thanks.md"),
    ),
];
/// The analysis fits every study whose rounds are `play` and `rate`.
const ANALYSIS: &str = include_str!("../../../examples/seven-partners/analysis.py");

/// Kitchens of a study that names none: more make it long.
const USUAL_KITCHENS: usize = 2;

/// The most rounds of one person.
const MAX_ROUNDS: usize = 40;

/// Minutes of everything but the rated rounds, and of a rated round with its questions.
const MINUTES: (usize, usize) = (7, 2);

/// Pay for an hour, hundredths of a unit of the currency.
const CENTS_PER_HOUR: usize = 900;

/// The study that was written.
#[derive(Debug)]
pub struct Written {
    dir: PathBuf,
    names: Vec<String>,
    layouts: Vec<String>,
    /// Choices that the files of the models leave open.
    notes: Vec<String>,
}

/// The study to write.
#[derive(Debug, Default)]
pub struct HumanAiOrder<'a> {
    /// Files of models and names of scripts.
    pub agents: &'a [String],
    /// The kitchens; without any, the first ones that all agents can play.
    pub layouts: &'a [String],
    /// The rules of published agents; without them, people cook by CoGrid's.
    pub rules: Option<&'a str>,
    /// Further parameters of the environment, as a JSON object.
    pub params: Option<&'a str>,
}

/// Writes the study into a folder that is empty or does not exist.
///
/// # Errors
/// The folder has files, there are fewer than two agents or too many rounds, there are no such rules, an agent is not a
/// model or cannot play a kitchen, or writing fails. If a study is refused, no file is written.
pub fn write_human_ai(dir: &Path, order: &HumanAiOrder<'_>) -> anyhow::Result<Written> {
    let mut entries = dir.read_dir().into_iter().flatten();
    ensure!(
        !dir.exists() || (dir.is_dir() && entries.next().is_none()),
        "{} is there already and not empty; name a new folder",
        dir.display()
    );
    let mut agents = read_agents(order.agents)?;
    let kitchens = Kitchens::new(order.rules, order.params)?;
    let layouts = choose_layouts(&mut agents, order.layouts, &kitchens)?;
    let rounds = agents.len() * layouts.len();
    ensure!(
        rounds <= MAX_ROUNDS,
        "{} agents in {} kitchens are {rounds} rounds for each person; there must be at most {MAX_ROUNDS}: name fewer",
        agents.len(),
        layouts.len()
    );
    let minutes = MINUTES.0 + rounds * MINUTES.1;
    let words = kitchens.words(&layouts)?;
    let mut files = agents.iter().filter_map(|agent| agent.file.as_deref());
    files.try_for_each(catalog::agent::check_beside)?;
    let notes = note_open_encodings(&agents, &layouts[0], &kitchens)?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let fill = |text: &str| {
        let text = text.replace("@MINUTES@", &minutes.to_string());
        let text = text.replace("@ROUNDS@", &rounds.to_string());
        let words = words.iter();
        words.fold(text, |text, (from, to)| text.replace(from, to))
    };
    let put = |file: &str, text: String| {
        let path = dir.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let id = format!("{:<30}#", format!("id: {}", id(dir)));
    let study = fill(&study(&agents, &layouts, minutes, &kitchens)?)
        .replace("id: my-study                  #", &id);
    put("study.yaml", study)?;
    for (file, text) in PAGES {
        put(file, fill(text))?;
    }
    for agent in &agents {
        if let Some(file) = &agent.file {
            let to = dir.join(&agent.policy);
            let copy = |from: &Path, to: &Path| {
                let copied = fs::copy(from, to);
                copied
                    .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
            };
            copy(file, &to)?;
            let [certificate, beside] = [file, &to].map(|file| with_certificate(file));
            if certificate.is_file() {
                copy(&certificate, &beside)?;
            }
        }
    }
    put("analysis.py", ANALYSIS.to_owned())?;
    write_schema(dir)?;
    put(".gitignore", "coplay-data/\ncoplay-dev-data/\n".to_owned())?;
    Ok(Written {
        dir: dir.to_owned(),
        names: agents.into_iter().map(|agent| agent.name).collect(),
        layouts,
        notes,
    })
}

/// Notes which models could take another observation of the same shape.
fn note_open_encodings(
    agents: &[Agent],
    layout: &str,
    kitchens: &Kitchens,
) -> anyhow::Result<Vec<String>> {
    let default = kitchens.default_encoding(layout)?;
    let mut notes = Vec::new();
    for agent in agents {
        let Some(file) = &agent.file else { continue };
        let fitting = kitchens.list_fitting(file, layout);
        let taken = agent.encoding.unwrap_or(&default);
        let others: Vec<&str> = fitting.into_iter().filter(|it| *it != taken).collect();
        if !others.is_empty() {
            notes.push(format!(
                "`{}` gets the observation `{taken}`. In `{layout}`, `{}` has the same shape. If the agent was trained on \
                 that, list it at `observation` in each `config`, and write it at the partner: `observation: {}`. \
                 `coplay agent check` tells for sure.",
                agent.policy,
                others.join("` or `"),
                others[0]
            ));
        }
    }
    Ok(notes)
}

/// The certificate of a model, which stands beside it.
fn with_certificate(model: &Path) -> PathBuf {
    let mut name = model.as_os_str().to_owned();
    name.push(".certificate.json");
    name.into()
}

/// The study file.
fn study(
    agents: &[Agent],
    layouts: &[String],
    minutes: usize,
    kitchens: &Kitchens,
) -> anyhow::Result<String> {
    let default = kitchens.default_encoding(&layouts[0])?;
    let is_mixed = agents.iter().any(|agent| agent.encoding.is_some());
    let mut partners = String::new();
    let mut encodings = BTreeSet::new();
    for agent in agents {
        // A name in quotes can hold anything.
        let (name, policy) = (&agent.name, json!(agent.policy));
        let observation = match &agent.file {
            Some(_) if is_mixed => {
                let encoding = agent.encoding.unwrap_or(&default);
                encodings.insert(encoding);
                format!(", observation: {encoding}")
            }
            _ => String::new(),
        };
        let _ = writeln!(
            partners,
            "  {name}: {{policy: {policy}, disclose: false{observation}}}"
        );
    }
    let encodings: Vec<&str> = encodings.into_iter().collect();
    let observation = match is_mixed {
        true => format!(", observation: [{}]", encodings.join(", ")),
        false => String::new(),
    };
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let levels = layouts.join(", ");
    let (factor, each) = match layouts {
        [alone] => (String::new(), format!("{{layout: [{alone}]}}")),
        _ => (
            format!("    layout: {{levels: [{levels}], order: latin}}\n"),
            "layout".to_owned(),
        ),
    };
    // Each order on each side, twice.
    let orders = agents.len() * (1 + agents.len() % 2);
    let cents = (minutes * CENTS_PER_HOUR).div_ceil(60);
    let text = STUDY
        .replace("@ENV@", &kitchens.with_version()?)
        .replace("@TUTORIAL@\n", &kitchens.tutorial())
        .replace("@PARAMS@", &kitchens.params_key())
        .replace("@PRACTICE@", kitchens.practice())
        .replace("@PRACTICE_PARTNER@", kitchens.practice_partner(agents))
        .replace("@OBSERVATION@", &observation)
        .replace("@PARTNERS@\n", &(partners + "\n"))
        .replace("@NAMES@", &names.join(", "))
        .replace("@LAYOUT_FACTOR@\n", &(factor + "\n"))
        .replace("@EACH_LAYOUT@", &each)
        .replace("@QUOTA@", &(4 * orders).to_string())
        .replace("@BASE@", &format!("{}.{:02}", cents / 100, cents % 100))
        .replace("@MOST_MINUTES@", &(minutes * 2).to_string());
    Ok(text)
}

/// Chooses the kitchens of the study: the named ones, or the first ones that all agents can play. Each agent gets the
/// observation that it takes there.
fn choose_layouts(
    agents: &mut [Agent],
    named: &[String],
    kitchens: &Kitchens,
) -> anyhow::Result<Vec<String>> {
    for layout in named {
        kitchens.check(layout)?;
        for agent in &mut *agents {
            let encoding = find_encoding(agent, layout, kitchens)?;
            ensure!(
                layout == &named[0] || encoding == agent.encoding,
                "`{}` would take another observation in `{layout}` than in `{}`; choose one of the two kitchens",
                agent.name,
                named[0]
            );
            agent.encoding = encoding;
        }
    }
    if !named.is_empty() {
        let once: BTreeSet<&String> = named.iter().collect();
        ensure!(
            once.len() == named.len(),
            "a kitchen is named twice; name each once"
        );
        return Ok(named.to_vec());
    }
    let mut refusal = None;
    let mut found: Vec<String> = Vec::new();
    for layout in kitchens.usual() {
        let encodings = agents
            .iter()
            .map(|agent| find_encoding(agent, layout, kitchens));
        match encodings.collect::<anyhow::Result<Vec<_>>>() {
            Ok(encodings) => {
                let known = agents.iter().map(|agent| agent.encoding);
                if found.is_empty() {
                    let each = agents.iter_mut().zip(encodings);
                    each.for_each(|(agent, encoding)| agent.encoding = encoding);
                } else if known.ne(encodings) {
                    continue;
                }
                found.push(layout.to_owned());
            }
            Err(why) => drop(refusal.get_or_insert(why)),
        }
        if found.len() == USUAL_KITCHENS {
            break;
        }
    }
    match (found.is_empty(), refusal) {
        (true, Some(why)) => Err(why.context(
            "no kitchen is one that all agents can play; leave one of them out, or export it with one input per field \
             (docs/agents.md)",
        )),
        (true, None) => bail!("there is no kitchen"),
        (false, _) => Ok(found),
    }
}

/// Finds the observation that an agent takes in a kitchen, see [`Kitchens::find_encoding`].
fn find_encoding(
    agent: &Agent,
    layout: &str,
    kitchens: &Kitchens,
) -> anyhow::Result<Option<&'static str>> {
    let found = match &agent.file {
        Some(file) => kitchens.find_encoding(file, layout),
        None => kitchens.check_script(&agent.policy, layout).map(|()| None),
    };
    found.with_context(|| format!("`{}` cannot play `{layout}`", agent.name))
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dir, typed) = (self.dir.display(), super::study::quote_path(&self.dir));
        write!(
            f,
            "Wrote a study into {dir}: {} partners ({}) in {}. Begin with {dir}/study.yaml.\n\n  \
             coplay dev {typed}        try it, and change it while it runs\n  \
             coplay lint {typed}       check it\n  \
             coplay rehearse {typed}   let bots take part\n\n\
             With the data: {dir}/analysis.py compares the partners.",
            self.names.len(),
            self.names.join(", "),
            self.layouts.join(", ")
        )?;
        self.notes
            .iter()
            .try_for_each(|note| write!(f, "\n\n{note}"))
    }
}

#[cfg(test)]
mod tests;
