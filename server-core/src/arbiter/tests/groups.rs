//! Groups that stay together over several stages.

use std::time::Duration;

use protocol::control::Absent;
use study::Outcome;

use super::*;

/// Three layouts with a form after each, as `on_disconnect` says.
fn rounds(on_disconnect: &str) -> Stage {
    rounds_with(on_disconnect, Limits::default())
}

fn rounds_with(on_disconnect: &str, limits: Limits) -> Stage {
    let timeline = format!(
        "timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
  - {{id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: bot, regroup_s: 60, bot: {{policy: cook}}}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    for_each: {{layout: [cramped_room, coordination_ring, forced_coordination]}}
    config: {{layout: \"{{{{ layout }}}}\", horizon: 900, tick_hz: 10}}
    on_disconnect: {on_disconnect}
    after_each:
      id: trust
      type: survey
      surveyjs: {{elements: [{{type: comment, name: why}}]}}
"
    );
    Stage::read(&timeline, limits)
}

fn begin(stage: &mut Stage) -> Vec<String> {
    vec![stage.queue(1), stage.queue(2)]
}

/// Lets the pages of an episode get ready, play, and upload the end; returns the plans.
fn play(stage: &mut Stage, conns: &[u64]) -> Vec<Plan> {
    let plans: Vec<Plan> = conns
        .iter()
        .map(|conn| stage.plan(*conn).unwrap())
        .collect();
    for (conn, plan) in conns.iter().zip(&plans) {
        stage.ready(*conn, plan.era, 0);
    }
    stage.wait(4 * SECOND);
    for (conn, plan) in conns.iter().zip(&plans) {
        stage.say(*conn, upload(plan.era, Some(Tick(7))));
    }
    plans
}

/// An episode ends five seconds after the page of the second person was closed, and the first one answers the form.
fn end_while_second_is_away(stage: &mut Stage) {
    let plans = [1, 2].map(|conn| stage.plan(conn).unwrap());
    for (conn, plan) in (1..).zip(&plans) {
        stage.ready(conn, plan.era, 0);
    }
    stage.wait(4 * SECOND);
    stage.close(2);
    stage.miss(1, plans[0].era, 1);
    stage.wait(5 * SECOND);
    stage.say(1, upload(plans[0].era, Some(Tick(7))));
    answer(stage, 1);
}

/// Is done with the form after an episode.
fn answer(stage: &mut Stage, conn: u64) {
    let heard = stage.hear(conn);
    let at = heard.iter().rev().find_map(|message| match message {
        ServerMessage::Stage {
            index,
            view: StageView::Survey { .. },
            ..
        } => Some(*index),
        _ => None,
    });
    stage.say(
        conn,
        ClientMessage::StageDone {
            stage: at.unwrap_or_else(|| panic!("no form: {heard:?}")),
            answers: Vec::new(),
            pages_ms: vec![1],
        },
    );
}

fn missing(messages: &[ServerMessage]) -> Option<(Vec<Absent>, u32)> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Missing {
            absent, left_ms, ..
        } => Some((absent.clone(), *left_ms)),
        _ => None,
    })
}

fn group(stage: &Stage) -> GroupRow {
    let groups = stage.writes.iter().rev();
    let mut groups = groups.filter_map(|write| match write {
        Write::Group(row) => Some(row.clone()),
        _ => None,
    });
    groups.next().expect("a group was kept")
}

fn outcome(stage: &Stage, place: usize) -> Option<Outcome> {
    let name = &group(stage).places[place].participant;
    let places = stage.writes.iter().rev();
    let mut places = places.filter_map(|write| match write {
        Write::Place {
            participant,
            progress,
            ..
        } if participant == name => Some(progress),
        _ => None,
    });
    places.next()?.outcome(&stage.study)
}

fn layout(plan: &Plan) -> String {
    let params: serde_json::Value = serde_json::from_str(&plan.params).unwrap();
    params["layout"].as_str().unwrap().to_owned()
}

