//! Waiting: presence, choices, the groups that are made, and what is stored about them.

use protocol::control::{Ask, LobbyChoice, Waiting};
use study::Outcome;

use super::*;

/// A lobby with these lines, and a round of two.
fn lobby(lines: &str) -> Stage {
    read(&format!(
        "timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
  - {{id: lobby, type: lobby, group_size: 2, {lines}}}
  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}}
"
    ))
}

fn read(timeline: &str) -> Stage {
    Stage::read(timeline, Limits::default())
}

fn waiting(messages: &[ServerMessage]) -> Option<Waiting> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Waiting(waiting) => Some(*waiting),
        _ => None,
    })
}

fn asked(stage: &mut Stage, conn: u64) -> Option<Ask> {
    waiting(&stage.hear(conn)).map(|waiting| waiting.ask)
}

fn outcome(stage: &mut Stage, conn: u64) -> Option<String> {
    match view(&stage.hear(conn)) {
        Some(StageView::End { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    }
}

/// The ends of waits that were stored: the person by order of arrival, the reason, and the wait in seconds.
fn waits(stage: &Stage) -> Vec<(usize, WaitedFor, u64)> {
    let names: Vec<&String> = (stage.writes.iter())
        .filter_map(|write| match write {
            Write::NewSession { participant, .. } => Some(participant),
            _ => None,
        })
        .collect();
    let rows = stage.writes.iter().filter_map(|write| match write {
        Write::Wait(row) => Some((row, row.end.as_ref()?)),
        _ => None,
    });
    let end = |(row, end): (&WaitRow, &WaitEnd)| {
        let who = names.iter().position(|name| **name == row.participant);
        (who.unwrap(), end.why, (end.at_us - row.since_us) / SECOND)
    };
    rows.map(end).collect()
}

/// Two people play a round to its end.
fn round(stage: &mut Stage, conns: [u64; 2]) {
    let era = stage.plan(conns[0]).expect("a match").era;
    assert_eq!(stage.plan(conns[1]).expect("a match").era, era);
    conns.iter().for_each(|conn| stage.ready(*conn, era, 0));
    stage.wait(4 * SECOND);
    for conn in conns {
        stage.say(conn, upload(era, Some(Tick(7))));
    }
}

#[test]
fn who_shows_no_life_is_asked_then_loses_the_place_and_may_come_back() {
    let mut stage =
        lobby("timeout_s: 600, on_timeout: wait, presence: {prompt_after_s: 60, grace_s: 15}");
    stage.queue(1);
    stage.wait(50 * SECOND);
    stage.hear(1);
    stage.say(1, ClientMessage::Here);
    stage.wait(60 * SECOND - 1);
    assert_eq!(stage.hear(1), []);
    stage.wait(1);
    assert_eq!(
        asked(&mut stage, 1),
        Some(Ask::Presence { left_ms: 15_000 })
    );
    // Nobody is put together with somebody who may not be there.
    stage.queue(2);
    assert!(stage.plan(2).is_none());
    stage.wait(15 * SECOND);
    assert_eq!(asked(&mut stage, 1), Some(Ask::Return));
    assert_eq!(waits(&stage), [(0, WaitedFor::GaveUp, 125)]);
    stage.say(1, ClientMessage::Here);
    let plans = (stage.plan(1).unwrap(), stage.plan(2).unwrap());
    assert_eq!(
        (plans.0.seat, plans.1.seat),
        (Seat(1), Seat(0)),
        "the old place is gone"
    );
}

#[test]
fn who_answers_in_time_keeps_the_place() {
    let mut stage =
        lobby("timeout_s: 600, on_timeout: wait, presence: {prompt_after_s: 60, grace_s: 15}");
    stage.queue(1);
    stage.wait(70 * SECOND);
    stage.queue(2);
    stage.say(1, ClientMessage::Here);
    assert_eq!(stage.plan(1).unwrap().seat, Seat(0));
    assert!(stage.plan(2).is_some());
}

#[test]
fn the_study_may_let_people_leave_at_the_timeout() {
    let mut stage = lobby("timeout_s: 30, on_timeout: leave");
    stage.queue(1);
    stage.wait(30 * SECOND - 1);
    assert_eq!(outcome(&mut stage, 1), None);
    stage.wait(1);
    assert_eq!(outcome(&mut stage, 1).as_deref(), Some("lobby_timeout"));
    assert_eq!(waits(&stage), [(0, WaitedFor::TimedOut, 30)]);
}

#[test]
fn the_study_may_let_people_choose_at_the_timeout() {
    let mut stage = lobby("timeout_s: 30, on_timeout: ask, bot: {policy: cook}, else: timed_out");
    for conn in 1..=3 {
        stage.queue(conn);
        stage.say(conn, ClientMessage::Choose(LobbyChoice::Leave));
        stage.wait(30 * SECOND);
        assert_eq!(asked(&mut stage, conn), Some(Ask::Choice), "not before");
        let choice = [LobbyChoice::Leave, LobbyChoice::Ai, LobbyChoice::Wait][conn as usize - 1];
        stage.say(conn, ClientMessage::Choose(choice));
        if choice == LobbyChoice::Ai {
            let plan = stage.plan(conn).unwrap();
            assert_eq!(plan.controllers, [Controller::Human, cook()]);
            stage.ready(conn, plan.era, 0);
        }
    }
    assert_eq!(outcome(&mut stage, 1).as_deref(), Some("timed_out"));
    stage.wait(30 * SECOND);
    assert_eq!(asked(&mut stage, 3), Some(Ask::Choice));
    // A person who is being asked is also put together with somebody who comes.
    stage.queue(4);
    assert_eq!(stage.plan(3).unwrap().era, stage.plan(4).unwrap().era);
}

#[test]
fn a_reload_keeps_the_place_and_a_long_absence_does_not() {
    let mut stage = lobby("timeout_s: 100, on_timeout: wait, presence: {grace_s: 15}");
    let token = stage.queue(1);
    stage.wait(20 * SECOND);
    stage.close(1);
    stage.wait(10 * SECOND);
    stage.resume(2, &token, None);
    let told = waiting(&stage.hear(2)).unwrap();
    assert_eq!((told.waited_ms, told.left_ms), (30_000, 70_000));
    stage.close(2);
    stage.wait(16 * SECOND);
    stage.resume(3, &token, None);
    assert_eq!(waiting(&stage.hear(3)).unwrap().waited_ms, 0);
    assert_eq!(
        waits(&stage),
        [(0, WaitedFor::Closed, 20), (0, WaitedFor::Closed, 0)]
    );
}

#[test]
fn people_who_have_met_are_kept_apart_also_after_a_restart() {
    let mut stage = read(
        "timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - repeat: 2
    block:
      - {id: lobby, type: lobby, group_size: 2, timeout_s: 600, on_timeout: wait, match: {not_met_before: true}}
      - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
",
    );
    let tokens = [1, 2].map(|conn| stage.queue(conn));
    round(&mut stage, [1, 2]);
    assert!(waiting(&stage.hear(1)).is_some() && stage.plan(2).is_none());
    stage.restart();
    stage.resume(3, &tokens[0], None);
    stage.resume(4, &tokens[1], None);
    assert!(stage.plan(3).is_none() && stage.plan(4).is_none());
    stage.queue(5);
    assert_eq!(stage.plan(5).unwrap().era, stage.plan(3).unwrap().era);
    assert!(stage.plan(4).is_none());
}

#[test]
fn a_group_comes_together_again_in_its_old_places() {
    let mut stage = read(
        "timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - {id: first, type: lobby, group_size: 2, timeout_s: 600, on_timeout: wait}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
  - {id: read, type: instructions, pages: [page.md]}
  - {id: again, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave, match: {reunite: first}}
  - {id: more, type: env, env: overcooked@2.0.0, players: [self, partner]}
",
    );
    for pair in [[1, 2], [3, 4], [5, 6]] {
        pair.iter().for_each(|conn| drop(stage.queue(*conn)));
        round(&mut stage, pair);
    }
    let go_on = |stage: &mut Stage, conn: u64| {
        let (answers, pages_ms) = (Vec::new(), vec![1]);
        stage.say(
            conn,
            ClientMessage::StageDone {
                stage: 3,
                answers,
                pages_ms,
            },
        );
    };
    // The lobby does not take others who wait at the same time for this person.
    for conn in [2, 3] {
        go_on(&mut stage, conn);
    }
    assert!(stage.plan(2).is_none() && stage.plan(3).is_none());
    for conn in [1, 4] {
        go_on(&mut stage, conn);
    }
    let seats = [1, 2, 3, 4].map(|conn| stage.plan(conn).unwrap().seat.0);
    assert_eq!(seats, [0, 1, 0, 1]);
    // Somebody leaves the third group: nobody else can come.
    go_on(&mut stage, 5);
    stage.say(6, ClientMessage::Leave);
    stage.wait(SECOND);
    assert_eq!(outcome(&mut stage, 5).as_deref(), Some("lobby_timeout"));
}

#[test]
fn pages_that_are_too_far_apart_are_back_at_their_places_and_meet_others() {
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_p2p_rtt_ms: 120}");
    stage.queue(1);
    stage.wait(5 * SECOND);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.hear(2);
    stage.ready(1, era, 90_000);
    stage.ready(2, era, 130_000);
    let heard = stage.hear(1);
    assert!(
        matches!(view(&heard), Some(StageView::Lobby { .. })),
        "{heard:?}"
    );
    assert_eq!(waiting(&heard).unwrap().waited_ms, 5_000);
    assert!(stage.plan(2).is_none());
    stage.queue(3);
    let plan = stage.plan(1).expect("the first is matched first");
    stage.hear(3);
    stage.ready(1, plan.era, 120_000);
    stage.ready(3, plan.era, 120_000);
    assert!(matches!(stage.hear(3)[..], [ServerMessage::Start { .. }]));
    let ended: Vec<usize> = waits(&stage).into_iter().map(|(who, ..)| who).collect();
    assert_eq!(ended, [0, 2], "the second waits on");
    let ways = stage.writes.iter().filter_map(|write| match write {
        Write::Wait(row) => row.end.as_ref().map(|_| (row.rtt_us, row.loss_permille)),
        _ => None,
    });
    let last: Vec<_> = ways.collect();
    assert_eq!(last, [(Some(120_000), None); 2], "as measured last");
}

#[test]
fn a_page_that_was_ready_before_the_other_is_as_far_as_the_other_measured() {
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_p2p_rtt_ms: 120}");
    stage.queue(1);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.hear(2);
    // The person at the second page still reads the end of the last episode, so the first page hears nothing of it.
    stage.ready(1, era, 0);
    stage.ready(2, era, 90_000);
    assert!(matches!(stage.hear(2)[..], [ServerMessage::Start { .. }]));
    // Nothing is known about people whom nobody measured.
    stage.queue(3);
    stage.queue(4);
    let era = stage.plan(3).unwrap().era;
    stage.hear(4);
    stage.ready(3, era, 0);
    stage.ready(4, era, 0);
    assert!(matches!(
        view(&stage.hear(4)),
        Some(StageView::Lobby { .. })
    ));
}

