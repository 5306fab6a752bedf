//! Whole episodes: pages of people, wires of a few kinds, a server by script.

mod links;
mod seats;
#[path = "../support/mod.rs"]
mod support;

use env_core::World;
use peer::Status;
use protocol::change::Presence;
use protocol::control::{ClientMessage, EndReason, Link, ServerMessage};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{EpisodeRecord, rebuild};

use support::server::HZ;
use support::{DIRECT_US, OPENS_US, Rig};

const HUMAN: Controller = Controller::Human;

/// The longest hold that a page reported, milliseconds.
fn longest_hold(rig: &Rig, seat: u8) -> u32 {
    let notes = rig.server.notes_of(Seat(seat));
    notes
        .flat_map(|note| &note.holds)
        .map(|(_, ms)| *ms)
        .max()
        .unwrap_or(0)
}

#[test]
fn two_people_play_to_the_end_and_everything_is_uploaded() {
    let mut rig = Rig::two(5 * HZ);
    assert_eq!(rig.status(0), Status::Linking);
    rig.run_s(2);
    assert_eq!(rig.tab(1).page.link(), Some(Link::Direct));
    rig.run_s(6);
    assert_eq!(rig.server.ended, Some(Tick(5 * HZ)));
    assert_eq!(rig.server.through(), Tick(5 * HZ));
    rig.server.verify();
    for seat in [0, 1] {
        assert_eq!(rig.status(seat), Status::Finished);
        assert_eq!(rig.tab(seat).page.recorder().lock().unsaved_ticks(), 0);
        assert!(
            rig.server
                .notes_of(Seat(seat))
                .any(|note| !note.rollbacks.is_empty())
        );
        let trips = rig.server.notes_of(Seat(seat));
        let trips = trips.filter_map(|note| note.rtt_us.get(1 - usize::from(seat)));
        let trips: Vec<u32> = trips.copied().filter(|trip_us| *trip_us > 0).collect();
        let there_and_back = 2 * DIRECT_US as u32;
        let plausible = there_and_back - 2_000..there_and_back + 20_000;
        assert!(
            !trips.is_empty() && trips.iter().all(|trip_us| plausible.contains(trip_us)),
            "{trips:?}"
        );
        let ended = ServerMessage::Ended {
            era: Era(7),
            reason: EndReason::Played,
            ticks: Tick(5 * HZ),
            score: 3,
            digest: 4,
        };
        rig.server.tell(Seat(seat), ended);
    }
    rig.run_ms(100);
    assert!(matches!(rig.status(0), Status::Over(verdict) if verdict.score == 3));
}

#[test]
fn lost_packets_are_counted_before_the_start_where_that_is_asked_for() {
    let mut rig = Rig::counting(5 * HZ);
    rig.lossy.insert((Seat(0), Seat(1)), (20, 0));
    rig.run_s(2);
    assert!(rig.server.losses.is_empty(), "two seconds of packets");
    rig.run_s(2);
    // Five of a hundred in one direction, none in the other.
    assert_eq!(rig.server.losses[&Seat(0)], [None, Some(0)]);
    assert_eq!(rig.server.losses[&Seat(1)], [Some(50), None]);
    rig.run_s(8);
    assert_eq!(rig.server.ended, Some(Tick(5 * HZ)));
    rig.server.verify();
}

#[test]
fn a_page_that_sleeps_through_the_end_has_lost_no_way() {
    for asleep in [&[0][..], &[1], &[0, 1]] {
        for from_ms in (6_500..8_100).step_by(100) {
            let mut rig = Rig::two(5 * HZ);
            rig.run_ms(from_ms);
            asleep.iter().for_each(|&seat| rig.put_to_sleep(seat, 400));
            rig.run_s(4);
            assert_eq!(rig.server.ended, Some(Tick(5 * HZ)));
            for seat in [0, 1] {
                assert_eq!(rig.status(seat), Status::Finished);
                let link = rig.tab(seat).page.link();
                assert_eq!(link, Some(Link::Direct), "{asleep:?}, {from_ms} ms");
            }
        }
    }
}

