//! Pages that simulated something else than the replica.

use super::*;

fn named(seat: Seat, tick: u32, expected: u64, found: u64) -> Record {
    Record::Diverged {
        seat,
        tick: Tick(tick),
        expected,
        found,
    }
}

/// The same upload, of a page that has followed this many requests to send its digests again.
fn rechecked(upload: Upload, recheck: u16) -> Upload {
    Upload { recheck, ..upload }
}

#[test]
fn a_page_with_another_state_is_asked_again_then_named_and_not_heard_until_its_seat_has_changed_hands()
 {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut wrong = pages[0].upload_part(&all, 0, 8);
    wrong.digests[0].1 ^= 1;
    episode.append_upload(ZERO, &wrong).unwrap();
    // The inputs of the other page find it out; its own are its word all the same.
    let answer = episode
        .append_upload(ONE, &pages[1].upload_part(&all, 0, 8))
        .unwrap();
    assert_eq!(answer, fine(8, 8));
    let silent = pages[0].upload_part(&all, 8, 8);
    let answer = episode.append_upload(ZERO, &silent).unwrap();
    assert_eq!((answer.recheck, answer.diverged), (Some(1), false));
    let asked = episode.recheck(ZERO);
    assert_eq!((asked.number, asked.agreed), (1, Tick(0)));
    assert_eq!(diverged(&mut episode), []);
    // Digests from before it has followed the request are not compared.
    let answer = episode.append_upload(ZERO, &wrong).unwrap();
    assert_eq!((answer.recheck, answer.diverged), (Some(1), false));
    let again = rechecked(wrong.clone(), 1);
    assert!(episode.append_upload(ZERO, &again).unwrap().diverged);
    let expected = all.digests[0].1;
    let record = named(ZERO, 4, expected, expected ^ 1);
    assert_eq!(diverged(&mut episode), std::slice::from_ref(&record));
    let more = pages[0].upload_part(&all, 8, 12);
    for _ in 0..2 {
        let told = episode.append_upload(ZERO, &more).unwrap();
        assert_eq!((told.diverged, told.own), (true, Tick(8)));
        drop(episode);
        episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    }
    assert_eq!(diverged(&mut episode), [record]);
    let change = episode.take_seat(ZERO, Controller::Vacant).unwrap();
    assert_eq!((change.tick, change.life), (Tick(8), Life(1)));
    assert!(!episode.append_upload(ZERO, &more).unwrap().diverged);
    // The next page of the seat is not blamed.
    let page = Some(key(ZERO).verifying_key().to_bytes());
    let change = episode
        .give_seat(ZERO, PERSON, page, Some(Tick(9)))
        .unwrap();
    let mut back = PageScript::from(&header, ZERO, change.life, change.tick);
    let from = change.tick.0;
    let upload = Upload {
        changes: 2,
        digests: Vec::new(),
        ..back.upload_part(&all, from, from + 2)
    };
    assert!(!episode.append_upload(ZERO, &upload).unwrap().diverged);
}

#[test]
fn a_page_that_was_told_other_inputs_comes_right_and_is_not_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 4));
    for number in 1..4 {
        let (from, to) = (4 * u32::from(number), 4 * u32::from(number) + 4);
        episode
            .append_upload(ONE, &pages[1].upload_part(&all, from, to))
            .unwrap();
        let fine = rechecked(pages[0].upload_part(&all, from, to), number - 1);
        let mut misled = fine.clone();
        misled.digests[0].1 ^= 1;
        let answer = episode.append_upload(ZERO, &misled).unwrap();
        assert_eq!((answer.recheck, answer.diverged), (Some(number), false));
        let asked = episode.recheck(ZERO);
        assert_eq!((asked.number, asked.agreed), (number, Tick(from)));
        let [theirs] = &asked.inputs[..] else {
            panic!("{:?}", asked.inputs)
        };
        let rows = all.rows.chunks(2).skip(from as usize).take(4);
        assert_eq!((theirs.seat, theirs.first), (ONE, Tick(from)));
        assert_eq!(theirs.inputs, rows.map(|row| row[1]).collect::<Vec<_>>());
        let answer = episode
            .append_upload(ZERO, &rechecked(fine, number))
            .unwrap();
        assert_eq!((answer.recheck, answer.agreed), (None, Tick(to)));
    }
    assert_eq!(diverged(&mut episode), []);
}

#[test]
fn a_page_that_takes_back_a_digest_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 8));
    let mut claim = pages[1].upload_part(&all, 4, 4);
    let (tick, expected) = all.digests[1];
    claim.digests = vec![(tick, expected)];
    assert!(!episode.append_upload(ONE, &claim).unwrap().diverged);
    claim.digests[0].1 ^= 1;
    assert!(!episode.append_upload(ONE, &claim).unwrap().diverged);
    episode.recheck(ONE);
    let again = rechecked(claim, 1);
    assert!(episode.append_upload(ONE, &again).unwrap().diverged);
    let record = named(ONE, 8, expected, expected ^ 1);
    assert_eq!(diverged(&mut episode), [record]);
}

