//! Lobbies: the people in each room, the rules for groups there, and messages to people who wait.

use std::collections::BTreeSet;

use protocol::control::{Ask, AtTimeout, Choice, Refusal, ServerMessage, Waiting};
use protocol::{Era, Seat};
use study::stage::{Lobby as Stage, Matching, OnTimeout};
use study::{Outcome, Progress};

use super::group::GroupId;
use super::matches::Match;
use super::{Arbiter, Effect, Place, Room, SessionId, WaitEnd, WaitRow, WaitedFor, Write};
use crate::lobby::{self, JoinRefused, Lobby, LobbyEvent, LobbyRules, MatchRules, WaitState};

/// Waits that an estimate is made of.
const RECENT: usize = 20;

/// After how long people whose pages were too far apart may be measured again, microseconds: a bad moment of a network is
/// over by then, and nobody is called out of the waiting room for nothing every few seconds.
const AGAIN_US: u64 = 30_000_000;

/// A lobby's rules for the people that it puts together.
struct Together<'a> {
    hub: &'a Arbiter,
    matching: &'a Matching,
}

impl MatchRules<SessionId> for Together<'_> {
    fn may_meet(&self, one: SessionId, other: SessionId) -> bool {
        !self.matching.not_met_before || !self.hub.met.contains(&(one.min(other), one.max(other)))
    }

    fn is_wanted(&self, people: &[SessionId]) -> bool {
        let progress = |who: &SessionId| &self.hub.sessions[*who].progress;
        let members: Vec<&Progress> = people.iter().map(progress).collect();
        self.matching.is_wanted(&self.hub.study, &members)
    }
}

impl Arbiter {
    /// The room of a lobby stage for those who may become a group; it is made when the first of them comes.
    fn room(&mut self, stage: u16, who: SessionId) -> Option<Room> {
        let mut company = self.sessions[who].progress.company(&self.study);
        let lobby = self.study.lobby(stage)?;
        if lobby.matching.reunite.is_some() {
            // Those who were a group come together again; who was in none is alone.
            let group = self.earlier_group(stage, who);
            let group = group.and_then(|key| self.groups.get(&key));
            let own = &self.sessions[who].participant;
            let name = group.map_or(own, |group| &group.id);
            company = format!("{company} {name}");
        }
        let us = |seconds: u32| u64::from(seconds) * 1_000_000;
        let next = Room(self.rooms.len());
        let rules = LobbyRules {
            group_size: u16::from(lobby.group_size),
            order: lobby.matching.order,
            timeout_us: us(lobby.timeout_s),
            on_timeout: lobby.on_timeout,
            prompt_us: us(lobby.presence.prompt_after_s),
            grace_us: us(lobby.presence.grace_s),
            again_us: AGAIN_US,
            capacity: self.limits.lobby,
            seed: self.seed ^ next.0 as u64,
        };
        let room = *self.rooms.entry((stage, company)).or_insert(next);
        self.lobbies
            .entry(room)
            .or_insert_with(|| Lobby::new(rules));
        Some(room)
    }

    /// The lobby of a room, and its index.
    fn stage_of_room(&self, room: Room) -> Option<(u16, &Stage)> {
        let mut rooms = self.rooms.iter();
        let ((stage, _), _) = rooms.find(|(_, known)| **known == room)?;
        Some((*stage, self.study.lobby(*stage)?))
    }

    /// The group that a lobby is to bring together again, of somebody.
    fn earlier_group(&self, stage: u16, who: SessionId) -> Option<GroupId> {
        let id = self.study.lobby(stage)?.matching.reunite.as_ref()?;
        let groups = self.groups.iter().rev();
        let mut own = groups.filter(|(_, group)| {
            let is_it = group.is_kept && self.study.timeline[usize::from(group.lobby)].id == *id;
            is_it && group.members().any(|(_, member)| member.who == who)
        });
        own.next().map(|(key, _)| *key)
    }

    /// Has those rooms settled in which groups come together again: somebody has moved, who may be one who is missing.
    pub(super) fn touch_reunions(&mut self) {
        let is_reunion = |stage: u16| {
            let lobby = self.study.lobby(stage);
            lobby.is_some_and(|lobby| lobby.matching.reunite.is_some())
        };
        let rooms = self.rooms.iter();
        let rooms = rooms.filter(|((stage, _), _)| is_reunion(*stage));
        let rooms = rooms.map(|(_, room)| *room);
        self.crowd_changed.extend(rooms);
    }

