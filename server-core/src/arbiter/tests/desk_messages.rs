//! Messages between participants and researchers: who reads what, and what stays.

use protocol::control::{Exchange, MessageRefusal};

use super::*;
use crate::desk::{Audience, CheckText, DeskMessageText, DeskOrder, OrderRefused};

/// People who read, with these further lines of the block `study`.
fn reading(lines: &str) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "format: 1
study: {{id: groups, version: 1.0.0, title: Groups, contact: lab@example.edu{lines}}}
timeline:
  - {{id: first, type: instructions, pages: [page.md]}}
  - {{id: read, type: instructions, pages: [page.md]}}
  - {{id: bye, type: debrief, file: page.md, allow_withdraw: true}}
  - {{id: thanks, type: end, file: page.md}}
"
    );
    std::fs::write(dir.path().join("study.yaml"), text).unwrap();
    std::fs::write(dir.path().join("page.md"), "# Page\n").unwrap();
    let (study, facts) = catalog::read_study(dir.path()).unwrap();
    let mut stage = Stage::with(study, facts, Limits::default());
    stage.arbiter.has_desk = true;
    stage
}

impl Stage {
    fn write_desk(&mut self, conn: u64, number: u32, text: &str) {
        let text = text.to_owned();
        self.say(conn, ClientMessage::WriteToDesk { number, text });
    }

    /// The exchange as a page last got it.
    fn exchange(&mut self, conn: u64) -> Option<Exchange> {
        let told = self.hear(conn).into_iter().rev();
        let mut told = told.filter_map(|message| match message {
            ServerMessage::Exchange(exchange) => Some(exchange),
            _ => None,
        });
        told.next()
    }

    fn order_by(&mut self, order: DeskOrder) -> Result<(), OrderRefused> {
        let done = self.arbiter.handle_order(self.now_us, "Ada", order);
        self.drain();
        done
    }

    fn send_to(&mut self, to: Audience, text: &str) -> Result<(), OrderRefused> {
        let message = DeskMessageText {
            text: text.to_owned(),
            check: None,
        };
        self.order_by(DeskOrder::WriteMessage { to, message })
    }

    fn ask(&mut self, who: &str, check: CheckText) -> Result<(), OrderRefused> {
        let message = DeskMessageText {
            text: "Which colour?".to_owned(),
            check: Some(check),
        };
        let to = Audience::Participant(who.to_owned());
        self.order_by(DeskOrder::WriteMessage { to, message })
    }

    fn pseudonym(&self, number: usize) -> String {
        let mut sessions = self.arbiter.sessions.iter();
        sessions.nth(number).unwrap().participant.clone()
    }

    fn come_again(&mut self, conn: u64, token: &str) {
        let entry = Entry::Resume {
            token: token.to_owned(),
            playing: None,
        };
        self.say(conn, ClientMessage::make_hello(entry));
    }

    fn goes_on(&mut self, conn: u64, stage: u16, answers: Vec<Answer>) {
        self.say(
            conn,
            ClientMessage::StageDone {
                stage,
                answers,
                pages_ms: vec![1],
            },
        );
    }
}

fn texts(exchange: &Exchange) -> Vec<(bool, bool, &str)> {
    let messages = exchange.messages.iter();
    messages
        .map(|it| (it.is_own, it.is_read, it.text.as_str()))
        .collect()
}

#[test]
fn both_sides_see_what_is_written_and_read_also_after_a_restart() {
    let mut stage = reading("");
    let token = stage.enter_reading(1);
    let offered = stage.exchange(1).unwrap();
    assert!(offered.is_open && offered.messages.is_empty());
    stage.write_desk(1, 0, "  Nothing moves \u{7}here ");
    let name = stage.pseudonym(0);
    let told = stage.exchange(1).unwrap();
    assert_eq!(texts(&told), [(true, false, "Nothing moves here")]);
    assert_eq!(told.next, 1);
    let seen = stage.arbiter.make_overview(stage.now_us);
    assert_eq!(
        (seen.exchanges[0].unread, seen.exchanges[0].messages),
        (1, 1)
    );

    let read = DeskOrder::ReadMessages {
        participant: name.clone(),
        before: 1,
    };
    stage.order_by(read).unwrap();
    assert_eq!(
        texts(&stage.exchange(1).unwrap()),
        [(true, true, "Nothing moves here")]
    );
    let one = Audience::Participant(name.clone());
    stage.send_to(one, "Please load the page again.").unwrap();
    let answer = (false, false, "Please load the page again.");
    assert_eq!(texts(&stage.exchange(1).unwrap())[1], answer);

    // Nobody is there, and the server is killed.
    stage.handle(Event::Closed(ConnId(1)));
    stage.restart();
    stage.arbiter.has_desk = true;
    stage.come_again(2, &token);
    let told = stage.exchange(2).unwrap();
    assert_eq!(texts(&told), [(true, true, "Nothing moves here"), answer]);
    stage.say(2, ClientMessage::ReadFromDesk { before: 2 });
    let seen = stage.arbiter.make_overview(stage.now_us);
    let left = &seen.exchanges[0];
    assert_eq!((left.unread, left.unread_by_participant), (0, 0));
    let orders: Vec<_> = stage.writes.iter().filter_map(order_of).collect();
    assert_eq!(orders, [("write_message", Some(name), String::new())]);
}

