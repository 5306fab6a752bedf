//! One connection with its data channel: a task that owns them, and the orders that it takes.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use protocol::Seat;
use protocol::control::IceServer;
use protocol::datagram::MAX_DATAGRAM;
use protocol::signal::{self, Signal};
use rtc::ice::mdns::MulticastDnsMode;
use tokio::sync::mpsc;
use webrtc::data_channel::{DataChannel, DataChannelEvent, RTCDataChannelInit};
use webrtc::error::Result;
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCConfigurationBuilder,
    RTCIceCandidateInit, RTCIceCandidateType, RTCIceServer, RTCIceTransportPolicy,
    RTCPeerConnectionIceEvent, RTCPeerConnectionState, RTCSessionDescription, SettingEngineBuilder,
};

use crate::{Addressed, ChannelNews, ChannelRules, Serial};

/// Bytes that may wait in a channel. A datagram that would wait longer is worth nothing: the next one repeats it.
const MAX_BUFFERED: usize = 16 * 1024;

/// Datagrams and signals that wait for a connection; more are lost.
const MAX_ORDERS: usize = 1_024;

/// The first step of a connection.
#[derive(Debug)]
pub(crate) enum Start {
    /// Describes itself to the other side.
    Offer,
    /// Answers this description of the other side.
    Answer(String),
}

/// Sends the news of one connection.
#[derive(Clone, Debug)]
pub(crate) struct NewsSender {
    pub(crate) to: Seat,
    pub(crate) serial: Serial,
    pub(crate) news: mpsc::Sender<Addressed>,
}

impl NewsSender {
    async fn report(&self, news: ChannelNews) {
        // The page is gone if nobody listens.
        let _ = self.news.send((self.to, Some(self.serial), news)).await;
    }

    async fn signal(&self, signal: &Signal) {
        self.report(ChannelNews::Signal(signal::encode(signal)))
            .await;
    }

    /// A datagram that finds no room is a lost datagram.
    fn pass(&self, datagram: Vec<u8>) {
        let news = ChannelNews::Datagram(datagram);
        let _ = self.news.try_send((self.to, Some(self.serial), news));
    }
}

/// An order for a connection.
#[derive(Debug)]
enum Order {
    RepeatOffer,
    Answer(String),
    Candidate(RTCIceCandidateInit),
    Send(Vec<u8>),
}

/// A connection; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The seat of the other side.
    pub(crate) to: Seat,
    /// Told in all its signals.
    pub(crate) number: NonZeroU32,
    /// Known to this page alone.
    pub(crate) serial: Serial,
    /// False if an offer is out that nobody has answered.
    pub(crate) is_answered: bool,
    orders: mpsc::Sender<Order>,
}

impl Connection {
    /// Begins to connect.
    pub(crate) fn open(
        number: NonZeroU32,
        rules: &ChannelRules,
        listen: SocketAddr,
        start: Start,
        news: NewsSender,
    ) -> Self {
        let (orders, queue) = mpsc::channel(MAX_ORDERS);
        let connection = Self {
            to: news.to,
            number,
            serial: news.serial,
            is_answered: matches!(start, Start::Answer(_)),
            orders,
        };
        let rules = rules.clone();
        tokio::spawn(async move {
            let ended = converse(number, &rules, listen, start, &news, queue).await;
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection by WebRTC failed");
            }
            news.report(ChannelNews::Closed).await;
        });
        connection
    }

    /// Sends the offer again, with the candidates found so far.
    pub(crate) fn repeat_offer(&self) {
        self.order(Order::RepeatOffer);
    }

    /// Takes the answer to its offer; void if there was one.
    pub(crate) fn handle_answer(&mut self, sdp: String) {
        if !std::mem::replace(&mut self.is_answered, true) {
            self.order(Order::Answer(sdp));
        }
    }

    /// Takes a way to the other side.
    pub(crate) fn handle_candidate(
        &self,
        candidate: String,
        mid: Option<String>,
        line: Option<u16>,
    ) {
        self.order(Order::Candidate(RTCIceCandidateInit {
            candidate,
            sdp_mid: mid,
            sdp_mline_index: line,
            ..RTCIceCandidateInit::default()
        }));
    }

    /// Sends a datagram, unless the channel is not open or too much waits in it.
    pub(crate) fn send(&self, bytes: Vec<u8>) {
        self.order(Order::Send(bytes));
    }

    fn order(&self, order: Order) {
        if self.orders.try_send(order).is_err() {
            tracing::debug!("no room for an order to a connection by WebRTC");
        }
    }
}

