mod divergence;
mod files;
mod shared_seats;

use protocol::Era;
use protocol::chain::MAX_BLOCK;
use protocol::change::Change;
use protocol::control::{Block, KeyEvent, Misprediction, Timing, Upload};

use super::*;
pub(super) use crate::fixtures::{
    PERSON, PageScript, PlayedEpisode, ZERO, ai_controller, header, key, log_of, no_modules, pages,
    play_episode,
};

const ONE: Seat = Seat(1);

fn fine(through: u32, own: u32) -> AppendedUpload {
    AppendedUpload {
        through: Tick(through),
        own: Tick(own),
        over: None,
        notes: 0,
        // As the pages of these tests send digests.
        agreed: Tick(through / 4 * 4),
        recheck: None,
        last: false,
        diverged: false,
        stopped: false,
    }
}

/// A file in memory, as a simulation has it.
#[derive(Clone, Default)]
pub(super) struct Memory(pub(super) std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl LogFile for Memory {
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

/// The pages that were named, in order.
pub(super) fn diverged(episode: &mut Episode) -> Vec<Record> {
    let mut records = log_of(episode).records;
    records.retain(|record| matches!(record, Record::Diverged { .. }));
    records
}

/// Both pages upload the same ticks; the answer to the second.
fn both(
    episode: &mut Episode,
    pages: &mut [PageScript; 2],
    all: &PlayedEpisode,
    (from, to): (u32, u32),
) -> AppendedUpload {
    episode
        .append_upload(ZERO, &pages[0].upload_part(all, from, to))
        .unwrap();
    episode
        .append_upload(ONE, &pages[1].upload_part(all, from, to))
        .unwrap()
}

#[test]
fn the_replica_writes_a_digest_of_each_quarter_of_a_second_and_of_the_end() {
    for (tick_hz, expected) in [(12, &[3, 6, 9, 12, 15, 18, 20][..]), (60, &[15, 20][..])] {
        let dir = tempfile::tempdir().unwrap();
        let header = Header {
            tick_hz,
            ..header([PERSON, PERSON], 20)
        };
        let (all, mut pages) = (play_episode(&header), pages(&header));
        let mut episode = Episode::create(dir.path(), header).unwrap();
        for ticks in [(0, 7), (7, 15), (15, 20)] {
            both(&mut episode, &mut pages, &all, ticks);
        }
        let log = log_of(&mut episode);
        let own = log.records.iter().filter_map(|record| match record {
            Record::Digest {
                tick, seat: None, ..
            } => Some(tick.0),
            _ => None,
        });
        assert_eq!(own.collect::<Vec<_>>(), expected, "{tick_hz} Hz");
    }
}

#[test]
fn two_pages_fill_one_archive_to_the_environments_end() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, [mut one, mut other]) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut append = |seat, upload: Upload| episode.append_upload(seat, &upload).unwrap();
    // A tick is final once the page of every person has said its input.
    assert_eq!(append(ZERO, one.upload_part(&all, 0, 7)), fine(0, 7));
    assert_eq!(append(ONE, other.upload_part(&all, 0, 5)), fine(5, 5));
    assert_eq!(append(ONE, other.upload_part(&all, 5, 13)), fine(7, 13));
    let last = append(ZERO, one.upload_part(&all, 7, 20));
    assert_eq!((last.through, last.last, last.over), (Tick(13), true, None));
    assert!(matches!(
        episode.end(EndReason::Played),
        Err(Refused::NotOver { through: Tick(13) })
    ));
    let last = episode
        .append_upload(ONE, &other.upload_part(&all, 13, 20))
        .unwrap();
    assert!(last.last);
    let over = last.over.unwrap();
    assert_eq!(
        (over.ticks, over.reason, over.digest),
        (Tick(20), EndReason::Played, all.digests.last().unwrap().1)
    );
    // The environment decides the reason.
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
fn nobody_says_the_inputs_of_somebody_else() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, [mut one, mut other]) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let stored = episode.file.read().unwrap();
    // The page of seat 0 signs as the page of seat 1 would, and the other way round.
    for (seat, theirs) in [(ONE, &mut one), (ZERO, &mut other)] {
        let refused = episode.append_upload(seat, &theirs.upload_part(&all, 0, 7));
        assert!(matches!(refused, Err(Refused::Malformed(_))), "{refused:?}");
    }
    // A signed block with another input.
    let mut forged = one.upload_part(&all, 0, 7);
    forged.block.as_mut().unwrap().inputs[3] ^= 1;
    let refused = episode.append_upload(ZERO, &forged);
    assert!(matches!(refused, Err(Refused::Malformed(_))), "{refused:?}");
    assert_eq!(episode.file.read().unwrap(), stored);
    // One page alone makes nothing final, whatever else it sends.
    let alone = episode
        .append_upload(ZERO, &one.upload_part(&all, 0, 20))
        .unwrap();
    assert_eq!((alone.through, alone.diverged), (Tick(0), false));
    assert!(log_of(&mut episode).rows().is_empty());
}

