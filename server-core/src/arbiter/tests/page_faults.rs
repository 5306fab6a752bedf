//! Pages that diverge, never get ready or break the protocol: their own people alone lose their pay by it.

use study::Outcome;
use study::disconnect::Then;

use super::*;

/// Two people in the example; a partner who leaves ends the episode.
fn stage() -> Stage {
    Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.first_half = Then::PartnerLeft;
        env.on_disconnect.second_half = Then::PartnerLeft;
    })
}

/// The outcome that is shown to a page.
fn shown(messages: &[ServerMessage]) -> Option<&str> {
    match view(messages) {
        Some(StageView::End { outcome, .. }) => Some(outcome),
        _ => None,
    }
}

/// The outcomes of those whose way has ended, in that order.
fn outcomes(stage: &Stage) -> Vec<Outcome> {
    let ended = stage.writes.iter().filter_map(|write| match write {
        Write::Place { payment, .. } => Some(payment.as_ref()?.outcome),
        _ => None,
    });
    ended.collect()
}

/// Lets a page send a digest that no replica has, and again when it is asked.
fn diverge(stage: &mut Stage, conn: u64, era: Era, life: u8) {
    for recheck in 0..2 {
        let wrong = Upload {
            life: Life(life),
            recheck,
            digests: vec![(Tick(0), WRONG)],
            ..blank(era)
        };
        stage.say(conn, ClientMessage::Upload(wrong));
    }
}

#[test]
fn a_page_that_diverges_too_often_fails_alone_and_the_partner_was_left() {
    let limits = Limits {
        divergences: 0,
        ..Limits::default()
    };
    let mut stage = Stage::of(2, limits, |env| {
        env.on_disconnect.first_half = Then::PartnerLeft;
    });
    let (era, ..) = stage.playing();
    diverge(&mut stage, 2, era, 0);
    assert_eq!(shown(&stage.hear(2)), Some("page_failed"));
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
    assert!(
        matches!(view(&stage.hear(1)), Some(StageView::Survey { .. })),
        "the rest of the study is theirs"
    );
    assert_eq!(outcomes(&stage), [Outcome::PageFailed]);
}

#[test]
fn divergences_of_different_pages_are_not_added_up() {
    let limits = Limits {
        divergences: 1,
        ..Limits::default()
    };
    let mut stage = Stage::of(2, limits, |_| {});
    let (era, ..) = stage.playing();
    diverge(&mut stage, 1, era, 0);
    diverge(&mut stage, 2, era, 0);
    assert_eq!(outcomes(&stage), []);
    assert!(stage.ended.is_empty());
}

#[test]
fn who_breaks_the_protocol_and_stays_away_has_failed_and_who_is_merely_away_has_not() {
    for breaks in [false, true] {
        let mut stage = stage();
        let (era, _, token) = stage.playing();
        stage.wait(3 * SECOND);
        stage.archive(1, era, 0, 30);
        if breaks {
            stage.handle(Event::Malformed(ConnId(2)));
        }
        stage.close(2);
        for _ in 0..20 {
            stage.wait(SECOND);
        }
        assert_eq!(stage.ended, [EndReason::PartnerLeft], "after the grace");
        let heard = stage.hear(1);
        let goes_on = matches!(view(&heard), Some(StageView::Survey { .. }));
        assert!(goes_on, "{heard:?}");
        stage.resume(3, &token, None);
        let wanted = breaks.then_some("page_failed");
        assert_eq!(shown(&stage.hear(3)), wanted);
    }
}

#[test]
fn who_breaks_the_protocol_and_comes_back_in_time_plays_on_unless_it_does_so_again_and_again() {
    let mut stage = stage();
    let (era, _, token) = stage.playing();
    for number in 0..3 {
        let conn = 2 + number;
        stage.handle(Event::Malformed(ConnId(conn)));
        stage.close(conn);
        stage.resume(conn + 1, &token, Some((era, 0)));
    }
    assert_eq!(outcomes(&stage), []);
    stage.handle(Event::Malformed(ConnId(5)));
    assert_eq!(outcomes(&stage), [Outcome::PageFailed]);
}

#[test]
fn an_upload_that_no_correct_page_sends_is_a_fault() {
    let mut stage = stage();
    let (era, _, token) = stage.playing();
    let early = Upload {
        block: Some(block(Tick(0), 600)),
        ..blank(era)
    };
    stage.say(2, ClientMessage::Upload(early));
    for _ in 0..30 {
        stage.wait(SECOND);
        super::silence::tick(&mut stage, 1);
    }
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
    stage.resume(3, &token, None);
    assert_eq!(shown(&stage.hear(3)), Some("page_failed"));
}

