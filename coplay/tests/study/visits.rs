//! How visits end: outcomes, codes, payments, and the files that recruiters take.

use std::process::Command;

use dataset::pay::{self, PaymentFormat, PaymentOrder};
use protocol::control::{Answer, Entry, Farewell, StageView};
use store::PayState;

use super::host::{Host, Running};
use super::page::Page;

const PAID: &str = "format: 1
study: {id: paid, version: 1.0.0, title: Paid, contact: lab@example.edu}
recruitment:
  currency: GBP
  base: 4.50
  time_rate_per_hour: 9.00
  outcomes:
    completed: {do: approve, pay: base + bonus, code: CDONE}
    withdrew: {do: return, pay: none, code: CWITH}
timeline:
  - {id: consent, type: consent, file: how.md}
  - id: form
    type: survey
    surveyjs: {elements: [{type: rating, name: fun, rateMax: 7, isRequired: true}]}
  - {id: thanks, type: end, file: thanks.md}
bonus: 0.37 * answers.form.fun
";

/// A server with this study.
pub(crate) fn host(study: &str) -> Host {
    let host = Host::new();
    std::fs::write(host.dir.path().join("study/study.yaml"), study).unwrap();
    host
}

pub(crate) async fn agree(page: &mut Page) {
    let StageView::Consent { sha256, .. } = page.stage().await else {
        panic!("not a consent")
    };
    let answer = Answer {
        name: "agreed".to_owned(),
        value: format!("\"{sha256}\""),
    };
    page.done(0, vec![answer]).await;
}

pub(crate) async fn end(page: &mut Page) -> (String, Farewell) {
    let StageView::End {
        outcome, farewell, ..
    } = page.stage().await
    else {
        panic!("not the end")
    };
    (outcome, farewell)
}

/// Goes through the whole study.
async fn complete(server: &Running, link: usize) -> (Page, Farewell) {
    let mut page = Page::enter(server, Entry::Invite(server.links[link].clone())).await;
    agree(&mut page).await;
    page.stage().await;
    let fun = Answer {
        name: "fun".to_owned(),
        value: "2".to_owned(),
    };
    page.done(1, vec![fun]).await;
    let (outcome, farewell) = end(&mut page).await;
    assert_eq!(outcome, "completed");
    (page, farewell)
}

#[tokio::test]
async fn a_code_is_shown_with_the_end_and_is_the_same_after_a_reload_and_a_restart() {
    let host = host(PAID);
    let server = host.start().await;
    let (page, farewell) = complete(&server, 0).await;
    assert_eq!(
        (farewell.code.as_str(), farewell.pay.as_str()),
        ("CDONE", "£5.24")
    );
    let mut other = Page::enter(&server, Entry::Invite(server.links[1].clone())).await;
    other.stage().await;
    other.done(0, Vec::new()).await;
    let (outcome, refused) = end(&mut other).await;
    assert_eq!((outcome.as_str(), refused.pay.as_str()), ("no_consent", ""));
    assert_ne!(refused.code, "CDONE");
    let (token, links) = (page.token.clone(), server.links.clone());
    server.stop().await;

    let server = host.start().await;
    let entries = [
        Entry::Resume {
            token,
            playing: None,
        },
        Entry::Invite(links[0].clone()),
    ];
    for entry in entries {
        let mut page = Page::enter(&server, entry).await;
        assert_eq!(
            end(&mut page).await,
            ("completed".to_owned(), farewell.clone())
        );
    }
    let mut page = Page::enter(&server, Entry::Invite(links[1].clone())).await;
    assert_eq!(end(&mut page).await, (outcome, refused));
    server.stop().await;
}

