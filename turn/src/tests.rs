//! The relay, against a TURN client that somebody else wrote: by hand in virtual time, and over real sockets.

use std::net::SocketAddr;

use turn_client_proto::api::{
    TransmitBuild, TurnClientApi as _, TurnConfig, TurnEvent, TurnRecvRet,
};
use turn_client_proto::client::TurnClient;
use turn_client_proto::udp::TurnClientUdp;
use turn_types::attribute::XorPeerAddress;
use turn_types::message::{ALLOCATE, CREATE_PERMISSION};
use turn_types::stun::message::{
    Message, MessageWrite as _, MessageWriteExt as _, MessageWriteVec,
};
use turn_types::{Instant, TransportType, TurnCredentials};

use super::*;

const UDP: TransportType = TransportType::Udp;
const SERVER: &str = "203.0.113.9:3478";

/// Seconds since the Unix epoch at which the tests begin.
const START_S: u64 = 1_800_000_000;

fn secret() -> Secret {
    Secret::new([7; 32])
}

/// The relay and its clients, with nothing between them.
struct Bench {
    relay: Relay,
    now_ms: u64,
    clients: Vec<TurnClient>,
}

impl Bench {
    fn new(limits: RelayLimits) -> Self {
        let mut next = 0;
        let random = move || {
            next += 1;
            next
        };
        let address = SERVER.parse::<SocketAddr>().unwrap().ip();
        Self {
            relay: Relay::new(secret(), address, limits, Box::new(random)),
            now_ms: START_S * 1_000,
            clients: Vec::new(),
        }
    }

    /// A client of a match, connected and allocated if its credential is good.
    fn join(&mut self, episode: &str, seat: u8) -> usize {
        let issuer = Issuer::new(secret(), "relay.example.edu", 3478);
        let mut servers = issuer.ice_servers(self.now_us(), episode, Seat(seat));
        let turn = servers.pop().unwrap();
        self.join_as(&turn.username.unwrap(), &turn.credential.unwrap())
    }

    fn join_as(&mut self, username: &str, password: &str) -> usize {
        let number = self.clients.len();
        let local = SocketAddr::from(([198, 51, 100, number as u8], 4_000));
        let config = TurnConfig::new(TurnCredentials::new(username, password));
        let client = TurnClientUdp::allocate(local, SERVER.parse().unwrap(), config);
        self.clients.push(client.into());
        self.settle();
        number
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(((self.now_ms - START_S * 1_000) * 1_000_000) as i64)
    }

    fn now_us(&self) -> u64 {
        self.now_ms * 1_000
    }

    fn wait(&mut self, seconds: u64) {
        self.now_ms += seconds * 1_000;
    }

    /// Lets everybody send their messages; returns what arrived from peers.
    fn settle(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut received = Vec::new();
        for _ in 0..20 {
            // The client paces its requests.
            self.now_ms += 20;
            for number in 0..self.clients.len() {
                let now = self.now();
                self.clients[number].poll(now);
                while let Some(sent) = self.clients[number].poll_transmit(now) {
                    self.carry(sent.from, sent.data.as_ref(), &mut received);
                }
            }
        }
        received
    }

    /// Carries a datagram to the relay and what follows to the clients.
    fn carry(&mut self, addr: SocketAddr, bytes: &[u8], received: &mut Vec<(usize, Vec<u8>)>) {
        let from = Client { addr, stream: None };
        let mut out = Vec::new();
        self.relay.handle(self.now_us(), from, bytes, &mut out);
        let now = self.now();
        for Transmit { to, bytes } in out {
            let number = self
                .clients
                .iter()
                .position(|client| client.local_addr() == to.addr);
            let transmit = turn_client_proto::api::Transmit {
                data: bytes,
                transport: UDP,
                from: SERVER.parse().unwrap(),
                to: to.addr,
            };
            if let TurnRecvRet::PeerData(data) = self.clients[number.unwrap()].recv(transmit, now) {
                received.push((number.unwrap(), data.data().to_vec()));
            }
        }
    }

