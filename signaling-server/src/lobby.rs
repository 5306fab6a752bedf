//! The waiting room of one lobby stage: a state machine that makes groups of those who wait.
//!
//! It owns who waits and since when. It must not know of connections, sessions, episodes or clocks:
//! every call takes `now_us`, and what follows comes out of [`Lobby::poll_formed`].

use std::collections::VecDeque;

use study::stage::OnTimeout;

/// The rules of a lobby.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// People of a group, at least 1.
    pub group_size: u16,
    /// How long a person waits until [`Rules::on_timeout`], microseconds.
    pub timeout_us: u64,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// The most people who wait at once.
    pub capacity: usize,
}

/// Why nobody was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// As many people wait as the lobby holds.
    #[error("the lobby is full")]
    Full,
    /// The person waits here already.
    #[error("this person waits already")]
    Waiting,
}

#[derive(Debug)]
struct Waiting<P> {
    person: P,
    since_us: u64,
    /// Set once a person who may wait on has been told of the timeout.
    overdue: bool,
}

/// People who wait for a group.
#[derive(Debug)]
pub struct Lobby<P> {
    rules: Rules,
    waiting: VecDeque<Waiting<P>>,
    formed: VecDeque<Vec<P>>,
}

impl<P: Copy + Eq> Lobby<P> {
    /// Opens an empty lobby.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            waiting: VecDeque::new(),
            formed: VecDeque::new(),
        }
    }

    /// Lets a person in who has waited since `since_us`: now, or earlier if their last group came to nothing.
    ///
    /// # Errors
    /// [`Refused`]; the lobby is then unchanged.
    pub fn join(&mut self, now_us: u64, person: P, since_us: u64) -> Result<(), Refused> {
        if self.waiting.iter().any(|w| w.person == person) {
            return Err(Refused::Waiting);
        }
        if self.waiting.len() >= self.rules.capacity {
            return Err(Refused::Full);
        }
        let place = self.waiting.partition_point(|w| w.since_us <= since_us);
        self.waiting.insert(
            place,
            Waiting {
                person,
                since_us,
                overdue: false,
            },
        );
        let size = usize::from(self.rules.group_size.max(1));
        if self.waiting.len() >= size {
            self.formed
                .push_back(self.waiting.drain(..size).map(|w| w.person).collect());
        }
        self.handle_timeout(now_us);
        Ok(())
    }

    /// Takes a person out; true if they waited here.
    pub fn leave(&mut self, person: P) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|w| w.person != person);
        self.waiting.len() < before
    }

    /// Decides for those whose time is up.
    pub fn handle_timeout(&mut self, now_us: u64) {
        let up = |w: &Waiting<P>| now_us.saturating_sub(w.since_us) >= self.rules.timeout_us;
        match self.rules.on_timeout {
            OnTimeout::Wait => self
                .waiting
                .iter_mut()
                .filter(|w| up(w))
                .for_each(|w| w.overdue = true),
            // The time of the first is up: AI partners take the places that are empty.
            OnTimeout::Bot if self.waiting.front().is_some_and(up) => {
                self.formed
                    .push_back(self.waiting.drain(..).map(|w| w.person).collect());
            }
            OnTimeout::Bot => {}
        }
    }

    /// When [`Self::handle_timeout`] wants to be called, microseconds.
    pub fn poll_timeout(&self) -> Option<u64> {
        let next = self.waiting.iter().find(|w| !w.overdue)?;
        Some(next.since_us.saturating_add(self.rules.timeout_us))
    }

    /// The next group that was made: people in the order in which they came; AI partners take the seats left over.
    pub fn poll_formed(&mut self) -> Option<Vec<P>> {
        self.formed.pop_front()
    }

    /// Who waits, and how long each has until the timeout, microseconds.
    pub fn waiting(&self, now_us: u64) -> impl Iterator<Item = (P, u64)> {
        let timeout_us = self.rules.timeout_us;
        self.waiting
            .iter()
            .map(move |w| (w.person, (w.since_us + timeout_us).saturating_sub(now_us)))
    }

    /// People of a group.
    pub fn group_size(&self) -> u16 {
        self.rules.group_size
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn lobby(on_timeout: OnTimeout) -> Lobby<u32> {
        Lobby::new(Rules {
            group_size: 2,
            timeout_us: 1_000,
            on_timeout,
            capacity: 3,
        })
    }

    #[test]
    fn two_people_make_a_group_in_the_order_of_arrival() {
        let mut lobby = lobby(OnTimeout::Bot);
        lobby.join(0, 7, 0).unwrap();
        assert_eq!(lobby.poll_formed(), None);
        lobby.join(5, 3, 5).unwrap();
        assert_eq!(lobby.poll_formed(), Some(vec![7, 3]));
        assert_eq!(lobby.poll_timeout(), None);
    }

    #[test]
    fn a_lone_person_gets_a_partner_exactly_at_the_timeout() {
        let mut lobby = lobby(OnTimeout::Bot);
        lobby.join(10, 7, 10).unwrap();
        assert_eq!(lobby.poll_timeout(), Some(1_010));
        lobby.handle_timeout(1_009);
        assert_eq!(lobby.poll_formed(), None);
        lobby.handle_timeout(1_010);
        assert_eq!(lobby.poll_formed(), Some(vec![7]));
    }

    #[test]
    fn a_person_who_waits_on_is_told_once_and_still_matched() {
        let mut lobby = lobby(OnTimeout::Wait);
        lobby.join(0, 7, 0).unwrap();
        lobby.handle_timeout(1_000);
        assert_eq!((lobby.poll_formed(), lobby.poll_timeout()), (None, None));
        lobby.join(5_000, 8, 5_000).unwrap();
        assert_eq!(lobby.poll_formed(), Some(vec![7, 8]));
    }

    #[test]
    fn a_returning_person_keeps_the_time_already_waited() {
        let mut lobby = lobby(OnTimeout::Bot);
        lobby.join(2_000, 7, 900).unwrap();
        assert_eq!(lobby.poll_formed(), Some(vec![7]));
    }

    #[test]
    fn a_full_lobby_and_a_second_visit_are_refused() {
        let mut lobby = Lobby::new(Rules {
            group_size: 9,
            timeout_us: 1,
            on_timeout: OnTimeout::Wait,
            capacity: 1,
        });
        lobby.join(0, 1, 0).unwrap();
        assert_eq!(lobby.join(0, 1, 0), Err(Refused::Waiting));
        assert_eq!(lobby.join(0, 2, 0), Err(Refused::Full));
        assert!(lobby.leave(1));
        assert!(!lobby.leave(1));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Join(u32),
        Leave(u32),
        Wait(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..12_u32).prop_map(Step::Join),
            1 => (0..12_u32).prop_map(Step::Leave),
            2 => (0..1_500_u64).prop_map(Step::Wait),
        ];
        prop::collection::vec(step, 0..200)
    }

    fn choice() -> impl Strategy<Value = OnTimeout> {
        prop_oneof![Just(OnTimeout::Bot), Just(OnTimeout::Wait)]
    }

    proptest! {
        /// Every person is in exactly one place: outside, waiting, or in one group with others.
        #[test]
        fn nobody_is_in_two_places(steps in steps(), size in 1_u16..5, on_timeout in choice()) {
            let rules = Rules { group_size: size, timeout_us: 1_000, on_timeout, capacity: 8 };
            let mut lobby = Lobby::new(rules);
            let mut since = BTreeMap::new();
            let mut now = 0;
            for step in steps {
                match step {
                    Step::Join(who) => {
                        let room = since.len() < 8;
                        let joined = lobby.join(now, who, now);
                        prop_assert_eq!(joined.is_ok(), room && !since.contains_key(&who));
                        if joined.is_ok() {
                            since.insert(who, now);
                        }
                    }
                    Step::Leave(who) => prop_assert_eq!(lobby.leave(who), since.remove(&who).is_some()),
                    Step::Wait(us) => {
                        now += us;
                        lobby.handle_timeout(now);
                    }
                }
                while let Some(people) = lobby.poll_formed() {
                    prop_assert!((1..=usize::from(size)).contains(&people.len()));
                    let short = people.len() < usize::from(size);
                    let mut overdue = false;
                    for person in people {
                        // Removing proves that the person waited, and is named once.
                        let came = since.remove(&person);
                        prop_assert!(came.is_some());
                        overdue |= now - came.unwrap() >= 1_000;
                    }
                    prop_assert!(overdue || !short);
                }
                prop_assert!(since.len() < usize::from(size));
                let waiting: Vec<u32> = lobby.waiting(now).map(|(who, _)| who).collect();
                prop_assert_eq!(waiting.len(), since.len());
                prop_assert!(waiting.iter().all(|who| since.contains_key(who)));
                prop_assert!(on_timeout == OnTimeout::Wait || since.values().all(|s| now - s < 1_000));
            }
        }
    }
}
