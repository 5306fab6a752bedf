//! Episodes on a host: choices become rows, and rows with choices come out of the file again.

mod recorded;
mod secrets;

use std::fs;
use std::path::Path;

use env_core::view::ViewWorld;
use env_core::{Action, World as _};
use protocol::control::{EndReason, Upload};
use protocol::log::{Log, LogWriter, Record};
use protocol::{Controller, EnvWay, Era, Life, Seat, Tick};
use server_core::arbiter::{HostWork, HostedReport, ViewOrder};

use super::*;
use crate::fixtures::{PERSON, PageScript, ZERO, ai_controller, header, key, log_of};
use crate::recorded::list_recorded_rewards;
use crate::{is_only_recorded, replay};

const ONE: Seat = Seat(1);

fn hosted(controllers: [Controller; 2], horizon: u32) -> Header {
    Header {
        way: EnvWay::Host,
        ..header(controllers, horizon)
    }
}

/// The page of a seat, which sends one choice after the other.
struct Chooser {
    script: PageScript,
    life: Life,
    next: u32,
}

impl Chooser {
    fn new(header: &Header, seat: Seat) -> Self {
        Self {
            script: PageScript::new(header, seat),
            life: Life(0),
            next: 0,
        }
    }

    fn say(&mut self, episode: &mut Episode, seat: Seat, action: Action) -> AppendedUpload {
        let block = self.script.sign_block(self.next, vec![action]);
        self.next += 1;
        let upload = Upload {
            era: Era(1),
            life: self.life,
            block,
            changes: 0,
            recheck: 0,
            digests: Vec::new(),
            timing: None,
            ended: None,
        };
        episode.append_upload(seat, &upload).unwrap()
    }
}

fn step(episode: &mut Episode) -> HostedReport {
    episode.host(HostWork {
        steps: true,
        views: vec![ViewOrder {
            seat: ONE,
            is_new: false,
            size: [0; 2],
        }],
        ..HostWork::default()
    })
}

fn flush(episode: &mut Episode) -> HostedReport {
    episode.host(HostWork {
        flushes: true,
        ..HostWork::default()
    })
}

fn recover(dir: &Path) -> Episode {
    Episode::recover(&dir.join("e-1.coplay")).unwrap()
}

/// Plays to the end; the second person presses a key every third tick.
fn play(episode: &mut Episode, chooser: &mut Chooser) {
    for tick in 0.. {
        if tick % 3 == 0 {
            chooser.say(episode, ONE, (tick * 5 % 7) as Action);
        }
        if step(episode).over {
            break;
        }
        assert!(tick < 1_000);
    }
}

#[test]
fn a_choice_enters_the_next_tick_and_its_view_tells_which() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], 20);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut chooser = Chooser::new(&header, ONE);
    step(&mut episode);
    chooser.say(&mut episode, ONE, 3);
    let report = step(&mut episode);
    let (seat, view) = &report.views[0];
    assert_eq!((*seat, view.tick, view.first), (ONE, Tick(2), 0));
    assert_eq!(view.entered, [Tick(1)]);
    assert_eq!((report.played, report.through), (Tick(2), Tick(0)));
    let report = flush(&mut episode);
    assert_eq!(
        (report.through, report.own),
        (Tick(2), vec![Tick(0), Tick(1)])
    );
    let rows = log_of(&mut episode).rows();
    assert_eq!([rows[1], rows[3]], [6, 3], "the no-op, and the choice");
}

#[test]
fn a_world_that_is_too_slow_ends_its_episode_and_keeps_what_was_played() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([PERSON, PERSON], 12);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    step(&mut episode);
    let report = episode.host(HostWork {
        slow_step_us: Some(410_000),
        ..HostWork::default()
    });
    assert!(report.failed);
    let said = episode.world_fault().unwrap();
    assert!(said.contains("410 ms on average"), "{said}");
    assert_eq!(episode.durable_tick(), Tick(1));
}

#[test]
fn views_show_the_world_as_the_seat_sees_it() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], 20);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut shown = ViewWorld::new(episode.replica.spec().clone());
    let (mut expected, mut found) = Default::default();
    for _ in 0..10 {
        let report = step(&mut episode);
        shown.restore(&report.views[0].1.bytes).unwrap();
        episode.replica.world().draw(Some(1), &mut expected);
        shown.draw(Some(1), &mut found);
        assert_eq!(expected, found);
    }
}

