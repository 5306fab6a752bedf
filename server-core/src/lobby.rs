//! The waiting room of one lobby stage: a state machine that makes groups of the people who wait.
//!
//! It owns the people who wait, the starts of their waits, and whether they are there. It must not know of connections,
//! sessions, episodes or clocks: every call takes `now_us`, a [`MatchRules`] decides who may be together, and results
//! come out of [`Lobby::poll_event`].

mod kept_apart;
mod moving;
mod orders;

use std::collections::VecDeque;

use study::assign::Rng;
use study::stage::{MatchOrder, OnTimeout};

use kept_apart::KeptApart;
pub use moving::MovingPerson;

/// The rules of a lobby.
#[derive(Clone, Copy, Debug)]
pub struct LobbyRules {
    /// People of a group, at least 1.
    pub group_size: u16,
    /// The order in which waiting people are matched.
    pub order: MatchOrder,
    /// The time that a person waits until [`LobbyRules::on_timeout`], microseconds.
    pub timeout_us: u64,
    /// The most by which somebody's time may be up earlier: drawn for each person, so that its end reveals nothing,
    /// microseconds.
    pub spread_us: u64,
    /// The consequence then.
    pub on_timeout: OnTimeout,
    /// The time without a sign of life after which a person is asked for one, microseconds.
    pub prompt_us: u64,
    /// The time that they have to answer, microseconds.
    pub grace_us: u64,
    /// After how long two people who were too far apart may be measured again, microseconds.
    pub again_us: u64,
    /// The most people who wait at the same time.
    pub capacity: usize,
    /// The seed of the order `random`.
    pub seed: u64,
}

/// Rules about which people may be together.
pub trait MatchRules<P> {
    /// True if two people may be in one group.
    fn may_meet(&self, one: P, other: P) -> bool;
    /// True if these people are a group that the study wants: as many as a group has, or fewer if AI partners take the
    /// other places.
    fn is_wanted(&self, people: &[P]) -> bool;
}

/// The reason why a person was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefused {
    /// As many people wait as the lobby holds.
    #[error("the lobby is full")]
    Full,
    /// The person waits here already.
    #[error("this person waits already")]
    Waiting,
}

/// A person's choice when their time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutChoice {
    /// They wait as long again.
    Wait,
    /// AI partners take the places that are empty.
    Bot,
    /// They leave.
    Leave,
}

/// A result for people who wait or waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LobbyEvent<P> {
    /// These are a group, in the order of their places; AI partners take the places that are left over.
    Formed(Vec<P>),
    /// Somebody gave no sign of life in time, and has lost the place.
    GaveUp(P),
    /// Somebody leaves without a group.
    Left(P),
}

/// The state of somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitState {
    /// There.
    Here,
    /// Asked for a sign of life, until then, microseconds. Nobody is put together with them meanwhile.
    Prompted(u64),
    /// Asked for a choice, as the time is up. They are still put together with others.
    Asked,
}

#[derive(Debug)]
struct Waiting<P> {
    person: P,
    since_us: u64,
    /// The time at which the wait is up.
    until_us: u64,
    /// The last sign of life.
    seen_us: u64,
    state: WaitState,
    /// True if the lobby has already searched a group for them among the others who wait.
    is_tried: bool,
}

/// Purpose of a generator: how long people wait.
const SPREAD: u64 = u64::from_le_bytes(*b"spread  ");

/// Combinations that are tried for one person who comes.
const MOST_TRIES: usize = 20_000;

/// The rules of one search for a group, with or without pairs whose path must be measured again.
#[derive(Clone, Copy)]
struct MatchPolicy<'a, P> {
    match_rules: &'a dyn MatchRules<P>,
    again: bool,
}

/// People who wait for a group.
#[derive(Debug)]
pub struct Lobby<P> {
    rules: LobbyRules,
    waiting: VecDeque<Waiting<P>>,
    /// People who are kept apart here.
    apart: KeptApart<P>,
    /// The time of the last search for people who can be put together, microseconds.
    settled_us: u64,
    drawn: u64,
    events: VecDeque<LobbyEvent<P>>,
}

