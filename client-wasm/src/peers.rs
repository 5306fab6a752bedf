//! WebRTC to the other people of an episode: `matchbox_socket` under our own signaller, which travels over
//! the session socket.
//!
//! The socket assigns each peer an id made of the era and its seat; of two peers the one with the lower seat offers.
//! Candidates travel inside offer and answer, because matchbox gathers them all first; single candidates are
//! therefore neither sent nor taken, and a description that the browser would refuse is dropped before matchbox,
//! which ends the page on either, sees it. This module must not know what the datagrams mean.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::StreamExt;
use js_sys::{Function, Object, Promise, Reflect};
use matchbox_socket::{
    ChannelConfig, PeerEvent, PeerId, PeerRequest, PeerSignal, PeerState, RtcIceServerConfig,
    SignalingError, Signaller, SignallerBuilder, WebRtcSocket,
};
use protocol::control::IceServer;
use protocol::{Era, Seat};
use uuid::Uuid;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use crate::dom;

/// The longest signal taken from a peer, bytes.
const MAX_SIGNAL: usize = 64 * 1024;

/// What happened on the data channels.
pub(crate) enum Happening {
    /// The channel to a seat opened.
    Opened(Seat),
    /// The channel to a seat closed.
    Closed(Seat),
    /// A datagram came from a seat.
    Datagram(Seat, Vec<u8>),
}

/// The data channels of one episode.
pub(crate) struct Peers {
    era: Era,
    socket: WebRtcSocket,
    events: UnboundedSender<PeerEvent>,
    requests: UnboundedReceiver<(Seat, String)>,
}

/// Whether this browser has WebRTC at all.
pub(crate) fn is_supported() -> bool {
    Reflect::get(&dom::window(), &"RTCPeerConnection".into()).is_ok_and(|value| value.is_function())
}

impl Peers {
    /// Starts to connect to the seats of `others`; call only if [`is_supported`].
    pub(crate) fn connect(era: Era, own: Seat, others: &[Seat], ice: &[IceServer]) -> Self {
        let (events, inbox) = unbounded();
        let (outbox, requests) = unbounded();
        // The first event of a signaller, once in its life, is the id.
        events
            .unbounded_send(PeerEvent::IdAssigned(id_of(era, own)))
            .ok();
        for &other in others.iter().filter(|&&other| own < other) {
            events
                .unbounded_send(PeerEvent::NewPeer(id_of(era, other)))
                .ok();
        }
        let signaller = SessionSignaller { inbox, outbox };
        let (socket, running) = WebRtcSocket::builder("")
            .ice_server(ice_config(ice))
            .signaling_keep_alive_interval(None)
            .signaller_builder(Arc::new(Once(Mutex::new(Some(signaller)))))
            .add_channel(ChannelConfig::unreliable())
            .build();
        spawn_local(async move {
            // Play goes on through the server if the channels are gone.
            running.await.ok();
        });
        Self {
            era,
            socket,
            events,
            requests,
        }
    }

    /// Takes a signal from a peer.
    pub(crate) fn signal(&self, from: Seat, data: &str) {
        if data.len() > MAX_SIGNAL {
            return;
        }
        let Ok(signal) = serde_json::from_str::<PeerSignal>(data) else {
            return;
        };
        let (events, sender) = (self.events.clone(), id_of(self.era, from));
        spawn_local(async move {
            if is_acceptable(&signal).await {
                events
                    .unbounded_send(PeerEvent::Signal {
                        sender,
                        data: signal,
                    })
                    .ok();
            }
        });
    }

    /// Moves what came and what is to be signalled.
    pub(crate) fn poll(&mut self, signals: &mut VecDeque<(Seat, String)>) -> Vec<Happening> {
        while let Ok(request) = self.requests.try_recv() {
            signals.push_back(request);
        }
        let mut news = Vec::new();
        for (peer, state) in self.socket.try_update_peers().unwrap_or_default() {
            news.push(match state {
                PeerState::Connected => Happening::Opened(seat_of(peer)),
                PeerState::Disconnected => Happening::Closed(seat_of(peer)),
            });
        }
        if let Ok(channel) = self.socket.get_channel_mut(0) {
            let packets = channel.receive().into_iter();
            news.extend(
                packets.map(|(peer, packet)| Happening::Datagram(seat_of(peer), packet.to_vec())),
            );
        }
        news
    }