#[test]
fn a_digest_that_comes_before_its_tick_is_final_is_compared_then() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut early = pages[1].upload_part(&all, 0, 10);
    early.digests = vec![(Tick(8), 7)];
    assert_eq!(episode.append_upload(ONE, &early).unwrap(), fine(0, 10));
    episode
        .append_upload(ZERO, &pages[0].upload_part(&all, 0, 6))
        .unwrap();
    let silent = pages[1].upload_part(&all, 10, 10);
    let answer = episode.append_upload(ONE, &silent).unwrap();
    assert_eq!(answer.recheck, None);
    episode
        .append_upload(ZERO, &pages[0].upload_part(&all, 6, 10))
        .unwrap();
    let answer = episode.append_upload(ONE, &silent).unwrap();
    assert_eq!(answer.recheck, Some(1));
    // Only digests that were found equal are in the file.
    let records = log_of(&mut episode).records;
    let claims = records.iter().filter_map(|record| match record {
        Record::Digest {
            tick,
            seat: Some(seat),
            ..
        } => Some((tick.0, *seat)),
        _ => None,
    });
    assert_eq!(claims.collect::<Vec<_>>(), [(4, ZERO), (8, ZERO)]);
}

#[test]
fn nobody_is_asked_for_states_that_a_change_has_undone() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    // Seat 0 has played on to tick 12 with inputs of seat 1 of which the server never hears.
    let mut ahead = pages[0].upload_part(&all, 0, 12);
    ahead.digests = vec![(Tick(4), all.digests[0].1), (Tick(8), 7), (Tick(12), 8)];
    episode.append_upload(ZERO, &ahead).unwrap();
    episode
        .append_upload(ONE, &pages[1].upload_part(&all, 0, 5))
        .unwrap();
    let change = episode.take_seat(ONE, Controller::Vacant).unwrap();
    assert_eq!(change.tick, Tick(5));
    assert_eq!(
        episode.recorded_through(),
        Tick(12),
        "nobody else is awaited"
    );
    // Digests from before it knows of the change are not compared either.
    let unaware = Upload {
        digests: vec![(Tick(12), 8)],
        ended: Some(Tick(12)),
        ..pages[0].upload_part(&all, 12, 12)
    };
    assert!(!episode.append_upload(ZERO, &unaware).unwrap().diverged);
    assert_eq!(diverged(&mut episode), []);
    let aware = Upload {
        changes: 1,
        ..unaware
    };
    let answer = episode.append_upload(ZERO, &aware).unwrap();
    assert_eq!((answer.recheck, answer.diverged), (Some(1), false));
}

#[test]
fn a_page_that_sees_another_end_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 12);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 8));
    let too_soon = Upload {
        ended: Some(Tick(5)),
        ..pages[0].upload_part(&all, 8, 12)
    };
    let too_late = Upload {
        ended: Some(Tick(13)),
        ..pages[1].upload_part(&all, 8, 12)
    };
    for (seat, other_end) in [(ZERO, &too_soon), (ONE, &too_late)] {
        assert!(!episode.append_upload(seat, other_end).unwrap().diverged);
        episode.recheck(seat);
        let again = rechecked(other_end.clone(), 1);
        assert!(episode.append_upload(seat, &again).unwrap().diverged);
    }
    assert_eq!(episode.recorded_through(), Tick(12));
    let named = [named(ZERO, 5, 0, 0), named(ONE, 13, 0, 0)];
    assert_eq!(diverged(&mut episode), named);
}

#[test]
fn a_right_digest_of_an_old_tick_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 8));
    let file = path(dir.path(), "e-1").unwrap();
    let len = || std::fs::metadata(&file).unwrap().len();
    let before = len();
    let old: Vec<(Tick, u64)> = all.digests.iter().take(2).copied().collect();
    assert_eq!(old[1].0, Tick(8), "the last one that is known");
    for _ in 0..3 {
        let claim = Upload {
            digests: old.clone(),
            ..pages[1].upload_part(&all, 8, 8)
        };
        let told = episode.append_upload(ONE, &claim).unwrap();
        assert_eq!(told.agreed, Tick(8));
        assert_eq!(len(), before);
        drop(episode);
        episode = Episode::recover(&file).unwrap();
    }
    both(&mut episode, &mut pages, &all, (8, 12));
    assert!(len() > before, "new ones are");
    assert_eq!(diverged(&mut episode), []);
}