#[test]
fn a_page_without_the_server_plays_on_and_tells_everything_later() {
    let mut rig = Rig::two(20 * HZ);
    rig.run_s(5);
    rig.connect(0, false);
    rig.connect(1, false);
    let before = rig.current(0);
    rig.run_s(8);
    assert!(rig.current(0) >= before + 8 * HZ - 2, "the match goes on");
    assert!(rig.server.through().0 < before + HZ);
    rig.connect(1, true);
    rig.run_s(1);
    let page = &rig.tab(0).page;
    assert!(page.recorder().lock().unsaved_ticks() > 8 * HZ);
    rig.connect(0, true);
    rig.run_s(12);
    assert_eq!(rig.server.through(), Tick(20 * HZ));
    rig.server.verify();
    for seat in [0, 1].map(Seat) {
        let numbers: Vec<u32> = rig.server.notes_of(seat).map(|note| note.number).collect();
        assert_eq!(numbers, Vec::from_iter(0..numbers.len() as u32));
    }
}

#[test]
fn an_upload_that_was_lost_with_the_connection_is_sent_again() {
    let mut rig = Rig::two(10 * HZ);
    rig.run_s(3);
    // The server hears the uploads of a second and forgets them.
    rig.server.is_archiving = false;
    rig.run_s(1);
    rig.connect(0, false);
    rig.connect(1, false);
    rig.run_s(1);
    rig.server.is_archiving = true;
    rig.connect(0, true);
    rig.connect(1, true);
    rig.run_s(10);
    assert_eq!(rig.server.through(), Tick(10 * HZ));
    rig.server.verify();
    for seat in [0, 1].map(Seat) {
        let numbers: Vec<u32> = rig.server.notes_of(seat).map(|note| note.number).collect();
        assert_eq!(numbers, Vec::from_iter(0..numbers.len() as u32));
    }
}

#[test]
fn a_server_that_is_late_gets_fewer_uploads_with_the_same_inputs() {
    let mut rig = Rig::two(10 * HZ);
    rig.run_s(3);
    let uploads_of = |rig: &mut Rig, s| {
        let before = rig.server.uploads[0];
        rig.run_s(s);
        rig.server.uploads[0] - before
    };
    let prompt = uploads_of(&mut rig, 2);
    assert!((6..=8).contains(&prompt), "{prompt}");
    // The server hears everything and answers nothing.
    rig.server.is_answering = false;
    let late = uploads_of(&mut rig, 2);
    assert!((4..=5).contains(&late), "{late}");
    rig.server.is_answering = true;
    rig.run_s(8);
    assert_eq!(rig.server.through(), Tick(10 * HZ));
    rig.server.verify();
}

