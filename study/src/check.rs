//! Checks that look at more than one field: stage beside stage, and the study beside what its host has.

use std::collections::BTreeMap;

use crate::load::{FILE, Study};
use crate::problem::{Problem, Report, hint};
use crate::read::Place;
use crate::stage::{Bot, Env, Kind, Lobby, Player, Stage};

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

/// Reports ids that are there twice.
pub(crate) fn ids(places: &[Place<'_>], read: &[(Option<String>, Option<Stage>)]) {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for (place, (id, _)) in places.iter().zip(read) {
        let Some(id) = id else { continue };
        let at = place.node.locate("id");
        if let Some(line) = seen.get(id.as_str()) {
            let message = format!(
                "`{id}` is already the id of the stage on line {line}; ids name stages in the data, so give each its own"
            );
            place.report.add(at, &format!("{}.id", place.path), message);
        } else {
            seen.insert(id, at.line);
        }
    }
}

/// Reports timelines in which someone would be stuck. A stage that has faults of its own is not judged.
pub(crate) fn order(places: &[Place<'_>], stages: &[Option<Stage>]) {
    let kind = |i: Option<usize>| {
        i.and_then(|i| stages.get(i))
            .map(|stage| stage.as_ref().map(|stage| &stage.kind))
    };
    for (i, place) in places.iter().enumerate() {
        let (before, here, after) = (kind(i.checked_sub(1)), kind(Some(i)), kind(Some(i + 1)));
        match here.flatten() {
            Some(Kind::End(_)) if after.is_some() => {
                place.wrong("an end stage before the last stage; what follows is never reached, so move it to the end of the timeline");
            }
            Some(Kind::Lobby(lobby)) => after_lobby(place, lobby, after),
            Some(Kind::Env(env)) => before_env(place, env, before),
            _ => {}
        }
        if after.is_none() && !matches!(here, Some(Some(Kind::End(_)) | None)) {
            place.wrong("the timeline ends here without an end stage; add one: `- {id: thanks, type: end, file: thanks.md}`");
        }
    }
}

fn after_lobby(place: &Place<'_>, lobby: &Lobby, after: Option<Option<&Kind>>) {
    let players = match after {
        Some(None) => return,
        Some(Some(Kind::Env(env))) => env.people(),
        _ => {
            place.wrong("a lobby makes a group, but no env stage follows it; put the env stage right after the lobby, or remove the lobby");
            return;
        }
    };
    if players != usize::from(lobby.group_size) {
        let message = format!(
            "groups of {}, but the env stage that follows has {players} {}; make the two equal",
            lobby.group_size,
            if players == 1 { "person" } else { "people" },
        );
        place.wrong_at("group_size", message);
    }
}

fn before_env(place: &Place<'_>, env: &Env, before: Option<Option<&Kind>>) {
    let players = env.people();
    if players > 1 && !matches!(before, Some(None | Some(Kind::Lobby(_)))) {
        let message = format!(
            "{players} people, but no lobby comes right before this stage, so nobody would ever have a partner; \
             add one: `- {{id: lobby, type: lobby, group_size: {players}, timeout_s: 60, on_timeout: wait}}`"
        );
        place.wrong_at("players", message);
    }
}

/// Gives every env stage that calls an AI partner for a person who is gone the one of the lobby before it, unless it
/// names its own; reports those that have neither.
pub(crate) fn bots(places: &[Place<'_>], stages: &mut [Option<Stage>]) {
    for (i, place) in places.iter().enumerate() {
        let (before, from_here) = stages.split_at_mut(i);
        let Some(Kind::Env(env)) = from_here[0].as_mut().map(|stage| &mut stage.kind) else {
            continue;
        };
        let terms = &mut env.on_disconnect;
        let lobby = match before.last() {
            Some(None) => continue,
            Some(Some(Stage {
                kind: Kind::Lobby(lobby),
                ..
            })) => lobby.bot.clone(),
            _ => None,
        };
        let Some(key) = terms
            .calls()
            .first()
            .copied()
            .filter(|_| terms.bot.is_none())
        else {
            continue;
        };
        terms.bot = lobby;
        if terms.bot.is_none() {
            let message = "calls an AI partner, but neither this block nor a lobby before the stage names one; \
                           write for example `bot: {policy: cook, disclose: true}` in this block";
            place.wrong_at(&format!("on_disconnect.{key}"), message);
        }
    }
}

impl Study {
    /// Checks the env stages against the environments that the host has: `open` gives the facts of one with
    /// the parameters of the stage, or why it cannot be opened. Gives the facts by stage index.
    ///
    /// # Errors
    /// Every [`Problem`], at the line of the field that is at fault.
    pub fn check_env(
        &self,
        mut open: impl FnMut(&Env) -> Result<EnvFacts, EnvFault>,
    ) -> Result<BTreeMap<u16, EnvFacts>, Vec<Problem>> {
        let report = Report::new(FILE);
        let mut all = BTreeMap::new();
        for (index, stage) in (0u16..).zip(&self.timeline) {
            let Kind::Env(env) = &stage.kind else {
                continue;
            };
            let path = format!("timeline[{index}]");
            match open(env) {
                Ok(facts) => {
                    self.check_facts(&path, env, &facts, &report);
                    all.insert(index, facts);
                }
                Err(fault) => self.env_fault(&path, env, &fault, &report),
            }
        }
        report.result(Some(all))
    }

    /// Checks that the policies of AI partners are among those that the host has, and can play their env stage, which
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
        for (path, bot, env, place) in self.called() {
            let policy = bot.policy.as_str();
            if !known.contains(&policy) {
                let message = format!("unknown policy `{policy}`; {}", hint(policy, known));
                self.fault(&path, message, &report);
                continue;
            }
            if let Some(able) = able(env).filter(|able| !able.contains(&policy)) {
                let message = format!(
                    "`{policy}` cannot play `{}`, the environment {place}; take one that can: {}",
                    env.env,
                    able.join(", ")
                );
                self.fault(&path, message, &report);
            }
        }
        report.result(Some(()))
    }

    /// Every AI partner that the study names: the path of its policy, the stage that it plays, and where that
    /// stage stands, in words.
    fn called(&self) -> impl Iterator<Item = (String, &Bot, &Env, &'static str)> {
        let pairs = self.timeline.iter().zip(self.timeline.iter().skip(1));
        (0..).zip(pairs).flat_map(|(index, (stage, next))| {
            let lobby = match (&stage.kind, &next.kind) {
                (Kind::Lobby(lobby), Kind::Env(env)) => lobby.bot.as_ref().map(|bot| {
                    let path = format!("timeline[{index}].bot.policy");
                    (path, bot, env, "that follows")
                }),
                _ => None,
            };
            let path = format!("timeline[{index}].on_disconnect.bot.policy");
            let own = match &stage.kind {
                Kind::Env(env) => env.on_disconnect.bot.as_ref().map(|bot| (bot, env)),
                _ => None,
            };
            // One that the stage has from its lobby stands there in the file.
            let own = own.filter(|_| self.source.has(&path));
            let players = match &stage.kind {
                Kind::Env(env) => env.players.as_slice(),
                _ => &[],
            };
            let seated =
                (0..)
                    .zip(players)
                    .filter_map(move |(seat, player)| match (player, &stage.kind) {
                        (Player::Bot(bot), Kind::Env(env)) => {
                            let path = format!("timeline[{index}].players[{seat}].policy");
                            Some((path, bot, env, "of this stage"))
                        }
                        _ => None,
                    });
            lobby
                .into_iter()
                .chain(own.map(|(bot, env)| (path, bot, env, "of this stage")))
                .chain(seated)
        })
    }

    fn fault(&self, path: &str, message: String, report: &Report) {
        report.add(self.source.locate(path), path, message);
    }

    fn env_fault(&self, path: &str, env: &Env, fault: &EnvFault, report: &Report) {
        match fault {
            EnvFault::Unknown { known } => {
                let ids: Vec<&str> = known.iter().map(String::as_str).collect();
                let named = format!("{}@{}", env.env, env.version);
                self.fault(
                    &format!("{path}.env"),
                    format!("unknown environment `{}`; {}", env.env, hint(&named, &ids)),
                    report,
                );
            }
            EnvFault::Version { found } => {
                let message = format!(
                    "version {} of `{}` is not here; write `{}@{found}`, after a look at what changed",
                    env.version, env.env, env.env
                );
                self.fault(&format!("{path}.env"), message, report);
            }
            EnvFault::Module { reason } => {
                self.fault(&format!("{path}.module"), reason.clone(), report);
            }
            EnvFault::Config { field, reason } => {
                let path = if field.is_empty() {
                    format!("{path}.config")
                } else {
                    format!("{path}.config.{field}")
                };
                self.fault(&path, reason.clone(), report);
            }
        }
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