/// Name, participant and detail of an intervention.
fn order_of(write: &Write) -> Option<(&'static str, Option<String>, String)> {
    match write {
        Write::Intervention {
            order,
            participant,
            detail,
            ..
        } => Some((*order, participant.clone(), detail.clone())),
        _ => None,
    }
}

impl Stage {
    /// Lets a page enter a study without an environment; returns its token.
    fn enter_reading(&mut self, conn: u64) -> String {
        self.say(conn, ClientMessage::make_hello(Entry::Open));
        match self.sent[&ConnId(conn)].first() {
            Some(ServerMessage::Welcome { session, .. }) => session.clone(),
            other => panic!("not let in: {other:?}"),
        }
    }
}

#[test]
fn a_message_that_is_sent_again_is_stored_once_and_too_many_are_refused() {
    let mut stage = reading("");
    stage.enter_reading(1);
    stage.write_desk(1, 0, "one");
    stage.write_desk(1, 0, "one");
    assert_eq!(stage.exchange(1).unwrap().messages.len(), 1);
    let mut refused = Vec::new();
    for number in 1..9 {
        stage.write_desk(1, number, "more");
        refused.extend(
            stage
                .hear(1)
                .into_iter()
                .filter_map(|message| match message {
                    ServerMessage::NotWritten { number, why } => Some((number, why)),
                    _ => None,
                }),
        );
    }
    assert_eq!(refused.first(), Some(&(5, MessageRefusal::TooFast)));
    stage.wait(60 * SECOND);
    for (text, why) in [
        (" \n ", MessageRefusal::NotTaken),
        (&*"x".repeat(1_001), MessageRefusal::NotTaken),
    ] {
        stage.write_desk(1, 5, text);
        let told = stage.hear(1);
        assert_eq!(told, [ServerMessage::NotWritten { number: 5, why }]);
    }
    stage.limits.desk_messages = 5;
    stage.arbiter.limits.desk_messages = 5;
    stage.write_desk(1, 5, "one too many");
    let why = MessageRefusal::NotTaken;
    assert_eq!(
        stage.hear(1),
        [ServerMessage::NotWritten { number: 5, why }]
    );
}

#[test]
fn without_the_button_people_can_only_answer() {
    let mut stage = reading(", help_button: false");
    stage.enter_reading(1);
    assert_eq!(stage.exchange(1), None);
    stage.write_desk(1, 0, "hello?");
    let why = MessageRefusal::Closed;
    assert_eq!(
        stage.hear(1),
        [ServerMessage::NotWritten { number: 0, why }]
    );
    stage.send_to(Audience::Everybody, "We are here.").unwrap();
    assert!(stage.exchange(1).unwrap().is_open);
    stage.write_desk(1, 0, "thank you");
    assert_eq!(stage.exchange(1).unwrap().messages.len(), 2);
}

#[test]
fn where_nobody_looks_there_is_no_help() {
    let mut stage = reading("");
    stage.arbiter.has_desk = false;
    stage.enter_reading(1);
    assert_eq!(stage.exchange(1), None);
    let done = stage.send_to(Audience::Everybody, "hello");
    assert_eq!(done, Err(OrderRefused::NoDesk));
}

#[test]
fn a_message_to_all_reaches_those_who_are_under_way() {
    let mut stage = reading("");
    let nobody = stage.send_to(Audience::Everybody, "hello");
    assert_eq!(nobody, Err(OrderRefused::NobodyReads));
    let token = stage.enter_reading(1);
    stage.goes_on(1, 0, Vec::new());
    stage.enter_reading(2);
    for index in 0..3 {
        stage.goes_on(2, index, Vec::new());
    }
    stage.handle(Event::Closed(ConnId(1)));
    stage.hear(2);
    stage
        .send_to(Audience::Everybody, "Ten minutes left.")
        .unwrap();
    assert_eq!(stage.exchange(2), None, "their way has ended");
    stage.come_again(3, &token);
    assert_eq!(stage.exchange(3).unwrap().messages.len(), 1);
    for (to, refused) in [
        (
            Audience::Group("G-X".to_owned()),
            OrderRefused::UnknownGroup("G-X".to_owned()),
        ),
        (
            Audience::Participant("P-X".to_owned()),
            OrderRefused::UnknownParticipant("P-X".to_owned()),
        ),
    ] {
        assert_eq!(stage.send_to(to, "hello"), Err(refused));
    }
    let done = stage.send_to(Audience::Everybody, " ");
    assert_eq!(done, Err(OrderRefused::WrongText));
}

