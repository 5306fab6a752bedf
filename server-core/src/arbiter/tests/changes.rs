//! A seat is taken, and everything that can fail in between.

use super::*;

/// A page asks for its seat until the archive has it.
pub(super) fn ready_again(stage: &mut Stage, conn: u64, era: Era) -> Plan {
    let plan = stage.plan(conn).expect("the plan of a running episode");
    assert!(plan.running);
    stage.ready(conn, era, 0);
    plan
}

/// Seat 1 is taken at tick 9 while page 1 plays on.
pub(super) fn taken(stage: &mut Stage) -> (Era, String) {
    let (era, _, token) = stage.playing();
    stage.close(2);
    stage.silent(1, era, 1, true);
    assert_eq!(fences(&stage.hear(1)), [(1, 0)]);
    stage.report(1, era, 1, 0, 9);
    (era, token)
}

#[test]
fn a_silent_page_without_a_connection_loses_its_seat_at_the_cut() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive(1, era, 0, 5);
    stage.hear(1);
    stage.silent(1, era, 1, true);
    assert_eq!(
        stage.hear(1),
        [],
        "it is connected, and silent for a moment only"
    );
    stage.close(2);
    let heard = stage.hear(1);
    assert_eq!(fences(&heard), [(1, 0)]);
    assert_eq!(presence(&heard), [(1, Presence::Gone, 15_000)]);
    stage.report(1, era, 1, 0, 9);
    let changes = changes(&stage.hear(1));
    let expected = Change {
        number: 0,
        seat: Seat(1),
        tick: Tick(9),
        controller: Controller::Vacant,
        life: Life(1),
        from: Tick(5),
        inputs: Vec::new(),
    };
    assert_eq!(changes, [expected]);
}

#[test]
fn a_page_that_says_that_it_unloads_is_not_waited_for() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(2, ClientMessage::Unloading);
    assert_eq!(fences(&stage.hear(1)), [(1, 0)]);
    stage.report(1, era, 1, 0, 3);
    assert_eq!(changes(&stage.hear(1)).len(), 1);
}

#[test]
fn two_pages_that_do_not_hear_each_other_are_both_alive() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.silent(1, era, 1, true);
    stage.silent(2, era, 0, true);
    stage.wait(5 * SECOND);
    assert_eq!((stage.hear(1), stage.hear(2)), (vec![], vec![]));
}

#[test]
fn a_page_without_a_connection_plays_on_while_ticks_move_and_others_hear_it() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.close(2);
    for second in 1..20 {
        stage.wait(SECOND);
        stage.archive(1, era, 0, second * HZ);
    }
    assert_eq!((fences(&stage.hear(1)), stage.ended.len()), (vec![], 0));
    // Nobody says that it is silent, but nothing moves.
    stage.wait(3 * SECOND);
    assert_eq!(fences(&stage.hear(1)), [(1, 0)]);
}

#[test]
fn two_who_are_gone_at_once_are_taken_one_after_the_other() {
    let mut stage = Stage::of(4, Limits::default(), |_| {});
    let (era, _) = stage.crowd(4);
    stage.close(3);
    stage.close(4);
    for seat in [2, 3] {
        stage.silent(1, era, seat, true);
    }
    for (seat, number) in [(2, 0), (3, 1)] {
        for conn in [1, 2] {
            assert_eq!(fences(&stage.hear(conn)), [(seat, 0)]);
            stage.report(conn, era, seat, 0, 5);
        }
        assert_eq!(stage.shelf(era).changes.len(), number + 1);
    }
}

#[test]
fn one_report_is_enough_after_a_second() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    stage.say(3, ClientMessage::Unloading);
    stage.report(1, era, 2, 0, 7);
    stage.wait(SECOND - 1);
    assert!(stage.shelf(era).changes.is_empty());
    stage.wait(1);
    assert_eq!(stage.shelf(era).changes[0].tick, Tick(7));
}

