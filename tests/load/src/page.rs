//! One participant: the page that people's browsers run, over a real WebSocket, and somebody who reads and presses keys.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use client_core::{Credentials, Page, PageEffect, PageEvent, Partners, SocketId, StopReason};
use futures_util::{SinkExt as _, StreamExt as _};
use protocol::Tick;
use protocol::control::{self, Ask, ClientMessage, ServerMessage, StageView};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::crowd::Crowd;
use crate::hands::{Hands, Native};
use crate::switchboard::{ChannelNews, Place};
use crate::tally::frame_len;

/// The time after which an attempt to connect is given up.
const OPENS_WITHIN: Duration = Duration::from_secs(30);

/// Pages of one address: the server's limits of one address are not what is measured.
const PAGES_OF_ADDRESS: usize = 50;

/// Bytes that a connection reads in one go. Each read fills as many with zeros first, and messages are short.
const READ_BUFFER: usize = 4 * 1024;

/// The time that somebody reads the first page, microseconds.
const READS_US: u64 = 1_000_000;

type Socket = WebSocketStream<TcpStream>;

/// The next event of a page.
enum News {
    Frame(Option<Result<Message, tokio_tungstenite::tungstenite::Error>>),
    Channel(ChannelNews),
    Time,
}

/// A participant.
pub(crate) struct LoadPage {
    number: usize,
    crowd: Rc<Crowd>,
    page: Page<Native>,
    hands: Hands,
    socket: Option<(SocketId, Socket)>,
    channels: (UnboundedSender<ChannelNews>, UnboundedReceiver<ChannelNews>),
    place: Option<Place>,
    /// Uploads that are not acknowledged: the tick before which they have inputs, and when they were sent.
    flying: VecDeque<(Tick, Instant)>,
    /// When the first page is read, microseconds.
    read_us: Option<u64>,
    is_playing: bool,
    /// The reason why nothing more happens on this page.
    ended: Option<PageEnd>,
}

/// The end of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageEnd {
    /// It is on the last page of the study.
    Over,
    /// The server turned it away.
    Refused(String),
    /// It cannot go on.
    Failed(String),
}

