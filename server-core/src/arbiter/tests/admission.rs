//! Admission: entry, places, and the time for which a session holds one.

use protocol::control::{Draft, Refusal};
use study::Outcome;

use super::*;

const MINUTE: u64 = 60 * SECOND;

/// A study of people who only read, with this quota.
fn study(quota: u32) -> String {
    format!(
        "recruitment: {{provider: prolific, minutes: 10}}
design: {{quota: {quota}}}
timeline:
  - {{id: first, type: instructions, pages: [page.md]}}
  - {{id: read, type: instructions, pages: [page.md]}}
  - {{id: thanks, type: end, file: page.md}}
"
    )
}

/// Somebody from Prolific, by a number.
fn person(number: u64) -> Entry {
    Entry::Sent(vec![("PROLIFIC_PID".into(), format!("{number:024x}"))])
}

fn outcome(messages: &[ServerMessage]) -> Option<String> {
    match view(messages) {
        Some(StageView::End { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    }
}

fn refusal(messages: &[ServerMessage]) -> Option<Refusal> {
    messages.iter().find_map(|message| match message {
        ServerMessage::Refused { why } => Some(*why),
        _ => None,
    })
}

fn resume(token: &str) -> Entry {
    Entry::Resume {
        token: token.to_owned(),
        playing: None,
    }
}

impl Stage {
    /// Lets a page enter; returns its token.
    fn token_of(&mut self, conn: u64, entry: Entry) -> String {
        self.say(conn, ClientMessage::make_hello(entry));
        match self.sent[&ConnId(conn)].first() {
            Some(ServerMessage::Welcome { session, .. }) => session.clone(),
            other => panic!("not let in: {other:?}"),
        }
    }

    /// Lets a page try to enter; returns what it reads.
    fn knock(&mut self, conn: u64, entry: Entry) -> Vec<ServerMessage> {
        self.say(conn, ClientMessage::make_hello(entry));
        self.hear(conn)
    }

    /// Lets a page finish a stage; returns what it reads then.
    fn pass(&mut self, conn: u64, stage: u16) -> Vec<ServerMessage> {
        self.say(
            conn,
            ClientMessage::StageDone {
                stage,
                answers: Vec::new(),
                pages_ms: vec![1],
            },
        );
        self.hear(conn)
    }
}

#[test]
fn invented_identifiers_close_no_quota_also_while_their_pages_are_open() {
    let mut stage = Stage::read(&study(2), Limits::default());
    for conn in 0..20 {
        assert_eq!(outcome(&stage.knock(conn, person(conn))), None);
    }
    for conn in 10..20 {
        stage.close(conn);
    }
    for conn in [30, 31] {
        assert_eq!(outcome(&stage.knock(conn, person(conn))), None);
        assert_eq!(outcome(&stage.pass(conn, 0)), None, "there is a place");
        assert_eq!(outcome(&stage.pass(conn, 1)).as_deref(), Some("completed"));
    }
    let late = stage.knock(32, person(32));
    assert_eq!(outcome(&late).as_deref(), Some("study_full"));
}

#[test]
fn who_is_left_without_a_place_may_come_back_and_begin_when_one_is_free() {
    let mut stage = Stage::read(&study(1), Limits::default());
    for conn in [1, 2] {
        assert_eq!(outcome(&stage.knock(conn, person(conn))), None);
    }
    assert_eq!(outcome(&stage.pass(1, 0)), None);
    let full = stage.pass(2, 0);
    assert_eq!(outcome(&full).as_deref(), Some("study_full"));
    let Some(StageView::End { page, .. }) = view(&full) else {
        panic!("the last page")
    };
    assert!(page.contains("at the moment"), "{page}");
    let third = stage.knock(3, person(3));
    assert_eq!(outcome(&third).as_deref(), Some("study_full"));
    for conn in [4, 5] {
        let again = stage.knock(conn, person(conn - 2));
        assert_eq!(outcome(&again).as_deref(), Some("study_full"), "still");
    }
    stage.say(1, ClientMessage::Leave);
    stage.restart();
    assert_eq!(outcome(&stage.knock(6, person(3))), None, "the first stage");
    assert_eq!(outcome(&stage.pass(6, 0)), None);
    assert_eq!(outcome(&stage.pass(6, 1)).as_deref(), Some("completed"));
    let late = stage.knock(7, person(2));
    assert_eq!(outcome(&late).as_deref(), Some("study_full"));
    stage.restart();
    let done = stage.knock(8, person(3));
    assert_eq!(outcome(&done).as_deref(), Some("completed"));
}

impl Stage {
    /// Two people whose episode is to begin, and the file of the episode is being made; a bot takes the seat of somebody
    /// who goes.
    fn beginning() -> (Self, Era) {
        let mut stage = Self::read(
            "design: {unit: group, quota: 1}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: bot, bot: {policy: cook}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 60, tick_hz: 10}
    on_disconnect: {grace_s: 2, then: bot, bot: {policy: cook}}
  - {id: thanks, type: end, file: page.md}
",
            Limits::default(),
        );
        for conn in [1, 2] {
            stage.enter(conn, Entry::Open);
        }
        let era = stage.plan(1).unwrap().era;
        stage.slow = true;
        stage.ready(1, era, 0);
        stage.ready(2, era, 0);
        (stage, era)
    }
}

#[test]
fn who_leaves_while_the_log_is_made_is_in_the_log_and_in_the_database() {
    let (mut stage, era) = Stage::beginning();
    stage.say(2, ClientMessage::Leave);
    stage.slow = false;
    stage.drain();
    let stored = stage.writes.iter().find_map(|write| match write {
        Write::Episode(row) => Some(&row.participants),
        _ => None,
    });
    let logged = &stage.shelf(era).header.participants;
    assert!(
        logged.iter().all(|name| name.starts_with("P-")),
        "{logged:?}"
    );
    assert_eq!(stored, Some(logged));
}

#[test]
fn who_goes_before_the_first_episode_has_a_place_with_the_group() {
    let (mut stage, era) = Stage::beginning();
    stage.close(2);
    stage.slow = false;
    stage.drain();
    stage.wait(10 * SECOND);
    let ended = stage.writes.iter().filter_map(|write| match write {
        Write::Place { progress, .. } => progress.outcome(&stage.study),
        _ => None,
    });
    let ended: Vec<Outcome> = ended.collect();
    assert!(!ended.contains(&Outcome::StudyFull), "{ended:?}");
    assert!(stage.shelves.contains_key(&era.0), "they began");
}

#[test]
fn sessions_that_passed_no_stage_and_were_left_do_not_fill_the_server() {
    let limits = Limits {
        sessions: 10,
        ..Limits::default()
    };
    let mut stage = Stage::read(&study(100), limits);
    stage.wait(SECOND);
    stage.knock(0, person(0));
    stage.pass(0, 0);
    for conn in 1..20 {
        assert_eq!(refusal(&stage.knock(conn, person(conn))), None);
        stage.close(conn);
    }
    let full = Some(Refusal::Full);
    for conn in 20..29 {
        assert_eq!(refusal(&stage.knock(conn, person(conn))), None);
    }
    assert_eq!(
        refusal(&stage.knock(40, person(40))),
        full,
        "they are there"
    );
    assert_eq!(refusal(&stage.knock(41, person(1))), None, "known already");
}

#[test]
fn an_abandoned_tab_frees_its_place_after_three_times_the_minutes() {
    let mut stage = Stage::read(&study(2), Limits::default());
    stage.wait(SECOND);
    for conn in [1, 2] {
        stage.knock(conn, person(conn));
        assert_eq!(outcome(&stage.pass(conn, 0)), None);
    }
    // One tab is closed, and nobody sits in front of the other.
    stage.close(1);
    stage.wait(29 * MINUTE);
    let full = Some("study_full");
    assert_eq!(outcome(&stage.knock(3, person(3))).as_deref(), full);
    stage.wait(2 * MINUTE);
    assert_eq!(outcome(&stage.hear(2)).as_deref(), Some("timed_out"));
    for conn in [4, 5] {
        assert_eq!(outcome(&stage.knock(conn, person(conn))), None);
        assert_eq!(outcome(&stage.pass(conn, 0)), None);
    }
    let again = stage.knock(6, person(1));
    assert_eq!(outcome(&again).as_deref(), Some("timed_out"));
}

#[test]
fn whoever_does_something_or_has_not_begun_is_not_timed_out() {
    let mut stage = Stage::read(&study(2), Limits::default());
    stage.wait(SECOND);
    stage.knock(1, person(1));
    stage.pass(1, 0);
    stage.knock(2, person(2));
    stage.close(2);
    for _ in 0..10 {
        stage.wait(20 * MINUTE);
        stage.say(1, ClientMessage::Here);
    }
    assert_eq!(outcome(&stage.hear(1)), None);
    assert_eq!(outcome(&stage.knock(3, person(2))), None, "the first stage");
}

#[test]
fn people_who_read_at_the_same_time_are_in_balance() {
    let mut stage = Stage::read(
        "recruitment: {provider: prolific}
design: {between: {tone: {levels: [warm, cool]}}, quota: 10}
timeline:
  - {id: first, type: instructions, pages: [page.md]}
  - {id: more, type: instructions, pages: [page.md], when: tone == 'warm'}
  - {id: thanks, type: end, file: page.md}
",
        Limits::default(),
    );
    for conn in 0..6 {
        stage.knock(conn, person(conn));
    }
    let levels = stage.writes.iter().filter_map(|write| match write {
        Write::NewSession { progress, .. } => {
            Some(progress.assignment().own.levels["tone"].clone())
        }
        _ => None,
    });
    let warm = levels.filter(|level| level == "warm").count();
    assert_eq!(warm, 3);
}

/// A study with a form, for people from Prolific.
const FORM: &str = "recruitment: {provider: prolific}
timeline:
  - id: form
    type: survey
    surveyjs: {elements: [{type: comment, name: why}]}
  - {id: thanks, type: end, file: page.md}
";

fn draft(text: &str) -> ClientMessage {
    let draft = protocol::control::Draft {
        answers: vec![Answer {
            name: "why".into(),
            value: format!("\"{text}\""),
        }],
        pages_ms: vec![1],
        ..Default::default()
    };
    ClientMessage::Draft {
        number: 1,
        stage: 0,
        draft,
    }
}

/// The text of the draft that a stage comes with.
fn shown(messages: &[ServerMessage]) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Stage { draft, .. } => Some(draft.clone()?.answers[0].value.clone()),
        _ => None,
    })
}

