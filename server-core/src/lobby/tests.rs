use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::kept_apart::MOST_MEASURED;
use super::*;

const AGAIN_US: u64 = 400;

/// Pairs that may not meet; with `mixed`, a group is wanted only if its people are not all even or all odd.
#[derive(Clone, Debug, Default)]
struct Wanted {
    apart: BTreeSet<(u32, u32)>,
    mixed: bool,
}

impl MatchRules<u32> for Wanted {
    fn may_meet(&self, one: u32, other: u32) -> bool {
        !self.apart.contains(&(one.min(other), one.max(other)))
    }

    fn is_wanted(&self, people: &[u32]) -> bool {
        let odd = people.iter().filter(|person| *person % 2 == 1).count();
        !self.mixed || people.len() < 2 || (odd > 0 && odd < people.len())
    }
}

fn rules(on_timeout: OnTimeout) -> LobbyRules {
    LobbyRules {
        group_size: 2,
        order: MatchOrder::Fifo,
        timeout_us: 1_000,
        spread_us: 0,
        on_timeout,
        prompt_us: 100_000,
        grace_us: 50,
        again_us: AGAIN_US,
        capacity: 200,
        seed: 7,
    }
}

fn lobby(on_timeout: OnTimeout) -> Lobby<u32> {
    Lobby::new(rules(on_timeout))
}

fn join(lobby: &mut Lobby<u32>, now_us: u64, person: u32) -> Option<LobbyEvent<u32>> {
    lobby.handle_join(now_us, person, now_us).unwrap();
    handle_timeout(lobby, now_us)
}

fn handle_timeout(lobby: &mut Lobby<u32>, now_us: u64) -> Option<LobbyEvent<u32>> {
    lobby.handle_timeout(now_us, &Wanted::default());
    lobby.poll_event()
}

fn formed(people: &[u32]) -> Option<LobbyEvent<u32>> {
    Some(LobbyEvent::Formed(people.to_vec()))
}

fn state(lobby: &Lobby<u32>, person: u32) -> Option<WaitState> {
    let mut waiting = lobby.waiting_people();
    waiting
        .find(|(who, ..)| *who == person)
        .map(|(.., state)| state)
}

#[test]
fn two_people_make_a_group_in_the_order_of_arrival() {
    let mut lobby = lobby(OnTimeout::Bot);
    assert_eq!(join(&mut lobby, 0, 7), None);
    assert_eq!(join(&mut lobby, 5, 3), formed(&[7, 3]));
    assert_eq!(lobby.poll_timeout(), None);
}

#[test]
fn a_lone_person_gets_a_partner_exactly_at_the_timeout() {
    let mut lobby = lobby(OnTimeout::Bot);
    join(&mut lobby, 10, 7);
    assert_eq!(lobby.poll_timeout(), Some((1_010, "end of the wait")));
    assert_eq!(handle_timeout(&mut lobby, 1_009), None);
    assert_eq!(handle_timeout(&mut lobby, 1_010), formed(&[7]));
}

#[test]
fn the_end_of_a_wait_is_drawn_and_stays_that_of_somebody_who_comes_back() {
    let rules = LobbyRules {
        spread_us: 300,
        ..rules(OnTimeout::Bot)
    };
    let end_of = |since_us: u64, now_us: u64| {
        let mut lobby = Lobby::new(rules);
        lobby.handle_join(now_us, 7, since_us).unwrap();
        let until_us = lobby.waiting_people().next().unwrap().2;
        until_us - since_us
    };
    let ends: BTreeSet<u64> = (0..50).map(|since_us| end_of(since_us, since_us)).collect();
    assert!(ends.len() > 20, "{ends:?}");
    assert!(
        ends.iter().all(|end| (700..=1_000).contains(end)),
        "{ends:?}"
    );
    assert_eq!(end_of(9, 9), end_of(9, 400));
}

#[test]
fn a_person_who_waits_on_is_still_matched() {
    let mut lobby = lobby(OnTimeout::Wait);
    join(&mut lobby, 0, 7);
    assert_eq!(handle_timeout(&mut lobby, 1_000), None);
    assert_eq!(lobby.poll_timeout(), Some((100_000, "prompt")));
    assert_eq!(join(&mut lobby, 5_000, 8), formed(&[7, 8]));
}

#[test]
fn a_person_whose_time_is_up_may_have_to_leave() {
    let mut lobby = lobby(OnTimeout::Leave);
    join(&mut lobby, 0, 7);
    assert_eq!(handle_timeout(&mut lobby, 999), None);
    assert_eq!(handle_timeout(&mut lobby, 1_000), Some(LobbyEvent::Left(7)));
    assert_eq!(lobby.waiting_people().count(), 0);
}

