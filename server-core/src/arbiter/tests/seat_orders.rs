//! Seats that a researcher gives to the AI partner of the stage.

use study::Outcome;
use study::disconnect::{Meanwhile, Then};
use study::stage::AiPartner;

use super::*;
use crate::desk::{BonusChange, DeskOrder, OrderRefused};

/// The example study; its rule for people who leave ends the episode; with an AI partner that it otherwise uses.
fn stage(has_partner: bool) -> Stage {
    Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.meanwhile = Meanwhile::Hold;
        (env.on_disconnect.first_half, env.on_disconnect.second_half) =
            (Then::PartnerLeft, Then::PartnerLeft);
        env.on_disconnect.bot = has_partner.then(|| AiPartner {
            policy: "cook".into(),
            disclose: false,
            model: None,
            ..AiPartner::default()
        });
    })
}

fn give(stage: &mut Stage, participant: &str, bonus: Option<u64>) -> Result<(), OrderRefused> {
    let order = DeskOrder::GiveSeat {
        participant: participant.to_owned(),
        outcome: Outcome::Technical,
        bonus: bonus.map(|bonus| BonusChange {
            bonus,
            reason: "the keyboard broke".to_owned(),
        }),
    };
    let done = stage.arbiter.handle_order(stage.now_us, "Ada", order);
    stage.drain();
    done
}

fn first(stage: &Stage) -> String {
    let mut sessions = stage.arbiter.sessions.iter();
    sessions.next().unwrap().participant.clone()
}

/// Lets everybody who is there continue for this many seconds.
fn play_on(stage: &mut Stage, era: Era, seconds: u32) {
    let from = stage.shelf(era).through.0 / HZ;
    for second in from + 1..=from + seconds {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
}

#[test]
fn a_seat_goes_to_the_ai_partner_whatever_the_stage_says_of_those_who_leave() {
    let mut stage = stage(true);
    let (era, token, _) = stage.playing();
    play_on(&mut stage, era, 1);
    let participant = first(&stage);
    let seats = stage.arbiter.make_overview(stage.now_us).episodes[0]
        .seats
        .clone();
    assert!(seats.iter().all(|seat| seat.may_be_given));
    stage.hear(1);
    stage.hear(2);
    give(&mut stage, &participant, None).unwrap();
    let end = stage.hear(1);
    assert!(matches!(view(&end), Some(StageView::End { outcome, .. }) if outcome == "technical"));
    let heard = stage.hear(2);
    let change = &changes(&heard)[0];
    assert_eq!((change.seat, &change.controller), (Seat(0), &cook()));
    assert!(change.tick.0 >= HZ, "not before what is final: {change:?}");
    play_on(&mut stage, era, 20);
    assert!(stage.ended.is_empty(), "the other plays on");
    assert_eq!(stage.shelf(era).changes.len(), 1);
    let seats = stage.arbiter.make_overview(stage.now_us).episodes[0]
        .seats
        .clone();
    assert_eq!(
        (seats[0].may_be_given, seats[1].may_be_given),
        (false, false)
    );

    // Nobody comes back to it, also after a restart.
    stage.resume(3, &token, None);
    let again = stage.hear(3);
    assert!(matches!(view(&again), Some(StageView::End { .. })));
    stage.restart();
    let controller = &stage.arbiter.make_overview(stage.now_us).episodes[0].seats[0].controller;
    assert_eq!(controller, "cook");
}

#[test]
fn a_seat_is_given_only_where_a_partner_would_play_for_somebody() {
    let mut without = stage(false);
    without.playing();
    let participant = first(&without);
    let refused = give(&mut without, &participant, None);
    assert!(
        matches!(refused, Err(OrderRefused::NoSeatPartner(_))),
        "{refused:?}"
    );
    let mut stage = stage(true);
    stage.queue(1);
    let participant = first(&stage);
    let early = give(&mut stage, &participant, None);
    assert_eq!(early, Err(OrderRefused::NotPlaying(participant.clone())));
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    stage.wait(3_500_000);
    let unpaid = give(&mut stage, &participant, Some(50));
    assert_eq!(unpaid, Err(OrderRefused::NoPay));
    stage.close(2);
    let alone = give(&mut stage, &participant, None);
    assert_eq!(alone, Err(OrderRefused::PlaysAlone(participant)));
    let is_order = |write: &Write| matches!(write, Write::Intervention { .. });
    assert!(!stage.writes.iter().any(is_order), "nothing was done");
}
