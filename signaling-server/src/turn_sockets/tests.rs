//! The server over real sockets, against a TURN client that somebody else wrote.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use clock::Clock;
use protocol::Seat;
use turn::{Issuer, RelayLimits, Secret};
use turn_client_proto::api::{TurnClientApi as _, TurnConfig, TurnEvent, TurnRecvRet};
use turn_client_proto::client::TurnClient;
use turn_client_proto::tcp::TurnClientTcp;
use turn_client_proto::udp::TurnClientUdp;
use turn_types::stun::attribute::XorMappedAddress;
use turn_types::stun::message::{BINDING, Message, MessageWrite as _, MessageWriteVec};
use turn_types::{Instant, TransportType, TurnCredentials};

use super::start;

const UDP: TransportType = TransportType::Udp;

fn secret() -> Secret {
    Secret::new([7; 32])
}

/// A real server, asked by blocking sockets from other threads.
async fn serving<T: Send + 'static>(work: impl FnOnce(SocketAddr) -> T + Send + 'static) -> T {
    serving_within(RelayLimits::default(), work).await
}

async fn serving_within<T: Send + 'static>(
    limits: RelayLimits,
    work: impl FnOnce(SocketAddr) -> T + Send + 'static,
) -> T {
    let listen = "127.0.0.1:0".parse().unwrap();
    let turn = start(listen, secret(), Clock::start(), limits)
        .await
        .unwrap();
    let server = SocketAddr::from(([127, 0, 0, 1], turn.port));
    tokio::task::spawn_blocking(move || work(server))
        .await
        .unwrap()
}

/// A page with a socket.
struct Page {
    client: TurnClient,
    socket: Socket,
    started: std::time::Instant,
}

enum Socket {
    Udp(UdpSocket),
    /// With what was read of the next frame.
    Tcp(TcpStream, Vec<u8>),
}

impl Socket {
    fn send(&mut self, bytes: &[u8]) {
        match self {
            Socket::Udp(socket) => assert_eq!(socket.send(bytes).unwrap(), bytes.len()),
            Socket::Tcp(stream, _) => {
                // The client leaves out the padding that streams have.
                let mut bytes = bytes.to_vec();
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                stream.write_all(&bytes).unwrap();
            }
        }
    }

    /// The frame that arrives within a few milliseconds, if it is whole.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 2_048];
        let read = match self {
            Socket::Udp(socket) => socket.recv(&mut buffer),
            Socket::Tcp(stream, _) => stream.read(&mut buffer),
        };
        let len = match read {
            Ok(0) => panic!("the server closed the stream"),
            Ok(len) => len,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => 0,
            Err(error) => panic!("{error}"),
        };
        let Socket::Tcp(_, whole) = self else {
            return (len > 0).then(|| buffer[..len].to_vec());
        };
        whole.extend(&buffer[..len]);
        let body = usize::from(u16::from_be_bytes([*whole.get(2)?, *whole.get(3)?]));
        let len = if whole[0] < 0x40 { 20 + body } else { 4 + body };
        let padded = len.next_multiple_of(4);
        let frame = whole.get(..padded)?[..len].to_vec();
        whole.drain(..padded);
        Some(frame)
    }
}

impl Page {
    fn open(server: SocketAddr, seat: u8, over_tcp: bool) -> Self {
        let now_us = Clock::start().now_us();
        let issuer = Issuer::new(secret(), "127.0.0.1", server.port());
        let turn = issuer.ice_servers(now_us, "e1", Seat(seat)).pop().unwrap();
        let (username, password) = (turn.username.unwrap(), turn.credential.unwrap());
        let config = TurnConfig::new(TurnCredentials::new(&username, &password));
        // The client paces its requests: what waits goes out between two reads.
        let patience = Some(Duration::from_millis(5));
        let (client, socket) = if over_tcp {
            let stream = TcpStream::connect(server).unwrap();
            stream.set_read_timeout(patience).unwrap();
            let local = stream.local_addr().unwrap();
            (
                TurnClientTcp::allocate(local, server, config).into(),
                Socket::Tcp(stream, Vec::new()),
            )
        } else {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(server).unwrap();
            socket.set_read_timeout(patience).unwrap();
            let local = socket.local_addr().unwrap();
            (
                TurnClientUdp::allocate(local, server, config).into(),
                Socket::Udp(socket),
            )
        };
        let started = std::time::Instant::now();
        Self {
            client,
            socket,
            started,
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.started.elapsed().as_nanos() as i64)
    }

