//! Waiting for a group: the rules for groups in each room, and messages to people who wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::control::{Ask, AtTimeout, LobbyChoice, Refusal, ServerMessage, Waiting};
use protocol::{Era, Seat};
use study::stage::{Lobby as Stage, Matching, OnTimeout};
use study::{Company, Outcome, Progress, Study};

use super::episode::EpisodeState;
use super::group::GroupId;
use super::groups::Groups;
use super::lobbies::Room;
use super::sessions::Sessions;
use super::{Arbiter, Effect, Place, SessionId, WaitEnd, WaitRow, WaitedFor, Write};
use crate::lobby::{self, JoinRefused, LobbyEvent, LobbyRules, MatchRules, WaitState};

/// The time after which people whose pages were too far apart may be measured again, microseconds. A bad moment of a
/// network is over by then, and nobody is called out of the waiting room without success every few seconds.
const AGAIN_US: u64 = 30_000_000;

/// The part of the waiting time by which an AI partner that is not disclosed may come earlier.
const UNDISCLOSED_SPREAD: u64 = 3;

/// A lobby's rules for the people that it puts together.
struct Together<'a> {
    study: &'a Study,
    sessions: &'a Sessions,
    groups: &'a Groups,
    matching: &'a Matching,
}

impl MatchRules<SessionId> for Together<'_> {
    fn may_meet(&self, one: SessionId, other: SessionId) -> bool {
        !self.matching.not_met_before || !self.groups.have_met(one, other)
    }

    fn is_wanted(&self, people: &[SessionId]) -> bool {
        let progress = |who: &SessionId| &self.sessions[*who].progress;
        let members: Vec<&Progress> = people.iter().map(progress).collect();
        self.matching.is_wanted(self.study, &members)
    }
}

impl Arbiter {
    /// The facts that all people have in common who may become a group with somebody.
    fn company_at(&self, stage: u16, who: SessionId) -> Option<Company> {
        let mut company = self.sessions[who].progress.describe_company(&self.study);
        let lobby = self.study.lobby(stage)?;
        if lobby.matching.reunite.is_some() {
            // People who were a group come together again; a person who was in no group is alone.
            let group = self.earlier_group(stage, who);
            let group = group.and_then(|key| self.groups.get(key));
            let own = &self.sessions[who].participant;
            let name = group.map_or(own, |group| &group.id);
            company.way = format!("{} {name}", company.way);
        }
        if self.simulated_wait_us(who).is_some() {
            // Nobody else comes into the room of somebody who waits for an AI partner.
            let session = &self.sessions[who];
            let (own, visit) = (&session.participant, session.progress.visit());
            company.way = format!("{} {own} {visit}", company.way);
        }
        Some(company)
    }

    /// Returns the room of a lobby stage for people who may become a group; it is made when the first of them comes.
    pub(super) fn make_room(&mut self, stage: u16, who: SessionId) -> Option<Room> {
        let company = self.company_at(stage, who)?;
        let simulated_us = self.simulated_wait_us(who);
        let lobby = self.study.lobby(stage)?;
        let us = |seconds: u32| u64::from(seconds) * 1_000_000;
        let (capacity, seed) = (self.limits.lobby, self.seed);
        let rules = |room: Room| LobbyRules {
            group_size: u16::from(lobby.group_size),
            order: lobby.matching.order,
            timeout_us: simulated_us.unwrap_or(us(lobby.timeout_s)),
            spread_us: match lobby.bot.as_ref().is_some_and(|bot| !bot.disclose) {
                true if simulated_us.is_none() => us(lobby.timeout_s) / UNDISCLOSED_SPREAD,
                _ => 0,
            },
            on_timeout: match simulated_us {
                Some(_) => OnTimeout::Bot,
                None => lobby.on_timeout,
            },
            prompt_us: us(lobby.presence.prompt_after_s),
            grace_us: us(lobby.presence.grace_s),
            again_us: AGAIN_US,
            capacity,
            seed: seed ^ room.0 as u64,
        };
        Some(self.lobbies.open_room(stage, company, rules))
    }

