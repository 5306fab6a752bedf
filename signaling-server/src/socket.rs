//! The session socket of one page: frames to messages and back, with every limit that a page must keep.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use protocol::DecodeError;
use protocol::control::{ClientMessage, Entry, Refusal, ServerMessage, decode, encode};
use server_core::arbiter::{ClientKey, ConnId, Event};
use server_core::limits::Limits;
use server_core::message_budget::MessageBudget;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, interval, timeout};

use crate::app::App;
use crate::gate::Admitted;
use crate::listener::Caller;

/// Bytes that a connection reads in one go. It keeps a buffer of this size while it is idle, and most messages are
/// shorter.
const READ_BUFFER: usize = 4 * 1024;

/// The open connections, and the queue of messages to each.
#[derive(Debug, Default)]
pub struct Connections {
    next: AtomicU64,
    queues: Mutex<HashMap<ConnId, Outgoing>>,
    warned: Mutex<Option<Instant>>,
}

/// The messages for a page, and its place at the gate.
#[derive(Debug)]
struct Outgoing {
    queue: mpsc::Sender<Vec<u8>>,
    admitted: Option<Arc<Admitted>>,
}

/// The time within which a page that must make room is gone.
const MAKES_ROOM_WITHIN: Duration = Duration::from_secs(5);

/// True if a page is sent this only once its person has done something, or waits for others.
fn shows_progress(message: &ServerMessage) -> bool {
    match message {
        ServerMessage::Stage { index, .. } => *index > 0,
        ServerMessage::Waiting { .. }
        | ServerMessage::Missing { .. }
        | ServerMessage::Match(_)
        | ServerMessage::Start { .. }
        | ServerMessage::Running { .. }
        | ServerMessage::Return(_)
        | ServerMessage::Chat(_) => true,
        _ => false,
    }
}

/// Time between two warnings about pages: a thousand of them are one fault.
const WARNS_EACH: Duration = Duration::from_secs(1);

impl Connections {
    fn open(
        &self,
        limits: &Limits,
        admitted: Option<Arc<Admitted>>,
    ) -> (ConnId, mpsc::Receiver<Vec<u8>>) {
        let conn = ConnId(self.next.fetch_add(1, Ordering::Relaxed));
        let (queue, outgoing) = mpsc::channel(limits.outgoing);
        self.queues().insert(conn, Outgoing { queue, admitted });
        (conn, outgoing)
    }

    /// Queues a message; a page that is too slow for its queue is closed.
    pub fn send(&self, conn: ConnId, message: &ServerMessage) {
        let mut queues = self.queues();
        let Some(Outgoing { queue, admitted }) = queues.get(&conn) else {
            return;
        };
        if shows_progress(message) {
            admitted.iter().for_each(|it| it.set_idle(false));
        }
        if queue.try_send(encode(message)).is_err() {
            queues.remove(&conn);
            drop(queues);
            self.warn("a page is too slow for its messages and is closed");
        }
    }

    /// Queues a datagram, or drops it if `waiting` messages wait already.
    pub fn relay_message(&self, conn: ConnId, message: &ServerMessage, waiting: usize) {
        let queues = self.queues();
        let Some(Outgoing { queue, .. }) = queues.get(&conn) else {
            return;
        };
        if queue.max_capacity() - queue.capacity() < waiting {
            // A datagram that finds no room is a lost datagram.
            let _ = queue.try_send(encode(message));
        }
    }

    /// Closes a connection once what waits is sent.
    pub fn close(&self, conn: ConnId) {
        self.queues().remove(&conn);
    }

    /// Tells every page why it is turned away, and closes its connection.
    pub fn turn_all_away(&self, why: Refusal) {
        let refused = encode(&ServerMessage::Refused { why });
        for (_, Outgoing { queue, .. }) in self.queues().drain() {
            // A page that is too slow for the message sees that its connection closes.
            let _ = queue.try_send(refused.clone());
        }
    }

    /// Closes every connection.
    pub fn close_all(&self) {
        self.queues().clear();
    }

    /// Writes a warning into the log, unless it has just had one.
    fn warn(&self, said: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_none_or(|at| at.elapsed() >= WARNS_EACH) {
            *warned = Some(Instant::now());
            tracing::warn!("{said}");
        }
    }

