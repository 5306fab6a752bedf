//! Several episodes in one visit: how many, the rest between them, their seeds; and episodes in turns.

use super::*;

/// A stage of one participant and a cook, with these keys.
fn alone(keys: &str) -> Stage {
    let timeline = format!(
        "timeline:
  - id: train
    type: env
    env: overcooked@2.0.0
    players: [self, {{policy: cook}}]
    config: {{layout: cramped_room, horizon: 900, tick_hz: 10}}
    {keys}
"
    );
    Stage::read(&timeline, Limits::default())
}

/// Lets a page get ready, play seven ticks, and upload the end; returns its plan.
fn play(stage: &mut Stage, conn: u64) -> Plan {
    let plan = stage.plan(conn).unwrap();
    stage.ready(conn, plan.era, 0);
    stage.wait(4 * SECOND);
    stage.say(conn, upload(plan.era, Some(Tick(7))));
    plan
}

/// The contents of a rest: episodes played, at most, and the times.
fn rest(messages: &[ServerMessage]) -> Option<((u16, u16), u32, Option<u32>)> {
    match view(messages)? {
        StageView::Rest {
            round,
            min_ms,
            max_ms,
            ..
        } => Some((*round, *min_ms, *max_ms)),
        _ => None,
    }
}

fn go_on(stage: &mut Stage, conn: u64) {
    let done = ClientMessage::StageDone {
        stage: 0,
        answers: Vec::new(),
        pages_ms: vec![1],
    };
    stage.say(conn, done);
}

#[test]
fn training_goes_on_to_the_criterion_with_rests_between() {
    let mut stage = alone(
        "until: {min_successes: 2, max_episodes: 5}\n    rest: {file: page.md, min_s: 2, max_s: 10}",
    );
    stage.enter(1, Entry::Open);
    assert_eq!(play(&mut stage, 1).round, (0, 5));
    assert_eq!(rest(&stage.hear(1)), Some(((1, 5), 2_000, Some(10_000))));
    stage.wait(SECOND);
    go_on(&mut stage, 1);
    let heard = stage.hear(1);
    assert_eq!(
        rest(&heard),
        Some(((1, 5), 1_000, Some(9_000))),
        "too early"
    );
    stage.wait(SECOND);
    go_on(&mut stage, 1);
    // Every episode of the archive here has a score of 1.
    assert_eq!(play(&mut stage, 1).round, (1, 5));
    let heard = stage.hear(1);
    assert!(
        matches!(view(&heard), Some(StageView::End { .. })),
        "{heard:?}"
    );
}

#[test]
fn what_a_seat_made_decides_over_its_success() {
    let criterion = |success: &str| {
        format!("until: {{success: '{success}', min_successes: 1, max_episodes: 2}}")
    };
    // The archive here gives the first seat 0 points, and the group 1.
    for (success, ends) in [
        ("own_score == 0 && rewards[0] == 0 && score == 1", true),
        ("own_score > 0", false),
    ] {
        let mut stage = alone(&criterion(success));
        stage.enter(1, Entry::Open);
        play(&mut stage, 1);
        let heard = stage.hear(1);
        let is_over = matches!(view(&heard), Some(StageView::End { .. }));
        assert_eq!(is_over, ends, "{success}: {heard:?}");
    }
}

#[test]
fn a_rest_ends_by_itself_and_outlives_a_restart() {
    let mut stage = alone("episodes: 3\n    rest: {file: page.md, max_s: 10}");
    let token = stage.enter(1, Entry::Open);
    let first = play(&mut stage, 1);
    assert_eq!(rest(&stage.hear(1)), Some(((1, 3), 0, Some(10_000))));
    stage.wait(10 * SECOND - 1);
    assert_eq!(stage.plan(1), None);
    stage.wait(1);
    let second = play(&mut stage, 1);
    assert_eq!((first.round.0, second.round.0), (0, 1));
    assert_ne!((&first.episode, first.seed), (&second.episode, second.seed));
    stage.hear(1);
    stage.restart();
    stage.resume(2, &token, None);
    assert_eq!(rest(&stage.hear(2)), Some(((2, 3), 0, Some(10_000))));
    // Nobody is at the page when the time is up: the episode begins once somebody is.
    stage.close(2);
    stage.wait(60 * SECOND);
    stage.resume(3, &token, None);
    assert_eq!(stage.plan(3).unwrap().round, (2, 3));
}

