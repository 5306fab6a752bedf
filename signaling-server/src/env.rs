//! `coplay env`: what environments there are, what one says of itself, and whether it keeps the laws,
//! for those of this program and for modules in files alike.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use env_core::conformance::{self, Report};
use env_core::envs::{self, Native, Visitor};
use env_core::guest::{Facts, Sprite};
use env_core::rng::Rng;
use env_core::{Spec, World};
use module::{Code, Limits, ModuleError};
use serde::Serialize;
use serde_json::{Map, Value};

/// How often a long check says how far it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// Parameters that no environment can mean.
const NONSENSE: [&str; 4] = ["[]", "{", r#"{"no such parameter":1}"#, "\u{1}"];

/// Where an environment comes from.
enum Source {
    /// This program, by id.
    Native(String),
    /// A module in a file.
    Module(Code),
}

impl Source {
    /// Finds what a person named.
    fn find(name: &str) -> anyhow::Result<Self> {
        if envs::IDS.contains(&name) {
            return Ok(Self::Native(name.to_owned()));
        }
        let path = Path::new(name);
        if !path.is_file() {
            let ids = envs::IDS.join(", ");
            if path.extension().is_some() {
                bail!(
                    "there is no file {name}; build the module first, or name an environment: {ids}"
                );
            }
            let near = nearest(name).map(|id| format!("; did you mean `{id}`?"));
            bail!(
                "there is no environment `{name}`{} There is: {ids}, or any module by its file, such as my_env.wasm",
                near.as_deref().unwrap_or(".")
            );
        }
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let code = Code::compile(&bytes, Limits::default()).with_context(|| name.to_owned())?;
        Ok(Self::Module(code))
    }

    fn open(&self, params: &str) -> Result<Box<dyn World>, String> {
        match self {
            Self::Native(id) => match envs::open(id, params) {
                Ok(world) => Ok(world),
                Err(error) => Err(error.to_string()),
            },
            Self::Module(code) => match code.open(params) {
                Ok(world) => Ok(Box::new(world)),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    fn facts(&self, params: &str) -> anyhow::Result<Facts> {
        Ok(match self {
            Self::Native(id) => envs::visit(id, params, Ask)??,
            Self::Module(code) => code.open(params)?.facts().clone(),
        })
    }
}

/// Asks an environment of this program what a module would say of itself.
struct Ask;

impl Visitor for Ask {
    type Output = serde_json::Result<Facts>;

    fn visit<E: Native>(self, env: E) -> Self::Output {
        let sprite = |sprite: &env_core::draw::Sprite| Sprite {
            name: sprite.name.into(),
            svg: sprite.svg.into(),
        };
        Ok(Facts {
            spec: env.spec(),
            params_schema: serde_json::from_str(E::params_schema())?,
            sprites: E::sprites().iter().map(sprite).collect(),
        })
    }
}

/// The id that a mistyped one is meant to be: most letters in common, at least half.
fn nearest(name: &str) -> Option<&'static str> {
    let shared = |id: &str| {
        let mut rest: Vec<char> = id.chars().collect();
        let found = name.chars().filter(|letter| {
            let at = rest.iter().position(|other| other == letter);
            at.map(|at| rest.remove(at)).is_some()
        });
        2 * found.count() * 100 / (name.chars().count() + id.chars().count()).max(1)
    };
    let best = envs::IDS.iter().copied().max_by_key(|id| shared(id))?;
    (shared(best) >= 60).then_some(best)
}

/// The environments of this program.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// One for each id.
    pub environments: Vec<Line>,
}

/// An environment in a list.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// Version of its rules.
    pub version: String,
    /// What a person calls it.
    pub title: String,
    /// Number of seats with the default parameters.
    pub seats: u8,
    /// Number of actions.
    pub actions: usize,
    /// Values of an observation.
    pub observation: usize,
}

/// Lists the environments of this program.
///
/// # Errors
/// One refuses its own defaults.
pub fn list() -> anyhow::Result<Listed> {
    let line = |id: &&str| {
        let spec = envs::open(id, "")?.spec().clone();
        Ok(Line {
            observation: spec.observation_len(),
            id: spec.id,
            version: spec.version,
            title: spec.title,
            seats: spec.seats,
            actions: spec.actions.len(),
        })
    };
    let environments = envs::IDS.iter().map(line).collect::<anyhow::Result<_>>()?;
    Ok(Listed { environments })
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows =
            vec![["id", "version", "seats", "actions", "observed", "title"].map(String::from)];
        rows.extend(self.environments.iter().map(|line| {
            [
                line.id.clone(),
                line.version.clone(),
                line.seats.to_string(),
                line.actions.to_string(),
                line.observation.to_string(),
                line.title.clone(),
            ]
        }));
        table(f, &rows, "")?;
        write!(f, "\nMore of one: coplay env show {}", envs::IDS[0])
    }
}

