//! The webhook: posts what happens in the study to an address of the researchers, as soon as it is durable.
//!
//! The study never waits for it: events are in a queue of limited length, from which one task posts them in their
//! order, again and again until they are taken. This module must not know what an event means; [`events`] makes them.

mod events;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use clock::Clock;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use serde_json::{Value, json};
use server_core::arbiter::Write;
use server_core::token::make_signature;
use study::Study;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::model_client::{make_client, read_pause};
use events::EventMaker;

/// The most events that wait; one more, and the oldest is dropped.
const MOST_EVENTS: usize = 10_000;
/// The most events of one post.
const BATCH_EVENTS: usize = 100;
/// The bytes of events from which on a post takes no more.
const BATCH_BYTES: usize = 256 * 1024;
/// The time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause after the first failure; each one after that is twice as long.
const FIRST_PAUSE_MS: u64 = 1_000;
/// The longest pause.
const LONGEST_PAUSE_MS: u64 = 300_000;
/// The time that the last posts have when the server stops.
pub(crate) const LAST_POSTS: Duration = Duration::from_secs(5);
/// The most bytes of an answer that are read.
const ANSWER_BYTES: usize = 64 * 1024;
/// The least length of a secret, characters.
const LEAST_SECRET: usize = 16;

/// The address that hears of a study, and the secret under which posts are signed.
#[derive(Clone)]
pub struct WebhookOptions {
    uri: Uri,
    secret: Vec<u8>,
}

impl std::fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // An address of a webhook is often a secret itself.
        f.write_str("WebhookOptions")
    }
}

impl WebhookOptions {
    /// Reads the address, and the secret from its file.
    ///
    /// # Errors
    /// The address is none that data may be sent to, or the file holds no secret.
    pub fn read(url: &str, secret: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(secret)
            .with_context(|| format!("cannot read {} (--webhook-secret)", secret.display()))?;
        let text = text.trim_ascii().to_vec();
        anyhow::ensure!(
            text.len() >= LEAST_SECRET,
            "{} (--webhook-secret) is too short for a secret; write at least {LEAST_SECRET} characters into it",
            secret.display()
        );
        Ok(Self {
            uri: read_address(url)?,
            secret: text,
        })
    }

    /// The headers of a signed post at a time, seconds since the Unix epoch.
    fn sign(&self, at_s: u64, body: &[u8]) -> (String, String) {
        let at = at_s.to_string();
        let text = [at.as_bytes(), b".", body].concat();
        let signature = format!("sha256={}", make_signature(&self.secret, &text));
        (at, signature)
    }
}

/// The address of a webhook: data of participants leave the machine encrypted only.
fn read_address(url: &str) -> anyhow::Result<Uri> {
    let uri: Uri = url.parse().with_context(
        || "--webhook is no address; write for example https://lab.example.edu/hook",
    )?;
    let host = uri.host().unwrap_or_default();
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(uri),
        Some("http") if is_local => Ok(uri),
        _ => anyhow::bail!(
            "--webhook begins with https://, or with http:// for this machine alone, as data of participants must not be \
             read on the way"
        ),
    }
}

/// An event that waits.
#[derive(Debug)]
struct Waiting {
    number: u64,
    participant: Option<String>,
    text: String,
}

/// The queue of events.
#[derive(Debug)]
struct Queue {
    maker: EventMaker,
    events: VecDeque<Waiting>,
    /// The number of the next event.
    next: u64,
    /// Events that were dropped, as the queue was full.
    dropped: u64,
    /// True once no more come.
    is_over: bool,
}

/// The way in: takes what becomes durable.
#[derive(Debug)]
pub struct EventFeed {
    queue: Mutex<Queue>,
    changed: Notify,
    clock: Clock,
}

impl EventFeed {
    fn new(study: Arc<Study>, clock: Clock) -> Self {
        let queue = Queue {
            maker: EventMaker::new(study),
            events: VecDeque::new(),
            next: 0,
            dropped: 0,
            is_over: false,
        };
        Self {
            queue: Mutex::new(queue),
            changed: Notify::new(),
            clock,
        }
    }

    /// Takes a change that is durable. It never waits.
    pub fn tell_write(&self, write: &Write) {
        let at_us = self.clock.now_us();
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gone) = events::find_gone(write) {
            // What is taken back is not sent any more.
            (queue.events).retain(|event| event.participant.as_deref() != Some(gone));
        }
        for event in queue.maker.make_events(write) {
            let number = queue.next;
            queue.next += 1;
            let mut body = json!({ "number": number, "event": event.name, "at_us": at_us });
            if let (Value::Object(body), Value::Object(facts)) = (&mut body, event.facts) {
                body.extend(facts);
            }
            if queue.events.len() >= MOST_EVENTS {
                queue.events.pop_front();
                queue.dropped += 1;
                if queue.dropped == 1 {
                    tracing::warn!(
                        "the webhook takes nothing, and {MOST_EVENTS} events wait: older ones are dropped; the tables \
                         have everything"
                    );
                }
            }
            queue.events.push_back(Waiting {
                number,
                participant: event.participant,
                text: body.to_string(),
            });
        }
        drop(queue);
        self.changed.notify_one();
    }

    /// No more come.
    pub fn close(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.is_over = true;
        drop(queue);
        self.changed.notify_one();
    }

    /// The oldest events as JSON, separated by commas, and the number of the last; `None` if none waits.
    fn read_batch(&self) -> Option<(String, u64)> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut last = None;
        for event in queue.events.iter().take(BATCH_EVENTS) {
            if last.is_some() {
                if text.len() + event.text.len() > BATCH_BYTES {
                    break;
                }
                text.push(',');
            }
            text += &event.text;
            last = Some(event.number);
        }
        last.map(|last| (text, last))
    }

    /// The events up to a number are taken.
    fn forget(&self, last: u64) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.events.retain(|event| event.number > last);
    }

    fn is_over(&self) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.is_over
    }

    fn len(&self) -> usize {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.events.len()
    }
}

