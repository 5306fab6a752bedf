//! Episodes: from the linking of their pages over the start to the end, and what passes between them.

use protocol::control::{EndReason, ServerMessage};
use protocol::log::Ending;
use protocol::{Era, Seat};
use study::stage::Mode;
use study::{Episode, StageKind};

use super::flow::Transition;
use super::group::{DepartureReason, GroupId};
use super::matches::{Match, Phase, Play, Ready};
use super::seats::Seats;
use super::{Arbiter, Effect, EpisodeRow, Place, RecordWork, SessionId, Work, Write};

/// So much time all pages need to hear of the start, microseconds.
const LEAST_COUNTDOWN_US: u64 = 500_000;

impl Arbiter {
    /// Dissolves a group before its start; `unready` are those for whom it waited. Everybody goes back to the lobby
    /// with the time already waited; people who fail too often move on.
    pub(super) fn unmatch(&mut self, now_us: u64, era: Era, unready: &[SessionId]) {
        let Some(game) = self.matches.remove(&era.0) else {
            return;
        };
        let people: Vec<SessionId> = game.people().map(|(_, who)| who).collect();
        let group = game.group.and_then(|group| self.dissolve(group));
        for &who in &people {
            self.sessions[who].place = Place::Page;
        }
        for &who in &people {
            if unready.contains(&who) {
                self.sessions[who].failed += 1;
            }
        }
        // Nobody waits for the same page again and again.
        let room = group.and_then(|group| group.room);
        if let Some(lobby) = room.and_then(|room| self.lobbies.get_mut(&room)) {
            let often = |who: &&SessionId| self.sessions[**who].failed + 1 >= self.limits.attempts;
            for one in unready.iter().filter(often) {
                let others = people.iter().filter(|other| *other != one);
                others.for_each(|other| lobby.keep_apart(*one, *other));
            }
        }
        let next = people.into_iter().map(|who| self.put_back(who)).collect();
        self.make_transitions(now_us, next);
    }

    /// Puts a person whose match came to nothing back to where they were, or past the episode in the end.
    fn put_back(&self, who: SessionId) -> Transition {
        if self.sessions[who].failed < self.limits.attempts {
            Transition::Enter(who)
        } else {
            Transition::LeaveEpisode(who, Episode::unplayed(EndReason::Technical))
        }
    }

