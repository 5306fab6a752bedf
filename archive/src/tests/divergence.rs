//! Pages that simulated something else, or told two things of one tick.

use super::*;

#[test]
fn an_action_that_the_partner_did_not_choose_is_not_archived() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, ai("idle")], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut forged = part(&all, 0, 8);
    forged.rows[2 * 3 + 1] = 0;
    forged.digests.clear();
    let named = AppendedUpload {
        diverged: true,
        ..fine(3)
    };
    assert_eq!(episode.append_upload(ZERO, &forged).unwrap(), named);
    assert_eq!(log_of(&mut episode).rows(), all.rows[..6]);
    let record = Record::Diverged {
        seat: ZERO,
        tick: Tick(3),
        expected: 0,
        found: 0,
    };
    assert_eq!(diverged(&mut episode), std::slice::from_ref(&record));
    // Nothing more is taken from it, before and after a restart, until its seat is.
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 3, 8)).unwrap(),
        named
    );
    drop(episode);
    let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 3, 8)).unwrap(),
        named
    );
    assert_eq!(diverged(&mut episode), [record]);
    let change = episode.take(ZERO, Controller::Vacant, &[]).unwrap();
    assert_eq!((change.tick, change.life), (Tick(3), Life(1)));
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 3, 8)).unwrap(),
        fine(3)
    );
}

#[test]
fn a_page_that_contradicts_the_archive_is_told_apart_and_adds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.append_upload(ZERO, &part(&all, 0, 8)).unwrap();
    let mut other = part(&all, 4, 12);
    let known = &mut other.rows[1];
    *known ^= 1;
    let lie = equivocation(ONE, 4, ONE, *known ^ 1, *known);
    other.digests.clear();
    assert_eq!(
        episode.append_upload(ONE, &other).unwrap(),
        AppendedUpload {
            diverged: true,
            ..fine(8)
        }
    );
    assert_eq!(log_of(&mut episode).rows(), all.rows[..16]);
    let at = |seat, tick| Record::Diverged {
        seat,
        tick: Tick(tick),
        expected: 0,
        found: 0,
    };
    assert_eq!(diverged(&mut episode), [at(ONE, 4)]);
    assert_eq!(equivocations(&mut episode), [lie]);
    // The other page is not harmed, and goes on.
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 8, 12)).unwrap(),
        fine(12)
    );
}

#[test]
fn a_page_that_was_told_something_else_is_not_blamed_but_sent_the_state() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.append_upload(ZERO, &part(&all, 0, 8)).unwrap();
    // Another state is what follows.
    let mut other = part(&all, 4, 12);
    let known = other.rows[2];
    other.rows[2] = known ^ 1;
    for (_, digest) in &mut other.digests {
        *digest ^= 1;
    }
    let resync = AppendedUpload {
        diverged: true,
        ..fine(8)
    };
    assert_eq!(episode.append_upload(ONE, &other).unwrap(), resync);
    let lie = equivocation(ZERO, 5, ONE, known, known ^ 1);
    assert_eq!(equivocations(&mut episode), std::slice::from_ref(&lie));
    assert_eq!(diverged(&mut episode), []);
    // It is not heard any more, also after a restart, until its seat has changed hands.
    drop(episode);
    let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(
        episode.append_upload(ONE, &part(&all, 8, 12)).unwrap(),
        resync
    );
    assert_eq!(equivocations(&mut episode), std::slice::from_ref(&lie));
    assert_eq!(diverged(&mut episode), []);
    episode.take(ONE, Controller::Vacant, &[]).unwrap();
    episode.give(ONE, PERSON).unwrap();
    let back = Upload {
        life: Life(2),
        digests: Vec::new(),
        ..other
    };
    // Its next page can be lied to as well.
    assert!(episode.append_upload(ONE, &back).unwrap().diverged);
    assert_eq!(equivocations(&mut episode), [lie.clone(), lie]);
}

#[test]
fn a_page_that_was_in_another_state_before_the_lie_is_named_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.append_upload(ZERO, &part(&all, 0, 8)).unwrap();
    let mut other = part(&all, 0, 8);
    other.digests[0].1 ^= 1;
    other.rows[2 * 6] ^= 1;
    assert!(episode.append_upload(ONE, &other).unwrap().diverged);
    let expected = all.digests[0].1;
    let named = Record::Diverged {
        seat: ONE,
        tick: Tick(4),
        expected,
        found: expected ^ 1,
    };
    assert_eq!(diverged(&mut episode), [named]);
    assert_eq!(equivocations(&mut episode).len(), 1);
}

