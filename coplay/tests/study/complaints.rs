//! Failures seen in MUG, each as a scenario that must hold here; `requests.rs` has complaints and requests of other
//! platforms' users. `docs/complaints.md` says which test belongs to which complaint.
//!
//! Sources: MUG 0.1.3, whose failures were reproduced; the issue trackers of Empirica, JATOS, psiTurk, jsPsych, reVISit
//! and Dallinger.

use dataset::pay;
use futures_util::SinkExt as _;
use protocol::control::{
    Answer, ClientMessage, EndReason, Entry, Refusal, ServerMessage, StageView,
};
use protocol::{Controller, Seat, Tick};
use store::StudyStore;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::host::Host;
use super::page::Page;
use super::visits::{end, host};

const SHUFFLED: &str = "format: 1
study: {id: shuffled, version: 1.0.0, title: Shuffled, contact: lab@example.edu}
recruitment: {outcomes: {completed: {do: approve, pay: none}}}
timeline:
  - shuffle: true
    block:
      - {id: a, type: survey, surveyjs: {elements: [{type: comment, name: text}]}}
      - {id: b, type: survey, surveyjs: {elements: [{type: comment, name: text}]}}
      - {id: c, type: survey, surveyjs: {elements: [{type: comment, name: text}]}}
      - {id: d, type: survey, surveyjs: {elements: [{type: comment, name: text}]}}
      - {id: e, type: survey, surveyjs: {elements: [{type: comment, name: text}]}}
  - {id: thanks, type: end, file: thanks.md}
";

/// Index and id of the stage that is shown.
async fn place(page: &mut Page) -> (u16, String) {
    page.until(|message| match message {
        ServerMessage::Stage { index, id, .. } => Some((index, id)),
        _ => None,
    })
    .await
}

fn text(words: &str) -> Vec<Answer> {
    vec![Answer {
        name: "text".to_owned(),
        value: format!("{words:?}"),
    }]
}

/// In MUG the order changed in 39 of 40 reloads, and the completion code in all.
#[tokio::test]
async fn forty_reloads_change_neither_the_order_of_stages_nor_the_code() {
    let host = host(SHUFFLED);
    let mut server = host.start().await;
    let links = server.links.clone();
    let mut seen = Vec::new();
    for at in 0..5 {
        let mut page = Page::enter(&server, Entry::Invite(links[0].clone())).await;
        let here = place(&mut page).await;
        assert_eq!(here.0, at);
        for _ in 0..8 {
            let entry = Entry::Resume {
                token: page.token.clone(),
                playing: None,
            };
            page = Page::enter(&server, entry).await;
            assert_eq!(place(&mut page).await, here);
        }
        page.done(at, text("words")).await;
        page.stage().await;
        seen.push(here.1);
        server.stop().await;
        server = host.start().await;
    }
    let mut all = seen.clone();
    all.sort();
    assert_eq!(all, ["a", "b", "c", "d", "e"], "each once: {seen:?}");
    let mut page = Page::enter(&server, Entry::Invite(links[0].clone())).await;
    let (outcome, farewell) = end(&mut page).await;
    assert!(outcome == "completed" && !farewell.code.is_empty());
    for _ in 0..40 {
        let mut page = Page::enter(&server, Entry::Invite(links[0].clone())).await;
        assert_eq!(
            end(&mut page).await,
            ("completed".to_owned(), farewell.clone())
        );
    }
    server.stop().await;
}

/// In MUG a socket that never registered overwrites anybody's data.
#[tokio::test]
async fn a_socket_that_has_not_come_in_writes_nothing() {
    let host = host(SHUFFLED);
    let server = host.start().await;
    let mut honest = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    let here = place(&mut honest).await;
    let (mut socket, _) = connect_async(format!("ws://{}/session", server.address))
        .await
        .unwrap();
    let forged = ClientMessage::StageDone {
        stage: 0,
        answers: text("forged"),
        pages_ms: vec![1],
    };
    let bytes = protocol::control::encode(&forged);
    socket.send(Message::Binary(bytes.into())).await.unwrap();
    // A token that nobody has opens nothing either, and the answer says so.
    let guess = Entry::Resume {
        token: "0".repeat(32),
        playing: None,
    };
    let mut guessed = Page::connect(&server, guess).await;
    assert_eq!(guessed.refusal().await, Refusal::UnknownLink);
    honest.done(0, text("honest")).await;
    assert_ne!(place(&mut honest).await, here);
    server.stop().await;
    let store = StudyStore::read(&host.data()).await.unwrap();
    let kept = store.list_responses().await.unwrap();
    let values: Vec<&str> = kept.iter().map(|row| row.value.as_str()).collect();
    assert_eq!(values, ["\"honest\""]);
}