#[test]
fn nobody_is_named_for_what_another_page_tells_them_after_it_has_taken_its_seat_back() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    both(&mut episode, &mut pages, &all, (0, 4));
    episode
        .append_upload(ONE, &pages[1].upload_part(&all, 4, 8))
        .unwrap();
    let mut misled = pages[0].upload_part(&all, 4, 8);
    misled.digests[0].1 ^= 1;
    let answer = episode.append_upload(ZERO, &misled).unwrap();
    assert_eq!((answer.recheck, answer.diverged), (Some(1), false));
    // It gets everything while nobody else plays.
    episode.take_seat(ONE, Controller::Vacant).unwrap();
    assert_eq!(episode.recheck(ZERO).inputs, []);
    let page = Some(key(ONE).verifying_key().to_bytes());
    let change = episode.give_seat(ONE, PERSON, page, Some(Tick(9))).unwrap();
    let mut own = |to: u32, recheck: u16, digests: Vec<(Tick, u64)>| Upload {
        changes: 2,
        recheck,
        digests,
        ..pages[0].upload_part(&all, to - 8, to)
    };
    episode
        .append_upload(ZERO, &own(16, 1, vec![all.digests[1]]))
        .unwrap();
    let mut back = PageScript::from(&header, ONE, change.life, change.tick);
    let said = Upload {
        changes: 2,
        digests: Vec::new(),
        ..back.upload_part(&all, change.tick.0, 24)
    };
    episode.append_upload(ONE, &said).unwrap();
    let lied_to = own(24, 1, vec![(Tick(20), 7)]);
    let answer = episode.append_upload(ZERO, &lied_to).unwrap();
    assert_eq!((answer.through, answer.recheck), (Tick(24), Some(2)));
    let [theirs] = &episode.recheck(ZERO).inputs[..] else {
        panic!("the other page is told of")
    };
    assert_eq!(
        (theirs.first, theirs.inputs.len()),
        (change.tick, 24 - change.tick.0 as usize)
    );
    assert_eq!(diverged(&mut episode), []);
    // Who differs in spite of that is named.
    let again = Upload {
        block: None,
        ..own(24, 2, vec![(Tick(20), 7)])
    };
    assert!(episode.append_upload(ZERO, &again).unwrap().diverged);
}

#[test]
fn after_a_long_outage_a_page_is_told_everything_before_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 8_400);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 4));
    for (from, to) in [(4, 8_000), (8_000, 8_400)] {
        episode
            .append_upload(ONE, &pages[1].upload_part(&all, from, to))
            .unwrap();
        let mut misled = pages[0].upload_part(&all, from, to);
        misled
            .digests
            .iter_mut()
            .for_each(|(_, digest)| *digest ^= 1);
        let answer = episode.append_upload(ZERO, &misled).unwrap();
        assert_eq!((answer.recheck, answer.diverged), (Some(1), false));
    }
    let asked = episode.recheck(ZERO);
    assert_eq!(asked.agreed, Tick(4));
    let mut end = 4;
    for part in &asked.inputs {
        assert_eq!((part.seat, part.first), (ONE, Tick(end)));
        let rows = all.rows.chunks(2).skip(end as usize);
        assert!(
            part.inputs
                .iter()
                .eq(rows.map(|row| &row[1]).take(part.inputs.len()))
        );
        end += part.inputs.len() as u32;
    }
    assert_eq!(end, 8_400);
    let fits = |part: &server_core::arbiter::KnownInputs| part.inputs.len() <= MAX_BLOCK;
    assert!(asked.inputs.iter().all(fits));
}

#[test]
fn a_page_that_says_it_was_asked_as_often_as_can_be_counted_is_named_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut wrong = rechecked(pages[0].upload_part(&all, 0, 8), u16::MAX);
    wrong.digests[0].1 ^= 1;
    episode.append_upload(ZERO, &wrong).unwrap();
    episode
        .append_upload(ONE, &pages[1].upload_part(&all, 0, 8))
        .unwrap();
    let expected = all.digests[0].1;
    let record = named(ZERO, 4, expected, expected ^ 1);
    assert_eq!(diverged(&mut episode), [record]);
}

#[test]
fn a_page_that_never_corrects_what_it_was_asked_for_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    for (number, to) in [(0, 4), (1, 8)] {
        let from = to - 4;
        episode
            .append_upload(ONE, &pages[1].upload_part(&all, from, to))
            .unwrap();
        // Nothing but a new lie about the newest tick.
        let mut wrong = rechecked(pages[0].upload_part(&all, from, to), number);
        wrong.digests[0].1 ^= 1;
        let answer = episode.append_upload(ZERO, &wrong).unwrap();
        assert_eq!(answer.diverged, number == 1);
        episode.recheck(ZERO);
    }
    let expected = all.digests[1].1;
    let record = named(ZERO, 8, expected, expected ^ 1);
    assert_eq!(diverged(&mut episode), [record]);
}