    pub(super) fn join_lobby(&mut self, now_us: u64, who: SessionId, stage: u16) {
        let Some(room) = self.room(stage, who) else {
            return;
        };
        let Some(lobby) = self.lobbies.get_mut(&room) else {
            return;
        };
        let session = &mut self.sessions[who];
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
                self.crowd_changed.insert(room);
                self.begin_wait(now_us, who, stage);
            }
            Err(JoinRefused::Full) => {
                if let Some(conn) = self.sessions.turn_page_away(who) {
                    self.sessions[who].since_us = None;
                    self.refuse(conn, Refusal::Full);
                }
            }
        }
    }

    pub(super) fn leave_lobby(&mut self, room: Room, who: SessionId) {
        self.sessions[who].place = Place::Page;
        let lobby = self.lobbies.get_mut(&room);
        if lobby.is_some_and(|lobby| lobby.handle_leave(who)) {
            self.crowd_changed.insert(room);
        }
    }

    /// Writes down that somebody waits.
    fn begin_wait(&mut self, now_us: u64, who: SessionId, stage: u16) {
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
        let Some(mut row) = self.sessions[who].wait.take() else {
            return;
        };
        if why == WaitedFor::Matched {
            let waits = self.waits.entry(row.stage).or_default();
            waits.push_back(now_us.saturating_sub(row.since_us));
            if waits.len() > RECENT {
                waits.pop_front();
            }
        }
        let at_us = now_us;
        row.end = Some(WaitEnd { at_us, why, group });
        self.effects.push_back(Effect::Store(Write::Wait(row)));
    }

    /// Stores that the people of a group do not wait any more.
    pub(super) fn end_waits(&mut self, now_us: u64, key: GroupId) {
        let Some(group) = self.groups.get(&key) else {
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

    /// The median of recent waits, milliseconds.
    fn usual_ms(&self, stage: u16) -> Option<u32> {
        let mut recent: Vec<u64> = self.waits.get(&stage)?.iter().copied().collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied().map(ms)
    }

    /// A person gives a sign of life, or comes back to the lobby.
    pub(super) fn handle_here(&mut self, now_us: u64, who: SessionId) {
        match self.sessions[who].place {
            Place::Lobby(room) => {
                let lobby = self.lobbies.get_mut(&room);
                if lobby.is_some_and(|lobby| lobby.handle_presence(now_us, who)) {
                    self.crowd_changed.insert(room);
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
    pub(super) fn handle_choice(&mut self, now_us: u64, who: SessionId, choice: Choice) {
        let Place::Lobby(room) = self.sessions[who].place else {
            return;
        };
        let choice = match choice {
            Choice::Wait => lobby::TimeoutChoice::Wait,
            Choice::Ai => lobby::TimeoutChoice::Bot,
            Choice::Leave => lobby::TimeoutChoice::Leave,
        };
        if let Some(lobby) = self.lobbies.get_mut(&room) {
            lobby.handle_choice(now_us, who, choice);
            self.crowd_changed.insert(room);
        }
    }

    /// Settles every lobby, and informs those who wait.
    pub(super) fn settle_lobbies(&mut self, now_us: u64) {
        let is_due = |lobby: &Lobby<SessionId>| {
            let next = lobby.poll_timeout();
            next.is_some_and(|(at_us, _)| at_us <= now_us)
        };
        let due = self.lobbies.iter().filter(|(_, lobby)| is_due(lobby));
        let due: Vec<Room> = due.map(|(room, _)| *room).collect();
        self.crowd_changed.extend(due);
        let mut told = BTreeSet::new();
        while let Some(room) = self.crowd_changed.pop_first() {
            told.insert(room);
            self.settle_room(now_us, room);
        }
        for room in told {
            self.tell_crowd(now_us, room);
        }
    }

    fn settle_room(&mut self, now_us: u64, room: Room) {
        let Some(mut lobby) = self.lobbies.remove(&room) else {
            return;
        };
        if let Some((stage, rules)) = self.stage_of_room(room) {
            if rules.matching.reunite.is_some() && self.is_complete(stage, &lobby) {
                lobby.expire_waits(now_us);
            }
            let terms = Together {
                hub: self,
                matching: &rules.matching,
            };
            lobby.handle_timeout(now_us, &terms);
        }
        let news: Vec<LobbyEvent<SessionId>> = std::iter::from_fn(|| lobby.poll_event()).collect();
        self.lobbies.insert(room, lobby);
        for news in news {
            self.take_news(now_us, room, news);
        }
    }

    /// True if a group that comes together again is here as far as it still can be, and somebody is missing for good.
    fn is_complete(&self, stage: u16, lobby: &Lobby<SessionId>) -> bool {
        let here: Vec<SessionId> = lobby.waiting().map(|(who, ..)| who).collect();
        let Some(&first) = here.first() else {
            return false;
        };
        let group = self.earlier_group(stage, first);
        let group = group.and_then(|key| self.groups.get(&key));
        let mut members = group.into_iter().flat_map(|group| group.members());
        let comes = |who: SessionId| self.sessions[who].progress.leads_to(&self.study, stage);
        let all = members.all(|(_, member)| here.contains(&member.who) || !comes(member.who));
        all && here.len() < usize::from(lobby.rules().group_size)
    }

    fn take_news(&mut self, now_us: u64, room: Room, news: LobbyEvent<SessionId>) {
        match news {
            LobbyEvent::Formed(mut people) => {
                self.in_old_places(room, &mut people);
                let next = self.matched(now_us, room, &people);
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
                if self.advance(who, cut) {
                    self.show_stage(now_us, who);
                }
            }
        }
    }

    /// People who come together again have the places that they had.
    fn in_old_places(&self, room: Room, people: &mut [SessionId]) {
        let stage = self.stage_of_room(room).map(|(stage, _)| stage);
        let first = people.first().copied();
        let group = stage.zip(first);
        let group = group.and_then(|(stage, first)| self.earlier_group(stage, first));
        let Some(group) = group.and_then(|key| self.groups.get(&key)) else {
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
        let Some(lobby) = self.lobbies.get(&room) else {
            return;
        };
        let waiting: Vec<_> = lobby.waiting().collect();
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
        let here = self.lobbies.get(&room);
        let here = here.map_or(0, |lobby| lobby.waiting().count());
        let Some((stage, lobby)) = self.stage_of_room(room) else {
            return;
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
        let waiting = Waiting {
            here: here as u16,
            needed: u16::from(lobby.group_size),
            waited_ms: ms(now_us.saturating_sub(since_us)),
            left_ms: ms(until_us.saturating_sub(now_us)),
            usual_ms: self.usual_ms(stage),
            then,
            paid: way_out.is_some_and(|way| way.pays("time")),
            ask,
        };
        self.tell(who, ServerMessage::Waiting(waiting));
    }

    /// The limits of the lobby whose group plays this match for the first time; later on nothing parts it any more.
    fn limits_of(&self, game: &Match) -> Option<(Room, &Matching)> {
        let group = game.group.and_then(|key| self.groups.get(&key));
        let group = group.filter(|group| !group.is_kept)?;
        let rules = &self.study.lobby(group.lobby)?.matching;
        let is_limited = rules.max_p2p_rtt_ms.is_some() || rules.max_loss.is_some();
        Some((group.room?, rules)).filter(|_| is_limited)
    }

    /// True if the pages of a match measure how many packets are lost.
    pub(super) fn measures_loss(&self, game: &Match) -> bool {
        let limits = self.limits_of(game);
        limits.is_some_and(|(_, rules)| rules.max_loss.is_some())
    }

    /// Notes at the waits of a group how far apart its pages have found each other.
    pub(super) fn note_ways(&mut self, era: Era) {
        let Some(game) = self.matches.get(&era.0) else {
            return;
        };
        let seats: Vec<Seat> = game.people().map(|(seat, _)| seat).collect();
        for (seat, who) in game.people() {
            let Some(wait) = &mut self.sessions[who].wait else {
                continue;
            };
            let others = || seats.iter().filter(|other| **other != seat);
            let rtt_us = others().filter_map(|other| game.round_trip(seat, *other));
            let loss_permille = others().filter_map(|other| game.loss_permille(seat, *other));
            (wait.rtt_us, wait.loss_permille) = (rtt_us.max(), loss_permille.max());
        }
    }

    /// Parts a group if the path between two of its pages is slower, or loses more, than its lobby allows; true if so.
    /// Everybody is then back in the lobby, at the old place, and these two are put together again only if nobody else
    /// is found for long.
    pub(super) fn part_the_distant(&mut self, now_us: u64, era: Era) -> bool {
        let Some(game) = self.matches.get(&era.0) else {
            return false;
        };
        let Some((room, rules)) = self.limits_of(game) else {
            return false;
        };
        let (most_ms, most_loss) = (rules.max_p2p_rtt_ms, rules.max_loss);
        let is_slow = |one: Seat, other: Seat| {
            let rtt_us = game.round_trip(one, other);
            let is_above =
                |most_ms| rtt_us.is_none_or(|rtt_us| rtt_us > u32::from(most_ms) * 1_000);
            most_ms.is_some_and(is_above)
        };
        let is_lossy = |one: Seat, other: Seat| {
            let loss = game.loss_permille(one, other);
            let is_above = |most| loss.is_none_or(|loss| f64::from(loss) > most * 1_000.0);
            most_loss.is_some_and(is_above)
        };
        let is_far = |one: Seat, other: Seat| is_slow(one, other) || is_lossy(one, other);
        let people: Vec<(Seat, SessionId)> = game.people().collect();
        let mut distant = Vec::new();
        for (number, &(seat, one)) in people.iter().enumerate() {
            let others = people[number + 1..].iter();
            let far = others.filter(|(to, _)| is_far(seat, *to));
            distant.extend(far.map(|(_, other)| (one, *other)));
        }
        if distant.is_empty() {
            return false;
        }
        if let Some(lobby) = self.lobbies.get_mut(&room) {
            distant
                .iter()
                .for_each(|(one, other)| lobby.handle_too_far(now_us, *one, *other));
        }
        tracing::info!(
            pairs = distant.len(),
            "pages of a group are too far apart for their lobby"
        );
        self.unmatch(now_us, era, &[]);
        true
    }
}

fn ms(us: u64) -> u32 {
    u32::try_from(us / 1_000).unwrap_or(u32::MAX)
}
