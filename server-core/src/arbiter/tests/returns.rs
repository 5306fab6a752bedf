//! A page comes back for its seat, and everything that can fail in between.

use super::changes::{ready_again, taken};
use super::*;

#[test]
fn a_frozen_page_loses_its_seat_after_a_second_and_takes_it_back() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    stage.silent(1, era, 2, true);
    stage.wait(SECOND);
    assert_eq!(stage.hear(1), [], "page 2 hears it");
    stage.silent(2, era, 2, true);
    stage.wait(SECOND - 1);
    assert_eq!(stage.hear(1), []);
    stage.wait(1);
    for conn in [1, 2] {
        assert_eq!(fences(&stage.hear(conn)), [(2, 0)]);
        stage.report(conn, era, 2, 0, 4 + conn as u32);
    }
    for conn in [1, 2, 3] {
        let changes = changes(&stage.hear(conn));
        assert_eq!((changes.len(), changes[0].tick), (1, Tick(6)));
    }
    stage.say(3, ClientMessage::TakeBack { era });
    let plan = ready_again(&mut stage, 3, era);
    assert_eq!((plan.seat, plan.life), (Seat(2), Life(2)));
    assert!(stage.back(3).is_some());
    assert_eq!(presence(&stage.hear(1)).last().unwrap().1, Presence::Here);
    stage.wait(2 * SECOND);
    assert_eq!(
        fences(&stage.hear(1)),
        [],
        "the new page has time to be heard"
    );
}

#[test]
fn a_reloaded_page_gets_its_seat_back_and_the_other_never_waits() {
    let mut stage = Stage::new(Limits::default());
    let (era, token) = taken(&mut stage);
    stage.archive(1, era, 0, 5);
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
    assert_eq!((back.tick, back.changes.len()), (Tick(5), 2));
    let heard = stage.hear(1);
    let changes = changes(&heard);
    assert_eq!(changes, back.changes[1..]);
    assert_eq!((changes[0].tick, changes[0].from), (Tick(26), Tick(5)));
    assert_eq!(presence(&heard), [(1, Presence::Here, 0)]);
    // The page plays in its new life.
    stage.archive(3, era, 2, 7);
    assert!(matches!(
        stage.hear(3)[..],
        [ServerMessage::Archived {
            through: Tick(7),
            ..
        }]
    ));
    stage.archive(3, era, 0, 9);
    assert_eq!(stage.hear(3), [], "an upload of an earlier life");
}

#[test]
fn a_reload_before_anybody_misses_the_page_takes_the_seat_first() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, token) = stage.playing();
    stage.resume(3, &token, None);
    assert!(stage.closed.contains(&ConnId(2)));
    assert!(stage.hear(2).contains(&ServerMessage::Superseded));
    assert_eq!(fences(&stage.hear(1)), [(1, 0)]);
    stage.hear(3);
    stage.report(1, era, 1, 0, 4);
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
    assert_eq!(fences(&stage.hear(2)), [(0, 0)]);
    stage.report(2, era, 0, 0, 1);
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
    assert_eq!((back.changes[0].tick, back.changes.len()), (Tick(4), 2));
    assert_eq!(back.delay_ms, 0);
}

#[test]
fn a_page_that_comes_back_in_the_middle_of_a_fence_answers_anew() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, tokens) = stage.crowd(3);
    stage.say(3, ClientMessage::Unloading);
    stage.report(1, era, 2, 0, 7);
    stage.hear(1);
    stage.resume(4, &tokens[0], Some((era, 0)));
    assert_eq!(fences(&stage.hear(4)), [(2, 0)]);
    stage.report(2, era, 2, 0, 5);
    assert!(stage.shelf(era).changes.is_empty());
    stage.report(4, era, 2, 0, 9);
    assert_eq!(stage.shelf(era).changes[0].tick, Tick(9));
}

#[test]
fn a_page_that_comes_back_behind_the_cut_is_told_after_the_change() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, _) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.report(1, era, 1, 0, 7);
    stage.resume(3, &one, Some((era, 0)));
    let heard = stage.hear(3);
    assert!(
        matches!(heard[..], [ServerMessage::Welcome { .. }]),
        "{heard:?}"
    );
    stage.slow = false;
    stage.drain();
    let heard = stage.hear(3);
    assert!(heard.iter().any(
        |message| matches!(message, ServerMessage::Running { changes, .. } if changes.len() == 1)
    ));
    assert_eq!(fences(&heard), []);
    assert_eq!(changes(&heard), [], "they came with `Running`");
}

