//! Complaints and requests of other platforms' users, each as a scenario that must hold here.
//! `docs/complaints.md` says which test belongs to which complaint, here and elsewhere.
//!
//! Sources: the issue trackers of Empirica, JATOS, psiTurk, jsPsych, reVISit and Dallinger, and the manuals of oTree.

use dataset::export::export;
use dataset::pay::{self, PaymentFormat, PaymentOrder};
use protocol::control::{
    Answer, Ask, ClientMessage, Entry, LobbyChoice, Plan, ServerMessage, StageView, Waiting,
};
use signaling_server::server::ServerOptions;
use store::StudyStore;

use super::entry::{pid, sent};
use super::host::{Host, Running};
use super::page::Page;
use super::visits::{agree, end, host};

/// A lobby for two people from Prolific; a second is paid GBP 1.
fn lobby(terms: &str) -> Host {
    host(&format!(
        "format: 1
study: {{id: meet, version: 1.0.0, title: Meet, contact: lab@example.edu}}
recruitment:
  provider: prolific
  currency: GBP
  time_rate_per_hour: 3600
  outcomes:
    completed: {{do: approve, pay: time, code: CDONE}}
    lobby_timeout: {{do: return_then_pay, pay: time, code: CWAIT}}
    left_early: {{do: return_then_pay, pay: time, code: CLEFT}}
timeline:
  - {{id: lobby, type: lobby, group_size: 2, {terms}}}
  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}}
  - {{id: thanks, type: end, file: thanks.md}}
"
    ))
}

/// Somebody who comes to the lobby.
async fn comes(server: &Running, name: &str) -> Page {
    let mut page = Page::enter(
        server,
        sent(&[("PROLIFIC_PID", &pid(name)), ("SESSION_ID", &pid("s1"))]),
    )
    .await;
    assert!(
        matches!(page.stage().await, StageView::Lobby { .. }),
        "{name}"
    );
    page
}

async fn waiting(page: &mut Page) -> Waiting {
    page.until(|message| match message {
        ServerMessage::Waiting(waiting) => Some(waiting),
        _ => None,
    })
    .await
}

async fn matched(page: &mut Page) -> Plan {
    page.until(|message| match message {
        ServerMessage::Match(plan) => Some(plan),
        _ => None,
    })
    .await
}

