//! Setup of an episode: its era, the header of its file, and the plan of each of its pages.

use std::collections::BTreeSet;

use protocol::control::{EndReason, Plan, ServerMessage};
use protocol::hash::sha256_hex;
use protocol::log::Header;
use protocol::rules::Course;
use protocol::{Controller, EnvWay, Era, Life, Seat};
use study::adherence::AdherenceMeasure;
use study::assign::Rng;
use study::stage::{
    AiPartner, DEMONSTRATION, HudFacts, Mode, PARTNER_AT, Player, SharedSeat, names,
};
use study::timeline::Bindings;
use study::{EnvFacts, Episode, Progress, StageKind, UnitAssignment};

use super::absence_rules::AbsenceRules;
use super::datagram_paths::PathTable;
use super::episode::{EpisodeState, Phase};
use super::flow::Transition;
use super::group::{GroupId, SeatAssignment};
use super::signals::SignalRates;
use super::{Arbiter, Effect, Place, SessionId, Write};

/// Purpose of a generator: the seat of a visit.
const SEAT: u64 = u64::from_le_bytes(*b"the seat");

/// Takes out of a plan what would let a page compute the world of a host: it gets the facts that it shows.
fn keep_from_page(plan: &mut Plan, facts: Option<&str>) {
    let facts = facts.map(|facts| sha256_hex(facts.as_bytes()));
    plan.module = facts.unwrap_or_default();
    (plan.params, plan.seed) = (String::new(), 0);
    plan.networks.clear();
    plan.rules.until = None;
    plan.ice.clear();
    (plan.measures_loss, plan.relay_only) = (false, false);
}

/// Adds the keys of shared seats to those of the study, if it has keys: these replace the keys of the environment.
fn mark_keys(keys: Vec<(String, u16)>, header: &Header, facts: &EnvFacts) -> Vec<(String, u16)> {
    let marks = header.shared.iter().flat_map(|shared| &shared.keys);
    let first = facts.actions.len() as u16;
    let marks = marks.cloned().zip(first..);
    let marks: Vec<_> = marks.filter(|_| !keys.is_empty()).collect();
    keys.into_iter().chain(marks).collect()
}

/// Returns the random generator for the seat of somebody who plays without other people: always the same one for a
/// visit.
fn seat_rng(ahead: &Progress) -> Rng {
    let own = ahead.assignment().own.seed;
    Rng::of(own, &[SEAT, ahead.visit().into()])
}

impl Arbiter {
    /// Bounds of the input delay of an env stage, ticks.
    pub(super) fn input_delays(&self, stage: u16) -> (u8, u8) {
        match self.stage_kind(stage) {
            StageKind::Env(env)
                if env.course.mode == Mode::Ticks && env.env_way() == EnvWay::Module =>
            {
                (env.input_delay.min, env.input_delay.max)
            }
            _ => (0, 0),
        }
    }

    /// The rules for people who are away from an env stage; `None` for another stage.
    pub(super) fn absence_rules(&self, stage: u16, facts: &EnvFacts) -> Option<AbsenceRules> {
        let StageKind::Env(env) = self.stage_kind(stage) else {
            return None;
        };
        Some(AbsenceRules::new(env, facts.horizon, &self.limits))
    }

    /// Makes an episode at the stage that these people are at, or will reach: `seated` has one entry for each seat of
    /// people. A person who plays alone has no group. Without an environment, all are past the stage.
    pub(super) fn set_up_episode(
        &mut self,
        now_us: u64,
        group: Option<GroupId>,
        seated: &[SeatAssignment],
    ) -> Vec<Transition> {
        let people = seated.iter().filter_map(|seated| match seated {
            SeatAssignment::Person(who) => Some(*who),
            SeatAssignment::Ai(_) => None,
        });
        let people: Vec<SessionId> = people.collect();
        let Some(&first) = people.first() else {
            return Vec::new();
        };
        let era = self.episodes.allocate_era();
        let write = Write::NextEra(self.episodes.next_era());
        self.effects.push_back(Effect::Store(write));
        let known = group.and_then(|group| self.groups.get(group));
        let draw = known.map(|group| group.draw.clone()).unwrap_or_default();
        let id = known.map(|group| group.id.clone());
        let id = id.unwrap_or_else(|| format!("G-{}", self.random_name(8)));
        let ahead = self.look_ahead(first, &draw);
        let (stage, bindings) = (ahead.index(), self.shared_bindings(&ahead, group));
        let Some((mut header, facts)) = self.header(&ahead, seated, id) else {
            tracing::error!(stage, "an env stage has no environment");
            let episode = Episode::unplayed_facts(EndReason::Technical);
            let people = people.into_iter();
            return people
                .map(|who| Transition::LeaveEpisode(who, episode.clone()))
                .collect();
        };
        let delay = self.input_delays(stage);
        let seats = header.controllers.len();
        let mut people = people.into_iter();
        let seated = |controller: &Controller| match controller {
            Controller::Human => people.next(),
            Controller::Ai { .. } | Controller::Vacant => None,
        };
        let members: Vec<_> = header.controllers.iter().map(seated).collect();
        header.participants = self.pseudonyms_of(&members);
        let mut names = names(&bindings);
        names.extend(self.partner_names(&ahead, group, &header.controllers));
        let is_demonstration = match self.stage_kind(stage) {
            StageKind::Env(env) => env.demonstration,
            _ => false,
        };
        names.extend(is_demonstration.then(|| (DEMONSTRATION.to_owned(), "true".to_owned())));
        let measures = self.study.adherence.iter();
        let measures = measures.filter(|measure| measure.stage == header.stage);
        names.extend(measures.map(AdherenceMeasure::to_log));
        header.course = Some(self.course(&ahead, &members, &draw, names));
        let until_us = now_us + self.limits.ready.as_micros() as u64;
        let phase = Phase::Linking {
            until_us,
            ready: vec![None; seats],
        };
        let model = self.open_model_play(stage, &header);
        let buttons = self.open_buttons(stage, &header);
        let episode = EpisodeState {
            stage,
            header,
            facts,
            group,
            draw,
            bindings,
            aided: BTreeSet::new(),
            members,
            delay,
            phase,
            paths: PathTable::default(),
            signals: SignalRates::default(),
            model: model.filter(|_| group.is_none()),
            buttons,
        };
        for (seat, who) in episode.people() {
            self.sessions[who].place = Place::Episode(era, true);
            let shown = self.stage_message(who, stage, None);
            self.tell_session(who, shown);
            if let Some(plan) = self.make_plan(now_us, era, &episode, seat) {
                self.tell_session(who, ServerMessage::Match(plan));
            }
        }
        self.episodes.add_episode(era, episode);
        Vec::new()
    }