#[test]
fn a_draft_is_not_shown_to_whoever_knows_the_identifier_alone() {
    let mut stage = Stage::read(FORM, Limits::default());
    stage.wait(SECOND);
    stage.knock(1, person(7));
    stage.say(1, draft("a secret"));
    let token = stage.token_of(2, person(7));
    assert_eq!(shown(&stage.hear(2)), None);
    stage.restart();
    assert_eq!(shown(&stage.knock(3, resume(&token))), None, "a reload");
    assert_eq!(shown(&stage.knock(4, person(7))), None);
}

#[test]
fn the_first_tab_plays_on_with_what_was_typed_there_however_it_came() {
    for entry in [person(7), Entry::Open] {
        let mut stage = Stage::read(FORM, Limits::default());
        stage.wait(SECOND);
        let first = stage.token_of(1, entry.clone());
        stage.say(1, draft("a secret"));
        let again = match entry {
            Entry::Open => resume(&first),
            entry => entry,
        };
        stage.token_of(2, again);
        assert!(stage.hear(1).contains(&ServerMessage::Superseded));
        let text = Some("\"a secret\"".to_owned());
        assert_eq!(shown(&stage.knock(3, resume(&first))), text);
        assert!(stage.hear(2).contains(&ServerMessage::Superseded));
        stage.restart();
        assert_eq!(shown(&stage.knock(4, resume(&first))), text);
    }
}

