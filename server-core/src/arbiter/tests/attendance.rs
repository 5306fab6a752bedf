//! The length of visits, their expiry, people who leave, and a full study.

use study::design::{Assign, Between, Level, Quota, Unit};
use study::{Outcome, Payment};

use super::*;

const HOUR: u64 = 3_600 * SECOND;

/// The example study with other rules.
fn stage(change: impl FnOnce(&mut Study)) -> Stage {
    let mut stage = Stage::new(Limits::default());
    let mut study = Study::clone(&stage.study);
    change(&mut study);
    stage.study = Arc::new(study);
    stage.writes.clear();
    stage.restart();
    stage
}

fn outcome(messages: &[ServerMessage]) -> Option<String> {
    match view(messages) {
        Some(StageView::End { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    }
}

/// The stored payment of the last session that has ended.
fn paid(stage: &Stage) -> Option<&Payment> {
    let mut payments = stage.writes.iter().filter_map(|write| match write {
        Write::Place { payment, .. } | Write::NewSession { payment, .. } => payment.as_deref(),
        _ => None,
    });
    payments.next_back()
}

const MINUTE: u64 = 60 * SECOND;

/// A form of two items, and a page to read.
const FORM: &str = "timeline:
  - {id: ask, type: survey, surveyjs: {elements: [{type: comment, name: why}, {type: comment, name: how}]}}
  - {id: read, type: instructions, pages: [page.md]}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, {policy: cook}], config: {layout: cramped_room}}
  - {id: thanks, type: end, file: page.md}
";

/// Lets the page send what is typed so far.
fn typed(stage: &mut Stage, conn: u64, text: &str) {
    let answer = Answer {
        name: "why".into(),
        value: format!("\"{text}\""),
    };
    let draft = protocol::control::Draft {
        answers: vec![answer],
        ..Default::default()
    };
    let (number, stage_index) = (1, 0);
    stage.say(
        conn,
        ClientMessage::Draft {
            number,
            stage: stage_index,
            draft,
        },
    );
}

fn done(stage: &mut Stage, conn: u64, index: u16) {
    stage.say(
        conn,
        ClientMessage::StageDone {
            stage: index,
            answers: Vec::new(),
            pages_ms: vec![1],
        },
    );
}

#[test]
fn time_counts_from_sign_of_life_to_sign_of_life_and_three_minutes_at_most() {
    let mut stage = Stage::read(FORM, Limits::default());
    stage.wait(SECOND);
    let token = stage.enter(1, Entry::Open);
    stage.wait(2 * MINUTE);
    typed(&mut stage, 1, "a");
    stage.wait(MINUTE);
    typed(&mut stage, 1, "ab");
    // Nobody types for an hour; the page is open, sends the same again, and comes back.
    for conn in 2..=60 {
        stage.wait(MINUTE);
        stage.say(conn - 1, ClientMessage::Clock { sent_us: 1 });
        typed(&mut stage, conn - 1, "ab");
        stage.close(conn - 1);
        stage.resume(conn, &token, None);
    }
    typed(&mut stage, 60, "abc");
    stage.wait(10 * SECOND);
    done(&mut stage, 60, 0);
    stage.wait(8 * HOUR);
    stage.say(60, ClientMessage::Leave);
    let payment = paid(&stage).unwrap();
    assert_eq!(payment.outcome, Outcome::LeftEarly);
    let minutes = 2 + 1 + 3 + 3;
    assert_eq!(payment.time_ms, minutes * 60_000 + 10_000);
}

#[test]
fn a_stage_that_asks_for_more_time_counts_in_full() {
    let text = FORM.replace("pages: [page.md]", "pages: [page.md], min_s: 600");
    let mut stage = Stage::read(&text, Limits::default());
    stage.wait(SECOND);
    stage.enter(1, Entry::Open);
    done(&mut stage, 1, 0);
    stage.wait(10 * MINUTE);
    let read = ClientMessage::StageDone {
        stage: 1,
        answers: Vec::new(),
        pages_ms: vec![600_000],
    };
    stage.say(1, read);
    stage.say(1, ClientMessage::Leave);
    assert_eq!(paid(&stage).unwrap().time_ms, 600_000);
}

