//! Frames that people were shown.

use super::*;

#[tokio::test]
async fn every_frame_that_was_shown_is_rebuilt() {
    let mut header = header([PERSON, PERSON], 40);
    // A little less than packets take: some frames show a guess, and some do not.
    header.input_delay = 2;
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let pages = two_pages(&header);
    for (seat, page) in (0..).map(Seat).zip(&pages) {
        episode.append_upload(seat, &page.upload).unwrap();
    }
    let path = archive::path(dir.path(), "e-1").unwrap();
    let records = log::read_log(&fs::read(path).unwrap()).unwrap().records;
    let (found, because) = judged(&header, &records).await;
    let count: usize = pages.iter().map(|page| page.shown.len()).sum();
    assert_eq!((found.frames, because.as_str()), (count as u64, ""));
    assert!(
        found
            .to_string()
            .contains(&format!(", {count} frames rebuilt"))
    );

    // One input that the page says it knew is not the one that was played.
    let is_note = |record: &Record| matches!(record, Record::Timing { seat: ZERO, .. });
    let at = records.iter().position(is_note).unwrap();
    let mut lie = records;
    let Record::Timing { timing, .. } = &mut lie[at] else {
        panic!("that was a note")
    };
    let mut frames = seen::decode(&timing.seen, 2).unwrap();
    let knew = frames.iter_mut().find(|frame| {
        let [_, other] = &frame.fresh[..] else {
            return false;
        };
        frame.tick.0 > 8 && !other.is_empty()
    });
    let input = &mut knew.unwrap().fresh[1][0];
    *input = (*input + 1) % 4;
    seen::encode(&frames, 2, &mut timing.seen);
    // That is the page's fault, and not the record's.
    let (found, because) = judged(&header, &lie).await;
    assert_eq!(because, "");
    let [notes] = &found.faulty_notes[..] else {
        panic!("{found}")
    };
    assert_eq!((notes.seat, notes.life), (0, 0));
    assert!(notes.because.starts_with("after "), "{}", notes.because);
    let Record::Timing { timing, .. } = &mut lie[at] else {
        panic!("that was a note")
    };
    timing.seen.truncate(5);
    let (found, because) = judged(&header, &lie).await;
    assert_eq!(because, "");
    assert_eq!(found.faulty_notes[0].because, "malformed seen-log");
    assert!(
        found
            .to_string()
            .contains(", the notes of seat 0 contradict the record (malformed"),
        "{found}"
    );
    // Nothing else is expected of a page that was found out.
    let name = Record::Diverged {
        seat: ZERO,
        tick: Tick(40),
        expected: 0,
        found: 0,
    };
    lie.push(name);
    let (found, because) = judged(&header, &lie).await;
    assert_eq!(
        (found.frames, because.as_str()),
        (pages[1].shown.len() as u64, "")
    );
    assert_eq!(found.faulty_notes, []);
}