/// The participants that were let in and not forgotten.
fn known(stage: &Stage) -> Vec<String> {
    let mut known = Vec::new();
    for write in &stage.writes {
        match write {
            Write::NewSession { participant, .. } => known.push(participant.clone()),
            Write::Forget { participant } => known.retain(|known| known != participant),
            _ => {}
        }
    }
    known
}

#[test]
fn who_passes_no_stage_is_forgotten_after_minutes_and_may_begin_anew() {
    let mut stage = Stage::new(Limits::default());
    stage.wait(SECOND);
    stage.arbiter.sessions.add_link("link");
    let tokens: Vec<String> = (1..=2).map(|conn| stage.enter(conn, Entry::Open)).collect();
    let invited = stage.enter(3, Entry::Invite("link".into()));
    stage.queue(4);
    let before = known(&stage);
    for conn in 2..=4 {
        stage.close(conn);
    }
    stage.wait(5 * 60 * SECOND - 1);
    assert_eq!(known(&stage).len(), 4);
    stage.wait(1);
    assert_eq!(
        known(&stage),
        [before[0].clone(), before[3].clone()],
        "one whose page is open, and one who has passed a stage"
    );
    assert_eq!(stage.arbiter.sessions.iter().count(), 2);
    for token in [&tokens[1], &invited] {
        let unknown = Entry::Resume {
            token: token.clone(),
            playing: None,
        };
        stage.say(60, ClientMessage::make_hello(unknown));
        let why = Refusal::UnknownLink;
        assert_eq!(stage.hear(60), [ServerMessage::Refused { why }]);
    }
    stage.resume(62, &tokens[0], None);
    stage.enter(61, Entry::Invite("link".into()));
    assert_eq!(known(&stage).len(), 3, "the link is good for once again");
}

