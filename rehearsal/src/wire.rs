//! The WebSocket of a bot: a task of its own, so that a server that takes nothing holds up nobody.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use protocol::control::{self, ClientMessage, ServerMessage};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

/// A connection that is not there by then is given up.
const OPENS_WITHIN: Duration = Duration::from_secs(10);

/// What a connection tells.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "news are dealt with at once")]
pub(super) enum News {
    /// It is open.
    Open,
    /// A message came.
    Message(ServerMessage),
    /// Bytes came that are no message.
    Garbled(String),
    /// It is gone, or did not come about.
    Closed,
}

/// A connection, or the wish for one.
#[derive(Debug)]
pub(super) struct Wire {
    out: mpsc::UnboundedSender<Message>,
    news: mpsc::UnboundedReceiver<News>,
    task: tokio::task::AbortHandle,
}

impl Wire {
    /// Begins to connect.
    pub(super) fn dial(address: &str) -> Self {
        let url = format!("ws://{address}/session");
        let (out, queue) = mpsc::unbounded_channel();
        let (told, news) = mpsc::unbounded_channel();
        let task = tokio::task::spawn_local(async move {
            converse(&url, queue, &told).await;
            // Whoever has hung up does not ask.
            let _ = told.send(News::Closed);
        });
        Self {
            out,
            news,
            task: task.abort_handle(),
        }
    }

    /// Sends a message, or drops it if the connection is gone: that is told.
    pub(super) fn send(&self, message: &ClientMessage) {
        self.send_raw(Message::Binary(control::encode(message).into()));
    }

    /// Sends a frame, whatever it holds.
    pub(super) fn send_raw(&self, frame: Message) {
        let _ = self.out.send(frame);
    }

    /// What it tells next; never again anything after [`News::Closed`].
    pub(super) async fn next(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }

    /// Cuts the connection as a computer that is switched off does. A wire that is merely let go sends what waits and
    /// closes.
    pub(super) fn cut(self) {
        self.task.abort();
    }
}

async fn converse(
    url: &str,
    mut queue: mpsc::UnboundedReceiver<Message>,
    told: &mpsc::UnboundedSender<News>,
) {
    let Ok(Ok((mut socket, _))) = timeout(OPENS_WITHIN, connect_async(url)).await else {
        return;
    };
    let tell = |news| told.send(news).is_ok();
    tell(News::Open);
    loop {
        tokio::select! {
            frame = queue.recv() => match frame {
                Some(frame) => if socket.send(frame).await.is_err() { return },
                None => {
                    socket.close(None).await.ok();
                    return;
                }
            },
            frame = socket.next() => match frame {
                Some(Ok(Message::Binary(bytes))) => {
                    let news = match control::decode(&bytes) {
                        Ok(message) => News::Message(message),
                        Err(error) => News::Garbled(error.to_string()),
                    };
                    tell(news);
                }
                Some(Ok(Message::Text(_))) => { tell(News::Garbled("text".to_owned())); }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
}
