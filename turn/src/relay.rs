//! The TURN server without sockets: bytes of a client in, bytes for clients out.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use turn_types::AddressFamily;
use turn_types::attribute::{
    ChannelNumber, Data, DontFragment, Lifetime, RequestedAddressFamily, RequestedTransport,
    XorPeerAddress, XorRelayedAddress,
};
use turn_types::channel::ChannelData;
use turn_types::message::{ALLOCATE, CHANNEL_BIND, CREATE_PERMISSION, REFRESH, SEND};
use turn_types::stun::attribute::{
    Attribute as _, AttributeStaticType as _, AttributeType, ErrorCode, Fingerprint,
    MessageIntegrity, MessageIntegritySha256, Nonce, Realm, UnknownAttributes, Username,
    XorMappedAddress,
};
use turn_types::stun::message::{
    BINDING, IntegrityAlgorithm, IntegrityKey, LongTermKeyCredentials, Message, MessageClass,
    MessageIntegrityCredentials, MessageWrite as _, MessageWriteExt as _, MessageWriteVec,
};

use super::allocation::{Allocation, LIFE_S, put};
use super::credentials::{group, holder_of};
use super::known_episodes::KnownEpisodes;
use super::{RelayLimits, Secret};

/// The realm in which clients authenticate.
const REALM: &str = "coplay";

/// The lifetime of a nonce; RFC 8656 §5 recommends at least as much.
const NONCE_S: u64 = 3_600;

/// Source: RFC 8656 §7.2, the dynamic ports of RFC 6335.
const FIRST_PORT: u16 = 49_152;

/// Attributes that must be understood to answer a request, and that are understood.
const UNDERSTOOD: [AttributeType; 14] = [
    Username::TYPE,
    Realm::TYPE,
    Nonce::TYPE,
    MessageIntegrity::TYPE,
    MessageIntegritySha256::TYPE,
    Fingerprint::TYPE,
    RequestedTransport::TYPE,
    RequestedAddressFamily::TYPE,
    Lifetime::TYPE,
    XorPeerAddress::TYPE,
    ChannelNumber::TYPE,
    Data::TYPE,
    XorMappedAddress::TYPE,
    // What never leaves the server is never fragmented.
    DontFragment::TYPE,
];

/// The origin of a client's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client {
    /// Its address, as this server sees it.
    pub addr: SocketAddr,
    /// Number of its TCP connection; `None` over UDP.
    pub stream: Option<u64>,
}

/// Bytes for a client: a datagram, or a frame of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The receiver.
    pub to: Client,
    /// The datagram, or the frame.
    pub bytes: Vec<u8>,
}

/// The authenticated sender of a request.
struct Caller {
    username: String,
    key: IntegrityKey,
    algorithm: IntegrityAlgorithm,
}

/// A reply that is not yet signed, or the code of an error.
type Answer = Result<MessageWriteVec, u16>;

/// The server.
pub struct Relay {
    secret: Secret,
    address: IpAddr,
    limits: RelayLimits,
    random: Box<dyn FnMut() -> u16 + Send>,
    allocations: BTreeMap<Client, Allocation>,
    ports: BTreeMap<u16, Client>,
    episodes: KnownEpisodes,
}

impl Relay {
    /// Relayed addresses have this IP address; their ports are chosen by `random`.
    pub fn new(
        secret: Secret,
        address: IpAddr,
        limits: RelayLimits,
        random: Box<dyn FnMut() -> u16 + Send>,
    ) -> Self {
        Self {
            secret,
            address,
            limits,
            random,
            allocations: BTreeMap::new(),
            ports: BTreeMap::new(),
            episodes: KnownEpisodes::default(),
        }
    }

    /// Takes note which episodes ran when the server started; credentials from before are good for those alone.
    pub fn handle_start(&mut self, now_us: u64, running: impl IntoIterator<Item = String>) {
        self.episodes.start_s = now_us / 1_000_000;
        self.episodes.running = running.into_iter().collect();
    }

    /// Handles that a match is over, by the name from [`Secret::group`]: its credentials are void, and its allocations
    /// end.
    pub fn handle_episode_ended(&mut self, now_us: u64, ended: &str) {
        self.episodes.end(now_us / 1_000_000, ended);
        let ports = &mut self.ports;
        self.allocations.retain(|_, allocation| {
            let stays = group(&allocation.username) != ended;
            if !stays {
                ports.remove(&allocation.port);
            }
            stays
        });
    }

    /// Takes a datagram or a frame. Whatever it is, the worst that it does is nothing.
    pub fn handle(&mut self, now_us: u64, from: Client, bytes: &[u8], out: &mut Vec<Transmit>) {
        match bytes.first().map(|byte| byte >> 6) {
            Some(0) => {
                if let Ok(message) = Message::from_bytes(bytes) {
                    self.handle_message(now_us, from, &message, out);
                }
            }
            Some(1) => {
                if let Ok(data) = ChannelData::parse(bytes) {
                    self.handle_channel(now_us, from, &data, out);
                }
            }
            _ => {}
        }
    }