    fn queues(&self) -> std::sync::MutexGuard<'_, HashMap<ConnId, Outgoing>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the session socket of a page.
pub async fn upgrade(
    State(app): State<Arc<App>>,
    head: Parts,
    socket: WebSocketUpgrade,
) -> Response {
    if !app.sites.is_allowed(&head.headers) {
        return (
            StatusCode::FORBIDDEN,
            "This server answers its own pages and those of declared sites. To add a site, start it with --site.\n",
        )
            .into_response();
    }
    let caller = head.extensions.get::<Caller>().cloned();
    let client = caller
        .as_ref()
        .map(|caller| caller.client_of(&head.headers, &app.trusted_proxies));
    let has_room = caller
        .as_ref()
        .zip(client)
        .is_none_or(|(caller, client)| caller.admitted.become_page(client));
    let permit = match has_room {
        true => take_slot(&app).await,
        false => None,
    };
    // A message that is a little too long is still read, so that the page gets an answer; the rest is cut off.
    let bytes = 2 * app.limits.message_bytes;
    socket
        .read_buffer_size(READ_BUFFER)
        .max_message_size(bytes)
        .max_frame_size(bytes)
        .on_upgrade(move |mut socket| async move {
            let admitted = caller.map(|caller| caller.admitted);
            let client = client.map(|client| client.key());
            match permit {
                Some(permit) => {
                    serve(&app, socket, client, admitted).await;
                    drop(permit);
                }
                None => turn_away(&app, &mut socket, admitted).await,
            }
        })
}

/// Tells a page why there is no place for it, and closes its connection: a page that fails to connect could only say
/// that there is no server. The page of a participant who has begun keeps trying; everybody else may come back later.
async fn turn_away(app: &App, socket: &mut WebSocket, admitted: Option<Arc<Admitted>>) {
    let hello = timeout(app.limits.close_grace, socket.recv());
    let hello = match &admitted {
        Some(admitted) => tokio::select! {
            hello = hello => hello,
            // Others need its connection.
            () = admitted.wait_for_close() => return,
        },
        None => hello.await,
    };
    let Ok(frame) = hello else {
        return;
    };
    let Inbound::Message(hello) = heard(frame, app.limits.message_bytes) else {
        return;
    };
    let why = match *hello {
        ClientMessage::Hello {
            entry: Entry::Resume { .. } | Entry::Return(_),
            ..
        } => Refusal::Stopping,
        _ => Refusal::Full,
    };
    close_with(app, socket, Some(why)).await;
}

/// A slot for a page. If there is none, the page that has been idle longest has to go.
async fn take_slot(app: &App) -> Option<OwnedSemaphorePermit> {
    let free = Arc::clone(&app.slots).try_acquire_owned();
    if free.is_ok() || !app.gate.close_idle_page() {
        return free.ok();
    }
    let freed = timeout(MAKES_ROOM_WITHIN, Arc::clone(&app.slots).acquire_owned());
    freed.await.ok()?.ok()
}

/// A frame from a page, or its end.
enum Inbound {
    Message(Box<ClientMessage>),
    Noise,
    Gone,
    Lost,
    Bad(Refusal),
}

async fn serve(
    app: &App,
    mut socket: WebSocket,
    client: Option<ClientKey>,
    admitted: Option<Arc<Admitted>>,
) {
    let (conn, mut outgoing) = app.connections.open(&app.limits, admitted.clone());
    admitted.iter().for_each(|it| it.set_idle(true));
    if let Some(client) = client {
        // As below.
        let _ = app.events.send(Event::Connected(conn, client)).await;
    }
    let greeted = match &admitted {
        _ if app.disk.holds_pages() => Err(Some(Refusal::Stopping)),
        Some(admitted) => tokio::select! {
            greeted = greet(app, conn, &mut socket) => greeted,
            // Others have something to say.
            () = admitted.wait_for_close() => Err(None),
        },
        None => greet(app, conn, &mut socket).await,
    };
    let close = match greeted {
        Ok(()) => {
            admitted
                .iter()
                .for_each(|admitted| admitted.set_silent(false));
            let closing = async {
                match &admitted {
                    Some(admitted) => admitted.wait_for_close().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                close = converse(app, conn, &mut socket, &mut outgoing) => close,
                () = closing => None,
            }
        }
        Err(close) => close,
    };
    app.connections.close(conn);
    // The driver outlives every connection; if it is gone, so is the state that wants to know.
    let _ = app.events.send(Event::Closed(conn)).await;
    close_with(app, &mut socket, close).await;
}

/// Closes a connection, and says why if there is a reason.
async fn close_with(app: &App, socket: &mut WebSocket, why: Option<Refusal>) {
    if let Some(why) = why {
        let refused = encode(&ServerMessage::Refused { why });
        let _ = write(app, socket, Message::Binary(refused.into())).await;
    }
    let frame = CloseFrame {
        code: close_code::NORMAL,
        reason: "".into(),
    };
    if write(app, socket, Message::Close(Some(frame))).await {
        // A socket dropped with unread bytes would take the last messages with it.
        let farewell = async { while let Some(Ok(_)) = socket.recv().await {} };
        let _ = timeout(app.limits.close_grace, farewell).await;
    }
}

/// Passes messages both ways until one side is done. Gives a reason if the page is turned away.
async fn converse(
    app: &App,
    conn: ConnId,
    socket: &mut WebSocket,
    outgoing: &mut mpsc::Receiver<Vec<u8>>,
) -> Option<Refusal> {
    let mut ping = interval(app.limits.ping);
    let mut budget = MessageBudget::new(&app.limits, app.clock.now_us());
    let mut last_heard = Instant::now();
    loop {
        let frame = tokio::select! {
            bytes = outgoing.recv() => {
                // `None`: the arbiter has closed this connection, and everything before is sent.
                if !write(app, socket, Message::Binary(bytes?.into())).await {
                    return None;
                }
                continue;
            }
            frame = socket.recv() => frame,
            _ = ping.tick() => {
                let silent = last_heard.elapsed() > app.limits.ping * 3;
                if silent || !write(app, socket, Message::Ping(Vec::new().into())).await {
                    return None;
                }
                continue;
            }
        };
        last_heard = Instant::now();
        let heard = heard(frame, app.limits.message_bytes);
        let is_datagram = matches!(&heard, Inbound::Message(message) if matches!(**message, ClientMessage::Relay { .. }));
        match budget.take_message(app.clock.now_us(), is_datagram) {
            true => {}
            // Messages that a network held back arrive together, and nobody waits for old datagrams.
            false if is_datagram => continue,
            false => {
                app.connections
                    .warn("a page sends too many messages and is closed");
                return Some(Refusal::Malformed);
            }
        }
        match heard {
            Inbound::Message(message) => match *message {
                ClientMessage::Hello { .. } => return Some(Refusal::Malformed),
                ClientMessage::Clock { sent_us } => {
                    let message = ServerMessage::Clock {
                        sent_us,
                        server_us: app.clock.now_us(),
                    };
                    app.connections.send(conn, &message);
                }
                message => app.events.send(Event::Message(conn, message)).await.ok()?,
            },
            Inbound::Noise => {}
            Inbound::Gone => return None,
            Inbound::Lost => return Some(Refusal::Malformed),
            Inbound::Bad(why) => {
                // As after the loop of messages: without the driver nobody wants to know.
                let _ = app.events.send(Event::Malformed(conn)).await;
                return Some(why);
            }
        }
    }
}

/// Waits for the first message, and passes it on.
///
/// # Errors
/// The page is gone, or is turned away for a reason.
async fn greet(app: &App, conn: ConnId, socket: &mut WebSocket) -> Result<(), Option<Refusal>> {
    let hello = match timeout(app.limits.hello_timeout, socket.recv()).await {
        Ok(frame) => heard(frame, app.limits.message_bytes),
        Err(_) => return Err(Some(Refusal::Malformed)),
    };
    match hello {
        Inbound::Message(hello) if matches!(*hello, ClientMessage::Hello { .. }) => {
            let passed = app.events.send(Event::Message(conn, *hello)).await;
            passed.map_err(|_| Some(Refusal::Stopping))
        }
        Inbound::Bad(why) => Err(Some(why)),
        Inbound::Gone => Err(None),
        Inbound::Message(_) | Inbound::Noise | Inbound::Lost => Err(Some(Refusal::Malformed)),
    }
}

fn heard(frame: Option<Result<Message, axum::Error>>, limit: usize) -> Inbound {
    match frame {
        Some(Ok(Message::Binary(bytes))) if bytes.len() > limit => Inbound::Bad(Refusal::Malformed),
        Some(Ok(Message::Binary(bytes))) => match decode(&bytes) {
            Ok(message) => Inbound::Message(Box::new(message)),
            Err(DecodeError::Version { .. }) => Inbound::Bad(Refusal::OldPage),
            Err(_) => Inbound::Bad(Refusal::Malformed),
        },
        Some(Ok(Message::Text(_))) => Inbound::Bad(Refusal::Malformed),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Inbound::Noise,
        Some(Ok(Message::Close(_))) | None => Inbound::Gone,
        // A frame over the limit, or a socket that broke: the page may still read why.
        Some(Err(_)) => Inbound::Lost,
    }
}

/// Writes a frame; false if the page takes none within three pings.
async fn write(app: &App, socket: &mut WebSocket, message: Message) -> bool {
    matches!(
        timeout(app.limits.ping * 3, socket.send(message)).await,
        Ok(Ok(()))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_page_loses_datagrams_first_and_then_its_connection() {
        let limits = Limits {
            outgoing: 4,
            ..Limits::default()
        };
        let connections = Connections::default();
        let (conn, mut outgoing) = connections.open(&limits, None);
        for _ in 0..9 {
            connections.relay_message(conn, &ServerMessage::Superseded, 2);
        }
        assert_eq!(outgoing.len(), 2);
        for _ in 0..3 {
            connections.send(conn, &ServerMessage::Superseded);
        }
        assert_eq!(outgoing.len(), 4);
        while outgoing.try_recv().is_ok() {}
        assert!(outgoing.is_closed());
    }
}
