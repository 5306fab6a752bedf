//! The TURN relay and the framing of its TCP connections, between clients that say anything, all driven by bytes.

use std::net::SocketAddr;

use protocol::Seat;
use turn::{Client, Issuer, Relay, RelayLimits, Secret, Transmit, measure};
use turn_types::attribute::RequestedTransport;
use turn_types::channel::ChannelData;
use turn_types::message::ALLOCATE;
use turn_types::stun::attribute::{
    AttributeStaticType as _, AttributeType, MessageIntegrity, Nonce, Realm, Username,
};
use turn_types::stun::message::{
    IntegrityAlgorithm, LongTermKeyCredentials, Message, MessageClass, MessageType,
    MessageWrite as _, MessageWriteExt as _, MessageWriteVec,
};

use crate::input::Input;

/// Clients at the same time: the first two over UDP, the others over TCP; all but the last one are of one match.
const CLIENTS: usize = 4;
const STREAMS: usize = 2;
/// The most commands that are carried out: the rest of a long input teaches nothing new.
const COMMANDS: usize = 1_000;
/// Seconds since the Unix epoch at which an input begins.
const START_S: u64 = 1_800_000_000;
/// Pauses, seconds: around the ends of budgets, permissions, channels, allocations, nonces and credentials.
const PAUSES_S: [u64; 8] = [1, 10, 299, 301, 599, 601, 3_601, 21_601];
/// The address of the relay.
const RELAY: [u8; 4] = [203, 0, 113, 9];
/// The most bytes that the relay adds to data: the header of an indication, the headers of two attributes, an address, padding.
const WRAPPING: usize = 20 + 4 + 4 + 8 + 3;
/// The longest answer to a client that has proven nothing, without the unknown attributes that it lists.
const CHALLENGE: usize = 200;

struct Source {
    client: Client,
    username: String,
    password: String,
    nonce: Option<String>,
    /// The part of its next frame that a stream has brought.
    pending: Vec<u8>,
    /// True if it has said nothing since its connection was closed.
    closed: bool,
}

struct Bench {
    relay: Relay,
    limits: RelayLimits,
    now_us: u64,
    sources: Vec<Source>,
    /// How often data went from a client to another one.
    passed: usize,
}

/// Lets clients send what fits and what does not, by datagrams and in pieces of streams, with and without credentials,
/// and lets time pass, as the bytes say. Nothing panics, a message has at most one consequence, which is well-formed and
/// bounded, data stays within its match, a closed connection hears nothing more, and allocations are bounded.
pub fn turn(bytes: &[u8]) {
    play(bytes);
}

fn play(bytes: &[u8]) -> Bench {
    let mut bench = Bench::new();
    let mut bytes = Input(bytes);
    for _ in 0..COMMANDS {
        if bytes.0.is_empty() {
            break;
        }
        bench.command(&mut bytes);
    }
    bench
}

impl Bench {
    fn new() -> Self {
        let now_us = START_S * 1_000_000;
        let limits = RelayLimits {
            allocations: 3,
            allocations_each: 1,
            channels: 2,
            bytes_per_s: 100,
            bytes_burst: 1_000,
            ..RelayLimits::default()
        };
        let mut port = 0;
        let random = move || {
            port += 1;
            port
        };
        let secret = || Secret::new([7; 32]);
        let relay = Relay::new(secret(), RELAY.into(), limits.clone(), Box::new(random));
        let issuer = Issuer::new(secret(), "relay.example.edu", 3_478);
        let source = |number: usize| {
            let episode = if is_stranger(number) { "e2" } else { "e1" };
            let mut servers = issuer.ice_servers(now_us, episode, Seat(number as u8));
            let turn = servers.pop().expect("TURN is the last one");
            Source {
                client: Client {
                    addr: SocketAddr::from(([198, 51, 100, number as u8], 4_000)),
                    stream: (number >= STREAMS).then_some(number as u64),
                },
                username: turn.username.expect("TURN has credentials"),
                password: turn.credential.expect("TURN has credentials"),
                nonce: None,
                pending: Vec::new(),
                closed: false,
            }
        };
        Self {
            relay,
            limits,
            now_us,
            sources: (0..CLIENTS).map(source).collect(),
            passed: 0,
        }
    }

    /// Three bits say what, two who, and three are a value.
    fn command(&mut self, bytes: &mut Input<'_>) {
        let head = bytes.byte();
        let (who, value) = (usize::from(head >> 3 & 3), usize::from(head >> 5));
        match head & 7 {
            0 => {
                let len = value << 8 | usize::from(bytes.byte());
                self.bring(who, bytes.take(len));
            }
            1 => {
                let len = value << 8 | usize::from(bytes.byte());
                let signed = self.signed(who, bytes.take(len));
                self.bring(who, &signed);
            }
            2 => self.now_us += PAUSES_S[value] * 1_000_000,
            3 => self.close(who),
            4 => self.relay.handle_timeout(self.now_us),
            _ => {}
        }
        assert!(self.relay.allocation_count() <= self.limits.allocations);
    }