#[test]
fn who_cannot_be_asked_may_not_play_on_beside_the_cut() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, two) = stage.playing();
    stage.close(1);
    stage.close(2);
    stage.resume(3, &two, None);
    stage.wait(5 * SECOND - 1);
    assert!(
        stage.shelf(era).changes.is_empty(),
        "page 1 may know better"
    );
    stage.wait(1);
    let seats: Vec<Seat> = stage
        .shelf(era)
        .changes
        .iter()
        .map(|change| change.seat)
        .collect();
    assert_eq!(seats, [Seat(1), Seat(0)]);
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
    // The page that could not be asked comes back by the archive too.
    stage.resume(4, &one, Some((era, 0)));
    assert_eq!(ready_again(&mut stage, 4, era).life, Life(2));
    assert!(stage.back(4).is_some());
}

#[test]
fn who_can_be_asked_in_time_keeps_the_seat() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, two) = stage.playing();
    stage.close(1);
    stage.close(2);
    stage.resume(3, &two, None);
    stage.wait(2 * SECOND);
    stage.resume(4, &one, Some((era, 0)));
    let heard = stage.hear(4);
    let running = heard
        .iter()
        .position(|message| matches!(message, ServerMessage::Running { .. }));
    let fence = heard
        .iter()
        .position(|message| matches!(message, ServerMessage::Fence { .. }));
    assert!(running.unwrap() < fence.unwrap(), "{heard:?}");
    stage.report(4, era, 1, 0, 8);
    let changes = &stage.shelf(era).changes;
    assert_eq!((changes.len(), changes[0].tick), (1, Tick(8)));
}

#[test]
fn fences_are_not_forgotten_by_a_gap_in_the_uploads() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(2, ClientMessage::Unloading);
    stage.hear(1);
    let late = Upload {
        first: Tick(5),
        ..blank(era)
    };
    stage.say(1, ClientMessage::Upload(late));
    assert_eq!(stage.hear(1), []);
    stage.report(1, era, 1, 0, 7);
    let heard = stage.hear(1);
    let running = |message: &ServerMessage| matches!(message, ServerMessage::Running { .. });
    assert!(heard.iter().any(running), "{heard:?}");
}

#[test]
fn reports_that_answer_nothing_are_ignored() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.report(1, era, 1, 0, 7);
    stage.say(2, ClientMessage::Unloading);
    stage.report(1, era, 0, 0, 7);
    stage.report(1, era, 1, 1, 7);
    stage.report(2, era, 1, 0, 7);
    stage.report(1, era, 9, 0, 7);
    // Inputs of ticks that nobody can have played yet.
    stage.report(1, era, 1, 0, 900);
    assert!(stage.shelf(era).changes.is_empty());
    stage.report(1, era, 1, 0, 7);
    assert_eq!(stage.shelf(era).changes.len(), 1);
}

#[test]
fn ticks_that_are_not_due_are_refused() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    // Two seconds early are twenty ticks.
    stage.archive(1, era, 0, 20);
    assert!(matches!(
        stage.hear(1)[..],
        [ServerMessage::Archived { .. }]
    ));
    stage.archive(1, era, 0, 21);
    let refused = ServerMessage::Refused {
        why: Refusal::Malformed,
    };
    assert_eq!(stage.hear(1), [refused]);
    assert!(stage.closed.contains(&ConnId(1)));
}

#[test]
fn seats_that_change_hands_for_ever_end_the_episode() {
    let mut stage = Stage::new(Limits {
        changes: 2,
        ..Limits::default()
    });
    let (era, token) = taken(&mut stage);
    stage.resume(3, &token, None);
    ready_again(&mut stage, 3, era);
    assert!(stage.ended.is_empty());
    stage.say(3, ClientMessage::Unloading);
    stage.report(1, era, 1, 2, 20);
    assert_eq!(stage.ended, [EndReason::Technical]);
}

#[test]
fn an_archive_that_cannot_change_a_seat_ends_the_episode() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.report(1, era, 1, 0, 7);
    stage.work.clear();
    stage.slow = false;
    stage.handle(Event::Changed(era, Seat(1), None));
    assert_eq!(stage.ended, [EndReason::Technical]);
}

