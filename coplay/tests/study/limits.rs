//! Crowds and attackers, from one address and from several: silent sockets, slow heads, invented identifiers, wrong codes.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use protocol::control::{Entry, Refusal, ServerMessage};
use server_core::limits::{Limits, Rate};
use signaling_server::server::{AccessRules, ServerOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, client_async};

use super::entry::{pid, sent};
use super::host::{Host, Running};
use super::page::Page;
use super::visits::host;

const STUDY: &str = "format: 1
study: {id: limits, version: 1.0.0, title: Limits, contact: lab@example.edu}
recruitment: {provider: prolific}
timeline:
  - {id: how, type: instructions, pages: [how.md]}
  - {id: thanks, type: end, file: thanks.md}
";

/// A server on this study with other limits.
async fn start(host: &Host, limits: Limits, trusted_proxies: Vec<IpAddr>) -> Running {
    let access = AccessRules {
        trusted_proxies,
        ..AccessRules::default()
    };
    host.start_with(ServerOptions {
        limits,
        access,
        ..host.options()
    })
    .await
}

/// A connection from an address of this machine.
async fn connect_from(server: &Running, last: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    let own = (Ipv4Addr::new(127, 0, 0, last), 0);
    socket.bind(own.into()).unwrap();
    socket
        .connect(server.address.parse().unwrap())
        .await
        .unwrap()
}

/// Opens a page from an address of this machine, perhaps with the address that a proxy forwards; `None` if it gets no
/// socket.
async fn page_from(
    server: &Running,
    last: u8,
    forwarded: Option<&str>,
    entry: Entry,
) -> Option<Page> {
    let stream = connect_from(server, last).await;
    let mut request = format!("ws://{}/session", server.address)
        .into_client_request()
        .unwrap();
    if let Some(forwarded) = forwarded {
        request
            .headers_mut()
            .insert("x-forwarded-for", forwarded.parse().unwrap());
    }
    let opened = client_async(request, MaybeTlsStream::Plain(stream)).await;
    let (socket, _) = opened.ok()?;
    let mut page = Page {
        socket,
        token: String::new(),
    };
    page.say(&protocol::control::ClientMessage::make_hello(entry))
        .await;
    Some(page)
}

fn person(name: &str) -> Entry {
    sent(&[("PROLIFIC_PID", &pid(name))])
}

/// True if a connection is closed by the server.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut all = Vec::new();
    stream
        .read_to_end(&mut all)
        .await
        .is_ok_and(|_| all.is_empty())
}

#[tokio::test]
async fn silent_sockets_and_slow_heads_keep_nobody_out() {
    let host = host(STUDY);
    let limits = Limits {
        client_connections: 20,
        client_pages: 10,
        silence: Duration::ZERO,
        ..Limits::default()
    };
    let server = start(&host, limits, Vec::new()).await;
    let mut attackers = Vec::new();
    for number in 0..60 {
        let mut stream = connect_from(&server, 1).await;
        match number % 3 {
            0 => {}
            1 => stream
                .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow:")
                .await
                .unwrap(),
            // A session socket that says nothing.
            _ => {
                let request = format!(
                    "GET /session HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                    server.address
                );
                stream.write_all(request.as_bytes()).await.unwrap();
            }
        }
        attackers.push(stream);
    }
    for (last, name) in [(1, "anna"), (2, "bert")] {
        let mut page = page_from(&server, last, None, person(name)).await.unwrap();
        page.stage().await;
    }
    assert!(is_closed(&mut attackers[0]).await, "the oldest made room");
    server.stop().await;
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let host = host(STUDY);
    let limits = Limits {
        headers: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = start(&host, limits, Vec::new()).await;
    let mut silent = connect_from(&server, 1).await;
    assert!(is_closed(&mut silent).await);
    let mut idle = connect_from(&server, 1).await;
    let request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    idle.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    idle.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("ok\n"), "answered, and closed: {answer}");
    server.stop().await;
}

#[tokio::test]
async fn invented_identifiers_use_up_what_one_address_may_begin() {
    let host = host(STUDY);
    let limits = Limits {
        client_sessions: Rate {
            burst: 5,
            per_min: 1,
        },
        ..Limits::default()
    };
    let server = start(&host, limits, Vec::new()).await;
    let mut token = String::new();
    for number in 0..5 {
        let mut page = page_from(&server, 1, None, person(&format!("a{number}")))
            .await
            .unwrap();
        page.stage().await;
        token = pid(&format!("a{number}"));
    }
    let mut page = page_from(&server, 1, None, person("more")).await.unwrap();
    assert_eq!(page.refusal().await, Refusal::Full);
    let known = sent(&[("PROLIFIC_PID", &token)]);
    let mut page = page_from(&server, 1, None, known).await.unwrap();
    page.stage().await;
    let link = Entry::Invite(server.links[0].clone());
    let mut page = page_from(&server, 1, None, link).await.unwrap();
    page.stage().await;
    let mut page = page_from(&server, 2, None, person("bert")).await.unwrap();
    page.stage().await;
    server.stop().await;
}

