//! The laws that every environment keeps, as a check that anyone can run on theirs:
//! `conformance::check::<MyEnvironment>([Params::default()])`, or [`check_world`] for a module.
//!
//! It plays seeded random episodes; the same build gives the same verdict every time.

mod play;
pub mod sane;
mod subject;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::contract::{Environment, World};
use crate::envs::build_environment;
use crate::instance::Instance;
use crate::observer::BatchObserver;
use play::Play;
use subject::{CloserLook, Subject, look_closer};

/// Seeds of the episodes that [`check`] plays for each set of parameters.
pub const SEEDS: [u64; 4] = [0, 1, 0x5eed, u64::MAX];

/// Seeds whose beginning alone [`check`] looks at.
const GROUNDS: u64 = 256;

/// A law that an environment breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}: {detail}")]
pub struct Violation {
    /// The law, as a sentence.
    pub law: &'static str,
    /// The place and the kind of the violation.
    pub detail: String,
}

/// The verdict on a law.
pub type LawVerdict = Result<(), Violation>;

fn law(holds: bool, law: &'static str, detail: impl FnOnce() -> String) -> LawVerdict {
    if holds {
        Ok(())
    } else {
        Err(Violation {
            law,
            detail: detail(),
        })
    }
}

/// A law that was checked for a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedLaw {
    /// The law, as a sentence.
    pub law: &'static str,
    /// The number of checks.
    pub times: u64,
    /// The number of violations.
    pub broken: u64,
}

/// The first time that a law was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The law, as a sentence.
    pub law: &'static str,
    /// Seed of the episode.
    pub seed: u64,
    /// Steps that were taken before.
    pub step: u32,
    /// The kind of the violation.
    pub what: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConformanceReport {
    /// The laws, in the order of their first checks.
    pub laws: Vec<CheckedLaw>,
    /// The first breach of each law that was broken, in order.
    pub findings: Vec<Finding>,
    /// Episodes that were played.
    pub episodes: u32,
    /// Their steps; steps that were taken back are not counted.
    pub steps: u64,
}

impl ConformanceReport {
    /// Checks whether every law held.
    pub fn is_fine(&self) -> bool {
        self.findings.is_empty()
    }

    /// Notes that a law was looked at.
    fn note(&mut self, law: &'static str, at: (u64, u32), breach: Option<String>) {
        let known = self.laws.iter().position(|checked| checked.law == law);
        let at_row = known.unwrap_or_else(|| {
            self.laws.push(CheckedLaw {
                law,
                times: 0,
                broken: 0,
            });
            self.laws.len() - 1
        });
        let row = &mut self.laws[at_row];
        row.times += 1;
        let Some(what) = breach else { return };
        row.broken += 1;
        if row.broken == 1 {
            let (seed, step) = at;
            self.findings.push(Finding {
                law,
                seed,
                step,
                what,
            });
        }
    }
}

/// Checks any world, such as a module, by an episode of each seed; `open` returns a fresh instance, `sprites` is the
/// number of pictures that it ships, `progress` is called after each episode.
pub fn check_world(
    open: &mut dyn FnMut() -> Result<Box<dyn World>, String>,
    sprites: usize,
    seeds: &[u64],
    progress: &mut dyn FnMut(&ConformanceReport),
) -> ConformanceReport {
    play_all(open, sprites, seeds, |_, _, _, _| Ok(()), progress)
}

fn play_all<W: Subject + ?Sized>(
    open: &mut dyn FnMut() -> Result<Box<W>, String>,
    sprites: usize,
    seeds: &[u64],
    look: CloserLook<W>,
    progress: &mut dyn FnMut(&ConformanceReport),
) -> ConformanceReport {
    let mut report = ConformanceReport::default();
    let mut used: Option<Box<W>> = None;
    for &seed in seeds {
        let opened = match used.take() {
            Some(used) => Ok(used),
            None => open(),
        };
        let (mut first, mut second) = match opened.and_then(|first| Ok((first, open()?))) {
            Ok(pair) => pair,
            Err(error) => {
                report.note("a fresh instance opens", (seed, 0), Some(error));
                break;
            }
        };
        let spec = first.spec().clone();
        if let Err(violation) = sane::check_spec(&spec) {
            report.note("the spec is sound", (seed, 0), Some(violation.to_string()));
            break;
        }
        report.note("the spec is sound", (seed, 0), None);
        Play::new(&mut *first, &mut *second, &spec, sprites, look, &mut report).run(seed);
        report.episodes += 1;
        progress(&report);
        // An instance that broke down stays so: the next episode gets another.
        used = first.fault().is_none().then_some(first);
    }
    report
}

