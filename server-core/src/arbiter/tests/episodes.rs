//! From the door over lobby and episode to the next stage.

use protocol::control::{Ask, AtTimeout, Waiting};

use super::*;

#[test]
fn two_people_meet_in_seats_of_their_own() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    assert!(stage.hear(1).contains(&ServerMessage::Waiting(Waiting {
        here: 1,
        needed: 2,
        waited_ms: 0,
        left_ms: 30_000,
        usual_ms: None,
        then: AtTimeout::Ai,
        paid: false,
        ask: Ask::Nothing,
    })));
    stage.queue(2);
    let (one, two) = (stage.plan(1).unwrap(), stage.plan(2).unwrap());
    assert_eq!((one.seat, two.seat), (Seat(0), Seat(1)));
    assert_eq!(one.controllers, [Controller::Human, Controller::Human]);
    assert_eq!(
        Plan {
            seat: Seat(1),
            ..one
        },
        two
    );
}

#[test]
fn a_lone_person_gets_the_ai_partner_at_the_timeout() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    stage.wait(30 * SECOND - 1);
    assert_eq!(stage.plan(1), None);
    stage.wait(1);
    let plan = stage.plan(1).unwrap();
    assert_eq!(
        plan.controllers,
        [
            Controller::Human,
            Controller::Ai {
                policy: "cook".into()
            }
        ]
    );
    stage.ready(1, plan.era, 0);
    let start = ServerMessage::Start {
        era: plan.era,
        t0_us: stage.now_us + 3_500_000,
        input_delay: 0,
    };
    assert_eq!(stage.hear(1), [start]);
}

#[test]
fn the_worst_pair_decides_the_delay_of_all() {
    for (rtt_us, delay) in [
        (0, 0),
        (400_000, 0),
        (401_000, 1),
        (800_000, 2),
        (5_000_000, 3),
    ] {
        let mut stage = Stage::new(Limits::default());
        stage.queue(1);
        stage.queue(2);
        let era = stage.plan(1).unwrap().era;
        stage.ready(1, era, 10);
        stage.ready(2, era, rtt_us);
        let heard = stage.hear(1);
        assert!(
            matches!(heard[..], [ServerMessage::Start { input_delay, .. }] if input_delay == delay),
            "{heard:?}"
        );
    }
}

#[test]
fn who_is_never_ready_keeps_nobody() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    stage.queue(2);
    for attempt in 0..2 {
        let era = stage.plan(1).unwrap().era;
        assert_eq!(
            stage.plan(2).unwrap().era,
            era,
            "attempt {attempt}: matched with each other"
        );
        stage.ready(1, era, 0);
        stage.wait(20 * SECOND);
    }
    let plan = stage.plan(1).unwrap();
    assert_eq!(
        plan.controllers[1],
        Controller::Ai {
            policy: "cook".into()
        },
        "40 s are longer than the lobby's 30"
    );
    stage.ready(1, plan.era, 0);
    assert!(matches!(stage.hear(1)[..], [ServerMessage::Start { .. }]));
    stage.hear(2);
    stage.wait(20 * SECOND);
    assert!(
        matches!(view(&stage.hear(2)), Some(StageView::End { outcome, .. }) if outcome == "page_failed"),
        "the part of a page that cannot play ends"
    );
}

#[test]
fn who_leaves_before_the_start_sends_the_other_back_to_the_lobby() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    stage.queue(2);
    stage.hear(1);
    stage.hear(2);
    stage.handle(Event::Closed(ConnId(2)));
    let heard = stage.hear(1);
    assert!(
        matches!(view(&heard), Some(StageView::Lobby { .. })),
        "{heard:?}"
    );
    stage.queue(3);
    assert!(stage.plan(1).is_some() && stage.plan(3).is_some());
}

#[test]
fn who_leaves_before_the_start_again_and_again_meets_somebody_else() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    let token = stage.queue(2);
    for conn in [2, 3] {
        assert!(stage.plan(1).is_some(), "they are put together");
        stage.close(conn);
        stage.resume(conn + 1, &token, None);
    }
    assert_eq!(stage.plan(1), None, "and not a third time");
    stage.queue(5);
    assert!(stage.plan(1).is_some() && stage.plan(5).is_some());
}