    /// Ends a TCP connection, with its allocations.
    pub fn handle_closed(&mut self, client: Client) {
        if let Some(allocation) = self.allocations.remove(&client) {
            self.ports.remove(&allocation.port);
        }
    }

    /// Removes expired allocations.
    pub fn handle_timeout(&mut self, now_us: u64) {
        let ports = &mut self.ports;
        self.allocations.retain(|_, allocation| {
            let lives = allocation.is_alive(now_us);
            if !lives {
                ports.remove(&allocation.port);
            }
            lives
        });
    }

    /// True if a client has an allocation.
    pub fn has_allocation(&self, client: Client) -> bool {
        self.allocations.contains_key(&client)
    }

    /// Allocations that there are.
    pub fn allocation_count(&self) -> usize {
        self.allocations.len()
    }

    fn handle_message(
        &mut self,
        now_us: u64,
        from: Client,
        message: &Message<'_>,
        out: &mut Vec<Transmit>,
    ) {
        match message.class() {
            MessageClass::Indication if message.has_method(SEND) => {
                let peer = message.attribute::<XorPeerAddress>();
                if let (Ok(peer), Ok(data)) = (peer, message.attribute::<Data<'_>>()) {
                    let peer = peer.addr(message.transaction_id());
                    if peer.ip() == self.address {
                        self.pass(now_us, from, peer.port(), data.data(), out);
                    }
                }
            }
            MessageClass::Request => {
                let bytes = self.answer(now_us, from, message);
                out.push(Transmit { to: from, bytes });
            }
            _ => {}
        }
    }

    fn handle_channel(
        &mut self,
        now_us: u64,
        from: Client,
        data: &ChannelData<'_>,
        out: &mut Vec<Transmit>,
    ) {
        let allocation = self.allocations.get(&from);
        let bound = allocation.and_then(|allocation| allocation.bound_channel(now_us, data.id()));
        if let Some(port) = bound {
            self.pass(now_us, from, port, data.data(), out);
        }
    }

    fn answer(&mut self, now_us: u64, from: Client, message: &Message<'_>) -> Vec<u8> {
        let unknown: Vec<AttributeType> = message
            .iter_attributes()
            .map(|(_, attribute)| attribute.get_type())
            .filter(|kind| kind.comprehension_required() && !UNDERSTOOD.contains(kind))
            .collect();
        if !unknown.is_empty() {
            let mut reply = refusal(message, ErrorCode::UNKNOWN_ATTRIBUTE);
            put(&mut reply, &UnknownAttributes::new(&unknown));
            return reply.finish();
        }
        if message.has_method(BINDING) {
            let mut reply = Message::builder_success(message, MessageWriteVec::new());
            put(&mut reply, &mapped(from, message));
            return reply.finish();
        }
        let caller = match self.authenticate(now_us, from, message) {
            Ok(caller) => caller,
            Err(code) => return self.challenge(now_us, from, message, code),
        };
        let answer = match message.method() {
            ALLOCATE => self.allocate(now_us, from, message, &caller),
            REFRESH => self.refresh(now_us, from, message, &caller),
            CREATE_PERMISSION => self.permit(now_us, from, message, &caller),
            CHANNEL_BIND => self.bind(now_us, from, message, &caller),
            _ => Err(ErrorCode::BAD_REQUEST),
        };
        let mut reply = answer.unwrap_or_else(|code| refusal(message, code));
        reply
            .add_message_integrity_with_key(&caller.key, caller.algorithm)
            .expect("a reply is short, and nothing was signed");
        reply.finish()
    }

    /// Source: RFC 8489 §9.2.4.
    fn authenticate(
        &self,
        now_us: u64,
        from: Client,
        message: &Message<'_>,
    ) -> Result<Caller, u16> {
        let signed = message.has_attribute(MessageIntegrity::TYPE)
            || message.has_attribute(MessageIntegritySha256::TYPE);
        if !signed {
            return Err(ErrorCode::UNAUTHORIZED);
        }
        let bad = |_| ErrorCode::BAD_REQUEST;
        let username = message.attribute::<Username>().map_err(bad)?;
        let nonce = message.attribute::<Nonce>().map_err(bad)?;
        message.attribute::<Realm>().map_err(bad)?;
        if !self.is_fresh(now_us, from, nonce.nonce()) {
            return Err(ErrorCode::STALE_NONCE);
        }
        let username = username.username().to_owned();
        if self.episodes.is_over(&username) {
            return Err(ErrorCode::UNAUTHORIZED);
        }
        let password = self.secret.password(now_us / 1_000_000, &username);
        let password = password.ok_or(ErrorCode::UNAUTHORIZED)?;
        let credentials = LongTermKeyCredentials::new(username.clone(), password, REALM.into());
        let all = MessageIntegrityCredentials::from(credentials.clone());
        let algorithm = message
            .validate_integrity(&all)
            .map_err(|_| ErrorCode::UNAUTHORIZED)?;
        Ok(Caller {
            username,
            key: credentials.make_key(algorithm),
            algorithm,
        })
    }

