//! A language model beside the episode of somebody who plays alone.

use serde_json::json;

use super::*;
use crate::language_model::{Completion, ModelFailure, ModelReply};

/// A kitchen with a helper that has a language model with these further keys, and its transcript.
fn kitchen_with(keys: &str, transcript: &str) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "format: 1
study: {{id: talk, version: 1.0.0, title: Talk, contact: lab@example.edu}}
partners:
  helper:
    policy: cook:wait
    shown_as: Help
    language_model:
      prompt: prompt.md
      typing_ms: 10
      timeout_s: 5
      {keys}
timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, helper]
    chat: {{max_length: 40}}
    config: {{horizon: 900, tick_hz: 10}}
"
    );
    let files = [
        ("study.yaml", text.as_str()),
        ("page.md", "# Page\n"),
        ("prompt.md", "Be a cook."),
        ("answers.json", transcript),
    ];
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let (study, facts) = catalog::read_study(dir.path()).unwrap_or_else(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", problems.join("\n"))
    });
    Stage::with(study, facts, Limits::default())
}

const ENDPOINT: &str = "provider: openai\n      url: http://127.0.0.1:9/v1\n      model: m";

/// Somebody plays on connection 1.
fn playing(stage: &mut Stage) -> (Era, String) {
    let token = stage.queue(1);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.wait(3_500_000);
    (era, token)
}

fn write(stage: &mut Stage, number: u32, text: &str) {
    let (group_visit, sent_us, tick) = (0, stage.now_us, Some(Tick(3)));
    let text = text.to_owned();
    let message = ClientMessage::WriteToGroup {
        group_visit,
        number,
        sent_us,
        tick,
        text,
    };
    stage.say(1, message);
}

fn answer(stage: &mut Stage, result: Result<&str, ModelFailure>) {
    let (era, request) = stage.asked.pop().expect("it was asked");
    let result = result.map(|text| Completion {
        text: text.to_owned(),
        input_tokens: Some(100),
        output_tokens: Some(10),
    });
    let reply = ModelReply { result, retries: 1 };
    stage.handle(Event::Answered(era, request.number, reply));
}

/// The messages that the page was shown, with the place of who wrote them.
fn shown(messages: &[ServerMessage]) -> Vec<(u8, String)> {
    let line = |message: &ServerMessage| match message {
        ServerMessage::ChatMessage { message, .. } => Some((message.place.0, message.text.clone())),
        _ => None,
    };
    messages.iter().filter_map(line).collect()
}

/// The requests as they are stored last.
fn calls(stage: &Stage) -> Vec<ModelCallRow> {
    let mut calls: BTreeMap<u32, ModelCallRow> = BTreeMap::new();
    for write in &stage.writes {
        if let Write::ModelCall(row) = write {
            calls.insert(row.number, (**row).clone());
        }
    }
    calls.into_values().collect()
}