#[test]
fn a_closed_tab_ends_the_episode_after_the_grace() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(1, upload(era, None));
    stage.close(2);
    stage.miss(1, era, 1);
    assert!(stage.hear(1).contains(&ServerMessage::Peer {
        era,
        seat: Seat(1),
        presence: Presence::Gone,
        left_ms: 15_000
    }));
    stage.wait(15 * SECOND - 1);
    assert!(stage.ended.is_empty());
    stage.wait(1);
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
    let heard = stage.hear(1);
    assert!(
        heard.iter().any(|message| matches!(
            message,
            ServerMessage::Ended {
                reason: EndReason::PartnerLeft,
                ..
            }
        )),
        "{heard:?}"
    );
    assert!(matches!(view(&heard), Some(StageView::Survey { .. })));
}

#[test]
fn a_lost_connection_within_the_grace_ends_nothing() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, token) = stage.playing();
    stage.close(2);
    assert_eq!(stage.hear(1), [], "peer to peer it plays on");
    stage.wait(2 * SECOND);
    stage.resume(3, &token, Some((era, 0)));
    let heard = stage.hear(3);
    assert!(
        heard.contains(&ServerMessage::Running {
            era,
            through: Tick(0),
            own: Tick(0),
            changes: Vec::new(),
        }),
        "{heard:?}"
    );
    stage.wait(30 * SECOND);
    assert!(stage.ended.is_empty());
    assert_eq!(stage.hear(1), [], "nothing has happened");
}

#[test]
fn the_end_waits_for_the_last_upload_of_the_other_page_but_not_for_ever() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(1, upload(era, Some(Tick(7))));
    stage.wait(2 * SECOND);
    assert!(stage.ended.is_empty(), "one page's word is not the end");
    stage.say(2, upload(era, None));
    stage.wait(3 * SECOND - 1);
    assert!(stage.ended.is_empty());
    stage.wait(1);
    assert_eq!(stage.ended, [EndReason::Played]);

    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(1, upload(era, Some(Tick(7))));
    stage.say(2, upload(era, Some(Tick(7))));
    assert_eq!(stage.ended, [EndReason::Played]);
}

#[test]
fn an_episode_in_which_nothing_moves_ends_as_technical() {
    let mut stage = Stage::new(Limits::default());
    stage.playing();
    stage.wait(70 * SECOND);
    assert_eq!(stage.ended, [EndReason::Technical]);
}

#[test]
fn the_place_is_stored_before_it_is_shown() {
    let mut stage = Stage::new(Limits::default());
    stage.enter(1, Entry::Open);
    let done = ClientMessage::StageDone {
        stage: 0,
        answers: Vec::new(),
        pages_ms: vec![1],
    };
    stage
        .arbiter
        .handle_event(0, Event::Message(ConnId(1), done));
    let first = stage.arbiter.poll_effect();
    assert!(
        matches!(first, Some(Effect::Store(Write::Place { .. }))),
        "{first:?}"
    );
    assert!(matches!(
        stage.arbiter.poll_effect(),
        Some(Effect::Send(_, ServerMessage::Stage { index: 1, .. }))
    ));
}

#[test]
fn a_full_lobby_and_a_full_study_say_so() {
    let full = ServerMessage::Refused { why: Refusal::Full };
    let mut stage = Stage::new(Limits {
        lobby: 0,
        ..Limits::default()
    });
    stage.queue(1);
    assert!(stage.hear(1).contains(&full));

    let mut stage = Stage::new(Limits {
        sessions: 1,
        ..Limits::default()
    });
    stage.enter(1, Entry::Open);
    stage.say(2, ClientMessage::make_hello(Entry::Open));
    assert_eq!(stage.hear(2), [full]);
}

