use protocol::Era;
use protocol::change::Change;
use protocol::control::{KeyEvent, Misprediction, Timing, Upload};
use protocol::log::MAX_RECORD;

use super::*;

pub(crate) const PERSON: Controller = Controller::Human;
pub(crate) const ZERO: Seat = Seat(0);
const ONE: Seat = Seat(1);

pub(crate) fn ai(policy: &str) -> Controller {
    Controller::Ai {
        policy: policy.into(),
    }
}

pub(crate) fn header(controllers: [Controller; 2], horizon: u32) -> Header {
    Header {
        episode: "e-1".into(),
        study: "overcooked-dyad".into(),
        study_version: "1".into(),
        study_hash: "ab".into(),
        stage: "play".into(),
        group: "G-1".into(),
        participants: vec!["P-A".into(), "P-B".into()],
        module: "cd".into(),
        env: "overcooked".into(),
        env_version: "2.0.0".into(),
        params: format!("{{\"horizon\":{horizon}}}"),
        seed: 42,
        controllers: controllers.into(),
        tick_hz: 4,
        input_delay: 0,
        t0_us: 1_700_000_000_000_000,
    }
}

/// The environment comes with the program.
pub(crate) fn no_modules(_hash: &str) -> std::io::Result<Vec<u8>> {
    unreachable!("no module is needed")
}

/// A whole episode as the pages of all its people confirm it: rows, and digests at each second and the end.
pub(crate) fn played(header: &Header) -> Upload {
    let mut replica = Replica::open(header, no_modules).unwrap();
    let actions = replica.spec().actions.len() as u32;
    let mut upload = Upload {
        era: Era(1),
        life: Life(0),
        first: Tick(0),
        rows: Vec::new(),
        digests: Vec::new(),
        timing: None,
        ended: None,
    };
    while !replica.outcome().over {
        let pressed = |seat: u32| ((replica.ticks().0 * 7 + seat * 3) / 2 % actions) as u16;
        let row = [0, 1].map(|seat| {
            replica
                .chosen(Seat(seat))
                .unwrap_or_else(|| pressed(seat.into()))
        });
        replica.step(&row).unwrap();
        upload.rows.extend(row);
        let tick = replica.ticks();
        if tick.0.is_multiple_of(header.tick_hz.into()) || replica.outcome().over {
            upload.digests.push((tick, replica.digest(tick).unwrap()));
        }
    }
    upload.ended = Some(replica.ticks());
    upload
}

/// The part of an upload that a page sends when it has confirmed the ticks up to `to`.
pub(crate) fn part(all: &Upload, from: u32, to: u32) -> Upload {
    Upload {
        first: Tick(from),
        rows: all.rows[from as usize * 2..to as usize * 2].to_vec(),
        digests: all
            .digests
            .iter()
            .copied()
            .filter(|(tick, _)| (from + 1..=to).contains(&tick.0))
            .collect(),
        ended: all.ended.filter(|end| end.0 <= to),
        ..all.clone()
    }
}

pub(crate) fn log_of(episode: &mut Episode) -> protocol::log::Log {
    log::read(&episode.file.read().unwrap()).unwrap()
}

fn fine(through: u32) -> Absorbed {
    Absorbed {
        through: Tick(through),
        over: None,
        notes: 0,
        last: false,
        diverged: false,
        stopped: false,
    }
}

#[test]
fn two_pages_fill_one_archive_to_the_environments_end() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    assert_eq!(episode.absorb(ZERO, &part(&all, 0, 7)).unwrap(), fine(7));
    assert_eq!(episode.absorb(ONE, &part(&all, 0, 5)).unwrap(), fine(7));
    assert_eq!(episode.absorb(ONE, &part(&all, 5, 13)).unwrap(), fine(13));
    assert!(matches!(
        episode.end(EndReason::Played),
        Err(Refused::NotOver { through: Tick(13) })
    ));
    let last = episode.absorb(ZERO, &part(&all, 7, 20)).unwrap();
    assert!(last.last);
    let over = last.over.unwrap();
    assert_eq!(
        (over.ticks, over.reason, over.digest),
        (Tick(20), EndReason::Played, all.digests.last().unwrap().1)
    );
    assert_eq!(episode.absorb(ONE, &part(&all, 13, 20)).unwrap(), last);
    // The environment has the last word on the reason.
    assert_eq!(episode.end(EndReason::PartnerLeft).unwrap(), over);
    assert_eq!(episode.end(EndReason::Technical).unwrap(), over);
    let log = log_of(&mut episode);
    assert_eq!(
        (log.header.clone(), log.rows(), log.ending, log.torn),
        (header, all.rows, Some(over), false)
    );
    assert!(replay(&log, no_modules, |_, _| ()).is_ok());
}

