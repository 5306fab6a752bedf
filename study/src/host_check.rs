//! Checks of a study beside the facts of its host: environments and AI partners.

mod clips;
mod directive_buttons;
mod env_fault;

use std::collections::{BTreeMap, BTreeSet};

use crate::adherence::AdherenceMeasure;
use crate::design::Level;
use crate::host::{EnvFacts, EnvFactsByStage, HostFacts, PartnerModel, TrainedPartner};
use crate::plural::count;
use crate::problem::{ProblemReport, make_hint};
use crate::stage::ai_partner::AiPartner;
use crate::stage::course::Mode;
use crate::stage::env::Env;
use crate::stage::lobby::Lobby;
use crate::stage::players::Player;
use crate::stage::{SharedSeat, Stage, StageKind};
use crate::timeline::fill;
use crate::timeline::names::Scope;
use crate::timeline::tree::Bindings;
use crate::yaml;

/// An AI partner that the study names.
type CalledPartner<'a> = (String, &'a AiPartner, PlayedAt, &'static str);

/// The place where an AI partner plays.
#[derive(Clone, Copy)]
struct PlayedAt {
    /// The index of the stage.
    stage: u16,
    /// The number of the clip, in a watch stage.
    clip: Option<usize>,
}

impl PlayedAt {
    fn stage(stage: u16) -> Self {
        Self { stage, clip: None }
    }
}

/// The parts of a study that depend on its host, as far as they could be read: a study with faults of other kinds is
/// checked too, so that one run reports all faults.
pub(crate) struct HostCheck<'a> {
    pub stages: &'a [Option<Stage>],
    /// The path of each stage in the file.
    pub paths: &'a [String],
    pub scopes: &'a BTreeMap<u16, Scope>,
    pub lobbies: &'a BTreeMap<u16, BTreeSet<u16>>,
    pub adherence: &'a [AdherenceMeasure],
    pub source: &'a yaml::Node,
    pub report: &'a ProblemReport,
}