#[test]
fn pages_that_were_too_far_apart_once_are_measured_again_if_nobody_else_comes() {
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_p2p_rtt_ms: 120}");
    stage.queue(1);
    stage.queue(2);
    let mut era = stage.plan(1).unwrap().era;
    for _ in 0..2 {
        assert_eq!(stage.plan(2).unwrap().era, era);
        stage.ready(1, era, 90_000);
        stage.ready(2, era, 130_000);
        stage.wait(29 * SECOND);
        assert!(stage.plan(1).is_none());
        stage.say(1, ClientMessage::Here);
        stage.say(2, ClientMessage::Here);
        stage.wait(SECOND);
        era = stage
            .plan(1)
            .expect("half a minute later they are measured again")
            .era;
    }
    stage.ready(1, era, 90_000);
    stage.ready(2, era, 110_000);
    assert!(matches!(
        stage.hear(2).last(),
        Some(ServerMessage::Start { .. })
    ));
}

#[test]
fn pages_between_which_too_much_is_lost_do_not_play_together() {
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_loss: 0.05}");
    stage.queue(1);
    stage.queue(2);
    let plan = stage.plan(1).unwrap();
    assert!(plan.measures_loss);
    stage.hear(2);
    // One direction is enough, and slow as it may be, the round trip is not asked for.
    stage.ready_with_loss(1, plan.era, 900_000, Some(51));
    stage.ready_with_loss(2, plan.era, 900_000, Some(0));
    assert!(matches!(
        view(&stage.hear(1)),
        Some(StageView::Lobby { .. })
    ));
    assert!(stage.plan(2).is_none());
    stage.queue(3);
    let plan = stage.plan(1).expect("the first is matched first");
    stage.hear(3);
    stage.ready_with_loss(1, plan.era, 900_000, Some(50));
    stage.ready_with_loss(3, plan.era, 900_000, Some(40));
    assert!(matches!(stage.hear(3)[..], [ServerMessage::Start { .. }]));
    let lost = stage.writes.iter().filter_map(|write| match write {
        Write::Wait(row) => row.end.as_ref().map(|_| row.loss_permille),
        _ => None,
    });
    assert_eq!(
        lost.collect::<Vec<_>>(),
        [Some(50); 2],
        "in the worse direction"
    );
}