#[test]
fn a_crash_at_every_byte_leaves_a_prefix_that_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, ai("random")], 9);
    let mut all = played(&header);
    all.timing.get_or_insert_default().keys.push(KeyEvent {
        tick: Tick(1),
        action: 1,
        down: true,
        at_us: 5,
        shown_us: 9,
    });
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let path = path(dir.path(), "e-1").unwrap();
    let start = fs::metadata(&path).unwrap().len() as usize;
    // What is durable after each answer: length of the file and ticks.
    let mut answers = vec![(start, 0)];
    for to in [4, 6, 9] {
        let first = episode.through().0;
        episode.absorb(ZERO, &part(&all, first, to)).unwrap();
        answers.push((fs::metadata(&path).unwrap().len() as usize, to));
    }
    let ending = episode.end(EndReason::Played).unwrap();
    let whole = episode.file.read().unwrap();
    drop(episode);
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        if cut < start {
            assert!(
                matches!(
                    Episode::recover(&path),
                    Err(OpenError::Log(LogError::NoHeader))
                ),
                "byte {cut}"
            );
            continue;
        }
        let acknowledged = answers
            .iter()
            .filter(|(len, _)| *len <= cut)
            .map(|(_, ticks)| *ticks)
            .max();
        let mut episode = Episode::recover(&path).unwrap();
        let through = episode.through().0;
        assert!(through >= acknowledged.unwrap(), "byte {cut}");
        assert_eq!(episode.rows, all.rows[..through as usize * 2], "byte {cut}");
        // The page still has what was not acknowledged, and sends it again.
        let back = episode
            .absorb(ZERO, &part(&all, acknowledged.unwrap(), 9))
            .unwrap();
        assert_eq!(
            (back.over, back.diverged, back.notes),
            (Some(ending), false, 1),
            "byte {cut}"
        );
        assert_eq!(episode.end(EndReason::Played).unwrap(), ending);
        let log = log_of(&mut episode);
        assert_eq!(
            (log.rows(), log.ending, log.torn),
            (all.rows.clone(), Some(ending), false),
            "byte {cut}"
        );
        let keys = log.records.iter().filter(
            |record| matches!(record, Record::Timing { timing, .. } if !timing.keys.is_empty()),
        );
        assert_eq!(keys.count(), 1, "byte {cut}");
    }
}

#[test]
fn what_is_uploaded_twice_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let mut all = played(&header);
    all.timing = Some(Timing {
        keys: vec![KeyEvent {
            tick: Tick(1),
            action: 1,
            down: true,
            at_us: 5,
            shown_us: 9,
        }],
        rollbacks: vec![(Tick(3), 2)],
        holds: vec![(Tick(4), 120)],
        hidden: vec![(Tick(5), Tick(6))],
        rtt_us: vec![0, 30_000],
        ..Timing::default()
    });
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let answer = episode.absorb(ONE, &part(&all, 0, 10)).unwrap();
    assert_eq!(
        answer,
        Absorbed {
            notes: 1,
            ..fine(10)
        }
    );
    let stored = episode.file.read().unwrap();
    assert_eq!(episode.absorb(ONE, &part(&all, 0, 10)).unwrap(), answer);
    assert_eq!(episode.file.read().unwrap(), stored);
    drop(episode);
    let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(episode.absorb(ONE, &part(&all, 2, 10)).unwrap(), answer);
    assert_eq!(episode.file.read().unwrap(), stored);
    // A note after the next one would leave a gap, and is not acknowledged.
    let mut more = part(&all, 2, 10);
    let numbered = |upload: &mut Upload, number| {
        let timing = upload.timing.as_mut().unwrap();
        (timing.number, timing.refused) = (number, 7);
    };
    numbered(&mut more, 2);
    assert_eq!(episode.absorb(ONE, &more).unwrap(), answer);
    assert_eq!(episode.file.read().unwrap(), stored);
    numbered(&mut more, 1);
    assert_eq!(episode.absorb(ONE, &more).unwrap().notes, 2);
    // Each page counts its own.
    assert_eq!(episode.absorb(ZERO, &part(&all, 0, 10)).unwrap(), answer);
    let told: Vec<_> = log_of(&mut episode)
        .records
        .into_iter()
        .filter_map(|record| match record {
            Record::Timing { seat, timing, .. } => Some((seat, timing.number, timing.refused)),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(ONE, 0, 0), (ONE, 1, 7), (ZERO, 0, 0)]);
}