    /// The lobby of a room, and its index.
    fn stage_of_room(&self, room: Room) -> Option<(u16, &Stage)> {
        let stage = self.lobbies.stage_of(room)?;
        Some((stage, self.study.lobby(stage)?))
    }

    /// The group that a lobby is to bring together again, of somebody.
    fn earlier_group(&self, stage: u16, who: SessionId) -> Option<GroupId> {
        let id = self.study.lobby(stage)?.matching.reunite.as_ref()?;
        let is_it = |lobby: u16| self.study.timeline[usize::from(lobby)].id == *id;
        self.groups.find_earlier(who, is_it)
    }

    /// Lets the rooms be settled in which groups come together again: somebody has moved, and may be a missing member.
    pub(super) fn touch_reunions(&mut self) {
        let is_reunion = |stage: u16| {
            let lobby = self.study.lobby(stage);
            lobby.is_some_and(|lobby| lobby.matching.reunite.is_some())
        };
        self.lobbies.touch_stages(is_reunion);
    }

    pub(super) fn join_lobby(&mut self, now_us: u64, who: SessionId, stage: u16) {
        let Some(room) = self.make_room(stage, who) else {
            return;
        };
        let open_factors = self.find_open_factors(stage, who);
        let Some(lobby) = self.lobbies.get_mut(room) else {
            return;
        };
        let session = &mut self.sessions[who];
        session.open_factors = open_factors;
        // Who is back soon has the old place.
        let grace_us = lobby.rules().grace_us;
        let away_us = session.away_us.take();
        if away_us.is_some_and(|away_us| away_us + grace_us < now_us) {
            session.since_us = None;
        }
        let since_us = *session.since_us.get_or_insert(now_us);
        match lobby.handle_join(now_us, who, since_us) {
            Ok(()) | Err(JoinRefused::Waiting) => {
                session.place = Place::Lobby(room);
                self.lobbies.touch_room(room);
                self.begin_wait(now_us, who, stage);
            }
            Err(JoinRefused::Full) => {
                if let Some(conn) = self.sessions.turn_page_away(who) {
                    self.sessions[who].since_us = None;
                    self.refuse_page(conn, Refusal::Full);
                }
            }
        }
    }

    pub(super) fn leave_lobby(&mut self, room: Room, who: SessionId) {
        self.sessions[who].place = Place::Page;
        self.lobbies.leave_room(room, who);
    }

    /// Writes down that somebody waits.
    fn begin_wait(&mut self, now_us: u64, who: SessionId, stage: u16) {
        // Time away from the lobby is not waiting.
        self.note_sign(now_us, who);
        let session = &mut self.sessions[who];
        if session.wait.is_some() {
            return;
        }
        let row = WaitRow {
            participant: session.participant.clone(),
            stage,
            visit: session.progress.visit(),
            since_us: now_us,
            rtt_us: None,
            loss_permille: None,
            end: None,
        };
        session.wait = Some(row.clone());
        self.effects.push_back(Effect::Store(Write::Wait(row)));
    }

    /// Writes down how a wait ended, if there is one.
    pub(super) fn end_wait(
        &mut self,
        now_us: u64,
        who: SessionId,
        why: WaitedFor,
        group: Option<String>,
    ) {
        if self.sessions[who].wait.is_some() && why != WaitedFor::GaveUp {
            self.note_waited(now_us, who);
        }
        let Some(mut row) = self.sessions[who].wait.take() else {
            return;
        };
        if why == WaitedFor::Matched {
            let waited_us = now_us.saturating_sub(row.since_us);
            self.lobbies.record_wait(row.stage, waited_us);
        }
        let at_us = now_us;
        row.end = Some(WaitEnd { at_us, why, group });
        self.effects.push_back(Effect::Store(Write::Wait(row)));
    }