#[test]
fn who_typed_something_before_the_first_stage_is_passed_finds_it_the_same_day() {
    let mut stage = Stage::read(
        "timeline:
  - {id: who, type: survey, surveyjs: {elements: [{type: text, name: town}]}}
  - {id: thanks, type: end, file: page.md}
",
        Limits::default(),
    );
    stage.wait(SECOND);
    stage.say(1, ClientMessage::make_hello(Entry::Open));
    let Some(ServerMessage::Welcome { session, .. }) = stage.hear(1).into_iter().next() else {
        panic!("not let in")
    };
    let draft = Draft {
        answers: vec![Answer {
            name: "town".into(),
            value: "\"Atlantis\"".into(),
        }],
        ..Draft::default()
    };
    let number = 1;
    stage.say(
        1,
        ClientMessage::Draft {
            number,
            stage: 0,
            draft,
        },
    );
    stage.close(1);
    stage.wait(23 * 3_600 * SECOND);
    let back = Entry::Resume {
        token: session.clone(),
        playing: None,
    };
    stage.say(2, ClientMessage::make_hello(back.clone()));
    let found = stage.hear(2).into_iter().find_map(|message| match message {
        ServerMessage::Stage { draft, .. } => draft,
        _ => None,
    });
    assert_eq!(found.map(|draft| draft.answers.len()), Some(1));
    stage.close(2);
    stage.wait(24 * 3_600 * SECOND);
    assert_eq!(known(&stage), Vec::<String>::new());
}

