//! The WebSocket of a bot: a separate task, so that a server that reads nothing blocks nobody.

use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use protocol::control::{self, ServerMessage};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

/// The time after which an attempt to connect is abandoned.
const OPENS_WITHIN: Duration = Duration::from_secs(10);

/// Events of a connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "news are dealt with at once")]
pub(super) enum News {
    /// It is open.
    Open,
    /// A message arrived.
    Message(ServerMessage),
    /// Bytes arrived that are not a message.
    Garbled(String),
    /// It is closed, or was never opened.
    Closed,
}

/// A connection, or an attempt at one.
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
            // The receiver does not ask once it has hung up.
            let _ = told.send(News::Closed);
        });
        Self {
            out,
            news,
            task: task.abort_handle(),
        }
    }

    /// Sends a frame, or drops it if the connection is closed: [`News::Closed`] reports that.
    pub(super) fn send(&self, frame: Message) {
        let _ = self.out.send(frame);
    }

    /// The next event; nothing follows [`News::Closed`].
    pub(super) fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<News> {
        match self.news.poll_recv(context) {
            Poll::Ready(Some(news)) => Poll::Ready(news),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// Cuts the connection as a computer that is switched off does. A wire that is dropped instead sends its queue and
    /// closes.
    pub(super) fn cut_wire(self) {
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
