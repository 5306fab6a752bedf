//! Checks that an environment keeps the laws: seeded random play, nonsense, pictures, and the twin in this program.

use std::fmt;
use std::time::{Duration, Instant};

use env_core::conformance::{self, ConformanceReport};
use env_core::envs;
use env_core::guest::Sprite;
use env_core::rng::Rng;
use env_core::{Spec, World};
use module::ModuleError;
use serde::Serialize;

use super::Source;

/// How often a long check reports its progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Parameters that no environment can mean.
const NONSENSE: [&str; 4] = ["[]", "{", r#"{"no such parameter":1}"#, "\u{1}"];

/// The result of the checks of an environment's laws.
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
    /// The number of checks.
    pub times: u64,
    /// The number of violations.
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
    /// The kind of the violation.
    pub what: String,
}

/// Plays seeded random episodes of an environment with these parameters, and checks every law;
/// the seeds are `seed` and those that follow.
///
/// # Errors
/// There is no such environment or file, the file is not a module, or the parameters are refused.
pub fn check(name: &str, params: &str, episodes: u32, seed: u64) -> anyhow::Result<Checked> {
    let source = Source::find(name)?;
    let facts = source.facts_of(name, params)?;
    let seeds: Vec<u64> = (0..episodes).map(|k| seed.wrapping_add(k.into())).collect();
    let mut said = Instant::now();
    let mut progress = |report: &ConformanceReport| {
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

fn rows(laws: Vec<conformance::CheckedLaw>, mut findings: Vec<conformance::Finding>) -> Vec<Law> {
    let row = |checked: conformance::CheckedLaw| {
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
        Source::Native(_) | Source::World(..) => None,
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

/// Finds the first difference of two worlds in random play.
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
    /// Returns whether every law held.
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

    #[test]
    fn studies_know_the_buttons_of_gamepads() {
        assert_eq!(study::GAMEPAD_BUTTONS, env_core::gamepad::BUTTONS);
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