#[test]
fn a_page_that_comes_back_behind_its_own_cut_learns_that_it_lost_its_seat() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.report(1, era, 1, 0, 7);
    stage.resume(3, &two, Some((era, 0)));
    stage.hear(3);
    stage.slow = false;
    stage.drain();
    let heard = stage.hear(3);
    assert!(
        heard.iter().any(|message| matches!(
            message,
            ServerMessage::Running { changes, .. }
                if changes.last().is_some_and(|change| (change.seat, change.life) == (Seat(1), Life(1)))
        )),
        "{heard:?}"
    );
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
    let heard = stage.hear(1);
    assert_eq!(changes(&heard)[0].controller, Controller::Human);
    assert_eq!(fences(&heard), [(1, 2)], "the change stands");
    stage.report(1, era, 1, 2, 20);
    let changes = changes(&stage.hear(1));
    assert_eq!(changes[0].controller, Controller::Vacant);
    assert_eq!(changes[0].tick, stage.shelf(era).changes[1].tick);
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
    assert_eq!(fences(&stage.hear(1)).last(), Some(&(1, 2)));
    stage.report(1, era, 1, 2, 20);
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
                if fences(&stage.hear(1)).contains(&(1, 2)) {
                    stage.report(1, era, 1, 2, 20);
                }
                ready_again(&mut stage, attempt, era);
            }
            if steps < 9 {
                stage.close(attempt);
                stage.wait(u64::from(steps == 2) * SECOND);
                if fences(&stage.hear(1)).contains(&(1, 2)) {
                    stage.report(1, era, 1, 2, 20);
                }
            }
        }
        assert!(stage.back(4).is_some(), "after {steps} steps");
    }
}

#[test]
fn a_page_that_diverges_comes_back_by_the_replicas_state() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    let diverge = |stage: &mut Stage, life: u8| {
        let upload = Upload {
            life: Life(life),
            digests: vec![(Tick(0), WRONG)],
            ..blank(era)
        };
        stage.say(2, ClientMessage::Upload(upload));
    };
    for number in 0..3 {
        let life = 2 * number;
        diverge(&mut stage, life);
        assert_eq!(fences(&stage.hear(1)), [(1, life)]);
        stage.report(1, era, 1, life, 1);
        assert_eq!(changes(&stage.hear(2)).len(), 1, "the page is told");
        stage.say(2, ClientMessage::TakeBack { era });
        ready_again(&mut stage, 2, era);
        assert!(stage.back(2).is_some());
        stage.hear(1);
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
        stage.silent(1, era, 1, true);
        stage.wait(2 * SECOND);
        stage.resume(conn, &token, Some((era, 0)));
        stage.silent(1, era, 1, false);
    }
    stage.close(8);
    stage.silent(1, era, 1, true);
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
    assert_eq!(fences(&stage.hear(1)), [(1, 0)]);
    stage.report(1, era, 1, 0, 7);
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
    for _ in 0..50 {
        stage.silent(1, era, 1, true);
        stage.silent(1, era, 1, false);
    }
    assert_eq!(stage.hear(1).len(), 5);
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
fn a_page_that_froze_while_it_did_not_hear_somebody_is_found_all_the_same() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    stage.silent(3, era, 0, true);
    stage.silent(1, era, 2, true);
    stage.silent(2, era, 2, true);
    stage.wait(SECOND);
    assert_eq!(fences(&stage.hear(1)), [(2, 0)]);
}

#[test]
fn a_page_that_hears_nobody_any_more_is_not_taken_for_a_frozen_one() {
    let mut stage = Stage::of(3, Limits::default(), |_| {});
    let (era, _) = stage.crowd(3);
    for other in [0, 1] {
        stage.silent(3, era, other, true);
    }
    stage.silent(1, era, 2, true);
    stage.silent(2, era, 2, true);
    stage.wait(SECOND);
    assert_eq!(fences(&stage.hear(1)), []);
}

#[test]
fn a_second_tab_of_who_was_to_report_gets_the_seat_after_the_other_is_cut() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, _) = stage.playing();
    stage.say(2, ClientMessage::Unloading);
    assert_eq!(fences(&stage.hear(1)), [(1, 0)]);
    // The answer is on its way when the newer tab comes, and then from nobody.
    stage.resume(3, &one, None);
    stage.report(1, era, 1, 0, 7);
    stage.wait(6 * SECOND);
    ready_again(&mut stage, 3, era);
    assert!(stage.back(3).is_some());
}