#[tokio::test]
async fn wrong_codes_get_no_answer_in_the_end_and_right_ones_do() {
    let host = host(STUDY);
    let limits = Limits {
        client_wrong_codes: Rate {
            burst: 5,
            per_min: 1,
        },
        ..Limits::default()
    };
    let server = start(&host, limits, Vec::new()).await;
    let mut answered = 0;
    for number in 0..20 {
        let guess = Entry::Invite(format!("{number:032x}"));
        let mut page = page_from(&server, 1, None, guess).await.unwrap();
        answered += usize::from(page.hear().await.is_some());
    }
    assert_eq!(answered, 5);
    for last in [1, 2] {
        let link = Entry::Invite(server.links[0].clone());
        let mut page = page_from(&server, last, None, link).await.unwrap();
        page.stage().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_forwarded_address_counts_behind_a_trusted_proxy_alone() {
    let host = host(STUDY);
    let limits = Limits {
        client_connections: 3,
        ..Limits::default()
    };
    let proxy: IpAddr = Ipv4Addr::new(127, 0, 0, 9).into();
    let server = start(&host, limits, vec![proxy]).await;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut pages = Vec::new();
    // Behind the proxy, everybody has their own address, and one of them has too many connections.
    for name in &names[..3] {
        let page = page_from(&server, 9, Some("203.0.113.1"), person(name)).await;
        pages.push(past_the_first_stage(page).await);
    }
    let fourth = page_from(&server, 9, Some("203.0.113.1"), person("x")).await;
    assert_eq!(fourth.unwrap().refusal().await, Refusal::Full);
    let other = page_from(&server, 9, Some("6.6.6.6, 203.0.113.2"), person("y")).await;
    other.unwrap().stage().await;
    // A client without the proxy counts by its real address, whatever its headers say.
    for (number, name) in names[3..6].iter().enumerate() {
        let forged = format!("198.51.100.{number}");
        let page = page_from(&server, 8, Some(&forged), person(name)).await;
        pages.push(past_the_first_stage(page).await);
    }
    let forged = page_from_refused(&server, 8).await;
    assert!(forged, "the fourth from that address");
    server.stop().await;
}

#[tokio::test]
async fn a_full_server_says_so_and_has_those_who_take_part_try_again() {
    let host = host(STUDY);
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let server = start(&host, limits, Vec::new()).await;
    let mut here = Vec::new();
    for (last, name) in [(1, "anna"), (2, "bert")] {
        let page = enter_when_there_is_room(&server, last, person(name)).await;
        here.push(past_the_first_stage(Some(page)).await);
    }
    let mut third = page_from(&server, 3, None, person("cleo")).await.unwrap();
    assert_eq!(third.refusal().await, Refusal::Full);
    assert!(third.hear().await.is_none(), "and the connection closes");
    // Bert's connection breaks, and somebody else takes his place.
    let bert = here.pop().unwrap();
    let back = Entry::Resume {
        token: bert.token.clone(),
        playing: None,
    };
    drop(bert);
    let dora = enter_when_there_is_room(&server, 4, person("dora")).await;
    here.push(past_the_first_stage(Some(dora)).await);
    let mut again = page_from(&server, 2, None, back.clone()).await.unwrap();
    assert_eq!(again.refusal().await, Refusal::Stopping, "he keeps trying");
    here.pop();
    enter_when_there_is_room(&server, 2, back).await;
    server.stop().await;
}

/// A page that tries until the server has noticed that somebody has gone.
async fn enter_when_there_is_room(server: &Running, last: u8, entry: Entry) -> Page {
    loop {
        let mut page = page_from(server, last, None, entry.clone()).await.unwrap();
        match page.hear().await.unwrap() {
            ServerMessage::Refused {
                why: Refusal::Full | Refusal::Stopping,
            } => {}
            ServerMessage::Welcome { session, .. } => {
                page.token = session;
                return page;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A page whose person has passed the first stage: it makes room for nobody.
async fn past_the_first_stage(page: Option<Page>) -> Page {
    let mut page = page.unwrap();
    page.stage().await;
    page.done(0, Vec::new()).await;
    page.stage().await;
    page
}

/// True if a further connection from an address is closed immediately.
async fn page_from_refused(server: &Running, last: u8) -> bool {
    let mut stream = connect_from(server, last).await;
    is_closed(&mut stream).await
}

#[tokio::test]
async fn a_hundred_people_enter_from_one_address_at_once() {
    let host = host(STUDY);
    let server = start(&host, Limits::default(), Vec::new()).await;
    let mut pages = Vec::new();
    for number in 0..100 {
        // Each browser fetches files by six connections first.
        for _ in 0..6 {
            pages.push(Err(connect_from(&server, 1).await));
        }
        let page = page_from(&server, 1, None, person(&format!("p{number}"))).await;
        pages.push(Ok(page.unwrap()));
    }
    for page in pages.iter_mut().flatten() {
        page.stage().await;
    }
    server.stop().await;
}