#[test]
fn an_order_becomes_a_message_after_typing_and_a_directive_at_a_tick() {
    let mut stage = kitchen_with(ENDPOINT, "");
    let (era, _) = playing(&mut stage);
    let told = stage.hear(1);
    let chat = told.iter().find_map(|message| match message {
        ServerMessage::Chat(view) => Some(view),
        _ => None,
    });
    assert_eq!(chat.unwrap().names, ["", "Help"]);
    assert!(stage.asked.is_empty(), "nobody has written");
    stage.archive(1, era, 0, 20);
    write(&mut stage, 0, "a plate");
    let (_, request) = &stage.asked[0];
    assert_eq!(request.url, "http://127.0.0.1:9/v1");
    assert!(request.body.contains("Person: a plate"), "{}", request.body);
    assert!(request.body.contains("fetch_plate"), "{}", request.body);
    // What is written meanwhile is asked for afterwards.
    write(&mut stage, 1, "quickly");
    assert_eq!(stage.asked.len(), 1);
    answer(
        &mut stage,
        Ok(r#"{"say": "Coming up.", "do": "fetch_plate"}"#),
    );
    let messages = stage.hear(1);
    let change = messages.iter().find_map(|message| match message {
        ServerMessage::Change { change, .. } => Some(change),
        _ => None,
    });
    let change = change.expect("the page learns of the directive");
    let policy = "cook:fetch_plate".to_owned();
    assert_eq!(
        (change.seat, &change.controller),
        (Seat(1), &Controller::Ai { policy })
    );
    assert_eq!(change.tick, Tick(20 + LEAD_S * HZ));
    assert_eq!(
        shown(&messages),
        [(0, "a plate".to_owned()), (0, "quickly".to_owned())]
    );
    stage.wait(100_000);
    assert_eq!(shown(&stage.hear(1)), [(1, "Coming up.".to_owned())]);
    let row = &calls(&stage)[0];
    assert_eq!(
        (row.outcome.as_str(), row.directive.as_str()),
        ("answered", "fetch_plate")
    );
    assert_eq!(
        (row.tick_asked, row.tick_applied),
        (Some(Tick(20)), Some(change.tick))
    );
    assert_eq!(
        (row.input_tokens, row.message, row.retries),
        (Some(100), Some(2), 1)
    );
    // The next question knows both.
    let (_, request) = &stage.asked[0];
    assert!(
        request.body.contains("quickly") && request.body.contains("followed from step"),
        "{}",
        request.body
    );
}

#[test]
fn what_cannot_be_used_is_replaced_by_the_fallback_and_a_refused_directive_is_told() {
    let keys = format!("{ENDPOINT}\n      fallback: {{say: Pardon?}}\n      max_length: 12");
    let mut stage = kitchen_with(&keys, "");
    let (era, _) = playing(&mut stage);
    stage.archive(1, era, 0, 20);
    let mut number = 0;
    let mut ask = |stage: &mut Stage, result: Result<&str, ModelFailure>| {
        stage.wait(2_000_000);
        stage.hear(1);
        write(stage, number, "hello");
        number += 1;
        answer(stage, result);
        stage.wait(1_000_000);
        let said: Vec<_> = shown(&stage.hear(1))
            .into_iter()
            .filter(|(place, _)| *place == 1)
            .collect();
        (calls(stage).pop().unwrap(), said)
    };
    let pardon = [(1, "Pardon?".to_owned())];
    for (result, outcome) in [
        (Err(ModelFailure::Timeout), "timeout"),
        (Err(ModelFailure::Status(500)), "status_500"),
        (Err(ModelFailure::Busy), "busy"),
        (Err(ModelFailure::TooLong), "too_long"),
        (Ok("no json"), "malformed_answer"),
    ] {
        let (row, said) = ask(&mut stage, result);
        assert_eq!((row.outcome.as_str(), &said[..]), (outcome, &pardon[..]));
    }
    let (row, said) = ask(
        &mut stage,
        Ok(r#"{"say": "This is far too long", "do": "fly"}"#),
    );
    assert_eq!(
        (row.outcome.as_str(), row.refusal.as_str()),
        ("shortened", "it cannot be done")
    );
    assert_eq!(said, [(1, "This is far\u{2026}".to_owned())]);
    assert_eq!(row.tick_applied, None);
    write(&mut stage, number, "again");
    let (_, request) = stage.asked.pop().unwrap();
    assert!(
        request.body.contains("was not followed: it cannot be done"),
        "{}",
        request.body
    );
    // Nothing comes at all: the core gives up by itself, and a late answer counts for nothing.
    stage.wait(7_000_000);
    assert_eq!(shown(&stage.hear(1)).pop(), Some(pardon[0].clone()));
    let late = ModelReply {
        result: Err(ModelFailure::Busy),
        retries: 0,
    };
    stage.handle(Event::Answered(era, request.number, late));
    assert_eq!(calls(&stage).pop().unwrap().outcome, "timeout");
}

#[test]
fn limits_on_requests_and_cost_hold_also_after_a_restart() {
    let keys = format!(
        "{ENDPOINT}\n      max_tokens: 10\n      price: {{input: 1000, output: 1000}}\n      retries: 0\n      limits: {{requests: 3, session_cost: 0.8}}\n      fallback: {{say: Later}}"
    );
    let mut stage = kitchen_with(&keys, "");
    let (era, token) = playing(&mut stage);
    stage.archive(1, era, 0, 5);
    write(&mut stage, 0, "one");
    let most = calls(&stage)[0].cost_micro;
    assert!(
        most > 400_000 && most < 800_000,
        "the most that it can cost counts at once: {most}"
    );
    answer(&mut stage, Ok(r#"{"say": null}"#));
    stage.wait(1_000_000);
    assert_eq!(calls(&stage)[0].cost_micro, 110_000, "110 tokens");
    write(&mut stage, 1, "two");
    assert_eq!(stage.asked.len(), 1, "it is under way when the server dies");
    stage.asked.clear();
    stage.restart();
    stage.resume(2, &token, Some((era, 0)));
    stage.wait(1_000_000);
    stage.hear(2);
    let say = |stage: &mut Stage, number, text: &str| {
        let (group_visit, sent_us, tick, text) = (0, stage.now_us, None, text.to_owned());
        stage.say(
            2,
            ClientMessage::WriteToGroup {
                group_visit,
                number,
                sent_us,
                tick,
                text,
            },
        );
        stage.wait(1_500_000);
    };
    say(&mut stage, 2, "three");
    let last = calls(&stage).pop().unwrap();
    assert_eq!(
        (last.number, last.outcome.as_str()),
        (2, "cost_limit"),
        "what was under way counts in full"
    );
    assert_eq!(last.prompt, "");
    say(&mut stage, 3, "four");
    assert_eq!(calls(&stage).pop().unwrap().outcome, "request_limit");
    assert!(stage.asked.is_empty());
}

#[test]
fn a_transcript_answers_in_its_own_time_and_the_chat_is_restored() {
    let transcript = json!({"answers": [
        {"if": "plate", "answer": {"say": "A plate.", "do": "fetch_plate"}, "latency_ms": 700},
        {"answer": {"say": "Hello."}, "latency_ms": 300},
    ]});
    let keys =
        "provider: mock\n      transcript: answers.json\n      at_start: true\n      every_s: 20";
    let mut stage = kitchen_with(keys, &transcript.to_string());
    let (era, token) = playing(&mut stage);
    stage.wait(500_000);
    assert_eq!(shown(&stage.hear(1)), [(1, "Hello.".to_owned())]);
    stage.archive(1, era, 0, 5);
    write(&mut stage, 0, "Plate!");
    stage.wait(650_000);
    assert_eq!(shown(&stage.hear(1)).len(), 1, "its own message alone");
    stage.wait(200_000);
    assert_eq!(shown(&stage.hear(1)), [(1, "A plate.".to_owned())]);
    stage.restart();
    stage.resume(2, &token, Some((era, 0)));
    let told = stage.hear(2);
    let chat = told.iter().find_map(|message| match message {
        ServerMessage::Chat(view) => Some(view),
        _ => None,
    });
    let chat = chat.expect("the page gets the chat again");
    assert_eq!((chat.messages.len(), chat.next), (3, 1));
    stage.wait(21_000_000);
    let last = calls(&stage).pop().unwrap();
    assert_eq!((last.number, last.asked_for.as_str()), (2, "time"));
    assert!(stage.asked.is_empty(), "no provider is asked");
}

#[test]
fn a_repetition_may_be_billed_like_the_first_try() {
    let begin = |session_cost: f64| {
        let keys = format!(
            "{ENDPOINT}\n      max_tokens: 10\n      price: {{input: 1000, output: 1000}}\n      retries: 2\n      limits: {{session_cost: {session_cost:.6}}}"
        );
        let mut stage = kitchen_with(&keys, "");
        let (era, _) = playing(&mut stage);
        stage.archive(1, era, 0, 5);
        write(&mut stage, 0, "one");
        let reserved = calls(&stage)[0].cost_micro;
        (stage, era, reserved)
    };
    let (_, _, reserved) = begin(1_000.0);
    let one = reserved / 3;
    assert_eq!(one * 3, reserved, "three tries count at once");
    let too_little = begin(2.9 * one as f64 / 1_000_000.0);
    assert!(too_little.0.asked.is_empty());

    let (mut stage, era, _) = begin(4.5 * one as f64 / 1_000_000.0);
    for _ in 0..2 {
        stage.handle(Event::Billed(era, 0, 1));
    }
    answer(&mut stage, Ok(r#"{"say": null}"#));
    stage.wait(1_000_000);
    let cost = calls(&stage)[0].cost_micro;
    assert_eq!(cost, one * 2 + 110_000, "two failed tries, and 110 tokens");
    write(&mut stage, 1, "two");
    stage.wait(1_000_000);
    assert_eq!(calls(&stage).pop().unwrap().outcome, "cost_limit");
    assert!(stage.asked.is_empty());
}

#[test]
fn a_message_before_a_crash_is_answered_after_it() {
    let mut stage = kitchen_with(ENDPOINT, "");
    let (era, token) = playing(&mut stage);
    stage.archive(1, era, 0, 20);
    write(&mut stage, 0, "a plate");
    // The crash comes between the message and the request.
    stage
        .writes
        .retain(|write| !matches!(write, Write::ModelCall(_)));
    stage.asked.clear();
    stage.restart();
    stage.resume(2, &token, Some((era, 0)));
    stage.wait(1_000_000);
    let (_, request) = stage.asked.pop().expect("it is asked after all");
    assert!(request.body.contains("Person: a plate"), "{}", request.body);
    // What was asked before the crash is not asked again.
    stage.restart();
    stage.resume(3, &token, Some((era, 0)));
    stage.wait(1_000_000);
    assert!(stage.asked.is_empty());
}

#[test]
fn a_researcher_ends_the_session_of_somebody_who_plays_alone_at_once_and_no_word_is_left() {
    let mut stage = kitchen_with(ENDPOINT, "");
    let (era, _) = playing(&mut stage);
    stage.archive(1, era, 0, 20);
    write(&mut stage, 0, "a plate");
    answer(&mut stage, Ok(r#"{"say": "I am on my way.", "do": "fly"}"#));
    let participant = {
        let mut sessions = stage.arbiter.sessions.iter();
        sessions.next().unwrap().participant.clone()
    };
    stage.handle(Event::Closed(ConnId(1)));
    let order = crate::desk::DeskOrder::EndSession {
        participant,
        outcome: study::Outcome::Technical,
    };
    let done = stage.arbiter.handle_order(stage.now_us, "Ada", order);
    done.unwrap();
    stage.drain();
    let is_over = |write: &Write| matches!(write, Write::EpisodeEnded { .. });
    assert!(stage.writes.iter().any(is_over), "nobody waits for it");
    let row = calls(&stage).pop().unwrap();
    assert_eq!(row.outcome, "answered");
    let words = [&row.prompt, &row.answer, &row.directive, &row.refusal];
    assert_eq!(words, [""; 4]);
}
