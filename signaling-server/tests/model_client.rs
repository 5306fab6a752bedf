//! The client of language models against a real endpoint that is slow, busy, broken or too talkative.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use server_core::language_model::{Completion, MAX_BODY, ModelFailure, ModelRequest};
use signaling_server::model_client::{ModelAccess, ModelClient, ModelKey};
use tokio::net::TcpListener;

/// The deeds of the endpoint, one for each call, the last one again and again.
#[derive(Clone, Copy)]
enum Answer {
    Good,
    Slow,
    Error,
    Busy(&'static str),
    Unauthorised,
    NotJson,
    NoChoice,
    Endless,
    /// The connection breaks in the middle of the body.
    Cut,
}

/// A body that breaks off.
struct CutBody {
    has_begun: bool,
}

impl hyper::body::Body for CutBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = match std::mem::replace(&mut self.has_begun, true) {
            false => Ok(Frame::data(Bytes::from_static(b"{\"choices\": ["))),
            true => Err(std::io::Error::other("the endpoint breaks down")),
        };
        Poll::Ready(Some(next))
    }
}

struct Endpoint {
    answers: Vec<Answer>,
    calls: AtomicUsize,
}

/// Serves `answers` on a free port, and returns the address.
async fn serve(answers: &[Answer]) -> (String, Arc<Endpoint>) {
    let endpoint = Arc::new(Endpoint {
        answers: answers.to_vec(),
        calls: AtomicUsize::new(0),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let routes = Router::new()
        .route("/v1/chat/completions", post(answer))
        .with_state(Arc::clone(&endpoint));
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (url, endpoint)
}

async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let call = endpoint.calls.fetch_add(1, Ordering::SeqCst);
    let answer = endpoint.answers[call.min(endpoint.answers.len() - 1)];
    match answer {
        Answer::Good => {
            let asked: Value = serde_json::from_str(&body).unwrap();
            let key = headers.get(header::AUTHORIZATION);
            let key = key.map_or("", |key| key.to_str().unwrap());
            let text = format!("{} for {key}", asked["model"].as_str().unwrap());
            let choice = json!({"message": {"role": "assistant", "content": text}});
            let usage = json!({"prompt_tokens": 7, "completion_tokens": 2});
            axum::Json(json!({"choices": [choice], "usage": usage})).into_response()
        }
        // Longer than any request of these tests waits.
        Answer::Slow => {
            std::future::pending::<()>().await;
            StatusCode::OK.into_response()
        }
        Answer::Error => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Answer::Busy(after) => {
            let headers = [(header::RETRY_AFTER, after)];
            (StatusCode::TOO_MANY_REQUESTS, headers).into_response()
        }
        Answer::Unauthorised => StatusCode::UNAUTHORIZED.into_response(),
        Answer::NotJson => "{\"choices\": [".into_response(),
        Answer::NoChoice => axum::Json(json!({"choices": []})).into_response(),
        Answer::Cut => {
            let body = CutBody { has_begun: false };
            axum::body::Body::new(body).into_response()
        }
        Answer::Endless => " ".repeat(MAX_BODY + 1).into_response(),
    }
}

fn request(url: &str, timeout_ms: u32, retries: u8) -> ModelRequest {
    ModelRequest {
        number: 0,
        url: url.to_owned(),
        body: json!({"model": "m", "messages": []}).to_string(),
        timeout_ms,
        retries,
    }
}

/// The result of the answers, how often the request was repeated, and how often the endpoint was asked.
async fn ask(
    answers: &[Answer],
    timeout_ms: u32,
    retries: u8,
) -> (Result<Completion, ModelFailure>, u8, usize) {
    let (url, endpoint) = serve(answers).await;
    let (reply, _) = ModelClient::new(ModelAccess::default())
        .ask(&request(&url, timeout_ms, retries))
        .await;
    (
        reply.result,
        reply.retries,
        endpoint.calls.load(Ordering::SeqCst),
    )
}

/// Enough for a machine that is busy.
const LONG_MS: u32 = 60_000;

#[tokio::test]
async fn an_answer_comes_with_its_tokens_and_the_key_goes_to_the_endpoint_alone() {
    let (url, _) = serve(&[Answer::Good]).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, "sk-1\n").unwrap();
    let key = ModelKey::read(Some(&file)).unwrap();
    let (reply, billed) = ModelClient::new(ModelAccess::Ask(key))
        .ask(&request(&url, LONG_MS, 0))
        .await;
    let expected = Completion {
        text: "m for Bearer sk-1".to_owned(),
        input_tokens: Some(7),
        output_tokens: Some(2),
    };
    assert_eq!((reply.result, reply.retries, billed), (Ok(expected), 0, 0));
    std::fs::write(&file, "\n").unwrap();
    let refused = ModelKey::read(Some(&file)).unwrap_err().to_string();
    assert!(refused.contains("holds no key; write"), "{refused}");
    let missing = ModelKey::read(Some(&dir.path().join("none"))).unwrap_err();
    assert!(missing.to_string().contains("--model-key"), "{missing}");
}

