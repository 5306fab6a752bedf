use protocol::Tick;
use protocol::control::{Timing, Upload};

use super::super::{Episode, Replica};
use super::*;
use crate::fixtures::{
    PERSON, PageScript, ZERO, header, log_of, no_modules, play_episode, two_pages,
};

#[test]
fn every_frame_is_rebuilt_as_it_was_shown() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let pages = two_pages(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    for (seat, page) in (0..).map(Seat).zip(&pages) {
        assert!(!episode.append_upload(seat, &page.upload).unwrap().diverged);
    }
    let log = log_of(&mut episode);
    let screens = Screens::new(&log);
    let mut rebuilt = Vec::new();
    for found in screens.pages(no_modules).unwrap() {
        assert_eq!(
            (found.seat, found.life),
            (Seat(rebuilt.len() as u8), Life(0))
        );
        let frames: Result<Vec<Rebuilt>, String> = found.frames.collect();
        rebuilt.push(frames.unwrap());
    }
    assert_eq!(rebuilt.len(), 2);
    for (frames, page) in rebuilt.iter().zip(&pages) {
        let digests = |of: fn(&Rebuilt) -> u64| frames.iter().map(of).collect::<Vec<_>>();
        assert_eq!(digests(|frame| frame.simulated), page.simulated);
        assert_eq!(digests(|frame| frame.shown), page.shown);
        let ahead = frames.iter().filter(|frame| frame.frame.ahead > 0);
        assert!(ahead.count() > 100);
    }
    // The two people did not always see what finally happened: the log of frames records this.
    let mut replica = Replica::open(episode.header(), no_modules).unwrap();
    let rows = episode.rows.chunks(2);
    rows.for_each(|row| replica.step(row).unwrap());
    let wrong = rebuilt[0]
        .iter()
        .filter(|frame| replica.digest(frame.frame.tick) != Some(frame.simulated));
    assert!(wrong.count() > 10);
}

#[test]
fn what_cannot_have_been_shown_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let noted = |frames: &[Frame], damage: bool| {
        let mut seen = Vec::new();
        seen::encode(frames, 2, &mut seen);
        if damage {
            seen.truncate(seen.len() - 2);
        }
        let mut upload = PageScript::new(&header, ZERO).upload_part(&play_episode(&header), 0, 8);
        upload.timing = Some(Timing {
            seen,
            ..Timing::default()
        });
        let folder = tempfile::tempdir_in(dir.path()).unwrap();
        let mut episode = Episode::create(folder.path(), header.clone()).unwrap();
        episode.append_upload(ZERO, &upload).unwrap();
        let other = PageScript::new(&header, Seat(1)).upload_part(&play_episode(&header), 0, 8);
        episode.append_upload(Seat(1), &other).unwrap();
        let log = log_of(&mut episode);
        let screens = Screens::new(&log);
        let mut found = screens.pages(no_modules).unwrap();
        found
            .remove(0)
            .frames
            .collect::<Result<Vec<Rebuilt>, String>>()
    };
    let frame = |tick: u32, have: u32| Frame {
        tick: Tick(tick),
        have: vec![Tick(have); 2],
        fresh: vec![Vec::new(); 2],
        ..Frame::default()
    };
    assert_eq!(noted(&[frame(3, 3)], false).unwrap().len(), 1);
    for (frames, damage, words) in [
        (vec![frame(3, 3)], true, "malformed seen-log"),
        (vec![frame(9, 9)], false, "no input of seat 0 for tick 8"),
        (vec![frame(3, 3), frame(90, 8)], false, "does not follow"),
        (
            vec![Frame {
                changes: 1,
                ..frame(3, 3)
            }],
            false,
            "change 0",
        ),
    ] {
        let error = noted(&frames, damage).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn frames_that_are_too_far_away_are_not_simulated() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 3_000_000);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    for (seat, frame) in [
        (
            ZERO,
            Frame {
                tick: Tick(200_000),
                ..Frame::default()
            },
        ),
        (
            Seat(1),
            Frame {
                ahead: 200,
                ..Frame::default()
            },
        ),
    ] {
        let frame = Frame {
            have: vec![Tick(0); 2],
            fresh: vec![Vec::new(); 2],
            ..frame
        };
        let mut seen = Vec::new();
        seen::encode(&[frame], 2, &mut seen);
        let inputs = PageScript::new(&header, seat).sign_block(0, vec![0; 8]);
        let timing = Timing {
            seen,
            ..Timing::default()
        };
        let upload = Upload {
            era: Era(1),
            life: Life(0),
            block: inputs,
            changes: 0,
            recheck: 0,
            digests: Vec::new(),
            timing: Some(timing),
            ended: None,
        };
        episode.append_upload(seat, &upload).unwrap();
    }
    let log = log_of(&mut episode);
    for page in Screens::new(&log).pages(no_modules).unwrap() {
        let shown: Result<Vec<Rebuilt>, String> = page.frames.collect();
        let error = shown.unwrap_err();
        assert!(error.contains("does not follow"), "{error}");
    }
}

#[test]
fn frames_are_rebuilt_one_by_one_until_something_cannot_be_so() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let frames = |count: usize| {
        let frame = Frame {
            have: vec![Tick(0); 2],
            fresh: vec![Vec::new(); 2],
            ..Frame::default()
        };
        let mut seen = Vec::new();
        seen::encode(&vec![frame; count], 2, &mut seen);
        seen
    };
    // The last chunk would be a great many frames in a few bytes.
    let bomb = frames(300_000);
    assert!(bomb.len() < 400_000);
    for (number, seen) in [frames(3), frames(seen::MAX_FRAMES), bomb]
        .into_iter()
        .enumerate()
    {
        let mut upload = PageScript::new(&header, ZERO).upload_part(&play_episode(&header), 0, 8);
        upload.timing = Some(Timing {
            number: number as u32,
            seen,
            ..Timing::default()
        });
        episode.append_upload(ZERO, &upload).unwrap();
    }
    let log = log_of(&mut episode);
    let screens = Screens::new(&log);
    let page = screens.pages(no_modules).unwrap().remove(0);
    let found: Vec<_> = page.frames.collect();
    let (last, fine) = found.split_last().unwrap();
    assert!(fine.iter().all(Result::is_ok));
    assert_eq!(fine.len(), 3 + seen::MAX_FRAMES);
    assert_eq!(last.as_ref().unwrap_err(), "malformed seen-log");
}