#[test]
fn numbers_of_sessions_are_not_given_twice_also_after_a_restart() {
    let mut stage = Stage::new(Limits::default());
    stage.wait(SECOND);
    stage.enter(1, Entry::Open);
    stage.queue(2);
    stage.close(1);
    stage.close(2);
    stage.wait(6 * 60 * SECOND);
    stage.restart();
    let mut ids: Vec<usize> = stage.arbiter.sessions.ids().map(|who| who.0).collect();
    assert_eq!(ids, [1]);
    stage.enter(3, Entry::Open);
    ids = stage.arbiter.sessions.ids().map(|who| who.0).collect();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn a_first_message_that_comes_late_does_not_supersede_the_page_that_sent_it() {
    let mut stage = Stage::read(&study(2), Limits::default());
    let token = stage.token_of(1, person(1));
    let by_key = |of: u8| {
        let mut hello = ClientMessage::make_hello(resume(&token));
        if let ClientMessage::Hello { key, .. } = &mut hello {
            *key = [of; 32];
        }
        hello
    };
    // The page gave connection 2 up, and came over connection 3.
    stage.say(3, by_key(7));
    stage.hear(3);
    stage.say(2, by_key(7));
    assert_eq!(stage.hear(3), []);
    assert_eq!(stage.hear(2), []);
    assert!(stage.closed.contains(&ConnId(2)) && !stage.closed.contains(&ConnId(3)));
    // Another page is another page.
    stage.say(4, by_key(8));
    assert_eq!(stage.hear(3), [ServerMessage::Superseded]);
}

#[test]
fn of_who_withdrew_no_identifier_is_stored_again() {
    let dir = tempfile::tempdir().unwrap();
    let text = "format: 1
study: {id: away, version: 1.0.0, title: Away, contact: lab@example.edu, on_withdraw: erase_own}
recruitment: {provider: prolific, minutes: 10}
timeline:
  - {id: first, type: debrief, file: page.md, allow_withdraw: true}
  - {id: thanks, type: end, file: page.md}
";
    std::fs::write(dir.path().join("study.yaml"), text).unwrap();
    std::fs::write(dir.path().join("page.md"), "# Page\n").unwrap();
    let (study, facts) = catalog::read_study(dir.path()).unwrap();
    let mut stage = Stage::with(study, facts, Limits::default());
    let person = |session: u8| {
        let of = |name: &str, value: String| (name.to_owned(), value);
        Entry::Sent(vec![
            of("PROLIFIC_PID", format!("{:024x}", 7)),
            of("SESSION_ID", format!("{session:024x}")),
        ])
    };
    let count = |stage: &Stage| {
        let is_it = |write: &&Write| matches!(write, Write::Identity { .. });
        stage.writes.iter().filter(is_it).count()
    };
    stage.token_of(1, person(1));
    stage.token_of(2, person(2));
    assert_eq!(
        count(&stage),
        1,
        "a newer page has a newer session of Prolific"
    );
    let withdraw = protocol::control::Answer {
        name: "withdraw".into(),
        value: "true".into(),
    };
    stage.say(
        2,
        ClientMessage::StageDone {
            stage: 0,
            answers: vec![withdraw],
            pages_ms: Vec::new(),
        },
    );
    let is_withdrawal = |write: &Write| matches!(write, Write::Withdrawal { .. });
    assert!(stage.writes.iter().any(is_withdrawal));
    stage.token_of(3, person(3));
    assert_eq!(count(&stage), 1);
}

#[test]
fn every_identifier_in_a_link_of_prolific_has_the_form_of_prolific() {
    let dir = tempfile::tempdir().unwrap();
    let text = "format: 1
study: {id: sent, version: 1.0.0, title: Sent, contact: lab@example.edu}
recruitment: {provider: prolific, minutes: 10}
timeline:
  - {id: thanks, type: end, file: page.md}
";
    std::fs::write(dir.path().join("study.yaml"), text).unwrap();
    std::fs::write(dir.path().join("page.md"), "# Page\n").unwrap();
    let (study, facts) = catalog::read_study(dir.path()).unwrap();
    let mut stage = Stage::with(study, facts, Limits::default());
    let fine = "60A1b2c3d4e5f60718293a4b";
    let mut come = |conn: u64, study: &str, session: &str| {
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let entry = Entry::Sent(vec![
            of("PROLIFIC_PID", &format!("{conn:024x}")),
            of("STUDY_ID", study),
            of("SESSION_ID", session),
        ]);
        stage.say(conn, ClientMessage::make_hello(entry));
        refusal(&stage.hear(conn))
    };
    assert_eq!(come(1, fine, fine), None);
    assert_eq!(come(2, " ", fine), None, "what is missing is not wrong");
    let wrong = ["st1", "{{%STUDY_ID%}}", "=0a1b2c3d4e5f60718293a4b", "0a"];
    for (number, wrong) in (0..).zip(wrong) {
        let refused = Some(Refusal::Incomplete);
        assert_eq!(come(10 + number, wrong, fine), refused, "{wrong}");
        assert_eq!(come(20 + number, fine, wrong), refused, "{wrong}");
    }
}