/// The episode after a crash that left these bytes of its file, in memory or on the disk, which is slow.
fn recovered(bytes: &[u8], on_disk: Option<&PathBuf>) -> Result<Episode, OpenError> {
    if let Some(path) = on_disk {
        fs::write(path, bytes).unwrap();
        return Episode::recover(path);
    }
    let memory = Memory::default();
    memory.0.lock().unwrap().extend(bytes);
    Episode::recover_from(Box::new(memory), no_modules)
}

#[test]
fn a_crash_at_every_byte_leaves_a_prefix_that_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, ai_controller("random")], 9);
    let (all, mut page) = (play_episode(&header), PageScript::new(&header, ZERO));
    let timing = Timing {
        keys: vec![KEY],
        ..Timing::default()
    };
    let mut part = |from, to| Upload {
        timing: Some(timing.clone()),
        ..page.upload_part(&all, from, to)
    };
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let path = path(dir.path(), "e-1").unwrap();
    let start = fs::metadata(&path).unwrap().len() as usize;
    // What is durable after each answer: length of the file and ticks.
    let mut answers = vec![(start, 0)];
    for to in [4, 6, 9] {
        let first = episode.recorded_through().0;
        episode.append_upload(ZERO, &part(first, to)).unwrap();
        answers.push((fs::metadata(&path).unwrap().len() as usize, to));
    }
    let ending = episode.end(EndReason::Played).unwrap();
    let whole = episode.file.read().unwrap();
    drop(episode);
    for cut in 0..=whole.len() {
        let on_disk = cut.is_multiple_of(100) || cut == whole.len();
        let recover = || recovered(&whole[..cut], on_disk.then_some(&path));
        if cut < start {
            assert!(
                matches!(recover(), Err(OpenError::Log(LogError::NoHeader))),
                "byte {cut}"
            );
            continue;
        }
        let acknowledged = answers
            .iter()
            .filter(|(len, _)| *len <= cut)
            .map(|(_, ticks)| *ticks)
            .max();
        let mut episode = recover().unwrap();
        let through = episode.recorded_through().0;
        assert!(through >= acknowledged.unwrap(), "byte {cut}");
        assert_eq!(episode.rows, all.rows[..through as usize * 2], "byte {cut}");
        // The page still has what was not acknowledged, and sends it again, from what the archive has.
        let said = episode.next_input(ZERO).0;
        let mut back = episode.append_upload(ZERO, &part(said, said)).unwrap();
        for (from, to) in [(0, 4), (4, 6), (6, 9)] {
            if from >= said {
                back = episode.append_upload(ZERO, &part(from, to)).unwrap();
            }
        }
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

const KEY: KeyEvent = KeyEvent {
    tick: Some(Tick(1)),
    action: 1,
    down: true,
    at_us: 5,
    shown_us: 9,
};

#[test]
fn what_is_uploaded_twice_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, [mut one, mut other]) = (play_episode(&header), pages(&header));
    let timing = Timing {
        keys: vec![KEY],
        rollbacks: vec![(Tick(3), 2)],
        holds: vec![(Tick(4), 120)],
        hidden: vec![(Tick(5), Tick(6))],
        rtt_us: vec![0, 30_000],
        ..Timing::default()
    };
    let with = |upload: Upload| Upload {
        timing: Some(timing.clone()),
        ..upload
    };
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let upload = with(other.upload_part(&all, 0, 10));
    let answer = AppendedUpload {
        notes: 1,
        ..fine(0, 10)
    };
    assert_eq!(episode.append_upload(ONE, &upload).unwrap(), answer);
    let stored = episode.file.read().unwrap();
    assert_eq!(episode.append_upload(ONE, &upload).unwrap(), answer);
    assert_eq!(episode.file.read().unwrap(), stored);
    drop(episode);
    let mut episode = Episode::recover(&path(dir.path(), "e-1").unwrap()).unwrap();
    assert_eq!(episode.append_upload(ONE, &upload).unwrap(), answer);
    assert_eq!(episode.file.read().unwrap(), stored);
    // A note after the next one would leave a gap, and is not acknowledged.
    let mut more = upload;
    let numbered = |upload: &mut Upload, number| {
        let timing = upload.timing.as_mut().unwrap();
        (timing.number, timing.refused) = (number, 7);
    };
    numbered(&mut more, 2);
    assert_eq!(episode.append_upload(ONE, &more).unwrap(), answer);
    assert_eq!(episode.file.read().unwrap(), stored);
    numbered(&mut more, 1);
    assert_eq!(episode.append_upload(ONE, &more).unwrap().notes, 2);
    // Each page counts its own.
    let first = with(one.upload_part(&all, 0, 10));
    assert_eq!(episode.append_upload(ZERO, &first).unwrap().notes, 1);
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
    let header = header([PERSON, ai_controller("idle")], 20);
    let (all, mut page) = (play_episode(&header), PageScript::new(&header, ZERO));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    episode
        .append_upload(ZERO, &page.upload_part(&all, 0, 4))
        .unwrap();
    let stored = episode.file.read().unwrap();
    let good = page.upload_part(&all, 4, 8);
    let with = |change: &dyn Fn(&mut Upload)| {
        let mut upload = good.clone();
        change(&mut upload);
        upload
    };
    let block = |upload: &mut Upload, change: &dyn Fn(&mut Block)| {
        change(upload.block.as_mut().unwrap());
    };
    for wrong in [
        with(&|upload| block(upload, &|block| block.inputs[2] = 999)),
        with(&|upload| block(upload, &|block| block.inputs.truncate(3))),
        with(&|upload| block(upload, &|block| block.inputs.clear())),
        with(&|upload| block(upload, &|block| block.inputs = vec![0; MAX_BLOCK + 1])),
        with(&|upload| block(upload, &|block| block.signature[1][5] ^= 4)),
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
            matches!(
                episode.append_upload(ZERO, &wrong),
                Err(Refused::Malformed(_))
            ),
            "{wrong:?}"
        );
    }
    for nobody in [ONE, Seat(2), Seat(255)] {
        assert!(matches!(
            episode.append_upload(nobody, &good),
            Err(Refused::Malformed(_))
        ));
    }
    for first in [5, 19] {
        let gap = with(&|upload| block(upload, &|block| block.first = Tick(first)));
        assert!(matches!(
            episode.append_upload(ZERO, &gap),
            Err(Refused::Gap { next: Tick(4) })
        ));
    }
    assert_eq!(
        (episode.file.read().unwrap(), episode.recorded_through()),
        (stored, Tick(4))
    );
    assert_eq!(episode.append_upload(ZERO, &good).unwrap(), fine(8, 8));
}

