use std::fs;

use protocol::control::{EndReason, Timing, Upload};
use protocol::log::{self, Header};

use super::super::tests::{
    PERSON, ZERO, ai, diverged, equivocation, equivocations, header, log_of, no_modules, part,
    played,
};
use super::super::{AppendedUpload, path, replay};
use super::*;

const ONE: Seat = Seat(1);
const VACANT: Controller = Controller::Vacant;

/// The next upload of the page of a seat, up to `to`, if the file is right in everything.
fn next(episode: &mut Episode, seat: Seat, to: u32) -> Upload {
    let mut replica = replay(&log_of(episode), no_modules, |_, _| ()).unwrap();
    let actions = replica.spec().actions.len() as u32;
    let (first, each) = (replica.ticks(), u32::from(episode.header().tick_hz));
    let (mut rows, mut digests) = (Vec::new(), Vec::new());
    while replica.ticks().0 < to {
        let tick = replica.ticks().0;
        let pressed = |seat: Seat| ((tick * 7 + u32::from(seat.0) * 3) / 2 % actions) as u16;
        let row = [ZERO, ONE].map(|seat| replica.chosen(seat).unwrap_or_else(|| pressed(seat)));
        replica.step(&row).unwrap();
        rows.extend(row);
        if replica.ticks().0.is_multiple_of(each) {
            digests.push((replica.ticks(), replica.digest(replica.ticks()).unwrap()));
        }
    }
    Upload {
        life: episode.life(seat),
        first,
        rows,
        digests,
        ended: replica.outcome().over.then_some(Tick(to)),
        ..part(&played(episode.header()), 0, 0)
    }
}

/// The page of seat 0 uploads up to `to`.
fn advance(episode: &mut Episode, to: u32) -> AppendedUpload {
    let upload = next(episode, ZERO, to);
    let appended = episode.append_upload(ZERO, &upload).unwrap();
    assert_eq!((appended.through, appended.diverged), (Tick(to), false));
    appended
}

/// The inputs of seat 1 that the page of seat 0 has.
fn report(have: u32, inputs: &[u16]) -> (Seat, Report) {
    (
        ZERO,
        Report {
            seat: ONE,
            life: Life(0),
            have: Tick(have),
            inputs: inputs.into(),
        },
    )
}

fn two_people() -> (tempfile::TempDir, Episode) {
    let dir = tempfile::tempdir().unwrap();
    let episode = Episode::create(dir.path(), header([PERSON, PERSON], 40)).unwrap();
    (dir, episode)
}

#[test]
fn a_cut_is_the_furthest_that_anybody_has_and_brings_the_last_inputs() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    let reports = [report(6, &[3, 4]), report(8, &[4, 1, 2]), report(7, &[1])];
    let change = episode.take(ONE, ai("random"), &reports).unwrap();
    let expected = Change {
        number: 0,
        seat: ONE,
        tick: Tick(8),
        controller: ai("random"),
        life: Life(1),
        from: Tick(8),
        inputs: vec![4, 1, 2],
    };
    assert_eq!(change, expected);
    assert_eq!(
        log_of(&mut episode).records.last(),
        Some(&Record::Change(expected))
    );
    assert_eq!(episode.changes(), [change]);
    assert_eq!((episode.life(ZERO), episode.life(ONE)), (Life(0), Life(1)));
    assert_eq!(episode.controllers_at(Tick(7)), [PERSON, PERSON]);
    assert_eq!(episode.controllers_at(Tick(8)), [PERSON, ai("random")]);
    // A page that has played something else before the cut does not have the same game.
    let mut other = next(&mut episode, ZERO, 8);
    // Tick 5 is the second of the upload.
    assert_eq!(other.rows[3], 4);
    other.rows[3] = 0;
    other.digests.clear();
    let appended = episode.append_upload(ZERO, &other).unwrap();
    assert_eq!((appended.through, appended.diverged), (Tick(5), true));
    // It had that from the page that was cut.
    let found = equivocations(&mut episode);
    assert_eq!(found, [equivocation(ONE, 5, ZERO, 4, 0)]);
    assert_eq!(diverged(&mut episode), []);
}

