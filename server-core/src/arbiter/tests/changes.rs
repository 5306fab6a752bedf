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
    stage.archive(2, era, 0, 9);
    stage.say(2, ClientMessage::Unloading);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 9)]);
    (era, token)
}

/// The seats that change hands, and when.
pub(super) fn cuts(changes: &[Change]) -> Vec<(u8, u32)> {
    let cut = |change: &Change| (change.seat.0, change.tick.0);
    changes.iter().map(cut).collect()
}

#[test]
fn a_seat_is_taken_at_the_last_input_that_its_own_page_has_said() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive(1, era, 0, 5);
    stage.archive(2, era, 0, 9);
    stage.hear(1);
    // Claims of page 1 about itself, and its inputs of the other, change nothing.
    stage.archive(1, era, 0, 15);
    stage.close(2);
    assert_eq!(changes(&stage.hear(1)), [], "it may only have lost its way");
    stage.miss(1, era, 1);
    let heard = stage.hear(1);
    assert_eq!(presence(&heard), [(1, Presence::Gone, 15_000)]);
    let expected = Change {
        number: 0,
        seat: Seat(1),
        tick: Tick(9),
        controller: Controller::Vacant,
        life: Life(1),
        from: Tick(9),
        inputs: Vec::new(),
        key: None,
    };
    assert_eq!(changes(&heard), [expected]);
    assert_eq!(stage.shelf(era).through, Tick(15), "nobody else is awaited");
}

#[test]
fn a_page_that_says_that_it_unloads_is_not_waited_for() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive(2, era, 0, 3);
    stage.say(2, ClientMessage::Unloading);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 3)]);
}

#[test]
fn two_who_are_gone_at_once_are_taken_one_after_the_other() {
    let mut stage = Stage::of(4, Limits::default(), |_| {});
    let (era, _) = stage.crowd(4);
    for (conn, ticks) in [(1, 9), (2, 8), (3, 5), (4, 7)] {
        stage.archive(conn, era, 0, ticks);
    }
    stage.slow = true;
    stage.say(3, ClientMessage::Unloading);
    stage.say(4, ClientMessage::Unloading);
    let is_take = |(_, work): &&(Era, Work)| matches!(work, Work::Record(RecordWork::Take { .. }));
    assert_eq!(stage.work.iter().filter(is_take).count(), 1);
    stage.slow = false;
    stage.drain();
    for conn in [1, 2] {
        let changes = changes(&stage.hear(conn));
        assert_eq!(cuts(&changes), [(2, 5), (3, 7)]);
        assert_eq!((changes[0].number, changes[1].number), (0, 1));
    }
    assert_eq!(stage.shelf(era).through, Tick(8));
}

#[test]
fn those_who_are_left_play_to_the_end() {
    let mut stage = Stage::of(4, Limits::default(), |_| {});
    let (era, _) = stage.crowd(4);
    stage.archive_all(era, 9);
    stage.say(3, ClientMessage::Unloading);
    stage.say(4, ClientMessage::Unloading);
    assert_eq!(cuts(&stage.shelf(era).changes), [(2, 9), (3, 9)]);
    stage.archive_all(era, 20);
    assert_eq!(stage.shelf(era).through, Tick(20));
    assert_eq!(stage.ended, []);
    for conn in [1, 2] {
        let ended = Some(Tick(20));
        let upload = Upload {
            ended,
            ..blank(era)
        };
        stage.say(conn, ClientMessage::Upload(upload));
    }
    assert_eq!(stage.ended, [EndReason::Played]);
}

#[test]
fn who_reloads_while_the_other_is_away_loses_only_their_own_seat() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, two) = stage.playing();
    stage.archive_all(era, 8);
    stage.close(1);
    stage.close(2);
    stage.resume(3, &two, None);
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
    stage.wait(2 * SECOND);
    stage.resume(4, &one, Some((era, 0)));
    let heard = stage.hear(4);
    let is_told = |message: &ServerMessage| matches!(message, ServerMessage::Running { own: Tick(8), changes, .. } if changes.len() == 2);
    assert!(heard.iter().any(is_told), "{heard:?}");
    assert_eq!(cuts(&stage.shelf(era).changes), [(1, 8), (1, 18)]);
}

#[test]
fn a_page_with_another_key_is_another_page() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    stage.archive_all(era, 8);
    let entry = Entry::Resume {
        token: two,
        playing: Some((era, Life(0))),
    };
    let mut hello = ClientMessage::make_hello(entry);
    let ClientMessage::Hello { key, .. } = &mut hello else {
        panic!("the first message")
    };
    *key = [5; 32];
    stage.say(3, hello);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 8)]);
    ready_again(&mut stage, 3, era);
    let back = stage.back(3).unwrap();
    assert_eq!(back.changes[1].key, Some([5; 32]));
}

