//! The contents of a data folder, and an arbiter that continues from them.

use std::collections::VecDeque;
use std::sync::Arc;

use protocol::change::Change;
use protocol::control::EndReason;
use protocol::log::Header;
use protocol::{Controller, Tick};
use study::disconnect::Then;
use study::{EnvFacts, Payment, Study};

use super::absence_rules::UNHURRIED_US;
use super::attendance::Unsaved;
use super::blind_waits::MeetingTimes;
use super::clients::Clients;
use super::datagram_paths::PathTable;
use super::episode::{EpisodeState, Phase, Play};
use super::episodes::Episodes;
use super::exchanges::Exchanges;
use super::groups::Groups;
use super::linking_times::LinkingTimes;
use super::lobbies::Lobbies;
use super::model_play::ModelPlay;
use super::model_spending::ModelSpending;
use super::seats::Seats;
use super::sessions::Sessions;
use super::signals::SignalRates;
use super::{
    Arbiter, Attendance, DeskMessageRow, EnvStages, EpisodeEnd, EpisodeRow, GroupRow, Identity,
    MessageRow, ModelCallCost, Place, Random, SessionId,
};
use crate::desk::RecruitmentState;
use crate::limits::{Limits, as_us};

/// The contents of a data folder.
#[derive(Debug, Default)]
pub struct Restored {
    /// Hashes of the participant links.
    pub links: Vec<String>,
    /// Sessions.
    pub sessions: Vec<RestoredSession>,
    /// Groups, in the order of their creation.
    pub groups: Vec<GroupRow>,
    /// The messages of groups, in the order of each.
    pub messages: Vec<MessageRow>,
    /// The messages between participants and researchers, in the order of each exchange.
    pub desk_messages: Vec<DeskMessageRow>,
    /// The requests to language models.
    pub model_calls: Vec<ModelCallCost>,
    /// Episodes that were running.
    pub episodes: Vec<RestoredEpisode>,
    /// The next era.
    pub next_era: u16,
    /// The state of recruitment.
    pub recruitment: RecruitmentState,
    /// The places that a researcher set; empty for those of the study.
    pub places: Vec<u32>,
    /// The seed of every random draw; `None` in a new folder.
    pub seed: Option<u64>,
    /// By how much the server's clock is ahead of the machine's, which was set back, microseconds.
    pub ahead_us: u64,
}

/// A session as it was stored.
#[derive(Debug)]
pub struct RestoredSession {
    /// Its number among all sessions of the study, including forgotten ones, from 0.
    pub number: usize,
    /// Pseudonym.
    pub participant: String,
    /// Hash of its token.
    pub token_hash: String,
    /// Hash of the participant link through which it came.
    pub link_hash: Option<String>,
    /// Its place in the study.
    pub progress: study::Progress,
    /// How long its participant has been there.
    pub attendance: Attendance,
    /// Its payment, once it has ended.
    pub payment: Option<Payment>,
    /// The recruiter's identifier for the participant.
    pub identity: Option<Identity>,
    /// True if its recorded data are erased.
    pub is_erased: bool,
}

/// An episode that was running when the server stopped.
#[derive(Debug)]
pub struct RestoredEpisode {
    /// Its row.
    pub row: EpisodeRow,
    /// The header of its file.
    pub header: Header,
    /// Facts of the environment that it is played in.
    pub facts: EnvFacts,
    /// Changes of seats so far.
    pub changes: Vec<Change>,
    /// Ticks that are durable.
    pub through: Tick,
    /// For each seat, the first tick that its page has not said its input for.
    pub own: Vec<Tick>,
    /// The end, if the file has it already.
    pub end: Option<EpisodeEnd>,
}

impl Arbiter {
    /// Opens the arbiter with the contents of the data folder. `open` lets people in without a link. `stages` has one
    /// entry for each env stage.
    pub fn new(
        now_us: u64,
        study: Arc<Study>,
        limits: Limits,
        stages: EnvStages,
        open: bool,
        random: Random,
        restored: Restored,
    ) -> Self {
        let known_us = restored.known_us(as_us(limits.clock_ahead));
        let sessions = Sessions::new(&study, &limits, restored.links, restored.ahead_us);
        let mut arbiter = Self {
            recruitment: restored.recruitment,
            design: study.design.clone(),
            study,
            limits,
            stages,
            random,
            open,
            stopping: false,
            now_us,
            known_us,
            ice: Box::new(|_, _, _| Vec::new()),
            relay_address: None,
            signature_key: None,
            sessions,
            clients: Clients::default(),
            unsaved: Unsaved::default(),
            seed: 0,
            groups: Groups::default(),
            lobbies: Lobbies::default(),
            episodes: Episodes::new(restored.next_era),
            linking_times: LinkingTimes::default(),
            meeting_times: MeetingTimes::default(),
            spending: ModelSpending::default(),
            has_desk: false,
            exchanges: Exchanges::default(),
            effects: VecDeque::new(),
            relays: VecDeque::new(),
            slow_world_us: 0,
        };
        arbiter.settle_seed(restored.seed);
        arbiter.want_places(&restored.places);
        for mut session in restored.sessions {
            session.progress.restored(&arbiter.study);
            arbiter.add_session(session);
        }
        for group in restored.groups {
            arbiter.restore_group(group);
        }
        for call in &restored.model_calls {
            let (partner, participant) = (&call.partner, &call.participant);
            (arbiter.spending).correct_spending(partner, participant, 0, call.cost_micro);
        }
        for episode in restored.episodes {
            let id = &episode.header.episode;
            let calls = restored.model_calls.iter();
            let calls: Vec<_> = calls.filter(|call| call.episode == *id).collect();
            let messages = restored.messages.iter();
            let messages = messages.filter(|row| row.episode.as_ref() == Some(id));
            let model = arbiter.restore_model(&episode, &calls, messages.cloned());
            arbiter.restore_episode(now_us, episode, (model, next_number(&calls)));
        }
        arbiter.groups.restore_messages(restored.messages);
        arbiter.restore_exchanges(restored.desk_messages);
        arbiter.end_expired(now_us);
        arbiter.settle_all(now_us);
        arbiter
    }