/// jsPsych #2050: data lost to the redirect. reVISit #1182: completions that are not complete.
#[tokio::test]
async fn the_last_page_is_only_shown_once_the_last_answer_is_on_the_disk() {
    let host = host(SHUFFLED);
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    for at in 0..5 {
        assert!(matches!(page.stage().await, StageView::Survey { .. }));
        page.done(at, text(&format!("answer {at}"))).await;
    }
    end(&mut page).await;
    // The server keeps running: whatever another reader finds now was stored before the page learned of it.
    let store = StudyStore::read(&host.data()).await.unwrap();
    assert_eq!(store.list_responses().await.unwrap().len(), 5);
    let sessions = store.sessions().await.unwrap();
    assert_eq!(sessions[0].outcome.as_deref(), Some("completed"));
    server.stop().await;
}

/// Empirica #593: endless loading between stages, cured by a reload.
#[tokio::test]
async fn a_message_that_is_sent_again_is_answered_with_where_one_is() {
    let host = host(SHUFFLED);
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    place(&mut page).await;
    for _ in 0..3 {
        page.done(0, text("once")).await;
        assert_eq!(place(&mut page).await.0, 1);
    }
    server.stop().await;
    let store = StudyStore::read(&host.data()).await.unwrap();
    assert_eq!(store.list_responses().await.unwrap().len(), 1);
}