#[test]
fn what_no_page_sends_is_refused_without_harm() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, ai("idle")], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.absorb(ZERO, &part(&all, 0, 4)).unwrap();
    let stored = episode.file.read().unwrap();
    let good = part(&all, 4, 8);
    let with = |change: &dyn Fn(&mut Upload)| {
        let mut upload = good.clone();
        change(&mut upload);
        upload
    };
    for wrong in [
        with(&|upload| upload.rows[2] = 999),
        with(&|upload| upload.rows.truncate(3)),
        with(&|upload| upload.rows = vec![0; MAX_RECORD]),
        with(&|upload| upload.digests.push((Tick(21), 0))),
        with(&|upload| upload.timing.get_or_insert_default().rtt_us = vec![0; 3]),
        with(&|upload| {
            let wrong = Misprediction {
                seat: Seat(2),
                tick: Tick(1),
                predicted: 0,
                actual: 1,
                shown_ms: 9,
            };
            upload.timing.get_or_insert_default().mispredictions = vec![wrong];
        }),
    ] {
        assert!(
            matches!(episode.absorb(ZERO, &wrong), Err(Refused::Malformed(_))),
            "{wrong:?}"
        );
    }
    for nobody in [ONE, Seat(2), Seat(255)] {
        assert!(matches!(
            episode.absorb(nobody, &good),
            Err(Refused::Malformed(_))
        ));
    }
    for first in [5, u32::MAX] {
        let gap = with(&|upload| upload.first = Tick(first));
        assert!(matches!(
            episode.absorb(ZERO, &gap),
            Err(Refused::Gap { through: Tick(4) })
        ));
    }
    assert_eq!(
        (episode.file.read().unwrap(), episode.through()),
        (stored, Tick(4))
    );
    assert_eq!(episode.absorb(ZERO, &good).unwrap(), fine(8));
}

#[test]
fn an_action_that_the_partner_did_not_choose_is_not_archived() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, ai("idle")], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut forged = part(&all, 0, 8);
    forged.rows[2 * 3 + 1] = 0;
    forged.digests.clear();
    let named = Absorbed {
        diverged: true,
        ..fine(3)
    };
    assert_eq!(episode.absorb(ZERO, &forged).unwrap(), named);
    assert_eq!(log_of(&mut episode).rows(), all.rows[..6]);
    let record = Record::Diverged {
        seat: ZERO,
        tick: Tick(3),
        expected: 0,
        found: 0,
    };
    assert_eq!(diverged(&mut episode), std::slice::from_ref(&record));
    // Nothing more is taken from it, before and after a restart, until its seat is.
    assert_eq!(episode.absorb(ZERO, &part(&all, 3, 8)).unwrap(), named);
    drop(episode);
    let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(episode.absorb(ZERO, &part(&all, 3, 8)).unwrap(), named);
    assert_eq!(diverged(&mut episode), [record]);
    let change = episode.take(ZERO, Controller::Vacant, &[]).unwrap();
    assert_eq!((change.tick, change.life), (Tick(3), Life(1)));
    assert_eq!(episode.absorb(ZERO, &part(&all, 3, 8)).unwrap(), fine(3));
}

/// The pages that were named, in order.
pub(super) fn diverged(episode: &mut Episode) -> Vec<Record> {
    let mut records = log_of(episode).records;
    records.retain(|record| matches!(record, Record::Diverged { .. }));
    records
}

/// What pages told that contradicts what is durable, in order.
pub(super) fn equivocations(episode: &mut Episode) -> Vec<Record> {
    let mut records = log_of(episode).records;
    records.retain(|record| matches!(record, Record::Equivocation { .. }));
    records
}

pub(super) fn equivocation(seat: Seat, tick: u32, by: Seat, durable: u16, told: u16) -> Record {
    Record::Equivocation {
        seat,
        tick: Tick(tick),
        by,
        durable,
        told,
    }
}

