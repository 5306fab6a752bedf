use protocol::control::{EndReason, Timing, Upload};
use protocol::datagram::MAX_INPUTS;
use protocol::log::{Header, LogWriter};

use super::super::tests::{
    Memory, PERSON, PageScript, ZERO, ai_controller, header, key, log_of, no_modules,
};
use super::super::{AppendedUpload, replay};
use super::*;

const ONE: Seat = Seat(1);
const VACANT: Controller = Controller::Vacant;

/// The input of a seat in a tick, whichever page plays it for a person.
fn pressed(seat: Seat, tick: u32) -> u16 {
    ((tick * 7 + u32::from(seat.0) * 3) / 2 % 5) as u16
}

/// Returns an upload of the page that plays a seat now: its inputs up to `to`, after the inputs that the archive has.
fn next(episode: &mut Episode, seat: Seat, to: u32) -> Upload {
    let from = episode.next_input(seat).0;
    let inputs = (from..to).map(|tick| pressed(seat, tick));
    let block = PageScript::resume(episode, seat).sign_block(from, inputs.collect());
    Upload {
        era: protocol::Era(1),
        life: episode.life(seat),
        block,
        changes: episode.changes().len() as u16,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: None,
    }
}

/// Lets the page of a seat send its inputs up to `to`, in one block for each stint.
fn say(episode: &mut Episode, seat: Seat, to: u32) -> AppendedUpload {
    let upload = next(episode, seat, to);
    episode.append_upload(seat, &upload).unwrap()
}

/// Lets the pages of all people send their inputs up to `to`, which are then final.
fn advance(episode: &mut Episode, to: u32) {
    for seat in [ZERO, ONE] {
        if episode.controller(seat) == Some(&PERSON) && episode.next_input(seat) < Tick(to) {
            say(episode, seat, to);
        }
    }
    assert_eq!(episode.recorded_through(), Tick(to));
}

fn two_people() -> (tempfile::TempDir, Episode) {
    let dir = tempfile::tempdir().unwrap();
    let episode = Episode::create(dir.path(), header([PERSON, PERSON], 40)).unwrap();
    (dir, episode)
}

fn give(episode: &mut Episode, seat: Seat, due: u32) -> Change {
    let page = Some(key(seat).verifying_key().to_bytes());
    episode
        .give_seat(seat, PERSON, page, Some(Tick(due)))
        .unwrap()
}

#[test]
fn nothing_moves_until_the_only_person_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut episode =
        Episode::create(dir.path(), header([PERSON, ai_controller("idle")], 40)).unwrap();
    say(&mut episode, ZERO, 6);
    episode.take_seat(ZERO, VACANT).unwrap();
    assert_eq!(
        episode.recorded_through(),
        Tick(6),
        "the others do not play to the end"
    );
    let change = give(&mut episode, ZERO, 8);
    assert_eq!((change.tick, change.from), (Tick(12), Tick(6)));
    assert_eq!(episode.snapshot().tick, Tick(6));
    // The first message of the page shows that it is there.
    let empty = next(&mut episode, ZERO, 12);
    assert_eq!(empty.block, None);
    assert_eq!(
        episode.append_upload(ZERO, &empty).unwrap().through,
        Tick(12)
    );
    assert_eq!(say(&mut episode, ZERO, 15).through, Tick(15));
}

#[test]
fn a_cut_is_where_the_own_page_said_last_and_brings_its_last_inputs() {
    let (_dir, mut episode) = two_people();
    say(&mut episode, ZERO, 4);
    say(&mut episode, ONE, 8);
    assert_eq!(episode.recorded_through(), Tick(4));
    let change = episode.take_seat(ONE, ai_controller("random")).unwrap();
    let expected = Change {
        number: 0,
        seat: ONE,
        tick: Tick(8),
        controller: ai_controller("random"),
        life: Life(1),
        from: Tick(8),
        // From the first tick that any page may lack.
        inputs: (0..8).map(|tick| pressed(ONE, tick)).collect(),
        key: None,
    };
    assert_eq!(change, expected);
    assert_eq!(
        log_of(&mut episode).records.last(),
        Some(&Record::Change(expected))
    );
    assert_eq!(episode.changes(), [change]);
    assert_eq!((episode.life(ZERO), episode.life(ONE)), (Life(0), Life(1)));
    assert_eq!(episode.controllers_at(Tick(7)), [PERSON, PERSON]);
    assert_eq!(
        episode.controllers_at(Tick(8)),
        [PERSON, ai_controller("random")]
    );
    // Nothing is awaited of the seat any more.
    say(&mut episode, ZERO, 12);
    assert_eq!(episode.recorded_through(), Tick(12));
    let played: Vec<u16> = episode.rows.chunks(2).map(|row| row[1]).collect();
    assert!((0..8).all(|tick| played[tick as usize] == pressed(ONE, tick)));
}