impl HostCheck<'_> {
    /// Checks the env stages against the environments of the host; every combination of levels is opened. Returns the
    /// facts of those that can be opened.
    pub(crate) fn check_envs(&self, host: &impl HostFacts) -> EnvFactsByStage {
        let mut all = BTreeMap::new();
        for index in 0..self.stages.len() as u16 {
            let path = &self.paths[usize::from(index)];
            let variants = self.variants(index);
            let count = variants.len();
            let mut faults = Vec::new();
            for (env, bound) in variants {
                match host.env_facts(&env) {
                    Ok(facts) => {
                        self.check_facts(path, &env, &facts);
                        all.insert((index, env.config.to_string()), facts);
                    }
                    Err(fault) => faults.push((env, bound, fault)),
                }
            }
            // A fault that all combinations have is reported once, without them.
            let is_common =
                faults.len() == count && faults.windows(2).all(|pair| pair[0].2 == pair[1].2);
            for (env, bound, fault) in &faults {
                let bound = if is_common { &Bindings::new() } else { bound };
                self.report_env_fault((index, path), env, fault, bound);
            }
        }
        self.check_own_clips(&all);
        self.check_partner_clips(host);
        all
    }

    fn stage(&self, index: u16) -> Option<&Stage> {
        self.stages.get(usize::from(index))?.as_ref()
    }

    fn env(&self, index: u16) -> Option<&Env> {
        match &self.stage(index)?.kind {
            StageKind::Env(env) => Some(env),
            _ => None,
        }
    }

    fn lobby(&self, index: u16) -> Option<&Lobby> {
        match &self.stage(index)?.kind {
            StageKind::Lobby(lobby) => Some(lobby),
            _ => None,
        }
    }

    /// An env stage with the parameters of each combination of levels that can occur there.
    fn variants(&self, index: u16) -> Vec<(Env, Bindings)> {
        let Some(env) = self.env(index) else {
            return Vec::new();
        };
        let references = fill::list_references(&env.config, "");
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

    /// Checks that the scripts of AI partners are among those of the host, and can play their env stage; for scripts of
    /// a lobby, this is the next env stage.
    pub(crate) fn check_policies(&self, host: &impl HostFacts) {
        let known = host.policies();
        let mut faulty = BTreeSet::new();
        for (path, partner, at, place) in self.partners() {
            let policy = partner.policy.as_str();
            let is_told = partner.origin.is_some() && faulty.contains(&path);
            if is_told {
                continue;
            }
            let is_known = partner.model.is_some() || known.contains(&policy);
            let mut variants = self.variants_at(at).into_iter().filter(|_| is_known);
            if variants.any(|(env, _)| !self.check_buttons(host, partner, &env)) {
                faulty.insert(path.clone());
            }
            if partner.model.is_some() {
                continue;
            }
            if !known.contains(&policy) {
                let message = format!("unknown policy `{policy}`; {}", make_hint(policy, &known));
                self.fault(&path, message);
                faulty.insert(path);
                continue;
            }
            for (env, _) in self.variants_at(at) {
                let able = host.policies_for(&env);
                if let Some(able) = able.filter(|able| !able.contains(&policy)) {
                    let message = format!(
                        "`{policy}` cannot play `{}`, the environment {place}; take one that can: {}",
                        env.env,
                        able.join(", ")
                    );
                    self.fault(&path, message);
                    faulty.insert(path.clone());
                }
            }
        }
    }

    /// Compiles the models of AI partners, each for the env stage that it plays.
    pub(crate) fn compile_models(&self, host: &impl HostFacts) -> Vec<PartnerModel> {
        let mut made = Vec::new();
        let mut faulty = BTreeSet::new();
        for (path, partner, at, place) in self.partners() {
            let Some(model) = &partner.model else {
                continue;
            };
            if partner.origin.is_some() && faulty.contains(&path) {
                continue;
            }
            for (env, _) in self.variants_at(at) {
                match host.compile_model(&partner.policy, model, &env) {
                    Ok(found) => made.extend(found.map(|(name, model)| PartnerModel {
                        partner: partner.clone(),
                        name,
                        model,
                    })),
                    Err(why) => {
                        let message = format!(
                            "`{}` cannot play `{}`, the environment {place}: {why}",
                            partner.policy, env.env
                        );
                        self.fault(&path, message);
                        faulty.insert(path);
                        break;
                    }
                }
            }
        }
        made
    }

    /// Every AI partner that the study names: the path of its policy, where it plays, and the same in words.
    fn partners(&self) -> Vec<CalledPartner<'_>> {
        let mut called: Vec<CalledPartner<'_>> = self.clip_partners();
        for index in 0..self.stages.len() as u16 {
            let Some(env) = self.env(index) else {
                continue;
            };
            let here = PlayedAt::stage(index);
            for at in self.lobbies.get(&index).into_iter().flatten() {
                let path = format!("{}.bot.policy", self.paths[usize::from(*at)]);
                let Some(lobby) = self.lobby(*at) else {
                    continue;
                };
                let drawn = lobby.partner.iter();
                let drawn = drawn.flat_map(|drawn| drawn.choices.values());
                let bots = lobby.bot.iter().chain(drawn);
                called.extend(bots.map(|bot| (path.clone(), bot, here, "that follows")));
            }
            let path = &self.paths[usize::from(index)];
            let own = format!("{path}.on_disconnect.bot.policy");
            // One that the stage has from its lobby stands there in the file.
            let is_own = self.source.has(&format!("{path}.on_disconnect.bot"));
            let bot = env.on_disconnect.bot.as_ref().filter(|_| is_own);
            called.extend(bot.map(|bot| (own, bot, here, "of this stage")));
            let shared = env.shared_seat.iter();
            let shared = shared.flat_map(SharedSeat::located_partners);
            called.extend(shared.map(|(key, bot)| {
                (
                    format!("{path}.shared_seat.{key}.policy"),
                    bot,
                    here,
                    "of this stage",
                )
            }));
            for (seat, player) in env.players.iter().enumerate() {
                let path = format!("{path}.players[{seat}].policy");
                let bots = match player {
                    Player::Bot(bot) => vec![bot],
                    Player::Drawn(drawn) => drawn.choices.values().collect(),
                    Player::Own | Player::Partner | Player::Vacant => Vec::new(),
                };
                let bots = bots.into_iter();
                called.extend(bots.map(|bot| (path.clone(), bot, here, "of this stage")));
            }
        }
        for (number, measure) in self.adherence.iter().enumerate() {
            let path = format!("adherence[{number}].policy");
            let is_meant = |index: &u16| {
                let stage = self.stage(*index);
                stage.is_some_and(|stage| stage.id == measure.stage) && self.env(*index).is_some()
            };
            let stage = (0..self.stages.len() as u16).find(is_meant);
            called.extend(stage.map(|stage| {
                let at = PlayedAt::stage(stage);
                (path, &measure.policy, at, "that is measured")
            }));
        }
        for (path, partner, _, place) in &mut called {
            // One that `partners` names has its policy there, and may play at several stages.
            if let Some(origin) = &partner.origin {
                *path = format!("partners.{}.policy", origin.name);
                *place = "that it plays in";
            }
        }
        called
    }

    /// The partners whose rules of training the study gives, at each stage that they play.
    pub(crate) fn list_trained_partners(&self) -> BTreeSet<TrainedPartner> {
        let partners = self.partners().into_iter();
        let trained = partners.filter_map(|(_, partner, at, _)| {
            let origin = partner.origin.as_ref()?;
            Some(TrainedPartner {
                name: origin.name.clone(),
                rules: origin.training_rules.clone()?,
                stage: at.stage,
            })
        });
        trained.collect()
    }

    fn fault(&self, path: &str, message: String) {
        self.report.add(self.source.locate(path), path, message);
    }

    fn check_facts(&self, path: &str, env: &Env, facts: &EnvFacts) {
        let (players, seats) = (env.players.len(), usize::from(facts.seats));
        if players != seats {
            let message = format!(
                "{} here, but `{}@{}` with this config has {}; write one player a seat: `[{}]`{}",
                count(players, "player"),
                env.env,
                env.version,
                count(seats, "seat"),
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
            self.fault(&format!("{path}.players"), message);
        }
        if facts.tick_hz == 0 && env.course.mode == Mode::Ticks {
            let message = format!(
                "`{}@{}` with this config has no tick rate, as it is played in turns; write `mode: turns`",
                env.env, env.version
            );
            self.fault(&format!("{path}.mode"), message);
        }
        let actions: Vec<&str> = facts.actions.iter().map(String::as_str).collect();
        let keys = env.keys.keys();
        let named = keys.map(|action| (format!("{path}.keys.{action}"), action));
        let default = env.course.turn_default.iter();
        let named = named.chain(default.map(|action| (format!("{path}.turn_default"), action)));
        for (path, action) in named.filter(|(_, action)| !actions.contains(&action.as_str())) {
            let message = format!(
                "the environment has no action `{action}`; {}",
                make_hint(action, &actions)
            );
            self.fault(&path, message);
        }
    }
}