#[test]
fn a_report_that_others_contradict_is_put_right_and_its_page_plays_on() {
    let (dir, mut episode) = two_people();
    advance(&mut episode, 4);
    // Whose the first is does not matter here. That of seat 0 has confirmed what is durable, and no more.
    let reports = [(ONE, report(7, &[3, 1, 1]).1), report(8, &[2, 4, 1, 5])];
    let change = episode.take(ONE, VACANT, &reports).unwrap();
    assert_eq!(
        (change.tick, &change.inputs[..]),
        (Tick(8), &[3, 1, 1, 5][..])
    );
    let expected = [equivocation(ONE, 4, ZERO, 3, 2)];
    assert_eq!(equivocations(&mut episode), expected);
    drop(episode);
    let path = path(dir.path(), "e-1").unwrap();
    let mut episode = Episode::recover(&path).unwrap();
    advance(&mut episode, 12);
    assert_eq!(equivocations(&mut episode), expected);
    assert_eq!(diverged(&mut episode), []);
}

#[test]
fn a_lie_that_an_upload_told_is_not_told_again_by_a_report() {
    let (_dir, mut episode) = two_people();
    let all = next(&mut episode, ONE, 8);
    advance(&mut episode, 6);
    let mut lied_to = Upload {
        digests: Vec::new(),
        ..all
    };
    let known = lied_to.rows[2 * 5 + 1];
    lied_to.rows[2 * 5 + 1] = known ^ 1;
    assert!(episode.append_upload(ZERO, &lied_to).unwrap().diverged);
    let expected = [equivocation(ONE, 5, ZERO, known, known ^ 1)];
    assert_eq!(equivocations(&mut episode), expected);
    let change = episode.take(ONE, VACANT, &[report(7, &[known ^ 1, 3])]);
    assert_eq!(change.unwrap().inputs, [known, 3]);
    assert_eq!(equivocations(&mut episode), expected);
}

#[test]
fn a_report_without_the_inputs_that_another_page_lacks_counts_for_nothing() {
    let cut = |reports: &[(Seat, Report)]| {
        let (_dir, mut episode) = two_people();
        advance(&mut episode, 4);
        let change = episode.take(ONE, VACANT, reports).unwrap();
        (change.tick.0, change.inputs)
    };
    // Nobody has what lies between 6 and 20.
    let (honest, high, low) = (report(6, &[3, 4]), report(20, &[]), report(0, &[]));
    for reports in [
        [honest.clone(), high.clone()],
        [high.clone(), honest.clone()],
    ] {
        assert_eq!(cut(&reports), (6, vec![3, 4]));
    }
    // Nor may one that claims to have nothing rule out what others have confirmed.
    let other = report(7, &[4, 5]);
    let reports = [low.clone(), honest.clone(), other.clone()];
    assert_eq!(cut(&reports), (7, vec![4, 5]));
    assert_eq!(cut(&[other, high, low, honest]), (7, vec![4, 5]));
    // Alone it may be true: its page has confirmed all before.
    assert_eq!(cut(&[report(20, &[])]), (20, vec![]));
}

#[test]
fn a_seat_without_a_person_plays_what_its_controller_chooses() {
    for controller in [ai("random"), VACANT] {
        let (_dir, mut episode) = two_people();
        advance(&mut episode, 4);
        episode
            .take(ONE, controller, &[report(6, &[1, 2])])
            .unwrap();
        let upload = next(&mut episode, ZERO, 20);
        let mut other = upload.clone();
        let played = &mut other.rows[2 * (12 - 4) + 1];
        *played = u16::from(*played == 0);
        other.digests.clear();
        let appended = episode.append_upload(ZERO, &other).unwrap();
        assert_eq!((appended.through, appended.diverged), (Tick(12), true));
    }
}

#[test]
fn reports_that_cannot_be_or_are_of_another_page_count_for_nothing() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    let wrong = [
        report(9, &[999]),
        report(81, &[1]),
        report(u32::MAX, &[]),
        report(2, &[1, 1, 1]),
        (
            ZERO,
            Report {
                seat: ZERO,
                ..report(9, &[1]).1
            },
        ),
        (
            ZERO,
            Report {
                life: Life(1),
                ..report(9, &[1]).1
            },
        ),
    ];
    let change = episode.take(ONE, VACANT, &wrong).unwrap();
    assert_eq!((change.tick, change.inputs), (Tick(4), vec![]));
    // Nobody reports: what is durable is all that there is.
    let change = episode.take(ZERO, VACANT, &[]).unwrap();
    assert_eq!((change.tick, change.number), (Tick(4), 1));
}

