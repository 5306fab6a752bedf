//! Random assignment of participants and groups, and counts of the assignments.

use std::collections::{BTreeMap, BTreeSet};

use study::assign::{self, Counts, Standing};
use study::design::{Design, Quota, Unit};
use study::{Outcome, Progress, StageKind, UnitAssignment};

use super::session::Session;
use super::{Arbiter, Effect, SessionId, Write};
use crate::desk::RecruitmentState;

/// The sessions that are counted as under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Those that hold a place.
    Places,
    /// Also those whose page is open at their first stage, or was a moment ago.
    Present,
}

impl Arbiter {
    /// Takes the seed that the study names or the data folder has, or draws and stores one.
    pub(super) fn settle_seed(&mut self, kept: Option<u64>) {
        let known = self.study.design.seed.or(kept);
        self.seed = known.unwrap_or_else(|| self.random_u64());
        if known.is_none() {
            self.effects
                .push_back(Effect::Store(Write::Seed(self.seed)));
        }
    }

    /// Returns the start of a new session with this number: its first stage, or its last page if the study is full or
    /// recruitment is closed.
    pub(super) fn new_progress(&self, number: u64) -> Progress {
        let design = &self.design;
        let taken = self.counts(design.unit, Counted::Places, None);
        let draw = |counted| {
            let counts = self.counts(Unit::Participant, counted, None);
            assign::assign(design, Unit::Participant, self.seed, number, &counts)
        };
        // People who may soon take a place count for the balance, but keep nobody out.
        let drawn = draw(Counted::Present).or_else(|_| draw(Counted::Places));
        let is_closed = self.recruitment == RecruitmentState::Closed;
        match drawn {
            Ok(draw) if !is_closed && !self.is_full(&taken, None) => {
                Progress::new(&self.study, draw)
            }
            _ => {
                let mut refused = Progress::new(&self.study, UnitAssignment::default());
                // A new session takes every cut.
                let _ = refused.handle(&self.study, study::ProgressEvent::Cut(Outcome::StudyFull));
                refused
            }
        }
    }

    /// True if a session takes a place of the study. At a first stage that makes groups, its page must be open, or it
    /// must be in a group. At another first stage, it takes none, because it costs nothing to get that far.
    pub(super) fn holds_place(&self, session: &Session) -> bool {
        let is_open = session.progress.outcome(&self.study).is_none();
        let kind = &session.progress.stage(&self.study).kind;
        let makes_groups =
            matches!(kind, StageKind::Lobby(_) | StageKind::Env(_)) || kind.is_together();
        let is_there = session.conn.is_some() || session.group.is_some();
        is_open && (session.progress.has_begun() || (makes_groups && is_there))
    }

    /// True if a session counts as under way.
    fn is_counted(&self, session: &Session, counted: Counted) -> bool {
        let is_over = session.progress.outcome(&self.study).is_some();
        is_over
            || self.holds_place(session)
            || (counted == Counted::Present && self.is_present(session))
    }

    /// True if the page of a session is open, or was a moment ago.
    fn is_present(&self, session: &Session) -> bool {
        let away_us = self.now_us.saturating_sub(session.attendance.seen_us);
        session.conn.is_some() || away_us < self.limits.entering.as_micros() as u64
    }

    /// Somebody who did not hold a place moves on. If the places are taken by now, the study is full for them.
    pub(super) fn claim_place(&mut self, who: SessionId) {
        self.sessions.schedule_end(who);
        let design = &self.design;
        let counts = self.counts(design.unit, Counted::Places, Some(who));
        let draw = &self.sessions[who].progress.assignment().own;
        let is_left = design.unit == Unit::Group || assign::has_place(design, &counts, draw);
        if self.holds_place(&self.sessions[who]) && (!is_left || self.is_full(&counts, Some(who))) {
            let full = study::ProgressEvent::Cut(Outcome::StudyFull);
            // Who is under way takes every cut.
            let _ = self.sessions[who].progress.handle(&self.study, full);
        }
    }

    /// Lets somebody begin who comes back after the study was full, if there is a place now.
    pub(super) fn begin_again(&mut self, who: SessionId) {
        let session = &self.sessions[who];
        let is_unpaid = session
            .payment
            .as_ref()
            .is_none_or(|payment| payment.total == 0);
        let is_full = session.progress.outcome(&self.study) == Some(Outcome::StudyFull);
        let is_open = self.recruitment == RecruitmentState::Open;
        if !is_open || !is_full || !is_unpaid || session.is_erased {
            return;
        }
        let mut progress = self.new_progress(who.0 as u64);
        if progress.outcome(&self.study).is_some() {
            return;
        }
        let language = session.progress.chosen_language().map(str::to_owned);
        progress.choose_language(&self.study, language.as_ref(), &[]);
        let session = &mut self.sessions[who];
        (session.progress, session.payment) = (progress.clone(), None);
        session.shown_us = Some(0);
        self.effects.push_back(Effect::Store(Write::Reopen {
            participant: session.participant.clone(),
            progress,
            attendance: session.attendance,
        }));
    }