/// Pence of a payment as people read it.
fn pence(pay: &str) -> u32 {
    let digits: String = pay.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Empirica #517, #579, #598, #463: lobbies that never end. EM #39: who was timed out is assigned all the same.
/// Dallinger #5096: no way to pay people when the study failed.
#[tokio::test]
async fn who_is_left_over_in_a_lobby_leaves_in_time_is_paid_for_it_and_is_in_no_group_later() {
    let host = lobby("timeout_s: 5, on_timeout: leave");
    let server = host.start().await;
    let mut anna = comes(&server, "pid-anna").await;
    let first = waiting(&mut anna).await;
    assert!(
        first.left_ms <= 5_000 && first.paid,
        "what happens then is said before: {first:?}"
    );
    let (outcome, farewell) = end(&mut anna).await;
    assert_eq!(
        (outcome.as_str(), farewell.code.as_str()),
        ("lobby_timeout", "CWAIT")
    );
    assert!(pence(&farewell.pay) >= 450, "{}", farewell.pay);
    let mut bert = comes(&server, "pid-bert").await;
    assert_eq!(
        waiting(&mut bert).await.here,
        1,
        "who has left is not counted"
    );
    let mut carl = comes(&server, "pid-carl").await;
    let (one, other) = (matched(&mut bert).await, matched(&mut carl).await);
    assert_eq!(
        (one.episode, one.seat == other.seat),
        (other.episode, false)
    );
    let mut again = Page::enter(&server, sent(&[("PROLIFIC_PID", &pid("pid-anna"))])).await;
    assert_eq!(end(&mut again).await, (outcome, farewell));
    server.stop().await;
    let order = PaymentOrder {
        format: PaymentFormat::Prolific,
        out: host.dir.path().join("pay.csv"),
        mark: false,
    };
    pay::pay(&host.data(), Some(&order)).await.unwrap();
    let text = std::fs::read_to_string(&order.out).unwrap();
    let (anna, bert) = (pid("pid-anna"), pid("pid-bert"));
    assert!(text.contains(&anna) && !text.contains(&bert), "{text}");
}

/// Dallinger #1947: those who left are still counted. #1952 and psiTurk #86: who leaves early forfeits the pay.
#[tokio::test]
async fn who_leaves_a_lobby_is_not_counted_and_is_paid_for_the_time() {
    let host = lobby("timeout_s: 5, on_timeout: ask, bot: {policy: cook}");
    let server = host.start().await;
    let mut anna = comes(&server, "pid-anna").await;
    while waiting(&mut anna).await.ask != Ask::Choice {}
    anna.say(&ClientMessage::Leave).await;
    let (outcome, farewell) = end(&mut anna).await;
    assert_eq!(
        (outcome.as_str(), farewell.code.as_str()),
        ("left_early", "CLEFT")
    );
    assert!(pence(&farewell.pay) >= 450, "{}", farewell.pay);
    let mut bert = comes(&server, "pid-bert").await;
    assert_eq!(waiting(&mut bert).await.here, 1);
    let mut carl = comes(&server, "pid-carl").await;
    assert_eq!(
        matched(&mut bert).await.episode,
        matched(&mut carl).await.episode
    );
    server.stop().await;
}

/// Empirica #598: waiting without an exit. Here the person is asked, and may wait on, play with an AI or leave.
#[tokio::test]
async fn who_waits_for_long_is_asked_what_to_do_and_each_answer_leads_on() {
    for choice in [LobbyChoice::Ai, LobbyChoice::Leave, LobbyChoice::Wait] {
        let host = lobby("timeout_s: 5, on_timeout: ask, bot: {policy: cook}");
        let server = host.start().await;
        let mut anna = comes(&server, "pid-anna").await;
        while waiting(&mut anna).await.ask != Ask::Choice {}
        anna.say(&ClientMessage::Choose(choice)).await;
        match choice {
            LobbyChoice::Ai => assert_eq!(matched(&mut anna).await.controllers.len(), 2),
            LobbyChoice::Leave => assert_eq!(end(&mut anna).await.0, "lobby_timeout"),
            LobbyChoice::Wait => {
                while waiting(&mut anna).await.ask != Ask::Nothing {}
                let mut bert = comes(&server, "pid-bert").await;
                assert_eq!(
                    matched(&mut anna).await.episode,
                    matched(&mut bert).await.episode
                );
            }
        }
        server.stop().await;
    }
}

/// Empirica #207: `--:--` until a reload. EM #47: a clock that goes below zero.
#[tokio::test]
async fn a_reload_is_told_the_time_that_is_left_and_a_restart_too() {
    let host = lobby("timeout_s: 60, on_timeout: leave");
    let server = host.start().await;
    let mut page = comes(&server, "pid-anna").await;
    let mut before = waiting(&mut page).await;
    assert!(before.left_ms <= 60_000);
    for _ in 0..5 {
        page = comes(&server, "pid-anna").await;
        let after = waiting(&mut page).await;
        assert!(
            after.left_ms <= before.left_ms && after.left_ms > 30_000,
            "{before:?}, {after:?}"
        );
        assert!(after.waited_ms >= before.waited_ms, "{before:?}, {after:?}");
        before = after;
    }
    server.stop().await;
    let server = host.start().await;
    let mut page = comes(&server, "pid-anna").await;
    let after = waiting(&mut page).await;
    assert!(after.left_ms <= 60_000 && after.left_ms > 0, "{after:?}");
    server.stop().await;
}

const FULL: &str = "format: 1
study: {id: full, version: 1.0.0, title: Full, contact: lab@example.edu}
recruitment:
  provider: prolific
  outcomes: {completed: {do: approve, pay: none, code: CDONE}, study_full: {do: return, pay: none, code: CFULL}}
design: {quota: 1}
timeline:
  - {id: consent, type: consent, file: how.md}
  - {id: form, type: survey, surveyjs: {elements: [{type: comment, name: text}]}}
  - {id: thanks, type: end, file: thanks.md}
";

/// Empirica #61: a blank page after everything was read. psiTurk #258, #295, reVISit #1028, #1387: balance that counts
/// those who did not finish.
#[tokio::test]
async fn who_comes_too_late_is_told_before_reading_anything_and_only_completions_fill_a_place() {
    let host = host(FULL);
    let server = host.start().await;
    let person = |name: &str| sent(&[("PROLIFIC_PID", &pid(name)), ("SESSION_ID", &pid("s1"))]);
    let mut anna = Page::enter(&server, person("anna")).await;
    agree(&mut anna).await;
    anna.stage().await;
    let mut bert = Page::enter(&server, person("bert")).await;
    let (outcome, farewell) = end(&mut bert).await;
    assert_eq!(
        (outcome.as_str(), farewell.code.as_str()),
        ("study_full", "CFULL"),
        "the first page"
    );
    anna.say(&ClientMessage::Leave).await;
    assert_eq!(end(&mut anna).await.0, "left_early");
    let mut carl = Page::enter(&server, person("carl")).await;
    agree(&mut carl).await;
    carl.stage().await;
    carl.done(1, Vec::new()).await;
    assert_eq!(end(&mut carl).await.0, "completed");
    let mut dora = Page::enter(&server, person("dora")).await;
    assert_eq!(end(&mut dora).await.0, "study_full");
    server.stop().await;
}

/// nivturk #98: panels want one code for all who completed. ParlAI #2843: no identifier, no way to pay.
#[tokio::test]
async fn all_who_end_alike_read_one_code_and_the_payments_name_the_recruiters_identifiers() {
    let text = FULL.replace("design: {quota: 1}\n", "");
    let text = text.replace(
        "provider: prolific",
        "provider: prolific\n  currency: GBP\n  base: 1",
    );
    let host = host(&text.replace("pay: none, code: CDONE", "pay: base + 1.5, code: CDONE"));
    let server = host.start().await;
    let mut receipts = Vec::new();
    let names = ["5f0c8a1b2c3d4e5f60718291", "5f0c8a1b2c3d4e5f60718292"];
    for name in names {
        let mut page = Page::enter(
            &server,
            sent(&[("PROLIFIC_PID", name), ("SESSION_ID", &pid("s1"))]),
        )
        .await;
        agree(&mut page).await;
        page.stage().await;
        page.done(1, Vec::new()).await;
        let (_, farewell) = end(&mut page).await;
        assert_eq!(farewell.code, "CDONE");
        receipts.push(farewell.receipt);
    }
    assert_ne!(receipts[0], receipts[1], "the number is each one's own");
    server.stop().await;
    let order = PaymentOrder {
        format: PaymentFormat::Prolific,
        out: host.dir.path().join("pay.csv"),
        mark: true,
    };
    let ledger = pay::pay(&host.data(), Some(&order)).await.unwrap();
    assert_eq!(ledger.marked, 2);
    let text = std::fs::read_to_string(&order.out).unwrap();
    let is_paid = |name| text.contains(&format!("{name},1.50"));
    assert!(names.iter().all(is_paid), "{text}");
}

const LONG: &str = "format: 1
study: {id: long, version: 1.0.0, title: Long, contact: lab@example.edu}
timeline:
  - {id: a, type: survey, repeat: 10, surveyjs: {elements: [{type: comment, name: one}, {type: comment, name: two}, {type: comment, name: six}]}}
  - {id: thanks, type: end, file: thanks.md}
";

/// Empirica #442, #474: an export that fails on large files in the middle of a study. E #17: flat tables.
#[tokio::test]
async fn an_export_is_flat_and_whole_while_the_study_runs_and_however_much_there_is() {
    let host = host(LONG);
    let options = ServerOptions {
        links: 8,
        ..host.options()
    };
    let server = host.start_with(options).await;
    let long = "We took turns, \"mostly\";\n".repeat(300);
    let answer = |name: &str| Answer {
        name: name.to_owned(),
        value: serde_json::to_string(&long).unwrap(),
    };
    for link in &server.links {
        let mut page = Page::enter(&server, Entry::Invite(link.clone())).await;
        for at in 0..9 {
            page.stage().await;
            page.done(at, ["one", "two", "six"].map(answer).to_vec())
                .await;
        }
        page.stage().await;
    }
    let out = host.dir.path().join("out");
    let summary = export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    let rows = ["sessions", "responses"].map(|table| summary.count_rows(table));
    assert_eq!(rows, [Some(8), Some(8 * 9 * 3)]);
    assert_eq!(summary.skipped.len(), 0);
    let size = std::fs::metadata(out.join("responses.csv")).unwrap().len();
    assert!(size > 1_500_000, "{size} bytes");
    let mut table = csv::Reader::from_path(out.join("responses.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 8 * 9 * 3, "a row for each answer");
    assert!(
        rows.iter().all(|row| row.iter().any(|cell| cell == long)),
        "and each is whole"
    );
    server.stop().await;
}

const ROLES: &str = "format: 1
study: {id: roles, version: 1.0.0, title: Roles, contact: lab@example.edu}
timeline:
  - {id: intake, type: survey, surveyjs: {elements: [{type: radiogroup, name: role, isRequired: true, choices: [lead, follow]}]}}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 60
    on_timeout: wait
    match: {composition: 'members.exists(m, m.answers.intake.role == \"lead\") && members.exists(m, m.answers.intake.role == \"follow\")'}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
  - {id: thanks, type: end, file: thanks.md}
";

/// EM #55: groups are made by properties of their members.
#[tokio::test]
async fn a_group_is_composed_of_those_whom_the_study_wants_together() {
    let host = host(ROLES);
    let options = ServerOptions {
        links: 3,
        ..host.options()
    };
    let server = host.start_with(options).await;
    let mut pages = Vec::new();
    for (link, role) in server.links.iter().zip(["lead", "lead", "follow"]) {
        let mut page = Page::enter(&server, Entry::Invite(link.clone())).await;
        page.stage().await;
        let role = Answer {
            name: "role".to_owned(),
            value: format!("\"{role}\""),
        };
        page.done(0, vec![role]).await;
        assert!(matches!(page.stage().await, StageView::Lobby { .. }));
        pages.push(page);
    }
    let [one, other, follow] = &mut pages[..] else {
        panic!("three people")
    };
    assert_eq!(matched(one).await.episode, matched(follow).await.episode);
    while waiting(other).await.here != 1 {}
    server.stop().await;
}

const ASKING: &str = "format: 1
study: {id: asking, version: 1.0.0, title: Asking, contact: lab@example.edu}
timeline:
  - id: form
    type: survey
    surveyjs:
      elements:
        - {type: boolean, name: played, isRequired: true}
        - {type: radiogroup, name: game, choices: [a, b, c, d, e, f, g, h], choicesOrder: random, visibleIf: '{played} = true', isRequired: true}
        - {type: text, name: age, inputType: number, min: 18, max: 99}
  - {id: thanks, type: end, file: thanks.md}
";

/// jsPsych #2758: forms as SurveyJS has them, with branches and rules; the server holds to them as pages do.
#[tokio::test]
async fn a_form_branches_checks_and_keeps_the_order_that_was_drawn_for_a_person() {
    let host = host(ASKING);
    let options = ServerOptions {
        links: 6,
        ..host.options()
    };
    let server = host.start_with(options).await;
    let mut orders = std::collections::BTreeSet::new();
    for link in &server.links {
        let mut shown = Vec::new();
        for _ in 0..3 {
            let mut page = Page::enter(&server, Entry::Invite(link.clone())).await;
            let StageView::Survey { surveyjs } = page.stage().await else {
                panic!("not a form")
            };
            shown.push(surveyjs);
        }
        assert!(
            shown.iter().all(|other| *other == shown[0]),
            "the same after every reload"
        );
        orders.insert(shown.remove(0));
    }
    assert!(orders.len() > 3, "drawn for each");
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    page.stage().await;
    let answers = |pairs: &[(&str, &str)]| -> Vec<Answer> {
        let answer = |(name, value): &(&str, &str)| Answer {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        pairs.iter().map(answer).collect()
    };
    for refused in [
        &[("played", "true")][..],
        &[("played", "false"), ("game", "\"a\"")],
        &[("played", "false"), ("age", "17")],
        &[("played", "true"), ("game", "\"z\"")],
    ] {
        page.done(0, answers(refused)).await;
        assert!(
            matches!(page.stage().await, StageView::Survey { .. }),
            "{refused:?}"
        );
    }
    page.done(
        0,
        answers(&[("played", "true"), ("game", "\"b\""), ("age", "18")]),
    )
    .await;
    assert_eq!(end(&mut page).await.0, "completed");
    server.stop().await;
    let store = StudyStore::read(&host.data()).await.unwrap();
    assert_eq!(store.list_responses().await.unwrap().len(), 3);
}