#[test]
fn of_contradictions_the_file_and_then_the_lowest_seat_is_right() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    let durable = episode.rows[2 * 3 + 1];
    let lies = [
        report(6, &[durable ^ 1, 3, 4]),
        (ONE, report(7, &[durable ^ 1, 2, 2, 5]).1),
    ];
    let change = episode.take(ONE, VACANT, &lies).unwrap();
    assert_eq!(
        (change.tick, change.inputs),
        (Tick(7), vec![durable, 3, 4, 5])
    );
    // The second contradicts the first only after it has contradicted the file.
    let at = |by| equivocation(ONE, 3, by, durable, durable ^ 1);
    assert_eq!(equivocations(&mut episode), [at(ZERO), at(ONE)]);
    assert!(replay(&log_of(&mut episode), no_modules, |_, _| ()).is_ok());
}

#[test]
fn a_change_brings_no_more_inputs_than_its_bound_and_none_of_an_earlier_page() {
    let (dir, mut episode) = two_people();
    advance(&mut episode, 8);
    episode.take(ONE, ai("idle"), &[]).unwrap();
    assert_eq!(episode.give(ONE, PERSON).unwrap().tick, Tick(17));
    let report = (
        ZERO,
        Report {
            life: Life(2),
            ..report(19, &[1; 10]).1
        },
    );
    let change = episode.take(ONE, ai("idle"), &[report]).unwrap();
    assert_eq!((change.tick, change.inputs), (Tick(19), vec![1, 1]));
    let mut long = header([PERSON, PERSON], 20_000);
    long.episode = "e-2".into();
    let mut episode = Episode::create(dir.path(), long).unwrap();
    let report = self::report(15_000, &[1; 15_000]);
    let change = episode.take(ONE, ai("idle"), &[report]).unwrap();
    assert_eq!(change.inputs, [1; MAX_BACKFILL as usize]);
}

#[test]
fn who_comes_back_gets_every_input_from_where_it_begins() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take(ONE, ai("idle"), &[]).unwrap();
    advance(&mut episode, 6);
    let back = episode.give(ONE, PERSON).unwrap();
    assert_eq!((back.from, back.tick), (Tick(6), Tick(15)));
    advance(&mut episode, 10);
    // The page of seat 1 has begun with tick 6 and may lack all of seat 0 since then.
    let report = (
        ONE,
        Report {
            seat: ZERO,
            have: Tick(12),
            ..report(0, &[5, 5]).1
        },
    );
    let column: Vec<u16> = episode.rows.chunks(2).map(|row| row[0]).collect();
    let change = episode.take(ZERO, VACANT, &[report]).unwrap();
    assert_eq!(change.tick, Tick(12));
    assert_eq!(change.inputs, [&column[6..10], &[5, 5]].concat());
}

#[test]
fn who_has_just_come_back_does_not_rule_out_what_others_have_confirmed() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take(ONE, ai("idle"), &[]).unwrap();
    advance(&mut episode, 6);
    let back = episode.give(ONE, PERSON).unwrap();
    assert_eq!((back.from, back.tick), (Tick(6), Tick(15)));
    let of_zero = |from, have, inputs: &[u16]| {
        let seat = ZERO;
        (
            from,
            Report {
                seat,
                ..report(have, inputs).1
            },
        )
    };
    let reports = [of_zero(ONE, 6, &[]), of_zero(ZERO, 12, &[5, 5])];
    let change = episode.take(ZERO, VACANT, &reports).unwrap();
    assert_eq!(change.tick, Tick(12));
}

#[test]
fn inputs_with_a_gap_before_them_are_told_alone() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    let change = episode.take(ONE, VACANT, &[report(9, &[2])]);
    assert_eq!(change.unwrap().inputs, [2]);
}