#[test]
fn a_page_that_takes_back_a_digest_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.append_upload(ZERO, &part(&all, 0, 8)).unwrap();
    let mut claim = part(&all, 4, 8);
    assert_eq!(episode.append_upload(ONE, &claim).unwrap(), fine(8));
    let expected = claim.digests[0].1;
    claim.digests[0].1 ^= 1;
    assert!(episode.append_upload(ONE, &claim).unwrap().diverged);
    let record = Record::Diverged {
        seat: ONE,
        tick: Tick(8),
        expected,
        found: expected ^ 1,
    };
    assert_eq!(diverged(&mut episode), [record]);
}

#[test]
fn a_page_with_another_state_is_named_even_if_its_digest_came_early() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut early = part(&all, 0, 2);
    early.digests = vec![(Tick(8), 7)];
    assert_eq!(episode.append_upload(ONE, &early).unwrap(), fine(2));
    drop(episode);
    let mut episode = Episode::recover(&dir.path().join("e-1.coplay")).unwrap();
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 2, 6)).unwrap(),
        fine(6)
    );
    assert_eq!(diverged(&mut episode), []);
    // The rows of one page find out the other.
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 6, 10)).unwrap(),
        fine(10)
    );
    let record = Record::Diverged {
        seat: ONE,
        tick: Tick(8),
        expected: all.digests[1].1,
        found: 7,
    };
    assert_eq!(diverged(&mut episode), std::slice::from_ref(&record));
    assert_eq!(
        episode.append_upload(ZERO, &part(&all, 10, 12)).unwrap(),
        fine(12)
    );
    let told = episode.append_upload(ONE, &part(&all, 12, 12)).unwrap();
    assert!(told.diverged);
    // The next page of the seat is not blamed, and may claim for the same tick.
    episode.take(ONE, ai("idle"), &[]).unwrap();
    assert!(
        !episode
            .append_upload(ONE, &part(&all, 12, 12))
            .unwrap()
            .diverged
    );
    episode.give(ONE, PERSON).unwrap();
    let late = |digest| Upload {
        life: Life(2),
        digests: vec![(Tick(8), digest)],
        ..part(&all, 12, 12)
    };
    assert_eq!(
        episode.append_upload(ONE, &late(all.digests[1].1)).unwrap(),
        fine(12)
    );
    assert!(episode.append_upload(ONE, &late(7)).unwrap().diverged);
    assert_eq!(diverged(&mut episode), [record.clone(), record]);
}

#[test]
fn a_page_that_plays_beyond_the_horizon_is_named_and_not_refused() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut beyond = part(&all, 12, 20);
    episode.append_upload(ZERO, &part(&all, 0, 12)).unwrap();
    beyond.rows.extend([0, 0]);
    beyond.digests = vec![(Tick(21), 7)];
    let told = episode.append_upload(ONE, &beyond).unwrap();
    assert!(told.diverged);
    assert_eq!(told.through, Tick(20), "what it played until then is taken");
    assert_eq!(diverged(&mut episode).len(), 1);
}

#[test]
fn a_crash_before_a_page_is_named_does_not_hide_it() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut early = part(&all, 0, 2);
    early.digests = vec![(Tick(8), 7)];
    episode.append_upload(ONE, &early).unwrap();
    let before = episode.file.read().unwrap();
    episode.append_upload(ZERO, &part(&all, 2, 10)).unwrap();
    let named = diverged(&mut episode);
    assert_eq!(named.len(), 1);
    let whole = episode.file.read().unwrap();
    let rows = (before.len()..whole.len())
        .find(|cut| log::read(&whole[..*cut]).unwrap().through == Tick(10))
        .unwrap();
    for cut in rows..whole.len() {
        fs::write(path(dir.path(), "e-1").unwrap(), &whole[..cut]).unwrap();
        let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
        assert_eq!(diverged(&mut episode), named, "byte {cut}");
    }
}

#[test]
fn a_page_that_sees_another_end_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 12);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let too_soon = Upload {
        ended: Some(Tick(5)),
        ..part(&all, 0, 5)
    };
    assert!(episode.append_upload(ZERO, &too_soon).unwrap().diverged);
    let mut too_late = part(&all, 5, 12);
    too_late.rows.extend([0, 0]);
    let answer = episode.append_upload(ONE, &too_late).unwrap();
    assert_eq!((answer.through, answer.diverged), (Tick(12), true));
    let seats: Vec<_> = diverged(&mut episode)
        .into_iter()
        .map(|record| match record {
            Record::Diverged { seat, tick, .. } => (seat, tick),
            _ => unreachable!("only these were asked for"),
        })
        .collect();
    assert_eq!(seats, [(ZERO, Tick(5)), (ONE, Tick(12))]);
}