    /// Runs until the client says that something happened, or data came.
    fn next(&mut self) -> Result<TurnEvent, Vec<u8>> {
        let asked = std::time::Instant::now();
        loop {
            assert!(asked.elapsed() < Duration::from_secs(20), "nothing happens");
            let now = self.now();
            self.client.poll(now);
            while let Some(sent) = self.client.poll_transmit(now) {
                self.socket.send(sent.data.as_ref());
            }
            if let Some(event) = self.client.poll_event() {
                return Ok(event);
            }
            if let Some(data) = self.client.poll_recv(now) {
                return Err(data.data().to_vec());
            }
            let Some(bytes) = self.socket.receive() else {
                continue;
            };
            let (client, now) = (&mut self.client, self.started.elapsed().as_nanos() as i64);
            let transmit = turn_client_proto::api::Transmit {
                data: bytes,
                transport: client.transport(),
                from: client.remote_addr(),
                to: client.local_addr(),
            };
            if let TurnRecvRet::PeerData(data) = client.recv(transmit, Instant::from_nanos(now)) {
                return Err(data.data().to_vec());
            }
        }
    }

    fn relayed(&mut self) -> SocketAddr {
        match self.next() {
            Ok(TurnEvent::AllocationCreated(_, addr)) => addr,
            other => panic!("{other:?}"),
        }
    }

    fn send(&mut self, to: SocketAddr, data: &[u8]) {
        let now = self.now();
        let sent = self.client.send_to(UDP, to, data.to_vec(), now).unwrap();
        self.socket.send(&sent.unwrap().build().data);
    }
}

#[tokio::test]
async fn a_page_over_udp_and_one_over_tcp_reach_each_other() {
    serving(|server| {
        let mut pages = [Page::open(server, 0, false), Page::open(server, 1, true)];
        let relayed = [pages[0].relayed(), pages[1].relayed()];
        for (me, other) in [(0, 1), (1, 0)] {
            let now = pages[me].now();
            pages[me]
                .client
                .bind_channel(UDP, relayed[other], now)
                .unwrap();
            while !matches!(pages[me].next(), Ok(TurnEvent::ChannelCreated(..))) {}
        }
        // Lengths that are no multiple of four make the padding of streams matter.
        for len in [1, 2, 3, 4, 5, 1_200] {
            for (me, other) in [(0, 1), (1, 0)] {
                let data = vec![me as u8; len];
                pages[me].send(relayed[other], &data);
                assert_eq!(pages[other].next().unwrap_err(), data);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn whoever_asks_is_told_their_own_address() {
    serving(|server| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let request = Message::builder_request(BINDING, MessageWriteVec::new()).finish();
        socket.send_to(&request, server).unwrap();
        let mut buffer = [0; 1_024];
        let len = socket.recv(&mut buffer).unwrap();
        let reply = Message::from_bytes(&buffer[..len]).unwrap();
        let mapped = reply.attribute::<XorMappedAddress>().unwrap();
        assert_eq!(
            mapped.addr(reply.transaction_id()),
            socket.local_addr().unwrap()
        );
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_speaks_something_else_is_closed() {
    serving(|server| {
        let mut stream = TcpStream::connect(server).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.write_all(b"\xffGET / HTTP/1.1\r\n\r\n").unwrap();
        // Closed, or reset because there was more to read.
        assert!(matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)));
    })
    .await;
}

#[tokio::test]
async fn a_stream_without_an_allocation_does_not_keep_its_place() {
    let limits = RelayLimits {
        hello: Duration::from_secs(1),
        ..RelayLimits::default()
    };
    serving_within(limits, |server| {
        let mut page = Page::open(server, 0, true);
        let own = page.relayed();
        // It asks all the time, as anybody may.
        let mut stream = TcpStream::connect(server).unwrap();
        let patience = Some(Duration::from_millis(100));
        stream.set_read_timeout(patience).unwrap();
        let opened = std::time::Instant::now();
        loop {
            assert!(opened.elapsed() < Duration::from_secs(20), "still open");
            let request = Message::builder_request(BINDING, MessageWriteVec::new()).finish();
            let sent = stream.write_all(&request);
            match stream.read(&mut [0; 1_024]) {
                Ok(1..) if sent.is_ok() => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => break,
            }
        }
        assert!(opened.elapsed() > Duration::from_millis(900));
        // Who has an allocation may be silent for longer.
        let now = page.now();
        page.client.bind_channel(UDP, own, now).unwrap();
        while !matches!(page.next(), Ok(TurnEvent::ChannelCreated(..))) {}
    })
    .await;
}
