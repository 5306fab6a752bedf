//! Checks of the study beside what its host has: environments and AI partners.

mod fault;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::design::Level;
use crate::load::{FILE, Study};
use crate::problem::{Problem, Report, hint};
use crate::stage::{Bot, Env, Kind, Lobby, Mode, Model, Network, Player, Stage};
use crate::timeline::names::Scope;
use crate::timeline::{Bindings, fill};
use crate::yaml;

/// What an environment with the study's parameters is, as far as a study depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvFacts {
    /// Number of seats.
    pub seats: u8,
    /// Ticks per second.
    pub tick_hz: u16,
    /// The most ticks of an episode.
    pub horizon: u32,
    /// Names of the actions, by index.
    pub actions: Vec<String>,
}

/// Why an environment cannot be opened as the study says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvFault {
    /// There is none of this id; these are there.
    Unknown {
        /// Ids with versions, as a study would name them.
        known: Vec<String>,
    },
    /// It is there in another version.
    Version {
        /// The version that is there.
        found: String,
    },
    /// The module of the study folder is not fit.
    Module {
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// It refuses a parameter.
    Config {
        /// The parameter, below `config`; empty for all of them.
        field: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
}

/// The facts of what an env stage can play, by its index and its parameters as JSON ([`Env::params`]).
pub type Playable = BTreeMap<(u16, String), EnvFacts>;

/// What of a study its host has to judge, as far as it could be read: a study with faults of other kinds is judged too,
/// so that all faults are told in one run.
pub struct Hosted<'a> {
    pub(crate) timeline: Vec<Option<&'a Stage>>,
    pub(crate) paths: &'a [String],
    pub(crate) scopes: &'a BTreeMap<u16, Scope>,
    pub(crate) lobbies: &'a BTreeMap<u16, BTreeSet<u16>>,
    pub(crate) source: &'a yaml::Node,
}

/// A model that has become a network.
pub struct Lowered {
    /// Who plays with it.
    bot: Bot,
    /// The name under which it plays.
    name: String,
    network: Network,
}

impl Study {
    /// Calls AI partners whose models have become networks by their names from now on, and keeps the networks.
    pub fn call(&mut self, lowered: Vec<Lowered>) {
        for bot in self.timeline.iter_mut().flat_map(|stage| stage.kind.bots()) {
            if let Some(made) = lowered.iter().find(|made| made.bot == *bot) {
                bot.policy.clone_from(&made.name);
            }
        }
        let networks = lowered.into_iter().map(|made| made.network);
        self.networks = networks.collect();
    }

    /// What its host has to judge.
    pub fn hosted(&self) -> Hosted<'_> {
        Hosted {
            timeline: self.timeline.iter().map(Some).collect(),
            paths: &self.paths,
            scopes: &self.scopes,
            lobbies: &self.lobbies,
            source: &self.source,
        }
    }

    /// [`Hosted::check_env`] of the whole study.
    ///
    /// # Errors
    /// Every [`Problem`], at the line of the field that is at fault.
    pub fn check_env(
        &self,
        open: impl FnMut(&Env) -> Result<EnvFacts, EnvFault>,
    ) -> Result<Playable, Vec<Problem>> {
        self.hosted().check_env(open)
    }

    /// [`Hosted::check_policies`] of the whole study.
    ///
    /// # Errors
    /// Every [`Problem`], at its line.
    pub fn check_policies<'a>(
        &self,
        known: &[&'a str],
        able: impl FnMut(&Env) -> Option<Vec<&'a str>>,
    ) -> Result<(), Vec<Problem>> {
        self.hosted().check_policies(known, able)
    }
}