    /// Stores that the people of a group do not wait any more.
    pub(super) fn end_waits(&mut self, now_us: u64, key: GroupId) {
        let Some(group) = self.groups.get(key) else {
            return;
        };
        let id = group.id.clone();
        let why = match group.places.iter().all(Option::is_some) {
            true => WaitedFor::Matched,
            false => WaitedFor::Ai,
        };
        let people: Vec<SessionId> = group.members().map(|(_, member)| member.who).collect();
        for who in people {
            self.sessions[who].since_us = None;
            self.end_wait(now_us, who, why, Some(id.clone()));
        }
    }

    /// Handles that a person gives a sign of life, or comes back to the lobby.
    pub(super) fn handle_here(&mut self, now_us: u64, who: SessionId) {
        self.note_sign(now_us, who);
        match self.sessions[who].place {
            Place::Lobby(room) => {
                let lobby = self.lobbies.get_mut(room);
                if lobby.is_some_and(|lobby| lobby.handle_presence(now_us, who)) {
                    self.lobbies.touch_room(room);
                }
            }
            Place::Aside => {
                self.sessions[who].place = Place::Page;
                self.show_stage(now_us, who);
            }
            Place::Page | Place::Group(_) | Place::Chat(_) | Place::Episode(..) => {}
        }
    }

    /// Handles the choice of a person whose time is up.
    pub(super) fn handle_choice(&mut self, now_us: u64, who: SessionId, choice: LobbyChoice) {
        let Place::Lobby(room) = self.sessions[who].place else {
            return;
        };
        self.note_sign(now_us, who);
        let choice = match choice {
            LobbyChoice::Wait => lobby::TimeoutChoice::Wait,
            LobbyChoice::Ai => lobby::TimeoutChoice::Bot,
            LobbyChoice::Leave => lobby::TimeoutChoice::Leave,
        };
        if let Some(lobby) = self.lobbies.get_mut(room) {
            lobby.handle_choice(now_us, who, choice);
            self.lobbies.touch_room(room);
        }
    }

    /// Settles every lobby, and informs those who wait.
    pub(super) fn settle_lobbies(&mut self, now_us: u64) {
        self.lobbies.touch_due(now_us);
        let mut told = BTreeSet::new();
        while let Some(room) = self.lobbies.poll_changed() {
            told.insert(room);
            self.settle_room(now_us, room);
        }
        for room in told {
            self.tell_crowd(now_us, room);
        }
    }

    fn settle_room(&mut self, now_us: u64, room: Room) {
        let study = Arc::clone(&self.study);
        let stage = self.lobbies.stage_of(room);
        let Some((stage, rules)) = stage.and_then(|stage| Some((stage, study.lobby(stage)?)))
        else {
            return;
        };
        let is_over = rules.matching.reunite.is_some() && self.is_complete(stage, room);
        let Some(lobby) = self.lobbies.get_mut(room) else {
            return;
        };
        if is_over {
            lobby.expire_waits(now_us);
        }
        let together = Together {
            study: &study,
            sessions: &self.sessions,
            groups: &self.groups,
            matching: &rules.matching,
        };
        lobby.handle_timeout(now_us, &together);
        let events: Vec<LobbyEvent<SessionId>> =
            std::iter::from_fn(|| lobby.poll_event()).collect();
        for event in events {
            self.handle_lobby_event(now_us, room, event);
        }
    }

    /// True if everybody of a reunited group who can still come is here, and somebody will never come.
    fn is_complete(&self, stage: u16, room: Room) -> bool {
        let Some(lobby) = self.lobbies.get(room) else {
            return false;
        };
        let here: Vec<SessionId> = lobby.waiting_people().map(|(who, ..)| who).collect();
        let Some(&first) = here.first() else {
            return false;
        };
        let group = self.earlier_group(stage, first);
        let group = group.and_then(|key| self.groups.get(key));
        let mut members = group.into_iter().flat_map(|group| group.members());
        let comes = |who: SessionId| self.sessions[who].progress.leads_to(&self.study, stage);
        let all = members.all(|(_, member)| here.contains(&member.who) || !comes(member.who));
        all && here.len() < usize::from(lobby.rules().group_size)
    }

