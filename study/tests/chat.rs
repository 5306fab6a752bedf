//! People who write to each other: at a chat stage, and beside an env stage.

use protocol::control::{Answer, StageView};
use study::assign::UnitAssignment;
use study::{EventRefusal, Progress, ProgressEvent, ProgressStep, StageKind, Study};

use crate::folder::{Folder, STUDY};

const CHAT: &str = "  - {id: talk, type: chat, min_s: 10, max_s: 60, file: how.md}\n  - id: play\n";

/// A good study with one thing changed.
fn changed(name: &str, from: &str, to: &str) -> Result<Study, Vec<String>> {
    let folder = Folder::new(&format!("chat-{name}"));
    assert_eq!(STUDY.matches(from).count(), 1, "`{from}` must stand once");
    folder.write("study.yaml", STUDY.replace(from, to));
    let told = |problems: Vec<study::Problem>| problems.iter().map(ToString::to_string).collect();
    study::load(&folder.path).map_err(told)
}

/// The faults of the study with a chat before its env stage, after a change of the chat.
fn faults(name: &str, from: &str, to: &str) -> Vec<String> {
    assert_eq!(CHAT.matches(from).count(), 1, "`{from}` must stand once");
    changed(name, "  - id: play\n", &CHAT.replace(from, to)).expect_err("a fault")
}

fn good(name: &str, from: &str, to: &str) -> Study {
    changed(name, from, to).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

#[test]
fn a_chat_is_something_that_the_group_of_a_lobby_does_together() {
    let study = good("whole", "  - id: play\n", CHAT);
    let StageKind::Chat(chat) = &study.timeline[2].kind else {
        panic!("a chat")
    };
    assert_eq!((chat.min_s, chat.max_s), (10, 60));
    assert_eq!(chat.writing.max_length, 500);
    assert!(study.is_together(2) && study.is_together(3));
    let view = study.timeline[2].view("en");
    assert!(matches!(view, StageView::Chat { page } if page.contains("<h1>")));
    // Without an env stage too: there is nothing else that the group does.
    let alone =
        STUDY[STUDY.find("  - id: play").unwrap()..STUDY.find("  - id: after").unwrap()].to_owned();
    assert!(changed("alone", &alone, "  - {id: talk, type: chat}\n").is_ok());
}

#[test]
fn the_members_of_a_group_count_a_chat_among_what_they_do_together() {
    let study = good("round", "  - id: play\n", CHAT);
    let mut at = Progress::new(&study, UnitAssignment::default());
    let done = |at: u16| ProgressEvent::StageDone { at, answers: &[] };
    let draw = UnitAssignment {
        seed: 7,
        ..UnitAssignment::default()
    };
    at.handle(&study, done(0)).unwrap();
    at.handle(
        &study,
        ProgressEvent::Matched {
            draw: &draw,
            seat: Some(0),
        },
    )
    .unwrap();
    let visit = at.group_visit(&study).expect("a group");
    assert_eq!((visit.number, visit.is_here, visit.group), (0, true, 7));
    let answers = [Answer {
        name: "x".into(),
        value: "1".into(),
    }];
    let wrong = ProgressEvent::StageDone {
        at: 2,
        answers: &answers,
    };
    let refused = at.handle(&study, wrong);
    assert_eq!(refused, Err(EventRefusal::UnknownItem { name: "x".into() }));
    assert_eq!(at.handle(&study, done(2)), Ok(ProgressStep::Enter(3)));
    assert_eq!(at.group_visit(&study).map(|visit| visit.number), Some(1));
}

#[test]
fn faults_of_a_chat_are_told_at_their_place() {
    assert_eq!(
        faults("min", "min_s: 10", "min_s: 61"),
        [
            "study.yaml:18:28: timeline[2].min_s: `min_s` is 61 and `max_s` is 60; `min_s` must not be above `max_s`"
        ]
    );
    assert_eq!(
        faults("long", "min_s: 10", "max_length: 5000"),
        [
            "study.yaml:18:40: timeline[2].max_length: expected a whole number from 1 to 2000 characters, found `5000`"
        ]
    );
    assert_eq!(
        faults("names", "min_s: 10", "names: [Red, Blue, Green]"),
        [
            "study.yaml:18:28: timeline[2].names: 3 names, but the groups of `lobby` have 2 places; write one name a place"
        ]
    );
    assert_eq!(
        faults("key", "min_s: 10", "members: group"),
        [
            "study.yaml:18:28: timeline[2].members: unknown key; known here: id, type, file, min_s, max_s, max_length, names, \
             for_each, repeat, when"
        ]
    );
}

#[test]
fn a_chat_without_a_group_is_a_fault() {
    let found = changed(
        "early",
        "  - id: lobby\n",
        "  - {id: talk, type: chat}\n  - id: lobby\n",
    );
    assert_eq!(
        found.expect_err("a fault"),
        [
            "study.yaml:12:16: timeline[1].type: a group writes here, but no lobby comes before this stage, so nobody would \
             ever have a partner; add one: `- {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}`"
        ]
    );
    let found = changed(
        "single",
        "players: [self, partner]",
        "players: [self, {policy: cook}]\n    chat: true",
    );
    let found = found.expect_err("faults");
    assert_eq!(
        found.last().map(String::as_str),
        Some(
            "study.yaml:22:5: timeline[2].chat: nobody is there to write to, as the participant plays alone; add `partner` to \
             `players`, name an `assistant` with a language model, or leave this out"
        )
    );
}

#[test]
fn people_write_beside_a_game_as_the_stage_says() {
    let with = |name: &str, chat: &str| {
        let study = good(
            name,
            "    window: 8\n",
            &format!("    window: 8\n    chat: {chat}\n"),
        );
        study.timeline[2].kind.writing().cloned()
    };
    assert_eq!(with("off", "false"), None);
    assert_eq!(with("on", "true").map(|chat| chat.max_length), Some(500));
    let own = with("own", "{max_length: 80, names: [{en: Red, de: Rot}, Blue]}").expect("a chat");
    assert_eq!(own.max_length, 80);
    assert_eq!(own.names("de"), ["Rot", "Blue"]);
}

#[test]
fn an_ai_partner_that_is_to_pass_for_a_person_cannot_be_in_a_chat() {
    let told = "is not to be told from people, but does not write, so people would find out; write `disclose: true` there, or \
                leave the chat out";
    let text = STUDY.replace(
        "bot: {policy: cook}",
        "bot: {policy: cook, disclose: false}",
    );
    for (name, from, to, place, whose) in [
        (
            "stage",
            "  - id: play\n",
            CHAT,
            "18:16: timeline[2].type",
            "of `lobby`",
        ),
        (
            "beside",
            "    window: 8\n",
            "    window: 8\n    chat: true\n",
            "25:5: timeline[2].chat",
            "of `lobby`",
        ),
    ] {
        let folder = Folder::new(&format!("chat-secret-{name}"));
        folder.write("study.yaml", text.replace(from, to));
        let found = study::load(&folder.path).expect_err("a fault");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [format!("study.yaml:{place}: the AI partner {whose} {told}")]
        );
    }
    let own = "{grace_s: 15, then: bot, bot: {policy: cook, disclose: false}}";
    let found = changed(
        "own",
        "on_disconnect: {grace_s: 15}",
        &format!("on_disconnect: {own}\n    chat: true"),
    );
    let found = found.expect_err("a fault");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].contains("the AI partner of this stage"),
        "{found:?}"
    );
}