impl Hosted<'_> {
    /// Checks the env stages against the environments that the host has: `open` gives the facts of one with
    /// the parameters of the stage, or why it cannot be opened. Every combination of levels is opened.
    ///
    /// # Errors
    /// Every [`Problem`], at the line of the field that is at fault.
    pub fn check_env(
        &self,
        mut open: impl FnMut(&Env) -> Result<EnvFacts, EnvFault>,
    ) -> Result<Playable, Vec<Problem>> {
        let report = Report::new(FILE);
        let mut all = BTreeMap::new();
        for index in 0..self.timeline.len() as u16 {
            let path = &self.paths[usize::from(index)];
            let variants = self.variants(index);
            let count = variants.len();
            let mut faults = Vec::new();
            for (env, bound) in variants {
                match open(&env) {
                    Ok(facts) => {
                        self.check_facts(path, &env, &facts, &report);
                        all.insert((index, env.config.to_string()), facts);
                    }
                    Err(fault) => faults.push((env, bound, fault)),
                }
            }
            // What is wrong whatever the names stand for is told once, without them.
            let is_common =
                faults.len() == count && faults.windows(2).all(|pair| pair[0].2 == pair[1].2);
            for (env, bound, fault) in &faults {
                let bound = if is_common { &Bindings::new() } else { bound };
                self.env_fault(index, env, fault, bound, &report);
            }
        }
        report.result(Some(all))
    }

    fn stage(&self, index: u16) -> Option<&Stage> {
        *self.timeline.get(usize::from(index))?
    }

    fn env(&self, index: u16) -> Option<&Env> {
        match &self.stage(index)?.kind {
            Kind::Env(env) => Some(env),
            _ => None,
        }
    }

    fn lobby(&self, index: u16) -> Option<&Lobby> {
        match &self.stage(index)?.kind {
            Kind::Lobby(lobby) => Some(lobby),
            _ => None,
        }
    }

    /// An env stage with the parameters of each combination of levels that can occur there.
    fn variants(&self, index: u16) -> Vec<(Env, Bindings)> {
        let Some(env) = self.env(index) else {
            return Vec::new();
        };
        let references = fill::references(&env.config, "");
        let names = references
            .into_iter()
            .filter_map(|(_, found)| found.ok())
            .flatten();
        let names: BTreeSet<String> = names.map(|(name, _)| name).collect();
        let scope = self.scopes.get(&index);
        let with = |bindings: &Bindings, name: &str, level: &Level| {
            let mut longer = bindings.clone();
            longer.insert(name.to_owned(), level.clone());
            longer
        };
        let combinations = names.iter().fold(vec![Bindings::new()], |all, name| {
            let levels = scope
                .and_then(|scope| scope.get(name))
                .map_or(&[][..], Vec::as_slice);
            let more = |bindings: &Bindings| {
                levels
                    .iter()
                    .map(|level| with(bindings, name, level))
                    .collect::<Vec<_>>()
            };
            all.iter().flat_map(more).collect()
        });
        let filled = |bound: Bindings| {
            let config = env.params(&bound);
            (
                Env {
                    config,
                    ..env.clone()
                },
                bound,
            )
        };
        combinations.into_iter().map(filled).collect()
    }

    /// Checks that the scripts of AI partners are among those that the host has, and can play their env stage, which
    /// for those of a lobby is the one that follows: `able` gives those that can, or none if its environment cannot be opened, which
    /// [`Study::check_env`] reports.
    ///
    /// # Errors
    /// Every [`Problem`], at its line.
    pub fn check_policies<'a>(
        &self,
        known: &[&'a str],
        mut able: impl FnMut(&Env) -> Option<Vec<&'a str>>,
    ) -> Result<(), Vec<Problem>> {
        let report = Report::new(FILE);
        for (path, bot, stage, place) in self.called() {
            let policy = bot.policy.as_str();
            if bot.model.is_some() {
                continue;
            }
            if !known.contains(&policy) {
                let message = format!("unknown policy `{policy}`; {}", hint(policy, known));
                self.fault(&path, message, &report);
                continue;
            }
            for (env, _) in self.variants(stage) {
                if let Some(able) = able(&env).filter(|able| !able.contains(&policy)) {
                    let message = format!(
                        "`{policy}` cannot play `{}`, the environment {place}; take one that can: {}",
                        env.env,
                        able.join(", ")
                    );
                    self.fault(&path, message, &report);
                }
            }
        }
        report.result(Some(()))
    }

    /// Has the host make networks of the models of AI partners, each for the env stage that it plays: `lower` gives the
    /// name under which one plays and its bytes, nothing if the environment cannot be opened, or why it cannot play.
    ///
    /// # Errors
    /// Every [`Problem`], at its line.
    pub fn lower_models(
        &self,
        mut lower: impl FnMut(&str, &Model, &Env) -> Result<Option<(String, Network)>, String>,
    ) -> Result<Vec<Lowered>, Vec<Problem>> {
        let report = Report::new(FILE);
        let mut made = Vec::new();
        for (path, bot, stage, place) in self.called() {
            let Some(model) = &bot.model else { continue };
            for (env, _) in self.variants(stage) {
                match lower(&bot.policy, model, &env) {
                    Ok(found) => made.extend(found.map(|(name, network)| Lowered {
                        bot: bot.clone(),
                        name,
                        network,
                    })),
                    Err(why) => {
                        let message = format!(
                            "`{}` cannot play `{}`, the environment {place}: {why}",
                            bot.policy, env.env
                        );
                        self.fault(&path, message, &report);
                        break;
                    }
                }
            }
        }
        report.result(Some(made))
    }

    /// Every AI partner that the study names: the path of its policy, the index of the stage that it plays, and where
    /// that stage stands, in words.
    fn called(&self) -> Vec<(String, &Bot, u16, &'static str)> {
        let mut called = Vec::new();
        for index in 0..self.timeline.len() as u16 {
            let Some(env) = self.env(index) else {
                continue;
            };
            for at in self.lobbies.get(&index).into_iter().flatten() {
                let path = format!("{}.bot.policy", self.paths[usize::from(*at)]);
                let bot = self.lobby(*at).and_then(|lobby| lobby.bot.as_ref());
                called.extend(bot.map(|bot| (path, bot, index, "that follows")));
            }
            let path = &self.paths[usize::from(index)];
            let own = format!("{path}.on_disconnect.bot.policy");
            // One that the stage has from its lobby stands there in the file.
            let bot = env
                .on_disconnect
                .bot
                .as_ref()
                .filter(|_| self.source.has(&own));
            called.extend(bot.map(|bot| (own, bot, index, "of this stage")));
            for (seat, player) in env.players.iter().enumerate() {
                if let Player::Bot(bot) = player {
                    let path = format!("{path}.players[{seat}].policy");
                    called.push((path, bot, index, "of this stage"));
                }
            }
        }
        called
    }

    fn fault(&self, path: &str, message: String, report: &Report) {
        report.add(self.source.locate(path), path, message);
    }

    fn check_facts(&self, path: &str, env: &Env, facts: &EnvFacts, report: &Report) {
        let (players, seats) = (env.players.len(), usize::from(facts.seats));
        if players != seats {
            let message = format!(
                "{players} {} here, but `{}@{}` with this config has {seats} {}; write one player a seat: `[{}]`{}",
                plural(players, "player"),
                env.env,
                env.version,
                plural(seats, "seat"),
                ["self"]
                    .into_iter()
                    .chain(std::iter::repeat("partner"))
                    .take(seats)
                    .collect::<Vec<_>>()
                    .join(", "),
                if seats > 1 {
                    format!(", in a group of {seats}")
                } else {
                    String::new()
                },
            );
            self.fault(&format!("{path}.players"), message, report);
        }
        if facts.tick_hz == 0 && env.course.mode == Mode::Ticks {
            let message = format!(
                "`{}@{}` with this config has no tick rate, as it is played in turns; write `mode: turns`",
                env.env, env.version
            );
            self.fault(&format!("{path}.mode"), message, report);
        }
        let actions: Vec<&str> = facts.actions.iter().map(String::as_str).collect();
        for action in env
            .keys
            .keys()
            .filter(|action| !actions.contains(&action.as_str()))
        {
            let message = format!(
                "the environment has no action `{action}`; {}",
                hint(action, &actions)
            );
            self.fault(&format!("{path}.keys.{action}"), message, report);
        }
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

impl Env {
    /// The longest prediction, ticks: the study's own, else that of 267 ms, but at least 8 ticks and at most 16.
    pub fn window(&self, facts: &EnvFacts) -> u8 {
        let usual = (u32::from(facts.tick_hz) * 16).div_ceil(60).clamp(8, 16);
        self.window.unwrap_or(usual as u8)
    }

    /// Its parameters where names stand for these values.
    pub fn params(&self, bindings: &Bindings) -> Value {
        fill::filled(&self.config, bindings)
    }

    /// The study's keys as key code and action index, for the page; empty if the study maps none.
    /// Actions that the facts do not name are left out: [`Study::check_env`] has reported them.
    pub fn key_map(&self, facts: &EnvFacts) -> Vec<(String, u16)> {
        let index = |action: &String| {
            (0u16..)
                .zip(&facts.actions)
                .find(|(_, name)| *name == action)
                .map(|(i, _)| i)
        };
        self.keys
            .iter()
            .filter_map(|(action, codes)| Some((index(action)?, codes)))
            .flat_map(|(index, codes)| codes.iter().map(move |code| (code.clone(), index)))
            .collect()
    }
}
