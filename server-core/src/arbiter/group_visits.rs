//! The stages that a group plays together: who has reached the next of them, and what follows when somebody does not.

use protocol::Seat;
use protocol::control::{Absent, EndReason, ServerMessage, StageView};
use study::disconnect::Then;
use study::stage::AiPartner;
use study::{Episode, GroupVisit, Outcome, Progress, StageKind, UnitAssignment};

use super::flow::Transition;
use super::group::{DepartureReason, Group, GroupId, GroupWait, Member, SeatAssignment};
use super::lobbies::Room;
use super::{Arbiter, Effect, GroupRow, Place, PlaceRow, SessionId, Write};

/// Attendance of a group, for its next visit.
struct GroupAttendance {
    /// The number of that visit.
    group_visit: u16,
    /// The people who have come.
    here: Vec<SessionId>,
    /// The people who may still come, with their places.
    coming: Vec<(Seat, SessionId)>,
}

impl Arbiter {
    /// A lobby has put people together; AI partners take the places that are left over.
    pub(super) fn begin_group(
        &mut self,
        now_us: u64,
        room: Room,
        people: &[SessionId],
    ) -> Vec<Transition> {
        let Some(&first) = people.first() else {
            return Vec::new();
        };
        let lobby = self.stage_of(first);
        let partner = match people {
            [alone] => self.awaited_ai_partner(*alone),
            _ => None,
        };
        let draw = UnitAssignment {
            partner: partner.map(str::to_owned),
            ..self.draw_group()
        };
        let id = format!("G-{}", self.random_name(8));
        let size = self.study.lobby(lobby).map_or(0, |lobby| lobby.group_size);
        let places = people.iter().map(|&who| Some(Member { who, gone: None }));
        let places = places.chain(std::iter::repeat(None));
        let places = places.take(people.len().max(usize::from(size))).collect();
        let mut group = Group::new(id, lobby, draw.clone(), places);
        group.room = Some(room);
        let key = self.groups.add_group(group);
        for who in people {
            self.sessions[*who].group = Some(key);
        }
        let together = |who: &SessionId| {
            let group_visit = self.look_ahead(*who, &draw).group_visit(&self.study);
            group_visit.is_some_and(|group_visit| group_visit.is_here && group_visit.number == 0)
        };
        // A chat begins immediately: nothing can dissolve the group any more.
        let next = self.look_ahead(first, &draw).index();
        let plays = matches!(self.stage_kind(next), StageKind::Env(_));
        if plays && people.iter().all(together) {
            return self.play_on(now_us, key, people);
        }
        // Each continues alone for now, so nothing can dissolve the group any more.
        self.keep_group(key);
        self.end_waits(now_us, key);
        for &who in people {
            self.sessions[who].place = Place::Page;
            self.advance_session(
                who,
                study::ProgressEvent::Matched {
                    draw: &draw,
                    seat: self.place_in_group(who),
                },
            );
        }
        people.iter().map(|&who| Transition::Enter(who)).collect()
    }

    /// The place of somebody in their group.
    pub(super) fn place_in_group(&self, who: SessionId) -> Option<u8> {
        let key = self.sessions[who].group?;
        self.groups.place_of(key, who).map(|seat| seat.0)
    }

    /// Returns the progress that somebody will have who leaves a lobby with a group.
    pub(super) fn look_ahead(&self, who: SessionId, draw: &UnitAssignment) -> Progress {
        let mut ahead = self.sessions[who].progress.clone();
        // A lobby takes every group, and anywhere else nothing happens.
        let _ = ahead.handle(
            &self.study,
            study::ProgressEvent::Matched {
                draw,
                seat: self.place_in_group(who),
            },
        );
        ahead
    }

