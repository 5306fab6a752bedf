//! A page comes back for its seat, and everything that can fail in between.

use super::changes::{cuts, ready_again, taken};
use super::*;

#[test]
fn a_page_that_has_lost_its_seat_takes_it_back() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for (conn, ticks) in [(1, 8), (2, 9), (3, 6)] {
        stage.archive(conn, era, 0, ticks);
    }
    stage.wait(3 * SECOND - 1);
    super::silence::tick(&mut stage, 2);
    stage.wait(1);
    for conn in [1, 2, 3] {
        assert_eq!(cuts(&changes(&stage.hear(conn))), [(2, 6)]);
    }
    stage.say(3, ClientMessage::TakeBack { era });
    let plan = ready_again(&mut stage, 3, era);
    assert_eq!((plan.seat, plan.life), (Seat(2), Life(2)));
    assert!(stage.back(3).is_some());
    let heard = stage.hear(1);
    assert_eq!(presence(&heard).last().unwrap().1, Presence::Here);
    assert_eq!(
        cuts(&changes(&heard)),
        [(2, 19)],
        "a second beyond what others have said"
    );
    for second in 4..8 {
        for conn in [1, 2] {
            stage.archive(conn, era, 0, second * HZ);
        }
        stage.wait(SECOND - u64::from(second == 7));
    }
    super::silence::tick(&mut stage, 1);
    // It has said nothing for three seconds since its first tick was due.
    assert_eq!(
        changes(&stage.hear(1)),
        [],
        "the new page has time to be heard"
    );
    stage.wait(1);
    assert_eq!(cuts(&changes(&stage.hear(1))), [(2, 19)]);
}

#[test]
fn a_reloaded_page_gets_its_seat_back_and_the_other_never_waits() {
    let mut stage = Stage::new(Limits::default());
    let (era, token) = taken(&mut stage);
    stage.archive(1, era, 0, 12);
    stage.hear(1);
    stage.resume(3, &token, None);
    let heard = stage.hear(3);
    assert!(matches!(view(&heard), Some(StageView::Env)), "{heard:?}");
    let Some(ServerMessage::Match(plan)) = heard.last() else {
        panic!("{heard:?}")
    };
    assert_eq!(
        (plan.running, plan.life, plan.seat),
        (true, Life(2), Seat(1))
    );
    assert_eq!(presence(&stage.hear(1)), [(1, Presence::Returning, 0)]);
    stage.ready(3, era, 0);
    let heard = stage.hear(3);
    let parts: usize = heard
        .iter()
        .map(|message| match message {
            ServerMessage::Part { bytes, .. } => bytes.len(),
            ServerMessage::Return(back) => back.state.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(parts, 300_000);
    let Some(ServerMessage::Return(back)) = heard.last() else {
        panic!("{heard:?}")
    };
    assert_eq!((back.tick, back.changes.len()), (Tick(12), 2));
    let heard = stage.hear(1);
    let changes = changes(&heard);
    assert_eq!(changes, back.changes[1..]);
    assert_eq!((changes[0].tick, changes[0].from), (Tick(22), Tick(12)));
    assert_eq!(presence(&heard), [(1, Presence::Here, 0)]);
    // The page plays in its new life.
    stage.wait(SECOND);
    stage.archive(3, era, 2, 24);
    assert!(matches!(
        stage.hear(3)[..],
        [ServerMessage::Archived {
            through: Tick(12),
            own: Tick(24),
            ..
        }]
    ));
    stage.archive(3, era, 0, 26);
    assert_eq!(stage.hear(3), [], "an upload of an earlier life");
}

#[test]
fn a_reload_before_anybody_misses_the_page_takes_the_seat_first() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, token) = stage.playing();
    stage.resume(3, &token, None);
    assert!(stage.closed.contains(&ConnId(2)));
    assert!(stage.hear(2).contains(&ServerMessage::Superseded));
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
    assert_eq!(changes(&stage.hear(1)).len(), 2);
}

#[test]
fn the_link_in_another_window_brings_the_newer_page_into_the_episode() {
    let mut stage = Stage::new(Limits::default());
    stage.arbiter.sessions.add_link("link");
    stage.enter(1, Entry::Invite("link".into()));
    let done = ClientMessage::StageDone {
        stage: 0,
        answers: Vec::new(),
        pages_ms: vec![1],
    };
    stage.say(1, done);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    stage.wait(4 * SECOND);
    stage.hear(2);
    stage.enter(3, Entry::Invite("link".into()));
    assert!(stage.hear(1).contains(&ServerMessage::Superseded));
    assert_eq!(cuts(&changes(&stage.hear(2))), [(0, 0)]);
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
}