#[test]
fn ticks_that_only_the_taken_seat_kept_back_are_final_at_once() {
    let (_dir, mut episode) = two_people();
    say(&mut episode, ONE, 3);
    say(&mut episode, ZERO, 9);
    assert_eq!(episode.recorded_through(), Tick(3));
    let change = episode.take_seat(ONE, VACANT).unwrap();
    assert_eq!(
        (change.tick, episode.recorded_through()),
        (Tick(3), Tick(9))
    );
    let noop = episode.replica.spec().noop;
    assert!(episode.rows.chunks(2).skip(3).all(|row| row[1] == noop));
}

#[test]
fn a_change_brings_no_more_inputs_than_a_page_can_lack_and_none_of_an_earlier_page() {
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header([PERSON, PERSON], 600)).unwrap();
    advance(&mut episode, 500);
    say(&mut episode, ONE, 510);
    // The other page has sent no digest: perhaps it was sent other inputs, but that is not believed forever.
    let lacked = |episode: &Episode| episode.first_lacked(ONE).0;
    assert_eq!(lacked(&episode), 500 - 8 * MAX_INPUTS as u32);
    episode.pages[0].agreed = Tick(440);
    assert_eq!(lacked(&episode), 440);
    episode.pages[0].agreed = Tick(500);
    let first = 500 - MAX_INPUTS as u32;
    let change = episode.take_seat(ONE, VACANT).unwrap();
    let inputs = (first..510).map(|tick| pressed(ONE, tick));
    assert_eq!(change.inputs, inputs.collect::<Vec<_>>());
    advance(&mut episode, 520);
    let given = give(&mut episode, ONE, 521);
    advance(&mut episode, given.tick.0 + 3);
    let change = episode.take_seat(ONE, VACANT).unwrap();
    assert_eq!(change.inputs.len(), 3);
}

#[test]
fn inputs_far_beyond_what_is_final_are_told_in_order_and_cut_where_a_page_can_begin() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 9_000);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    advance(&mut episode, 50);
    for to in [8_000, 9_000] {
        say(&mut episode, ONE, to);
    }
    let parts = episode.known_inputs(ONE);
    let [known, rest] = &parts[..] else {
        panic!("{} parts", parts.len())
    };
    assert!(
        known.first < episode.recorded_through(),
        "{:?}",
        known.first
    );
    let inputs = known.inputs.iter().chain(&rest.inputs).copied();
    assert!(inputs.eq((known.first.0..9_000).map(|tick| pressed(ONE, tick))));
    assert_eq!(
        (rest.first, known.inputs.len()),
        (Tick(known.first.0 + 8_192), 8_192)
    );
    let change = episode.take_seat(ONE, VACANT).unwrap();
    assert_eq!(change.tick, Tick(50 + 8_192 - 8 * MAX_INPUTS as u32));
    let first = change.tick.0 - change.inputs.len() as u32;
    assert_eq!(first, known.first.0, "everybody can go on from there");
    // The page that is left plays on to the cut and beyond.
    for to in [8_000, 8_100] {
        say(&mut episode, ZERO, to);
    }
    assert_eq!(episode.recorded_through(), Tick(8_100));
    assert!(replay(&log_of(&mut episode), no_modules, |_, _| ()).is_ok());
}

