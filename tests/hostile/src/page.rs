//! One connection of a dishonest page: control messages over a WebSocket, as far as an attack wants them.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ed25519_dalek::SigningKey;
use futures_util::{SinkExt as _, StreamExt as _};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::wire::chain::public;
use crate::wire::messages::{Answer, ClientMessage, Entry, Refusal, ServerMessage, StageView};
use crate::wire::{decode, encode};

/// The time that an attack waits for an answer that an honest page would get immediately.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Somebody who connects: from which address, and with which headers.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// An address of this machine.
    pub from: Ipv4Addr,
    /// Headers of the request, by name.
    pub headers: Vec<(String, String)>,
}

impl Default for Caller {
    fn default() -> Self {
        Self::at(1)
    }
}

impl Caller {
    /// Somebody at one of the addresses of this machine.
    pub(crate) fn at(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self {
            from: Ipv4Addr::new(127, 0, high, low.max(1)),
            headers: Vec::new(),
        }
    }

    /// Opens a connection.
    pub(crate) async fn dial(&self, address: &str) -> anyhow::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.from, 0).into())?;
        let stream = socket.connect(address.parse()?).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// A connection.
pub(crate) struct Page {
    socket: WebSocketStream<TcpStream>,
    /// The token of its session, once it is in.
    pub token: Option<String>,
    /// The key that it says is its own.
    pub key: SigningKey,
    /// The public key that it says is its own, if that is another.
    pub said_key: Option<[u8; 32]>,
}

/// Makes a key that no other page has. It need not be secret.
fn make_key() -> SigningKey {
    static KEYS: AtomicU64 = AtomicU64::new(0);
    let number = KEYS.fetch_add(1, Ordering::Relaxed);
    let hash = Sha256::digest(
        [u64::from(std::process::id()), number]
            .map(u64::to_le_bytes)
            .concat(),
    );
    SigningKey::from_bytes(&hash.into())
}

impl Page {
    /// Connects, and says nothing yet.
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        Self::connect_as(address, &Caller::default()).await
    }

    /// Connects as somebody at another address.
    pub(crate) async fn connect_as(address: &str, caller: &Caller) -> anyhow::Result<Self> {
        let mut request = format!("ws://{address}/session").into_client_request()?;
        for (name, value) in &caller.headers {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            request
                .headers_mut()
                .insert(name, HeaderValue::from_str(value)?);
        }
        let opens = async {
            let stream = caller.dial(address).await?;
            Ok::<_, anyhow::Error>(client_async(request, stream).await?)
        };
        let opened = timeout(PATIENCE, opens).await;
        let (socket, _) = opened.context("the server takes no connection")??;
        Ok(Self {
            socket,
            token: None,
            key: make_key(),
            said_key: None,
        })
    }

    /// Connects and comes in.
    ///
    /// # Errors
    /// It is refused.
    pub(crate) async fn enter(address: &str, entry: Entry) -> anyhow::Result<Self> {
        Self::enter_as(address, &Caller::default(), entry).await
    }

    /// Comes in as somebody at another address.
    pub(crate) async fn enter_as(
        address: &str,
        caller: &Caller,
        entry: Entry,
    ) -> anyhow::Result<Self> {
        let mut page = Self::connect_as(address, caller).await?;
        match page.say_hello(entry).await? {
            None => Ok(page),
            Some(why) => bail!("the page is refused: {why:?}"),
        }
    }

    /// Says the first message; gives the reason if the page is refused.
    pub(crate) async fn say_hello(&mut self, entry: Entry) -> anyhow::Result<Option<Refusal>> {
        let hello = ClientMessage::Hello {
            entry,
            language: None,
            reads: Vec::new(),
            key: self.said_key.unwrap_or_else(|| public(&self.key)),
        };
        self.send(&hello).await?;
        let found = self
            .await_message(|message| match message {
                ServerMessage::Welcome { session, .. } => Some(Ok(session)),
                ServerMessage::Refused { why } => Some(Err(why)),
                _ => None,
            })
            .await?;
        match found {
            Ok(token) => self.token = Some(token),
            Err(why) => return Ok(Some(why)),
        }
        Ok(None)
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: &ClientMessage) -> anyhow::Result<()> {
        let bytes = encode(message)?;
        Ok(self.socket.send(Message::Binary(bytes.into())).await?)
    }

    /// Sends bytes that may be no message.
    pub(crate) async fn send_bytes(&mut self, bytes: Vec<u8>) -> anyhow::Result<()> {
        Ok(self.socket.send(Message::Binary(bytes.into())).await?)
    }

    /// The next message; `None` once the connection is closed.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<ServerMessage>> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Binary(bytes))) => return decode(&bytes).map(Some),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(None),
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next message until a time; `None` if there is none.
    pub(crate) async fn next_until(
        &mut self,
        at: Instant,
    ) -> anyhow::Result<Option<ServerMessage>> {
        match timeout_at(at, self.next()).await {
            Ok(Ok(None)) => bail!("the server has closed the connection"),
            Ok(found) => found,
            Err(_) => Ok(None),
        }
    }

    /// Waits for a message; others are passed over.
    ///
    /// # Errors
    /// It does not come.
    pub(crate) async fn await_message<T>(
        &mut self,
        wanted: impl FnMut(ServerMessage) -> Option<T>,
    ) -> anyhow::Result<T> {
        self.await_within(PATIENCE, wanted).await
    }

    /// The same, with another patience.
    pub(crate) async fn await_within<T>(
        &mut self,
        patience: Duration,
        mut wanted: impl FnMut(ServerMessage) -> Option<T>,
    ) -> anyhow::Result<T> {
        let until = Instant::now() + patience;
        let mut heard = Vec::new();
        while let Some(message) = self.next_until(until).await? {
            heard.push(format!("{message:?}").chars().take(60).collect::<String>());
            if let Some(found) = wanted(message) {
                return Ok(found);
            }
        }
        heard.drain(..heard.len().saturating_sub(5));
        bail!("the server does not say what was expected; the last that it said: {heard:?}")
    }

    /// Waits for a stage; gives its index and view.
    pub(crate) async fn await_stage(
        &mut self,
        wanted: impl Fn(&StageView) -> bool,
    ) -> anyhow::Result<(u16, StageView)> {
        self.await_message(|message| match message {
            ServerMessage::Stage { index, view, .. } if wanted(&view) => Some((index, view)),
            _ => None,
        })
        .await
    }

    /// Waits for the last page; gives the outcome and the pay that it shows.
    pub(crate) async fn await_end(
        &mut self,
        patience: Duration,
    ) -> anyhow::Result<(String, String)> {
        self.await_within(patience, |message| match message {
            ServerMessage::Stage {
                view: StageView::End {
                    outcome, farewell, ..
                },
                ..
            } => Some((outcome, farewell.pay)),
            _ => None,
        })
        .await
    }

    /// Finishes a stage.
    pub(crate) async fn finish(&mut self, stage: u16, answers: Vec<Answer>) -> anyhow::Result<()> {
        let done = ClientMessage::StageDone {
            stage,
            answers,
            pages_ms: vec![1_000],
        };
        self.send(&done).await
    }

    /// A key that is not its own.
    pub(crate) fn other_key(&self) -> SigningKey {
        make_key()
    }

    /// Closes the connection.
    pub(crate) async fn close(mut self) {
        // It is gone either way.
        let _ = self.socket.close(None).await;
    }
}