    /// Restores the language model of an episode that was running, with its messages and its requests so far.
    fn restore_model(
        &self,
        episode: &RestoredEpisode,
        calls: &[&ModelCallCost],
        messages: impl Iterator<Item = MessageRow>,
    ) -> Option<Box<ModelPlay>> {
        let mut model = self.open_model_play(episode.row.stage, &episode.header)?;
        let requests = calls.iter().filter(|call| !call.is_press);
        model.next = next_number(calls);
        model.asked = requests.clone().count() as u32;
        let last = requests.max_by_key(|call| call.number);
        messages.for_each(|row| model.restore_message(row));
        model.resume(last.map(|call| call.asked_us));
        Some(model)
    }

    fn restore_episode(
        &mut self,
        now_us: u64,
        episode: RestoredEpisode,
        (model, next_call): (Option<Box<ModelPlay>>, u32),
    ) {
        let (row, end) = (episode.row, episode.end);
        let (era, stage) = (row.era, row.stage);
        let Some(rules) = self.absence_rules(stage, &episode.facts) else {
            tracing::error!(
                stage,
                "an episode was running at a stage without an environment"
            );
            return;
        };
        let course = episode.header.course.as_ref();
        let number = course.map(|course| course.episode);
        let members: Vec<_> = (0..)
            .zip(&row.participants)
            .map(|(seat, name)| {
                self.restore_member(&row, name, row.visits.get(seat).copied(), number)
            })
            .collect();
        let (through, header) = (episode.through, episode.header);
        let patience_us = self.limits.restart.as_micros() as u64;
        let until_us = now_us
            + if rules.turns && rules.is_alone {
                UNHURRIED_US
            } else {
                patience_us
            };
        let changes = episode.changes.iter();
        let by_ai = changes.filter(|change| matches!(change.controller, Controller::Ai { .. }));
        let aided = by_ai.map(|change| change.seat).collect();
        let mut seats = Seats::restored(rules.clone(), &header, episode.changes, until_us, through);
        for (state, who) in seats.list.iter_mut().zip(&members) {
            state.left = state.person && who.is_none();
            // Nobody comes back to a seat that an AI partner has from somebody who left.
            if state.left && state.controller == rules.partner_controller() {
                state.verdict = Some(Then::Bot);
            }
        }
        let mut play = Play::new(header.t0_us, header.input_delay, seats);
        play.through = through;
        for (state, own) in play.seats.list.iter_mut().zip(episode.own) {
            state.own = own;
            // Earlier claims of others do not count.
            state.heard_us = now_us;
        }
        play.moved_us = now_us.max(header.t0_us);
        (play.open, play.recovered) = (true, true);
        let phase = match &end {
            Some(end) => Phase::Ending {
                reason: end.ending.reason,
                open: true,
                lost: play.lost_seats(),
                away: Vec::new(),
            },
            None => Phase::Playing(Box::new(play)),
        };
        let mut buttons = self.open_buttons(stage, &header);
        buttons.next = next_call;
        let mut episode = EpisodeState {
            stage,
            header,
            facts: episode.facts,
            group: self.groups.find_by_id(&row.group),
            draw: row.draw,
            bindings: row.bindings,
            aided,
            members,
            delay: self.input_delays(stage),
            phase,
            paths: PathTable::default(),
            signals: SignalRates::default(),
            model,
            buttons,
        };
        episode.begin_hosting(0);
        let t0_us = episode.header.t0_us;
        self.episodes.add_episode(era, episode);
        if end.is_some() {
            self.handle_ended(now_us, era, end);
        } else if t0_us.saturating_sub(now_us) > as_us(self.limits.clock_ahead) {
            // Its clock was far ahead, and for this one its ticks are not due for years.
            self.end_episode(era, EndReason::Technical);
        }
    }

    /// Puts the session that had a seat when the server stopped back into its episode; `None` if they have left on
    /// purpose, or are past the episode. `visit` is their visit and `episode` its number in it, if they are known.
    fn restore_member(
        &mut self,
        row: &EpisodeRow,
        name: &str,
        visit: Option<u16>,
        episode: Option<u16>,
    ) -> Option<SessionId> {
        let who = self.sessions.find_by_pseudonym(name)?;
        // Others had their place stored before the stop, and may be further on, also at the same stage again.
        let progress = &self.sessions[who].progress;
        let is_visit = visit.is_none_or(|visit| progress.visit() == visit);
        let played = progress.episode(&self.study).0;
        let is_next = episode.is_none_or(|episode| played == episode);
        let stays = self.stage_of(who) == row.stage && is_visit && is_next;
        stays.then(|| self.sessions[who].place = Place::Episode(row.era, true));
        stays.then_some(who)
    }
}

/// The number of the request, or of the press, that comes after these.
fn next_number(calls: &[&ModelCallCost]) -> u32 {
    let last = calls.iter().map(|call| call.number).max();
    last.map_or(0, |number| number + 1)
}