#[test]
fn a_message_to_a_group_is_read_by_its_members_alone() {
    let mut stage = Stage::new(Limits::default());
    stage.arbiter.has_desk = true;
    stage.playing();
    stage.queue(3);
    for conn in 1..=3 {
        stage.hear(conn);
    }
    let seen = stage.arbiter.make_overview(stage.now_us);
    let group = seen.episodes[0].group.clone();
    stage
        .send_to(Audience::Group(group.clone()), "Well done.")
        .unwrap();
    let read: Vec<_> = (1..=3).map(|conn| stage.exchange(conn).is_some()).collect();
    assert_eq!(read, [true, true, false]);
    let rows = stage.writes.iter().filter_map(|write| match write {
        Write::DeskMessage(row) => Some(row),
        _ => None,
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter()
            .all(|row| row.episode.is_some() && row.audience == "group")
    );
    let orders: Vec<_> = stage.writes.iter().filter_map(order_of).collect();
    assert_eq!(orders, [("write_message", None, format!("group {group}"))]);
}

#[test]
fn who_withdraws_leaves_no_message_behind() {
    let mut stage = reading("");
    let token = stage.enter_reading(1);
    stage.write_desk(1, 0, "my name is Bo");
    stage.goes_on(1, 0, Vec::new());
    stage.goes_on(1, 1, Vec::new());
    let withdraw = Answer {
        name: "withdraw".to_owned(),
        value: "true".to_owned(),
    };
    stage.hear(1);
    stage.goes_on(1, 2, vec![withdraw]);
    let told = stage.exchange(1).unwrap();
    assert!(told.messages.is_empty() && !told.is_open);
    assert!(
        stage
            .arbiter
            .make_overview(stage.now_us)
            .exchanges
            .is_empty()
    );
    stage.write_desk(1, 0, "I changed my mind");
    let why = MessageRefusal::Closed;
    assert_eq!(
        stage.hear(1),
        [ServerMessage::NotWritten { number: 0, why }]
    );
    let name = stage.pseudonym(0);
    let done = stage.send_to(Audience::Participant(name.clone()), "hello");
    assert_eq!(done, Err(OrderRefused::Erased(name)));
    stage.restart();
    stage.arbiter.has_desk = true;
    stage.come_again(2, &token);
    assert_eq!(stage.exchange(2), None);
}

#[test]
fn who_does_not_consent_leaves_no_message_behind() {
    let mut stage = Stage::read(
        "timeline:
  - {id: consent, type: consent, file: page.md}
  - {id: thanks, type: end, file: page.md}
",
        Limits::default(),
    );
    stage.arbiter.has_desk = true;
    stage.enter_reading(1);
    stage.write_desk(1, 0, "what is this?");
    assert_eq!(stage.exchange(1).unwrap().messages.len(), 1);
    stage.goes_on(1, 0, Vec::new());
    assert!(stage.exchange(1).unwrap().messages.is_empty());
    let forgotten = |write: &Write| matches!(write, Write::ForgetDeskMessages { .. });
    assert!(stage.writes.iter().any(forgotten));
}

#[test]
fn a_question_is_answered_in_time_or_not_at_all() {
    let mut stage = reading("");
    let token = stage.enter_reading(1);
    let name = stage.pseudonym(0);
    let check = CheckText {
        choices: vec!["red".to_owned(), "blue".to_owned()],
        expected: "blue".to_owned(),
        within_s: 30,
    };
    stage.ask(&name, check.clone()).unwrap();
    stage.ask(&name, check.clone()).unwrap();
    let answer = |number, answer: &str| ClientMessage::AnswerCheck {
        number,
        answer: answer.to_owned(),
    };
    stage.wait(10 * SECOND);
    stage.say(1, answer(0, "green"));
    stage.say(1, answer(0, "blue"));
    stage.say(1, answer(0, "red"));
    stage.wait(23 * SECOND);
    stage.say(1, answer(1, "blue"));
    stage.say(1, answer(7, "blue"));
    let told = stage.exchange(1).unwrap().messages;
    let answers: Vec<_> = told
        .iter()
        .map(|it| it.check.clone().unwrap().answer)
        .collect();
    assert_eq!(
        answers,
        [Some("blue".to_owned()), None],
        "the second is too late"
    );
    let taken = stage.writes.iter().filter_map(|write| match write {
        Write::CheckAnswer { number, at_us, .. } => Some((*number, *at_us)),
        _ => None,
    });
    assert_eq!(taken.collect::<Vec<_>>(), [(0, 10 * SECOND)]);
    let short = CheckText {
        within_s: 1,
        ..check.clone()
    };
    assert!(matches!(
        stage.ask(&name, short),
        Err(OrderRefused::WrongCheck(_))
    ));
    stage.handle(Event::Closed(ConnId(1)));
    assert_eq!(stage.ask(&name, check), Err(OrderRefused::NoPage(name)));
    stage.restart();
    stage.arbiter.has_desk = true;
    stage.come_again(2, &token);
    assert_eq!(stage.exchange(2).unwrap().messages, told, "and it stays");
}