#[test]
fn a_world_that_repeats_itself_is_verified_and_replays() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], 60);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    play(&mut episode, &mut Chooser::new(&header, ONE));
    let ending = episode.end(EndReason::Played).unwrap();
    assert_eq!(ending.ticks, Tick(60));
    assert_eq!(log_of(&mut episode).end_repetition(), None);
    episode.repeat_steps().unwrap();
    let log = log_of(&mut episode);
    assert_eq!(log.end_repetition(), Some(None));
    assert_eq!(log.through, Tick(60));
    let again = replay(&log, crate::fixtures::no_modules, |_, _| ()).unwrap();
    assert_eq!(again.read_ending(EndReason::Played), ending);
    // A second run adds nothing.
    episode.repeat_steps().unwrap();
    assert_eq!(log_of(&mut episode), log);
}

#[test]
fn what_was_observed_is_held_against_the_second_run() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], 60);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    play(&mut episode, &mut Chooser::new(&header, ONE));
    episode.end(EndReason::Played).unwrap();
    let log = log_of(&mut episode);
    let with = |change: &dyn Fn(&mut Vec<u64>, &mut Vec<u32>)| {
        let mut log = Log { ..log.clone() };
        for record in &mut log.records {
            if let Record::Observed {
                hashes, rewards, ..
            } = record
            {
                change(hashes, rewards);
            }
        }
        find_repeat(&log, Box::new(crate::fixtures::no_modules))
    };
    assert_eq!(with(&|_, _| ()), None);
    assert!(with(&|hashes, _| hashes[3] ^= 1).is_some());
    assert!(with(&|_, rewards| rewards[3] ^= 1).is_some());
}

#[test]
fn after_a_crash_the_world_goes_on_with_what_was_pressed() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], 60);
    let mut chooser = Chooser::new(&header, ONE);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    chooser.say(&mut episode, ONE, 2);
    step(&mut episode);
    step(&mut episode);
    chooser.say(&mut episode, ONE, 3);
    flush(&mut episode);
    // What is not durable is lost with the process.
    step(&mut episode);
    drop(episode);
    let mut episode = recover(dir.path());
    assert_eq!(episode.recorded_through(), Tick(2));
    assert_eq!(episode.durable_own(ONE), Tick(2));
    step(&mut episode);
    chooser.say(&mut episode, ONE, 0);
    step(&mut episode);
    flush(&mut episode);
    let rows = log_of(&mut episode).rows();
    let own: Vec<Action> = rows.chunks(2).map(|row| row[1]).collect();
    assert_eq!(own, [2, 2, 3, 0]);
}

/// Rewrites a file as if it had been played in another world, in which the first step gave a reward of 1.5.
fn move_to_another_world(dir: &Path, log: &Log) {
    let header = Header {
        params: r#"{"horizon":60,"layout":"coordination_ring"}"#.into(),
        ..log.header.clone()
    };
    let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
    for record in &log.records {
        let mut record = record.clone();
        if let Record::Observed {
            first: Tick(0),
            rewards,
            ..
        } = &mut record
        {
            rewards[1] = 1.5_f32.to_bits();
        }
        writer.append(&record, &mut bytes).unwrap();
    }
    fs::write(dir.join("e-1.coplay"), bytes).unwrap();
}

#[test]
fn a_world_that_does_not_repeat_itself_goes_on_after_a_crash_and_keeps_its_record() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], 60);
    let mut chooser = Chooser::new(&header, ONE);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    for tick in 0..9 {
        chooser.say(&mut episode, ONE, tick % 4);
        step(&mut episode);
    }
    flush(&mut episode);
    let before = log_of(&mut episode);
    move_to_another_world(dir.path(), &before);
    drop(episode);
    let mut episode = recover(dir.path());
    assert_eq!(episode.recorded_through(), Tick(9));
    while !step(&mut episode).over {}
    episode.end(EndReason::Played).unwrap();
    let seats = episode.poll_end().unwrap().seats;
    assert_eq!(seats.rewards[1].fract(), 0.5, "{:?}", seats.rewards);
    episode.repeat_steps().unwrap();
    let log = log_of(&mut episode);
    assert_eq!(log.rows()[..18], before.rows());
    assert_eq!(log.through, Tick(60));
    assert!(matches!(log.end_repetition(), Some(Some(_))));
    assert!(is_only_recorded(
        &log,
        Box::new(crate::fixtures::no_modules)
    ));
    let rewards = list_recorded_rewards(&log);
    assert_eq!((rewards.len(), rewards[1]), (120, Some(1.5)));
}

