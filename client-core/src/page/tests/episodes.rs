//! A page in an episode, and after it.

use super::*;
use crate::stage::OUTCOME_US;

/// A page in an episode whose world is there.
fn playing() -> Shell {
    let mut shell = Shell::welcomed();
    shell.hears(stage(3, StageView::Env, None));
    shell.hears(ServerMessage::Match(plan(5, false)));
    assert!(shell.other.contains(&PageEffect::LoadWorld(Era(5))));
    let world = env_core::envs::open("goal_seeking", r#"{"seats": 2}"#).unwrap();
    shell.does(|page, now_us| page.handle_world(now_us, Era(5), world, Partners::default()));
    shell.takes_sent();
    shell.events.clear();
    shell
}

#[test]
fn an_episode_goes_on_through_a_lost_connection() {
    let mut shell = playing();
    let playing = Some((Era(5), Life(0)));
    shell.loses();
    shell.opens();
    let token = "token".to_owned();
    assert_eq!(entry(&shell.takes_sent()), Entry::Resume { token, playing });
    shell.connect();
    shell.hears(stage(3, StageView::Env, None));
    assert!(shell.page.peer().is_some(), "told again");
    shell.hears(survey(4));
    assert!(shell.page.peer().is_none());
    assert!(shell.has_event(|event| matches!(event, PageEvent::EpisodeLeft(_))));
}

#[test]
fn the_outcome_stays_until_it_is_read_or_its_time_is_up() {
    for reads in [true, false] {
        let mut shell = playing();
        shell.hears(ended(4));
        assert!(!shell.page.is_judged(), "that is another episode");
        shell.hears(ended(5));
        assert!(shell.has_event(|event| matches!(event, PageEvent::Judged(_))));
        shell.hears(stage(4, StageView::Lobby { timeout_s: 9 }, None));
        let absent = Vec::new();
        shell.hears(ServerMessage::Missing {
            absent,
            of: 2,
            left_ms: 5,
        });
        assert_eq!(shell.shows(), 3);
        if reads {
            shell.does(Page::handle_outcome_read);
        } else {
            shell.passes(OUTCOME_US - S);
            assert_eq!(shell.shows(), 3);
            shell.passes(2 * S);
        }
        assert_eq!(shell.shows(), 4);
        assert!(
            shell.has_event(|event| matches!(event, PageEvent::Missing { .. })),
            "told after its stage"
        );
        assert!(shell.page.peer().is_none());
    }
}

#[test]
fn a_match_that_is_made_while_an_outcome_is_read_begins_after_it() {
    let mut shell = playing();
    shell.hears(ended(5));
    shell.hears(stage(3, StageView::Env, None));
    shell.hears(ServerMessage::Match(plan(6, false)));
    let era = |shell: &Shell| shell.page.peer().map(|peer| peer.plan().era);
    assert_eq!(era(&shell), Some(Era(5)));
    shell.does(Page::handle_outcome_read);
    assert_eq!(era(&shell), Some(Era(6)));
    assert!(!shell.page.is_judged());
}

#[test]
fn an_episode_takes_a_page_in_again_and_another_one_begins_anew() {
    let mut shell = playing();
    shell.hears(ServerMessage::Match(plan(5, true)));
    let is_return =
        |event: &PageEvent<Native>| matches!(event, PageEvent::EpisodeBegan { is_return: true });
    assert!(shell.has_event(is_return));
    shell.hears(ServerMessage::Match(plan(6, false)));
    let is_new =
        |event: &PageEvent<Native>| matches!(event, PageEvent::EpisodeBegan { is_return: false });
    assert!(shell.has_event(is_new));
    let world = env_core::envs::open("goal_seeking", r#"{"seats": 2}"#).unwrap();
    shell.does(|page, now_us| page.handle_world(now_us, Era(5), world, Partners::default()));
    assert_eq!(
        shell.page.peer().unwrap().status(Now {
            page_us: 0,
            server_us: 0,
            is_set: false
        }),
        peer::Status::Loading,
        "that was the world of the episode before"
    );
}

#[test]
fn what_the_server_says_of_partners_is_told_of_the_own_episode_alone() {
    let mut shell = playing();
    let gone = |era| ServerMessage::Peer {
        era: Era(era),
        seat: Seat(1),
        presence: Presence::Gone,
        left_ms: 0,
    };
    let is_it = |event: &PageEvent<Native>| matches!(event, PageEvent::PresenceChanged { .. });
    shell.hears(gone(4));
    assert!(!shell.has_event(is_it));
    shell.hears(gone(5));
    assert!(shell.has_event(is_it));
}

#[test]
fn what_is_written_beside_an_episode_is_sent_until_it_is_there_and_the_rest_is_stored() {
    let mut shell = playing();
    shell.hears(chat_view(0));
    shell.does(|page, now_us| page.handle_typed(now_us, "hel"));
    shell.passes(S);
    assert!(matches!(
        shell.takes_sent()[..],
        [.., ClientMessage::Draft { stage: 3, .. }]
    ));
    assert!(shell.does(|page, now_us| page.handle_write(now_us, "hello".to_owned())));
    let said = |sent: &[ClientMessage]| {
        let mut sent = sent.iter();
        sent.any(|message| matches!(message, ClientMessage::WriteToGroup { number: 0, text, .. } if text == "hello"))
    };
    assert!(said(&shell.takes_sent()));
    shell.loses();
    shell.connect();
    shell.takes_sent();
    shell.hears(chat_view(0));
    assert!(said(&shell.takes_sent()), "the server does not have it");
    shell.hears(ServerMessage::ChatMessage {
        group_visit: 3,
        message: ChatMessage {
            place: Seat(0),
            number: 0,
            at_us: 1,
            text: "hello".to_owned(),
        },
    });
    shell.takes_sent();
    shell.passes(S);
    let empty = shell.takes_sent();
    assert!(
        empty.iter().any(|message| matches!(message, ClientMessage::Draft { draft, .. } if draft.answers.is_empty())),
        "{empty:?}"
    );
    shell.hears(ended(5));
    assert!(!shell.does(|page, now_us| page.handle_write(now_us, "late".to_owned())));
}

#[test]
fn another_page_finds_what_was_typed_and_not_sent_in_its_field() {
    let mut shell = Shell::welcomed();
    let before = Draft {
        answers: vec![
            Answer {
                name: "0".to_owned(),
                value: "\"sent\"".to_owned(),
            },
            Answer {
                name: "1".to_owned(),
                value: "\"typed\"".to_owned(),
            },
        ],
        ..Draft::default()
    };
    let page = String::new();
    shell.hears(stage(3, StageView::Chat { page }, Some(before)));
    assert!(shell.page.has_chat_field());
    shell.hears(chat_view(1));
    assert!(
        shell.has_event(|event| matches!(event, PageEvent::TypedRestored(text) if text == "typed"))
    );
    shell.takes_sent();
    shell.passes(S);
    assert!(
        matches!(&shell.takes_sent()[..], [ClientMessage::Draft { draft, .. }] if draft.answers.len() == 1),
        "what was sent is no draft any more"
    );
}

/// A page in an episode that runs.
fn started() -> Shell {
    let mut shell = playing();
    let us = shell.now_us;
    shell.hears(ServerMessage::Clock {
        sent_us: us,
        server_us: us,
    });
    shell.hears(ServerMessage::Start {
        era: Era(5),
        t0_us: us,
        input_delay: 0,
    });
    shell.hears(ServerMessage::Running {
        era: Era(5),
        through: Tick(0),
        own: Tick(0),
        changes: Vec::new(),
    });
    shell.passes(S);
    shell.takes_sent();
    shell
}

/// The keys of the messages that a page sent.
fn keys_sent(sent: &[ClientMessage]) -> usize {
    let uploads = sent.iter().filter_map(|message| match message {
        ClientMessage::Upload(upload) => upload.timing.as_ref(),
        _ => None,
    });
    uploads.map(|timing| timing.keys.len()).sum()
}

#[test]
fn a_key_pressed_just_before_the_page_goes_is_uploaded_however_it_goes() {
    type Goes = fn(&mut Page<Native>, u64);
    let ways: [(&str, Goes); 2] = [
        ("closed", Page::handle_leaving),
        ("out of sight", |page, now_us| {
            page.handle_hidden(now_us, true)
        }),
    ];
    for (name, goes) in ways {
        let mut shell = started();
        shell.does(|page, now_us| {
            page.with_peer(now_us, |peer, now| {
                peer.handle_key(now, 1, true, now_us, Some(1))
            })
        });
        assert_eq!(keys_sent(&shell.takes_sent()), 0, "a frame may answer it");
        shell.does(goes);
        assert_eq!(keys_sent(&shell.takes_sent()), 1, "{name}");
    }
}