    /// A client sends a datagram, or its stream brings some bytes.
    fn bring(&mut self, who: usize, bytes: &[u8]) {
        let most = self.limits.frame_bytes;
        if who < STREAMS {
            if bytes.len() <= most {
                self.handle(who, bytes);
            }
            return;
        }
        self.sources[who].pending.extend(bytes);
        while let Some(&head) = self.sources[who].pending.first_chunk() {
            let Some(frame) = measure(head, most) else {
                return self.close(who);
            };
            assert!((4..=frame.whole).contains(&frame.body) && frame.whole <= most);
            if self.sources[who].pending.len() < frame.whole {
                return;
            }
            let whole: Vec<u8> = self.sources[who].pending.drain(..frame.whole).collect();
            self.handle(who, &whole[..frame.body]);
        }
    }

    fn close(&mut self, who: usize) {
        if who >= STREAMS {
            let source = &mut self.sources[who];
            source.pending.clear();
            source.closed = true;
            self.relay.handle_closed(source.client);
        }
    }

    fn handle(&mut self, who: usize, bytes: &[u8]) {
        self.sources[who].closed = false;
        let client = self.sources[who].client;
        let mut out = Vec::new();
        self.relay.handle(self.now_us, client, bytes, &mut out);
        assert!(out.len() <= 1, "{out:?}");
        for Transmit { to, bytes: sent } in out {
            let receiver = self.sources.iter().position(|source| source.client == to);
            let receiver = receiver.expect("nobody else ever spoke");
            assert!(!self.sources[receiver].closed);
            assert!(sent.len() <= bytes.len() + WRAPPING.max(CHALLENGE));
            if sent[0] >> 6 == 1 {
                ChannelData::parse(&sent).expect("what is sent is well-formed");
            } else {
                let message = Message::from_bytes(&sent).expect("what is sent is well-formed");
                if message.class() != MessageClass::Indication {
                    self.hear(who, receiver, bytes, &message);
                    continue;
                }
            }
            assert_eq!(is_stranger(who), is_stranger(receiver));
            assert!(sent.len() <= bytes.len() + WRAPPING);
            self.passed += usize::from(receiver != who);
        }
    }

    /// An answer goes to who asked, and may bring a nonce.
    fn hear(&mut self, who: usize, receiver: usize, asked: &[u8], answer: &Message<'_>) {
        assert_eq!(receiver, who);
        let asked = Message::from_bytes(asked).expect("only a message is answered");
        assert_eq!(answer.transaction_id(), asked.transaction_id());
        assert_eq!(answer.method(), asked.method());
        if let Ok(nonce) = answer.attribute::<Nonce>() {
            self.sources[who].nonce = Some(nonce.nonce().to_owned());
        }
    }

    /// A message as the client would sign it, whatever it is: no engine guesses a hash.
    fn signed(&mut self, who: usize, message: &[u8]) -> Vec<u8> {
        if self.sources[who].nonce.is_none() {
            let ask = MessageType::from_class_method(MessageClass::Request, ALLOCATE);
            let mut ask = Message::builder(ask, 1.into(), MessageWriteVec::new());
            let transport = RequestedTransport::new(RequestedTransport::UDP);
            ask.add_attribute(&transport).expect("it is short");
            self.handle(who, &ask.finish());
        }
        let Source {
            username,
            password,
            nonce,
            ..
        } = &self.sources[who];
        let nonce = nonce
            .as_deref()
            .expect("who shows no credentials is given a nonce");
        let mut out = message.to_vec();
        out.resize(out.len().next_multiple_of(4).max(20), 0);
        let strings = [
            (Username::TYPE, username.as_str()),
            (Realm::TYPE, "coplay"),
            (Nonce::TYPE, nonce),
        ];
        for (kind, text) in strings {
            attribute(&mut out, kind, text.as_bytes());
        }
        // The hash is over a length that counts the hash.
        let len = (out.len() - 20 + 24) as u16;
        out[2..4].copy_from_slice(&len.to_be_bytes());
        let credentials =
            LongTermKeyCredentials::new(username.clone(), password.clone(), "coplay".into());
        let key = credentials.make_key(IntegrityAlgorithm::Sha1);
        let hash = MessageIntegrity::compute(&[&out], &key).expect("the hash takes any length");
        attribute(&mut out, MessageIntegrity::TYPE, &hash);
        out
    }
}

/// True if a client is of another match than the others.
fn is_stranger(who: usize) -> bool {
    who == CLIENTS - 1
}

fn attribute(out: &mut Vec<u8>, kind: AttributeType, value: &[u8]) {
    out.extend(kind.value().to_be_bytes());
    out.extend((value.len() as u16).to_be_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_reach_allocations_and_peers() {
        let reached = |seed: &str| {
            let seeds = crate::seeds("turn");
            let found = seeds.into_iter().find(|(name, _)| name == seed);
            let bench = play(&found.unwrap().1);
            (bench.relay.allocation_count(), bench.passed)
        };
        assert_eq!(reached("binding"), (0, 0));
        assert_eq!(reached("allocate-unsigned"), (0, 0));
        assert_eq!(reached("allocate"), (1, 0));
        assert_eq!(reached("refresh"), (1, 0));
        assert_eq!(reached("release"), (0, 0));
        assert_eq!(reached("closed"), (0, 0));
        assert_eq!(reached("indications"), (2, 2));
        assert_eq!(reached("channels"), (2, 2));
        assert_eq!(reached("streams"), (2, 2));
        assert_eq!(reached("strangers"), (2, 0));
        assert_eq!(reached("full"), (3, 0));
        assert_eq!(reached("budget"), (2, 1));
        assert_eq!(reached("stale"), (1, 0));
    }
}