/// The example, whose lobby takes people back.
fn rematching() -> Stage {
    let mut stage = Stage::of(
        2,
        Limits {
            divergences: 0,
            ..Limits::default()
        },
        |env| env.on_disconnect.first_half = Then::PartnerLeft,
    );
    let mut study = Study::clone(&stage.study);
    let StageKind::Lobby(lobby) = &mut study.timeline[1].kind else {
        panic!("the lobby")
    };
    (lobby.rematch, lobby.on_timeout) = (true, study::stage::OnTimeout::Leave);
    stage.study = Arc::new(study);
    stage.restart();
    stage
}

#[test]
fn the_partner_of_a_page_that_failed_gets_another_one_where_the_lobby_says_so() {
    let mut stage = rematching();
    let (era, token, _) = stage.playing();
    diverge(&mut stage, 2, era, 0);
    let heard = stage.hear(1);
    assert!(
        matches!(view(&heard), Some(StageView::Lobby { .. })),
        "{heard:?}"
    );
    // The lobby is theirs also after a restart, which does not put them back into the old group.
    stage.restart();
    stage.resume(4, &token, None);
    let heard = stage.hear(4);
    assert!(
        matches!(view(&heard), Some(StageView::Lobby { .. })),
        "{heard:?}"
    );
    stage.queue(5);
    let plan = stage.plan(4).expect("a new partner");
    assert_eq!(stage.plan(5).unwrap().era, plan.era);
    stage.ready(4, plan.era, 0);
    stage.ready(5, plan.era, 0);
    stage.wait(4 * SECOND);
    stage.say(4, upload(plan.era, Some(Tick(7))));
    stage.say(5, upload(plan.era, Some(Tick(7))));
    let session = stage.arbiter.sessions.find_by_token(&token).unwrap();
    let played = &stage.arbiter.sessions[session].progress.facts().episodes;
    assert_eq!(
        played["play"].len(),
        1,
        "the episode that failed does not count"
    );
    assert!(matches!(
        view(&stage.hear(4)),
        Some(StageView::Survey { .. })
    ));
}

#[test]
fn who_finds_no_other_partner_was_left_and_did_not_wait_in_vain() {
    let mut stage = rematching();
    let (era, ..) = stage.playing();
    diverge(&mut stage, 2, era, 0);
    stage.wait(60 * SECOND);
    assert_eq!(shown(&stage.hear(1)), Some("partner_left"));
}

#[test]
fn a_page_that_comes_back_again_and_again_fails_alone() {
    let mut stage = stage();
    let (era, ..) = stage.playing();
    let most = stage.limits.returns;
    for number in 0..=most {
        stage.say(2, ClientMessage::TakeBack { era });
        if number < most {
            super::changes::ready_again(&mut stage, 2, era);
            assert!(stage.back(2).is_some(), "return {number}");
        }
    }
    assert_eq!(shown(&stage.hear(2)), Some("page_failed"));
    assert_eq!(outcomes(&stage), [Outcome::PageFailed]);
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
    let heard = stage.hear(1);
    assert!(matches!(view(&heard), Some(StageView::Survey { .. })));
}

#[test]
fn returns_are_counted_through_a_restart_and_for_each_page_alone() {
    let limits = Limits {
        returns: 3,
        ..Limits::default()
    };
    let mut stage = Stage::of(2, limits, |_| {});
    let (era, one, two) = stage.playing();
    let return_of = |stage: &mut Stage, conn| {
        stage.say(conn, ClientMessage::TakeBack { era });
        super::changes::ready_again(stage, conn, era);
        assert!(stage.back(conn).is_some());
    };
    for _ in 0..2 {
        return_of(&mut stage, 1);
        return_of(&mut stage, 2);
    }
    stage.restart();
    stage.resume(3, &one, Some((era, 4)));
    stage.resume(4, &two, None);
    super::changes::ready_again(&mut stage, 4, era);
    assert!(stage.back(4).is_some(), "the third time");
    assert_eq!(outcomes(&stage), []);
    stage.resume(5, &two, None);
    assert_eq!(shown(&stage.hear(5)), Some("page_failed"));
    assert_eq!(outcomes(&stage), [Outcome::PageFailed]);
}