    /// True if nobody more is needed: those who are under way can fill every place that is left. People on the way to a
    /// lobby will be in a group, so they count by the groups that they can make. A session may be left out, as `counts`
    /// leave it out.
    fn is_full(&self, counts: &Counts, without: Option<SessionId>) -> bool {
        let design = &self.design;
        let Some(left) = assign::places_left(design, counts) else {
            return false;
        };
        let size = match design.unit {
            Unit::Participant => return left == 0,
            Unit::Group => self.group_size(),
        };
        let is_on_the_way = |who: &SessionId| {
            let session = &self.sessions[*who];
            let is_counted = Some(*who) != without && self.holds_place(session);
            // Who is in a group counts with it, also while its pages still link up.
            let is_alone =
                session.group.is_none() && session.progress.assignment().groups.is_empty();
            is_counted && is_alone
        };
        let coming = self.sessions.ids().filter(is_on_the_way).count();
        u32::try_from(coming / size).unwrap_or(u32::MAX) >= left
    }

    /// People of the group that the first lobby makes.
    pub(super) fn group_size(&self) -> usize {
        let sizes = self
            .study
            .timeline
            .iter()
            .filter_map(|stage| match &stage.kind {
                StageKind::Lobby(lobby) => Some(usize::from(lobby.group_size)),
                _ => None,
            });
        sizes.into_iter().next().unwrap_or(1).max(1)
    }

    /// Draws the assignment of a group that is about to be made. A full study takes it too, because its people were let
    /// in.
    pub(super) fn draw_group(&self) -> UnitAssignment {
        let counts = self.counts(Unit::Group, Counted::Places, None);
        let drawn = self.groups_drawn();
        let unlimited = Design {
            quota: Quota::None,
            ..self.design.clone()
        };
        let draw = |number| {
            let of = |design| assign::assign(design, Unit::Group, self.seed, number, &counts);
            of(&self.design).or_else(|_| of(&unlimited))
        };
        // Groups that were never kept have left gaps.
        let draws = (drawn.len() as u64..).filter_map(|number| draw(number).ok());
        let mut fresh = draws.filter(|draw| !drawn.contains_key(&draw.seed));
        fresh.next().unwrap_or_default()
    }

    /// The assignments of groups, including those about to play, and the sessions of each.
    fn groups_drawn(&self) -> BTreeMap<u64, (&UnitAssignment, Vec<&Session>)> {
        let groups = self.groups.iter();
        let groups = groups.map(|(_, group)| (group.draw.seed, (&group.draw, Vec::new())));
        let mut drawn: BTreeMap<u64, (&UnitAssignment, Vec<&Session>)> = groups.collect();
        for session in self.sessions.iter() {
            for draw in session.progress.assignment().groups.values() {
                let (_, members) = drawn.entry(draw.seed).or_insert((draw, Vec::new()));
                members.push(session);
            }
        }
        drawn
    }

    /// Counts the units of a kind that have completed the study, or may still do so, by their draws. Participants may
    /// be left out.
    pub(super) fn counts(
        &self,
        unit: Unit,
        counted: Counted,
        without: Option<SessionId>,
    ) -> Counts {
        let design = &self.design.of(unit);
        let mut counts = Counts::default();
        let standing = |members: &[&Session]| {
            let outcomes = members
                .iter()
                .map(|session| session.progress.outcome(&self.study));
            let (open, over): (Vec<_>, Vec<_>) = outcomes.partition(Option::is_none);
            match over
                .iter()
                .all(|outcome| *outcome == Some(Outcome::Completed))
            {
                true if open.is_empty() && !over.is_empty() => Some(Standing::Completed),
                true => Some(Standing::UnderWay),
                // One who left has taken the unit out of the count.
                false => None,
            }
        };
        // People who played with an AI partner in place of somebody who left had another treatment than the wanted one.
        // A group that its lobby completes with AI partners is what the study asks for.
        let replaced = self.groups.iter().filter(|(_, group)| group.is_replaced());
        let replaced: BTreeSet<u64> = replaced.map(|(_, group)| group.draw.seed).collect();
        match unit {
            Unit::Participant => {
                let is_whole = |who: &SessionId| {
                    let session = &self.sessions[*who];
                    let mut groups = session.progress.assignment().groups.values();
                    let is_counted = Some(*who) != without && self.is_counted(session, counted);
                    is_counted && !groups.any(|draw| replaced.contains(&draw.seed))
                };
                for session in self
                    .sessions
                    .ids()
                    .filter(is_whole)
                    .map(|who| &self.sessions[who])
                {
                    if let Some(standing) = standing(&[session]) {
                        counts.add(design, &session.progress.assignment().own, standing);
                    }
                }
            }
            Unit::Group => {
                let drawn = self.groups_drawn();
                let whole = drawn.iter().filter(|(seed, _)| !replaced.contains(seed));
                for (_, (draw, members)) in whole {
                    if let Some(standing) = standing(members) {
                        counts.add(design, draw, standing);
                    }
                }
            }
        }
        counts
    }
}