#[test]
fn nobody_is_named_for_inputs_that_no_change_has_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header([PERSON, PERSON], 600)).unwrap();
    advance(&mut episode, 500);
    let change = episode.take_seat(ONE, VACANT).unwrap();
    let told = change.tick.0 - change.inputs.len() as u32;
    assert!(told > 0, "{told}");
    advance(&mut episode, 520);
    let mut claim = |recheck: u16, tick: u32, is_right: bool| {
        let digest = episode.replica.digest(Tick(tick)).unwrap();
        let upload = Upload {
            recheck,
            digests: vec![(Tick(tick), digest ^ u64::from(!is_right))],
            ..next(&mut episode, ZERO, 520)
        };
        let answer = episode.append_upload(ZERO, &upload).unwrap();
        if answer.recheck.is_some() {
            episode.recheck(ZERO);
        }
        (answer.recheck, answer.diverged)
    };
    // Nobody has corrected the inputs that it was sent before those in the change.
    assert_eq!(claim(0, 510, false), (Some(1), false));
    assert_eq!(claim(1, 510, false), (None, false));
    // Once it has the right state, it has no excuse.
    assert_eq!(claim(1, told + 4, true), (None, false));
    assert_eq!(claim(1, 512, false), (None, true));
}

#[test]
fn who_comes_back_gets_every_input_from_where_it_begins() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take_seat(ONE, VACANT).unwrap();
    advance(&mut episode, 6);
    let given = give(&mut episode, ONE, 7);
    assert_eq!((given.from, given.tick), (Tick(6), Tick(11)));
    // The page of seat 1 begins with tick 6 and has not said anything yet.
    say(&mut episode, ZERO, 10);
    let change = episode.take_seat(ZERO, VACANT).unwrap();
    assert_eq!(change.tick, Tick(10));
    let told = change.tick.0 - change.inputs.len() as u32;
    assert!(told <= 6, "{told}");
}

#[test]
fn a_page_that_lost_its_seat_has_last_words_and_is_not_harmed() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    let mut late = next(&mut episode, ONE, 12);
    late.digests = vec![(Tick(4), 7)];
    let words = Timing {
        hidden: vec![(Tick(2), Tick(5))],
        ..Timing::default()
    };
    late.timing = Some(words.clone());
    episode.take_seat(ONE, ai_controller("idle")).unwrap();
    let heard = AppendedUpload {
        through: Tick(4),
        own: Tick(4),
        over: None,
        notes: 1,
        agreed: Tick(0),
        recheck: None,
        last: false,
        diverged: false,
        stopped: false,
    };
    // Its notes are taken, but neither inputs nor digests.
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    let (seat, life, timing) = (ONE, Life(0), words);
    let record = Record::Timing { seat, life, timing };
    assert_eq!(log_of(&mut episode).records.last(), Some(&record));
    let stored = episode.file.read().unwrap();
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    // Nothing is heard of one that has no seat yet.
    late.timing.as_mut().unwrap().number = 1;
    late.life = Life(2);
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    assert_eq!(episode.file.read().unwrap(), stored);
    give(&mut episode, ONE, 5);
    // The same holds for the earlier page, once another one has the seat.
    let stored = episode.file.read().unwrap();
    late.life = Life(0);
    assert_eq!(episode.append_upload(ONE, &late).unwrap().notes, 0);
    assert_eq!(episode.file.read().unwrap(), stored);
    let words = late.timing.take();
    let mut back = next(&mut episode, ONE, 12);
    back.timing = words;
    back.timing.as_mut().unwrap().number = 0;
    assert_eq!(episode.append_upload(ONE, &back).unwrap().notes, 1);
}