#[test]
fn a_group_plays_all_its_rounds_in_the_same_seats_with_forms_between() {
    let mut stage = rounds("{grace_s: 15}");
    begin(&mut stage);
    let mut layouts = Vec::new();
    for round in 0..3 {
        let plans = play(&mut stage, &[1, 2]);
        assert_eq!([plans[0].seat, plans[1].seat], [Seat(0), Seat(1)]);
        assert_eq!(plans[0].era, plans[1].era);
        layouts.push(layout(&plans[0]));
        // The person who is done first waits.
        let (first, second) = if round == 1 { (2, 1) } else { (1, 2) };
        answer(&mut stage, first);
        let heard = stage.hear(first);
        if round < 2 {
            assert_eq!(view(&heard), Some(&StageView::Regroup));
            let absent = Absent {
                seat: Seat(second as u8 - 1),
                connected: true,
            };
            assert_eq!(missing(&heard), Some((vec![absent], 60_000)));
        }
        answer(&mut stage, second);
    }
    assert_eq!(
        layouts,
        ["cramped_room", "coordination_ring", "forced_coordination"]
    );
    let groups: BTreeSet<String> = stage
        .shelves
        .values()
        .map(|shelf| shelf.header.group.clone())
        .collect();
    assert_eq!(groups, BTreeSet::from([group(&stage).id]));
    assert_eq!(
        [outcome(&stage, 0), outcome(&stage, 1)],
        [Some(Outcome::Completed); 2]
    );
    assert!(!group(&stage).has_ai);
}

#[test]
fn who_does_not_come_in_time_is_given_up_and_the_other_goes_on_as_the_stage_says() {
    let mut stage = rounds("{grace_s: 15}");
    begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 1);
    stage.wait(60 * SECOND - 1);
    assert_eq!(group(&stage).places[1].gone, None);
    stage.wait(1);
    assert_eq!(group(&stage).places[1].gone, Some(DepartureReason::Late));
    // The rounds that cannot be played are passed over with their forms.
    assert_eq!(outcome(&stage, 0), Some(Outcome::PartnerLeft));
    answer(&mut stage, 2);
    assert_eq!(outcome(&stage, 1), Some(Outcome::TimedOut));
}

#[test]
fn a_wait_goes_on_after_a_restart_and_a_reload() {
    let limits = Limits {
        restart: Duration::from_secs(10),
        ..Limits::default()
    };
    let mut stage = rounds_with("{grace_s: 15}", limits);
    let tokens = begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 1);
    assert_eq!(missing(&stage.hear(1)).unwrap().1, 60_000);
    stage.close(2);
    stage.wait(20 * SECOND);
    stage.restart();
    stage.resume(3, &tokens[0], None);
    assert_eq!(missing(&stage.hear(3)).unwrap().1, 40_000);
    stage.wait(35 * SECOND);
    // Who is missing has as long to come back as after any restart, and no longer.
    stage.restart();
    stage.resume(4, &tokens[0], None);
    assert_eq!(missing(&stage.hear(4)).unwrap().1, 10_000);
    stage.wait(8 * SECOND);
    stage.close(4);
    stage.resume(5, &tokens[0], None);
    assert_eq!(missing(&stage.hear(5)).unwrap().1, 10_000);
    stage.wait(10 * SECOND);
    assert_eq!(group(&stage).places[1].gone, Some(DepartureReason::Late));
}

#[test]
fn who_was_away_at_the_end_of_a_round_has_the_rest_of_the_grace_period() {
    let mut stage = rounds("{grace_s: 15}");
    let tokens = begin(&mut stage);
    end_while_second_is_away(&mut stage);
    let heard = stage.hear(1);
    assert_eq!(view(&heard), Some(&StageView::Regroup));
    assert_eq!(missing(&heard).unwrap().1, 10_000);
    // A person who is back has as long as everybody to reach the stage.
    stage.wait(4 * SECOND);
    stage.resume(3, &tokens[1], None);
    assert_eq!(missing(&stage.hear(1)).unwrap().1, 56_000);
    stage.wait(56 * SECOND - 1);
    assert_eq!(group(&stage).places[1].gone, None);
    stage.wait(1);
    assert_eq!(group(&stage).places[1].gone, Some(DepartureReason::Late));
}

