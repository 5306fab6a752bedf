//! One `RTCPeerConnection` with its data channel, and the browser's events around them.

use std::num::NonZeroU32;

use js_sys::{ArrayBuffer, Promise, Uint8Array};
use protocol::Seat;
use protocol::datagram::MAX_DATAGRAM;
use protocol::signal::Signal;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Event, MessageEvent, RtcConfiguration, RtcDataChannel, RtcDataChannelInit, RtcDataChannelType,
    RtcIceCandidateInit, RtcIceConnectionState, RtcPeerConnection, RtcPeerConnectionIceEvent,
    RtcPeerConnectionState, RtcSdpType, RtcSessionDescriptionInit, RtcSignalingState,
};

use super::{PeerNews, PeerQueue, Serial};
use crate::shell::dom;
use crate::shell::lifetime::AtEnd;

/// Bytes that may wait in a channel. A datagram that would wait longer is worth nothing: the next one repeats it.
const MAX_BUFFERED: u32 = 16 * 1024;

/// A connection; dropping it closes it.
pub(super) struct Connection {
    /// The seat at the other end.
    pub(super) to: Seat,
    /// Told in all its signals.
    pub(super) number: NonZeroU32,
    /// Known to this page alone.
    pub(super) serial: Serial,
    connection: RtcPeerConnection,
    channel: RtcDataChannel,
    queue: PeerQueue,
    _at_end: AtEnd,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.channel.close();
        self.connection.close();
    }
}

impl Connection {
    /// A connection that has said nothing yet.
    ///
    /// # Errors
    /// The browser refuses it.
    pub(super) fn new(
        to: Seat,
        number: NonZeroU32,
        serial: Serial,
        configuration: &RtcConfiguration,
        queue: PeerQueue,
    ) -> Result<Self, JsValue> {
        let connection = RtcPeerConnection::new_with_configuration(configuration)?;
        let kind = RtcDataChannelInit::new();
        kind.set_ordered(false);
        kind.set_max_retransmits(0);
        // Both sides make the channel themselves, so that it is there when the connection is.
        kind.set_negotiated(true);
        kind.set_id(0);
        let channel = connection.create_data_channel_with_data_channel_dict("datagrams", &kind);
        channel.set_binary_type(RtcDataChannelType::Arraybuffer);
        let (ended, closed) = (connection.clone(), channel.clone());
        let at_end = AtEnd::new(move || {
            closed.close();
            ended.close();
        });
        let made = Self {
            to,
            number,
            serial,
            connection,
            channel,
            queue,
            _at_end: at_end,
        };
        made.listen_to_channel();
        made.listen_to_connection();
        Ok(made)
    }

    /// Describes itself to the other side, which is to answer.
    pub(super) fn offer(&self) {
        let (connection, number) = (self.connection.clone(), self.number);
        self.attempt(async move {
            let offer = JsFuture::from(connection.create_offer()).await?;
            describe_self(&connection, offer).await?;
            Ok(local_sdp(&connection).map(|sdp| Signal::Offer {
                connection: number,
                sdp,
            }))
        });
    }

    /// True if an offer is out that nobody has answered.
    pub(super) fn is_unanswered(&self) -> bool {
        self.connection.signaling_state() == RtcSignalingState::HaveLocalOffer
            || self.connection.local_description().is_none()
    }

    /// Sends the offer again, with the candidates found so far; does nothing if it is still being made.
    pub(super) fn repeat_offer(&self) {
        if let Some(sdp) = local_sdp(&self.connection) {
            let offer = Signal::Offer {
                connection: self.number,
                sdp,
            };
            self.queue.signal(self.to, Some(self.serial), offer);
        }
    }

    /// Answers an offer.
    pub(super) fn answer(&self, sdp: String) {
        let (connection, number) = (self.connection.clone(), self.number);
        let offered = describe_other(&connection, RtcSdpType::Offer, &sdp);
        self.attempt(async move {
            JsFuture::from(offered).await?;
            let answer = JsFuture::from(connection.create_answer()).await?;
            describe_self(&connection, answer).await?;
            Ok(local_sdp(&connection).map(|sdp| Signal::Answer {
                connection: number,
                sdp,
            }))
        });
    }

    /// Takes the answer to its offer.
    pub(super) fn handle_answer(&self, sdp: &str) {
        let answered = describe_other(&self.connection, RtcSdpType::Answer, sdp);
        self.attempt(async move {
            JsFuture::from(answered).await?;
            Ok(None)
        });
    }

