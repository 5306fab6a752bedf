//! Silence of a page means that it sends no inputs: claims of others remove nobody, and a page that waits gets help.

use super::changes::cuts;
use super::*;

/// The inputs of others that a page gets: the seat, and their end.
fn inputs(messages: &[ServerMessage]) -> Vec<(u8, u32)> {
    let known = |message: &ServerMessage| match message {
        ServerMessage::Inputs {
            seat,
            first,
            inputs,
            ..
        } => Some((seat.0, first.0 + inputs.len() as u32)),
        _ => None,
    };
    messages.iter().filter_map(known).collect()
}

/// A page that is alive, as each is once a second.
pub(super) fn tick(stage: &mut Stage, conn: u64) {
    let sent_us = stage.now_us;
    stage.say(conn, ClientMessage::Clock { sent_us });
    stage.wait(0);
}

#[test]
fn a_claim_of_silence_removes_nobody_who_says_inputs() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.silent(1, era, 1, true);
    for half in 1..60 {
        stage.wait(SECOND / 2);
        // The accused page is a little behind all the time.
        stage.archive(1, era, 0, half * HZ / 2 + 3);
        stage.archive(2, era, 0, half * HZ / 2);
        stage.silent(1, era, 1, true);
    }
    let heard = (stage.hear(1), stage.hear(2));
    assert_eq!((changes(&heard.0), presence(&heard.0)), (vec![], vec![]));
    assert_eq!((changes(&heard.1), presence(&heard.1)), (vec![], vec![]));
}

#[test]
fn two_pages_that_do_not_hear_each_other_are_both_alive() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.silent(1, era, 1, true);
    stage.silent(2, era, 0, true);
    stage.wait(5 * SECOND);
    assert_eq!(stage.shelf(era).changes, []);
    assert_eq!(presence(&stage.hear(1)), []);
}

#[test]
fn a_page_that_does_not_hear_somebody_gets_inputs_once() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for (conn, ticks) in [(1, 7), (2, 9), (3, 6)] {
        stage.archive(conn, era, 0, ticks);
    }
    assert_eq!(inputs(&stage.hear(1)), []);
    stage.silent(1, era, 1, true);
    stage.wait(0);
    assert_eq!(inputs(&stage.hear(1)), [(1, 9), (2, 6)]);
    // Packets come and go.
    for _ in 0..5 {
        stage.silent(1, era, 1, false);
        stage.silent(1, era, 1, true);
        stage.silent(1, era, 2, true);
        stage.wait(0);
    }
    assert_eq!(inputs(&stage.hear(1)), []);
    stage.silent(3, era, 0, true);
    stage.wait(0);
    stage.hear(3);
    stage.archive(2, era, 0, 12);
    stage.wait(0);
    for conn in [1, 3] {
        assert_eq!(inputs(&stage.hear(conn)), [(1, 12)]);
    }
}

#[test]
fn pages_that_have_said_equally_much_and_say_no_more_get_the_inputs_of_each_other_once() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for conn in [1, 2, 3] {
        stage.archive(conn, era, 0, 7);
    }
    stage.wait(3 * SECOND - 1);
    assert_eq!(inputs(&stage.hear(1)), []);
    stage.wait(1);
    for (conn, told) in [(1, [(1, 7), (2, 7)]), (2, [(0, 7), (2, 7)])] {
        assert_eq!(inputs(&stage.hear(conn)), told);
    }
    tick(&mut stage, 2);
    stage.wait(5 * SECOND);
    assert_eq!(inputs(&stage.hear(1)), []);
    // The page that needed them continues, and the page that withheld them is behind.
    for conn in [1, 3] {
        stage.archive(conn, era, 0, 9);
    }
    stage.wait(3 * SECOND - 1);
    tick(&mut stage, 1);
    stage.wait(1);
    assert_eq!(cuts(&stage.shelf(era).changes), [(1, 7)]);
}

#[test]
fn a_frozen_page_loses_its_seat_after_three_seconds_and_no_claim_makes_that_earlier() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for (conn, ticks) in [(1, 7), (2, 9), (3, 6)] {
        stage.archive(conn, era, 0, ticks);
    }
    stage.silent(1, era, 2, true);
    stage.silent(2, era, 2, true);
    stage.wait(3 * SECOND - 1);
    tick(&mut stage, 2);
    assert_eq!(stage.shelf(era).changes, []);
    stage.wait(1);
    for conn in [1, 2, 3] {
        assert_eq!(cuts(&changes(&stage.hear(conn))), [(2, 6)]);
    }
}