#[test]
fn an_episode_that_was_stored_before_a_stop_is_not_counted_twice() {
    let mut stage = alone("episodes: 3");
    let token = stage.enter(1, Entry::Open);
    play(&mut stage, 1);
    assert_eq!(stage.plan(1).unwrap().round, (1, 3));
    // The server stops between the place of the participant and the end of the episode.
    let ended = stage
        .writes
        .iter()
        .rposition(|write| matches!(write, Write::EpisodeEnded { .. }));
    stage.writes.truncate(ended.unwrap());
    stage.restart();
    stage.resume(2, &token, None);
    assert_eq!(stage.plan(2).unwrap().round, (1, 3));
}

#[test]
fn the_people_of_a_group_play_their_episodes_together() {
    let timeline = "timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: wait}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 900, tick_hz: 10}
    episodes: 2
    seed: [group, episode]
    rest: {file: page.md}
";
    let mut stage = Stage::read(timeline, Limits::default());
    stage.queue(1);
    stage.queue(2);
    let mut groups = BTreeSet::new();
    for episode in 0..2 {
        let plans = [1, 2].map(|conn| stage.plan(conn).unwrap());
        assert_eq!(plans.each_ref().map(|plan| plan.round), [(episode, 2); 2]);
        assert_eq!(plans[0].era, plans[1].era);
        groups.insert(plans[0].seed);
        [1, 2]
            .into_iter()
            .for_each(|conn| stage.ready(conn, plans[0].era, 0));
        stage.wait(4 * SECOND);
        [1, 2]
            .into_iter()
            .for_each(|conn| stage.say(conn, upload(plans[0].era, Some(Tick(7)))));
        if episode == 0 {
            let done = ClientMessage::StageDone {
                stage: 2,
                answers: Vec::new(),
                pages_ms: vec![1],
            };
            let heard = [1, 2].map(|conn| stage.hear(conn));
            assert!(heard.iter().all(|heard| rest(heard).is_some()), "{heard:?}");
            stage.say(1, done.clone());
            assert_eq!(stage.plan(1), None, "the other one still rests");
            stage.say(2, done);
        }
    }
    assert_eq!(groups.len(), 2, "each episode has a seed of its own");
    for conn in [1, 2] {
        let heard = stage.hear(conn);
        assert!(
            matches!(view(&heard), Some(StageView::End { .. })),
            "{heard:?}"
        );
    }
}

#[test]
fn equal_values_give_equal_seeds() {
    let mut seeds = Vec::new();
    let mut stage = alone("episodes: 2\n    seed: [episode]");
    for conn in [1, 2] {
        stage.enter(conn, Entry::Open);
        seeds.push([(); 2].map(|()| play(&mut stage, conn).seed));
    }
    assert_eq!(seeds[0], seeds[1]);
    assert_ne!(seeds[0][0], seeds[0][1]);
    let mut stage = alone("episodes: 2\n    seed: [participant]");
    for conn in [1, 2] {
        stage.enter(conn, Entry::Open);
        seeds.push([(); 2].map(|()| play(&mut stage, conn).seed));
    }
    assert_eq!((seeds[2][0], seeds[3][0]), (seeds[2][1], seeds[3][1]));
    assert_ne!(seeds[2][0], seeds[3][0]);
}