    fn relayed(&self, client: usize) -> Option<SocketAddr> {
        self.clients[client]
            .relayed_addresses()
            .next()
            .map(|(_, addr)| addr)
    }

    /// Asks for permission to send to an address; true if the relay grants it.
    fn permit(&mut self, client: usize, peer: SocketAddr) -> bool {
        let now = self.now();
        while self.clients[client].poll_event().is_some() {}
        self.clients[client]
            .create_permission(UDP, peer.ip(), now)
            .unwrap();
        self.settle();
        let last = std::iter::from_fn(|| self.clients[client].poll_event()).last();
        matches!(last, Some(TurnEvent::PermissionCreated(_, ip)) if ip == peer.ip())
    }

    fn send(&mut self, client: usize, to: SocketAddr, data: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let now = self.now();
        let transmit = self.clients[client]
            .send_to(UDP, to, data.to_vec(), now)
            .unwrap();
        let sent = TransmitBuild::build(transmit.unwrap());
        let mut received = Vec::new();
        self.carry(sent.from, &sent.data, &mut received);
        received
    }

    /// Two clients of one match that may speak to each other.
    fn pair(&mut self) -> [(usize, SocketAddr); 2] {
        let pair = [self.join("e1", 0), self.join("e1", 1)];
        let pair = pair.map(|client| (client, self.relayed(client).unwrap()));
        assert!(self.permit(pair[0].0, pair[1].1));
        assert!(self.permit(pair[1].0, pair[0].1));
        pair
    }
}

#[test]
fn data_passes_between_the_pages_of_a_match() {
    let mut bench = Bench::new(RelayLimits::default());
    let [(a, at_a), (b, at_b)] = bench.pair();
    assert_eq!(bench.send(a, at_b, b"tick 1"), [(b, b"tick 1".to_vec())]);
    let now = bench.now();
    bench.clients[b].bind_channel(UDP, at_a, now).unwrap();
    bench.settle();
    assert_eq!(
        bench.send(a, at_b, b"over a channel"),
        [(b, b"over a channel".to_vec())]
    );
    assert_eq!(
        bench.send(b, at_a, b"and back"),
        [(a, b"and back".to_vec())]
    );
}

#[test]
fn nobody_is_spoken_to_without_their_permission() {
    let mut bench = Bench::new(RelayLimits::default());
    let (a, b) = (bench.join("e1", 0), bench.join("e1", 1));
    let at_b = bench.relayed(b).unwrap();
    assert!(bench.permit(a, at_b));
    assert_eq!(bench.send(a, at_b, b"hello"), []);
}

#[test]
fn another_match_is_out_of_reach() {
    let mut bench = Bench::new(RelayLimits::default());
    let (a, b) = (bench.join("e1", 0), bench.join("e2", 0));
    let (at_a, at_b) = (bench.relayed(a).unwrap(), bench.relayed(b).unwrap());
    assert!(bench.permit(a, at_b) && bench.permit(b, at_a));
    assert_eq!(bench.send(a, at_b, b"hello"), []);
}

#[test]
fn no_other_machine_is_in_reach() {
    let mut bench = Bench::new(RelayLimits::default());
    let a = bench.join("e1", 0);
    for peer in [
        "127.0.0.1:80",
        "10.0.0.7:5432",
        "169.254.169.254:80",
        "198.51.100.20:4000",
        "192.0.2.1:9",
    ] {
        assert!(!bench.permit(a, peer.parse().unwrap()), "{peer}");
    }
}

