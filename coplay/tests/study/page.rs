//! A page that is a script.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use protocol::chain::SigningKey;
use protocol::control::{
    Answer, ClientMessage, Entry, Refusal, ServerMessage, StageView, decode, encode,
};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::host::Running;

/// The key by which every page signs the inputs of its person.
pub(crate) fn page_key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// How long a message may take before a test fails instead of hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A participant's page.
pub(crate) struct Page {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) token: String,
}

impl Page {
    pub(crate) async fn connect(host: &Running, entry: Entry) -> Self {
        let (socket, _) = connect_async(format!("ws://{}/session", host.address))
            .await
            .unwrap();
        let mut page = Self {
            socket,
            token: String::new(),
        };
        let mut hello = ClientMessage::make_hello(entry);
        if let ClientMessage::Hello { key, .. } = &mut hello {
            *key = page_key().verifying_key().to_bytes();
        }
        page.say(&hello).await;
        page
    }

    pub(crate) async fn enter(host: &Running, entry: Entry) -> Self {
        let mut page = Self::connect(host, entry).await;
        page.token = page
            .until(|message| match message {
                ServerMessage::Welcome { session, .. } => Some(session),
                _ => None,
            })
            .await;
        page
    }

    pub(crate) async fn say(&mut self, message: &ClientMessage) {
        self.socket
            .send(Message::Binary(encode(message).into()))
            .await
            .unwrap();
    }

    pub(crate) async fn done(&mut self, stage: u16, answers: Vec<Answer>) {
        self.say(&ClientMessage::StageDone {
            stage,
            answers,
            pages_ms: vec![1_000],
        })
        .await;
    }

    /// The next message; `None` once the server has closed.
    pub(crate) async fn hear(&mut self) -> Option<ServerMessage> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.socket.next())
                .await
                .expect("the server answers in time");
            match frame {
                Some(Ok(Message::Binary(bytes))) => return Some(decode(&bytes).unwrap()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(other)) => panic!("unexpected {other:?}"),
            }
        }
    }

    /// Messages until one that is looked for; those before it are let go.
    pub(crate) async fn until<T>(
        &mut self,
        mut found: impl FnMut(ServerMessage) -> Option<T>,
    ) -> T {
        loop {
            let message = self.hear().await.expect("the server does not close");
            if let Some(found) = found(message) {
                return found;
            }
        }
    }

    pub(crate) async fn stage(&mut self) -> StageView {
        self.until(|message| match message {
            ServerMessage::Stage { view, .. } => Some(view),
            _ => None,
        })
        .await
    }

    pub(crate) async fn refusal(&mut self) -> Refusal {
        self.until(|message| match message {
            ServerMessage::Refused { why } => Some(why),
            _ => None,
        })
        .await
    }
}
