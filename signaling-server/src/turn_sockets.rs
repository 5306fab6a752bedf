//! The sockets of the TURN server: UDP and TCP on one port, and one task that owns the relay.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clock::Clock;
use store::data_folder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use turn::{Client, Issuer, Relay, RelayLimits, Secret, Transmit, measure};

#[cfg(test)]
mod tests;

/// Frames of TCP connections that may wait for the relay.
const FRAMES: usize = 1_024;

/// The address of the STUN and TURN server.
#[derive(Clone, Debug)]
pub struct TurnOptions {
    /// Address and port to listen on, UDP and TCP; port 0 takes one that is free for both.
    pub listen: SocketAddr,
    /// Name or address under which pages reach it.
    pub host: String,
}

/// A TURN server that runs until this is dropped.
#[derive(Debug)]
pub struct Turn {
    /// The port, over UDP and TCP.
    pub port: u16,
    /// The address of its relayed addresses.
    pub address: IpAddr,
    /// Says which episodes run and end.
    pub episodes: EpisodeNotifier,
    _tasks: JoinSet<()>,
}

/// Tells a TURN server which episodes run and end.
#[derive(Clone, Debug)]
pub struct EpisodeNotifier {
    secret: Secret,
    news: mpsc::UnboundedSender<EpisodeNews>,
}

#[derive(Debug)]
enum EpisodeNews {
    /// These episodes run at the start.
    Running(Vec<String>),
    /// This one is over.
    Ended(String),
}

impl EpisodeNotifier {
    /// These episodes run while the server starts.
    pub fn tell_running<'a>(&self, episodes: impl IntoIterator<Item = &'a str>) {
        let groups = episodes
            .into_iter()
            .map(|episode| self.secret.group(episode));
        // A server that has ended needs no news.
        let _ = self.news.send(EpisodeNews::Running(groups.collect()));
    }

    /// An episode is over, and with it what its pages may do here.
    pub fn tell_ended(&self, episode: &str) {
        let _ = self
            .news
            .send(EpisodeNews::Ended(self.secret.group(episode)));
    }
}

/// Starts the STUN and TURN server, if there should be one.
pub(crate) async fn start_turn(
    options: Option<TurnOptions>,
    data: &Path,
    clock: Clock,
    streams: usize,
) -> anyhow::Result<Option<(Turn, Issuer)>> {
    let Some(TurnOptions { listen, host }) = options else {
        return Ok(None);
    };
    let secret = data_folder::read_secret(data, "turn.secret").context("the secret of TURN")?;
    let secret = Secret::new(secret);
    let usual = RelayLimits::default();
    let limits = RelayLimits {
        streams: usual.streams.min(streams),
        ..usual
    };
    let turn = start(listen, secret.clone(), clock, limits).await;
    let turn = turn.with_context(|| {
        format!("STUN and TURN cannot listen on {listen}; choose another port with --turn-port, or none with --no-turn")
    })?;
    let issuer = Issuer::new(secret, &host, turn.port);
    Ok(Some((turn, issuer)))
}

/// Starts a TURN server on one port, UDP and TCP; port 0 takes one that is free for both.
///
/// # Errors
/// The port is taken.
pub async fn start(
    listen: SocketAddr,
    secret: Secret,
    clock: Clock,
    limits: RelayLimits,
) -> io::Result<Turn> {
    let (udp, tcp) = bind(listen).await?;
    let port = tcp.local_addr()?.port();
    let random = || {
        let mut bytes = [0; 2];
        getrandom::fill(&mut bytes).expect("the system gives random numbers");
        u16::from_le_bytes(bytes)
    };
    let address = own_address(listen.ip());
    let relay = Relay::new(secret.clone(), address, limits.clone(), Box::new(random));
    let (opened, opening) = mpsc::channel(FRAMES);
    let (news, episodes) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(accept(tcp, limits.streams, opened));
    tasks.spawn(run(relay, udp, opening, episodes, clock, limits));
    Ok(Turn {
        port,
        address,
        episodes: EpisodeNotifier { secret, news },
        _tasks: tasks,
    })
}