    fn handle_lobby_event(&mut self, now_us: u64, room: Room, event: LobbyEvent<SessionId>) {
        match event {
            LobbyEvent::Formed(mut people) => {
                self.in_old_places(room, &mut people);
                let next = self.begin_group(now_us, room, &people);
                self.make_transitions(now_us, next);
            }
            LobbyEvent::GaveUp(who) => {
                self.sessions[who].place = Place::Aside;
                self.sessions[who].since_us = None;
                self.end_wait(now_us, who, WaitedFor::GaveUp, None);
                self.tell_wait(now_us, room, who, Ask::Return, (now_us, now_us));
            }
            LobbyEvent::Left(who) => {
                let outcome = self.stage_of_room(room).map(|(_, lobby)| lobby.or_else);
                self.sessions[who].place = Place::Page;
                self.end_wait(now_us, who, WaitedFor::TimedOut, None);
                let cut = study::ProgressEvent::Cut(outcome.unwrap_or(Outcome::LobbyTimeout));
                if self.advance_session(who, cut) {
                    self.show_stage(now_us, who);
                }
            }
        }
    }

    /// Gives people who come together again the places that they had.
    fn in_old_places(&self, room: Room, people: &mut [SessionId]) {
        let stage = self.stage_of_room(room).map(|(stage, _)| stage);
        let first = people.first().copied();
        let group = stage.zip(first);
        let group = group.and_then(|(stage, first)| self.earlier_group(stage, first));
        let Some(group) = group.and_then(|key| self.groups.get(key)) else {
            return;
        };
        let place = |who: &SessionId| {
            let mut members = group.members();
            members
                .find(|(_, member)| member.who == *who)
                .map(|(seat, _)| seat)
        };
        people.sort_by_key(place);
    }

    fn tell_crowd(&mut self, now_us: u64, room: Room) {
        let Some(lobby) = self.lobbies.get(room) else {
            return;
        };
        let waiting: Vec<_> = lobby.waiting_people().collect();
        for (who, since_us, until_us, state) in waiting {
            let ask = match state {
                WaitState::Here => Ask::Nothing,
                WaitState::Prompted(until_us) => Ask::Presence {
                    left_ms: ms(until_us.saturating_sub(now_us)),
                },
                WaitState::Asked => Ask::Choice,
            };
            self.tell_wait(now_us, room, who, ask, (since_us, until_us));
        }
    }

    fn tell_wait(
        &mut self,
        now_us: u64,
        room: Room,
        who: SessionId,
        ask: Ask,
        (since_us, until_us): (u64, u64),
    ) {
        let here = self.lobbies.get(room);
        let here = here.map_or(0, |lobby| lobby.waiting_people().count());
        let Some((stage, lobby)) = self.stage_of_room(room) else {
            return;
        };
        // Who waits for an AI partner as if for a person sees the time that a person has.
        let until_us = match lobby.partner.is_some() && ask == Ask::Nothing {
            true => since_us + u64::from(lobby.timeout_s) * 1_000_000,
            false => until_us,
        };
        let is_told = lobby.bot.as_ref().is_some_and(|bot| bot.disclose);
        let then = match lobby.on_timeout {
            OnTimeout::Bot if is_told => AtTimeout::Ai,
            OnTimeout::Bot => AtTimeout::GoOn,
            OnTimeout::Wait => AtTimeout::Wait,
            OnTimeout::Leave => AtTimeout::Leave,
            OnTimeout::Ask => AtTimeout::Ask,
        };
        let ways_out = &self.study.recruitment.outcomes;
        let way_out = ways_out.get(&lobby.or_else);
        let rate = self.study.recruitment.pay_terms.time_rate_per_hour;
        let pays_time = rate.is_some_and(|rate| rate > 0.0);
        let waiting = Waiting {
            here: here as u16,
            needed: u16::from(lobby.group_size),
            waited_ms: ms(now_us.saturating_sub(since_us)),
            left_ms: ms(until_us.saturating_sub(now_us)),
            usual_ms: self.lobbies.usual_wait_us(stage).map(ms),
            then,
            paid: way_out.is_some_and(|way| way.is_paid("time")) && pays_time,
            ask,
        };
        self.tell_session(who, ServerMessage::Waiting(waiting));
    }