#[test]
fn a_person_whose_time_is_up_chooses_and_is_matched_until_then() {
    for (choice, news) in [
        (TimeoutChoice::Wait, None),
        (TimeoutChoice::Bot, formed(&[7])),
        (TimeoutChoice::Leave, Some(LobbyEvent::Left(7))),
    ] {
        let mut lobby = lobby(OnTimeout::Ask);
        join(&mut lobby, 0, 7);
        // Nobody is asked before.
        lobby.handle_choice(999, 7, TimeoutChoice::Leave);
        assert_eq!(handle_timeout(&mut lobby, 1_000), None);
        assert_eq!(state(&lobby, 7), Some(WaitState::Asked));
        lobby.handle_choice(1_200, 7, choice);
        assert_eq!(handle_timeout(&mut lobby, 1_200), news);
        if choice == TimeoutChoice::Wait {
            assert_eq!(handle_timeout(&mut lobby, 2_199), None);
            assert_eq!(state(&lobby, 7), Some(WaitState::Here));
            handle_timeout(&mut lobby, 2_200);
            assert_eq!(state(&lobby, 7), Some(WaitState::Asked));
            assert_eq!(join(&mut lobby, 2_300, 8), formed(&[7, 8]));
        }
    }
}

#[test]
fn who_gives_no_sign_of_life_is_asked_and_loses_the_place() {
    let mut lobby = Lobby::new(LobbyRules {
        prompt_us: 300,
        ..rules(OnTimeout::Bot)
    });
    join(&mut lobby, 0, 7);
    assert!(!lobby.handle_presence(200, 7));
    assert_eq!(lobby.poll_timeout(), Some((500, "prompt")));
    assert_eq!(handle_timeout(&mut lobby, 500), None);
    assert_eq!(state(&lobby, 7), Some(WaitState::Prompted(550)));
    let answer = Some((550, "no answer to the prompt"));
    assert_eq!(lobby.poll_timeout(), answer);
    // Nobody is put together with somebody who may not be there.
    assert_eq!(join(&mut lobby, 510, 8), None);
    assert!(lobby.handle_presence(520, 7));
    assert_eq!(handle_timeout(&mut lobby, 520), formed(&[7, 8]));
    join(&mut lobby, 600, 9);
    handle_timeout(&mut lobby, 900);
    assert_eq!(handle_timeout(&mut lobby, 949), None);
    assert_eq!(handle_timeout(&mut lobby, 950), Some(LobbyEvent::GaveUp(9)));
    assert_eq!(lobby.poll_timeout(), None);
}

#[test]
fn a_returning_person_keeps_the_time_already_waited() {
    let mut lobby = lobby(OnTimeout::Bot);
    lobby.handle_join(2_000, 7, 900).unwrap();
    assert_eq!(handle_timeout(&mut lobby, 2_000), formed(&[7]));
}

#[test]
fn people_who_are_kept_apart_wait_for_others() {
    let mut lobby = lobby(OnTimeout::Bot);
    lobby.keep_apart(8, 7);
    join(&mut lobby, 0, 7);
    assert_eq!(join(&mut lobby, 1, 8), None);
    assert_eq!(join(&mut lobby, 2, 9), formed(&[7, 9]));
    assert_eq!(join(&mut lobby, 3, 7), None);
    // An AI partner for one person is none for the other.
    assert_eq!(handle_timeout(&mut lobby, 1_001), formed(&[8]));
}

#[test]
fn a_group_that_an_ai_partner_completes_is_one_that_the_study_wants() {
    let wanted = Wanted {
        mixed: true,
        ..Wanted::default()
    };
    let at_the_end = |size: u16, people: &[u32]| {
        let mut lobby = Lobby::new(LobbyRules {
            group_size: size,
            ..rules(OnTimeout::Bot)
        });
        for person in people {
            lobby.handle_join(0, *person, 0).unwrap();
            lobby.handle_timeout(0, &wanted);
        }
        lobby.handle_timeout(1_000, &wanted);
        Vec::from_iter(std::iter::from_fn(|| lobby.poll_event()))
    };
    // All of one kind: everybody is alone with AI partners.
    let alone = |who: u32| LobbyEvent::Formed(vec![who]);
    assert_eq!(at_the_end(2, &[1, 3]), [alone(1), alone(3)]);
    assert_eq!(at_the_end(3, &[1, 3]), [alone(1), alone(3)]);
    // As many people together as are wanted, also past somebody who does not fit.
    let pair = LobbyEvent::Formed(vec![1, 2]);
    assert_eq!(at_the_end(4, &[1, 2]), [pair]);
    let three = LobbyEvent::Formed(vec![1, 3, 2]);
    assert_eq!(at_the_end(4, &[1, 3, 2]), [three]);
}