#[test]
fn a_page_that_keeps_its_inputs_from_the_server_loses_its_seat_after_three_seconds() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive(2, era, 0, 4);
    for second in 1..4 {
        stage.archive(1, era, 0, second * HZ);
        // It sends everything else.
        tick(&mut stage, 2);
        stage.wait(SECOND - u64::from(second == 3));
    }
    tick(&mut stage, 1);
    assert_eq!(stage.shelf(era).changes, [], "peer to peer all is well");
    stage.wait(1);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 4)]);
}

#[test]
fn who_waits_for_another_is_not_silent() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for (conn, ticks) in [(1, 20), (2, 5), (3, 3)] {
        stage.archive(conn, era, 0, ticks);
    }
    stage.wait(3 * SECOND - 1);
    tick(&mut stage, 2);
    stage.wait(1);
    assert_eq!(cuts(&stage.shelf(era).changes), [(2, 3)], "the last one");
}

#[test]
fn a_page_that_says_an_input_from_time_to_time_loses_its_seat_and_one_that_is_slow_does_not() {
    for (each, is_lost) in [(1, true), (HZ / 5, false), (HZ / 2, false)] {
        let mut stage = Stage::new(Limits::default());
        let (era, ..) = stage.playing();
        for second in 1..20 {
            stage.wait(SECOND);
            // The other one plays on until it can simulate no further.
            let most = (second * each + 20).min(second * HZ);
            stage.archive(1, era, 0, most);
            tick(&mut stage, 1);
            stage.archive(2, era, 0, second * each);
        }
        let lost = cuts(&stage.shelf(era).changes).len();
        assert_eq!(lost, usize::from(is_lost), "{each} inputs a second");
    }
}

#[test]
fn a_page_that_connects_again_and_again_and_says_nothing_loses_its_seat() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    stage.archive_all(era, 5);
    stage.archive(1, era, 0, 20);
    let mut times = 0;
    while stage.shelf(era).changes.is_empty() && times < 40 {
        times += 1;
        // As long as it is away, another page hears it.
        stage.wait(2 * SECOND);
        tick(&mut stage, 1);
        stage.resume(10 + times, &two, Some((era, 0)));
    }
    assert_eq!(cuts(&stage.shelf(era).changes), [(1, 5)]);
    assert!((5..20).contains(&times), "{times} new connections");
}

#[test]
fn nobody_is_behind_in_turns() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.course.mode = study::stage::Mode::Turns;
    });
    let (era, ..) = stage.playing();
    stage.archive(1, era, 0, 9);
    stage.silent(1, era, 1, true);
    for _ in 0..30 {
        stage.wait(SECOND);
        tick(&mut stage, 1);
    }
    assert_eq!(stage.shelf(era).changes, []);
}

#[test]
fn in_turns_who_says_no_choice_long_after_the_limit_is_gone() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.course.mode = study::stage::Mode::Turns;
        env.course.turn_limit_s = Some(5);
    });
    let (era, ..) = stage.playing();
    stage.archive(1, era, 0, 9);
    stage.archive(2, era, 0, 8);
    for _ in 0..7 {
        stage.wait(SECOND);
        tick(&mut stage, 1);
    }
    assert_eq!(stage.shelf(era).changes, [], "they may think");
    for _ in 0..2 {
        stage.wait(SECOND);
        tick(&mut stage, 1);
    }
    assert_eq!(cuts(&stage.shelf(era).changes), [(1, 8)]);
}

#[test]
fn nobody_is_silent_while_the_server_hears_nobody_at_all() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive(1, era, 0, 9);
    stage.archive(2, era, 0, 4);
    stage.silent(1, era, 1, true);
    // The process or its network was stopped: its clock continues.
    stage.now_us += 10 * SECOND;
    stage.archive(2, era, 0, 60);
    stage.archive(1, era, 0, 60);
    assert_eq!(stage.shelf(era).changes, []);
    assert_eq!(stage.shelf(era).through, Tick(60));
    // With somebody heard, the other one is missed.
    stage.now_us += 10 * SECOND;
    stage.archive(1, era, 0, 90);
    stage.wait(3 * SECOND);
    tick(&mut stage, 1);
    assert_eq!(cuts(&stage.shelf(era).changes), [(1, 60)]);
}

#[test]
fn a_page_without_a_connection_has_three_seconds_while_others_hear_it() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive_all(era, 5);
    stage.close(2);
    for second in 1..4 {
        stage.archive(1, era, 0, second * HZ);
        stage.wait(SECOND - u64::from(second == 3));
    }
    tick(&mut stage, 1);
    assert_eq!(stage.shelf(era).changes, []);
    stage.wait(1);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 5)]);
}

#[test]
fn a_claim_of_silence_counts_once_the_server_has_not_heard_the_page_for_a_second() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive_all(era, 5);
    stage.silent(1, era, 1, true);
    stage.wait(SECOND);
    tick(&mut stage, 2);
    stage.close(2);
    assert_eq!(stage.shelf(era).changes, [], "it was heard just now");
    stage.wait(SECOND - 1);
    tick(&mut stage, 1);
    assert_eq!(stage.shelf(era).changes, []);
    stage.wait(1);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 5)]);
}