    /// Makes a group durable as it is now.
    pub(super) fn keep_group(&mut self, key: GroupId) {
        let Some(group) = self.groups.mark_kept(key) else {
            return;
        };
        let place = |member: &Option<Member>| PlaceRow {
            participant: member.map_or(String::new(), |member| {
                self.sessions[member.who].participant.clone()
            }),
            gone: member.and_then(|member| member.gone),
        };
        let row = GroupRow {
            id: group.id.clone(),
            stage: group.lobby,
            draw: group.draw.clone(),
            places: group.places.iter().map(place).collect(),
            has_ai: group.has_ai,
            chat: (group.chat.as_ref()).and_then(|chat| Some((chat.group_visit, chat.since_us?))),
            wait: group.wait.map(|wait| (wait.group_visit, wait.until_us)),
        };
        self.effects.push_back(Effect::Store(Write::Group(row)));
    }

    /// Has the group of a session settled.
    pub(super) fn touch_group(&mut self, who: SessionId) {
        self.groups.touch_group(self.sessions[who].group);
    }

    /// Returns the group visit at which somebody is; `None` once their route does not lead to this group any more.
    pub(super) fn group_visit_in(&self, key: GroupId, who: SessionId) -> Option<GroupVisit> {
        let draw = &self.groups.get(key)?.draw;
        let group_visit = self.sessions[who].progress.group_visit(&self.study);
        group_visit.filter(|group_visit| group_visit.group == draw.seed)
    }

    /// Handles that somebody has reached a stage that their group plays together.
    pub(super) fn join_group_visit(&mut self, now_us: u64, who: SessionId) -> Vec<Transition> {
        let key = self.sessions[who].group;
        let key = key.filter(|&key| self.group_visit_in(key, who).is_some());
        let member = key.and_then(|key| self.groups.find_member(key, who));
        let (Some(key), Some((_, member))) = (key, member) else {
            // The lobby has let them continue without a group; alone, there is nobody to write to.
            let at = self.sessions[who].progress.position();
            if self.advance_session(who, study::ProgressEvent::StageDone { at, answers: &[] }) {
                return vec![Transition::Enter(who)];
            }
            let unplayed = Episode::unplayed_facts(EndReason::Technical);
            return vec![Transition::LeaveEpisode(who, unplayed)];
        };
        if member.gone.is_some() {
            self.sessions[who].place = Place::Page;
            self.advance_session(who, study::ProgressEvent::Cut(Outcome::TimedOut));
            return vec![Transition::Enter(who)];
        }
        let group_visit = self
            .group_visit_in(key, who)
            .map_or(0, |group_visit| group_visit.number);
        if self.groups.is_chatting(key, group_visit) {
            self.join_chat(now_us, key, who);
            return Vec::new();
        }
        self.sessions[who].place = Place::Group(key);
        self.sessions[who].came_us.get_or_insert(now_us);
        if let Some(group) = self.groups.get_mut(key) {
            group.shown.remove(&who);
        }
        self.groups.touch_group(key);
        Vec::new()
    }

    /// Starts the groups in which everybody who can come has come, and tells the others for whom they wait.
    pub(super) fn settle_groups(&mut self, now_us: u64) {
        self.groups.touch_due(now_us);
        while let Some(key) = self.groups.poll_changed() {
            self.settle_group(now_us, key);
        }
    }

    fn settle_group(&mut self, now_us: u64, key: GroupId) {
        self.mark_departed(key);
        self.tell_chat_members(key);
        let muster = self.count_attendance(key);
        let Some(muster) = muster else {
            if let Some(group) = self.groups.get_mut(key) {
                group.wake_us = None;
                group.wait.iter_mut().for_each(|wait| wait.is_paused = true);
            }
            return;
        };
        let until_us = self.wait_until(now_us, key, &muster);
        if let Some(until_us) = until_us.filter(|until_us| now_us < *until_us) {
            return self.tell_missing(key, &muster, until_us - now_us);
        }
        if until_us.is_none() && self.blind_wait_until(now_us, key, &muster.here).is_some() {
            return self.hide_missing(key, &muster.here);
        }
        self.note_meeting(now_us, key, &muster.here);
        if let Some(group) = self.groups.get_mut(key) {
            // The wait itself stays, and continues if somebody leaves before their episode starts.
            (group.wake_us, group.blind_until_us) = (None, None);
        }
        for &(_, who) in &muster.coming {
            self.give_up(key, who, DepartureReason::Late);
        }
        let next = self.play_on(now_us, key, &muster.here);
        self.make_transitions(now_us, next);
    }