/// What an environment says of itself.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// What its parameters fix.
    pub spec: Spec,
    /// JSON Schema of its parameters.
    pub params_schema: Value,
    /// Names of its pictures.
    pub sprites: Vec<String>,
}

/// Asks an environment what it says of itself, with these parameters (JSON; nothing for the defaults).
///
/// # Errors
/// There is no such environment or file, the file is no sound module, or the parameters are refused.
pub fn show(name: &str, params: &str) -> anyhow::Result<Shown> {
    let facts = Source::find(name)?
        .facts(params)
        .with_context(|| name.to_owned())?;
    Ok(Shown {
        spec: facts.spec,
        params_schema: facts.params_schema,
        sprites: facts
            .sprites
            .into_iter()
            .map(|sprite| sprite.name)
            .collect(),
    })
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        writeln!(f, "{} ({} {})", spec.title, spec.id, spec.version)?;
        let pace = match spec.tick_hz {
            0 => "turn by turn".to_owned(),
            hz => format!("{hz} steps a second"),
        };
        let (seats, horizon, sprites) = (spec.seats, spec.horizon, self.sprites.len());
        writeln!(
            f,
            "{seats} seats, {pace}, at most {horizon} steps, {sprites} pictures"
        )?;
        writeln!(f, "\nParameters")?;
        let mut rows = Vec::new();
        parameters(&self.params_schema, "", &mut rows);
        table(f, &rows, "  ")?;
        writeln!(f, "\nActions")?;
        let actions = spec.actions.iter().enumerate().map(|(at, action)| {
            let kind = match (at == usize::from(spec.noop), action.momentary) {
                (true, _) => "does nothing",
                (_, true) => "press",
                _ => "lasts",
            };
            let keys = action.keys.join(" ");
            [at.to_string(), action.name.clone(), kind.into(), keys]
        });
        table(f, &actions.collect::<Vec<_>>(), "  ")?;
        self.observation(f)?;
        if spec.events.is_empty() {
            return Ok(());
        }
        write!(f, "\nEvents\n  {}", spec.events.join(", "))
    }
}

impl Shown {
    fn observation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.spec.compact {
            true => ", whole numbers from -128 to 127",
            false => "",
        };
        writeln!(
            f,
            "\nObservation of a seat: {} values{form}",
            self.spec.observation_len()
        )?;
        let mut start = 0;
        let fields = self.spec.observation.iter().map(|field| {
            let from = start;
            start += field.shape.iter().product::<u32>();
            let shape: Vec<_> = field.shape.iter().map(u32::to_string).collect();
            [
                format!("{from}.."),
                field.name.clone(),
                format!("[{}]", shape.join(", ")),
            ]
        });
        table(f, &fields.collect::<Vec<_>>(), "  ")
    }
}

/// Rows of name, default, kind and description, from a JSON Schema; fields of objects by their path.
fn parameters(schema: &Value, path: &str, rows: &mut Vec<[String; 4]>) {
    let none = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&none);
    for (name, field) in fields {
        let path = format!("{path}{name}");
        if field["properties"].is_object() {
            parameters(field, &format!("{path}."), rows);
            continue;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = match field["enum"].as_array() {
            Some(values) => values.iter().map(plain).collect::<Vec<_>>().join(" | "),
            None => text(&field["type"]),
        };
        let default = field.get("default").map_or(String::new(), plain);
        rows.push([path, default, kind, text(&field["description"])]);
    }
    if path.is_empty() && rows.is_empty() {
        rows.push(["none".into(), String::new(), String::new(), String::new()]);
    }
}

/// A JSON value as a person writes it.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), String::from)
}

/// Writes rows with their columns under one another; the last is as long as it is.
fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    rows: &[[String; N]],
    indent: &str,
) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] =
        std::array::from_fn(|column| width(column).unwrap_or_default().min(40));
    for row in rows {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(
            f,
            "{indent}{}",
            cells.collect::<Vec<_>>().join("  ").trim_end()
        )?;
    }
    Ok(())
}

/// How an environment stands to the laws.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Its id.
    pub id: String,
    /// Version of its rules.
    pub version: String,
    /// Episodes that were played.
    pub episodes: u32,
    /// Steps of them.
    pub steps: u64,
    /// Every law that was looked at.
    pub laws: Vec<Law>,
}