/// The example study with other rules for people who are gone, and with pay.
fn terms(terms: &str) -> Host {
    let host = Host::new();
    let file = host.dir.path().join("study/study.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let own = "on_disconnect: {grace_s: 15}";
    assert!(text.contains(own));
    let pay = "\nrecruitment: {currency: GBP, base: 2, outcomes: {partner_left: {do: approve, pay: base, code: CLEFT}}}\n";
    std::fs::write(&file, text.replace(own, terms) + pay).unwrap();
    host
}

fn fluency() -> Vec<Answer> {
    vec![Answer {
        name: "fluency".to_owned(),
        value: "5".to_owned(),
    }]
}

/// In MUG, the game ends immediately for both; the survivor cannot continue, is locked out on reload, and has a code
/// that was never stored.
#[tokio::test]
async fn a_partner_who_leaves_locks_nobody_out_and_the_survivors_code_can_be_verified() {
    let host = terms("on_disconnect: {grace_s: 1, then: partner_left}");
    let server = host.start().await;
    let mut game = super::game::meet(&server).await;
    game.play(20).await;
    game.archive_both().await;
    game.pages[1].say(&ClientMessage::Leave).await;
    assert_eq!(game.ended().await, EndReason::PartnerLeft);
    assert!(matches!(
        game.pages[0].stage().await,
        StageView::Survey { .. }
    ));
    game.pages[0].done(3, fluency()).await;
    let (outcome, farewell) = end(&mut game.pages[0]).await;
    assert_eq!(
        (
            outcome.as_str(),
            farewell.code.as_str(),
            farewell.pay.as_str()
        ),
        ("partner_left", "CLEFT", "£2.00")
    );
    let entry = Entry::Resume {
        token: game.pages[0].token.clone(),
        playing: None,
    };
    let mut again = Page::enter(&server, entry).await;
    assert_eq!(
        end(&mut again).await,
        (outcome, farewell.clone()),
        "a reload locks nobody out"
    );
    server.stop().await;
    for code in ["CLEFT", &farewell.receipt] {
        let found = pay::verify_code(&host.data(), code).await.unwrap().payments;
        assert_eq!(found.len(), 1, "{code}");
    }
}

/// In MUG, the survivor of a dropped WebSocket loses the game immediately: here the other rules of the study hold, too.
#[tokio::test]
async fn a_partner_who_leaves_is_replaced_in_the_same_episode_if_the_study_says_so() {
    let host = terms("on_disconnect: {grace_s: 1, then: bot}");
    let server = host.start().await;
    let mut game = super::game::meet(&server).await;
    game.play(20).await;
    game.archive_both().await;
    game.pages[1].say(&ClientMessage::Leave).await;
    let change = game.change(0).await;
    assert!(
        matches!(change.controller, Controller::Ai { .. }),
        "{change:?}"
    );
    game.play_alone().await;
    assert_eq!(game.ended().await, EndReason::Played);
    game.pages[0].stage().await;
    game.pages[0].done(3, fluency()).await;
    assert_eq!(end(&mut game.pages[0]).await.0, "completed");
    server.stop().await;
    let report = dataset::verify::verify_data(&host.data()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.episodes[0].ticks, super::host::HORIZON);
}

/// In MUG both games end, the episode is lost, and the partner waits out a reconnection that cannot come.
#[tokio::test]
async fn a_tab_that_is_hidden_for_long_ends_no_game_and_its_person_comes_back_into_it() {
    let host =
        terms("on_disconnect: {grace_s: 15, then: bot}\n    hidden_tab: {warn_s: 1, drop_s: 1}");
    let server = host.start().await;
    let mut game = super::game::meet(&server).await;
    game.play(20).await;
    game.archive_both().await;
    let era = game.era;
    let hidden = |hidden| ClientMessage::Hidden { era, hidden };
    game.pages[1].say(&hidden(true)).await;
    let change = game.change(0).await;
    assert!(
        matches!(change.controller, Controller::Ai { .. }),
        "{change:?}"
    );
    game.pages[1].say(&hidden(false)).await;
    game.pages[1].say(&ClientMessage::TakeBack { era }).await;
    game.come_back().await;
    game.play_out().await;
    server.stop().await;
    let report = dataset::verify::verify_data(&host.data()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.episodes[0].reason, Some("played"));
}

/// In MUG, a person who is excluded in the middle only ever sees "You will be redirected shortly".
#[tokio::test]
async fn who_is_given_up_in_the_middle_goes_on_to_the_last_page_with_a_code() {
    let host = terms("on_disconnect: {grace_s: 1, then: partner_left}");
    let server = host.start().await;
    let mut game = super::game::meet(&server).await;
    game.play(20).await;
    game.archive_both().await;
    let entry = Entry::Resume {
        token: game.pages[1].token.clone(),
        playing: None,
    };
    game.pages[1].socket.close(None).await.unwrap();
    let (era, seat) = (game.era, Seat(1));
    let silent = true;
    game.pages[0]
        .say(&ClientMessage::Silent { era, seat, silent })
        .await;
    game.lose_second().await;
    assert_eq!(game.ended().await, EndReason::PartnerLeft);
    let mut back = Page::enter(&server, entry).await;
    assert!(matches!(back.stage().await, StageView::Survey { .. }));
    back.done(3, fluency()).await;
    let (outcome, farewell) = end(&mut back).await;
    assert_eq!(
        (outcome.as_str(), farewell.code.as_str()),
        ("partner_left", "CLEFT")
    );
    server.stop().await;
}

/// In MUG a survivor hangs if the partner leaves while a round is being set up.
#[tokio::test]
async fn a_partner_who_leaves_before_the_start_keeps_nobody() {
    let host = Host::new();
    let server = host.start().await;
    let mut pages = Vec::new();
    for link in &server.links {
        let mut page = Page::enter(&server, Entry::Invite(link.clone())).await;
        page.stage().await;
        page.done(0, Vec::new()).await;
        assert!(matches!(page.stage().await, StageView::Lobby { .. }));
        pages.push(page);
    }
    let matched = |message| matches!(message, ServerMessage::Match(_)).then_some(());
    for page in &mut pages {
        page.until(matched).await;
    }
    pages[1].say(&ClientMessage::Leave).await;
    assert_eq!(end(&mut pages[1]).await.0, "left_early");
    assert!(
        matches!(pages[0].stage().await, StageView::Lobby { .. }),
        "back at the lobby"
    );
    server.stop().await;
}

const TIMED: &str = "format: 1
study: {id: timed, version: 1.0.0, title: Timed, contact: lab@example.edu}
recruitment:
  provider: prolific
  currency: GBP
  time_rate_per_hour: 3600
  outcomes:
    completed: {do: approve, pay: time, code: CDONE}
    lobby_timeout: {do: return_then_pay, pay: time, code: CWAIT}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 5, on_timeout: leave}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
  - {id: thanks, type: end, file: thanks.md}