#[test]
fn credentials_end_with_their_match_and_those_of_others_stay() {
    let mut bench = Bench::new(RelayLimits::default());
    let [(a, at_a), (b, at_b)] = bench.pair();
    let other = bench.join("e2", 0);
    assert_eq!(bench.send(a, at_b, b"x").len(), 1);
    let now_us = bench.now_us();
    let ended = secret().group("e1");
    bench.relay.handle_episode_ended(now_us, &ended);
    assert_eq!(bench.relay.allocation_count(), 1);
    assert_eq!(bench.send(b, at_a, b"x"), []);
    let late = bench.join("e1", 1);
    assert_eq!(bench.relayed(late), None, "the credential is void");
    assert!(bench.relayed(other).is_some());
    let next = bench.join("e3", 0);
    assert!(bench.relayed(next).is_some());
}

#[test]
fn after_a_restart_old_credentials_are_good_for_episodes_that_still_run() {
    let mut bench = Bench::new(RelayLimits::default());
    let old = Issuer::new(secret(), "relay.example.edu", 3478);
    let issued = |bench: &Bench, episode: &str| {
        let mut servers = old.ice_servers(bench.now_us(), episode, Seat(0));
        let turn = servers.pop().unwrap();
        (turn.username.unwrap(), turn.credential.unwrap())
    };
    let (over, runs) = (issued(&bench, "over"), issued(&bench, "runs"));
    bench.wait(60);
    let now_us = bench.now_us();
    bench.relay.handle_start(now_us, [secret().group("runs")]);
    let mut is_let_in = |(name, password): &(String, String)| {
        let client = bench.join_as(name, password);
        bench.relayed(client).is_some()
    };
    assert!(!is_let_in(&over));
    assert!(is_let_in(&runs));
    let new = bench.join("new", 0);
    assert!(bench.relayed(new).is_some());
}

#[test]
fn a_permission_ends_and_so_does_an_allocation() {
    let mut bench = Bench::new(RelayLimits::default());
    let [(a, _), (_, at_b)] = bench.pair();
    bench.wait(297);
    assert_eq!(bench.send(a, at_b, b"x").len(), 1);
    bench.wait(4);
    // Nobody was polled, so nobody renewed.
    assert_eq!(bench.send(a, at_b, b"x"), []);
    bench.wait(300);
    let now_us = bench.now_us();
    bench.relay.handle_timeout(now_us);
    assert_eq!(bench.relay.allocation_count(), 0);
}

#[test]
fn clients_that_renew_speak_for_hours() {
    let mut bench = Bench::new(RelayLimits::default());
    let [(a, _), (_, at_b)] = bench.pair();
    // Nonces go stale on the way.
    for _ in 0..(5 * 3_600 / 60) {
        bench.wait(60);
        bench.settle();
        assert_eq!(
            bench.send(a, at_b, b"x").len(),
            1,
            "after {} s",
            bench.now_ms / 1_000 - START_S
        );
    }
}

#[test]
fn wrong_and_expired_credentials_are_refused() {
    let mut bench = Bench::new(RelayLimits::default());
    let now_s = bench.now_ms / 1_000;
    let (username, password) = secret().issue(now_s + 60, "x.0");
    let (expired, of_expired) = secret().issue(now_s - 1, "x.0");
    let (endless, of_endless) = secret().issue(now_s + CREDENTIAL_S + 60, "x.0");
    let (_, of_another) = Secret::new([8; 32]).issue(now_s + 60, "x.0");
    // The same number, otherwise written, would be another holder.
    let spelled = ["+", "0", "00"].map(|before| format!("{before}{username}"));
    let spelled = spelled.iter().map(|username| (&**username, &*password));
    for (username, password) in spelled.chain([
        (&*username, "guessed"),
        (&*username, &*of_another),
        (&*expired, &*of_expired),
        (&*endless, &*of_endless),
        ("no colon", &*password),
    ]) {
        let client = bench.join_as(username, password);
        assert_eq!(bench.relayed(client), None, "{username}");
    }
    assert_eq!(bench.relay.allocation_count(), 0);
    let client = bench.join_as(&username, &password);
    assert!(bench.relayed(client).is_some());
}

