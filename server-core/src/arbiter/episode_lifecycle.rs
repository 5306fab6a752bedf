//! Episodes: from the linking of their pages over the start to the end, and what passes between them.

use protocol::control::{EndReason, ServerMessage};
use protocol::{Era, Seat};
use study::assign::Rng;
use study::stage::Mode;
use study::{Episode, SeatTotals, StageKind};

use super::episode::{EpisodeState, Phase, Ready};
use super::flow::Transition;
use super::group::{DepartureReason, GroupId};
use super::{Arbiter, Effect, EpisodeEnd, EpisodeRow, Place, RecordWork, SessionId, Work, Write};

/// So much time all pages need to hear of the start, microseconds.
const LEAST_COUNTDOWN_US: u64 = 500_000;

/// Purpose of a generator: how long pages take to connect where nobody connects.
const LINKING: u64 = u64::from_le_bytes(*b"linking ");

impl Arbiter {
    /// Dissolves a group before its start, as somebody's page has gone.
    pub(super) fn lose_link(&mut self, now_us: u64, who: SessionId, era: Era) {
        self.sessions[who].lost_links = self.sessions[who].lost_links.saturating_add(1);
        self.dissolve_episode(now_us, era, &[]);
    }

    /// Dissolves a group before its start; `unready` are the people for whom it waited. Everybody goes back to the
    /// lobby with the time already waited; people whose pages fail too often end their participation.
    pub(super) fn dissolve_episode(&mut self, now_us: u64, era: Era, unready: &[SessionId]) {
        let Some(episode) = self.episodes.remove_episode(era) else {
            return;
        };
        let people: Vec<SessionId> = episode.people().map(|(_, who)| who).collect();
        let group = episode.group.and_then(|group| self.dissolve_group(group));
        let kept = episode.group.and_then(|group| self.groups.get_mut(group));
        if let Some(wait) = kept.and_then(|kept| kept.wait.as_mut()) {
            wait.lose_link();
        }
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
        if let Some(lobby) = room.and_then(|room| self.lobbies.get_mut(room)) {
            let often = |who: &&SessionId| {
                let session = &self.sessions[**who];
                session.failed.max(session.lost_links).saturating_add(1) >= self.limits.attempts
            };
            for one in people.iter().filter(often) {
                let others = people.iter().filter(|other| *other != one);
                others.for_each(|other| lobby.keep_apart(*one, *other));
            }
        }
        let is_hopeless = |who: &SessionId| self.sessions[*who].failed >= self.limits.attempts;
        let (failed, others): (Vec<_>, Vec<_>) = people.into_iter().partition(is_hopeless);
        for who in failed {
            self.fail_page(now_us, who, "it does not get ready");
        }
        let next = others.into_iter().map(Transition::Enter).collect();
        self.make_transitions(now_us, next);
    }

    /// Returns the group that a session is in, its own seat, and the person of the seat `to`.
    pub(super) fn peers(&self, who: SessionId, to: Seat) -> Option<(Seat, super::ConnId)> {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return None;
        };
        let episode = self.episodes.get(era)?;
        let peer = episode.session_at(to).filter(|peer| *peer != who)?;
        Some((episode.seat_of(who)?, self.sessions[peer].conn?))
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