#[test]
fn a_page_of_which_another_says_that_it_is_silent_may_connect_again_and_keeps_its_seat() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    stage.silent(1, era, 1, true);
    for number in 1..6 {
        stage.archive_all(era, number * HZ);
        let conn = if number == 1 {
            2
        } else {
            10 + u64::from(number)
        };
        tick(&mut stage, conn);
        stage.close(conn);
        stage.wait(SECOND - 1);
        tick(&mut stage, 1);
        stage.resume(11 + u64::from(number), &two, Some((era, 0)));
        stage.silent(1, era, 1, true);
    }
    assert_eq!(stage.shelf(era).changes, []);
}

#[test]
fn a_page_that_does_not_hear_another_gets_its_inputs_for_ten_seconds() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive_all(era, 5);
    stage.hear(1);
    stage.silent(1, era, 1, true);
    assert_eq!(inputs(&stage.hear(1)), [(1, 5)], "all that is durable");
    for second in 1..10 {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
        assert_eq!(inputs(&stage.hear(1)), [(1, second * HZ)]);
    }
    stage.wait(SECOND);
    stage.archive_all(era, 10 * HZ);
    assert_eq!(inputs(&stage.hear(1)), []);
    assert_eq!(inputs(&stage.hear(2)), [], "it has asked for nothing");
    stage.silent(1, era, 1, true);
    assert_eq!(inputs(&stage.hear(1)), [(1, 10 * HZ)]);
}

#[test]
fn a_page_that_keeps_others_waiting_gets_their_inputs_after_half_a_second() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for (conn, ticks) in [(1, 9), (2, 7), (3, 4)] {
        stage.archive(conn, era, 0, ticks);
    }
    stage.wait(SECOND / 2 - 1);
    assert_eq!(inputs(&stage.hear(3)), []);
    stage.wait(1);
    assert_eq!(inputs(&stage.hear(3)), [(0, 9), (1, 7)]);
    stage.archive(1, era, 0, 12);
    assert_eq!(inputs(&stage.hear(3)), [(0, 12)]);
    assert_eq!(inputs(&stage.hear(2)), []);
}

#[test]
fn nobody_gets_inputs_of_a_seat_without_a_person_or_of_their_own() {
    let mut stage = Stage::new(Limits::default());
    let (era, _) = super::changes::taken(&mut stage);
    for seat in [0, 1, 9] {
        stage.silent(1, era, seat, true);
    }
    assert_eq!(inputs(&stage.hear(1)), []);
}

#[test]
fn a_page_with_other_digests_is_asked_once_more_before_it_is_named() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive_all(era, 8);
    stage.hear(2);
    let digest = |stage: &mut Stage, recheck: u16, digest: u64| {
        let upload = Upload {
            recheck,
            digests: vec![(Tick(5), digest)],
            ..blank(era)
        };
        stage.say(2, ClientMessage::Upload(upload));
        stage.hear(2)
    };
    let asked = ServerMessage::Recheck {
        era,
        number: 1,
        agreed: Tick(0),
    };
    let heard = digest(&mut stage, 0, WRONG);
    assert_eq!(inputs(&heard), [(0, 8)], "it may lack some of these");
    assert_eq!(heard.last(), Some(&asked));
    let heard = digest(&mut stage, 0, WRONG);
    assert!(!heard.contains(&asked), "once over a connection: {heard:?}");
    assert_eq!(stage.shelf(era).changes, [], "it was on its way");
    digest(&mut stage, 1, 77);
    assert_eq!(stage.shelf(era).changes, []);
    let mut other = Stage::new(Limits::default());
    let (era, ..) = other.playing();
    other.archive_all(era, 8);
    digest(&mut other, 0, WRONG);
    let heard = digest(&mut other, 1, WRONG);
    assert_eq!(cuts(&changes(&heard)), [(1, 8)], "it differs again");
}

#[test]
fn a_page_that_comes_back_is_asked_for_its_digests_again() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    stage.archive_all(era, 8);
    let wrong = Upload {
        digests: vec![(Tick(5), WRONG)],
        ..blank(era)
    };
    stage.say(2, ClientMessage::Upload(wrong.clone()));
    stage.close(2);
    stage.resume(3, &two, Some((era, 0)));
    stage.hear(3);
    stage.say(3, ClientMessage::Upload(wrong));
    let heard = stage.hear(3);
    let is_asked = |message: &ServerMessage| matches!(message, ServerMessage::Recheck { .. });
    assert!(heard.iter().any(is_asked), "{heard:?}");
}