#[test]
fn a_page_that_lost_its_seat_has_last_words_and_is_not_harmed() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    let mut late = next(&mut episode, ONE, 12);
    late.digests[0].1 ^= 1;
    let words = Timing {
        hidden: vec![(Tick(2), Tick(5))],
        ..Timing::default()
    };
    late.timing = Some(words.clone());
    episode.take(ONE, ai("idle"), &[]).unwrap();
    let heard = AppendedUpload {
        through: Tick(4),
        over: None,
        notes: 1,
        last: false,
        diverged: false,
        stopped: false,
    };
    // Its notes are taken, and neither rows nor digests.
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    let (seat, life, timing) = (ONE, Life(0), words);
    let record = Record::Timing { seat, life, timing };
    assert_eq!(log_of(&mut episode).records.last(), Some(&record));
    let stored = episode.file.read().unwrap();
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    // Nothing is heard of one that has no seat yet, nor are rows that would leave a gap.
    late.timing.as_mut().unwrap().number = 1;
    late.life = Life(2);
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    late.first = Tick(9);
    assert_eq!(episode.append_upload(ONE, &late).unwrap(), heard);
    assert_eq!(episode.file.read().unwrap(), stored);
    episode.give(ONE, PERSON).unwrap();
    // Nor of the earlier page, once another one has the seat.
    let stored = episode.file.read().unwrap();
    late.life = Life(0);
    assert_eq!(episode.append_upload(ONE, &late).unwrap().notes, 0);
    assert_eq!(episode.file.read().unwrap(), stored);
    late.life = Life(2);
    late.timing.as_mut().unwrap().number = 0;
    assert!(matches!(
        episode.append_upload(ONE, &late),
        Err(Refused::Gap { through: Tick(4) })
    ));
    late.first = Tick(4);
    assert_eq!(episode.append_upload(ONE, &late).unwrap().notes, 1);
}

#[test]
fn a_seat_is_given_beyond_the_lease_with_the_state_that_is_durable() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take(ONE, ai("random"), &[report(5, &[2])]).unwrap();
    advance(&mut episode, 11);
    // A page that is refused must not move the partner on.
    let mut wrong = next(&mut episode, ZERO, 12);
    wrong.rows[1] ^= 1;
    wrong.digests.clear();
    assert!(episode.append_upload(ZERO, &wrong).unwrap().diverged);
    let change = episode.give(ONE, PERSON).unwrap();
    // Two seconds at 4 Hz, and one.
    let expected = Change {
        number: 1,
        seat: ONE,
        tick: Tick(20),
        controller: PERSON,
        life: Life(2),
        from: Tick(11),
        inputs: vec![],
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
    for tick in 11..20 {
        world.observe(1, &mut seen);
        let chosen = policy.act(&seen);
        assert_eq!(episode.replica.chosen(ONE), Some(chosen), "tick {tick}");
        world.step(&[1, chosen]);
        episode.replica.step(&[1, chosen]).unwrap();
        assert_eq!(Some(world.digest()), episode.replica.digest(Tick(tick + 1)));
    }
    assert_eq!(episode.replica.chosen(ONE), None);
    assert_eq!(episode.snapshot().partners, []);
}

#[test]
fn a_partner_enters_a_vacant_seat_beyond_the_lease() {
    let (_dir, mut episode) = two_people();
    advance(&mut episode, 4);
    episode.take(ONE, VACANT, &[]).unwrap();
    let change = episode.give(ONE, ai("random")).unwrap();
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
    episode.take(ONE, ai("random"), &[]).unwrap();
    assert_eq!(episode.give(ONE, PERSON).unwrap().tick, Tick(13));
    let report = (
        ZERO,
        Report {
            life: Life(2),
            ..report(5, &[]).1
        },
    );
    let taken = episode.take(ONE, VACANT, &[report]).unwrap();
    assert_eq!((taken.tick, taken.life), (Tick(13), Life(3)));
    // Never before the change that lies ahead.
    let given = episode.give(ONE, PERSON).unwrap();
    assert_eq!((given.tick, given.life), (Tick(13), Life(4)));
    advance(&mut episode, 13);
    assert_eq!(episode.replica.chosen(ONE), None);
    advance(&mut episode, 20);
    assert_eq!(episode.controllers_at(Tick(12)), [PERSON, ai("random")]);
    assert_eq!(episode.controllers_at(Tick(13)), [PERSON, PERSON]);
    assert!(replay(&log_of(&mut episode), no_modules, |_, _| ()).is_ok());
}