    /// A page is ready; once all are, the episode starts.
    pub(super) fn handle_ready(&mut self, now_us: u64, who: SessionId, era: Era, said: Ready) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let Some(seat) = episode.seat_of(who) else {
            return;
        };
        if let Phase::Playing(play) = &mut episode.phase {
            let at = play.moment_at(now_us);
            return play.seats.handle_ready(at, seat);
        }
        let most = said.rtt_us.len().max(said.loss_permille.len());
        if most > protocol::MAX_SEATS || !episode.handle_ready(seat, said) {
            return;
        }
        self.note_ways(era);
        if self.part_the_distant(now_us, era) {
            return;
        }
        self.open_episode(now_us, era);
    }

    /// All pages of an episode are ready: it gets its delay, its time and its file.
    fn open_episode(&mut self, now_us: u64, era: Era) {
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let took_us = episode.linked_for_us(now_us, self.limits.ready);
        let blind_us = self.blind_us(episode, took_us);
        let t0_us = now_us + self.countdown_us(episode.stage) + blind_us;
        if episode.people().count() > 1 {
            self.linking_times.add_time(took_us);
        }
        let Some(rules) = self.absence_rules(episode.stage, &episode.facts) else {
            return;
        };
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let members = episode.members.iter();
        let keys = members.map(|who| who.map_or([0; 32], |who| self.sessions[who].key));
        let header = episode.begin_play(t0_us, rules, keys.collect());
        let work = Work::Open(Box::new(header));
        self.effects.push_back(Effect::Archive(era, work));
        self.record_paths(now_us, era);
    }

    /// Time from the last page being ready to tick 0, microseconds.
    fn countdown_us(&self, stage: u16) -> u64 {
        let StageKind::Env(env) = self.stage_kind(stage) else {
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

    /// Additional time before an episode with an AI partner that is not disclosed, microseconds: pages of people take about
    /// as long to connect. `took_us` is how long the page of the one person took.
    fn blind_us(&self, episode: &EpisodeState, took_us: u64) -> u64 {
        let StageKind::Env(env) = self.stage_kind(episode.stage) else {
            return 0;
        };
        let called = self.lobby_partner(episode.group);
        let is_secret = called
            .into_iter()
            .chain(env.ai_partners())
            .any(|bot| !bot.disclose);
        if !is_secret || episode.people().count() > 1 || env.course.mode == Mode::Turns {
            return 0;
        }
        let mut rng = Rng::of(self.seed, &[LINKING, episode.header.seed]);
        self.linking_times.draw_delay_us(took_us, &mut rng)
    }

    /// The file of an episode is durable: people may start.
    pub(super) fn handle_opened(&mut self, now_us: u64, era: Era, ok: bool) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let Phase::Playing(play) = &mut episode.phase else {
            return;
        };
        if !ok {
            return self.end_episode(era, EndReason::Technical);
        }
        play.open = true;
        let (t0_us, input_delay) = (play.t0_us, play.input_delay);
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let (draw, group) = (episode.draw.clone(), episode.group);
        let people: Vec<SessionId> = episode.people().map(|(_, who)| who).collect();
        // The group cannot be dissolved any more.
        if let Some(group) = group.filter(|group| !self.groups.is_kept(*group)) {
            self.keep_group(group);
            self.end_waits(now_us, group);
        }
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let course = episode.header.course.as_ref();
        let row = EpisodeRow {
            episode: episode.header.episode.clone(),
            era,
            group: episode.header.group.clone(),
            stage: episode.stage,
            // As in its log: somebody may have left since that was opened.
            participants: episode.header.participants.clone(),
            visits: course.map_or(Vec::new(), |course| course.visits.clone()),
            draw: draw.clone(),
            bindings: episode.bindings.clone(),
        };
        self.effects.push_back(Effect::Store(Write::Episode(row)));
        for &who in &people {
            self.sessions[who].faults = 0;
            // Who does not come from a lobby is there already.
            self.advance_session(
                who,
                study::ProgressEvent::Matched {
                    draw: &draw,
                    seat: self.place_in_group(who),
                },
            );
        }
        for who in people {
            self.tell_session(
                who,
                ServerMessage::Start {
                    era,
                    t0_us,
                    input_delay,
                },
            );
            self.show_chat_messages(now_us, who);
            self.tell_buttons(who);
        }
    }

    /// Ends a running episode: the archive closes its file, then everybody is informed.
    pub(super) fn end_episode(&mut self, era: Era, reason: EndReason) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        if let Phase::Playing(play) = &episode.phase {
            episode.phase = Phase::Ending {
                reason,
                open: play.open,
                lost: play.lost_seats(),
                away: play.granted_seats(),
            };
            self.effects
                .push_back(Effect::Archive(era, RecordWork::End(reason).into()));
        }
    }

    /// Handles a member who leaves on purpose: the study's consequence is due immediately.
    pub(super) fn quit_episode(&mut self, now_us: u64, era: Era, who: SessionId) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let seat = episode.seat_of(who);
        for member in episode
            .members
            .iter_mut()
            .filter(|member| **member == Some(who))
        {
            *member = None;
        }
        match (&mut episode.phase, seat) {
            (Phase::Linking { .. }, _) => self.dissolve_episode(now_us, era, &[]),
            (Phase::Playing(play), Some(seat)) => play.seats.handle_left(seat),
            _ => {}
        }
        // A page that is away, or an order of a researcher, has it settled by nothing else.
        self.episodes.touch_episode(era);
    }

    /// The end of an episode is durable: everybody is informed, and moves on.
    pub(super) fn handle_ended(&mut self, now_us: u64, era: Era, end: Option<EpisodeEnd>) {
        let Some(mut episode) = self.episodes.remove_episode(era) else {
            return;
        };
        self.close_model_call(&mut episode);
        let Phase::Ending {
            reason,
            open,
            ref lost,
            ref away,
        } = episode.phase
        else {
            return;
        };
        let (ending, seats) = end.map_or((None, SeatTotals::default()), |end| {
            (Some(end.ending), end.seats)
        });
        // The replica has the last word: an episode that was over when its end was asked for was played.
        let reason = ending.map_or(reason, |ending| ending.reason);
        if let Some(group) = episode.group {
            self.note_lost(&episode, group, lost, reason);
        }
        for (seat, until_us) in away {
            if let Some(who) = episode.session_at(*seat) {
                self.sessions[who].granted_us = Some(*until_us);
            }
        }
        let id = episode.header.episode.clone();
        let (ticks, score, digest) = ending
            .map(|end| (end.ticks, end.score, end.digest))
            .unwrap_or_default();
        for (_, who) in episode.people() {
            if self.sessions[who].place == Place::Episode(era, true) {
                self.tell_session(
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
                partners: episode.partners_of(seat),
                seats: seats.clone(),
                seat: seat.0,
                success: None,
            };
            Transition::LeaveEpisode(who, played)
        };
        let has_failed =
            |(seat, who): &(Seat, SessionId)| lost.contains(seat) && self.has_failed(*who);
        let (failed, others): (Vec<_>, Vec<_>) = episode.people().partition(has_failed);
        for (_, who) in failed {
            self.fail_page(now_us, who, "it broke the protocol, and did not come back");
        }
        let next = match self.may_rematch(&episode, reason) {
            true => others
                .iter()
                .map(|(_, who)| Transition::Rematch(*who))
                .collect(),
            false => others.into_iter().map(leave).collect(),
        };
        self.make_transitions(now_us, next);
        // Last: after a crash in between, everybody is moved on once more, and it does nothing to those who have been.
        if open {
            self.effects.push_back(Effect::Store(Write::EpisodeEnded {
                episode: id,
                reason,
                ending,
            }));
        }
    }

    /// Marks people who did not come back to an episode as permanently gone from their group.
    fn note_lost(
        &mut self,
        episode: &EpisodeState,
        group: GroupId,
        lost: &[Seat],
        reason: EndReason,
    ) {
        // Nobody else can have played on for them to the end.
        if reason == EndReason::Played && !lost.is_empty() {
            self.note_ai(group);
        }
        for who in lost.iter().filter_map(|seat| episode.session_at(*seat)) {
            self.give_up(group, who, DepartureReason::Away);
        }
    }

    /// Does what is due for groups with a change and groups whose time has come.
    pub(super) fn settle_all(&mut self, now_us: u64) {
        loop {
            self.settle_episodes(now_us);
            self.settle_rests(now_us);
            self.settle_chats(now_us);
            self.settle_lobbies(now_us);
            self.settle_groups(now_us);
            if self.lobbies.is_settled() && self.groups.is_settled() {
                break;
            }
        }
        // Those that were made just now.
        self.settle_episodes(now_us);
    }

    fn settle_episodes(&mut self, now_us: u64) {
        for era in self.episodes.due_eras(now_us) {
            self.settle_episode(now_us, era);
        }
    }

    fn settle_episode(&mut self, now_us: u64, era: Era) {
        let stalled_us = self.limits.no_progress_end_after.as_micros() as u64;
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        if matches!(episode.phase, Phase::Linking { until_us, .. } if until_us <= now_us) {
            let unready = episode.unready_people();
            return self.dissolve_episode(now_us, era, &unready);
        }
        self.settle_seats(now_us, era);
        self.settle_hosting(now_us, era);
        self.settle_model(now_us, era);
        let episode = self.episodes.get(era);
        if let Some(reason) = episode.and_then(|episode| episode.end_due(now_us, stalled_us)) {
            self.end_episode(era, reason);
        }
        self.episodes.schedule_settling(era, now_us, stalled_us);
    }
}