/// A law, and whether it held.
#[derive(Debug, Serialize)]
pub struct Law {
    /// The law, as a sentence.
    pub law: &'static str,
    /// How often it was looked at.
    pub times: u64,
    /// How often it was broken.
    pub broken: u64,
    /// The first time that it was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Breach>,
}

/// The first time that a law was broken.
#[derive(Debug, Serialize)]
pub struct Breach {
    /// Seed of the episode.
    pub seed: u64,
    /// Steps that were taken before.
    pub step: u32,
    /// How it was broken.
    pub what: String,
}

/// Plays seeded random episodes of an environment with these parameters, and holds every law against it;
/// the seeds are `seed` and those that follow.
///
/// # Errors
/// There is no such environment or file, the file is no module, or the parameters are refused.
pub fn check(name: &str, params: &str, episodes: u32, seed: u64) -> anyhow::Result<Checked> {
    let source = Source::find(name)?;
    let facts = source.facts(params).with_context(|| name.to_owned())?;
    let seeds: Vec<u64> = (0..episodes).map(|k| seed.wrapping_add(k.into())).collect();
    let mut said = Instant::now();
    let mut progress = |report: &Report| {
        if said.elapsed() > PATIENCE {
            said = Instant::now();
            eprintln!("episode {} of {episodes}", report.episodes);
        }
    };
    let mut open = || source.open(params);
    let report = conformance::check_world(&mut open, facts.sprites.len(), &seeds, &mut progress);
    let mut laws = vec![nonsense(&source), pictures(&facts.sprites)];
    laws.push(twin(&source, &facts.spec, params, &seeds));
    laws.retain(|law| law.times > 0);
    laws.extend(rows(report.laws, report.findings));
    Ok(Checked {
        id: facts.spec.id,
        version: facts.spec.version,
        episodes: report.episodes,
        steps: report.steps,
        laws,
    })
}

fn rows(laws: Vec<conformance::Checked>, mut findings: Vec<conformance::Finding>) -> Vec<Law> {
    let row = |checked: conformance::Checked| {
        let at = findings
            .iter()
            .position(|finding| finding.law == checked.law);
        let first = at.map(|at| findings.swap_remove(at)).map(|finding| Breach {
            seed: finding.seed,
            step: finding.step,
            what: finding.what,
        });
        Law {
            law: checked.law,
            times: checked.times,
            broken: checked.broken,
            first,
        }
    };
    laws.into_iter().map(row).collect()
}

/// A law that was looked at apart from any episode.
fn apart(law: &'static str, breaches: Vec<Option<String>>) -> Law {
    let times = breaches.len() as u64;
    let mut broken = breaches.into_iter().flatten();
    let first = broken.next().map(|what| Breach {
        seed: 0,
        step: 0,
        what,
    });
    Law {
        law,
        times,
        broken: u64::from(first.is_some()) + broken.count() as u64,
        first,
    }
}

/// Parameters that make no sense may be refused or ignored, but break nothing.
fn nonsense(source: &Source) -> Law {
    let breach = |params: &&str| match source {
        Source::Native(_) => None,
        Source::Module(code) => match code.open(params) {
            Ok(_) | Err(ModuleError::Params(_)) => None,
            Err(error) => Some(format!("with {params:?}: {error}")),
        },
    };
    apart(
        "parameters that make no sense break nothing",
        NONSENSE.iter().map(breach).collect(),
    )
}

/// A module of an environment that this program has too plays like it, state for state.
fn twin(source: &Source, spec: &Spec, params: &str, seeds: &[u64]) -> Law {
    let law = "the module plays as this program's own environment does";
    let ours = matches!(source, Source::Module(_)) && envs::IDS.contains(&spec.id.as_str());
    let seeds = if ours { seeds } else { &[] };
    let breach = |seed: &u64| match (source.open(params), envs::open(&spec.id, params)) {
        (Ok(mut one), Ok(mut two)) if two.spec() == spec => part(&mut *one, &mut *two, *seed),
        (Ok(_), Ok(_)) => Some("the spec is another".to_owned()),
        (Err(error), _) => Some(error),
        (_, Err(error)) => Some(error.to_string()),
    };
    apart(law, seeds.iter().map(breach).collect())
}