async fn bind(listen: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    const TRIES: u8 = 16;
    let mut tries = 0;
    loop {
        tries += 1;
        let tcp = TcpListener::bind(listen).await?;
        match UdpSocket::bind(tcp.local_addr()?).await {
            Ok(udp) => return Ok((udp, tcp)),
            // The port that is free over TCP may be in use over UDP.
            Err(_) if listen.port() == 0 && tries < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

/// An event on TCP.
enum Happened {
    Opened(Client, TcpStream, tokio::sync::OwnedSemaphorePermit),
    Frame(Client, Vec<u8>),
    Closed(Client),
}

async fn accept(tcp: TcpListener, most: usize, happened: mpsc::Sender<Happened>) {
    let slots = Arc::new(Semaphore::new(most));
    for number in 0.. {
        let Ok(permit) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        match tcp.accept().await {
            Ok((stream, addr)) => {
                let client = Client {
                    addr,
                    stream: Some(number),
                };
                let opened = Happened::Opened(client, stream, permit);
                if happened.send(opened).await.is_err() {
                    return;
                }
            }
            // The process has too many files open, say; others may close theirs meanwhile.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn run(
    mut relay: Relay,
    udp: UdpSocket,
    mut opening: mpsc::Receiver<Happened>,
    mut episodes: mpsc::UnboundedReceiver<EpisodeNews>,
    clock: Clock,
    limits: RelayLimits,
) {
    let (happened, mut happening) = mpsc::channel(FRAMES);
    let mut streams: BTreeMap<Client, Stream> = BTreeMap::new();
    let mut tasks = JoinSet::new();
    let mut sweep = interval(limits.hello);
    let mut buffer = vec![0; limits.frame_bytes + 1];
    let mut out = Vec::new();
    loop {
        let event = tokio::select! {
            event = opening.recv() => event,
            event = happening.recv() => event,
            Some(news) = episodes.recv() => {
                match news {
                    EpisodeNews::Running(groups) => relay.handle_start(clock.now_us(), groups),
                    EpisodeNews::Ended(group) => relay.handle_episode_ended(clock.now_us(), &group),
                }
                continue;
            }
            received = udp.recv_from(&mut buffer) => {
                match received {
                    Ok((len, addr)) if len <= limits.frame_bytes => {
                        let client = Client { addr, stream: None };
                        relay.handle(clock.now_us(), client, &buffer[..len], &mut out);
                    }
                    Ok(_) => {}
                    Err(error) => tracing::debug!(%error, "a datagram for the TURN server was lost"),
                }
                deliver(&mut out, &udp, &streams);
                continue;
            }
            _ = sweep.tick() => {
                let now_us = clock.now_us();
                relay.handle_timeout(now_us);
                let hello_us = limits.hello.as_micros() as u64;
                streams.retain(|&client, stream| stream.stays(now_us, hello_us, relay.has_allocation(client)));
                // What has ended leaves the set.
                while tasks.try_join_next().is_some() {}
                continue;
            }
        };
        match event {
            Some(Happened::Opened(client, stream, permit)) => {
                let (queue, waiting) = mpsc::channel(limits.waiting);
                let since_us = clock.now_us();
                streams.insert(client, Stream { queue, since_us });
                let (happened, limits) = (happened.clone(), limits.clone());
                tasks.spawn(async move {
                    converse(client, stream, waiting, &happened, &limits).await;
                    drop(permit);
                    // The task that hears it owns this one.
                    let _ = happened.send(Happened::Closed(client)).await;
                });
            }
            Some(Happened::Frame(client, bytes)) => {
                relay.handle(clock.now_us(), client, &bytes, &mut out);
            }
            Some(Happened::Closed(client)) => {
                streams.remove(&client);
                relay.handle_closed(client);
            }
            None => return,
        }
        deliver(&mut out, &udp, &streams);
    }
}

/// A TCP connection; it is closed when this is dropped.
struct Stream {
    queue: mpsc::Sender<Vec<u8>>,
    /// The time at which it was opened, or last had an allocation.
    since_us: u64,
}

impl Stream {
    /// Returns whether it stays open: a client without an allocation must not keep the place of somebody who wants one.
    fn stays(&mut self, now_us: u64, hello_us: u64, has_allocation: bool) -> bool {
        if has_allocation {
            self.since_us = now_us;
        }
        self.since_us + hello_us > now_us
    }
}

/// Hands bytes to their sockets; what finds no room is lost, as on any network.
fn deliver(out: &mut Vec<Transmit>, udp: &UdpSocket, streams: &BTreeMap<Client, Stream>) {
    for Transmit { to, mut bytes } in out.drain(..) {
        if to.stream.is_none() {
            let _ = udp.try_send_to(&bytes, to.addr);
        } else if let Some(stream) = streams.get(&to) {
            // Source: RFC 8656 §12.5: over a stream, channel data is padded to four bytes.
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let _ = stream.queue.try_send(bytes);
        }
    }
}

async fn converse(
    client: Client,
    stream: TcpStream,
    waiting: mpsc::Receiver<Vec<u8>>,
    happened: &mpsc::Sender<Happened>,
    limits: &RelayLimits,
) {
    // A frame that waits for the next one is late.
    let _ = stream.set_nodelay(true);
    let (mut reader, writer) = stream.into_split();
    let listen = async {
        while let Ok(first) = reader.read_u8().await {
            let rest = timeout(limits.hello, frame(first, &mut reader, limits.frame_bytes));
            let Ok(Ok(bytes)) = rest.await else {
                return;
            };
            if happened.send(Happened::Frame(client, bytes)).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = listen => {}
        () = speak(writer, waiting) => {}
    }
}

async fn speak(mut writer: OwnedWriteHalf, mut waiting: mpsc::Receiver<Vec<u8>>) {
    while let Some(bytes) = waiting.recv().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Reads the rest of a frame: a STUN message, or channel data with its padding.
///
/// # Errors
/// The stream ended, or brings something else or something too long.
async fn frame(first: u8, reader: &mut OwnedReadHalf, most: usize) -> io::Result<Vec<u8>> {
    let mut head = [first, 0, 0, 0];
    reader.read_exact(&mut head[1..]).await?;
    let frame = measure(head, most).ok_or(io::ErrorKind::InvalidData)?;
    let mut bytes = vec![0; frame.whole];
    bytes[..4].copy_from_slice(&head);
    reader.read_exact(&mut bytes[4..]).await?;
    bytes.truncate(frame.body);
    Ok(bytes)
}

/// The address that this machine shows to the world, as far as it knows: none is asked.
pub fn own_address(listen: IpAddr) -> IpAddr {
    if !listen.is_unspecified() {
        return listen;
    }
    // Connecting a UDP socket sends nothing; it only asks the routing table. The addresses are for documentation.
    let v4 = ("0.0.0.0:0", SocketAddr::from(([192, 0, 2, 1], 9)));
    let v6 = (
        "[::]:0",
        SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9)),
    );
    let towards = |(from, to): (&str, SocketAddr)| {
        let socket = std::net::UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    towards(v4)
        .or_else(|| towards(v6))
        .unwrap_or(Ipv4Addr::LOCALHOST.into())
}