#[tokio::test]
async fn a_slow_endpoint_is_given_up() {
    let began = std::time::Instant::now();
    let (result, retries, calls) = ask(&[Answer::Slow], 300, 3).await;
    assert_eq!((result, retries, calls), (Err(ModelFailure::Timeout), 0, 1));
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn errors_and_limits_are_tried_again_as_often_as_the_study_says() {
    let (result, retries, calls) = ask(&[Answer::Error, Answer::Good], LONG_MS, 2).await;
    assert!(result.is_ok());
    assert_eq!((retries, calls), (1, 2));
    let (result, retries, calls) = ask(&[Answer::Error], LONG_MS, 1).await;
    assert_eq!(
        (result, retries, calls),
        (Err(ModelFailure::Status(500)), 1, 2)
    );
    let (result, retries, _) = ask(&[Answer::Busy("0.1"), Answer::Good], LONG_MS, 2).await;
    assert!(result.is_ok());
    assert_eq!(retries, 1);
}

#[tokio::test]
async fn a_pause_beyond_the_time_that_is_left_is_not_waited_for() {
    let began = std::time::Instant::now();
    let (result, _, calls) = ask(&[Answer::Busy("600")], LONG_MS, 2).await;
    assert_eq!((result, calls), (Err(ModelFailure::Busy), 1));
    assert!(began.elapsed() < Duration::from_millis(u64::from(LONG_MS)));
}

#[tokio::test]
async fn answers_that_are_none_are_failures() {
    let (result, _, calls) = ask(&[Answer::Unauthorised], LONG_MS, 2).await;
    assert_eq!((result, calls), (Err(ModelFailure::Status(401)), 1));
    for answer in [Answer::NotJson, Answer::NoChoice] {
        let (result, ..) = ask(&[answer], LONG_MS, 0).await;
        assert_eq!(result, Err(ModelFailure::Malformed));
    }
    let (result, _, calls) = ask(&[Answer::Endless], LONG_MS, 2).await;
    assert_eq!((result, calls), (Err(ModelFailure::TooLong), 1));
    // A port that nobody listens on.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let (reply, billed) = ModelClient::new(ModelAccess::default())
        .ask(&request(&url, LONG_MS, 0))
        .await;
    assert_eq!((reply.result, billed), (Err(ModelFailure::Unreachable), 0));
}

#[tokio::test]
async fn a_try_that_came_to_the_endpoint_and_failed_may_be_billed() {
    use Answer::{Busy, Cut, Error, Good, NoChoice, Slow, Unauthorised};
    for (answers, timeout_ms, expected) in [
        (&[Good][..], LONG_MS, 0),
        (&[Error, NoChoice, Good], LONG_MS, 2),
        (&[Busy("0.1"), Error, Good], LONG_MS, 1),
        (&[Error], LONG_MS, 3),
        (&[Cut], LONG_MS, 3),
        (&[Unauthorised], LONG_MS, 0),
        (&[Slow], 300, 1),
    ] {
        let (url, endpoint) = serve(answers).await;
        let client = ModelClient::new(ModelAccess::default());
        let (_, billed) = client.ask(&request(&url, timeout_ms, 2)).await;
        let calls = endpoint.calls.load(Ordering::SeqCst);
        assert_eq!(billed, expected, "{calls} calls");
    }
}

#[tokio::test]
async fn a_rehearsal_asks_nobody() {
    let (url, endpoint) = serve(&[Answer::Good]).await;
    let client = ModelClient::new(ModelAccess::Refuse);
    let (reply, billed) = client.ask(&request(&url, LONG_MS, 2)).await;
    assert_eq!((reply.result, billed), (Err(ModelFailure::NotAsked), 0));
    assert_eq!(endpoint.calls.load(Ordering::SeqCst), 0);
}