#[test]
fn a_page_that_contradicts_the_archive_is_told_apart_and_adds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.absorb(ZERO, &part(&all, 0, 8)).unwrap();
    let mut other = part(&all, 4, 12);
    let known = &mut other.rows[1];
    *known ^= 1;
    let lie = equivocation(ONE, 4, ONE, *known ^ 1, *known);
    other.digests.clear();
    assert_eq!(
        episode.absorb(ONE, &other).unwrap(),
        Absorbed {
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
    assert_eq!(episode.absorb(ZERO, &part(&all, 8, 12)).unwrap(), fine(12));
}

#[test]
fn a_page_that_was_told_something_else_is_not_blamed_but_sent_the_state() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.absorb(ZERO, &part(&all, 0, 8)).unwrap();
    // Another state is what follows.
    let mut other = part(&all, 4, 12);
    let known = other.rows[2];
    other.rows[2] = known ^ 1;
    for (_, digest) in &mut other.digests {
        *digest ^= 1;
    }
    let resync = Absorbed {
        diverged: true,
        ..fine(8)
    };
    assert_eq!(episode.absorb(ONE, &other).unwrap(), resync);
    let lie = equivocation(ZERO, 5, ONE, known, known ^ 1);
    assert_eq!(equivocations(&mut episode), std::slice::from_ref(&lie));
    assert_eq!(diverged(&mut episode), []);
    // It is not heard any more, also after a restart, until its seat has changed hands.
    drop(episode);
    let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(episode.absorb(ONE, &part(&all, 8, 12)).unwrap(), resync);
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
    assert!(episode.absorb(ONE, &back).unwrap().diverged);
    assert_eq!(equivocations(&mut episode), [lie.clone(), lie]);
}

#[test]
fn a_page_that_was_in_another_state_before_the_lie_is_named_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.absorb(ZERO, &part(&all, 0, 8)).unwrap();
    let mut other = part(&all, 0, 8);
    other.digests[0].1 ^= 1;
    other.rows[2 * 6] ^= 1;
    assert!(episode.absorb(ONE, &other).unwrap().diverged);
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
    episode.absorb(ZERO, &part(&all, 0, 8)).unwrap();
    let mut claim = part(&all, 4, 8);
    assert_eq!(episode.absorb(ONE, &claim).unwrap(), fine(8));
    let expected = claim.digests[0].1;
    claim.digests[0].1 ^= 1;
    assert!(episode.absorb(ONE, &claim).unwrap().diverged);
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
    assert_eq!(episode.absorb(ONE, &early).unwrap(), fine(2));
    drop(episode);
    let mut episode = Episode::recover(&dir.path().join("e-1.coplay")).unwrap();
    assert_eq!(episode.absorb(ZERO, &part(&all, 2, 6)).unwrap(), fine(6));
    assert_eq!(diverged(&mut episode), []);
    // The rows of one page find out the other.
    assert_eq!(episode.absorb(ZERO, &part(&all, 6, 10)).unwrap(), fine(10));
    let record = Record::Diverged {
        seat: ONE,
        tick: Tick(8),
        expected: all.digests[1].1,
        found: 7,
    };
    assert_eq!(diverged(&mut episode), std::slice::from_ref(&record));
    assert_eq!(episode.absorb(ZERO, &part(&all, 10, 12)).unwrap(), fine(12));
    let told = episode.absorb(ONE, &part(&all, 12, 12)).unwrap();
    assert!(told.diverged);
    // The next page of the seat is not blamed, and may claim for the same tick.
    episode.take(ONE, ai("idle"), &[]).unwrap();
    assert!(!episode.absorb(ONE, &part(&all, 12, 12)).unwrap().diverged);
    episode.give(ONE, PERSON).unwrap();
    let late = |digest| Upload {
        life: Life(2),
        digests: vec![(Tick(8), digest)],
        ..part(&all, 12, 12)
    };
    assert_eq!(
        episode.absorb(ONE, &late(all.digests[1].1)).unwrap(),
        fine(12)
    );
    assert!(episode.absorb(ONE, &late(7)).unwrap().diverged);
    assert_eq!(diverged(&mut episode), [record.clone(), record]);
}

