//! Random assignment of participants and groups, and counts of the assignments.

use std::collections::{BTreeMap, BTreeSet};

use study::assign::{self, Counts, Standing};
use study::design::{Design, Quota, Unit};
use study::{Outcome, Progress, StageKind, UnitAssignment};

use super::session::Session;
use super::{Arbiter, Effect, Write};

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

    /// Where a new session stands: at its first stage, or on its last page if the study is full.
    pub(super) fn new_progress(&self) -> Progress {
        let (design, counts) = (&self.study.design, self.counts());
        let number = self.sessions.len() as u64;
        match assign::assign(design, Unit::Participant, self.seed, number, &counts) {
            Ok(draw) if !self.is_full(&counts) => Progress::new(&self.study, draw),
            _ => {
                let mut refused = Progress::new(&self.study, UnitAssignment::default());
                // A new session takes every cut.
                let _ = refused.handle(&self.study, study::ProgressEvent::Cut(Outcome::StudyFull));
                refused
            }
        }
    }

    /// True if nobody more is needed: those who are under way can fill every place that is left. People on the way to a
    /// lobby will be in a group, so they count by the groups that they can make.
    fn is_full(&self, counts: &Counts) -> bool {
        let design = &self.study.design;
        let Some(left) = assign::places_left(design, counts) else {
            return false;
        };
        let size = match design.unit {
            Unit::Participant => return left == 0,
            Unit::Group => self.group_size(),
        };
        let is_on_the_way = |session: &&Session| {
            let is_open = session.progress.outcome(&self.study).is_none();
            // Who is in a group counts with it, also while its pages still link up.
            let is_alone =
                session.group.is_none() && session.progress.assignment().groups.is_empty();
            is_open && is_alone
        };
        let coming = self.sessions.iter().filter(is_on_the_way).count();
        u32::try_from(coming / size).unwrap_or(u32::MAX) >= left
    }

    /// People of the group that the first lobby makes.
    fn group_size(&self) -> usize {
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

    /// Draws for a group that is about to be made. A full study takes it all the same: its people were let in.
    pub(super) fn draw_group(&self) -> UnitAssignment {
        let (drawn, counts) = (self.groups_drawn(), self.counts());
        let unlimited = Design {
            quota: Quota::None,
            ..self.study.design.clone()
        };
        let draw = |number| {
            let of = |design| assign::assign(design, Unit::Group, self.seed, number, &counts);
            of(&self.study.design).or_else(|_| of(&unlimited))
        };
        // Groups that came to nothing have left gaps.
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

    /// How many units have completed the study, or may still do so, by what was drawn for them.
    fn counts(&self) -> Counts {
        let design = &self.study.design;
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
        // Who played with an AI partner in the place of somebody who left had another treatment than the one that is wanted.
        // A group that its lobby completes with AI partners is what the study asks for.
        let replaced = self.groups.iter().filter(|(_, group)| group.is_replaced());
        let replaced: BTreeSet<u64> = replaced.map(|(_, group)| group.draw.seed).collect();
        match design.unit {
            Unit::Participant => {
                let is_whole = |session: &&Session| {
                    let mut groups = session.progress.assignment().groups.values();
                    !groups.any(|draw| replaced.contains(&draw.seed))
                };
                for session in self.sessions.iter().filter(is_whole) {
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