#[test]
fn whoever_does_not_see_the_world_plays_the_no_op_and_it_is_told() {
    let mut rig = Rig::two(10 * HZ);
    rig.run_s(3);
    rig.with(Seat(0), |page, now| page.handle_action(now, 1));
    rig.run_ms(100);
    let from = rig.current(0);
    rig.with(Seat(0), |page, now| page.handle_hidden(now, true));
    assert!(!rig.tab(0).page.takes_keys());
    rig.run_s(2);
    let to = rig.current(0);
    rig.with(Seat(0), |page, now| page.handle_hidden(now, false));
    rig.run_s(9);
    let span: Vec<_> = rig
        .server
        .notes_of(Seat(0))
        .flat_map(|note| note.hidden.clone())
        .collect();
    assert_eq!(span, [(Tick(from), Tick(to))]);
    // Two ticks of delay, and one whose press may have waited.
    let hidden_rows = rig.server.rows[2 * (from as usize + 6)..2 * to as usize].chunks(2);
    assert!(hidden_rows.clone().count() > 60 && hidden_rows.clone().all(|row| row[0] == 0));
    assert!(hidden_rows.clone().any(|row| row[1] != 0));
    let told = rig.heard(|message| match message {
        ClientMessage::Hidden { hidden, .. } => Some(*hidden),
        _ => None,
    });
    assert_eq!(
        told.iter().map(|told| told.2).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn leaving_the_whole_screen_is_noted_once() {
    let mut rig = Rig::two(10 * HZ);
    rig.with(Seat(0), |page, _| page.handle_screen(true));
    rig.run_s(3);
    let screen = |rig: &mut Rig, is_whole| {
        rig.with(Seat(0), |page, _| page.handle_screen(is_whole));
        rig.current(0)
    };
    let whole = screen(&mut rig, true);
    rig.run_ms(500);
    screen(&mut rig, true);
    rig.run_ms(500);
    let left = screen(&mut rig, false);
    rig.run_s(9);
    let notes = rig.server.notes_of(Seat(0));
    let screens: Vec<_> = notes.flat_map(|note| note.screens.clone()).collect();
    assert_eq!(screens, [(Tick(whole), true), (Tick(left), false)]);
}

#[test]
fn silence_is_told_once_and_so_is_its_end() {
    let mut rig = Rig::new(&[HUMAN, HUMAN, HUMAN], 20 * HZ);
    rig.run_s(5);
    let stopped_us = rig.now_us;
    rig.tab(2).is_gone = true;
    rig.run_ms(1_500);
    rig.tab(2).is_gone = false;
    rig.with(Seat(2), |page, now| page.handle_timeout(now));
    rig.run_s(1);
    let told = rig.heard(|message| match message {
        ClientMessage::Silent { seat, silent, .. } => Some((*seat, *silent)),
        _ => None,
    });
    for seat in [0, 1].map(Seat) {
        let of: Vec<_> = told.iter().filter(|(_, from, _)| *from == seat).collect();
        assert_eq!(
            of.iter().map(|(.., what)| *what).collect::<Vec<_>>(),
            [(Seat(2), true), (Seat(2), false)]
        );
        assert!((250_000..400_000).contains(&(of[0].0 - stopped_us)));
    }
    // The page that slept heard nobody, and knows why.
    assert!(told.iter().all(|(_, from, _)| *from != Seat(2)));
}

#[test]
fn a_key_is_told_with_its_tick_and_the_frame_that_answered_it() {
    let mut rig = Rig::two(5 * HZ);
    rig.run_s(3);
    let mut tick = None;
    rig.with(Seat(0), |page, now| {
        tick = page.session().map(|session| session.input_tick());
        page.handle_key(now, 1, true, now.page_us - 3_000, Some(1));
        page.view(|_| ());
        page.handle_shown(now, now.page_us);
    });
    let pressed_us = rig.now_us - 3_000;
    rig.run_ms(16);
    let shown_us = rig.now_us;
    rig.with(Seat(0), |page, now| page.handle_shown(now, now.page_us));
    rig.run_s(2);
    let t0_us = rig.server.t0_us.unwrap();
    let keys: Vec<_> = rig
        .server
        .notes_of(Seat(0))
        .flat_map(|note| note.keys.clone())
        .collect();
    assert_eq!(keys.len(), 1);
    assert_eq!(
        (keys[0].tick, keys[0].action, keys[0].down),
        (tick, 1, true)
    );
    assert_eq!(keys[0].at_us, (pressed_us - t0_us) as i64);
    assert_eq!(keys[0].shown_us, (shown_us - t0_us) as i64);
}

#[test]
fn messages_of_another_episode_change_nothing() {
    let mut rig = Rig::two(5 * HZ);
    rig.run_s(3);
    let before = rig.status(0);
    for message in [
        ServerMessage::Ended {
            era: Era(8),
            reason: EndReason::Technical,
            ticks: Tick(0),
            score: 0,
            digest: 0,
        },
        ServerMessage::Start {
            era: Era(8),
            t0_us: 0,
            input_delay: 0,
        },
        ServerMessage::Running {
            era: Era(8),
            through: Tick(4_000),
            own: Tick(4_000),
            changes: Vec::new(),
        },
    ] {
        rig.with(Seat(0), |page, now| page.handle_message(now, message));
    }
    assert_eq!(rig.status(0), before);
    rig.run_s(6);
    assert_eq!(rig.server.ended, Some(Tick(5 * HZ)));
}

#[test]
fn what_was_shown_is_told_with_the_time_at_which_it_was_presented() {
    let mut rig = Rig::two(10 * HZ);
    rig.run_s(3);
    let began_ms = (rig.now_us - rig.server.t0_us.unwrap()) / 1_000;
    let mut viewed = Vec::new();
    for _ in 0..60 {
        let tick = rig.current(0);
        rig.with(Seat(0), |page, now| {
            // If there are two views between two frames, the second one is drawn.
            page.view(|_| ());
            let mut digest = 0;
            page.view(|world| digest = world.digest());
            page.handle_shown(now, now.page_us);
            viewed.push((tick, digest));
        });
        rig.run_ms(17);
    }
    rig.with(Seat(0), |page, now| page.handle_hidden(now, true));
    rig.run_s(8);
    let chunks = rig.server.notes_of(Seat(0)).map(|note| &note.seen);
    let chunks = chunks.filter(|chunk| !chunk.is_empty());
    let frames: Vec<_> = chunks
        .flat_map(|chunk| protocol::seen::decode(chunk, 2).unwrap())
        .collect();
    let (hidden, shown) = frames.split_last().unwrap();
    assert!(hidden.hidden && shown.iter().all(|frame| !frame.hidden));
    let ticks: Vec<u32> = shown.iter().map(|frame| frame.tick.0).collect();
    // What was drawn last did not get onto the screen.
    let (viewed, digests): (Vec<u32>, Vec<u64>) = viewed[..59].iter().copied().unzip();
    assert_eq!(ticks, viewed);
    for (k, frame) in shown.iter().enumerate() {
        let presented_ms = began_ms + 17 * (k as u64 + 1);
        assert_eq!(u64::from(frame.at_ms), presented_ms);
    }
    // Every existing input is reported exactly once.
    for seat in 0..2 {
        let told: Vec<u16> = frames.iter().flat_map(|f| f.fresh[seat].clone()).collect();
        let have = hidden.have[seat].0 as usize;
        let rows = rig.server.rows.chunks(2).map(|row| row[seat]);
        // The inputs of the delay are known to everybody.
        let rows: Vec<u16> = rows.take(have).skip(2).collect();
        assert_eq!(told, rows);
    }
    let config = rig.tab(0).page.session().unwrap().config().clone();
    let record = EpisodeRecord {
        changes: &[],
        rows: &rig.server.rows,
    };
    let world = support::toy::world(2, 10 * HZ);
    let rebuilt = rebuild(config, world, |_| None, record, &frames);
    assert_eq!(rebuilt.unwrap()[..59], digests);
}

#[test]
fn a_page_that_goes_tells_the_others_what_it_has_of_them() {
    let left = |ms: u64, flushes: bool| {
        let mut rig = Rig::two(10 * HZ);
        rig.run_ms(ms);
        if flushes {
            rig.with(Seat(1), |page, now| page.flush(now));
        }
        rig.tab(1).is_gone = true;
        rig.run_s(1);
        let session = rig.tab(0).page.session().unwrap();
        (session.stats().datagrams_received, session.current().0)
    };
    let mut further = 0;
    for ms in [3_000, 3_004, 3_008, 3_012] {
        let (silent, told) = (left(ms, false), left(ms, true));
        assert_eq!(told.0, silent.0 + 1);
        assert!(told.1 >= silent.1);
        further += told.1 - silent.1;
    }
    assert!(further > 0, "what came since the last tick is told");
}

#[test]
fn an_episode_that_was_cut_short_goes_on_nowhere() {
    let mut rig = Rig::two(10 * HZ);
    rig.run_s(4);
    for seat in [0, 1].map(Seat) {
        let ended = ServerMessage::Ended {
            era: Era(7),
            reason: EndReason::PartnerLeft,
            ticks: Tick(1),
            score: 0,
            digest: 0,
        };
        rig.server.tell(seat, ended);
    }
    rig.run_ms(50);
    let ticks = rig.current(0);
    rig.run_s(1);
    assert_eq!(rig.current(0), ticks);
    assert!(!rig.tab(0).page.takes_keys());
    assert!(
        matches!(rig.status(0), Status::Over(verdict) if verdict.reason == EndReason::PartnerLeft)
    );
}

#[test]
fn how_others_are_is_known_until_it_is_told_otherwise() {
    let mut rig = Rig::two(10 * HZ);
    rig.run_s(3);
    assert_eq!(rig.tab(0).page.presence(Seat(1)), None);
    for (presence, left_ms) in [(Presence::Gone, 15_000), (Presence::Here, 0)] {
        let (era, seat) = (Era(7), Seat(1));
        let told = ServerMessage::Peer {
            era,
            seat,
            presence,
            left_ms,
        };
        let now = rig.now(0);
        rig.with(Seat(0), |page, now| page.handle_message(now, told));
        let until_us = (left_ms > 0).then(|| now.page_us + u64::from(left_ms) * 1_000);
        let known = rig.tab(0).page.presence(Seat(1));
        assert_eq!(known, Some((presence, until_us)));
    }
}

#[test]
fn a_page_that_waits_for_others_says_again_that_it_is_ready() {
    let mut rig = Rig::two(10 * HZ);
    rig.tab(1).is_gone = true;
    rig.run_s(7);
    assert_eq!((rig.status(0), rig.server.ready[0]), (Status::Ready, 1));
    rig.connect(0, false);
    rig.run_s(1);
    rig.connect(0, true);
    rig.run_s(1);
    assert_eq!((rig.status(0), rig.server.ready[0]), (Status::Ready, 2));
}

#[test]
fn a_page_that_is_out_of_sight_before_the_start_tells_it_when_play_begins() {
    let mut rig = Rig::new(&[HUMAN, HUMAN], 5 * HZ);
    rig.with(Seat(0), |page, now| page.handle_hidden(now, true));
    rig.run_s(5);
    let t0_us = rig.server.t0_us.expect("it has started");
    rig.with(Seat(0), |page, now| page.handle_hidden(now, false));
    rig.run_s(1);
    let told = rig.heard(|message| match message {
        ClientMessage::Hidden { hidden, .. } => Some(*hidden),
        _ => None,
    });
    let told: Vec<_> = told.iter().map(|told| told.2).collect();
    assert_eq!(told, [true, true, false], "started at {t0_us}");
}

#[test]
fn presses_between_two_ticks_are_told_with_the_tick_that_each_entered() {
    let mut rig = Rig::two(5 * HZ);
    rig.run_s(3);
    let mut first = Tick(0);
    rig.with(Seat(0), |page, now| {
        page.handle_action(now, 0);
        first = page.session().expect("it plays").input_tick();
        for action in [1, 5, 3] {
            page.handle_key(now, action, true, now.page_us, Some(action));
        }
        // The second key of an action changes nothing.
        page.handle_key(now, 3, true, now.page_us, Some(3));
    });
    rig.run_s(6);
    let keys = rig.server.notes_of(Seat(0)).flat_map(|note| &note.keys);
    let mut entered: Vec<_> = keys.map(|key| (key.tick, key.action)).collect();
    entered.sort_unstable();
    let at = |k: u32| Some(Tick(first.0 + k));
    assert_eq!(entered, [(None, 3), (at(0), 1), (at(1), 5), (at(2), 3)]);
    let row = |k: u32| rig.server.rows[2 * (first.0 + k) as usize];
    assert_eq!([row(0), row(1), row(2)], [1, 5, 3]);
}

#[test]
fn the_last_picture_of_an_episode_is_told() {
    for (phase_ms, horizon) in (0..16).flat_map(|ms| [(ms, 2 * HZ), (ms, 2 * HZ + 1)]) {
        let mut rig = Rig::new(&[HUMAN], horizon);
        rig.run_ms(phase_ms);
        for _ in 0..400 {
            rig.run_ms(16);
            rig.with(Seat(0), |page, now| {
                page.handle_shown(now, now.page_us);
                page.view(|_| ());
            });
        }
        let chunks = rig.server.notes_of(Seat(0)).map(|note| &note.seen);
        let chunks = chunks.filter(|chunk| !chunk.is_empty());
        let frames = chunks.flat_map(|chunk| protocol::seen::decode(chunk, 1).expect("a chunk"));
        let last = frames.last().map(|frame| frame.tick);
        assert_eq!(last, Some(Tick(horizon)), "{phase_ms} ms");
    }
}

#[test]
fn a_partner_who_leaves_after_the_end_has_not_lost_the_way() {
    let (mut rig, mut unfinished) = (Rig::two(3 * HZ), 0);
    rig.run_s(3);
    for _ in 0..5_000 {
        rig.run_ms(1);
        let session = rig.tab(0).page.session().expect("it plays");
        if session.ended().is_none() {
            continue;
        }
        // As soon as this page has the whole episode, and once the other is known to have it.
        unfinished += u32::from(!session.finished());
        assert_eq!(rig.tab(0).page.link_to(Seat(1)), Some(Link::Direct));
        rig.with(Seat(0), |page, now| {
            page.handle_channel(now, Seat(1), false)
        });
        assert_eq!(rig.tab(0).page.link_to(Seat(1)), Some(Link::Direct));
    }
    assert!(unfinished > 0);
    assert_eq!(rig.status(0), Status::Finished);
}

#[test]
fn what_comes_through_the_server_after_the_end_says_nothing_about_the_way() {
    let mut rig = Rig::two(3 * HZ);
    rig.run_s(10);
    assert_eq!(rig.status(0), Status::Finished);
    // A partner whose page is slow still sends its last inputs, by the remaining link.
    for _ in 0..50 {
        rig.run_ms(20);
        let (from, bytes) = (Seat(1), vec![0; 40]);
        let message = ServerMessage::Relay { from, bytes };
        rig.with(Seat(0), |page, now| page.handle_message(now, message));
    }
    assert_eq!(rig.tab(0).page.link_to(Seat(1)), Some(Link::Direct));
}