/// Events of the connection, as the crate calls them from its own task. The receivers are gone once it is over.
struct Events {
    found: mpsc::UnboundedSender<RTCIceCandidateInit>,
    states: mpsc::UnboundedSender<RTCPeerConnectionState>,
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for Events {
    async fn on_ice_candidate(&self, event: RTCPeerConnectionIceEvent) {
        if let Ok(candidate) = event.candidate.to_json() {
            let _ = self.found.send(candidate);
        }
    }

    async fn on_connection_state_change(&self, state: RTCPeerConnectionState) {
        let _ = self.states.send(state);
    }
}

/// Connects, and passes datagrams until one side is done.
async fn converse(
    number: NonZeroU32,
    rules: &ChannelRules,
    listen: SocketAddr,
    start: Start,
    news: &NewsSender,
    orders: mpsc::Receiver<Order>,
) -> Result<()> {
    let (found, candidates) = mpsc::unbounded_channel();
    let (states, changes) = mpsc::unbounded_channel();
    // Names of browsers for their own addresses need not be looked up: a browser that is sent the addresses of this side
    // is heard from its own.
    let settings = SettingEngineBuilder::new().with_multicast_dns_mode(MulticastDnsMode::Disabled);
    let settings = match rules.relay_only {
        // There is no better way to wait for.
        true => settings.with_relay_acceptance_min_wait(Some(Duration::ZERO)),
        false => settings,
    };
    let connection = PeerConnectionBuilder::new()
        .with_configuration(
            RTCConfigurationBuilder::default()
                .with_ice_servers(rules.ice.iter().map(ice_server).collect())
                .with_ice_transport_policy(match rules.relay_only {
                    true => RTCIceTransportPolicy::Relay,
                    false => RTCIceTransportPolicy::All,
                })
                .build(),
        )
        .with_setting_engine(settings.build())
        .with_handler(Arc::new(Events { found, states }))
        .with_data_channel_send_buffer_limit(MAX_BUFFERED)
        .with_udp_addrs(vec![listen])
        .build()
        .await?;
    let kind = RTCDataChannelInit {
        ordered: false,
        max_retransmits: Some(0),
        // Both sides make the channel themselves, so that it is there when the connection is.
        negotiated: Some(0),
        ..RTCDataChannelInit::default()
    };
    let channel = connection
        .create_data_channel("datagrams", Some(kind))
        .await?;
    let task = Task {
        number,
        connection: &connection,
        channel,
        news,
        orders,
        candidates,
        changes,
        early: Some(Vec::new()),
    };
    let ended = task.run(start).await;
    let closed = connection.close().await;
    ended.and(closed)
}

/// A connection at work.
struct Task<'a, C: PeerConnection> {
    number: NonZeroU32,
    connection: &'a C,
    channel: Arc<dyn DataChannel>,
    news: &'a NewsSender,
    orders: mpsc::Receiver<Order>,
    candidates: mpsc::UnboundedReceiver<RTCIceCandidateInit>,
    changes: mpsc::UnboundedReceiver<RTCPeerConnectionState>,
    /// Ways to the other side that came before its description; `None` once that is there.
    early: Option<Vec<RTCIceCandidateInit>>,
}