#[test]
fn a_page_that_was_given_its_seat_lately_is_no_witness_alone() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, tokens) = stage.crowd(3);
    stage.resume(4, &tokens[2], None);
    stage.report(1, era, 2, 0, 1);
    stage.report(2, era, 2, 0, 1);
    ready_again(&mut stage, 4, era);
    assert!(stage.back(4).is_some());
    // Peer to peer, page 1 may have confirmed what page 4 does not have yet.
    stage.close(1);
    stage.say(2, ClientMessage::Unloading);
    assert_eq!(fences(&stage.hear(4)), [(1, 0)]);
    stage.report(4, era, 1, 0, 1);
    stage.wait(2 * SECOND);
    assert_eq!(stage.shelf(era).changes.len(), 2);
    stage.wait(3 * SECOND);
    assert_eq!(stage.shelf(era).changes.len(), 3);
    assert_eq!(
        fences(&stage.hear(4)),
        [(0, 0)],
        "and page 1 does not play on"
    );
}

#[test]
fn nothing_is_taken_from_a_page_whose_seat_is_being_cut() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.report(1, era, 1, 0, 7);
    stage.work.clear();
    stage.archive(2, era, 0, 9);
    assert!(stage.work.is_empty(), "{:?}", stage.work);
    stage.archive(1, era, 0, 9);
    assert_eq!(stage.work.len(), 1);
}

#[test]
fn a_report_may_name_the_first_tick_of_a_seat_that_is_not_due() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, token) = stage.playing();
    stage.archive(1, era, 0, 20);
    stage.resume(3, &token, None);
    stage.report(1, era, 1, 0, 5);
    ready_again(&mut stage, 3, era);
    assert_eq!(stage.shelf(era).changes[1].tick, Tick(41));
    stage.say(3, ClientMessage::Unloading);
    stage.report(1, era, 1, 2, 42);
    assert_eq!(stage.shelf(era).changes.len(), 2);
    stage.report(1, era, 1, 2, 41);
    assert_eq!(stage.shelf(era).changes.len(), 3);
}

#[test]
fn a_change_that_comes_after_the_end_takes_nobody_the_time_to_upload() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    stage.slow = true;
    stage.say(1, upload(era, Some(Tick(7))));
    stage.say(3, ClientMessage::Unloading);
    stage.report(1, era, 2, 0, 7);
    stage.report(2, era, 2, 0, 7);
    // The rows end the episode, so the seat cannot change hands any more.
    assert!(stage.work_once());
    stage.work.clear();
    stage.handle(Event::Changed(era, Seat(2), None));
    let is_end = |(_, work): &(Era, Work)| matches!(work, Work::Record(RecordWork::End(_)));
    assert!(!stage.work.iter().any(is_end), "{:?}", stage.work);
    stage.wait(3 * SECOND);
    assert!(stage.work.iter().any(is_end));
}

#[test]
fn whoever_loses_the_connection_together_with_everybody_else_loses_no_seat() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, two) = stage.playing();
    stage.archive(1, era, 0, 5);
    // The server's own network is gone: its sockets time out one after the other.
    stage.wait(15 * SECOND);
    stage.close(1);
    stage.wait(SECOND / 2);
    stage.close(2);
    stage.wait(10 * SECOND);
    assert!(stage.shelf(era).changes.is_empty(), "nobody was asked");
    stage.resume(4, &two, Some((era, 0)));
    // Page 4 has what page 1 played meanwhile, and the cut is behind that.
    assert_eq!(fences(&stage.hear(4)), [(0, 0)]);
    stage.report(4, era, 0, 0, 10 * HZ);
    let cuts: Vec<_> = stage
        .shelf(era)
        .changes
        .iter()
        .map(|c| (c.seat, c.tick))
        .collect();
    assert_eq!(cuts, [(Seat(0), Tick(10 * HZ))]);
    stage.resume(3, &one, Some((era, 0)));
    assert_eq!(fences(&stage.hear(4)), [], "seat 1 plays on");
}

#[test]
fn the_first_page_that_is_back_gives_the_others_time_to_come_back_too() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, tokens) = stage.crowd(3);
    stage.archive(1, era, 0, 5);
    for conn in [1, 2, 3] {
        stage.close(conn);
    }
    stage.wait(4 * SECOND);
    stage.resume(4, &tokens[0], Some((era, 0)));
    stage.wait(2 * SECOND);
    assert_eq!(fences(&stage.hear(4)), []);
    for (conn, token) in [(5, &tokens[1]), (6, &tokens[2])] {
        stage.resume(conn, token, Some((era, 0)));
    }
    stage.wait(10 * SECOND);
    assert_eq!(fences(&stage.hear(4)), []);
    assert!(stage.shelf(era).changes.is_empty());
}