#[test]
fn a_wait_that_the_study_asks_for_counts_and_survives_a_crash() {
    let mut stage = stage(|study| {
        let StageKind::Lobby(lobby) = &mut study.timeline[1].kind else {
            panic!("the lobby")
        };
        (lobby.timeout_s, lobby.presence.prompt_after_s) = (3_600, 3_600);
    });
    stage.wait(SECOND);
    let token = stage.queue(1);
    stage.wait(20 * MINUTE + 30 * SECOND);
    // The process dies, and is back after ten seconds.
    stage.now_us += 10 * SECOND;
    stage.restart();
    stage.resume(2, &token, None);
    stage.wait(4 * MINUTE);
    stage.close(2);
    // Somebody who is away does not wait.
    stage.wait(HOUR);
    stage.resume(3, &token, None);
    stage.say(3, ClientMessage::Leave);
    let minutes = 20 + 4 + 3;
    assert_eq!(paid(&stage).unwrap().time_ms, minutes * 60_000 + 40_000);
}

#[test]
fn only_actions_that_do_something_are_signs_of_life() {
    let play = |input: fn(u16) -> u16| {
        let mut stage = stage(|study| study.recruitment.pay_terms.idle_after_s = Some(30));
        let noop = stage.stages.values().next().unwrap().facts.noop;
        stage.wait(SECOND);
        let (era, ..) = stage.playing();
        for number in 0..8 {
            stage.wait(10 * SECOND);
            stage.archive(2, era, 0, (number + 1) * 10 * HZ);
            let mut block = block(Tick(number * 10 * HZ), 10 * HZ as usize);
            block.inputs.fill(input(noop));
            let message = ClientMessage::Upload(Upload {
                block: Some(block),
                ..blank(era)
            });
            stage.say(1, message);
        }
        stage.say(1, ClientMessage::Leave);
        paid(&stage).unwrap().time_ms
    };
    let all = [play(|noop| noop), play(|noop| u16::from(noop == 0))];
    assert_eq!(all, [30_000, 83_500]);
}

#[test]
fn who_leaves_reads_so_at_once_and_again_later() {
    let mut stage = stage(|_| {});
    let token = stage.enter(1, Entry::Open);
    stage.say(1, ClientMessage::Leave);
    assert_eq!(outcome(&stage.hear(1)).as_deref(), Some("left_early"));
    let count = stage.writes.len();
    stage.say(1, ClientMessage::Leave);
    assert_eq!(stage.writes.len(), count, "once is enough");
    stage.restart();
    stage.resume(2, &token, None);
    let heard = stage.hear(2);
    assert_eq!(outcome(&heard).as_deref(), Some("left_early"));
    let Some(StageView::End { page, .. }) = view(&heard) else {
        panic!("the end")
    };
    assert!(page.contains("You have left the study"), "{page}");
}

#[test]
fn a_session_that_nobody_comes_back_to_expires_also_while_the_server_is_away() {
    let mut stage = stage(|study| study.keeping.expires_h = Some(2));
    // Otherwise it would be forgotten before.
    stage.limits.entering = std::time::Duration::from_hours(24);
    stage.restart();
    stage.wait(SECOND);
    let stays = stage.enter(1, Entry::Open);
    let leaves = stage.enter(2, Entry::Open);
    stage.close(2);
    stage.wait(HOUR);
    stage.resume(3, &leaves, None);
    stage.close(3);
    stage.wait(2 * HOUR - SECOND);
    assert!(paid(&stage).is_none());
    stage.wait(2 * SECOND);
    assert_eq!(paid(&stage).unwrap().outcome, Outcome::TimedOut);
    stage.resume(4, &leaves, None);
    assert_eq!(outcome(&stage.hear(4)).as_deref(), Some("timed_out"));
    // A page that is open does not expire.
    stage.say(1, upload(Era(9), None));
    assert_eq!(outcome(&stage.hear(1)), None);
    stage.handle(Event::Stop);
    stage.writes.retain(|write| {
        !matches!(
            write,
            Write::Place {
                payment: Some(_),
                ..
            }
        )
    });
    stage.now_us += 5 * HOUR;
    stage.restart();
    stage.wait(SECOND);
    stage.resume(5, &stays, None);
    assert_eq!(outcome(&stage.hear(5)).as_deref(), Some("timed_out"));
}

/// Plays the round of two people, or of one with an AI partner, and the survey behind it.
fn complete(stage: &mut Stage, conns: &[u64]) {
    let era = stage.plan(conns[0]).expect("a match").era;
    conns.iter().for_each(|conn| stage.ready(*conn, era, 0));
    stage.wait(4 * SECOND);
    for conn in conns {
        stage.say(*conn, upload(era, Some(Tick(7))));
    }
    for conn in conns {
        stage.hear(*conn);
        let answers = vec![Answer {
            name: "fluency".into(),
            value: "5".into(),
        }];
        let done = ClientMessage::StageDone {
            stage: 3,
            answers,
            pages_ms: vec![1],
        };
        stage.say(*conn, done);
        assert_eq!(outcome(&stage.hear(*conn)).as_deref(), Some("completed"));
        stage.close(*conn);
    }
}

