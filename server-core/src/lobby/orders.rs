//! Changes by a researcher for somebody who waits.

use super::{Lobby, LobbyEvent, WaitState};

impl<P: Copy + Ord> Lobby<P> {
    /// True if something follows when the time of somebody is up.
    pub fn ends_waits(&self) -> bool {
        self.follows()
    }

    /// Gives somebody who waits the waiting time of the lobby again, from the end of theirs or from now on; returns
    /// true if they wait here and their time ends.
    pub fn extend_wait(&mut self, now_us: u64, person: P) -> bool {
        let Some(at) = self.find(person).filter(|_| self.follows()) else {
            return false;
        };
        let waiting = &mut self.waiting[at];
        let until_us = waiting.until_us.max(now_us);
        waiting.until_us = until_us.saturating_add(self.rules.timeout_us);
        if waiting.state == WaitState::Asked {
            (waiting.state, waiting.is_tried) = (WaitState::Here, false);
        }
        true
    }

    /// Lets somebody who waits continue without other people; returns true if they wait here.
    pub fn form_alone(&mut self, person: P) -> bool {
        let is_here = self.handle_leave(person);
        if is_here {
            self.events.push_back(LobbyEvent::Formed(vec![person]));
        }
        is_here
    }
}

#[cfg(test)]
mod tests {
    use study::stage::{MatchOrder, OnTimeout};

    use crate::lobby::{LobbyRules, MatchRules};

    use super::*;

    struct Anybody;

    impl MatchRules<u8> for Anybody {
        fn may_meet(&self, _: u8, _: u8) -> bool {
            true
        }

        fn is_wanted(&self, _: &[u8]) -> bool {
            true
        }
    }

    fn lobby(on_timeout: OnTimeout) -> Lobby<u8> {
        Lobby::new(LobbyRules {
            group_size: 2,
            order: MatchOrder::Fifo,
            timeout_us: 100,
            spread_us: 0,
            on_timeout,
            prompt_us: 100_000,
            grace_us: 100,
            again_us: 100,
            capacity: 10,
            seed: 1,
        })
    }

    #[test]
    fn a_longer_wait_puts_the_end_off_and_takes_a_question_back() {
        let mut leaving = lobby(OnTimeout::Leave);
        leaving.handle_join(0, 1, 0).unwrap();
        assert!(leaving.extend_wait(50, 1));
        leaving.handle_timeout(199, &Anybody);
        assert_eq!(leaving.poll_event(), None);
        leaving.handle_timeout(200, &Anybody);
        assert_eq!(leaving.poll_event(), Some(LobbyEvent::Left(1)));
        assert!(!leaving.extend_wait(200, 1), "they are gone");

        let mut asking = lobby(OnTimeout::Ask);
        asking.handle_join(0, 1, 0).unwrap();
        asking.handle_timeout(100, &Anybody);
        let state = |lobby: &Lobby<u8>| lobby.waiting_people().next().map(|found| found.3);
        assert_eq!(state(&asking), Some(WaitState::Asked));
        assert!(asking.extend_wait(150, 1));
        assert_eq!(state(&asking), Some(WaitState::Here));
        assert!(!lobby(OnTimeout::Wait).ends_waits());
    }

    #[test]
    fn somebody_goes_on_alone_once() {
        let mut lobby = lobby(OnTimeout::Bot);
        lobby.handle_join(0, 1, 0).unwrap();
        assert!(lobby.form_alone(1));
        assert_eq!(lobby.poll_event(), Some(LobbyEvent::Formed(vec![1])));
        assert!(!lobby.form_alone(1));
    }
}