#[test]
fn a_seat_is_taken_and_given_back_at_the_next_tick() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([PERSON, PERSON], 60);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut chooser = Chooser::new(&header, ONE);
    chooser.say(&mut episode, ONE, 2);
    step(&mut episode);
    let taken = episode.take_seat(ONE, ai_controller("cook")).unwrap();
    assert_eq!((taken.tick, taken.inputs.len()), (Tick(1), 0));
    step(&mut episode);
    let public = key(ONE).verifying_key().to_bytes();
    let given = episode
        .give_seat(ONE, PERSON, Some(public), Some(Tick(30)))
        .unwrap();
    assert_eq!(given.tick, Tick(2));
    let snapshot = episode.snapshot();
    assert!(snapshot.state.is_empty() && snapshot.partners.is_empty());
    // The new page counts from there, and holds nothing.
    let mut back = Chooser {
        script: PageScript::from(&header, ONE, given.life, given.tick),
        life: given.life,
        next: given.tick.0,
    };
    step(&mut episode);
    back.say(&mut episode, ONE, 3);
    let report = step(&mut episode);
    assert_eq!(report.views[0].1.first, 2);
    flush(&mut episode);
    let rows = log_of(&mut episode).rows();
    let own: Vec<Action> = rows.chunks(2).map(|row| row[1]).collect();
    assert_eq!([own[0], own[2], own[3]], [2, 6, 3]);
    drop(episode);
    assert_eq!(recover(dir.path()).recorded_through(), Tick(4));
}

#[test]
fn in_turns_the_world_waits_for_everybody_who_acts() {
    let dir = tempfile::tempdir().unwrap();
    let mut header = hosted([PERSON, PERSON], 60);
    header.rules.turns = true;
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut choosers = [ZERO, ONE].map(|seat| Chooser::new(&header, seat));
    assert_eq!(step(&mut episode).played, Tick(0));
    choosers[0].say(&mut episode, ZERO, 1);
    // A second thought changes nothing.
    choosers[0].say(&mut episode, ZERO, 2);
    assert_eq!(step(&mut episode).played, Tick(0));
    choosers[1].say(&mut episode, ONE, 3);
    assert_eq!(step(&mut episode).played, Tick(1));
    assert_eq!(step(&mut episode).played, Tick(1));
    flush(&mut episode);
    assert_eq!(log_of(&mut episode).rows(), [1, 3]);
    choosers[0].say(&mut episode, ZERO, 0);
    flush(&mut episode);
    drop(episode);
    let mut episode = recover(dir.path());
    choosers[1].say(&mut episode, ONE, 0);
    assert_eq!(step(&mut episode).played, Tick(2));
}

#[test]
fn a_choice_that_its_page_did_not_sign_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([PERSON, PERSON], 20);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    // The page of the first seat, in the name of the second.
    let mut forger = PageScript::new(&header, ZERO);
    let upload = Upload {
        era: Era(1),
        life: Life(0),
        block: forger.sign_block(0, vec![2]),
        changes: 0,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: None,
    };
    let refused = episode.append_upload(ONE, &upload);
    assert!(matches!(refused, Err(Refused::Malformed(_))));
    step(&mut episode);
    flush(&mut episode);
    assert_eq!(log_of(&mut episode).rows(), [6, 6]);
}

#[test]
fn nobody_chooses_more_often_than_a_person_can() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([PERSON, PERSON], 20);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut script = PageScript::new(&header, ZERO);
    let mut say = |first: u32, choices: usize| Upload {
        era: Era(1),
        life: Life(0),
        block: script.sign_block(first, vec![2; choices]),
        changes: 0,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: None,
    };
    episode.append_upload(ZERO, &say(0, 1_024)).unwrap();
    let more = say(1_024, 16);
    let refused = episode.append_upload(ZERO, &more);
    assert!(matches!(refused, Err(Refused::Malformed(_))));
    step(&mut episode);
    assert!(episode.append_upload(ZERO, &more).is_ok());
}

#[test]
fn views_tell_the_sums_of_the_rewards_where_the_study_shows_them() {
    let dir = tempfile::tempdir().unwrap();
    // With this seed, the person stands in nobody's way.
    let header = Header {
        seed: 43,
        ..hosted([ai_controller("cook"), PERSON], 400)
    };
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let mut shown = ViewWorld::new(episode.replica.spec().clone());
    let mut look = |episode: &mut Episode, tells_rewards: bool| {
        let report = episode.host(HostWork {
            steps: true,
            views: vec![ViewOrder {
                seat: ONE,
                is_new: false,
                size: [0; 2],
            }],
            tells_rewards,
            ..HostWork::default()
        });
        shown.restore(&report.views[0].1.bytes).unwrap();
        [0, 1].map(|seat| shown.reward_sum(seat))
    };
    assert_eq!(look(&mut episode, false), [None; 2]);
    let mut told = [None; 2];
    while episode.ending_so_far().is_none() {
        told = look(&mut episode, true);
    }
    let sums = episode.replica.reward_sums();
    assert!(sums[1] > 0.0, "the cook earns for both: {sums:?}");
    assert_eq!(told, [Some(sums[0]), Some(sums[1])]);
}