    /// Begins, resumes or updates the wait for people who may still come; returns its end, if somebody may.
    fn wait_until(&mut self, now_us: u64, key: GroupId, muster: &GroupAttendance) -> Option<u64> {
        let most_us = self.regroup_us(key);
        let least_us = self.limits.restart.as_micros() as u64;
        let group = self.groups.get_mut(key)?;
        let wait = group
            .wait
            .filter(|wait| wait.group_visit == muster.group_visit);
        let is_new = wait.is_none();
        let mut wait = wait.unwrap_or_else(|| GroupWait::new(muster.group_visit, now_us, most_us));
        wait.resume(now_us, most_us, least_us);
        // Who is still at a chat of the group is not late.
        let chats_us = group.chat.as_ref().and_then(|chat| chat.until_us);
        let latest_us = wait.since_us.max(chats_us.unwrap_or(0)) + most_us;
        let granted_us = |who: SessionId| {
            let session = &self.sessions[who];
            session.granted_us.filter(|_| session.conn.is_none())
        };
        let coming = muster.coming.iter();
        // Who was away when the last episode ended has only the rest of the time that its rules grant.
        let untils = coming.map(|(_, who)| granted_us(*who).unwrap_or(latest_us).min(latest_us));
        let until_us = untils.max()?;
        let is_news = is_new || wait.until_us != until_us;
        wait.until_us = until_us;
        (group.wait, group.wake_us) = (Some(wait), Some(until_us));
        if is_news && group.is_kept {
            self.keep_group(key);
        }
        Some(until_us)
    }

    /// The time that a group waits for missing people at a stage, microseconds.
    fn regroup_us(&self, key: GroupId) -> u64 {
        let lobby = self.groups.get(key).map(|group| group.lobby);
        let lobby = lobby.and_then(|lobby| self.study.lobby(lobby));
        lobby.map_or(0, |lobby| u64::from(lobby.regroup_s) * 1_000_000)
    }

    /// Marks people whose route has ended before the group's.
    fn mark_departed(&mut self, key: GroupId) {
        let Some(group) = self.groups.get(key).filter(|group| group.is_kept) else {
            return;
        };
        let here = group.members().filter(|(_, member)| member.gone.is_none());
        let people: Vec<SessionId> = here.map(|(_, member)| member.who).collect();
        for who in people {
            if self.has_left(who) {
                self.give_up(key, who, DepartureReason::Left);
            }
        }
    }

    /// True if somebody's way has ended otherwise than by completion, by a partner who left, or by a technical failure.
    fn has_left(&self, who: SessionId) -> bool {
        use Outcome::{Completed, PartnerLeft, Technical};
        let outcome = self.sessions[who].progress.outcome(&self.study);
        outcome.is_some_and(|outcome| !matches!(outcome, Completed | PartnerLeft | Technical))
    }

    /// Marks somebody as permanently gone from their group.
    pub(super) fn give_up(&mut self, key: GroupId, who: SessionId, why: DepartureReason) {
        if self.groups.mark_gone(key, who, why) {
            self.keep_group(key);
        }
    }