#[test]
fn a_seat_is_given_after_what_is_due_with_the_state_that_is_durable() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take_seat(ONE, ai_controller("random")).unwrap();
    advance(&mut episode, 11);
    let change = give(&mut episode, ONE, 14);
    // A second at 4 Hz.
    let expected = Change {
        number: 1,
        seat: ONE,
        tick: Tick(18),
        controller: PERSON,
        life: Life(2),
        from: Tick(11),
        inputs: vec![],
        key: Some(key(ONE).verifying_key().to_bytes()),
    };
    assert_eq!(change, expected);
    let shot = episode.snapshot();
    assert_eq!(shot, episode.snapshot());
    assert_eq!(shot.tick, Tick(11));
    assert_eq!(Some(shot.digest), episode.replica.digest(Tick(11)));

    let header = episode.header().clone();
    let mut world = env_core::envs::open(&header.env, &header.params).unwrap();
    world.reset(header.seed);
    world.restore(&shot.state).unwrap();
    assert_eq!(world.digest(), shot.digest);
    let (mut policy, mut seen) = (policy::by_name("random", world.spec()).unwrap(), vec![]);
    policy.reset(1, header.seed);
    let [(ONE, state)] = &shot.partners[..] else {
        panic!("{:?}", shot.partners)
    };
    policy.restore(state).unwrap();
    // From here on the page and the replica play the same, until the seat is the person's.
    for tick in 11..18 {
        world.observe(1, &mut seen);
        let chosen = policy.act(&seen);
        assert_eq!(
            episode.replica.chosen_action(ONE),
            Some(chosen),
            "tick {tick}"
        );
        world.step(&[1, chosen]);
        episode.replica.step(&[1, chosen]).unwrap();
        assert_eq!(Some(world.digest()), episode.replica.digest(Tick(tick + 1)));
    }
    assert_eq!(episode.replica.chosen_action(ONE), None);
    assert_eq!(episode.snapshot().partners, []);
}

#[test]
fn a_partner_enters_a_vacant_seat() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take_seat(ONE, VACANT).unwrap();
    let change = episode
        .give_seat(ONE, ai_controller("random"), None, Some(Tick(9)))
        .unwrap();
    assert_eq!((change.tick, change.from), (Tick(13), Tick(4)));
    advance(&mut episode, 40);
    let noop = episode.replica.spec().noop;
    let played: Vec<u16> = episode.rows.chunks(2).map(|row| row[1]).collect();
    assert!(played[4..13].iter().all(|action| *action == noop));
    assert!(played[13..].iter().any(|action| *action != noop));
}

#[test]
fn a_seat_is_taken_and_given_again_before_its_person_is_in() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take_seat(ONE, ai_controller("random")).unwrap();
    assert_eq!(give(&mut episode, ONE, 9).tick, Tick(13));
    let taken = episode.take_seat(ONE, VACANT).unwrap();
    assert_eq!((taken.tick, taken.life), (Tick(13), Life(3)));
    // Never before the change that lies ahead.
    let given = give(&mut episode, ONE, 5);
    assert_eq!((given.tick, given.life), (Tick(13), Life(4)));
    advance(&mut episode, 13);
    assert_eq!(episode.replica.chosen_action(ONE), None);
    advance(&mut episode, 20);
    assert_eq!(
        episode.controllers_at(Tick(12)),
        [PERSON, ai_controller("random")]
    );
    assert_eq!(episode.controllers_at(Tick(13)), [PERSON, PERSON]);
    assert!(replay(&log_of(&mut episode), no_modules, |_, _| ()).is_ok());
}

#[test]
fn what_cannot_change_hands_is_refused_and_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let mut episode =
        Episode::create(dir.path(), header([PERSON, ai_controller("idle")], 12)).unwrap();
    advance(&mut episode, 4);
    let stored = episode.file.read().unwrap();
    let refused = |result: Result<Change, Refused>| result.unwrap_err().to_string();
    let cannot = |why: &str| format!("the seat cannot change hands: {why}");
    let due = Some(Tick(5));
    for (found, why) in [
        (episode.take_seat(ONE, VACANT), "no person has it"),
        (episode.take_seat(Seat(9), VACANT), "no person has it"),
        (episode.take_seat(ZERO, PERSON), "a person cannot take it"),
        (
            episode.give_seat(ZERO, VACANT, None, due),
            "a person has it",
        ),
        (
            episode.give_seat(ONE, PERSON, None, due),
            "no person has lost it",
        ),
        (
            episode.give_seat(Seat(9), PERSON, None, due),
            "it is not there",
        ),
    ] {
        assert_eq!(refused(found), cannot(why));
    }
    assert_eq!(
        refused(episode.take_seat(ZERO, ai_controller("nobody"))),
        "there is no policy `nobody` for overcooked"
    );
    assert_eq!(episode.file.read().unwrap(), stored);
    advance(&mut episode, 12);
    assert_eq!(
        refused(episode.take_seat(ZERO, VACANT)),
        cannot("the episode is over")
    );
    assert_eq!(episode.changes(), []);
}