#[test]
fn what_is_not_measured_keeps_no_limit_and_what_is_not_limited_is_not_measured() {
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_loss: 1}");
    stage.queue(1);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.ready_with_loss(1, era, 20_000, Some(0));
    stage.ready_with_loss(2, era, 20_000, None);
    assert!(matches!(
        view(&stage.hear(1)),
        Some(StageView::Lobby { .. })
    ));
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_p2p_rtt_ms: 120}");
    stage.queue(1);
    stage.queue(2);
    assert!(!stage.plan(1).unwrap().measures_loss);
}

#[test]
fn a_page_that_was_not_heard_keeps_no_limit() {
    let mut stage = lobby("timeout_s: 600, on_timeout: wait, match: {max_p2p_rtt_ms: 120}");
    stage.queue(1);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    assert!(matches!(
        view(&stage.hear(1)),
        Some(StageView::Lobby { .. })
    ));
}

#[test]
fn a_group_is_composed_as_the_formula_wants() {
    let mut stage = read(
        "timeline:
  - {id: role, type: survey, surveyjs: {elements: [{type: radiogroup, name: wish, choices: [lead, follow]}]}}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 600
    on_timeout: wait
    match: {composition: 'members.exists(m, m.answers.role.wish == \"lead\") && members.exists(m, m.answers.role.wish == \"follow\")'}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
",
    );
    let queue = |stage: &mut Stage, conn: u64, wish: &str| {
        stage.enter(conn, Entry::Open);
        let answers = vec![Answer {
            name: "wish".into(),
            value: format!("\"{wish}\""),
        }];
        let pages_ms = vec![1];
        stage.say(
            conn,
            ClientMessage::StageDone {
                stage: 0,
                answers,
                pages_ms,
            },
        );
    };
    queue(&mut stage, 1, "lead");
    queue(&mut stage, 2, "lead");
    assert!(stage.plan(1).is_none() && stage.plan(2).is_none());
    queue(&mut stage, 3, "follow");
    assert_eq!(stage.plan(1).unwrap().era, stage.plan(3).unwrap().era);
    assert!(stage.plan(2).is_none());
}