#[test]
fn people_who_were_too_far_apart_are_measured_again_a_few_times() {
    let mut lobby = lobby(OnTimeout::Wait);
    let mut now_us = 0;
    lobby.handle_join(now_us, 7, 0).unwrap();
    for _ in 0..MOST_MEASURED {
        assert_eq!(join(&mut lobby, now_us, 8), formed(&[7, 8]));
        lobby.handle_too_far(now_us, 8, 7);
        lobby.handle_join(now_us, 7, 0).unwrap();
        assert_eq!(join(&mut lobby, now_us, 8), None);
        now_us += AGAIN_US;
        assert_eq!(handle_timeout(&mut lobby, now_us - 1), None);
        lobby.handle_leave(8);
    }
    assert_eq!(join(&mut lobby, now_us, 8), None, "that was the last time");
    assert_eq!(handle_timeout(&mut lobby, now_us + 10 * AGAIN_US), None);
}

#[test]
fn the_lobby_wakes_up_to_have_two_people_measured_again() {
    let mut lobby = Lobby::new(LobbyRules {
        prompt_us: 10 * AGAIN_US,
        ..rules(OnTimeout::Wait)
    });
    lobby.handle_too_far(5, 8, 7);
    join(&mut lobby, 5, 7);
    let alone = Some((5 + 10 * AGAIN_US, "prompt"));
    assert_eq!(lobby.poll_timeout(), alone);
    assert_eq!(join(&mut lobby, 6, 8), None);
    let both = Some((5 + AGAIN_US, "second measurement"));
    assert_eq!(lobby.poll_timeout(), both);
    assert_eq!(handle_timeout(&mut lobby, 5 + AGAIN_US), formed(&[7, 8]));
}

#[test]
fn who_is_measured_again_waits_for_nobody_better() {
    let mut lobby = lobby(OnTimeout::Wait);
    lobby.handle_too_far(0, 7, 8);
    for person in [7, 8, 9] {
        lobby.handle_join(AGAIN_US, person, AGAIN_US).unwrap();
    }
    assert_eq!(handle_timeout(&mut lobby, AGAIN_US), formed(&[7, 9]));
    assert_eq!(lobby.poll_event(), None);
    // Whose page answers nobody is not called again.
    lobby.keep_apart(7, 8);
    assert_eq!(join(&mut lobby, 2 * AGAIN_US, 7), None);
}

#[test]
fn a_group_is_as_the_study_wants_it() {
    let wanted = Wanted {
        mixed: true,
        ..Wanted::default()
    };
    let mut lobby = lobby(OnTimeout::Bot);
    for person in [2, 4, 6] {
        lobby.handle_join(0, person, 0).unwrap();
        lobby.handle_timeout(0, &wanted);
    }
    assert_eq!(lobby.poll_event(), None);
    lobby.handle_join(5, 3, 5).unwrap();
    lobby.handle_timeout(5, &wanted);
    assert_eq!(lobby.poll_event(), formed(&[2, 3]));
}

#[test]
fn places_are_drawn_if_the_study_wants_it() {
    let mut firsts = BTreeSet::new();
    for seed in 0..20 {
        let rules = LobbyRules {
            order: MatchOrder::Random,
            seed,
            ..rules(OnTimeout::Bot)
        };
        let mut lobby = Lobby::new(rules);
        join(&mut lobby, 0, 1);
        let Some(LobbyEvent::Formed(people)) = join(&mut lobby, 0, 2) else {
            panic!("a group")
        };
        firsts.insert(people[0]);
    }
    assert_eq!(firsts, BTreeSet::from([1, 2]));
}

#[test]
fn a_full_lobby_and_a_second_visit_are_refused() {
    let rules = LobbyRules {
        group_size: 9,
        capacity: 1,
        ..rules(OnTimeout::Wait)
    };
    let mut lobby = Lobby::new(rules);
    lobby.handle_join(0, 1, 0).unwrap();
    assert_eq!(lobby.handle_join(0, 1, 0), Err(JoinRefused::Waiting));
    assert_eq!(lobby.handle_join(0, 2, 0), Err(JoinRefused::Full));
    assert!(lobby.handle_leave(1));
    assert!(!lobby.handle_leave(1));
}