#[tokio::test]
async fn what_is_due_is_written_and_marked_once() {
    let host = host(PAID);
    let server = host.start().await;
    let (_, first) = complete(&server, 0).await;
    let data = host.data();
    let ledger = pay::pay(&data, None).await.unwrap();
    assert_eq!(ledger.due["GBP"], 524);
    assert_eq!(ledger.payments[0].state, PayState::Due);

    let order = |name: &str, mark| PaymentOrder {
        format: PaymentFormat::Plain,
        out: host.dir.path().join(name),
        mark,
    };
    let dry = pay::pay(&data, Some(&order("dry.csv", false)))
        .await
        .unwrap();
    assert_eq!((dry.marked, dry.file.unwrap().1), (0, 1));
    let done = pay::pay(&data, Some(&order("one.csv", true)))
        .await
        .unwrap();
    assert_eq!((done.marked, done.file.unwrap().1), (1, 1));
    assert_eq!(done.payments[0].state, PayState::Paid);
    let text = std::fs::read_to_string(host.dir.path().join("one.csv")).unwrap();
    assert!(
        text.contains(&format!("{},", first.receipt)) && text.ends_with(",completed,GBP,5.24\n"),
        "{text}"
    );
    let again = pay::pay(&data, Some(&order("one.csv", true))).await;
    assert!(again.unwrap_err().to_string().contains("is there already"));
    // While the server runs, and after it has written the place of the session again.
    complete(&server, 1).await;
    server.stop().await;
    let server = host.start().await;
    server.stop().await;
    let next = pay::pay(&data, Some(&order("two.csv", true)))
        .await
        .unwrap();
    assert_eq!(
        (next.marked, next.file.unwrap().1),
        (1, 1),
        "nothing is paid twice"
    );
    let text = std::fs::read_to_string(host.dir.path().join("two.csv")).unwrap();
    assert!(!text.contains(&first.receipt), "{text}");

    let found = pay::verify_code(&data, &first.receipt.to_lowercase())
        .await
        .unwrap();
    assert!(found.to_string().ends_with("GBP 5.24, paid"), "{found}");
    let told = async |code| pay::verify_code(&data, code).await.unwrap().to_string();
    let two = "CDONE is the code of `completed`, which 2 people have";
    assert_eq!(told("CDONE").await, two);
    assert_eq!(told("CDON").await, "nobody has the code CDON");
    let none = "CWITH is the code of `withdrew`, which nobody has yet";
    assert_eq!(told("CWITH").await, none);
}

/// Runs `coplay pay` on the data of a host; returns its output, if it succeeds.
fn command(host: &Host, more: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .arg("pay")
        .arg("--data")
        .arg(host.data())
        .args(more)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    said
}

#[tokio::test]
async fn a_file_without_payments_is_written_and_said_to_be_empty() {
    let host = host(PAID);
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    page.stage().await;
    page.done(0, Vec::new()).await;
    assert_eq!(end(&mut page).await.0, "no_consent");
    server.stop().await;
    for (format, header) in [
        ("plain", "receipt,participant_id,outcome,currency,amount\n"),
        ("mturk", "WorkerId,AssignmentId,BonusAmount,Reason\n"),
        // The lines are pasted, so there is no header.
        ("prolific", ""),
    ] {
        let out = host.dir.path().join(format!("{format}.csv"));
        let file = out.to_str().unwrap();
        let said = command(&host, &["--csv", format, "--out", file, "--mark-paid"]);
        assert_eq!(std::fs::read_to_string(&out).unwrap(), header);
        let last = said.lines().last().unwrap();
        assert_eq!(last, format!("{file}: no lines. Nothing is due."));
    }
}

#[tokio::test]
async fn a_study_without_recruitment_approves_and_pays_nobody() {
    let (head, rest) = PAID.split_once("recruitment:").unwrap();
    let (_, timeline) = rest.split_once("timeline:").unwrap();
    let timeline = timeline.split("bonus:").next().unwrap();
    let host = host(&format!("{head}timeline:{timeline}"));
    let server = host.start().await;
    complete(&server, 0).await;
    server.stop().await;
    let said = command(&host, &[]);
    assert!(
        said.contains(" completed ") && !said.contains("approve"),
        "{said}"
    );
    let last = said.lines().last().unwrap();
    let why = "Nothing is due: the study file has no `recruitment`, so no outcome pays anything.";
    assert_eq!(last, why);
}

/// A cell of each row of a table, by the name of its column.
fn column(file: &std::path::Path, name: &str) -> Vec<String> {
    let mut table = csv::Reader::from_path(file).unwrap();
    let names = table.headers().unwrap().clone();
    let at = names.iter().position(|known| known == name).unwrap();
    let rows = table.records().map(Result::unwrap);
    rows.map(|row| row[at].to_owned()).collect()
}

