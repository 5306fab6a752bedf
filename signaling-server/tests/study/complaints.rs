//! What breaks elsewhere or is asked for there, each as a scenario that must hold here.
//!
//! Sources: MUG 0.1.3, whose failures were reproduced; the issue trackers of Empirica, JATOS, psiTurk, jsPsych, reVISit
//! and Dallinger. More of them: `rollback/tests/mug.rs` (inside an episode), `study/tests/blocks.rs` (nested blocks),
//! `src/hub/tests` and `src/lobby.rs` (partners who leave, waiting rooms), `tests/rehearse.rs` (the server dies).

use futures_util::SinkExt as _;
use protocol::Tick;
use protocol::control::{Answer, ClientMessage, Entry, Refusal, ServerMessage, StageView};
use signaling_server::store::{SqliteStore, Store as _};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::page::Page;
use crate::visits::{end, host};

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
    // A token that nobody has opens nothing either, and says so.
    let guess = Entry::Resume {
        token: "0".repeat(32),
        playing: None,
    };
    let mut guessed = Page::connect(&server, guess).await;
    assert_eq!(guessed.refusal().await, Refusal::UnknownLink);
    honest.done(0, text("honest")).await;
    assert_ne!(place(&mut honest).await, here);
    server.stop().await;
    let store = SqliteStore::read(&host.data()).await.unwrap();
    let kept = store.responses().await.unwrap();
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
    // The server goes on running: what another reader finds now was there before the page was told.
    let store = SqliteStore::read(&host.data()).await.unwrap();
    assert_eq!(store.responses().await.unwrap().len(), 5);
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
    let store = SqliteStore::read(&host.data()).await.unwrap();
    assert_eq!(store.responses().await.unwrap().len(), 1);
}

/// MUG loses the unfinished episode of a partner who drops; JATOS #323: results missing though marked finished.
#[tokio::test]
async fn an_episode_that_a_partner_leaves_keeps_every_tick_that_was_played() {
    let host = crate::host::Host::new();
    let server = host.start().await;
    let mut game = crate::game::meet(&server).await;
    game.play(20).await;
    let through = game.archive(0, 0).await;
    game.pages[1].say(&ClientMessage::Leave).await;
    assert!(matches!(game.pages[1].stage().await, StageView::End { .. }));
    server.stop().await;
    let report = signaling_server::verify::verify(&host.data())
        .await
        .unwrap();
    assert!(report.is_fine(), "{report}");
    assert!(through >= Tick(20) && report.episodes[0].ticks >= through.0);
}