    /// The group that a session is in, its own seat, and who has the seat `to`.
    fn peers(&self, who: SessionId, to: Seat) -> Option<(Seat, super::ConnId)> {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return None;
        };
        let game = self.matches.get(&era.0)?;
        let peer = game.at(to).filter(|peer| *peer != who)?;
        Some((game.seat_of(who)?, self.sessions[peer].conn?))
    }

    pub(super) fn handle_signal(&mut self, who: SessionId, to: Seat, data: String) {
        if data.len() > self.limits.signal_bytes {
            return;
        }
        if let Some((from, conn)) = self.peers(who, to) {
            self.send(conn, ServerMessage::Signal { from, data });
        }
    }

    pub(super) fn handle_relay(&mut self, who: SessionId, to: Seat, bytes: Vec<u8>) {
        if bytes.len() > self.limits.datagram_bytes || !self.study.net.fallback {
            return;
        }
        if let Some((from, conn)) = self.peers(who, to) {
            self.relays
                .push_back((conn, ServerMessage::Relay { from, bytes }));
        }
    }

    /// A page is ready; once all are, the episode gets its delay, its time and its file.
    pub(super) fn handle_ready(&mut self, now_us: u64, who: SessionId, era: Era, said: Ready) {
        let Some(game) = self.matches.get_mut(&era.0) else {
            return;
        };
        let Some(seat) = game.seat_of(who) else {
            return;
        };
        if let Phase::Playing(play) = &mut game.phase {
            let at = play.moment(now_us);
            return play.seats.handle_ready(at, seat);
        }
        let most = said.rtt_us.len().max(said.loss_permille.len());
        if most > protocol::MAX_SEATS || !game.ready(seat, said) {
            return;
        }
        self.note_ways(era);
        if self.part_the_distant(now_us, era) {
            return;
        }
        let Some(game) = self.matches.get(&era.0) else {
            return;
        };
        let (input_delay, stage) = (game.input_delay(), game.stage);
        let t0_us = now_us + self.countdown_us(stage);
        let Some(game) = self.matches.get_mut(&era.0) else {
            return;
        };
        (game.header.t0_us, game.header.input_delay) = (t0_us, input_delay);
        let (header, stage) = (game.header.clone(), game.stage);
        let seats = Seats::new(self.terms(stage, &header.params), &header.controllers);
        let play = Play::new(t0_us, input_delay, seats);
        self.matches
            .entry(era.0)
            .and_modify(|game| game.phase = Phase::Playing(Box::new(play)));
        self.effects
            .push_back(Effect::Archive(era, Work::Open(Box::new(header))));
        self.note_routes(now_us, era);
    }

    /// Time from the last page being ready to tick 0, microseconds.
    fn countdown_us(&self, stage: u16) -> u64 {
        let StageKind::Env(env) = self.kind(stage) else {
            return 0;
        };
        let is_timed = env.course.mode == Mode::Ticks;
        match env.screen.countdown_s {
            Some(seconds) if is_timed => (u64::from(seconds) * 1_000_000).max(LEAST_COUNTDOWN_US),
            Some(seconds) => u64::from(seconds) * 1_000_000,
            None if is_timed => self.limits.countdown.as_micros() as u64,
            None => 0,
        }
    }

    /// The file of an episode is durable: people may start.
    pub(super) fn handle_opened(&mut self, now_us: u64, era: Era, ok: bool) {
        let Some(game) = self.matches.get_mut(&era.0) else {
            return;
        };
        let Phase::Playing(play) = &mut game.phase else {
            return;
        };
        if !ok {
            return self.end_episode(era, EndReason::Technical);
        }
        play.open = true;
        let (t0_us, input_delay) = (play.t0_us, play.input_delay);
        let game = &self.matches[&era.0];
        let (draw, group) = (game.draw.clone(), game.group);
        let people: Vec<SessionId> = game.people().map(|(_, who)| who).collect();
        // The group cannot come to nothing any more.
        let is_new = |group: &GroupId| self.groups.get(group).is_some_and(|group| !group.is_kept);
        if let Some(group) = group.filter(is_new) {
            self.keep_group(group);
            self.end_waits(now_us, group);
        }
        let game = &self.matches[&era.0];
        let course = game.header.course.as_ref();
        let row = EpisodeRow {
            episode: game.header.episode.clone(),
            era,
            group: game.header.group.clone(),
            stage: game.stage,
            participants: self.participants(&game.members),
            visits: course.map_or(Vec::new(), |course| course.visits.clone()),
            draw: draw.clone(),
            bindings: game.bindings.clone(),
        };
        self.effects.push_back(Effect::Store(Write::Episode(row)));
        for &who in &people {
            // Who does not come from a lobby is there already.
            self.advance(who, study::ProgressEvent::Matched { draw: &draw });
        }
        for who in people {
            self.tell(
                who,
                ServerMessage::Start {
                    era,
                    t0_us,
                    input_delay,
                },
            );
            self.tell_talk(now_us, who);
        }
    }

    /// Ends a running episode: the archive closes its file, then everybody is informed.
    pub(super) fn end_episode(&mut self, era: Era, reason: EndReason) {
        let Some(game) = self.matches.get_mut(&era.0) else {
            return;
        };
        if let Phase::Playing(play) = &game.phase {
            let (open, lost) = (play.open, play.lost());
            game.phase = Phase::Ending { reason, open, lost };
            self.effects
                .push_back(Effect::Archive(era, RecordWork::End(reason).into()));
        }
    }

    /// A member leaves on purpose: the study's consequence is due at once.
    pub(super) fn quit(&mut self, now_us: u64, era: Era, who: SessionId) {
        let Some(game) = self.matches.get_mut(&era.0) else {
            return;
        };
        let seat = game.seat_of(who);
        for member in game
            .members
            .iter_mut()
            .filter(|member| **member == Some(who))
        {
            *member = None;
        }
        match (&mut game.phase, seat) {
            (Phase::Linking { .. }, _) => self.unmatch(now_us, era, &[]),
            (Phase::Playing(play), Some(seat)) => play.seats.handle_left(seat),
            _ => {}
        }
    }

    /// The end of an episode is durable: everybody is informed, and moves on.
    pub(super) fn handle_ended(&mut self, now_us: u64, era: Era, ending: Option<Ending>) {
        let Some(game) = self.matches.remove(&era.0) else {
            return;
        };
        let Phase::Ending {
            reason,
            open,
            ref lost,
        } = game.phase
        else {
            return;
        };
        // The replica has the last word: an episode that was over when its end was asked for was played.
        let reason = ending.map_or(reason, |ending| ending.reason);
        if let Some(group) = game.group {
            self.note_lost(&game, group, lost, reason);
        }
        let episode = game.header.episode.clone();
        let (ticks, score, digest) = ending
            .map(|end| (end.ticks, end.score, end.digest))
            .unwrap_or_default();
        for (_, who) in game.people() {
            if self.sessions[who].place == Place::Episode(era, true) {
                self.tell(
                    who,
                    ServerMessage::Ended {
                        era,
                        reason,
                        ticks,
                        score,
                        digest,
                    },
                );
            }
        }
        let leave = |(seat, who): (Seat, SessionId)| {
            let played = Episode {
                reason,
                score,
                ticks: ticks.0,
                partners: game.partners(seat),
            };
            Transition::LeaveEpisode(who, played)
        };
        let next = game.people().map(leave).collect();
        self.make_transitions(now_us, next);
        // Last: after a crash in between, everybody is moved on once more, and it does nothing to those who have been.
        if open {
            self.effects.push_back(Effect::Store(Write::EpisodeEnded {
                episode,
                reason,
                ending,
            }));
        }
    }

    /// Marks those who did not come back to an episode as gone from their group for good.
    fn note_lost(&mut self, game: &Match, group: GroupId, lost: &[Seat], reason: EndReason) {
        // Nobody else can have played on for them to the end.
        if reason == EndReason::Played && !lost.is_empty() {
            self.note_ai(group);
        }
        for who in lost.iter().filter_map(|seat| game.at(*seat)) {
            self.give_up(group, who, DepartureReason::Away);
        }
    }

    /// Does what is due, for groups with a change and groups whose time has come.
    pub(super) fn settle(&mut self, now_us: u64) {
        loop {
            self.settle_matches(now_us);
            self.settle_rests(now_us);
            self.settle_chats(now_us);
            self.settle_lobbies(now_us);
            self.settle_groups(now_us);
            if self.crowd_changed.is_empty() && self.groups_changed.is_empty() {
                break;
            }
        }
        // Those that were made just now.
        self.settle_matches(now_us);
    }

    fn settle_matches(&mut self, now_us: u64) {
        let due = self.matches.iter();
        let due = due.filter(|(_, game)| game.timeout.is_some_and(|(at_us, _)| at_us <= now_us));
        let eras: Vec<u16> = due.map(|(era, _)| *era).collect();
        for era in eras.into_iter().map(Era) {
            self.settle_match(now_us, era);
        }
    }

    fn settle_match(&mut self, now_us: u64, era: Era) {
        let stalled_us = self.limits.stalled.as_micros() as u64;
        let Some(game) = self.matches.get(&era.0) else {
            return;
        };
        if matches!(game.phase, Phase::Linking { until_us, .. } if until_us <= now_us) {
            let unready = game.unready();
            return self.unmatch(now_us, era, &unready);
        }
        self.arbitrate(now_us, era);
        let game = self.matches.get(&era.0);
        if let Some(reason) = game.and_then(|game| game.due(now_us, stalled_us)) {
            self.end_episode(era, reason);
        }
        if let Some(game) = self.matches.get_mut(&era.0) {
            game.settled(now_us, stalled_us);
        }
    }
}