#[test]
fn waits_are_written_down_and_what_is_usual_is_told() {
    let mut stage = lobby("timeout_s: 60, on_timeout: bot, bot: {policy: cook}");
    stage.queue(1);
    stage.wait(20 * SECOND);
    stage.queue(2);
    round(&mut stage, [1, 2]);
    assert_eq!(
        waits(&stage),
        [(0, WaitedFor::Matched, 20), (1, WaitedFor::Matched, 0)]
    );
    stage.queue(3);
    assert_eq!(waiting(&stage.hear(3)).unwrap().usual_ms, Some(20_000));
    stage.say(3, ClientMessage::Leave);
    stage.queue(4);
    stage.wait(60 * SECOND);
    let era = stage.plan(4).unwrap().era;
    stage.ready(4, era, 0);
    assert_eq!(
        waits(&stage)[2..],
        [(2, WaitedFor::Left, 0), (3, WaitedFor::Ai, 60)]
    );
    let outcome = stage.arbiter.sessions[SessionId(2)]
        .progress
        .outcome(&stage.study);
    assert_eq!(outcome, Some(Outcome::LeftEarly));
}

#[test]
fn a_hundred_people_who_come_at_once_are_in_fifty_groups() {
    let mut stage = lobby("timeout_s: 60, on_timeout: wait");
    (1..=100).for_each(|conn| drop(stage.queue(conn)));
    let mut seats: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    for conn in 1..=100 {
        let plan = stage
            .plan(conn)
            .unwrap_or_else(|| panic!("{conn} is stranded"));
        seats.entry(plan.era.0).or_default().push(plan.seat.0);
    }
    assert_eq!(seats.len(), 50);
    assert!(seats.into_values().all(|seats| seats == [0, 1]));
}