    /// Returns the attendance at the next visit; `None` if nobody waits.
    fn count_attendance(&self, key: GroupId) -> Option<GroupAttendance> {
        let group = self.groups.get(key)?;
        let left = group.members().filter(|(_, member)| member.gone.is_none());
        let left = left.filter_map(|(seat, member)| {
            Some((
                seat,
                member.who,
                self.group_visit_in(key, member.who)?.number,
            ))
        });
        let left: Vec<(Seat, SessionId, u16)> = left.collect();
        let waits = |who: SessionId| {
            let session = &self.sessions[who];
            session.place == Place::Group(key) && session.conn.is_some()
        };
        let waiting = left.iter().filter(|(_, who, _)| waits(*who));
        let group_visit = waiting.map(|(.., group_visit)| *group_visit).min()?;
        let (mut here, mut coming) = (Vec::new(), Vec::new());
        for (seat, who, number) in left {
            match waits(who) {
                true if number == group_visit => here.push(who),
                false if number <= group_visit => coming.push((seat, who)),
                // They are past this visit: nobody waits for them.
                _ => {}
            }
        }
        Some(GroupAttendance {
            group_visit,
            here,
            coming,
        })
    }

    fn tell_missing(&mut self, key: GroupId, muster: &GroupAttendance, left_us: u64) {
        if (muster.here.iter()).any(|who| self.is_blind(key, *who)) {
            return self.hide_missing(key, &muster.here);
        }
        let absent = |&(seat, who): &(Seat, SessionId)| Absent {
            seat,
            connected: self.sessions[who].conn.is_some(),
        };
        let absent: Vec<Absent> = muster.coming.iter().map(absent).collect();
        let Some(group) = self.groups.get_mut(key) else {
            return;
        };
        let is_news = group.told != absent;
        let of = group.places.len() as u8;
        group.told.clone_from(&absent);
        let fresh: Vec<bool> = muster
            .here
            .iter()
            .map(|who| group.shown.insert(*who))
            .collect();
        let left_ms = (left_us / 1_000).min(u64::from(u32::MAX)) as u32;
        for (&who, is_fresh) in muster.here.iter().zip(fresh) {
            if is_fresh {
                let shown = self.stage_message(who, self.stage_of(who), Some(StageView::Regroup));
                self.tell_session(who, shown);
            }
            if is_fresh || is_news {
                let absent = absent.clone();
                let message = ServerMessage::Missing {
                    absent,
                    of,
                    left_ms,
                };
                self.tell_session(who, message);
            }
        }
    }

    /// Lets a group continue with the people who are here; the stage decides what follows for the missing ones.
    fn play_on(&mut self, now_us: u64, key: GroupId, here: &[SessionId]) -> Vec<Transition> {
        let waited = here
            .iter()
            .filter(|who| self.sessions[**who].place == Place::Group(key));
        let waited: Vec<SessionId> = waited.copied().collect();
        waited
            .into_iter()
            .for_each(|who| self.note_waited(now_us, who));
        let Some((group, &first)) = self.groups.get(key).zip(here.first()) else {
            return Vec::new();
        };
        let stage = self.look_ahead(first, &group.draw).index();
        if matches!(self.stage_kind(stage), StageKind::Chat(_)) {
            self.begin_chat(now_us, key, here);
            return Vec::new();
        }
        let StageKind::Env(env) = self.stage_kind(stage) else {
            return Vec::new();
        };
        let (called, own) = (
            self.lobby_partner(Some(key)),
            env.on_disconnect.bot.as_ref(),
        );
        let is_missing = |member: &Member| !here.contains(&member.who);
        let then = env.on_disconnect.first_half;
        let missing = group.places.iter().flatten().any(is_missing);
        if let Some(reason) = reason(then).filter(|_| missing) {
            return leave_all(here, reason);
        }
        let seated = |member: &Option<Member>| match member {
            Some(member) if !is_missing(member) => Some(SeatAssignment::Person(member.who)),
            Some(_) => Some(SeatAssignment::Ai(own.or(called)?.policy.clone())),
            None => Some(SeatAssignment::Ai(called?.policy.clone())),
        };
        let seated: Option<Vec<SeatAssignment>> = group.places.iter().map(seated).collect();
        let Some(seated) = seated else {
            tracing::error!(
                stage,
                "a stage has no AI partner for somebody who is missing"
            );
            return leave_all(here, EndReason::Technical);
        };
        if missing && !group.has_ai {
            self.note_ai(key);
        }
        self.set_up_episode(now_us, Some(key), &seated)
    }