#[test]
fn a_crash_before_a_page_is_named_does_not_hide_it() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut early = part(&all, 0, 2);
    early.digests = vec![(Tick(8), 7)];
    episode.absorb(ONE, &early).unwrap();
    let before = episode.file.read().unwrap();
    episode.absorb(ZERO, &part(&all, 2, 10)).unwrap();
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
    assert!(episode.absorb(ZERO, &too_soon).unwrap().diverged);
    let mut too_late = part(&all, 5, 12);
    too_late.rows.extend([0, 0]);
    let answer = episode.absorb(ONE, &too_late).unwrap();
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

#[test]
fn nothing_follows_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.absorb(ZERO, &part(&all, 0, 9)).unwrap();
    let ending = episode.end(EndReason::PartnerLeft).unwrap();
    assert_eq!(
        (ending.ticks, ending.reason),
        (Tick(9), EndReason::PartnerLeft)
    );
    let stored = episode.file.read().unwrap();
    let mut late = part(&all, 0, 15);
    late.timing.get_or_insert_default().rtt_us = vec![5, 5];
    assert_eq!(episode.absorb(ONE, &late).unwrap().through, Tick(9));
    assert_eq!(episode.file.read().unwrap(), stored);
    drop(episode);
    let episode = Episode::recover(&dir.path().join("e-1.coplay")).unwrap();
    assert_eq!(episode.ending(), Some(ending));
}

/// A full disk.
struct Full(Box<dyn LogFile>);

impl LogFile for Full {
    fn append(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.0.read()
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        self.0.truncate(len)
    }
}

#[test]
fn a_failed_write_is_not_acknowledged_and_the_file_tells_what_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode.absorb(ZERO, &part(&all, 0, 5)).unwrap();
    episode.file = Box::new(Full(episode.file));
    assert!(matches!(
        episode.absorb(ZERO, &part(&all, 5, 9)),
        Err(Refused::Disk(_))
    ));
    assert!(matches!(
        episode.absorb(ZERO, &part(&all, 0, 5)),
        Err(Refused::Disk(_))
    ));
    assert!(matches!(
        episode.end(EndReason::Technical),
        Err(Refused::Disk(_))
    ));
    assert!(matches!(
        episode.take(ONE, Controller::Vacant, &[]),
        Err(Refused::Disk(_))
    ));
    drop(episode);
    let mut episode = Episode::recover(&dir.path().join("e-1.coplay")).unwrap();
    assert_eq!(episode.through(), Tick(5));
    assert_eq!(episode.absorb(ZERO, &part(&all, 5, 9)).unwrap(), fine(9));
}

#[test]
fn an_episode_has_one_file_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let episodes = dir.path().join(FOLDER);
    fs::create_dir(&episodes).unwrap();
    let episode = Episode::create(&episodes, header.clone()).unwrap();
    assert!(matches!(
        Episode::create(&episodes, header.clone()),
        Err(OpenError::Io(_))
    ));
    drop(episode);
    assert_eq!(
        files(dir.path()).unwrap(),
        [path(&episodes, "e-1").unwrap()]
    );
    for name in ["", "../e", "a/b", "a.b", &"e".repeat(65)] {
        let header = Header {
            episode: name.into(),
            ..header.clone()
        };
        assert!(
            matches!(Episode::create(dir.path(), header), Err(OpenError::Name(_))),
            "{name}"
        );
    }
}