impl<P: Copy + Ord> Lobby<P> {
    /// Opens an empty lobby.
    pub fn new(rules: LobbyRules) -> Self {
        Self {
            rules,
            waiting: VecDeque::new(),
            apart: KeptApart::default(),
            settled_us: 0,
            drawn: 0,
            events: VecDeque::new(),
        }
    }

    /// Lets a person in who has waited since `since_us`: now, or earlier if their last group was dissolved.
    ///
    /// # Errors
    /// [`JoinRefused`]; the lobby is then unchanged.
    pub fn handle_join(
        &mut self,
        now_us: u64,
        person: P,
        since_us: u64,
    ) -> Result<(), JoinRefused> {
        if self.find(person).is_some() {
            return Err(JoinRefused::Waiting);
        }
        if self.waiting.len() >= self.rules.capacity {
            return Err(JoinRefused::Full);
        }
        let place = self.waiting.partition_point(|w| w.since_us <= since_us);
        let joined = Waiting {
            person,
            since_us,
            until_us: since_us.saturating_add(self.timeout_us(since_us)),
            seen_us: now_us,
            state: WaitState::Here,
            is_tried: false,
        };
        self.waiting.insert(place, joined);
        Ok(())
    }

    /// Returns how long somebody waits who came at that time: a person who comes back gets the same.
    fn timeout_us(&self, since_us: u64) -> u64 {
        let most = usize::try_from(self.rules.spread_us).unwrap_or(usize::MAX - 1);
        let earlier_us = Rng::of(self.rules.seed, &[SPREAD, since_us]).draw_below(most + 1);
        self.rules.timeout_us.saturating_sub(earlier_us as u64)
    }

    /// Takes a person out; true if they waited here.
    pub fn handle_leave(&mut self, person: P) -> bool {
        let found = self.find(person);
        found.is_some_and(|at| self.waiting.remove(at).is_some())
    }

    /// Handles a person's sign of life; returns true if they were asked for one.
    pub fn handle_presence(&mut self, now_us: u64, person: P) -> bool {
        let Some(at) = self.find(person) else {
            return false;
        };
        let waiting = &mut self.waiting[at];
        waiting.seen_us = now_us;
        let was_asked = matches!(waiting.state, WaitState::Prompted(_));
        if was_asked {
            (waiting.state, waiting.is_tried) = (WaitState::Here, false);
        }
        was_asked
    }

    /// Takes the choice of a person whose time is up; does nothing if they were not asked.
    pub fn handle_choice(&mut self, now_us: u64, person: P, choice: TimeoutChoice) {
        self.handle_presence(now_us, person);
        let Some(at) = self.find(person) else {
            return;
        };
        if self.waiting[at].state != WaitState::Asked {
            return;
        }
        match choice {
            TimeoutChoice::Wait => {
                self.waiting[at].state = WaitState::Here;
                self.waiting[at].until_us = now_us.saturating_add(self.rules.timeout_us);
            }
            TimeoutChoice::Bot => {
                self.waiting.remove(at);
                self.events.push_back(LobbyEvent::Formed(vec![person]));
            }
            TimeoutChoice::Leave => {
                self.waiting.remove(at);
                self.events.push_back(LobbyEvent::Left(person));
            }
        }
    }

    /// Two people are never put together here any more.
    pub fn keep_apart(&mut self, one: P, other: P) {
        self.apart.keep_apart(one, other);
    }

    /// Handles that two people were measured, and are too far apart. They are put together again after a while, to be
    /// measured again, if nobody else can be found for either by then; never if that was the last time.
    pub fn handle_too_far(&mut self, now_us: u64, one: P, other: P) {
        let again_us = now_us.saturating_add(self.rules.again_us);
        self.apart.record_too_far(one, other, again_us);
    }

    /// Nobody else can come: the time of everybody is up.
    pub fn expire_waits(&mut self, now_us: u64) {
        let waiting = self.waiting.iter_mut();
        waiting.for_each(|w| w.until_us = w.until_us.min(now_us));
    }