impl LoadPage {
    /// A page that has not connected yet.
    pub(crate) fn new(number: usize, crowd: Rc<Crowd>) -> Self {
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&(number as u64 + 1).to_le_bytes());
        let now_us = crowd.now_us();
        Self {
            number,
            page: Page::new(now_us, Credentials::default(), secret),
            hands: Hands::new(number as u64),
            socket: None,
            channels: unbounded_channel(),
            place: None,
            flying: VecDeque::new(),
            read_us: None,
            is_playing: false,
            ended: None,
            crowd,
        }
    }

    /// Takes part until the end.
    pub(crate) async fn take_part(mut self) -> PageEnd {
        loop {
            self.do_due();
            self.carry_out().await;
            if let Some(end) = self.ended.take() {
                self.leave().await;
                return end;
            }
            let due_us = self.due_us();
            let news = tokio::select! {
                frame = next_frame(&mut self.socket) => News::Frame(frame),
                Some(news) = self.channels.1.recv() => News::Channel(news),
                () = sleep_until(self.crowd.instant_of(due_us)) => News::Time,
            };
            self.hear(news);
        }
    }

    /// Returns when something is due at the latest, microseconds.
    fn due_us(&mut self) -> u64 {
        let now_us = self.crowd.now_us();
        let page_us = self.page.poll_timeout(now_us).map(|(due_us, _)| due_us);
        let due_us = page_us.into_iter().chain(self.read_us).min();
        due_us.unwrap_or(now_us + 1_000_000)
    }

    /// Does what is due by now.
    fn do_due(&mut self) {
        let now_us = self.crowd.now_us();
        if (self.page.poll_timeout(now_us)).is_some_and(|(due_us, _)| due_us <= now_us) {
            self.page.handle_timeout(now_us);
            let hands = &mut self.hands;
            self.page
                .with_peer(now_us, |peer, now| hands.play(peer, now));
        }
        if self.read_us.take_if(|at_us| *at_us <= now_us).is_some() {
            let read_ms = u32::try_from(READS_US / 1_000).unwrap_or(u32::MAX);
            self.page.handle_done(now_us, Vec::new(), vec![read_ms]);
        }
        if !self.is_playing && self.is_beyond_tick_0() {
            self.is_playing = true;
            self.crowd.tally.borrow_mut().playing += 1;
        }
    }

    fn is_beyond_tick_0(&self) -> bool {
        let session = self.page.peer().and_then(client_core::Peer::session);
        session.is_some_and(|session| session.current() > Tick(0))
    }

    /// Does what the page asks for, and sees what it shows, until there is nothing left.
    async fn carry_out(&mut self) {
        loop {
            if let Some(effect) = self.page.poll_effect() {
                self.perform(effect).await;
            } else if let Some(event) = self.page.poll_event() {
                self.see(event);
            } else {
                break;
            }
        }
        if let Some((socket, open)) = &mut self.socket
            && open.flush().await.is_err()
        {
            let socket = *socket;
            self.lose(socket);
        }
    }

    async fn perform(&mut self, effect: PageEffect) {
        let now_us = self.crowd.now_us();
        match effect {
            PageEffect::OpenSocket(socket) => match self.dial().await {
                Ok(open) => {
                    self.socket = Some((socket, open));
                    self.page.handle_socket_opened(self.crowd.now_us(), socket);
                }
                Err(_) => self.lose(socket),
            },
            PageEffect::CloseSocket => {
                self.flying.clear();
                if let Some((_, mut open)) = self.socket.take() {
                    // The server sees it close either way.
                    let _ = open.close(None).await;
                }
            }
            PageEffect::Send(message) => self.send(message).await,
            PageEffect::OpenChannel { seat } => match &self.place {
                Some(place) if self.crowd.is_direct => {
                    self.crowd
                        .switchboard
                        .connect(place, seat, &self.channels.0);
                }
                // Everything goes through the server.
                _ => self.page.handle_channel(now_us, seat, false),
            },
            PageEffect::Datagram { to, bytes } => {
                if let Some(place) = &self.place {
                    self.crowd.switchboard.send(place, to, bytes);
                }
            }
            PageEffect::CloseChannel { .. } | PageEffect::Signal { .. } => {}
            PageEffect::LoadWorld(era) => match self.open_world() {
                Ok(world) => self
                    .page
                    .handle_world(now_us, era, world, Partners::default()),
                Err(why) => self.ended = Some(PageEnd::Failed(why)),
            },
            PageEffect::RememberSession(_) => {}
        }
    }

    /// Connects from an address that few other pages have.
    async fn dial(&self) -> anyhow::Result<Socket> {
        let [high, low] = u16::try_from(1 + self.number / PAGES_OF_ADDRESS)?.to_be_bytes();
        let opens = async {
            let socket = TcpSocket::new_v4()?;
            socket.bind((Ipv4Addr::new(127, 1, high, low), 0).into())?;
            let stream = socket.connect(self.crowd.address).await?;
            stream.set_nodelay(true)?;
            let url = format!("ws://{}/session", self.crowd.address);
            let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
            anyhow::Ok(client_async_with_config(url, stream, Some(config)).await?.0)
        };
        timeout(OPENS_WITHIN, opens)
            .await
            .context("no answer in time")?
    }

    async fn send(&mut self, message: ClientMessage) {
        let Some((socket, open)) = &mut self.socket else {
            return;
        };
        let bytes = control::encode(&message);
        {
            let mut tally = self.crowd.tally.borrow_mut();
            tally.bytes_out += frame_len(bytes.len(), true);
            if let ClientMessage::Upload(upload) = &message
                && let Some(block) = &upload.block
            {
                let until = Tick(block.first.0 + block.inputs.len() as u32);
                tally.uploads += 1;
                self.flying.push_back((until, Instant::now()));
                if let Some(place) = &self.place {
                    let seat = tally.seats.entry(place.clone()).or_default();
                    seat.sent = seat.sent.max(until);
                }
            }
        }
        if open.feed(Message::Binary(bytes.into())).await.is_err() {
            let socket = *socket;
            self.lose(socket);
        }
    }

    /// The connection is gone, or did not come about.
    fn lose(&mut self, socket: SocketId) {
        self.socket = None;
        self.flying.clear();
        self.crowd.tally.borrow_mut().lost_connections += 1;
        self.page.handle_socket_closed(self.crowd.now_us(), socket);
    }

    /// The environment of the episode that begins; where it is told, its place is known.
    fn open_world(&mut self) -> Result<Native, String> {
        let plan = self.page.peer().map(|peer| peer.plan());
        let plan = plan.ok_or("a world without an episode")?;
        env_core::envs::open(&plan.env, &plan.params).map_err(|error| error.to_string())
    }

    fn see(&mut self, event: PageEvent<Native>) {
        let now_us = self.crowd.now_us();
        match event {
            PageEvent::Welcomed { .. } => self.crowd.tally.borrow_mut().welcomed += 1,
            PageEvent::StageShown { .. } => self.look_at_stage(now_us),
            PageEvent::Waiting(waiting) if waiting.ask != Ask::Nothing => {
                self.page.send(ClientMessage::Here);
            }
            PageEvent::Judged(verdict) => {
                if let Some(place) = &self.place {
                    let mut tally = self.crowd.tally.borrow_mut();
                    tally.seats.entry(place.clone()).or_default().verdict = Some(verdict);
                }
                self.page.handle_outcome_read(now_us);
            }
            PageEvent::EpisodeBegan { .. } => {
                let plan = self.page.peer().map(|peer| peer.plan());
                self.place = plan.map(|plan| (plan.episode.clone(), plan.seat.0));
            }
            PageEvent::Stopped(StopReason::Refused(why)) => {
                self.ended = Some(PageEnd::Refused(format!("{why:?}")));
            }
            PageEvent::Stopped(why) => self.ended = Some(PageEnd::Failed(format!("{why:?}"))),
            PageEvent::Garbled(error) => self.ended = Some(PageEnd::Failed(error)),
            _ => {}
        }
    }

    fn look_at_stage(&mut self, now_us: u64) {
        match self.page.stage().map(|stage| &stage.view) {
            Some(StageView::Instructions { .. }) => self.read_us = Some(now_us + READS_US),
            Some(StageView::End { outcome, .. }) if outcome == "completed" => {
                self.ended = Some(PageEnd::Over);
            }
            Some(StageView::End { outcome, .. }) => {
                self.ended = Some(PageEnd::Failed(format!("it ends as {outcome}")));
            }
            _ => {}
        }
    }

    fn hear(&mut self, news: News) {
        let now_us = self.crowd.now_us();
        match (news, self.socket.as_ref().map(|(socket, _)| *socket)) {
            (News::Frame(Some(Ok(Message::Binary(bytes)))), Some(socket)) => {
                self.crowd.tally.borrow_mut().bytes_in += frame_len(bytes.len(), false);
                match control::decode(&bytes) {
                    Ok(message) => {
                        self.note_acknowledged(&message);
                        self.page.handle_socket_message(now_us, socket, message);
                    }
                    Err(error) => self.ended = Some(PageEnd::Failed(error.to_string())),
                }
            }
            (News::Frame(Some(Ok(Message::Ping(_)))), _) => {
                let mut tally = self.crowd.tally.borrow_mut();
                tally.bytes_in += frame_len(0, false);
                tally.bytes_out += frame_len(0, true);
            }
            (News::Frame(Some(Ok(Message::Close(_)) | Err(_)) | None), Some(socket)) => {
                self.lose(socket);
            }
            (News::Frame(_) | News::Time, _) => {}
            (News::Channel(ChannelNews::Opened(seat)), _) => {
                self.page.handle_channel(now_us, seat, true);
            }
            (News::Channel(ChannelNews::Datagram(from, bytes)), _) => {
                self.page.handle_datagram(now_us, from, &bytes);
            }
        }
    }

    fn note_acknowledged(&mut self, message: &ServerMessage) {
        let (ServerMessage::Archived { own, .. }, Some(place)) = (message, &self.place) else {
            return;
        };
        let mut tally = self.crowd.tally.borrow_mut();
        while let Some((_, sent)) = self.flying.pop_front_if(|(until, _)| *until <= *own) {
            tally.note_wait(sent);
        }
        let seat = tally.seats.entry(place.clone()).or_default();
        seat.acknowledged = seat.acknowledged.max(*own);
    }

    /// Closes what is open.
    async fn leave(&mut self) {
        if let Some(place) = &self.place {
            self.crowd.switchboard.leave(place);
        }
        if let Some((_, mut open)) = self.socket.take() {
            // The server sees it close either way.
            let _ = open.close(None).await;
        }
    }
}

/// The next frame; never, without a connection.
async fn next_frame(
    socket: &mut Option<(SocketId, Socket)>,
) -> Option<Result<Message, tokio_tungstenite::tungstenite::Error>> {
    match socket {
        Some((_, open)) => open.next().await,
        None => std::future::pending().await,
    }
}
