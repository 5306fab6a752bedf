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
pub fn write(dir: &Path, order: &HumanAiOrder<'_>) -> anyhow::Result<Written> {
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
        .replace("@PRACTICE_PARTNER@", kitchens.practice_partner())
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
        let (dir, typed) = (self.dir.display(), super::study::quote(&self.dir));
        write!(
            f,
            "Wrote a study into {dir}: {} partners ({}) in {}. Begin with {dir}/study.yaml.\n\n  \
             coplay dev {typed}        try it, and change it while it runs\n  \
             coplay lint {typed}       check it\n  \
             coplay rehearse {typed}   let bots take part",
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
mod tests {
    use super::*;

    fn order<'a>(agents: &'a [String], rules: Option<&'a str>) -> HumanAiOrder<'a> {
        HumanAiOrder {
            agents,
            rules,
            ..HumanAiOrder::default()
        }
    }

    fn clone_cook() -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = root.join("../examples/overcooked-coord/cook_clone.onnx");
        file.display().to_string()
    }

    #[test]
    fn what_it_writes_is_clean_for_models_and_scripts_and_any_kitchens() {
        let home = tempfile::tempdir().unwrap();
        let many = [clone_cook(), clone_cook(), "cook".to_owned()];
        let layouts = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        for (name, agents, kitchens) in [
            ("usual", &many[..], layouts(&[])),
            ("two", &many[1..], layouts(&["forced_coordination"])),
            ("more", &many[..], layouts(&kitchens::KITCHENS[..3])),
        ] {
            let dir = home.path().join(name);
            let order = HumanAiOrder {
                agents,
                layouts: &kitchens,
                ..HumanAiOrder::default()
            };
            let written = write(&dir, &order).unwrap();
            let linted = catalog::lint::lint(&dir);
            assert!(
                linted.is_fine() && linted.warnings.is_empty(),
                "{name}: {linted}"
            );
            let outline = linted.outline.unwrap();
            assert_eq!(outline.id, name);
            assert!(written.to_string().contains("coplay rehearse"));
        }
        let dir = home.path().join("usual");
        let text = fs::read_to_string(dir.join("study.yaml")).unwrap();
        for words in [
            "  cook_clone: {policy: \"cook_clone.onnx\", disclose: false}\n",
            "  cook_clone_2: {policy: \"cook_clone_2.onnx\", disclose: false}\n",
            "    layout: {levels: [cramped_room, asymmetric_advantages], order: latin}\n",
            "    for_each: layout\n",
        ] {
            assert!(text.contains(words), "{text}");
        }
        for file in ["study.yaml", "consent.md", "how.md"] {
            let text = fs::read_to_string(dir.join(file)).unwrap();
            for part in [
                "PARTNERS", "NAMES", "LAYOUT", "QUOTA", "BASE", "MINUTES", "ROUNDS",
            ] {
                assert!(!text.contains(&format!("@{part}")), "{file}: {part}");
            }
        }
    }

    #[test]
    fn agents_of_several_projects_get_the_observations_that_they_take() {
        let home = tempfile::tempdir().unwrap();
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/models");
        let model = |name: &str| models.join(name).display().to_string();
        for (rules, agents, words) in [
            (
                "overcooked-ai-1.1.0",
                [model("lossless.onnx"), model("jaxmarl.onnx")],
                [
                    "  jaxmarl: {policy: \"jaxmarl.onnx\", disclose: false, observation: jaxmarl}\n",
                    "layout: \"{{ layout }}\", observation: [jaxmarl, lossless], horizon: 600",
                ],
            ),
            (
                "jaxmarl-0.2.0",
                [model("jaxmarl.onnx"), "cook".to_owned()],
                [
                    "  jaxmarl: {policy: \"jaxmarl.onnx\", disclose: false}\n",
                    "config: {rules: jaxmarl-0.2.0, layout: cramped_room, horizon: 300, tick_hz: 10}",
                ],
            ),
        ] {
            let dir = home.path().join(rules);
            write(&dir, &order(&agents, Some(rules))).unwrap();
            let linted = catalog::lint::lint(&dir);
            assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
            let text = fs::read_to_string(dir.join("study.yaml")).unwrap();
            for words in words {
                assert!(text.contains(words), "{words} in {text}");
            }
        }
        let why = |rules| {
            let agents = [model("jaxmarl.onnx"), model("lossless.onnx")];
            let error = write(&home.path().join("none"), &order(&agents, rules)).unwrap_err();
            format!("{error:#}")
        };
        assert!(
            why(None).contains("`--rules overcooked-ai-1.1.0`"),
            "{}",
            why(None)
        );
        assert!(
            why(Some("moon")).contains("`--rules moon`"),
            "{}",
            why(Some("moon"))
        );
    }

    #[test]
    fn a_choice_that_a_model_leaves_open_is_told_and_a_wrong_certificate_refused() {
        let home = tempfile::tempdir().unwrap();
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/models");
        let model = home.path().join("ring.onnx");
        fs::copy(models.join("ring.onnx"), &model).unwrap();
        let agents = [model.display().to_string(), "cook".to_owned()];
        let layouts = ["coord_ring".to_owned()];
        let ordered = HumanAiOrder {
            layouts: &layouts,
            ..order(&agents, Some("jaxmarl-0.2.0"))
        };
        let told = write(&home.path().join("ring"), &ordered)
            .unwrap()
            .to_string();
        assert!(
            told.contains(
                "`ring.onnx` gets the observation `jaxmarl`. In `coord_ring`, `lossless` has the same shape."
            ),
            "{told}"
        );
        fs::write(with_certificate(&model), "{}").unwrap();
        let refused = write(&home.path().join("other"), &ordered).unwrap_err();
        let refused = format!("{refused:#}");
        assert!(
            refused.contains("ring.onnx.certificate.json is no certificate"),
            "{refused}"
        );
        assert!(!home.path().join("other").exists());
    }

    #[test]
    fn agents_of_overcooked_v2_get_its_kitchens_its_soups_and_the_view_that_they_had() {
        let home = tempfile::tempdir().unwrap();
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/models");
        let model = |name: &str| models.join(name).display().to_string();
        let whole = [model("jaxmarl_v2.onnx"), "random".to_owned()];
        let near = [model("jaxmarl_v2_near.onnx"), "random".to_owned()];
        let coord = ["grounded_coord_simple".to_owned()];
        let written = |name: &str, order: HumanAiOrder<'_>| {
            let dir = home.path().join(name);
            let order = HumanAiOrder {
                rules: Some("jaxmarl-v2"),
                ..order
            };
            write(&dir, &order).map(|_| {
                let linted = catalog::lint::lint(&dir);
                assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
                let read = |file| fs::read_to_string(dir.join(file)).unwrap();
                read("study.yaml") + &read("how.md")
            })
        };
        let plain = written("whole", order(&whole, None)).unwrap();
        for part in [
            "FOG",
            "TAKE",
            "PAID",
            "DISH",
            "PARAMS",
            "PRACTICE",
            "INGREDIENTS",
        ] {
            assert!(!plain.contains(&format!("@{part}")), "{part}");
        }
        let ordered = HumanAiOrder {
            params: Some(r#"{"view_radius": 2}"#),
            ..order(&near, None)
        };
        let shown = written("near", ordered).unwrap();
        for (text, words) in [
            (&plain, "    env: overcooked_jaxmarl_v2@1.0.0\n"),
            (&plain, "    for_each: {layout: [cramped_room]}\n"),
            (
                &plain,
                "    players: [self, {policy: random, disclose: false}]\n",
            ),
            (
                &plain,
                "1. Take an onion and put it into the pot. Three onions",
            ),
            (
                &shown,
                "{levels: [more_fun_coordination, fun_symmetries], order: latin}",
            ),
            (
                &shown,
                "config: {view_radius: 2, layout: \"{{ layout }}\", horizon: 600",
            ),
            (
                &shown,
                "1. Look at the display: it shows the soup that is wanted.",
            ),
            (
                &shown,
                "You see 2 cells in each direction, and no others.\n",
            ),
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
        let ordered = HumanAiOrder {
            params: Some(r#"{"view_radius": 2, "start_cooking_interaction": true}"#),
            layouts: &["cramped_room".to_owned()],
            ..order(&near, None)
        };
        let why = format!("{:#}", written("other", ordered).unwrap_err());
        assert!(why.contains("`jaxmarl_v2_near` cannot play"), "{why}");
        let ordered = HumanAiOrder {
            layouts: &coord,
            ..order(&near, None)
        };
        let why = format!("{:#}", written("blind", ordered).unwrap_err());
        assert!(why.contains(r#"`--params '{"view_radius": 2}'`"#), "{why}");
        let long = ["long_room".to_owned()];
        for (layouts, params, reason) in [
            (&long[..], None, "in `long_room`, the number of cooks is 1"),
            (&[], Some("[2]"), "write a JSON object"),
            (
                &[],
                Some(r#"{"horizon": 9}"#),
                "the study sets `horizon` itself",
            ),
            (&[], Some(r#"{"moon": 9}"#), "`moon`"),
        ] {
            let ordered = HumanAiOrder {
                layouts,
                params,
                ..order(&whole, None)
            };
            let why = format!("{:#}", written("none", ordered).unwrap_err());
            assert!(why.contains(reason), "{why}");
        }
    }

    #[test]
    fn what_cannot_be_a_study_is_refused_before_anything_is_written() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("new");
        let refused = |agents: &[&str], layouts: &[&str]| {
            let own = |words: &[&str]| -> Vec<String> {
                words.iter().map(|word| (*word).to_owned()).collect()
            };
            let order = HumanAiOrder {
                agents: &own(agents),
                layouts: &own(layouts),
                ..HumanAiOrder::default()
            };
            let error = write(&dir, &order).unwrap_err();
            assert!(!dir.exists());
            format!("{error:#}")
        };
        assert!(refused(&["cook"], &[]).contains("`--agents cook cook`"));
        assert!(refused(&["cook", "chef.onnx"], &[]).contains("`chef.onnx` is no file of a model"));
        assert!(refused(&["cook", "idle"], &["moon"]).contains("`moon` is no kitchen"));
        let twice = ["cramped_room", "cramped_room"];
        assert!(refused(&["cook", "idle"], &twice).contains("named twice"));
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../onnx/tests/golden/mlp.onnx");
        let model = model.display().to_string();
        let text = refused(&["cook", &model], &[]);
        assert!(
            text.contains("no kitchen is one that all agents can play"),
            "{text}"
        );
        let all = ["idle"; 9];
        assert!(refused(&all, &kitchens::KITCHENS).contains("45 rounds"));
    }
}