    /// Does what is due by the clock, and forms the groups that are possible.
    pub fn handle_timeout(&mut self, now_us: u64, match_rules: &dyn MatchRules<P>) {
        self.look_for_life(now_us);
        self.try_again(now_us);
        while let Some(at) = self.waiting.iter().position(|w| !w.is_tried) {
            self.waiting[at].is_tried = true;
            if let Some(group) = self.group_of(at, match_rules) {
                self.form(group);
            }
        }
        while let Some(at) = self.overdue(now_us) {
            self.time_is_up(now_us, at, match_rules);
        }
    }

    /// Asks people for a sign of life who gave none for long, and removes those who did not answer.
    fn look_for_life(&mut self, now_us: u64) {
        let (grace_us, follows) = (self.rules.grace_us, self.follows());
        let prompt_us = self.rules.prompt_us;
        for waiting in &mut self.waiting {
            let asked_us = waiting.seen_us.saturating_add(prompt_us);
            // The question when the time is up shows whether they are there.
            let is_up = waiting.state == WaitState::Here && waiting.until_us <= asked_us;
            let is_prompted = matches!(waiting.state, WaitState::Prompted(_));
            if asked_us <= now_us && !is_prompted && !(follows && is_up) {
                waiting.state = WaitState::Prompted(now_us.saturating_add(grace_us));
            }
        }
        let is_lost =
            |w: &Waiting<P>| matches!(w.state, WaitState::Prompted(until) if until <= now_us);
        while let Some(at) = self.waiting.iter().position(is_lost) {
            let lost = self.waiting.remove(at);
            self.events
                .extend(lost.map(|waiting| LobbyEvent::GaveUp(waiting.person)));
        }
    }

    /// Searches again for a group for those who may be measured again.
    fn try_again(&mut self, now_us: u64) {
        let before_us = std::mem::replace(&mut self.settled_us, now_us);
        for (one, other) in self.apart.due_pairs(before_us, now_us) {
            let pair = self.waiting.iter_mut();
            let pair = pair.filter(|w| w.person == one || w.person == other);
            pair.for_each(|waiting| waiting.is_tried = false);
        }
    }

    /// Returns a person who is there, whose time is up, and for whom this has a consequence.
    fn overdue(&self, now_us: u64) -> Option<usize> {
        let follows = self.follows();
        let mut waiting = self.waiting.iter();
        waiting.position(|w| follows && w.state == WaitState::Here && w.until_us <= now_us)
    }

    /// True if anything follows when the time is up.
    fn follows(&self) -> bool {
        self.rules.on_timeout != OnTimeout::Wait
    }

    fn time_is_up(&mut self, now_us: u64, at: usize, match_rules: &dyn MatchRules<P>) {
        match self.rules.on_timeout {
            OnTimeout::Wait => {}
            // They have as long to choose as they may be quiet.
            OnTimeout::Ask => {
                self.waiting[at].state = WaitState::Asked;
                self.waiting[at].seen_us = now_us;
            }
            OnTimeout::Leave => {
                let left = self.waiting.remove(at);
                self.events
                    .extend(left.map(|waiting| LobbyEvent::Left(waiting.person)));
            }
            // AI partners take the places that are empty; others who may be with this person need not wait either.
            OnTimeout::Bot => {
                let group = self.largest_group(at, match_rules);
                self.form(group);
            }
        }
    }

    /// Returns as many people with this one as the study wants together, by the order of those who wait; alone,
    /// everybody is wanted.
    fn largest_group(&self, at: usize, match_rules: &dyn MatchRules<P>) -> Vec<usize> {
        let others = self.others(at);
        let near = MatchPolicy {
            match_rules,
            again: false,
        };
        let most = self.size().min(others.len() + 1);
        let groups = (2..=most).rev().find_map(|size| {
            let (mut group, mut tries) = (vec![at], MOST_TRIES);
            let found = self.search(&mut group, &others, size, &mut tries, near);
            found.then_some(group)
        });
        groups.unwrap_or_else(|| vec![at])
    }

    /// The others who can be put into a group, in their order.
    fn others(&self, at: usize) -> Vec<usize> {
        let is_there =
            |other: &usize| !matches!(self.waiting[*other].state, WaitState::Prompted(_));
        let others = (0..self.waiting.len()).filter(|other| *other != at);
        others.filter(is_there).collect()
    }