#[test]
fn signals_and_datagrams_stay_within_the_episode() {
    let mut stage = Stage::new(Limits::default());
    stage.playing();
    stage.queue(3);
    stage.hear(3);
    stage.say(
        1,
        ClientMessage::Relay {
            to: Seat(1),
            bytes: vec![1],
        },
    );
    stage.say(
        1,
        ClientMessage::Relay {
            to: Seat(0),
            bytes: vec![2],
        },
    );
    stage.say(
        1,
        ClientMessage::Relay {
            to: Seat(9),
            bytes: vec![3],
        },
    );
    stage.say(
        3,
        ClientMessage::Signal {
            to: Seat(0),
            data: "x".into(),
        },
    );
    assert_eq!(
        stage.hear(2),
        [ServerMessage::Relay {
            from: Seat(0),
            bytes: vec![1]
        }]
    );
    assert_eq!(stage.hear(1), []);
}

#[test]
fn an_episode_whose_file_cannot_be_made_lets_everybody_on() {
    let mut stage = Stage::new(Limits::default());
    stage.disk = false;
    stage.queue(1);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    for conn in [1, 2] {
        let heard = stage.hear(conn);
        assert!(
            matches!(view(&heard), Some(StageView::Survey { .. })),
            "{heard:?}"
        );
    }
    let of_episode =
        |write: &&Write| matches!(write, Write::Episode(_) | Write::EpisodeEnded { .. });
    assert_eq!(
        stage.writes.iter().find(of_episode),
        None,
        "the database never knew it"
    );
}

/// One person and a cook.
const ALONE: &str = "timeline:
  - id: train
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 900, tick_hz: 10}
  - {id: after, type: instructions, pages: [page.md]}
";

#[test]
fn who_leaves_is_told_so_once_everything_that_they_played_is_durable() {
    // In the middle of the episode, and while the archive writes its end.
    for ended in [None, Some(Tick(7))] {
        let mut stage = Stage::read(ALONE, Limits::default());
        let token = stage.enter(1, Entry::Open);
        let era = stage.plan(1).unwrap().era;
        stage.ready(1, era, 0);
        stage.wait(4 * SECOND);
        stage.hear(1);
        stage.slow = true;
        stage.say(1, upload(era, ended));
        if ended.is_some() {
            assert!(stage.work_once());
            stage.handle(Event::Noted);
        }
        stage.say(1, ClientMessage::Leave);
        assert_eq!(view(&stage.hear(1)), None, "the disk has not answered");
        let stored = stage.writes.len();
        stage.slow = false;
        stage.handle(Event::Noted);
        let heard = stage.hear(1);
        assert!(
            matches!(view(&heard), Some(StageView::End { outcome, .. }) if outcome == "left_early"),
            "{heard:?}"
        );
        assert!(stage.writes.len() > stored);
        stage.restart();
        stage.resume(2, &token, None);
        assert!(matches!(view(&stage.hear(2)), Some(StageView::End { .. })));
    }
}

#[test]
fn who_leaves_and_closes_the_page_has_left() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, token) = stage.playing();
    stage.slow = true;
    stage.say(2, upload(era, None));
    stage.say(2, ClientMessage::Leave);
    stage.close(2);
    stage.slow = false;
    stage.resume(3, &token, None);
    assert!(matches!(view(&stage.hear(3)), Some(StageView::End { .. })));
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
}

#[test]
fn who_leaves_while_the_file_is_being_made_keeps_nobody() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    stage.queue(2);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    let links = vec![Link::Direct; 2];
    let rtt_us = vec![0; 2];
    let ready = ClientMessage::Ready {
        era,
        links,
        rtt_us,
        loss_permille: Vec::new(),
    };
    // Both before the disk has answered.
    stage
        .arbiter
        .handle_event(0, Event::Message(ConnId(2), ready));
    stage.say(2, ClientMessage::Leave);
    let heard = (stage.hear(1), stage.hear(2));
    assert!(
        matches!(view(&heard.0), Some(StageView::Survey { .. })),
        "{heard:?}"
    );
    assert!(
        matches!(view(&heard.1), Some(StageView::End { .. })),
        "{heard:?}"
    );
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
}