#[test]
fn ticks_that_are_not_due_are_refused() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    // Two seconds early are twenty ticks, and inputs are given one tick ahead.
    stage.archive(1, era, 0, 21);
    assert!(matches!(
        stage.hear(1)[..],
        [ServerMessage::Archived { own: Tick(21), .. }]
    ));
    stage.archive(1, era, 0, 22);
    let refused = ServerMessage::Refused {
        why: Refusal::Malformed,
    };
    assert_eq!(stage.hear(1), [refused]);
    assert!(stage.closed.contains(&ConnId(1)));
}

#[test]
fn inputs_of_the_delay_may_come_with_the_start() {
    let mut stage = Stage::new(Limits::default());
    let _tokens = (stage.queue(1), stage.queue(2));
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 800_000);
    stage.ready(2, era, 800_000);
    stage.hear(1);
    // Two ticks of delay, and one ahead; tick 0 is due in 3.5 seconds.
    stage.archive(1, era, 0, 3);
    let heard = stage.hear(1);
    assert!(
        matches!(heard[..], [ServerMessage::Archived { own: Tick(3), .. }]),
        "{heard:?}"
    );
    stage.archive(1, era, 0, 4);
    assert!(stage.closed.contains(&ConnId(1)));
}

#[test]
fn a_gap_in_the_inputs_is_asked_for() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.archive_all(era, 4);
    stage.hear(1);
    let late = Upload {
        block: Some(block(Tick(6), 1)),
        ..blank(era)
    };
    stage.say(1, ClientMessage::Upload(late));
    let heard = stage.hear(1);
    assert!(
        matches!(heard[..], [ServerMessage::Running { own: Tick(4), .. }]),
        "{heard:?}"
    );
    assert_eq!(stage.shelf(era).through, Tick(4));
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
    assert_eq!(stage.ended, [EndReason::Technical]);
}

#[test]
fn an_archive_that_cannot_change_a_seat_ends_the_episode() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.work.clear();
    stage.slow = false;
    stage.handle(Event::Changed(era, Seat(1), None));
    assert_eq!(stage.ended, [EndReason::Technical]);
}

#[test]
fn nothing_is_taken_from_a_page_whose_seat_is_being_cut() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.work.clear();
    stage.archive(2, era, 0, 9);
    assert!(stage.work.is_empty(), "{:?}", stage.work);
    stage.archive(1, era, 0, 9);
    assert_eq!(stage.work.len(), 1);
}

#[test]
fn a_seat_that_is_lost_before_its_first_tick_is_cut_there() {
    let mut stage = Stage::new(Limits::default());
    let (era, token) = taken(&mut stage);
    stage.archive(1, era, 0, 20);
    stage.resume(3, &token, None);
    ready_again(&mut stage, 3, era);
    stage.hear(1);
    stage.say(3, ClientMessage::Unloading);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(1, 30)]);
    assert_eq!(cuts(&stage.shelf(era).changes), [(1, 9), (1, 30), (1, 30)]);
}

#[test]
fn a_change_that_comes_after_the_end_takes_nobody_the_time_to_upload() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for conn in [2, 3] {
        stage.archive(conn, era, 0, 7);
    }
    stage.slow = true;
    stage.say(1, upload(era, Some(Tick(7))));
    stage.say(3, ClientMessage::Unloading);
    // The inputs end the episode, so the seat cannot change hands any more.
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
    stage.archive(2, era, 0, 7);
    // The server's own network is gone: its sockets time out one after the other.
    stage.wait(15 * SECOND);
    stage.close(1);
    stage.wait(SECOND / 2);
    stage.close(2);
    stage.wait(10 * SECOND);
    stage.resume(4, &two, Some((era, 0)));
    stage.archive(4, era, 0, 10 * HZ);
    stage.wait(2 * SECOND);
    stage.resume(3, &one, Some((era, 0)));
    stage.archive(3, era, 0, 10 * HZ);
    assert_eq!(stage.shelf(era).changes, []);
    assert_eq!(stage.shelf(era).through, Tick(10 * HZ));
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
    for (conn, token) in [(5, &tokens[1]), (6, &tokens[2])] {
        stage.resume(conn, token, Some((era, 0)));
        stage.archive(conn, era, 0, 5);
    }
    stage.wait(10 * SECOND);
    assert_eq!(changes(&stage.hear(4)), []);
    assert!(stage.shelf(era).changes.is_empty());
}