/// Starts to post the events of a study; returns the sender for events, and the task.
pub(crate) fn start(
    options: WebhookOptions,
    study: &Arc<Study>,
    clock: Clock,
    run: String,
) -> (Arc<EventFeed>, JoinHandle<()>) {
    let feed = Arc::new(EventFeed::new(Arc::clone(study), clock));
    let head = json!({ "study": study.id, "version": study.version, "run": run }).to_string();
    let posting = tokio::spawn(post_events(options, Arc::clone(&feed), head));
    (feed, posting)
}

/// Posts events until no more come and all are taken, or the last post fails.
async fn post_events(options: WebhookOptions, feed: Arc<EventFeed>, head: String) {
    let client = make_client();
    let head = head.trim_end_matches('}').to_owned();
    let mut failures = 0_u32;
    loop {
        let Some((events, last)) = feed.read_batch() else {
            if feed.is_over() {
                return;
            }
            feed.changed.notified().await;
            continue;
        };
        let body = format!("{head},\"events\":[{events}]}}");
        let at_s = feed.clock.now_us() / 1_000_000;
        let posted = tokio::time::timeout(PATIENCE, post(&client, &options, at_s, body)).await;
        let pause_ms = match posted.unwrap_or(Err(None)) {
            Ok(()) => {
                if failures > 0 {
                    tracing::info!(failures, "the webhook takes events again");
                }
                failures = 0;
                feed.forget(last);
                continue;
            }
            Err(wanted_ms) => plan_pause(failures, wanted_ms),
        };
        failures = failures.saturating_add(1);
        if failures == 1 {
            tracing::warn!("the webhook took nothing; it is tried again and again");
        }
        if feed.is_over() {
            tracing::warn!(
                events = feed.len(),
                "the server stops, and the webhook did not take these events; the tables have them"
            );
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
            () = wait_for_end(&feed) => {}
        }
    }
}

/// Waits until no more events come.
async fn wait_for_end(feed: &EventFeed) {
    while !feed.is_over() {
        feed.changed.notified().await;
    }
}

/// The pause after this many failures before, milliseconds, or the one that the receiver wants.
fn plan_pause(failures: u32, wanted_ms: Option<u64>) -> u64 {
    let doubled = FIRST_PAUSE_MS.saturating_mul(1 << failures.min(20));
    wanted_ms.unwrap_or(0).max(doubled).min(LONGEST_PAUSE_MS)
}

/// Posts once. The error is the pause that the receiver asks for, milliseconds.
async fn post(
    client: &hyper_util::client::legacy::Client<
        hyper_rustls::HttpsConnector<hyper_util::client::legacy::connect::HttpConnector>,
        Full<Bytes>,
    >,
    options: &WebhookOptions,
    at_s: u64,
    body: String,
) -> Result<(), Option<u64>> {
    let (at, signature) = options.sign(at_s, body.as_bytes());
    let request = Request::post(options.uri.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, "coplay")
        .header("x-coplay-timestamp", at)
        .header("x-coplay-signature", signature)
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| None)?;
    let response = client.request(request).await.map_err(|_| None)?;
    let status = response.status();
    let wanted_ms = response.headers().get(RETRY_AFTER).and_then(read_pause);
    // Read, so that the connection can be used again.
    let _ = Limited::new(response.into_body(), ANSWER_BYTES)
        .collect()
        .await;
    match status.is_success() {
        true => Ok(()),
        false => {
            log_status(status);
            Err(wanted_ms)
        }
    }
}

fn log_status(status: StatusCode) {
    tracing::debug!(status = status.as_u16(), "the webhook answers");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_five_minutes_and_the_receiver_may_want_longer_ones() {
        let pauses: Vec<u64> = [0, 1, 2, 8, 9, 60].map(|it| plan_pause(it, None)).to_vec();
        assert_eq!(pauses, [1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
        assert_eq!(plan_pause(0, Some(7_000)), 7_000);
        assert_eq!(plan_pause(0, Some(86_400_000)), LONGEST_PAUSE_MS);
    }

    #[test]
    fn data_leave_the_machine_encrypted_only() {
        for good in [
            "https://lab.example.edu/hook?key=1",
            "http://127.0.0.1:9000/hook",
            "http://localhost/hook",
            "http://[::1]:9000/",
        ] {
            assert!(read_address(good).is_ok(), "{good}");
        }
        for wrong in [
            "http://lab.example.edu/hook",
            "ftp://localhost/",
            "/hook",
            "https://",
            "a b",
        ] {
            assert!(read_address(wrong).is_err(), "{wrong}");
        }
    }
}