    /// Notes that an AI partner plays in a group for a missing person.
    pub(super) fn note_ai(&mut self, key: GroupId) {
        if self.groups.mark_ai(key) {
            self.keep_group(key);
        }
    }

    /// The AI partner that the lobby of a group calls, or the one that the study has drawn for it.
    pub(super) fn lobby_partner(&self, key: Option<GroupId>) -> Option<&AiPartner> {
        let group = self.groups.get(key?)?;
        let lobby = self.study.lobby(group.lobby)?;
        let drawn = group.draw.partner.as_ref().zip(lobby.partner.as_ref());
        let drawn = drawn.and_then(|(name, awaited)| awaited.choices.get(name));
        drawn.or(lobby.bot.as_ref())
    }

    /// Dissolves a group before its first episode; `None` if it had one.
    pub(super) fn dissolve_group(&mut self, key: GroupId) -> Option<Group> {
        let group = self.groups.dissolve_group(key)?;
        for (_, member) in group.members() {
            self.sessions[member.who].group = None;
        }
        Some(group)
    }

    /// Restores a group from the data folder. If not all people of a match had moved on, the rest move now.
    pub(super) fn restore_group(&mut self, row: GroupRow) {
        let found = |place: &PlaceRow| {
            let who = self.sessions.find_by_pseudonym(&place.participant)?;
            let gone = place.gone;
            Some(Member { who, gone })
        };
        let places: Vec<Option<Member>> = row.places.iter().map(found).collect();
        let people: Vec<Member> = places.iter().flatten().copied().collect();
        let mut group = Group::new(row.id, row.stage, row.draw.clone(), places);
        group.has_ai = row.has_ai;
        let key = self.groups.add_group(group);
        self.groups.mark_kept(key);
        let most_us = self.regroup_us(key);
        if let Some(group) = self.groups.get_mut(key) {
            group.wait = row.wait.map(|wait| GroupWait::restored(wait, most_us));
        }
        for Member { who, gone } in people {
            let groups = &self.sessions[who].progress.assignment().groups;
            let is_in = |groups: &std::collections::BTreeMap<u16, UnitAssignment>| {
                groups.values().any(|draw| draw.seed == row.draw.seed)
            };
            // Who is gone may be back at the lobby, for another group.
            if !is_in(groups) && gone.is_none() && self.stage_of(who) == row.stage {
                self.advance_session(
                    who,
                    study::ProgressEvent::Matched {
                        draw: &row.draw,
                        seat: self.groups.place_of(key, who).map(|seat| seat.0),
                    },
                );
            }
            let groups = &self.sessions[who].progress.assignment().groups;
            if groups
                .values()
                .next_back()
                .is_some_and(|draw| draw.seed == row.draw.seed)
            {
                self.sessions[who].group = Some(key);
            }
        }
        self.restore_chat(key, row.chat);
    }
}

/// Returns the transitions of these people when their episode did not start.
fn leave_all(people: &[SessionId], reason: EndReason) -> Vec<Transition> {
    let unplayed = Episode::unplayed_facts(reason);
    let leave = |who: &SessionId| Transition::LeaveEpisode(*who, unplayed.clone());
    people.iter().map(leave).collect()
}

/// Returns how an episode ends before it has begun, if the stage wants that when somebody is missing.
fn reason(then: Then) -> Option<EndReason> {
    match then {
        Then::Bot => None,
        Then::PartnerLeft => Some(EndReason::PartnerLeft),
        Then::Technical => Some(EndReason::Technical),
    }
}