#[test]
fn what_this_program_cannot_simulate_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let good = header([PERSON, ai("idle")], 20);
    let error = |header: Header| match Episode::create(dir.path(), header) {
        Err(OpenError::Replay(ReplayError::Replica(error))) => error,
        _ => panic!("not refused"),
    };
    let version = error(Header {
        env_version: "0.9.0".into(),
        ..good.clone()
    });
    assert_eq!(
        version.to_string(),
        "recorded with overcooked 0.9.0; this program has 2.0.0"
    );
    let policy = error(Header {
        controllers: vec![PERSON, ai("nobody")],
        ..good.clone()
    });
    assert_eq!(
        policy.to_string(),
        "there is no policy `nobody` for overcooked"
    );
    let seats = error(Header {
        controllers: vec![PERSON],
        participants: vec![String::new()],
        ..good.clone()
    });
    assert!(matches!(
        seats,
        ReplicaError::Seats {
            recorded: 1,
            here: 2
        }
    ));
    let environment = error(Header {
        env: "chess".into(),
        ..good
    });
    assert!(matches!(environment, ReplicaError::Module { .. }));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_module_that_breaks_down_in_its_first_state_is_not_started() {
    let facts = r#"{"spec":{"id":"counter","version":"1.0.0","title":"Counter","seats":1,
"actions":[{"name":"wait","momentary":false,"keys":[]},{"name":"count","momentary":true,"keys":["Space"]}],"noop":0,
"observation":[{"name":"sum","shape":[1]}],"tick_hz":10,"horizon":20,"events":[]},"params_schema":{},"sprites":[]}"#;
    let escaped: String = facts.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let text = include_str!("../../../module/tests/hosted/counter.wat")
        .replace("FACTS", &escaped)
        .replace("LENGTH", &facts.len().to_string());
    let open = |text: &str, controller: Controller| {
        let bytes = wat::parse_str(text).unwrap();
        let header = Header {
            module: crate::assets::sha256_hex(&bytes),
            env: "counter".into(),
            env_version: "1.0.0".into(),
            params: String::new(),
            participants: vec!["P-A".into()],
            controllers: vec![controller],
            ..header([PERSON, PERSON], 20)
        };
        let opened = Replica::open(&header, |_| Ok(bytes));
        opened.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(open(&text, PERSON), Ok(()));
    assert_eq!(open(&text, ai("idle")), Ok(()));
    let reset = "(export \"coplay_reset\") (param $seed i64)";
    let traps = text.replace(reset, &format!("{reset} unreachable"));
    let refused = open(&traps, PERSON).unwrap_err();
    assert!(
        refused.contains("of `counter`: `coplay_reset` gave up"),
        "{refused}"
    );
    let observe = "(export \"coplay_observe\") (param $seat i32) (result i32)";
    let traps = text.replace(observe, &format!("{observe} unreachable"));
    let refused = open(&traps, ai("idle")).unwrap_err();
    assert!(
        refused.contains("of `counter`: `coplay_observe` gave up"),
        "{refused}"
    );
}

#[test]
fn a_log_that_comes_out_differently_is_not_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let write = |records: &[Record]| {
        let mut bytes = log::begin(&header).unwrap();
        records
            .iter()
            .for_each(|record| log::append(record, &mut bytes).unwrap());
        let path = dir.path().join("e-1.coplay");
        fs::write(&path, bytes).unwrap();
        match Episode::recover(&path) {
            Err(OpenError::Replay(error)) => error,
            _ => panic!("not refused"),
        }
    };
    let rows = Record::Actions {
        first: Tick(0),
        rows: all.rows[..16].to_vec(),
    };
    let digest = Record::Digest {
        tick: Tick(4),
        seat: None,
        digest: 1,
    };
    assert!(matches!(
        write(&[rows.clone(), digest]),
        ReplayError::Digest {
            tick: Tick(4),
            recorded: 1,
            ..
        }
    ));
    let end = Ending {
        ticks: Tick(8),
        reason: EndReason::Technical,
        score: 99,
        digest: 0,
    };
    assert!(matches!(
        write(&[rows.clone(), Record::End(end)]),
        ReplayError::End { .. }
    ));
    let mut replica = Replica::open(&header, no_modules).unwrap();
    all.rows[..16]
        .chunks(2)
        .for_each(|row| replica.step(row).unwrap());
    let claimed = Ending {
        reason: EndReason::Played,
        ..replica.ending(EndReason::Technical)
    };
    assert!(matches!(
        write(&[rows, Record::End(claimed)]),
        ReplayError::End { .. }
    ));
    let wild = Record::Actions {
        first: Tick(0),
        rows: vec![0, 999],
    };
    assert!(matches!(
        write(&[wild]),
        ReplayError::Row {
            tick: Tick(0),
            error: RowError::Malformed
        }
    ));
}