#[test]
fn what_cannot_change_hands_is_refused_and_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header([PERSON, ai("idle")], 12)).unwrap();
    advance(&mut episode, 4);
    let stored = episode.file.read().unwrap();
    let refused = |result: Result<Change, Refused>| result.unwrap_err().to_string();
    let cannot = |why: &str| format!("the seat cannot change hands: {why}");
    for (found, why) in [
        (episode.take(ONE, VACANT, &[]), "no person has it"),
        (episode.take(Seat(9), VACANT, &[]), "no person has it"),
        (episode.take(ZERO, PERSON, &[]), "a person cannot take it"),
        (episode.give(ZERO, VACANT), "a person has it"),
        (episode.give(ONE, PERSON), "no person has lost it"),
        (episode.give(Seat(9), PERSON), "it is not there"),
    ] {
        assert_eq!(refused(found), cannot(why));
    }
    assert_eq!(
        refused(episode.take(ZERO, ai("nobody"), &[])),
        "there is no policy `nobody` for overcooked"
    );
    assert_eq!(episode.file.read().unwrap(), stored);
    advance(&mut episode, 12);
    assert_eq!(
        refused(episode.take(ZERO, VACANT, &[])),
        cannot("the episode is over")
    );
    assert_eq!(episode.changes(), []);
}

#[test]
fn changes_always_fit_into_a_message() {
    let (dir, mut episode) = two_people();
    let mut count = 0;
    let full = loop {
        let taken = episode.take(ONE, ai("idle"), &[]);
        match taken.and_then(|_| episode.give(ONE, PERSON)) {
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
        changes: changes.clone(),
    };
    let len = protocol::control::encode(&message).len();
    assert!(len < protocol::control::MAX_MESSAGE - protocol::control::MAX_PART);
    drop(episode);
    let episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(episode.changes(), changes);
}

/// A whole episode with a seat that is taken and given, from wherever it stands.
fn finish(episode: &mut Episode) {
    for (to, changes) in [(4, 0), (8, 1), (20, 2), (24, 2), (40, 3)] {
        if episode.changes().len() < changes {
            let done = match changes {
                1 => episode.take(ONE, ai("random"), &[report(6, &[1, 2])]),
                2 => episode.give(ONE, PERSON),
                _ => episode.take(ONE, VACANT, &[]),
            };
            done.unwrap();
        }
        if episode.through().0 < to {
            advance(episode, to);
        }
    }
    episode.end(EndReason::Played).unwrap();
}

#[test]
fn a_crash_at_every_byte_between_changes_leaves_a_prefix_that_goes_on() {
    let (dir, mut episode) = two_people();
    let start = episode.file.read().unwrap().len();
    finish(&mut episode);
    let whole = episode.file.read().unwrap();
    let (expected, changes) = (log_of(&mut episode), episode.changes().to_vec());
    assert_eq!(changes.len(), 3);
    drop(episode);
    let path = path(dir.path(), "e-1").unwrap();
    for cut in start..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let mut episode = Episode::recover(&path).unwrap();
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

/// A file in memory, as a simulation has it.
#[derive(Clone, Default)]
struct Memory(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl super::super::LogFile for Memory {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend(bytes);
        Ok(())
    }

    fn read(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn truncate(&mut self, len: usize) -> std::io::Result<()> {
        self.0.lock().unwrap().truncate(len);
        Ok(())
    }
}

#[test]
fn any_file_will_do() {
    let header: Header = header([PERSON, PERSON], 40);
    let memory = Memory::default();
    let mut episode =
        Episode::create_in(Box::new(memory.clone()), header.clone(), no_modules).unwrap();
    assert_eq!(log::begin(&header).unwrap(), *memory.0.lock().unwrap());
    finish(&mut episode);
    let whole = memory.0.lock().unwrap().clone();
    memory.0.lock().unwrap().truncate(whole.len() - 3);
    let mut episode = Episode::recover_from(Box::new(memory.clone()), no_modules).unwrap();
    finish(&mut episode);
    assert_eq!(whole, *memory.0.lock().unwrap());
}