#[test]
fn changes_always_fit_into_a_message() {
    let memory = Memory::default();
    let header = header([PERSON, PERSON], 40);
    let mut episode = Episode::create_in(Box::new(memory.clone()), header, no_modules).unwrap();
    let page = Some(key(ONE).verifying_key().to_bytes());
    let mut count = 0;
    let full = loop {
        let taken = episode.take_seat(ONE, ai_controller("idle"));
        match taken.and_then(|_| episode.give_seat(ONE, PERSON, page, None)) {
            Ok(_) => count += 2,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, Refused::Change(_)), "{full}");
    assert!(count > 1_000, "{count}");
    let changes = episode.changes().to_vec();
    let era = protocol::Era(0);
    let message = protocol::control::ServerMessage::Running {
        era,
        through: Tick(0),
        own: Tick(0),
        changes: changes.clone(),
    };
    let len = protocol::control::encode(&message).len();
    let most = protocol::control::MAX_MESSAGE - protocol::control::MAX_PART;
    assert!(len < most, "{count} changes are {len} bytes, of {most}");
    drop(episode);
    let episode = Episode::recover_from(Box::new(memory), no_modules).unwrap();
    assert_eq!(episode.changes(), changes);
}

/// A whole episode with a seat that is taken and given, from wherever it stands.
fn finish(episode: &mut Episode) {
    for (to, changes) in [(2, 0), (4, 1), (10, 2), (12, 2), (16, 3)] {
        if episode.changes().len() < changes {
            match changes {
                2 => drop(give(episode, ONE, 5)),
                1 => drop(episode.take_seat(ONE, ai_controller("random")).unwrap()),
                _ => drop(episode.take_seat(ONE, VACANT).unwrap()),
            }
        }
        if episode.recorded_through().0 < to {
            advance(episode, to);
        }
    }
    episode.end(EndReason::Played).unwrap();
}

#[test]
fn a_crash_at_every_byte_between_changes_leaves_a_prefix_that_goes_on() {
    let memory = Memory::default();
    let header = header([PERSON, PERSON], 16);
    let mut episode = Episode::create_in(Box::new(memory.clone()), header, no_modules).unwrap();
    let start = episode.file.read().unwrap().len();
    finish(&mut episode);
    let whole = episode.file.read().unwrap();
    let (expected, changes) = (log_of(&mut episode), episode.changes().to_vec());
    assert_eq!(changes.len(), 3);
    drop(episode);
    for cut in start..=whole.len() {
        *memory.0.lock().unwrap() = whole[..cut].to_vec();
        let mut episode = Episode::recover_from(Box::new(memory.clone()), no_modules).unwrap();
        assert!(changes.starts_with(episode.changes()), "byte {cut}");
        let lives = [ZERO, ONE].map(|seat| episode.life(seat));
        assert_eq!(lives, [Life(0), Life(episode.changes().len() as u8)]);
        finish(&mut episode);
        let log = log_of(&mut episode);
        assert_eq!(log.rows(), expected.rows(), "byte {cut}");
        assert_eq!(episode.changes(), changes, "byte {cut}");
        assert_eq!(log.ending, expected.ending, "byte {cut}");
    }
}

#[test]
fn any_file_will_do() {
    let header: Header = header([PERSON, PERSON], 16);
    let memory = Memory::default();
    let mut episode =
        Episode::create_in(Box::new(memory.clone()), header.clone(), no_modules).unwrap();
    let (_, begun) = LogWriter::begin(&header).unwrap();
    assert_eq!(begun, *memory.0.lock().unwrap());
    finish(&mut episode);
    let whole = memory.0.lock().unwrap().clone();
    memory.0.lock().unwrap().truncate(whole.len() - 3);
    let mut episode = Episode::recover_from(Box::new(memory.clone()), no_modules).unwrap();
    finish(&mut episode);
    assert_eq!(whole, *memory.0.lock().unwrap());
}