#[test]
fn a_seat_has_so_many_allocations_whatever_credentials_it_was_given() {
    let limits = RelayLimits {
        allocations_each: 2,
        ..RelayLimits::default()
    };
    let mut bench = Bench::new(limits);
    let visit = |_| {
        // Each visit of its page brings another credential.
        bench.wait(1);
        bench.join("e1", 0)
    };
    let clients: Vec<usize> = (0..3).map(visit).collect();
    let relayed: Vec<bool> = clients
        .iter()
        .map(|&client| bench.relayed(client).is_some())
        .collect();
    assert_eq!(relayed, [true, true, false]);
    let other = bench.join("e1", 1);
    assert!(bench.relayed(other).is_some());
    let now = bench.now();
    bench.clients[0].delete(now).unwrap();
    bench.settle();
    let again = bench.join("e1", 0);
    assert!(bench.relayed(again).is_some());
}

#[test]
fn an_allocation_sends_so_much() {
    let limits = RelayLimits {
        bytes_burst: 1_000,
        bytes_per_s: 100,
        ..RelayLimits::default()
    };
    let mut bench = Bench::new(limits);
    let [(a, _), (_, at_b)] = bench.pair();
    let passed = (0..20)
        .filter(|_| !bench.send(a, at_b, &[0; 100]).is_empty())
        .count();
    assert_eq!(passed, 10);
    bench.wait(2);
    let passed = (0..20)
        .filter(|_| !bench.send(a, at_b, &[0; 100]).is_empty())
        .count();
    assert_eq!(passed, 2);
}

#[test]
fn a_user_name_tells_neither_the_match_nor_who_it_is() {
    let issuer = Issuer::new(secret(), "::1", 5);
    let servers = issuer.ice_servers(START_S * 1_000_000, "episode-17", Seat(3));
    assert_eq!(servers[0].urls, ["stun:[::1]:5"]);
    assert_eq!(
        servers[1].urls,
        ["turn:[::1]:5?transport=udp", "turn:[::1]:5?transport=tcp"]
    );
    let username = servers[1].username.as_ref().unwrap();
    assert!(!username.contains("episode-17"));
    assert!(username.starts_with(&format!("{}:", START_S + CREDENTIAL_S)));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_answer_a_stranger_with_more_than_a_challenge(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        method in 0_u16..16,
    ) {
        let mut bench = Bench::new(RelayLimits::default());
        let from = Client { addr: "198.51.100.77:9".parse().unwrap(), stream: None };
        let mut out = Vec::new();
        bench.relay.handle(0, from, &bytes, &mut out);
        // The same as the body of something that is a message.
        let mut message = vec![0, method as u8, 0, (bytes.len() / 4 * 4) as u8, 0x21, 0x12, 0xa4, 0x42];
        message.extend([1; 12]);
        message.extend(&bytes[..bytes.len() / 4 * 4]);
        bench.relay.handle(0, from, &message, &mut out);
        proptest::prop_assert!(out.iter().all(|sent| sent.to == from && sent.bytes.len() < 200));
        proptest::prop_assert_eq!(bench.relay.allocation_count(), 0);
    }
}

#[test]
fn a_request_without_a_signature_is_challenged() {
    let mut bench = Bench::new(RelayLimits::default());
    let from = Client {
        addr: "198.51.100.77:9".parse().unwrap(),
        stream: None,
    };
    for method in [ALLOCATE, CREATE_PERMISSION] {
        let mut request = Message::builder_request(method, MessageWriteVec::new());
        let peer = XorPeerAddress::new(SERVER.parse().unwrap(), request.transaction_id());
        request.add_attribute(&peer).unwrap();
        let mut out = Vec::new();
        bench.relay.handle(0, from, &request.finish(), &mut out);
        let reply = Message::from_bytes(&out[0].bytes).unwrap();
        let code = reply
            .attribute::<turn_types::stun::attribute::ErrorCode>()
            .unwrap();
        assert_eq!(code.code(), 401);
    }
}