impl<C: PeerConnection> Task<'_, C> {
    async fn run(mut self, start: Start) -> Result<()> {
        match start {
            Start::Offer => {
                let offer = self.connection.create_offer(None).await?;
                self.connection.set_local_description(offer).await?;
                self.signal_offer().await;
            }
            Start::Answer(sdp) => {
                self.take_description(RTCSessionDescription::offer(sdp)?)
                    .await?;
                let answer = self.connection.create_answer(None).await?;
                self.connection.set_local_description(answer).await?;
                if let Some(sdp) = self.local_sdp().await {
                    let connection = self.number;
                    self.news.signal(&Signal::Answer { connection, sdp }).await;
                }
            }
        }
        // Candidates are signalled from here on: the other side knows the connection that they are for.
        loop {
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(order) => self.carry_out(order).await?,
                    None => return Ok(()),
                },
                Some(candidate) = self.candidates.recv() => self.signal_candidate(candidate).await,
                Some(state) = self.changes.recv() => {
                    use RTCPeerConnectionState::{Closed, Failed};
                    if matches!(state, Failed | Closed) {
                        return Ok(());
                    }
                }
                event = self.channel.poll() => match event {
                    Some(DataChannelEvent::OnOpen) => {
                        let is_relayed = self.is_relayed().await?;
                        self.news.report(ChannelNews::Opened { is_relayed }).await;
                    }
                    Some(DataChannelEvent::OnMessage(message)) => {
                        // What is no datagram is handed on as far as it takes to see that, and counted there.
                        let most = message.data.len().min(MAX_DATAGRAM + 1);
                        self.news.pass(message.data[..most].to_vec());
                    }
                    Some(DataChannelEvent::OnClose) | None => return Ok(()),
                    Some(_) => {}
                },
            }
        }
    }

    async fn carry_out(&mut self, order: Order) -> Result<()> {
        match order {
            Order::RepeatOffer => self.signal_offer().await,
            Order::Answer(sdp) => {
                self.take_description(RTCSessionDescription::answer(sdp)?)
                    .await?;
            }
            Order::Candidate(candidate) => match &mut self.early {
                Some(early) => early.push(candidate),
                None => self.take_candidate(candidate).await,
            },
            // A datagram that the channel does not take is a lost datagram.
            Order::Send(bytes) => drop(self.channel.try_send(BytesMut::from(&bytes[..])).await),
        }
        Ok(())
    }

    /// Takes the description of the other side, and the ways to it that came before.
    async fn take_description(&mut self, description: RTCSessionDescription) -> Result<()> {
        self.connection.set_remote_description(description).await?;
        for candidate in self.early.take().into_iter().flatten() {
            self.take_candidate(candidate).await;
        }
        Ok(())
    }

    /// Takes a way to the other side. One that cannot be used is one way less, and no failure.
    async fn take_candidate(&self, candidate: RTCIceCandidateInit) {
        if let Err(error) = self.connection.add_ice_candidate(candidate).await {
            tracing::debug!(%error, "a candidate of WebRTC cannot be used");
        }
    }

    async fn signal_offer(&self) {
        if let Some(sdp) = self.local_sdp().await {
            let connection = self.number;
            self.news.signal(&Signal::Offer { connection, sdp }).await;
        }
    }

    async fn signal_candidate(&self, found: RTCIceCandidateInit) {
        if found.candidate.is_empty() {
            return;
        }
        let candidate = Signal::Candidate {
            connection: self.number,
            candidate: found.candidate,
            // The crate leaves the name of the section empty, which browsers refuse; there is but one.
            mid: found.sdp_mid.filter(|mid| !mid.is_empty()),
            line: found.sdp_mline_index.or(Some(0)),
        };
        self.news.signal(&candidate).await;
    }

    /// True if datagrams go through the TURN server of either side.
    async fn is_relayed(&self) -> Result<bool> {
        let Some(sctp) = self.connection.sctp().await else {
            return Ok(false);
        };
        let ice = sctp.transport().ice_transport();
        let Some(pair) = ice.get_selected_candidate_pair().await? else {
            return Ok(false);
        };
        let ends = [pair.local(), pair.remote()];
        Ok(ends.iter().any(|end| end.typ == RTCIceCandidateType::Relay))
    }

    async fn local_sdp(&self) -> Option<String> {
        let description = self.connection.local_description().await;
        description.map(|description| description.sdp)
    }
}

fn ice_server(server: &IceServer) -> RTCIceServer {
    RTCIceServer {
        urls: server.urls.clone(),
        username: server.username.clone().unwrap_or_default(),
        credential: server.credential.clone().unwrap_or_default(),
    }
}