#[tokio::test]
async fn a_treatment_has_the_name_that_lint_tells_and_a_quota_takes() {
    // Not in the order of the alphabet.
    let design = "design:
  quota: {slow/dim: 9, slow/bright: 9, fast/dim: 9, fast/bright: 9}
  between: {speed: {levels: [slow, fast]}, light: {levels: [dim, bright]}}
timeline:";
    let bonus = "bonus: '(speed == \"slow\" && light == \"dim\" ? 0.37 : 0.3) *";
    let text = PAID.replace("timeline:", design);
    let text = text
        .replace("bonus: 0.37 *", bonus)
        .replace("fun\n", "fun'\n");
    let host = host(&text);
    let lint = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .arg("lint")
        .arg(host.dir.path().join("study"))
        .arg("--json")
        .output()
        .unwrap();
    let lint: serde_json::Value = serde_json::from_slice(&lint.stdout).unwrap();
    let told = &lint["outline"]["treatments"];
    let server = host.start().await;
    for link in 0..2 {
        complete(&server, link).await;
    }
    server.stop().await;
    let out = host.dir.path().join("out");
    dataset::export::export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    let file = out.join("sessions.csv");
    let (speeds, lights) = (column(&file, "level_speed"), column(&file, "level_light"));
    for (row, treatment) in column(&file, "treatment").into_iter().enumerate() {
        assert_eq!(treatment, format!("{}/{}", speeds[row], lights[row]));
        assert!(
            told.as_array()
                .unwrap()
                .contains(&treatment.as_str().into()),
            "{treatment} is not in {told}"
        );
    }
    assert_eq!(speeds.len(), 2);
}

#[tokio::test]
async fn a_consent_is_one_row_with_the_hash_of_its_text() {
    let host = host(PAID);
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    let StageView::Consent { sha256, .. } = page.stage().await else {
        panic!("not a consent")
    };
    let agreed = Answer {
        name: "agreed".to_owned(),
        value: format!("\"{sha256}\""),
    };
    page.done(0, vec![agreed]).await;
    page.stage().await;
    server.stop().await;
    let out = host.dir.path().join("out");
    dataset::export::export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    let file = out.join("responses.csv");
    for (name, wanted) in [
        ("stage_id", "consent"),
        ("item", "agreed"),
        ("value", &*sha256),
        ("correct", ""),
        ("flag", ""),
    ] {
        assert_eq!(column(&file, name), [wanted], "{name}");
    }
    let text = std::fs::read(host.dir.path().join("study/how.md")).unwrap();
    assert_eq!(sha256, protocol::hash::sha256_hex(&text));
}

#[tokio::test]
async fn tables_tell_how_sessions_ended() {
    let bonus = "bonus: 0.37 * answers.form.fun";
    let by_speed = "bonus: '(speed == \"slow\" ? 0.37 : 0.37) * answers.form.fun'";
    let design = "design: {between: {speed: {levels: [slow, fast]}}}\ntimeline:";
    let text = PAID.replace(bonus, by_speed).replace("timeline:", design);
    let host = host(&text);
    let server = host.start().await;
    complete(&server, 0).await;
    let mut open = Page::enter(&server, Entry::Invite(server.links[1].clone())).await;
    open.stage().await;
    server.stop().await;
    let out = host.dir.path().join("out");
    let summary = dataset::export::export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(summary.count_rows("sessions"), Some(2));
    let mut table = csv::Reader::from_path(out.join("sessions.csv")).unwrap();
    let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let at = names.iter().position(|known| known == name).unwrap();
        rows[row][at].to_owned()
    };
    assert_eq!(cell(0, "outcome"), "completed");
    assert_eq!(
        (cell(0, "total"), cell(0, "pay_state")),
        ("5.24".into(), "due".into())
    );
    let level = cell(0, "level_speed");
    assert!(level == "slow" || level == "fast", "{level}");
    assert_eq!(cell(0, "treatment"), level);
    assert_eq!(
        (cell(1, "outcome"), cell(1, "total")),
        (String::new(), String::new())
    );
    // Nobody has played, and the table has the column of the design.
    let episodes = std::fs::read_to_string(out.join("episodes.csv")).unwrap();
    assert!(episodes.ends_with(",level_speed\n"), "{episodes}");
}