    /// The header of a new episode's file, without its participants, and without its time and input delay, which are
    /// fixed once its pages are ready; and the facts of its environment.
    fn header(
        &mut self,
        ahead: &Progress,
        seated: &[SeatAssignment],
        group: String,
    ) -> Option<(Header, EnvFacts)> {
        let seed = ahead.seed(&self.study, self.seed);
        let seed = seed.unwrap_or_else(|| self.random_u64());
        let episode = format!("E-{}", self.random_name(10));
        let (stage, bindings) = (ahead.index(), ahead.bindings(&self.study));
        let StageKind::Env(env) = self.stage_kind(stage) else {
            return None;
        };
        let params = env.params(&bindings).to_string();
        let playing = self.stages.get(&(stage, params.clone()))?;
        let ai = |policy: &String| Controller::Ai {
            policy: policy.clone(),
        };
        let mut seated = seated.iter();
        let controller = |player: &&Player| match player {
            Player::Bot(_) | Player::Drawn(_) => Some(ai(&player.ai_partner(&bindings)?.policy)),
            Player::Vacant => Some(Controller::Vacant),
            Player::Own | Player::Partner => seated.next().map(|seated| match seated {
                SeatAssignment::Person(_) => Controller::Human,
                SeatAssignment::Ai(policy) => ai(policy),
            }),
        };
        if env.players.len() != usize::from(playing.facts.seats) {
            return None;
        }
        let study = &self.study;
        let header = Header {
            episode,
            study: study.id.clone(),
            study_version: study.version.clone(),
            study_hash: study.hash.clone(),
            stage: study.timeline[usize::from(stage)].id.clone(),
            group,
            participants: Vec::new(),
            keys: Vec::new(),
            module: playing.module.clone(),
            env: env.env.clone(),
            env_version: env.version.clone(),
            params,
            seed,
            controllers: (env.seat_players(&bindings, &mut seat_rng(ahead)).iter())
                .map(controller)
                .collect::<Option<_>>()?,
            tick_hz: playing.facts.tick_hz,
            input_delay: 0,
            t0_us: 0,
            rules: env.rules(&names(&bindings)),
            course: None,
            way: env.env_way(),
            shared: env.shared_seat.as_ref().map(SharedSeat::to_wire),
        };
        Some((header, playing.facts.clone()))
    }

    /// The position in the study of an episode of these people with this assignment.
    fn course(
        &self,
        ahead: &Progress,
        members: &[Option<SessionId>],
        draw: &UnitAssignment,
        names: Vec<(String, String)>,
    ) -> Course {
        let visit =
            |who: &Option<SessionId>| who.map_or(0, |who| self.look_ahead(who, draw).visit());
        let (episode, episodes) = ahead.episode(&self.study);
        Course {
            visits: members.iter().map(visit).collect(),
            episode,
            episodes,
            names,
        }
    }