#[test]
fn nothing_follows_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 9));
    let ending = episode.end(EndReason::PartnerLeft).unwrap();
    assert_eq!(
        (ending.ticks, ending.reason),
        (Tick(9), EndReason::PartnerLeft)
    );
    let stored = episode.file.read().unwrap();
    let mut late = pages[1].upload_part(&all, 9, 15);
    late.timing.get_or_insert_default().rtt_us = vec![5, 5];
    assert_eq!(episode.append_upload(ONE, &late).unwrap().through, Tick(9));
    assert_eq!(episode.file.read().unwrap(), stored);
    drop(episode);
    let episode = Episode::recover(&dir.path().join("e-1.coplay")).unwrap();
    assert_eq!(episode.ending(), Some(ending));
}

#[test]
fn a_partner_takes_a_seat_over_from_its_tick_on() {
    let header = header([PERSON, PERSON], 20);
    let all = play_episode(&header);
    let mut replica = Replica::open(&header, no_modules).unwrap();
    all.rows[..8]
        .chunks(2)
        .for_each(|row| replica.step(row).unwrap());
    replica
        .apply_change(&Change {
            number: 0,
            tick: Tick(4),
            seat: ONE,
            controller: ai_controller("idle"),
            life: Life(1),
            from: Tick(4),
            inputs: Vec::new(),
            key: None,
        })
        .unwrap();
    let idle = replica.chosen_action(ONE).unwrap();
    let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
    for record in [
        Record::Actions {
            first: Tick(0),
            rows: all.rows[..8].to_vec(),
        },
        Record::Change(Change {
            number: 0,
            tick: Tick(4),
            seat: ONE,
            controller: ai_controller("idle"),
            life: Life(1),
            from: Tick(4),
            inputs: Vec::new(),
            key: None,
        }),
        Record::Actions {
            first: Tick(4),
            rows: vec![1, idle, 2, idle],
        },
    ] {
        writer.append(&record, &mut bytes).unwrap();
    }
    let mut log = log::read_log(&bytes).unwrap();
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
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut upload = pages[0].upload_part(&all, 0, 20);
    let told = upload.digests.clone();
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut other = pages[1].upload_part(&all, 0, 20);
    other.digests.clear();
    episode.append_upload(ONE, &other).unwrap();
    upload.digests = told.repeat(100);
    assert!(!episode.append_upload(ZERO, &upload).unwrap().diverged);
    let of_page = |record: &&Record| matches!(record, Record::Digest { seat: Some(_), .. });
    assert_eq!(
        log_of(&mut episode).records.iter().filter(of_page).count(),
        told.len()
    );
    // Two digests for one tick cannot both be right.
    other.digests = vec![told[0], (told[0].0, !told[0].1)];
    assert_eq!(episode.append_upload(ONE, &other).unwrap().recheck, Some(1));
    episode.recheck(ONE);
    let again = Upload {
        recheck: 1,
        ..other
    };
    assert!(episode.append_upload(ONE, &again).unwrap().diverged);
}
