//! The DevTools protocol over two pipes: calls, their answers, and events by the page that they belong to.
//!
//! Source: <https://chromedevtools.github.io/devtools-protocol/>; over pipes every message is JSON and ends with a NUL.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// The time after which a browser that has not answered counts as gone.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// An event of a page: its name, and its parameters.
pub(super) type DevToolsEvent = (String, Value);

type Answer = Result<Value, String>;

/// The connection to a browser.
#[derive(Clone, Debug)]
pub(crate) struct DevTools {
    out: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    asked: u64,
    /// Calls that wait for their answers.
    calls: BTreeMap<u64, oneshot::Sender<Answer>>,
    /// Listeners to the events of a page.
    listeners: BTreeMap<String, mpsc::UnboundedSender<DevToolsEvent>>,
}

impl DevTools {
    /// The connection over two pipes. It is closed once nobody can use it any more.
    pub(super) fn over(mut to: ChildStdin, from: ChildStdout) -> Self {
        let (out, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        let shared: Arc<Mutex<Shared>> = Arc::default();
        tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if to.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
        let told = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut from = BufReader::new(from);
            let mut message = Vec::new();
            while let Ok(1..) = from.read_until(0, &mut message).await {
                message.pop();
                if let Ok(message) = serde_json::from_slice(&message) {
                    lock(&told).take(message);
                }
                message.clear();
            }
            // Callers that wait for the browser learn that it is gone.
            *lock(&told) = Shared::default();
        });
        Self { out, shared }
    }

    /// Calls a method of the browser, or of the page of a session.
    ///
    /// # Errors
    /// The browser refuses, does not answer, or is gone.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> anyhow::Result<Value> {
        let (tell, told) = oneshot::channel();
        let id = {
            let mut shared = lock(&self.shared);
            shared.asked += 1;
            let id = shared.asked;
            shared.calls.insert(id, tell);
            id
        };
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut message = message.to_string().into_bytes();
        message.push(0);
        self.out
            .send(message)
            .map_err(|_| anyhow!("the browser is gone"))?;
        let answer = timeout(ANSWERS_WITHIN, told).await;
        let answer = answer.with_context(|| format!("the browser does not answer {method}"))?;
        let answer = answer.context("the browser is gone")?;
        answer.map_err(|why| anyhow!("{method}: {why}"))
    }

    /// The events of the page of a session, from now on.
    pub(super) fn listen(&self, session: &str) -> mpsc::UnboundedReceiver<DevToolsEvent> {
        let (tell, told) = mpsc::unbounded_channel();
        lock(&self.shared)
            .listeners
            .insert(session.to_owned(), tell);
        told
    }
}

impl Shared {
    fn take(&mut self, mut message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let answer = match message["error"]["message"].as_str() {
                Some(why) => Err(why.to_owned()),
                None => Ok(message["result"].take()),
            };
            if let Some(asked) = self.calls.remove(&id) {
                // A caller that has stopped waiting does not want it.
                let _ = asked.send(answer);
            }
            return;
        }
        let Some(session) = message["sessionId"].as_str() else {
            return;
        };
        let listener = self.listeners.get(session).cloned();
        let name = message["method"].as_str().unwrap_or_default().to_owned();
        if let Some(listener) = listener {
            let _ = listener.send((name, message["params"].take()));
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