    /// The AI partners of an episode for its file, which no page gets: under `partner@SEAT`, the origin of each as JSON.
    fn partner_names(
        &self,
        ahead: &Progress,
        group: Option<GroupId>,
        controllers: &[Controller],
    ) -> Vec<(String, String)> {
        let bindings = ahead.bindings(&self.study);
        let StageKind::Env(env) = self.stage_kind(ahead.index()) else {
            return Vec::new();
        };
        let players = env.seat_players(&bindings, &mut seat_rng(ahead));
        let called = self.lobby_partner(group).into_iter();
        let called: Vec<&AiPartner> = called.chain(&env.on_disconnect.bot).collect();
        let origin = |(seat, (controller, player)): (usize, (&Controller, &&Player))| {
            let Controller::Ai { policy } = controller else {
                return None;
            };
            let named = || called.iter().copied().find(|bot| bot.policy == *policy);
            let bot = player.ai_partner(&bindings).or_else(named)?;
            let origin = bot.origin.as_ref()?.to_json();
            Some((format!("{PARTNER_AT}{seat}"), origin))
        };
        let seats = controllers.iter().zip(&players).enumerate();
        seats.filter_map(origin).collect()
    }

    /// The values of names that hold for all people of an episode.
    fn shared_bindings(&self, ahead: &Progress, group: Option<GroupId>) -> Bindings {
        let mut bindings = ahead.bindings(&self.study);
        let group = group.and_then(|key| self.groups.get(key));
        if let Some(lobby) = group.and_then(|group| self.study.lobby(group.lobby)) {
            bindings.retain(|name, _| !lobby.matching.sharing.free.contains(name));
        }
        bindings
    }

    /// The plan of a group for a seat: by its file, and the rest by the current study.
    pub(super) fn make_plan(
        &self,
        now_us: u64,
        era: Era,
        episode: &EpisodeState,
        seat: Seat,
    ) -> Option<Plan> {
        let StageKind::Env(env) = self.stage_kind(episode.stage) else {
            return None;
        };
        let facts = &episode.facts;
        let seated = env.players.iter().flat_map(|player| match player {
            Player::Bot(bot) => vec![bot],
            Player::Drawn(drawn) => drawn.choices.values().collect(),
            Player::Own | Player::Partner | Player::Vacant => Vec::new(),
        });
        // An AI partner that a lobby can bring in place of a person belongs to every group, so that no page can
        // distinguish them.
        let lobby = episode.group.and_then(|key| self.groups.get(key));
        let lobby = lobby.and_then(|group| self.study.lobby(group.lobby));
        let awaited = lobby.and_then(|lobby| lobby.partner.as_ref());
        let awaited = awaited.into_iter().flat_map(|drawn| drawn.choices.values());
        let called = self.lobby_partner(episode.group).into_iter();
        let called = called.chain(awaited).chain(&env.on_disconnect.bot);
        let header = &episode.header;
        let controllers = header.controllers.iter().filter_map(|seated| match seated {
            Controller::Ai { policy } => Some(policy),
            Controller::Human | Controller::Vacant => None,
        });
        let secret = self.study.secret_partners();
        let shared = header.shared.iter().flat_map(|shared| &shared.policies);
        let controllers = controllers.chain(shared);
        let networks = controllers.chain(called.clone().chain(secret).map(|bot| &bot.policy));
        let networks = networks.filter_map(|policy| protocol::hash::model_sha256(policy));
        let networks: BTreeSet<&str> = networks.collect();
        let course = header.course.clone().unwrap_or_default();
        let progress = episode
            .session_at(seat)
            .map(|who| &self.sessions[who].progress);
        let told = HudFacts {
            episode: course.episode,
            episodes: course.episodes,
            successes: progress.map_or(0, Progress::successes),
            seat: seat.0,
        };
        let usual = self.study.language.as_str();
        let language = progress.map_or(usual, |progress| progress.language(&self.study));
        let mut plan = Plan {
            era,
            episode: header.episode.clone(),
            seat,
            controllers: header.controllers.clone(),
            env: header.env.clone(),
            env_version: header.env_version.clone(),
            module: header.module.clone(),
            networks: networks.into_iter().map(str::to_owned).collect(),
            params: header.params.clone(),
            seed: header.seed,
            tick_hz: header.tick_hz,
            window: env.window(facts),
            keys: mark_keys(env.key_map(facts), header, facts),
            touch: env.screen.touch,
            fullscreen: env.screen.fullscreen,
            disclose_ai: seated.chain(called).all(|bot| bot.disclose),
            ice: (self.ice)(now_us, &header.episode, seat),
            measures_loss: self.measures_loss(episode),
            relay_only: self.study.net.ice == study::disconnect::IcePolicy::Relay,
            life: Life(0),
            running: false,
            rules: header.rules.clone(),
            round: (course.episode, course.episodes),
            countdown_s: env.screen.countdown_s,
            hud: env.describe_hud(language, &course.names, told),
            chat: env.screen.chat.is_some(),
            turn: env.turn_limit(facts),
            way: header.way,
            shared: header.shared.clone(),
        };
        if plan.way == EnvWay::Host {
            keep_from_page(&mut plan, facts.page_facts.as_deref());
        }
        Some(plan)
    }

    /// The pseudonym of the participant of each seat; empty for nobody.
    pub(super) fn pseudonyms_of(&self, members: &[Option<SessionId>]) -> Vec<String> {
        let name = |who: &Option<SessionId>| {
            who.map_or(String::new(), |who| self.sessions[who].participant.clone())
        };
        members.iter().map(name).collect()
    }
}