#[test]
fn a_page_alone_gets_its_seat_back_from_what_is_durable() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    stage.wait(30 * SECOND);
    let plan = stage.plan(1).unwrap();
    stage.ready(1, plan.era, 0);
    stage.wait(4 * SECOND);
    stage.archive(1, plan.era, 0, 4);
    let mut writes = stage.writes.iter().cloned();
    let session = writes.find(|write| matches!(write, Write::NewSession { .. }));
    let Some(Write::NewSession { token, .. }) = session else {
        panic!("a session")
    };
    stage.resume(2, &token, None);
    ready_again(&mut stage, 2, plan.era);
    let back = stage.back(2).unwrap();
    assert_eq!(cuts(&back.changes), [(0, 4), (0, 4)]);
    assert_eq!(back.tick, Tick(4), "the time stood still");
    assert_eq!(back.delay_ms, 0);
}

#[test]
fn a_page_that_comes_back_while_a_seat_is_cut_is_told_of_it() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, _) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.resume(3, &one, Some((era, 0)));
    let heard = stage.hear(3);
    let is_running = |message: &ServerMessage| matches!(message, ServerMessage::Running { changes, .. } if changes.is_empty());
    assert!(heard.iter().any(is_running), "{heard:?}");
    stage.slow = false;
    stage.drain();
    assert_eq!(cuts(&changes(&stage.hear(3))), [(1, 0)]);
}

#[test]
fn a_page_that_comes_back_while_its_own_seat_is_cut_learns_that_it_lost_it() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.resume(3, &two, Some((era, 0)));
    stage.hear(3);
    stage.slow = false;
    stage.drain();
    let told = changes(&stage.hear(3));
    assert_eq!(cuts(&told), [(1, 0)]);
    assert_eq!(told[0].life, Life(1));
    stage.say(3, ClientMessage::TakeBack { era });
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
}

#[test]
fn a_page_that_dies_while_it_gets_its_seat_loses_it_the_same_way() {
    let mut stage = Stage::new(Limits::default());
    let (era, token) = taken(&mut stage);
    stage.resume(3, &token, None);
    stage.slow = true;
    ready_again(&mut stage, 3, era);
    stage.close(3);
    stage.hear(1);
    stage.slow = false;
    stage.drain();
    let changes = changes(&stage.hear(1));
    assert_eq!(changes[0].controller, Controller::Human);
    assert_eq!(changes[1].controller, Controller::Vacant);
    assert_eq!(changes[0].tick, changes[1].tick, "it has said nothing");
    // And comes back once more.
    stage.resume(4, &token, None);
    ready_again(&mut stage, 4, era);
    assert_eq!(stage.back(4).unwrap().changes.len(), 4);
}

#[test]
fn a_newer_page_while_the_older_gets_its_seat_comes_after_it() {
    let mut stage = Stage::new(Limits::default());
    let (era, token) = taken(&mut stage);
    stage.resume(3, &token, None);
    stage.slow = true;
    ready_again(&mut stage, 3, era);
    stage.resume(4, &token, None);
    stage.slow = false;
    stage.drain();
    assert!(stage.back(3).is_none());
    assert_eq!(stage.shelf(era).changes.len(), 3, "taken again");
    assert_eq!(ready_again(&mut stage, 4, era).life, Life(4));
    assert!(stage.back(4).is_some());
}

#[test]
fn a_page_that_closes_at_any_step_of_its_return_can_begin_again() {
    for steps in 0..4 {
        let mut stage = Stage::new(Limits::default());
        let (era, token) = taken(&mut stage);
        for (attempt, steps) in [(3, steps), (4, 9)] {
            stage.resume(attempt, &token, None);
            if steps > 0 {
                ready_again(&mut stage, attempt, era);
            }
            if steps < 9 {
                stage.close(attempt);
                stage.wait(u64::from(steps == 2) * SECOND);
            }
        }
        assert!(stage.back(4).is_some(), "after {steps} steps");
    }
}

#[test]
fn a_page_that_diverges_comes_back_by_the_replicas_state() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    // It differs once more after it was asked.
    let diverge = |stage: &mut Stage, life: u8| {
        for recheck in [0, 1] {
            let upload = Upload {
                life: Life(life),
                recheck,
                digests: vec![(Tick(0), WRONG)],
                ..blank(era)
            };
            stage.say(2, ClientMessage::Upload(upload));
        }
    };
    for number in 0..3 {
        let life = 2 * number;
        diverge(&mut stage, life);
        assert_eq!(changes(&stage.hear(2)).len(), 1, "the page is told");
        stage.say(2, ClientMessage::TakeBack { era });
        ready_again(&mut stage, 2, era);
        assert!(stage.back(2).is_some());
        assert_eq!(changes(&stage.hear(1)).len(), 2);
    }
    assert!(stage.ended.is_empty());
    diverge(&mut stage, 6);
    let heard = stage.hear(2);
    assert!(
        matches!(view(&heard), Some(StageView::End { outcome, .. }) if outcome == "page_failed"),
        "more than three times"
    );
    // For the other one, it is as if they had left.
    assert!(stage.ended.is_empty() || stage.ended == [EndReason::PartnerLeft]);
}