#[test]
fn groups_that_the_lobby_completed_with_an_ai_partner_fill_a_place_also_after_a_restart() {
    for unit in [Unit::Group, Unit::Participant] {
        let mut stage = stage(|study| {
            study.design.quota = Quota::Total(2);
            study.design.unit = unit;
        });
        let is_full = |stage: &mut Stage, conn: u64| {
            stage.enter(conn, Entry::Open);
            let is_full = outcome(&stage.hear(conn)).as_deref() == Some("study_full");
            stage.say(conn, ClientMessage::Leave);
            stage.close(conn);
            is_full
        };
        stage.wait(SECOND);
        stage.queue(1);
        stage.wait(61 * SECOND);
        complete(&mut stage, &[1]);
        assert!(!is_full(&mut stage, 2), "{unit:?}");
        stage.queue(3);
        stage.wait(61 * SECOND);
        complete(&mut stage, &[3]);
        assert!(is_full(&mut stage, 5), "{unit:?}");
        stage.restart();
        assert!(is_full(&mut stage, 6), "{unit:?}");
    }
}

#[test]
fn the_treatments_of_groups_with_the_lobbys_ai_partner_are_balanced() {
    let level = |name: &str| Level {
        name: name.to_owned(),
        value: name.into(),
    };
    let factor = Between {
        name: "speed".to_owned(),
        levels: vec![level("slow"), level("fast")],
        assign: Assign::LeastFilled,
        unit: None,
    };
    let mut stage = stage(|study| {
        study.design.unit = Unit::Group;
        study.design.between = vec![factor];
    });
    for conn in 1..=8 {
        stage.queue(conn);
        stage.wait(61 * SECOND);
        complete(&mut stage, &[conn]);
    }
    let groups = stage.writes.iter().filter_map(|write| match write {
        Write::Group(row) => Some((row.id.as_str(), row.draw.levels["speed"].as_str())),
        _ => None,
    });
    let levels: BTreeMap<&str, &str> = groups.collect();
    let slow = levels.values().filter(|level| **level == "slow").count();
    assert_eq!((slow, levels.len()), (4, 8), "{levels:?}");
}

#[test]
fn nobody_is_let_in_whom_those_under_way_leave_no_place() {
    let mut stage = stage(|study| {
        study.design.quota = Quota::Total(1);
        study.design.unit = Unit::Group;
    });
    stage.queue(1);
    stage.hear(1);
    stage.queue(2);
    assert_eq!(
        outcome(&stage.hear(2)),
        None,
        "two people make the one group"
    );
    stage.enter(3, Entry::Open);
    assert_eq!(outcome(&stage.hear(3)).as_deref(), Some("study_full"));
    assert_eq!(paid(&stage).unwrap().outcome, Outcome::StudyFull);
    // Somebody leaves, and the place is free again.
    stage.say(2, ClientMessage::Leave);
    stage.enter(4, Entry::Open);
    assert_eq!(outcome(&stage.hear(4)), None);
}

#[test]
fn the_arbiter_says_when_and_why_it_wants_to_be_called() {
    let mut stage = stage(|study| study.keeping.expires_h = Some(2));
    let reason = |stage: &Stage| stage.arbiter.poll_timeout();
    assert_eq!(reason(&stage), None, "nobody is there");
    stage.wait(SECOND);
    stage.queue(1);
    let waits = reason(&stage).map(|(_, reason)| reason);
    assert_eq!(waits, Some("end of the wait"));
    stage.queue(2);
    let ready_us = stage.limits.ready.as_micros() as u64;
    let linking = Some((stage.now_us + ready_us, "pages that are not ready"));
    assert_eq!(reason(&stage), linking);
    stage.close(1);
    stage.close(2);
    let ends = Some((stage.now_us + 2 * HOUR, "end of an absent session"));
    assert_eq!(reason(&stage), ends);
}

#[test]
fn a_group_that_is_about_to_play_takes_one_place() {
    let mut stage = stage(|study| {
        study.design.quota = Quota::Total(2);
        study.design.unit = Unit::Group;
    });
    stage.queue(1);
    stage.queue(2);
    assert!(stage.plan(1).is_some(), "their pages link up");
    let mut end = |conn: u64| {
        stage.queue(conn);
        outcome(&stage.hear(conn))
    };
    assert_eq!((end(3), end(4)), (None, None), "the second group");
    stage.enter(5, Entry::Open);
    assert_eq!(outcome(&stage.hear(5)).as_deref(), Some("study_full"));
}