    /// Sends a datagram; it may be lost.
    pub(crate) fn send(&mut self, to: Seat, bytes: &[u8]) {
        if let Ok(channel) = self.socket.get_channel_mut(0) {
            channel
                .try_send(bytes.to_vec().into(), id_of(self.era, to))
                .ok();
        }
    }
}

fn id_of(era: Era, seat: Seat) -> PeerId {
    PeerId(Uuid::from_u64_pair(u64::from(era.0), u64::from(seat.0)))
}

fn seat_of(peer: PeerId) -> Seat {
    Seat(peer.0.as_u64_pair().1 as u8)
}

/// matchbox takes one entry with one credential; the first one that has a credential carries it.
fn ice_config(ice: &[IceServer]) -> RtcIceServerConfig {
    let named = ice.iter().find(|server| server.credential.is_some());
    RtcIceServerConfig {
        urls: ice
            .iter()
            .flat_map(|server| server.urls.iter().cloned())
            .collect(),
        username: named.and_then(|server| server.username.clone()),
        credential: named.and_then(|server| server.credential.clone()),
    }
}

/// Tries a description on a connection that is thrown away.
async fn is_acceptable(signal: &PeerSignal) -> bool {
    let (kind, sdp) = match signal {
        PeerSignal::Offer(sdp) => ("offer", sdp),
        PeerSignal::Answer(sdp) => ("answer", sdp),
        PeerSignal::IceCandidate(_) => return false,
    };
    rehearse(kind, sdp).await.is_ok()
}

async fn rehearse(kind: &str, sdp: &str) -> Result<(), JsValue> {
    let class: Function = Reflect::get(&dom::window(), &"RTCPeerConnection".into())?.dyn_into()?;
    let connection: Rehearsal = Reflect::construct(&class, &js_sys::Array::new())?.unchecked_into();
    let outcome = describe(&connection, kind, sdp).await;
    connection.close();
    outcome
}

async fn describe(connection: &Rehearsal, kind: &str, sdp: &str) -> Result<(), JsValue> {
    if kind == "answer" {
        connection.create_data_channel("rehearsal")?;
        let offer = JsFuture::from(connection.create_offer()?).await?;
        JsFuture::from(connection.set_local_description(&offer)?).await?;
    }
    let description = Object::new();
    Reflect::set(&description, &"type".into(), &kind.into())?;
    Reflect::set(&description, &"sdp".into(), &sdp.into())?;
    JsFuture::from(connection.set_remote_description(&description)?).await?;
    Ok(())
}

#[wasm_bindgen]
extern "C" {
    /// An `RTCPeerConnection`, with the few methods that the rehearsal needs.
    type Rehearsal;
    #[wasm_bindgen(method, catch, js_name = createDataChannel)]
    fn create_data_channel(this: &Rehearsal, label: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createOffer)]
    fn create_offer(this: &Rehearsal) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = setLocalDescription)]
    fn set_local_description(this: &Rehearsal, description: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = setRemoteDescription)]
    fn set_remote_description(this: &Rehearsal, description: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method)]
    fn close(this: &Rehearsal);
}

/// Signals over the session socket. It never ends by itself: a lost session socket comes back,
/// and open data channels do not need it.
struct SessionSignaller {
    inbox: UnboundedReceiver<PeerEvent>,
    outbox: UnboundedSender<(Seat, String)>,
}

#[async_trait(?Send)]
impl Signaller for SessionSignaller {
    async fn send(&mut self, request: PeerRequest) -> Result<(), SignalingError> {
        if let PeerRequest::Signal { receiver, data } = request
            && !matches!(data, PeerSignal::IceCandidate(_))
        {
            let data = serde_json::to_string(&data).expect("a signal is an enum of strings");
            self.outbox.unbounded_send((seat_of(receiver), data)).ok();
        }
        Ok(())
    }

    async fn next_message(&mut self) -> Result<PeerEvent, SignalingError> {
        self.inbox
            .next()
            .await
            .ok_or(SignalingError::StreamExhausted)
    }
}

/// Gives out its signaller once: one socket, one id.
struct Once(Mutex<Option<SessionSignaller>>);

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the session's signaller")
    }
}

#[async_trait(?Send)]
impl SignallerBuilder for Once {
    async fn new_signaller(
        &self,
        _: Option<u16>,
        _: String,
    ) -> Result<Box<dyn Signaller>, SignalingError> {
        let signaller = self.0.lock().ok().and_then(|mut slot| slot.take());
        signaller
            .map(|signaller| Box::new(signaller) as Box<dyn Signaller>)
            .ok_or(SignalingError::StreamExhausted)
    }
}