    /// Returns the first group with this person, by the order of those who wait.
    fn group_of(&mut self, at: usize, match_rules: &dyn MatchRules<P>) -> Option<Vec<usize>> {
        if matches!(self.waiting[at].state, WaitState::Prompted(_)) {
            return None;
        }
        let mut others = self.others(at);
        if self.rules.order == MatchOrder::Random {
            self.rng().shuffle(&mut others);
        }
        // Who was too far away is only called when nobody else is there.
        [false, true].into_iter().find_map(|again| {
            let (mut group, mut tries) = (vec![at], MOST_TRIES);
            let found = self.search(
                &mut group,
                &others,
                self.size(),
                &mut tries,
                MatchPolicy { match_rules, again },
            );
            found.then_some(group)
        })
    }

    /// Completes a group of a size with some of the others, in their order, if that can be.
    fn search(
        &self,
        group: &mut Vec<usize>,
        others: &[usize],
        size: usize,
        tries: &mut usize,
        near: MatchPolicy<'_, P>,
    ) -> bool {
        if group.len() == size {
            let mut people = group.clone();
            people.sort_unstable();
            let people: Vec<P> = people.iter().map(|at| self.waiting[*at].person).collect();
            return near.match_rules.is_wanted(&people);
        }
        for (number, &other) in others.iter().enumerate() {
            if others.len() - number < size - group.len() || *tries == 0 {
                return false;
            }
            *tries -= 1;
            if group.iter().all(|one| self.may_meet(*one, other, near)) {
                group.push(other);
                if self.search(group, &others[number + 1..], size, tries, near) {
                    return true;
                }
                group.pop();
            }
        }
        false
    }

    fn may_meet(&self, one: usize, other: usize, near: MatchPolicy<'_, P>) -> bool {
        let (one, other) = (self.waiting[one].person, self.waiting[other].person);
        let is_free = match near.again {
            true => self.apart.may_measure(one, other, self.settled_us),
            false => !self.apart.is_apart(one, other),
        };
        is_free && near.match_rules.may_meet(one, other)
    }

    /// Takes people out as a group. Their places are by order of arrival, or drawn.
    fn form(&mut self, mut group: Vec<usize>) {
        group.sort_unstable();
        let mut people: Vec<P> = group.iter().map(|at| self.waiting[*at].person).collect();
        for at in group.into_iter().rev() {
            self.waiting.remove(at);
        }
        if self.rules.order == MatchOrder::Random {
            self.rng().shuffle(&mut people);
        }
        self.events.push_back(LobbyEvent::Formed(people));
    }

    fn rng(&mut self) -> Rng {
        self.drawn += 1;
        Rng::of(self.rules.seed, &[self.drawn])
    }

    fn size(&self) -> usize {
        usize::from(self.rules.group_size.max(1))
    }

    fn find(&self, person: P) -> Option<usize> {
        self.waiting.iter().position(|w| w.person == person)
    }

    /// The time at which [`Self::handle_timeout`] must be called even if nothing happens, microseconds, and its reason.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        let follows = self.follows();
        let next = |w: &Waiting<P>| {
            let prompt = (w.seen_us.saturating_add(self.rules.prompt_us), "prompt");
            match w.state {
                WaitState::Prompted(until_us) => (until_us, "no answer to the prompt"),
                WaitState::Here if follows => prompt.min((w.until_us, "end of the wait")),
                WaitState::Here | WaitState::Asked => prompt,
            }
        };
        let is_here = |person: P| self.find(person).is_some();
        let again_us = self.apart.next_us(self.settled_us, is_here);
        let again = again_us.map(|at_us| (at_us, "second measurement"));
        self.waiting.iter().map(next).chain(again).min()
    }

    /// Takes the next result.
    pub fn poll_event(&mut self) -> Option<LobbyEvent<P>> {
        self.events.pop_front()
    }

    /// The people who wait, the start and the end of their waits, microseconds, and their states.
    pub fn waiting_people(&self) -> impl Iterator<Item = (P, u64, u64, WaitState)> {
        let waiting = self.waiting.iter();
        waiting.map(|w| (w.person, w.since_us, w.until_us, w.state))
    }

    /// The rules.
    pub fn rules(&self) -> &LobbyRules {
        &self.rules
    }
}

#[cfg(test)]
mod tests;
