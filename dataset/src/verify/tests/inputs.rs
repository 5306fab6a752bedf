//! The word of each page against the rows, and against its own notes.

use archive::Replica;
use archive::fixtures::{PageScript, PlayedEpisode, no_modules};
use protocol::chain::{Chain, leaf_of};
use protocol::control::{KeyEvent, Recount, Timing, Upload};
use protocol::digest_ticks;
use protocol::seal::Transcript;

use super::*;

/// The records of an episode that both people have played.
fn both(header: &Header) -> Vec<Record> {
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    say(&mut episode, 0, 5);
    say(&mut episode, 5, 12);
    episode.end(EndReason::Played).unwrap();
    log_of(&mut episode).records
}

fn is_inputs(record: &Record) -> bool {
    matches!(record, Record::Inputs { .. })
}

/// A log that somebody with only the file could write: other rows, with every digest that follows from them.
fn forged(header: &Header, records: &[Record], rows: Vec<u16>) -> Vec<Record> {
    let mut replica = Replica::open(header, no_modules).unwrap();
    for row in rows.chunks(2) {
        replica.step(row).unwrap();
    }
    let through = replica.ticks();
    let each = digest_ticks(header.tick_hz);
    let marks = (1..=through.0).filter(|tick| tick.is_multiple_of(each) || *tick == through.0);
    let digests = marks.map(|tick| Record::Digest {
        tick: Tick(tick),
        seat: None,
        digest: replica.digest(Tick(tick)).unwrap(),
    });
    let said = records.iter().filter(|record| is_inputs(record)).cloned();
    let first = Tick(0);
    let mut records: Vec<_> = said.chain([Record::Actions { first, rows }]).collect();
    records.extend(digests);
    records.push(Record::End(replica.read_ending(EndReason::Played)));
    records
}

#[tokio::test]
async fn every_action_of_a_person_is_what_their_own_page_has_said() {
    let header = header([PERSON, PERSON], 12);
    let records = both(&header);
    let PlayedEpisode { mut rows, .. } = play_episode(&header);
    let (found, because) = judged(&header, &forged(&header, &records, rows.clone())).await;
    assert_eq!((because.as_str(), &found.short[..]), ("", &[][..]));
    let said = rows[2 * 7 + 1];
    let other = (said + 1) % 4;
    rows[2 * 7 + 1] = other;
    let (_, because) = judged(&header, &forged(&header, &records, rows)).await;
    assert_eq!(
        because,
        format!("tick 7: seat 1: {other}, but its own page has said {said}")
    );
}

#[tokio::test]
async fn nobody_else_can_have_said_the_inputs_of_a_page() {
    let header = header([PERSON, PERSON], 12);
    let records = both(&header);
    let first = records.iter().position(is_inputs).unwrap();
    let bent = |bend: &dyn Fn(&mut Vec<Record>)| {
        let mut records = records.clone();
        bend(&mut records);
        records
    };
    let unsigned = "seat 0: the block from tick 0 is not signed by the seat's page";
    for (records, words) in [
        (
            bent(&|records| drop(records.remove(first))),
            "tick 0: seat 0: its own page has said nothing",
        ),
        (
            bent(&|records| {
                if let Record::Inputs { block, .. } = &mut records[first] {
                    block.inputs[2] ^= 1;
                }
            }),
            unsigned,
        ),
        (
            bent(&|records| {
                // Signed by somebody else, who has the file.
                if let Record::Inputs { block, .. } = &mut records[first] {
                    block.inputs[2] ^= 1;
                    let mut chain = Chain::new("e-1", ZERO, Life(0), Tick(0));
                    *block = chain.sign(&key(Seat(9)), block.inputs.clone(), [0; 16]);
                }
            }),
            unsigned,
        ),
        (
            bent(&|records| {
                if let Record::Inputs { life, .. } = &mut records[first] {
                    *life = Life(2);
                }
            }),
            "seat 0: inputs of a page that does not have it",
        ),
        (
            bent(&|records| {
                let again = records[first].clone();
                records.insert(first, again);
            }),
            "seat 0: a block from tick 0, where tick 5 is next",
        ),
    ] {
        let (_, because) = judged(&header, &records).await;
        assert_eq!(because, words);
    }
    let keyless = Header {
        keys: Vec::new(),
        ..header
    };
    let (_, because) = judged(&keyless, &records).await;
    assert_eq!(because, "the header has no key of seat 0");
}

#[tokio::test]
async fn a_block_that_was_erased_leaves_the_rest_provable() {
    let header = header([PERSON, PERSON], 12);
    let mut records = both(&header);
    let at = records.iter().position(is_inputs).unwrap();
    let Record::Inputs { seat, life, block } = records[at].clone() else {
        panic!("those were inputs")
    };
    let leaf = leaf_of(&block);
    records[at] = Record::Erased {
        seat,
        life,
        first: block.first,
        len: block.inputs.len() as u32,
        leaf,
        signature: block.signature,
    };
    let (_, because) = judged(&header, &records).await;
    assert_eq!(because, "");
    if let Record::Erased { leaf, .. } = &mut records[at] {
        leaf[0] ^= 1;
    }
    let (_, because) = judged(&header, &records).await;
    assert!(because.contains("is not signed"), "{because}");
}