    fn challenge(&self, now_us: u64, from: Client, message: &Message<'_>, code: u16) -> Vec<u8> {
        let mut reply = refusal(message, code);
        if matches!(code, ErrorCode::UNAUTHORIZED | ErrorCode::STALE_NONCE) {
            put(&mut reply, &Realm::new(REALM).expect("it is short"));
            let nonce = self.nonce(now_us / 1_000_000, from);
            put(&mut reply, &Nonce::new(&nonce).expect("it is short"));
        }
        reply.finish()
    }

    /// A nonce contains its time and its client, so that none is stored.
    fn nonce(&self, now_s: u64, from: Client) -> String {
        let mac = self
            .secret
            .sign_text(&format!("nonce {now_s} {}", from.addr));
        format!("{now_s:x}-{}", base16ct::lower::encode_string(&mac[..12]))
    }

    fn is_fresh(&self, now_us: u64, from: Client, nonce: &str) -> bool {
        let now_s = now_us / 1_000_000;
        let made = nonce.split_once('-').map(|(made, _)| made);
        let made = made.and_then(|made| u64::from_str_radix(made, 16).ok());
        made.is_some_and(|made_s| {
            made_s <= now_s && now_s - made_s < NONCE_S && self.nonce(made_s, from) == nonce
        })
    }

    fn allocate(
        &mut self,
        now_us: u64,
        from: Client,
        message: &Message<'_>,
        caller: &Caller,
    ) -> Answer {
        let asked = message.attribute::<RequestedTransport>();
        let asked = asked.map_err(|_| ErrorCode::BAD_REQUEST)?;
        if asked.protocol() != RequestedTransport::UDP {
            return Err(ErrorCode::UNSUPPORTED_TRANSPORT_PROTOCOL);
        }
        let family = message.attribute::<RequestedAddressFamily>();
        let wants_v6 = family.is_ok_and(|family| family.family() == AddressFamily::IPV6);
        if wants_v6 != self.address.is_ipv6() {
            return Err(ErrorCode::ADDRESS_FAMILY_NOT_SUPPORTED);
        }
        self.handle_timeout(now_us);
        let made_by = u128::from(message.transaction_id());
        match self.allocations.get(&from) {
            Some(there) if there.made_by != made_by => return Err(ErrorCode::ALLOCATION_MISMATCH),
            Some(_) => {}
            None => self.open(now_us, from, made_by, caller)?,
        }
        let there = &self.allocations[&from];
        let transaction = message.transaction_id();
        let relayed = SocketAddr::new(self.address, there.port);
        let left_s = (there.expires_us.saturating_sub(now_us) / 1_000_000) as u32;
        let mut reply = Message::builder_success(message, MessageWriteVec::new());
        put(&mut reply, &XorRelayedAddress::new(relayed, transaction));
        put(&mut reply, &mapped(from, message));
        put(&mut reply, &Lifetime::new(left_s));
        Ok(reply)
    }

    fn open(
        &mut self,
        now_us: u64,
        from: Client,
        made_by: u128,
        caller: &Caller,
    ) -> Result<(), u16> {
        let same = |there: &&Allocation| holder_of(&there.username) == holder_of(&caller.username);
        if self.allocations.values().filter(same).count() >= self.limits.allocations_each {
            return Err(ErrorCode::ALLOCATION_QUOTA_REACHED);
        }
        if self.allocations.len() >= self.limits.allocations {
            return Err(ErrorCode::INSUFFICIENT_CAPACITY);
        }
        // At most half of the ports are in use, so a few tries find a free one.
        let port = (0..64)
            .map(|_| FIRST_PORT | (self.random)())
            .find(|port| !self.ports.contains_key(port));
        let port = port.ok_or(ErrorCode::INSUFFICIENT_CAPACITY)?;
        self.ports.insert(port, from);
        let allocation = Allocation::new(now_us, made_by, &caller.username, port, &self.limits);
        self.allocations.insert(from, allocation);
        Ok(())
    }