#[test]
fn uploads_beyond_what_the_disk_takes_are_asked_for_again() {
    let limits = Limits {
        uploads: 3,
        ..Limits::default()
    };
    let mut stage = Stage::new(limits);
    let (era, ..) = stage.playing();
    for _ in 0..9 {
        let upload = Event::Message(ConnId(1), upload(era, None));
        stage.arbiter.handle_event(stage.now_us, upload);
    }
    assert_eq!(stage.arbiter.effects.len(), 3);
    stage.drain();
    let (through, own) = (Tick(0), Tick(7));
    let archived = ServerMessage::Archived {
        era,
        through,
        own,
        agreed: Tick(0),
        notes: 0,
    };
    let again = ServerMessage::Running {
        era,
        through,
        own,
        changes: Vec::new(),
    };
    assert_eq!(stage.hear(1), [archived.clone(), archived.clone(), again]);
    stage.say(1, upload(era, None));
    assert_eq!(stage.hear(1), [archived]);
}

#[test]
fn a_signal_of_any_size_is_no_burden_for_the_partner() {
    let mut stage = Stage::new(Limits::default());
    stage.playing();
    for len in [16 * 1024, 16 * 1024 + 1] {
        stage.say(
            1,
            ClientMessage::Signal {
                to: Seat(1),
                data: "x".repeat(len),
            },
        );
    }
    assert!(
        matches!(&stage.hear(2)[..], [ServerMessage::Signal { data, .. }] if data.len() == 16 * 1024)
    );
}

#[test]
fn answers_that_are_too_long_leave_the_person_at_the_form() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    stage.say(1, upload(era, Some(Tick(7))));
    stage.say(2, upload(era, Some(Tick(7))));
    stage.hear(1);
    let mut answer = |name: &str, value: String| {
        let answers = vec![
            Answer {
                name: "fluency".into(),
                value: "4".into(),
            },
            Answer {
                name: name.into(),
                value,
            },
        ];
        stage.say(
            1,
            ClientMessage::StageDone {
                stage: 3,
                answers,
                pages_ms: vec![1],
            },
        );
        stage.hear(1)
    };
    let heard = answer("plan", format!("\"{}\"", "x".repeat(70_000)));
    assert!(
        matches!(view(&heard), Some(StageView::Survey { .. })),
        "{heard:?}"
    );
    // Ten thousand characters are what a study takes, in any script.
    let heard = answer("plan", format!("\"{}\"", "ü".repeat(10_000)));
    assert!(
        matches!(view(&heard), Some(StageView::End { .. })),
        "{heard:?}"
    );
}

#[test]
fn nothing_spins_while_the_last_rows_are_waited_for() {
    let mut stage = Stage::new(Limits {
        final_upload_window: std::time::Duration::from_secs(30),
        ..Limits::default()
    });
    let (era, ..) = stage.playing();
    stage.close(2);
    stage.miss(1, era, 1);
    stage.wait(14 * SECOND);
    // One page is away, and the replica has the end from the other.
    stage.arbiter.handle_event(
        stage.now_us,
        Event::Appended(
            era,
            Seat(0),
            Appended::Durable {
                through: Tick(7),
                own: Tick(7),
                over: true,
                last: false,
                notes: 0,
                agreed: Tick(0),
                recheck: None,
                diverged: false,
            },
        ),
    );
    stage.drain();
    let due = stage.arbiter.poll_timeout().unwrap();
    assert_eq!(
        due,
        (stage.now_us + 30 * SECOND, "last uploads"),
        "not the time of the page that is away"
    );
}

#[test]
fn the_file_of_an_episode_has_the_measures_of_adherence_of_its_stage() {
    let mut stage = Stage::read(
        "adherence: [{name: greedy, stage: play, policy: cook}, {name: lazy, stage: more, policy: idle}]
timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, vacant]}
  - {id: more, type: env, env: overcooked@2.0.0, players: [self, vacant]}
",
        Limits::default(),
    );
    stage.queue(1);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    let course = stage.shelf(era).header.course.clone().unwrap();
    let greedy = ("adherence@greedy".to_owned(), "cook".to_owned());
    assert_eq!(course.names, [greedy]);
}