#[tokio::test]
async fn a_seat_is_taken_where_its_own_page_has_stopped() {
    let header = header([PERSON, PERSON], 20);
    let records = handed_over(&header);
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    say(&mut episode, 0, 4);
    episode.take_seat(Seat(1), Controller::Vacant).unwrap();
    let upload = PageScript::resume(&mut episode, ZERO).upload_part(&play_episode(&header), 4, 9);
    let upload = Upload {
        digests: Vec::new(),
        ..upload
    };
    episode.append_upload(ZERO, &upload).unwrap();
    let (found, because) = judged(&header, &log_of(&mut episode).records).await;
    let short = ShortSeat {
        seat: 1,
        said: 4,
        ticks: 9,
    };
    assert_eq!((because.as_str(), &found.short[..]), ("", &[short][..]));
    assert!(
        found
            .to_string()
            .contains(", the person of seat 1 played 4 of 9 ticks"),
        "{found}"
    );
    let take = records.iter().position(is_change).unwrap();
    let mut early = records.clone();
    if let Record::Change(change) = &mut early[take] {
        change.tick = Tick(6);
        change.inputs = Vec::new();
    }
    let (_, because) = judged(&header, &early[..=take]).await;
    assert_eq!(
        because,
        "change 0: seat 1: it is taken at tick 6, but its own page has said its inputs up to tick 4"
    );
    let mut keyless = records;
    if let Record::Change(change) = &mut keyless[take + 1] {
        change.key = None;
    }
    let (_, because) = judged(&header, &keyless).await;
    assert_eq!(because, "change 1: seat 1: its page has no key");
}

#[tokio::test]
async fn a_page_whose_notes_contradict_its_own_inputs_is_named() {
    let mut header = header([PERSON, PERSON], 40);
    header.input_delay = 2;
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    for (seat, page) in (0..).map(Seat).zip(&two_pages(&header)) {
        episode.append_upload(seat, &page.upload).unwrap();
    }
    let log = log_of(&mut episode);
    let is_note = |record: &Record| matches!(record, Record::Timing { seat: Seat(1), .. });
    let at = log.records.iter().position(is_note).unwrap();
    let noted = |note: &dyn Fn(&mut Timing)| {
        let mut records = log.records.clone();
        if let Record::Timing { timing, .. } = &mut records[at] {
            note(timing);
        }
        records
    };
    let shows_another = noted(&|timing| {
        let mut frames = seen::decode(&timing.seen, 2).unwrap();
        let own = frames
            .iter_mut()
            .find_map(|frame| frame.fresh[1].first_mut());
        *own.unwrap() ^= 1;
        seen::encode(&frames, 2, &mut timing.seen);
    });
    let rows = log.rows();
    let keys = |contradict: bool| {
        let rows = &rows;
        noted(&move |timing| {
            timing.keys = (4..9)
                .map(|tick| {
                    let action = rows[2 * tick + 1];
                    KeyEvent {
                        tick: Some(Tick(tick as u32)),
                        action: if contradict { (action + 1) % 4 } else { action },
                        down: true,
                        at_us: 0,
                        shown_us: 0,
                    }
                })
                .collect();
        })
    };
    let (found, because) = judged(&header, &keys(false)).await;
    assert_eq!((because.as_str(), &found.faulty_notes[..]), ("", &[][..]));
    for (records, words) in [
        (shows_another, "its frames have its own input"),
        (keys(true), "5 of 5 keys are not in its inputs"),
    ] {
        let (found, because) = judged(&header, &records).await;
        assert_eq!(because, "", "the record is sound");
        let [notes] = &found.faulty_notes[..] else {
            panic!("{found}")
        };
        assert_eq!((notes.seat, notes.life), (1, 0));
        assert!(notes.because.contains(words), "{}", notes.because);
    }
}

#[tokio::test]
async fn who_told_another_page_something_else_is_proven_by_inputs_that_were_never_played() {
    let header = header([PERSON, PERSON], 20);
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let one = Seat(1);
    for (seat, to) in [(ZERO, 6), (one, 10)] {
        let upload = pages[seat.index()].upload_part(&all, 0, to);
        episode.append_upload(seat, &upload).unwrap();
    }
    let said = all.rows.chunks(2).map(|row| row[1]).take(8);
    let told = [all.rows[2 * 8 + 1] ^ 1, 2, 3];
    let mut transcript = Transcript::new("e-1", one, Life(0), Tick(0));
    transcript.extend(said.chain(told));
    let recount = Recount {
        seat: one,
        life: Life(0),
        first: Tick(8),
        inputs: told.to_vec(),
        signature: transcript.sign(&key(one)),
    };
    episode.apply_recount(ZERO, recount).unwrap();
    episode.take_seat(one, Controller::Vacant).unwrap();
    let ending = episode.end(EndReason::PartnerLeft).unwrap();
    assert_eq!(ending.ticks, Tick(6));
    let records = log_of(&mut episode).records;
    let (found, because) = judged(&header, &records).await;
    assert_eq!((because.as_str(), found.equivocations), ("", vec![]));
    // It is proven by just these inputs.
    let mut forged = records;
    for record in &mut forged {
        if let Record::Recount { recount, .. } = record {
            recount.inputs[1] ^= 1;
        }
    }
    let (_, because) = judged(&header, &forged).await;
    assert!(because.contains("nothing proves"), "{because}");
}