#[test]
fn a_hundred_people_at_once_are_all_in_groups() {
    for size in 2..=16_u16 {
        for order in [MatchOrder::Fifo, MatchOrder::Random] {
            let rules = LobbyRules {
                group_size: size,
                order,
                ..rules(OnTimeout::Wait)
            };
            let mut lobby = Lobby::new(rules);
            (0..100).for_each(|person| lobby.handle_join(3, person, 3).unwrap());
            lobby.handle_timeout(3, &Wanted::default());
            let mut seen = BTreeSet::new();
            while let Some(LobbyEvent::Formed(people)) = lobby.poll_event() {
                assert_eq!(people.len(), usize::from(size));
                assert!(people.into_iter().all(|person| seen.insert(person)));
            }
            assert_eq!(seen.len(), 100 - 100 % usize::from(size));
            assert_eq!(lobby.waiting_people().count(), 100 % usize::from(size));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Join(u32),
    Leave(u32),
    Seen(u32),
    Choose(u32, TimeoutChoice),
    KeptApart(u32, u32),
    TooFar(u32, u32),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let choice = prop_oneof![
        Just(TimeoutChoice::Wait),
        Just(TimeoutChoice::Bot),
        Just(TimeoutChoice::Leave)
    ];
    let step = prop_oneof![
        6 => (0..12_u32).prop_map(Step::Join),
        1 => (0..12_u32).prop_map(Step::Leave),
        2 => (0..12_u32).prop_map(Step::Seen),
        2 => ((0..12_u32), choice).prop_map(|(who, choice)| Step::Choose(who, choice)),
        1 => ((0..12_u32), (0..12_u32)).prop_map(|(one, other)| Step::KeptApart(one, other)),
        1 => ((0..12_u32), (0..12_u32)).prop_map(|(one, other)| Step::TooFar(one, other)),
        3 => (0..800_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..200)
}

fn any_rules() -> impl Strategy<Value = LobbyRules> {
    let choice = prop_oneof![
        Just(OnTimeout::Bot),
        Just(OnTimeout::Wait),
        Just(OnTimeout::Leave),
        Just(OnTimeout::Ask)
    ];
    let order = prop_oneof![Just(MatchOrder::Fifo), Just(MatchOrder::Random)];
    (1_u16..5, choice, order, 200..2_000_u64).prop_map(
        |(group_size, on_timeout, order, prompt_us)| LobbyRules {
            group_size,
            order,
            prompt_us,
            capacity: 8,
            ..rules(on_timeout)
        },
    )
}

/// True if some of these people could be a group with each other.
fn could_be(people: &[u32], size: usize, fits: &dyn Fn(&[u32]) -> bool) -> bool {
    (0..1_u32 << people.len()).any(|set| {
        let chosen = (0..).zip(people).filter(|(at, _)| set & (1 << at) != 0);
        let chosen: Vec<u32> = chosen.map(|(_, person)| *person).collect();
        chosen.len() == size && fits(&chosen)
    })
}

/// A lobby, and what is known about it from outside.
struct Model {
    lobby: Lobby<u32>,
    rules: LobbyRules,
    wanted: Wanted,
    apart: BTreeSet<(u32, u32)>,
    /// How often people were too far apart, and until when they are not measured again.
    far: BTreeMap<(u32, u32), (u8, u64)>,
    now: u64,
    since: BTreeMap<u32, u64>,
    /// The last sign of life, or when they were asked to choose.
    seen: BTreeMap<u32, u64>,
    asked: BTreeSet<u32>,
}

impl Model {
    fn new(rules: LobbyRules, wanted: Wanted) -> Self {
        Self {
            lobby: Lobby::new(rules),
            rules,
            apart: wanted.apart.clone(),
            wanted,
            far: BTreeMap::new(),
            now: 0,
            since: BTreeMap::new(),
            seen: BTreeMap::new(),
            asked: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let now = self.now;
        match step {
            Step::Join(who) => {
                let is_free = self.since.len() < 8 && !self.since.contains_key(&who);
                prop_assert_eq!(self.lobby.handle_join(now, who, now).is_ok(), is_free);
                if is_free {
                    self.since.insert(who, now);
                    self.seen.insert(who, now);
                }
            }
            Step::Leave(who) => {
                let waited = self.since.remove(&who).is_some();
                prop_assert_eq!(self.lobby.handle_leave(who), waited);
            }
            Step::Seen(who) => {
                self.lobby.handle_presence(now, who);
                self.seen.insert(who, now);
            }
            Step::Choose(who, choice) => {
                self.lobby.handle_choice(now, who, choice);
                self.seen.insert(who, now);
            }
            Step::KeptApart(one, other) => {
                self.lobby.keep_apart(one, other);
                self.apart.insert((one.min(other), one.max(other)));
            }
            Step::TooFar(one, other) => {
                self.lobby.handle_too_far(now, one, other);
                let (measured, until) = self
                    .far
                    .entry((one.min(other), one.max(other)))
                    .or_default();
                *measured += 1;
                *until = if *measured < MOST_MEASURED {
                    now + AGAIN_US
                } else {
                    u64::MAX
                };
            }
            Step::Wait(us) => {
                // As a driver does: whenever the lobby wants it.
                let until = now + us;
                while let Some((at, _)) = self.lobby.poll_timeout().filter(|due| due.0 <= until) {
                    self.now = at;
                    self.handle_timeout()?;
                }
                self.now = until;
            }
        }
        self.handle_timeout()
    }

    fn handle_timeout(&mut self) -> Result<(), TestCaseError> {
        self.lobby.handle_timeout(self.now, &self.wanted);
        while let Some(news) = self.lobby.poll_event() {
            self.news(news)?;
        }
        self.look()
    }

    /// Removing proves that the person waited, and is named once.
    fn gone(&mut self, who: u32) -> Option<u64> {
        self.asked.remove(&who);
        self.since.remove(&who)
    }

    fn news(&mut self, news: LobbyEvent<u32>) -> Result<(), TestCaseError> {
        let (now, rules) = (self.now, self.rules);
        match news {
            LobbyEvent::Formed(people) => {
                let size = usize::from(rules.group_size);
                prop_assert!((1..=size).contains(&people.len()));
                let is_whole = people.len() == size && rules.on_timeout != OnTimeout::Bot;
                prop_assert!(!is_whole || self.wanted.is_wanted(&people));
                prop_assert!(self.may_all_meet(&people));
                for who in people {
                    let came = self.gone(who);
                    prop_assert!(came.is_some());
                    prop_assert!(now - self.seen[&who] < rules.prompt_us + rules.grace_us);
                }
            }
            LobbyEvent::GaveUp(who) => {
                prop_assert!(self.gone(who).is_some());
                prop_assert_eq!(now - self.seen[&who], rules.prompt_us + rules.grace_us);
            }
            LobbyEvent::Left(who) => {
                let came = self.gone(who);
                prop_assert!(came.is_some_and(|came| now - came >= 1_000));
            }
        }
        Ok(())
    }

    fn may_all_meet(&self, group: &[u32]) -> bool {
        let others = |at: usize| group[at + 1..].iter();
        let may_meet = |one: u32, other: u32| {
            let pair = (one.min(other), one.max(other));
            let is_far = self
                .far
                .get(&pair)
                .is_some_and(|(_, until)| *until > self.now);
            !is_far && !self.apart.contains(&pair)
        };
        group
            .iter()
            .enumerate()
            .all(|(at, one)| others(at).all(|other| may_meet(*one, *other)))
    }

    fn look(&mut self) -> Result<(), TestCaseError> {
        let waiting: Vec<_> = self.lobby.waiting_people().collect();
        prop_assert_eq!(waiting.len(), self.since.len());
        prop_assert!(waiting.iter().all(|(who, ..)| self.since.contains_key(who)));
        for (who, .., state) in &waiting {
            if *state != WaitState::Asked {
                self.asked.remove(who);
            } else if self.asked.insert(*who) {
                self.seen.insert(*who, self.now);
            }
        }
        let there = waiting
            .iter()
            .filter(|(.., state)| !matches!(state, WaitState::Prompted(_)));
        let there: Vec<u32> = there.map(|(who, ..)| *who).collect();
        let fits = |group: &[u32]| self.may_all_meet(group) && self.wanted.is_wanted(group);
        let size = usize::from(self.rules.group_size);
        prop_assert!(
            !could_be(&there, size, &fits),
            "{there:?} wait, and could be a group"
        );
        prop_assert!(
            self.lobby
                .poll_timeout()
                .is_none_or(|(at, _)| at > self.now)
        );
        Ok(())
    }
}

proptest! {
    /// Every person is in exactly one place: outside, waiting, or in one group with others who are there and whom they
    /// may meet; and nobody waits who could be in a group.
    #[test]
    fn nobody_is_in_two_places_and_nobody_is_stranded(
        steps in steps(),
        rules in any_rules(),
        pairs in prop::collection::btree_set((0..12_u32, 0..12_u32), 0..10),
        mixed: bool,
    ) {
        let ordered = pairs.into_iter().map(|(a, b)| (a.min(b), a.max(b)));
        let wanted = Wanted { apart: ordered.collect(), mixed };
        let mut model = Model::new(rules, wanted);
        for step in steps {
            model.step(step)?;
        }
    }
}