    /// The live allocation of a client, if it is the caller's.
    fn own(&mut self, now_us: u64, from: Client, caller: &Caller) -> Result<&mut Allocation, u16> {
        let there = self.allocations.get_mut(&from);
        match there.filter(|there| there.is_alive(now_us)) {
            Some(there) if there.username == caller.username => Ok(there),
            Some(_) => Err(ErrorCode::WRONG_CREDENTIALS),
            None => Err(ErrorCode::ALLOCATION_MISMATCH),
        }
    }

    fn refresh(
        &mut self,
        now_us: u64,
        from: Client,
        message: &Message<'_>,
        caller: &Caller,
    ) -> Answer {
        let asked = message.attribute::<Lifetime>();
        let left_s = asked.map_or(LIFE_S, |asked| asked.seconds().min(LIFE_S));
        let there = self.own(now_us, from, caller)?;
        there.expires_us = now_us + u64::from(left_s) * 1_000_000;
        if left_s == 0 {
            self.handle_closed(from);
        }
        let mut reply = Message::builder_success(message, MessageWriteVec::new());
        put(&mut reply, &Lifetime::new(left_s));
        Ok(reply)
    }

    fn permit(
        &mut self,
        now_us: u64,
        from: Client,
        message: &Message<'_>,
        caller: &Caller,
    ) -> Answer {
        let transaction = message.transaction_id();
        let mut peers = message
            .iter_attributes()
            .filter(|(_, attribute)| attribute.get_type() == XorPeerAddress::TYPE)
            .map(|(_, attribute)| XorPeerAddress::try_from(&attribute))
            .peekable();
        peers.peek().ok_or(ErrorCode::BAD_REQUEST)?;
        for peer in peers {
            let peer = peer.map_err(|_| ErrorCode::BAD_REQUEST)?;
            self.is_allowed(peer.addr(transaction).ip())?;
        }
        let there = self.own(now_us, from, caller)?;
        there.permit_peer(now_us);
        Ok(Message::builder_success(message, MessageWriteVec::new()))
    }

    fn bind(
        &mut self,
        now_us: u64,
        from: Client,
        message: &Message<'_>,
        caller: &Caller,
    ) -> Answer {
        let bad = |_| ErrorCode::BAD_REQUEST;
        let channel = message.attribute::<ChannelNumber>().map_err(bad)?.channel();
        let peer = message.attribute::<XorPeerAddress>().map_err(bad)?;
        let peer = peer.addr(message.transaction_id());
        // Source: RFC 8656 §12: the other numbers are reserved.
        if !(0x4000..=0x4fff).contains(&channel) {
            return Err(ErrorCode::BAD_REQUEST);
        }
        self.is_allowed(peer.ip())?;
        let most = self.limits.channels;
        let there = self.own(now_us, from, caller)?;
        there.bind(now_us, channel, peer.port(), most)?;
        Ok(Message::builder_success(message, MessageWriteVec::new()))
    }

    /// Nothing but the relayed addresses of this server is ever spoken to.
    fn is_allowed(&self, peer: IpAddr) -> Result<(), u16> {
        match peer {
            peer if peer == self.address => Ok(()),
            peer if peer.is_ipv6() == self.address.is_ipv6() => Err(ErrorCode::FORBIDDEN),
            _ => Err(ErrorCode::PEER_ADDRESS_FAMILY_MISMATCH),
        }
    }

    /// Passes data from one allocation to another, if both want it and both are of one match.
    fn pass(&mut self, now_us: u64, from: Client, port: u16, data: &[u8], out: &mut Vec<Transmit>) {
        let sender = self.allocations.get_mut(&from);
        let is_affordable = sender.is_some_and(|sender| {
            sender.is_permitted(now_us) && sender.has_budget(now_us, data.len(), &self.limits)
        });
        let to = self.ports.get(&port).filter(|_| is_affordable);
        let Some((&to, receiver)) = to.and_then(|to| Some((to, self.allocations.get(to)?))) else {
            return;
        };
        let sender = &self.allocations[&from];
        if receiver.is_permitted(now_us) && group(&receiver.username) == group(&sender.username) {
            let relayed = SocketAddr::new(self.address, sender.port);
            let bytes = receiver.wrap_data(now_us, relayed, data);
            out.push(Transmit { to, bytes });
        }
    }
}

/// The client's own address, as this server sees it.
fn mapped(client: Client, message: &Message<'_>) -> XorMappedAddress {
    let addr = SocketAddr::new(client.addr.ip().to_canonical(), client.addr.port());
    XorMappedAddress::new(addr, message.transaction_id())
}

fn refusal(message: &Message<'_>, code: u16) -> MessageWriteVec {
    let mut reply = Message::builder_error(message, MessageWriteVec::new());
    let reason = ErrorCode::default_reason_for_code(code);
    put(
        &mut reply,
        &ErrorCode::new(code, reason).expect("a code of the standard"),
    );
    reply
}