#[test]
fn a_partner_takes_a_seat_over_from_its_tick_on() {
    let header = header([PERSON, PERSON], 20);
    let all = played(&header);
    let mut replica = Replica::open(&header, no_modules).unwrap();
    all.rows[..8]
        .chunks(2)
        .for_each(|row| replica.step(row).unwrap());
    replica
        .change(&Change {
            number: 0,
            tick: Tick(4),
            seat: ONE,
            controller: ai("idle"),
            life: Life(1),
            from: Tick(4),
            inputs: Vec::new(),
        })
        .unwrap();
    let idle = replica.chosen(ONE).unwrap();
    let mut bytes = log::begin(&header).unwrap();
    for record in [
        Record::Actions {
            first: Tick(0),
            rows: all.rows[..8].to_vec(),
        },
        Record::Change(Change {
            number: 0,
            tick: Tick(4),
            seat: ONE,
            controller: ai("idle"),
            life: Life(1),
            from: Tick(4),
            inputs: Vec::new(),
        }),
        Record::Actions {
            first: Tick(4),
            rows: vec![1, idle, 2, idle],
        },
    ] {
        log::append(&record, &mut bytes).unwrap();
    }
    let mut log = log::read(&bytes).unwrap();
    assert_eq!(
        replay(&log, no_modules, |_, _| ()).unwrap().ticks(),
        Tick(6)
    );
    log.records[2] = Record::Actions {
        first: Tick(4),
        rows: vec![1, idle, 2, 0],
    };
    let error = RowError::Partner {
        seat: ONE,
        expected: idle,
        found: 0,
    };
    assert_eq!(
        replay(&log, no_modules, |_, _| ()).err(),
        Some(ReplayError::Row {
            tick: Tick(5),
            error
        })
    );
}

#[test]
fn a_digest_told_many_times_in_one_upload_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let mut upload = part(&played(&header), 0, 20);
    let told = upload.digests.clone();
    let mut episode = Episode::create(dir.path(), header).unwrap();
    upload.digests = told.repeat(100);
    assert!(!episode.absorb(ZERO, &upload).unwrap().diverged);
    let of_page = |record: &&Record| matches!(record, Record::Digest { seat: Some(_), .. });
    assert_eq!(
        log_of(&mut episode).records.iter().filter(of_page).count(),
        told.len()
    );
    // Two digests for one tick cannot both be right.
    upload.digests = vec![told[0], (told[0].0, !told[0].1)];
    assert!(episode.absorb(ONE, &upload).unwrap().diverged);
}

/// A module with one seat that gives up in its fourth step.
fn tired_module() -> Vec<u8> {
    let facts = r#"{"spec":{"id":"tired","version":"1.0.0","title":"Tired","seats":1,
        "actions":[{"name":"wait","momentary":false,"keys":[]}],"noop":0,"observation":[{"name":"sum","shape":[1]}],
        "tick_hz":4,"horizon":20,"events":[]},"params_schema":{},"sprites":[]}"#;
    let bytes: String = facts.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let counter = include_str!("../../../module/tests/hosted/counter.wat");
    let step = "(local $action i32) (local $over i32)";
    let tired =
        format!("{step} (if (i32.eq (i32.load (i32.const 16)) (i32.const 3)) (then unreachable))");
    let text = counter.replace("FACTS", &bytes).replace(step, &tired);
    wat::parse_str(text.replace("LENGTH", &facts.len().to_string())).unwrap()
}

#[test]
fn an_environment_that_breaks_down_stops_the_episode_and_keeps_what_was_played() {
    let data = tempfile::tempdir().unwrap();
    let (bytes, episodes) = (tired_module(), data.path().join("episodes"));
    let hash = crate::assets::sha256_hex(&bytes);
    for folder in ["episodes", "modules"] {
        fs::create_dir(data.path().join(folder)).unwrap();
    }
    fs::write(data.path().join(format!("modules/{hash}.wasm")), &bytes).unwrap();
    let mut header = header([PERSON, PERSON], 20);
    (header.env, header.module, header.params) = ("tired".into(), hash, "{}".into());
    header.env_version = "1.0.0".into();
    header.controllers.truncate(1);
    header.participants.truncate(1);
    let mut episode = Episode::create(&episodes, header).unwrap();
    let upload = Upload {
        era: Era(1),
        life: Life(0),
        first: Tick(0),
        rows: vec![0; 6],
        digests: Vec::new(),
        timing: None,
        ended: None,
    };
    let expected = Absorbed {
        stopped: true,
        ..fine(3)
    };
    assert_eq!(episode.absorb(ZERO, &upload).unwrap(), expected);
    let ending = episode.end(EndReason::Technical).unwrap();
    assert_eq!(
        (ending.ticks, ending.reason),
        (Tick(3), EndReason::Technical)
    );
    assert_eq!(log_of(&mut episode).rows(), [0, 0, 0]);
    let log = log_of(&mut episode);
    assert!(replay(&log, |hash| stored(&episodes, hash), |_, _| ()).is_ok());
}