#[test]
fn a_page_that_is_never_ready_is_given_up_and_may_ask_again() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.first_half = study::disconnect::Then::Bot;
        env.on_disconnect.bot = Some(study::stage::AiPartner {
            policy: "cook".into(),
            disclose: true,
            model: None,
            ..study::stage::AiPartner::default()
        });
    });
    let (era, token) = taken(&mut stage);
    stage.resume(3, &token, None);
    let plan = stage.plan(3).unwrap();
    stage.hear(1);
    for second in 1..25 {
        stage.wait(SECOND);
        stage.archive(1, era, 0, second * HZ);
    }
    let taken = changes(&stage.hear(1));
    assert_eq!(taken[0].controller, cook());
    stage.ready(3, plan.era, 0);
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
}

#[test]
fn who_comes_and_goes_gets_no_more_time_while_nothing_moves() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.meanwhile = study::disconnect::Meanwhile::Hold;
    });
    let (era, _, token) = stage.playing();
    for conn in 3..9 {
        stage.close(conn - 1);
        stage.miss(1, era, 1);
        stage.wait(SECOND);
        stage.resume(conn, &token, Some((era, 0)));
        stage.silent(1, era, 1, false);
    }
    stage.close(8);
    stage.miss(1, era, 1);
    stage.wait(3 * SECOND - 1);
    assert!(stage.ended.is_empty());
    stage.wait(1);
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
}

#[test]
fn a_page_that_has_lost_its_game_asks_for_its_seat_before_anybody_takes_it() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(2, ClientMessage::TakeBack { era });
    assert_eq!(changes(&stage.hear(1)).len(), 1);
    ready_again(&mut stage, 2, era);
    assert!(stage.back(2).is_some());
}

#[test]
fn people_who_come_and_go_without_end_are_no_burden() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.meanwhile = study::disconnect::Meanwhile::Hold;
    });
    stage.limits.presences = 5;
    stage.arbiter.limits.presences = 5;
    let (era, ..) = stage.playing();
    stage.close(2);
    stage.wait(SECOND);
    for _ in 0..50 {
        stage.silent(1, era, 1, true);
        stage.silent(1, era, 1, false);
    }
    assert_eq!(presence(&stage.hear(1)).len(), 5);
    assert_eq!(stage.shelf(era).notes.len(), 5);
}

#[test]
fn who_asks_for_the_seat_again_and_again_gets_no_more_time_while_nothing_moves() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        let terms = &mut env.on_disconnect;
        (terms.first_half, terms.second_half) =
            (study::disconnect::Then::Bot, study::disconnect::Then::Bot);
        let (policy, disclose) = ("cook".to_owned(), true);
        terms.bot = Some(study::stage::AiPartner {
            policy,
            disclose,
            model: None,
            ..study::stage::AiPartner::default()
        });
    });
    let (era, ..) = stage.playing();
    stage.say(1, ClientMessage::Leave);
    for _ in 0..20 {
        stage.say(2, ClientMessage::TakeBack { era });
        stage.wait(21 * SECOND);
    }
    assert_eq!(stage.ended.len(), 1);
}

#[test]
fn a_second_tab_gets_the_seat_after_the_other_is_cut() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, _) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.resume(3, &one, None);
    stage.slow = false;
    stage.drain();
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
    let seats = stage.shelf(era).changes.iter().map(|change| change.seat.0);
    assert_eq!(seats.collect::<Vec<_>>(), [1, 0, 0]);
}

/// Returns the delay that page 2 gets when it comes back after eight seconds, in which page 1 has played this many
/// ticks and says that they are due this much later.
fn told_delay(ticks: u32, delay_ms: u32) -> u32 {
    let mut stage = Stage::new(Limits::default());
    let (era, token) = taken(&mut stage);
    stage.wait(8 * SECOND);
    let timing = Timing {
        delays: vec![(Tick(1), delay_ms)],
        ..Timing::default()
    };
    let upload = Upload {
        timing: Some(timing),
        ..blank(era)
    };
    stage.say(1, ClientMessage::Upload(upload));
    stage.archive(1, era, 0, ticks);
    stage.resume(3, &token, None);
    ready_again(&mut stage, 3, era);
    stage.back(3).unwrap().delay_ms
}

#[test]
fn a_page_that_comes_back_is_told_no_longer_delay_than_the_ticks_of_others_leave() {
    assert_eq!(told_delay(80, 0), 0);
    assert_eq!(
        told_delay(52, 2_500),
        2_500,
        "three seconds late, by its ticks"
    );
    let told_ms = told_delay(80, 7_000);
    assert!(told_ms <= 500, "{told_ms} ms, of a page that plays in time");
    assert!(told_delay(80, u32::MAX) <= 500);
}
