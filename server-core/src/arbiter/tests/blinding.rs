//! Waits before later episodes beside people, and beside an AI partner that is not disclosed.

use super::*;

/// Two episodes with a rest between, after a waiting room that calls a cook who is not disclosed.
fn rested() -> Stage {
    let timeline = "timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: bot, bot: {policy: cook, disclose: false}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 900, tick_hz: 10}
    episodes: 2
    rest: {file: page.md}
  - {id: thanks, type: end, file: page.md}
";
    let mut stage = Stage::read(timeline, Limits::default());
    stage.wait(SECOND);
    stage
}

/// These people play an episode that has begun to link up.
fn play(stage: &mut Stage, conns: &[u64], era: Era) {
    conns.iter().for_each(|conn| stage.ready(*conn, era, 0));
    stage.wait(6 * SECOND);
    for conn in conns {
        stage.hear(*conn);
        stage.say(*conn, upload(era, Some(Tick(7))));
    }
}

/// Ends the rest of somebody; returns what their page immediately gets.
fn go_on(stage: &mut Stage, conn: u64) -> Vec<ServerMessage> {
    let shown = stage.hear(conn).into_iter().rev();
    let mut rests = shown.filter_map(|message| match message {
        ServerMessage::Stage {
            index,
            view: StageView::Rest { .. },
            ..
        } => Some(index),
        _ => None,
    });
    let done = ClientMessage::StageDone {
        stage: rests.next().expect("a rest"),
        answers: Vec::new(),
        pages_ms: vec![1],
    };
    stage.say(conn, done);
    stage.hear(conn)
}

fn matched(heard: &[ServerMessage]) -> Option<Era> {
    heard.iter().find_map(|message| match message {
        ServerMessage::Match(plan) => Some(plan.era),
        _ => None,
    })
}

fn is_told_of_missing(heard: &[ServerMessage]) -> bool {
    heard.iter().any(|message| {
        let is_regroup = matches!(
            message,
            ServerMessage::Stage {
                view: StageView::Regroup,
                ..
            }
        );
        is_regroup || matches!(message, ServerMessage::Missing { .. })
    })
}

/// Two people play; the second one rests this much longer. The first one does not learn whom the page waits for.
fn pair(stage: &mut Stage, conns: [u64; 2], longer_us: u64) {
    conns.iter().for_each(|conn| drop(stage.queue(*conn)));
    let era = stage.plan(conns[0]).expect("a match").era;
    play(stage, &conns, era);
    let heard = go_on(stage, conns[0]);
    assert_eq!(view(&heard), Some(&StageView::Env), "{heard:?}");
    assert!(!is_told_of_missing(&heard), "{heard:?}");
    assert_eq!(matched(&heard), None);
    stage.wait(longer_us);
    let heard = go_on(stage, conns[1]);
    let era = matched(&heard).expect("a match");
    assert!(!is_told_of_missing(&stage.hear(conns[0])));
    play(stage, &conns, era);
}

/// One person beside the cook: how long they wait after the waiting room and after the rest, microseconds.
fn alone(stage: &mut Stage, conn: u64) -> (u64, u64) {
    stage.queue(conn);
    let mut heard = Vec::new();
    let waited_us = |stage: &mut Stage, heard: &mut Vec<ServerMessage>| {
        let from_us = stage.now_us;
        let era = loop {
            assert!(!is_told_of_missing(heard), "{heard:?}");
            if let Some(era) = matched(heard) {
                break era;
            }
            stage.wait(SECOND / 10);
            heard.extend(stage.hear(conn));
        };
        (era, stage.now_us - from_us)
    };
    let (era, lobby_us) = waited_us(stage, &mut heard);
    play(stage, &[conn], era);
    heard = go_on(stage, conn);
    if matched(&heard).is_none() {
        assert_eq!(view(&heard), Some(&StageView::Env), "as beside people");
    }
    let (era, rest_us) = waited_us(stage, &mut heard);
    play(stage, &[conn], era);
    (lobby_us, rest_us)
}

#[test]
fn after_a_rest_somebody_beside_a_hidden_ai_partner_waits_as_long_as_people_did() {
    let mut stage = rested();
    for number in 0..6 {
        let conns = [1 + 2 * number, 2 + 2 * number];
        pair(&mut stage, conns, 5 * SECOND);
    }
    let mut waits_us = Vec::new();
    for conn in 21..31 {
        let (lobby_us, rest_us) = alone(&mut stage, conn);
        assert!(
            (20 * SECOND..=31 * SECOND).contains(&lobby_us),
            "in the waiting room alone: {lobby_us}"
        );
        waits_us.push(rest_us);
    }
    let like_first = |us: &&u64| (5 * SECOND..5 * SECOND + SECOND / 5).contains(*us);
    let (first, last): (Vec<u64>, Vec<u64>) = waits_us.iter().partition(like_first);
    assert!(!first.is_empty() && !last.is_empty(), "{waits_us:?}");
    assert!(last.iter().all(|us| *us == 0), "{waits_us:?}");
}

#[test]
fn before_anybody_was_measured_the_wait_after_a_rest_is_short() {
    let mut stage = rested();
    let (_, rest_us) = alone(&mut stage, 1);
    assert!(rest_us <= 21 * SECOND / 10, "{rest_us}");
}

#[test]
fn a_page_that_reloads_in_such_a_wait_waits_on_and_sees_the_same() {
    let mut stage = rested();
    for number in 0..6 {
        let conns = [1 + 2 * number, 2 + 2 * number];
        pair(&mut stage, conns, 5 * SECOND);
    }
    for conn in (21..61).step_by(2) {
        let token = stage.queue(conn);
        let plan = std::iter::repeat_with(|| {
            stage.wait(SECOND / 10);
            stage.plan(conn)
        });
        let era = plan.take(400).flatten().next().expect("a match").era;
        play(&mut stage, &[conn], era);
        let heard = go_on(&mut stage, conn);
        if matched(&heard).is_some() {
            continue;
        }
        stage.wait(3 * SECOND);
        stage.resume(conn + 1, &token, None);
        let heard = stage.hear(conn + 1);
        assert_eq!(view(&heard), Some(&StageView::Env));
        assert!(matched(&heard).is_none() && !is_told_of_missing(&heard));
        stage.wait(2 * SECOND);
        return assert!(matched(&stage.hear(conn + 1)).is_some());
    }
    panic!("nobody waited");
}
