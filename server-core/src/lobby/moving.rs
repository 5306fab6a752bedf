//! Somebody who is moved from one waiting room to another of the same rules, and keeps their place in time.

use super::kept_apart::Pair;
use super::{JoinRefused, Lobby, Waiting};

/// Somebody between two rooms: their wait, and the people from whom they are kept apart.
#[derive(Debug)]
pub struct MovingPerson<P> {
    waiting: Waiting<P>,
    pairs: Vec<((P, P), Pair)>,
}

impl<P: Copy + Ord> Lobby<P> {
    /// Takes somebody out who will wait elsewhere; `None` if they do not wait here.
    pub fn take_out(&mut self, person: P) -> Option<MovingPerson<P>> {
        let at = self.find(person)?;
        let waiting = self.waiting.remove(at)?;
        let pairs = self.apart.pairs_of(person);
        Some(MovingPerson { waiting, pairs })
    }

    /// Lets somebody in who waited elsewhere, as if they had waited here.
    ///
    /// # Errors
    /// [`JoinRefused`]; the lobby is then unchanged.
    pub fn put_in(&mut self, moving: MovingPerson<P>) -> Result<(), JoinRefused> {
        let MovingPerson { mut waiting, pairs } = moving;
        if self.find(waiting.person).is_some() {
            return Err(JoinRefused::Waiting);
        }
        if self.is_full() {
            return Err(JoinRefused::Full);
        }
        waiting.is_tried = false;
        let earlier = |known: &Waiting<P>| known.since_us <= waiting.since_us;
        let place = self.waiting.partition_point(earlier);
        self.waiting.insert(place, waiting);
        self.apart.add_pairs(pairs);
        Ok(())
    }

    /// True if as many people wait here as the lobby holds.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= self.rules.capacity
    }
}

#[cfg(test)]
mod tests {
    use study::stage::{MatchOrder, OnTimeout};

    use crate::lobby::{LobbyEvent, LobbyRules, MatchRules, WaitState};

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

    fn lobby(capacity: usize) -> Lobby<u8> {
        Lobby::new(LobbyRules {
            group_size: 2,
            order: MatchOrder::Fifo,
            timeout_us: 100,
            spread_us: 0,
            on_timeout: OnTimeout::Leave,
            prompt_us: 100_000,
            grace_us: 100,
            again_us: 100,
            capacity,
            seed: 1,
        })
    }

    #[test]
    fn somebody_who_is_moved_keeps_their_time_and_comes_before_those_who_came_later() {
        let (mut from, mut to) = (lobby(10), lobby(10));
        from.handle_join(10, 1, 10).unwrap();
        from.extend_wait(10, 1);
        to.handle_join(20, 2, 20).unwrap();
        let moving = from.take_out(1).unwrap();
        assert!(from.take_out(1).is_none(), "they are gone");
        to.put_in(moving).unwrap();
        let waiting: Vec<_> = to.waiting_people().collect();
        assert_eq!(waiting[0], (1, 10, 210, WaitState::Here));
        to.handle_timeout(30, &Anybody);
        assert_eq!(to.poll_event(), Some(LobbyEvent::Formed(vec![1, 2])));
    }

    #[test]
    fn people_who_are_kept_apart_stay_so_in_another_room() {
        let (mut from, mut to) = (lobby(10), lobby(10));
        for person in [1, 2] {
            from.handle_join(0, person, 0).unwrap();
        }
        from.keep_apart(1, 2);
        for person in [1, 2] {
            to.put_in(from.take_out(person).unwrap()).unwrap();
        }
        to.handle_timeout(1, &Anybody);
        assert_eq!(to.poll_event(), None);
    }

    #[test]
    fn a_full_room_takes_nobody() {
        let (mut from, mut to) = (lobby(10), lobby(1));
        from.handle_join(0, 1, 0).unwrap();
        to.handle_join(0, 2, 0).unwrap();
        let moving = from.take_out(1).unwrap();
        assert_eq!(to.put_in(moving), Err(JoinRefused::Full));
        assert_eq!(to.waiting_people().count(), 1);
    }
}