#[test]
fn who_does_not_come_back_within_the_grace_period_of_a_round_that_ended_is_given_up() {
    let mut stage = rounds("{grace_s: 15, then: bot}");
    begin(&mut stage);
    end_while_second_is_away(&mut stage);
    stage.wait(10 * SECOND - 1);
    assert_eq!(group(&stage).places[1].gone, None);
    stage.wait(1);
    assert_eq!(group(&stage).places[1].gone, Some(DepartureReason::Late));
    assert!(
        stage.plan(1).is_some(),
        "an AI partner plays the next round"
    );
}

#[test]
fn an_ai_partner_plays_for_somebody_who_does_not_come() {
    let mut stage = rounds("{grace_s: 15, then: bot}");
    begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 2);
    stage.wait(60 * SECOND);
    let plans = play(&mut stage, &[2]);
    assert_eq!(
        (plans[0].seat, &plans[0].controllers[0]),
        (Seat(1), &cook())
    );
    answer(&mut stage, 2);
    // Nobody is waited for any more.
    let plans = play(&mut stage, &[2]);
    assert_eq!(plans[0].controllers, [cook(), Controller::Human]);
    answer(&mut stage, 2);
    assert_eq!(outcome(&stage, 1), Some(Outcome::Completed));
    assert!(group(&stage).has_ai);
}

#[test]
fn formulas_know_the_seats_of_a_group_also_after_a_restart() {
    let mut stage = rounds("{grace_s: 15}");
    begin(&mut stage);
    play(&mut stage, &[1, 2]);
    let seats = |stage: &Stage| {
        let sessions = stage.arbiter.sessions.iter();
        let seats = sessions.map(|session| session.progress.facts().seat);
        seats.collect::<Vec<_>>()
    };
    assert_eq!(seats(&stage), [Some(0), Some(1)]);
    stage.restart();
    assert_eq!(seats(&stage), [Some(0), Some(1)]);
}

#[test]
fn who_leaves_between_two_rounds_is_not_waited_for() {
    let mut stage = rounds("{grace_s: 15, then: bot}");
    begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 1);
    stage.hear(1);
    stage.say(2, ClientMessage::Leave);
    assert_eq!(
        stage.plan(1).unwrap().controllers,
        [Controller::Human, cook()]
    );
    assert_eq!(group(&stage).places[1].gone, Some(DepartureReason::Left));
    assert_eq!(outcome(&stage, 1), Some(Outcome::LeftEarly));
}

#[test]
fn who_was_away_from_an_episode_too_long_plays_no_more_with_the_group() {
    let mut stage = rounds("{grace_s: 15, then: bot}");
    let tokens = begin(&mut stage);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    stage.wait(4 * SECOND);
    stage.say(2, ClientMessage::Unloading);
    stage.close(2);
    stage.wait(20 * SECOND);
    stage.say(1, upload(era, Some(Tick(7))));
    assert_eq!(group(&stage).places[1].gone, Some(DepartureReason::Away));
    answer(&mut stage, 1);
    assert_eq!(
        stage.plan(1).unwrap().controllers,
        [Controller::Human, cook()]
    );
    // The person comes back to the form, and to no further round.
    stage.resume(3, &tokens[1], None);
    answer(&mut stage, 3);
    assert!(
        matches!(view(&stage.hear(3)), Some(StageView::End { outcome, .. }) if outcome == "timed_out")
    );
}

#[test]
fn a_group_with_the_ai_partner_of_the_lobby_keeps_it() {
    let mut stage = rounds("{grace_s: 15}");
    stage.queue(1);
    stage.wait(30 * SECOND);
    for _ in 0..3 {
        let plans = play(&mut stage, &[1]);
        assert_eq!(plans[0].controllers, [Controller::Human, cook()]);
        answer(&mut stage, 1);
    }
    assert_eq!(outcome(&stage, 0), Some(Outcome::Completed));
    assert!(group(&stage).has_ai);
}

#[test]
fn a_page_that_is_lost_at_the_meeting_is_waited_for_and_comes_back_to_it() {
    let mut stage = rounds("{grace_s: 15}");
    let tokens = begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 1);
    stage.close(1);
    answer(&mut stage, 2);
    let absent = Absent {
        seat: Seat(0),
        connected: false,
    };
    assert_eq!(missing(&stage.hear(2)), Some((vec![absent], 60_000)));
    stage.resume(3, &tokens[0], None);
    assert_eq!(stage.plan(3).unwrap().seat, Seat(0));
    assert!(stage.plan(2).is_some());
}