#[test]
fn what_the_study_adds_to_the_rules_goes_to_pages_and_into_the_file() {
    let keys = "for_each: {goal: [20, 40]}\n    until: score >= goal || elapsed_s >= 60\n    hud: [{label: Soups, value: '{{ score / 20 }} of {{ goal / 20 }}, round {{ episode }}'}]\n    countdown_s: 2";
    let mut stage = alone(keys);
    stage.enter(1, Entry::Open);
    let plan = stage.plan(1).unwrap();
    let asks: Vec<&str> = plan.rules.until.as_ref().unwrap().variables().collect();
    assert_eq!(asks, ["score", "elapsed_s"], "the level is put in");
    let live = rollback::Live {
        score: 20,
        scores: [20; protocol::MAX_SEATS],
        rewards: None,
        seats: 1,
        ticks: 5,
        tick_hz: 10,
        horizon: 900,
    };
    assert!(live.has_ended(plan.rules.until.as_ref().unwrap()));
    assert_eq!(plan.hud[0].value.render(&live), "1 of 1, round 1");
    stage.ready(1, plan.era, 0);
    let start = stage.hear(1);
    let t0_us = stage.now_us + 2 * SECOND;
    let is_start = |message: &ServerMessage| matches!(message, ServerMessage::Start { t0_us: at, .. } if *at == t0_us);
    assert!(start.iter().any(is_start), "{start:?}");
    let header = &stage.shelf(plan.era).header;
    assert_eq!(header.rules, plan.rules);
    let course = header.course.as_ref().unwrap();
    assert_eq!(
        (course.visits.as_slice(), course.names.as_slice()),
        (&[0, 0][..], &[("goal".to_owned(), "20".to_owned())][..])
    );
}

#[test]
fn in_turns_nothing_is_late_and_nobody_is_given_up() {
    let mut stage = alone("mode: turns");
    let token = stage.enter(1, Entry::Open);
    let plan = stage.plan(1).unwrap();
    assert!(plan.rules.turns);
    stage.ready(1, plan.era, 0);
    let heard = stage.hear(1);
    let at_once = |message: &ServerMessage| matches!(message, ServerMessage::Start { t0_us, input_delay: 0, .. } if *t0_us == stage.now_us);
    assert!(heard.iter().any(at_once), "{heard:?}");
    // More turns than the tick rate has ticks for.
    stage.archive(1, plan.era, 0, 100);
    stage.wait(3_600 * SECOND);
    assert_eq!((stage.ended.len(), stage.closed.len()), (0, 0));
    stage.close(1);
    stage.wait(3_600 * SECOND);
    stage.restart();
    stage.wait(3_600 * SECOND);
    assert_eq!(stage.ended, []);
    stage.resume(2, &token, None);
    let again = stage.plan(2).unwrap();
    assert_eq!((again.episode, again.running), (plan.episode, true));
    stage.ready(2, plan.era, 0);
    assert_eq!(stage.back(2).unwrap().tick, Tick(100));
}

#[test]
fn who_has_played_at_a_first_stage_is_not_forgotten() {
    let mut stage = alone("episodes: 3\n    rest: {file: page.md}");
    let token = stage.enter(1, Entry::Open);
    play(&mut stage, 1);
    stage.close(1);
    stage.wait(24 * 3_600 * SECOND);
    stage.resume(2, &token, None);
    assert_eq!(rest(&stage.hear(2)), Some(((1, 3), 0, None)));
}

#[test]
fn the_sums_of_rewards_come_back_behind_the_state_where_the_study_shows_them() {
    let shown = |value: &str| format!("hud: [{{label: Yours, value: '{value}'}}]");
    let ended = "until: sum(rewards) > 9".to_owned();
    let cases = [
        (shown("rewards[seat]"), 300_016),
        (ended, 300_016),
        (shown("scores[seat]"), 300_000),
    ];
    for (keys, len) in cases {
        let mut stage = alone(&keys);
        let token = stage.enter(1, Entry::Open);
        let plan = stage.plan(1).unwrap();
        assert_eq!(plan.asks_rewards(), len > 300_000);
        stage.ready(1, plan.era, 0);
        stage.wait(4 * SECOND);
        stage.resume(2, &token, None);
        stage.ready(2, plan.era, 0);
        stage.wait(SECOND);
        let (mut state, mut is_back) = (Vec::new(), false);
        for message in stage.hear(2) {
            match message {
                ServerMessage::Part { bytes, .. } => state.extend(bytes),
                ServerMessage::Return(back) => {
                    is_back = true;
                    state.extend(back.state);
                }
                _ => {}
            }
        }
        assert!(is_back, "{keys}");
        assert_eq!(state.len(), len, "{keys}");
        assert_eq!(
            state.iter().filter(|byte| **byte == 1).count(),
            len - 300_000
        );
    }
}
