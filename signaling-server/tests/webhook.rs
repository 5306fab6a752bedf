//! The webhook against a real receiver that fails at first, is slow, or is never there.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use clock::Clock;
use serde_json::Value;
use server_core::desk::{DeskOrder, RecruitmentState};
use server_core::limits::Limits;
use server_core::token::is_signature;
use signaling_server::assets::Assets;
use signaling_server::server::{Server, ServerOptions};
use signaling_server::webhook::WebhookOptions;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const SECRET: &str = "0123456789abcdef-secret";

/// Takes posts, after it has refused this many.
struct Receiver {
    failures: Mutex<u32>,
    taken: mpsc::UnboundedSender<Value>,
    refused: Mutex<Vec<Value>>,
}

/// Checks the signature of a post, and refuses it as often as wanted.
async fn take(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let (at, signature) = (header("x-coplay-timestamp"), header("x-coplay-signature"));
    let signature = signature.strip_prefix("sha256=").unwrap();
    let text = format!("{at}.{body}");
    assert!(is_signature(SECRET.as_bytes(), &text, signature));
    assert!(!is_signature(b"another secret", &text, signature));
    let post: Value = serde_json::from_str(&body).unwrap();
    let mut failures = receiver.failures.lock().unwrap();
    if *failures > 0 {
        *failures -= 1;
        receiver.refused.lock().unwrap().push(post);
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    receiver.taken.send(post).unwrap();
    StatusCode::NO_CONTENT
}

/// Makes a receiver that first fails this often; returns its address and what it takes.
async fn receive(failures: u32) -> (String, Arc<Receiver>, mpsc::UnboundedReceiver<Value>) {
    let (taken, posts) = mpsc::unbounded_channel();
    let receiver = Arc::new(Receiver {
        failures: Mutex::new(failures),
        taken,
        refused: Mutex::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let routes = Router::new()
        .route("/hook", post(take))
        .with_state(Arc::clone(&receiver));
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (url, receiver, posts)
}

/// A server with a webhook, and the folder of its data.
async fn serve(url: &str) -> (tempfile::TempDir, Server) {
    let home = tempfile::tempdir().unwrap();
    let secret = home.path().join("hook.secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let options = ServerOptions {
        study: Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad"),
        data: home.path().join("data"),
        links: 1,
        open: false,
        assets: Assets::Embedded,
        limits: Limits::default(),
        turn: None,
        access: Default::default(),
        changed: Default::default(),
        models: Default::default(),
    };
    let webhook = WebhookOptions::read(url, &secret).unwrap();
    let server = Server::start_with(options, Clock::start(), Some(webhook)).await;
    (home, server.unwrap())
}

async fn order(server: &Server, state: RecruitmentState) {
    let desk = server.open_desk(false).await.unwrap();
    let order = DeskOrder::SetRecruitment(state);
    desk.give_order("Ada", order).await.unwrap();
}

#[tokio::test]
async fn a_receiver_that_fails_at_first_gets_every_event_once_it_works_in_order() {
    let (url, receiver, mut posts) = receive(2).await;
    let (_home, server) = serve(&url).await;
    order(&server, RecruitmentState::Paused).await;
    order(&server, RecruitmentState::Open).await;
    let mut events = Vec::new();
    while events.len() < 2 {
        let post = posts.recv().await.unwrap();
        assert_eq!(post["study"], "overcooked-dyad");
        assert_eq!(post["run"].as_str().unwrap().len(), 16);
        events.extend(post["events"].as_array().unwrap().clone());
    }
    let numbers: Vec<_> = events
        .iter()
        .map(|event| event["number"].as_u64())
        .collect();
    assert_eq!(numbers, [Some(0), Some(1)], "each once, in order");
    let details: Vec<_> = events
        .iter()
        .map(|event| event["detail"].as_str())
        .collect();
    assert_eq!(details, [Some("paused"), Some("open")]);
    assert!(events.iter().all(|event| event["event"] == "intervention"));
    let refused = receiver.refused.lock().unwrap().clone();
    assert_eq!(refused.len(), 2, "it was tried twice in vain");
    assert_eq!(refused[0]["events"][0], events[0]);
    assert!(!format!("{events:?}").contains("Ada"), "no names");
}

#[tokio::test]
async fn a_receiver_that_is_not_there_keeps_nobody_waiting() {
    // A port that nobody listens to any more.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    drop(listener);
    let (_home, server) = serve(&url).await;
    let before = Instant::now();
    for _ in 0..20 {
        order(&server, RecruitmentState::Paused).await;
    }
    assert!(
        before.elapsed() < Duration::from_secs(20),
        "{:?}",
        before.elapsed()
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stopped = server.serve(listener, std::future::ready(()));
    let stopped = tokio::time::timeout(Duration::from_secs(30), stopped).await;
    stopped.expect("it stops all the same").unwrap();
}

#[test]
fn an_address_or_a_secret_that_is_not_safe_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (good, short) = (home.path().join("good"), home.path().join("short"));
    std::fs::write(&good, SECRET).unwrap();
    std::fs::write(&short, "secret\n").unwrap();
    for (url, file, word) in [
        ("http://lab.example.edu/hook", &good, "https"),
        ("https://lab.example.edu/hook", &short, "too short"),
        (
            "https://lab.example.edu/hook",
            &home.path().join("none"),
            "cannot read",
        ),
    ] {
        let error = WebhookOptions::read(url, file).unwrap_err();
        assert!(format!("{error:#}").contains(word), "{error:#}");
    }
    let options = WebhookOptions::read("https://lab.example.edu/hook?key=1", &good).unwrap();
    assert!(!format!("{options:?}").contains("key=1"));
}