    /// Takes a way to the other side. One that the browser cannot use is one way less, and no failure.
    pub(super) fn handle_candidate(&self, candidate: &str, mid: Option<&str>, line: Option<u16>) {
        let way = RtcIceCandidateInit::new(candidate);
        way.set_sdp_mid(mid);
        way.set_sdp_m_line_index(line);
        // The browser keeps it until the description before it is taken.
        let taken = self
            .connection
            .add_ice_candidate_with_opt_rtc_ice_candidate_init(Some(&way));
        spawn_local(async move {
            JsFuture::from(taken).await.ok();
        });
    }

    /// Sends a datagram, unless the channel is not open or too much waits in it.
    pub(super) fn send(&self, bytes: &[u8]) {
        if self.channel.buffered_amount() <= MAX_BUFFERED {
            self.channel.send_with_u8_array(bytes).ok();
        }
    }

    /// Signals the result of an attempt. A description that the browser refuses ends the connection.
    fn attempt(&self, attempt: impl Future<Output = Result<Option<Signal>, JsValue>> + 'static) {
        let (to, serial, queue) = (self.to, Some(self.serial), self.queue.clone());
        spawn_local(async move {
            match attempt.await {
                Ok(Some(signal)) => queue.signal(to, serial, signal),
                Ok(None) => {}
                Err(_) => queue.put(to, serial, PeerNews::Closed),
            }
        });
    }

    fn listen_to_channel(&self) {
        let (to, serial) = (self.to, Some(self.serial));
        for (name, news) in [
            ("open", (|| PeerNews::Opened) as fn() -> PeerNews),
            ("close", || PeerNews::Closed),
        ] {
            let queue = self.queue.clone();
            dom::add_listener(&self.channel, name, move |_: Event| {
                queue.put(to, serial, news())
            });
        }
        let queue = self.queue.clone();
        dom::add_listener(&self.channel, "message", move |event: MessageEvent| {
            // What is no datagram is handed on as far as it takes to see that, and counted there.
            let bytes = event.data().dyn_into::<ArrayBuffer>();
            let bytes = bytes.map(|bytes| {
                let most = MAX_DATAGRAM as u32 + 1;
                Uint8Array::new(&bytes).subarray(0, most).to_vec()
            });
            let datagram = PeerNews::Datagram(bytes.unwrap_or_default());
            queue.put(to, serial, datagram);
        });
    }

    fn listen_to_connection(&self) {
        let (to, number, queue) = (self.to, self.number, self.queue.clone());
        let serial = Some(self.serial);
        let found = move |event: RtcPeerConnectionIceEvent| {
            let Some(way) = event.candidate() else { return };
            // An empty one ends the list. The other side need not know this: it tries the candidates that it has.
            let candidate = way.candidate();
            if !candidate.is_empty() {
                let signal = Signal::Candidate {
                    connection: number,
                    candidate,
                    mid: way.sdp_mid(),
                    line: way.sdp_m_line_index(),
                };
                queue.signal(to, serial, signal);
            }
        };
        dom::add_listener(&self.connection, "icecandidate", found);
        // Older browsers know only the second.
        for name in ["connectionstatechange", "iceconnectionstatechange"] {
            let queue = self.queue.clone();
            dom::add_listener(&self.connection, name, move |event: Event| {
                if event.target().is_some_and(|target| has_failed(&target)) {
                    queue.put(to, serial, PeerNews::Closed);
                }
            });
        }
    }
}

fn has_failed(target: &JsValue) -> bool {
    let connection: &RtcPeerConnection = target.unchecked_ref();
    use RtcIceConnectionState as Ice;
    use RtcPeerConnectionState as State;
    matches!(connection.connection_state(), State::Failed | State::Closed)
        || matches!(connection.ice_connection_state(), Ice::Failed | Ice::Closed)
}

fn local_sdp(connection: &RtcPeerConnection) -> Option<String> {
    connection
        .local_description()
        .map(|description| description.sdp())
}

async fn describe_self(
    connection: &RtcPeerConnection,
    description: JsValue,
) -> Result<(), JsValue> {
    let description: RtcSessionDescriptionInit = description.unchecked_into();
    JsFuture::from(connection.set_local_description(&description)).await?;
    Ok(())
}

/// Called immediately and not when a task runs: it must come before the next candidates.
fn describe_other(connection: &RtcPeerConnection, kind: RtcSdpType, sdp: &str) -> Promise {
    let description = RtcSessionDescriptionInit::new(kind);
    description.set_sdp(sdp);
    connection.set_remote_description(&description)
}