/// A study whose lobby completes groups with a cook.
fn blinded(disclose: bool) -> Stage {
    let timeline = format!(
        "timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
  - {{id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: bot, bot: {{policy: cook, disclose: {disclose}}}}}
  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, partner], config: {{layout: cramped_room, horizon: 900, tick_hz: 10}}}}
  - {{id: after, type: instructions, pages: [page.md], when: 'play.episodes[0].partners == \"human\"'}}
"
    );
    let mut stage = Stage::read(&timeline, Limits::default());
    stage.wait(SECOND);
    stage
}

/// Returns when the first episode starts after its pages are ready, microseconds, and how long the person waited; with
/// people or an AI partner.
fn start_of(disclose: bool, people: u64) -> (u64, u64, u16) {
    let mut stage = blinded(disclose);
    (1..=people).for_each(|conn| drop(stage.queue(conn)));
    let waits_us = stage.now_us;
    let shown = stage.hear(1);
    let count = shown.iter().rev().find_map(|message| match message {
        ServerMessage::Stage { count, .. } => Some(*count),
        _ => None,
    });
    let mut plan = shown.iter().find_map(|message| match message {
        ServerMessage::Match(plan) => Some(plan.clone()),
        _ => None,
    });
    while plan.is_none() {
        stage.wait(SECOND / 10);
        plan = stage.plan(1);
    }
    let waited_us = stage.now_us - waits_us;
    let era = plan.expect("a match").era;
    (1..=people).for_each(|conn| stage.ready(conn, era, 0));
    let t0_us = stage.hear(1).into_iter().find_map(|message| match message {
        ServerMessage::Start { t0_us, .. } => Some(t0_us),
        _ => None,
    });
    (
        t0_us.expect("a start") - stage.now_us,
        waited_us,
        count.expect("a stage"),
    )
}

#[test]
fn time_and_steps_do_not_tell_an_ai_partner_that_is_not_disclosed() {
    let (human_us, _, human_count) = start_of(false, 2);
    let (ai_us, waited_us, ai_count) = start_of(false, 1);
    assert!(
        (human_us + 300_000..human_us + 1_600_000).contains(&ai_us),
        "{human_us} {ai_us}"
    );
    assert!(waited_us < 29 * SECOND, "{waited_us}");
    assert_eq!((human_count, ai_count), (0, 0));
    let (told_us, waited_us, count) = start_of(true, 1);
    assert_eq!(told_us, human_us);
    assert!(waited_us > 29 * SECOND, "{waited_us}");
    assert!(count > 0);
}

#[test]
fn an_episode_with_an_ai_partner_starts_as_late_as_those_of_people_on_this_server() {
    let mut stage = blinded(false);
    let starts = |stage: &mut Stage, conn: u64| {
        let heard = stage.hear(conn).into_iter();
        let mut t0_us = heard.filter_map(|message| match message {
            ServerMessage::Start { t0_us, .. } => Some(t0_us),
            _ => None,
        });
        t0_us.next().expect("a start")
    };
    let mut people_us = 0;
    for pair in 0..5 {
        let pair = [1 + 2 * pair, 2 + 2 * pair];
        for conn in pair {
            stage.queue(conn);
        }
        let era = stage.plan(pair[0]).expect("a match").era;
        let matched_us = stage.now_us;
        stage.wait(4 * SECOND);
        for conn in pair {
            stage.ready(conn, era, 0);
        }
        people_us = starts(&mut stage, pair[0]) - matched_us;
    }
    stage.queue(11);
    let plan = std::iter::repeat_with(|| {
        stage.wait(SECOND / 10);
        stage.plan(11)
    });
    let era = plan.take(400).flatten().next().expect("a match").era;
    let matched_us = stage.now_us;
    stage.ready(11, era, 0);
    let ai_us = starts(&mut stage, 11) - matched_us;
    assert!(
        people_us.abs_diff(ai_us) < 200_000,
        "{people_us} and {ai_us}"
    );
}