";

/// In MUG the text is hard-coded and the id blocked; and who finishes can take part again.
#[tokio::test]
async fn a_waiting_room_that_runs_out_ends_as_the_study_says_and_the_id_finds_that_end_again() {
    let host = host(TIMED);
    let server = host.start().await;
    let id = super::entry::pid("anna");
    let anna = || {
        super::entry::sent(&[
            ("PROLIFIC_PID", &id),
            ("SESSION_ID", &super::entry::pid("s1")),
        ])
    };
    let mut page = Page::enter(&server, anna()).await;
    let began = std::time::Instant::now();
    assert!(matches!(
        page.stage().await,
        StageView::Lobby { timeout_s: 5 }
    ));
    let (outcome, farewell) = end(&mut page).await;
    let waited_s = began.elapsed().as_secs();
    assert!((4..20).contains(&waited_s), "{waited_s} s for a time of 5");
    assert_eq!(
        (outcome.as_str(), farewell.code.as_str()),
        ("lobby_timeout", "CWAIT")
    );
    let mut again = Page::enter(&server, anna()).await;
    assert_eq!(end(&mut again).await, (outcome, farewell));
    server.stop().await;
    let store = StudyStore::read(&host.data()).await.unwrap();
    assert_eq!(
        store.sessions().await.unwrap().len(),
        1,
        "nobody takes part twice"
    );
}

/// Returns the answer of the server to a raw request.
async fn asked(address: &str, request: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    String::from_utf8_lossy(&said).into_owned()
}

/// MUG has one secret for all servers, lets any site read, and takes `../..` for a place to write.
#[tokio::test]
async fn no_site_may_read_no_path_leads_out_of_the_folder_and_no_secret_is_known() {
    let host = Host::new();
    let server = host.start().await;
    for path in [
        "/",
        "/../../../etc/passwd",
        "/%2e%2e/%2e%2e/data/coplay.sqlite",
        "/modules/..%2f..%2fdata%2fcoplay.sqlite",
        "/media/../../data/coplay.sqlite",
        "/data/coplay.sqlite",
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nConnection: close\r\n\r\n"
        );
        let said = asked(&server.address, &request).await;
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
        assert!(
            !head.to_lowercase().contains("access-control-allow"),
            "{head}"
        );
        assert!(
            !body.contains("SQLite") && !body.contains("root:"),
            "{path}: {body}"
        );
        assert_eq!(
            head.starts_with("HTTP/1.1 200"),
            path == "/",
            "{path}: {head}"
        );
    }
    let links = server.links.clone();
    server.stop().await;
    let other = Host::new();
    let server = other.start().await;
    assert!(
        links.iter().all(|link| !server.links.contains(link)),
        "nothing is the same on two servers"
    );
    let foreign = Page::connect(&server, Entry::Invite(links[0].clone()))
        .await
        .refusal()
        .await;
    assert_eq!(foreign, Refusal::UnknownLink);
    server.stop().await;
}

/// MUG loses the unfinished episode of a partner who drops; JATOS #323: results missing though marked finished.
#[tokio::test]
async fn an_episode_that_a_partner_leaves_keeps_every_tick_that_was_played() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = super::game::meet(&server).await;
    game.play(20).await;
    let through = game.archive_both().await;
    game.pages[1].say(&ClientMessage::Leave).await;
    assert!(matches!(game.pages[1].stage().await, StageView::End { .. }));
    server.stop().await;
    let report = dataset::verify::verify_data(&host.data()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    assert!(through >= Tick(20) && report.episodes[0].ticks >= through.0);
}