/// Where two worlds part in random play.
fn part(one: &mut dyn World, two: &mut dyn World, seed: u64) -> Option<String> {
    let mut rng = Rng::new(seed);
    let (seats, actions) = (one.spec().seats, one.spec().actions.len() as u32);
    let (mut seen, mut shown) = (Vec::new(), Vec::new());
    one.reset(seed);
    two.reset(seed);
    for step in 0..one.spec().horizon.min(1_000) {
        for seat in 0..usize::from(seats) {
            one.observe(seat, &mut seen);
            two.observe(seat, &mut shown);
            if seen != shown || one.mask(seat) != two.mask(seat) {
                return Some(format!(
                    "seed {seed}, step {step}: seat {seat} observes something else"
                ));
            }
        }
        let row: Vec<_> = (0..seats).map(|_| rng.below(actions) as u16).collect();
        if one.step(&row) != two.step(&row) || one.digest() != two.digest() {
            return Some(format!("seed {seed}, step {step}: they part"));
        }
    }
    None
}

fn pictures(sprites: &[Sprite]) -> Law {
    let breach = |(at, sprite): (usize, &Sprite)| {
        let name = &sprite.name;
        if sprites[..at].iter().any(|other| other.name == *name) {
            return Some(format!("two are called {name:?}"));
        }
        let whole = sprite.svg.contains("<svg") && sprite.svg.contains("viewBox");
        (!whole).then(|| format!("{name:?} is no SVG document with a viewBox"))
    };
    apart(
        "pictures are SVG documents of different names",
        sprites.iter().enumerate().map(breach).collect(),
    )
}

impl Checked {
    /// Whether every law held.
    pub fn is_fine(&self) -> bool {
        self.laws.iter().all(|law| law.broken == 0)
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            version,
            episodes,
            steps,
            laws,
        } = self;
        writeln!(
            f,
            "{id} {version}: {episodes} random episodes, {steps} steps\n"
        )?;
        for Law {
            law,
            times,
            broken,
            first,
        } in laws
        {
            match first {
                None => writeln!(f, "  ok      {law} ({times})")?,
                Some(Breach { seed, step, what }) => writeln!(
                    f,
                    "  BROKEN  {law} ({broken} of {times})\n          first at seed {seed}, step {step}: {what}"
                )?,
            }
        }
        let broken = laws.iter().filter(|law| law.broken > 0).count();
        match broken {
            0 => write!(f, "\nAll {} laws hold.", laws.len()),
            _ => write!(f, "\n{broken} of {} laws are broken.", laws.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, params: &str) -> String {
        format!("{:#}", show(name, params).unwrap_err())
    }

    #[test]
    fn a_name_that_is_not_there_is_told_what_is() {
        let sentence = refused("overcoked", "");
        assert!(
            sentence.contains("did you mean `overcooked`?"),
            "{sentence}"
        );
        assert!(!refused("chess", "").contains("did you mean"));
        assert!(refused("my_env.wasm", "").contains("there is no file my_env.wasm"));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("text.wasm");
        std::fs::write(&file, "text").unwrap();
        let sentence = refused(&file.to_string_lossy(), "");
        assert!(
            sentence.contains("text.wasm: this is no WebAssembly module"),
            "{sentence}"
        );
    }

    #[test]
    fn parameters_that_are_refused_are_named() {
        let sentence = refused("overcooked", r#"{"horizon":-1}"#);
        assert!(sentence.contains("horizon: "), "{sentence}");
    }

    #[test]
    fn every_environment_is_listed_and_shown() {
        let listed = list().unwrap();
        assert_eq!(listed.environments.len(), envs::IDS.len());
        for line in &listed.environments {
            let shown = show(&line.id, "").unwrap();
            assert_eq!(shown.spec.observation_len(), line.observation);
            let text = shown.to_string();
            assert!(
                text.contains("horizon") && text.contains("Observation of a seat"),
                "{text}"
            );
        }
        assert!(listed.to_string().contains("overcooked"));
    }

    #[test]
    fn a_check_tells_each_law() {
        let checked = check("overcooked", r#"{"horizon":30}"#, 2, 7).unwrap();
        assert!(checked.is_fine() && checked.episodes == 2, "{checked}");
        let text = checked.to_string();
        assert!(
            text.contains("  ok      looking changes nothing ("),
            "{text}"
        );
        let broken = apart("a law", vec![None, Some("so".into()), Some("too".into())]);
        assert_eq!((broken.times, broken.broken), (3, 2));
        let checked = Checked {
            laws: vec![broken],
            ..checked
        };
        assert!(!checked.is_fine());
        assert!(checked.to_string().contains("BROKEN  a law (2 of 3)"));
    }
}