    /// Returns the limits of the lobby whose group plays this match for the first time; later, nothing separates the
    /// group any more.
    fn limits_of(&self, episode: &EpisodeState) -> Option<(Room, &Matching)> {
        let group = episode.group.and_then(|key| self.groups.get(key));
        let group = group.filter(|group| !group.is_kept)?;
        let rules = &self.study.lobby(group.lobby)?.matching;
        let is_limited = rules.max_p2p_rtt_ms.is_some() || rules.max_loss.is_some();
        Some((group.room?, rules)).filter(|_| is_limited)
    }

    /// True if the pages of a match measure how many packets are lost.
    pub(super) fn measures_loss(&self, episode: &EpisodeState) -> bool {
        let limits = self.limits_of(episode);
        limits.is_some_and(|(_, rules)| rules.max_loss.is_some())
    }

    /// Notes at the waits of a group how far apart its pages have found each other.
    pub(super) fn note_ways(&mut self, era: Era) {
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let seats: Vec<Seat> = episode.people().map(|(seat, _)| seat).collect();
        for (seat, who) in episode.people() {
            let Some(wait) = &mut self.sessions[who].wait else {
                continue;
            };
            let others = || seats.iter().filter(|other| **other != seat);
            let rtt_us = others().filter_map(|other| episode.round_trip(seat, *other));
            let loss_permille = others().filter_map(|other| episode.loss_permille(seat, *other));
            (wait.rtt_us, wait.loss_permille) = (rtt_us.max(), loss_permille.max());
        }
    }

    /// Parts a group if the path between two of its pages is slower, or loses more, than its lobby allows; true if so.
    /// Everybody is then back in the lobby, at the old place, and these two are put together again only if nobody else
    /// is found for long.
    pub(super) fn part_the_distant(&mut self, now_us: u64, era: Era) -> bool {
        let Some(episode) = self.episodes.get(era) else {
            return false;
        };
        let Some((room, rules)) = self.limits_of(episode) else {
            return false;
        };
        let (most_ms, most_loss) = (rules.max_p2p_rtt_ms, rules.max_loss);
        let is_slow = |one: Seat, other: Seat| {
            let rtt_us = episode.round_trip(one, other);
            let is_above =
                |most_ms| rtt_us.is_none_or(|rtt_us| rtt_us > u32::from(most_ms) * 1_000);
            most_ms.is_some_and(is_above)
        };
        let is_lossy = |one: Seat, other: Seat| {
            let loss = episode.loss_permille(one, other);
            let is_above = |most| loss.is_none_or(|loss| f64::from(loss) > most * 1_000.0);
            most_loss.is_some_and(is_above)
        };
        let is_far = |one: Seat, other: Seat| is_slow(one, other) || is_lossy(one, other);
        let people: Vec<(Seat, SessionId)> = episode.people().collect();
        let mut distant = Vec::new();
        for (number, &(seat, one)) in people.iter().enumerate() {
            let others = people[number + 1..].iter();
            let far = others.filter(|(to, _)| is_far(seat, *to));
            distant.extend(far.map(|(_, other)| (one, *other)));
        }
        if distant.is_empty() {
            return false;
        }
        if let Some(lobby) = self.lobbies.get_mut(room) {
            distant
                .iter()
                .for_each(|(one, other)| lobby.handle_too_far(now_us, *one, *other));
        }
        tracing::info!(
            pairs = distant.len(),
            "pages of a group are too far apart for their lobby"
        );
        self.dissolve_episode(now_us, era, &[]);
        true
    }
}

fn ms(us: u64) -> u32 {
    u32::try_from(us / 1_000).unwrap_or(u32::MAX)
}