#[test]
fn a_restart_between_two_rounds_keeps_the_group_its_seats_and_who_is_gone() {
    for durable in 0..40 {
        let mut stage = rounds("{grace_s: 15, then: bot}");
        let tokens = begin(&mut stage);
        let before = stage.writes.len();
        play(&mut stage, &[1, 2]);
        answer(&mut stage, 2);
        if before + durable > stage.writes.len() {
            return assert!(durable > 6, "the writes of a round");
        }
        stage.writes.truncate(before + durable);
        stage.restart();
        // Whatever was durable, both come together again, in the lobby, in the round or after it, in their seats.
        stage.resume(4, &tokens[1], None);
        stage.resume(3, &tokens[0], None);
        for _ in 0..2 {
            for conn in [3, 4] {
                let asks = matches!(
                    stage.sent.get(&ConnId(conn)).map(|sent| view(sent)),
                    Some(Some(StageView::Survey { .. }))
                );
                if asks {
                    answer(&mut stage, conn);
                }
            }
        }
        let plans: Vec<Option<Plan>> = [3, 4].map(|conn| stage.plan(conn)).into();
        match &plans[..] {
            [Some(one), Some(two)] => {
                assert_eq!(one.era, two.era, "after {durable} writes");
                let moved = one.running || layout(one) == "coordination_ring";
                assert!(one.seat != two.seat);
                assert!(!moved || one.seat == Seat(0), "after {durable} writes");
            }
            other => panic!("after {durable} writes: {other:?}"),
        }
    }
}

#[test]
fn a_group_that_does_something_else_first_is_made_at_once() {
    let timeline = "timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: wait}
  - {id: roles, type: survey, surveyjs: {elements: [{type: comment, name: why}]}}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
";
    let mut stage = Stage::read(timeline, Limits::default());
    let tokens = begin(&mut stage);
    assert_eq!(group(&stage).places.len(), 2);
    stage.restart();
    stage.resume(3, &tokens[0], None);
    stage.resume(4, &tokens[1], None);
    answer(&mut stage, 4);
    assert_eq!(view(&stage.hear(4)), Some(&StageView::Regroup));
    answer(&mut stage, 3);
    assert_eq!(
        (stage.plan(3).unwrap().seat, stage.plan(4).unwrap().seat),
        (Seat(0), Seat(1))
    );
}

#[test]
fn a_page_that_never_gets_ready_for_a_later_round_keeps_nobody() {
    let mut stage = rounds("{grace_s: 15}");
    begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 1);
    answer(&mut stage, 2);
    for _ in 0..3 {
        let era = stage.plan(1).unwrap().era;
        stage.ready(1, era, 0);
        stage.wait(20 * SECOND);
    }
    // The participation of the person who cannot play is over, and the study says that nobody continues without a
    // partner.
    let ends = |outcome: &str, heard: &[ServerMessage]| matches!(view(heard), Some(StageView::End { outcome: shown, .. }) if shown == outcome);
    assert!(ends("page_failed", &stage.hear(2)));
    assert!(ends("partner_left", &stage.hear(1)));
}

#[test]
fn who_goes_again_and_again_while_the_pages_of_a_round_connect_keeps_nobody_for_long() {
    let mut stage = rounds("{grace_s: 15}");
    let tokens = begin(&mut stage);
    play(&mut stage, &[1, 2]);
    answer(&mut stage, 1);
    answer(&mut stage, 2);
    let began_us = stage.now_us;
    let ends = |heard: &[ServerMessage]| matches!(view(heard), Some(StageView::End { outcome, .. }) if outcome == "partner_left");
    let mut conn = 2;
    loop {
        stage.close(conn);
        stage.wait(29 * SECOND);
        let heard = stage.hear(1);
        if ends(&heard) {
            break;
        }
        // The wait that the study grants, and a minute once.
        assert!(stage.now_us - began_us < 120 * SECOND);
        conn += 1;
        stage.resume(conn, &tokens[1], None);
        assert!(stage.plan(1).is_some(), "both are there again");
    }
}