/// Checks an environment with each of these parameters.
///
/// # Errors
/// The first [`Violation`].
///
/// # Panics
/// Where the environment itself does, which is a violation too.
pub fn check<E: Environment>(variants: impl IntoIterator<Item = E::Params>) -> LawVerdict {
    check_looking::<E>(variants, |_, _, _, _| Ok(()))
}

/// Checks an environment as [`check`] does, and that a batch observes the same.
///
/// # Errors
/// The first [`Violation`].
///
/// # Panics
/// Where the environment itself does, which is a violation too.
pub fn check_batch<E: BatchObserver>(variants: impl IntoIterator<Item = E::Params>) -> LawVerdict {
    check_looking::<E>(variants, look_closer)
}

fn check_looking<E: Environment>(
    variants: impl IntoIterator<Item = E::Params>,
    look: CloserLook<Instance<E>>,
) -> LawVerdict {
    statics::<E>()?;
    E::new(E::Params::default()).map(drop).or_else(|error| {
        law(false, "the default parameters are accepted", || {
            error.to_string()
        })
    })?;
    for params in variants {
        let place = format!("with {params:?}");
        let text = serde_json::to_string(&params).map_err(|error| Violation {
            law: "parameters are written as JSON",
            detail: format!("{place}: {error}"),
        })?;
        let open = || {
            build_environment::<E>(text.as_bytes()).map_err(|error| Violation {
                law: "parameters survive JSON and are accepted",
                detail: format!("{place}: {error}"),
            })
        };
        let spec = open()?.spec();
        law(
            E::new(params.clone()).is_ok_and(|env| env.spec() == spec),
            "parameters survive JSON",
            || place.clone(),
        )?;
        law(
            spec.id == E::ID && spec.version == E::VERSION,
            "the spec says the id and the version of the environment",
            || format!("{} {}", spec.id, spec.version),
        )?;
        let env = open()?;
        for seed in (0..GROUNDS).chain(SEEDS) {
            let verdict = env.check_episode(seed);
            law(verdict.is_ok(), "every seed gives an episode", || {
                let error = verdict.as_ref().err().map(|error| error.to_string());
                format!("{place}, seed {seed}: {}", error.unwrap_or_default())
            })?;
        }
        let mut instance = || match open() {
            Ok(env) => Ok(Box::new(Instance::new(env))),
            Err(violation) => Err(violation.to_string()),
        };
        let sprites = E::sprites().len();
        let report = play_all(&mut instance, sprites, &SEEDS, look, &mut |_| ());
        if let Some(finding) = report.findings.into_iter().next() {
            let Finding {
                seed, step, what, ..
            } = &finding;
            return Err(Violation {
                law: finding.law,
                detail: format!("{place}, seed {seed}, step {step}: {what}"),
            });
        }
    }
    Ok(())
}

fn statics<E: Environment>() -> LawVerdict {
    let schema = serde_json::from_str::<serde_json::Value>(E::params_schema());
    law(
        schema.is_ok_and(|schema| schema.is_object()),
        "the schema of the parameters is a JSON object",
        String::new,
    )?;
    let mut names = BTreeSet::new();
    for sprite in E::sprites() {
        law(
            names.insert(sprite.name),
            "sprites have different names",
            || sprite.name.into(),
        )?;
        law(
            sprite.svg.contains("viewBox"),
            "a sprite has a viewBox",
            || sprite.name.into(),
        )?;
    }
    Ok(())
}
