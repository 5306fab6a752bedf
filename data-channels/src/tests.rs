//! Two sets of channels in one process, over the sockets of this machine.

use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::time::timeout;

use super::*;

const WITHIN: Duration = Duration::from_secs(60);

fn set(own: u8) -> ChannelSet {
    let rules = ChannelRules {
        own: Seat(own),
        ice: Vec::new(),
        relay_only: false,
    };
    ChannelSet::new(rules, Ipv4Addr::LOCALHOST.into())
}

/// Passes signals between two pages until a page has the wanted news; returns it.
async fn until(
    sets: &mut [ChannelSet; 2],
    wanted: impl Fn(usize, &ChannelNews) -> bool,
) -> ChannelNews {
    let looked = async {
        loop {
            let (one, other) = sets.split_at_mut(1);
            let (at, (to, news)) = tokio::select! {
                news = poll_fn(|context| one[0].poll_news(context)) => (0, news),
                news = poll_fn(|context| other[0].poll_news(context)) => (1, news),
            };
            if let ChannelNews::Signal(data) = &news {
                assert_eq!(to, Seat(1 - at as u8));
                sets[1 - at].handle_signal(Seat(at as u8), data);
            }
            if wanted(at, &news) {
                return news;
            }
        }
    };
    timeout(WITHIN, looked)
        .await
        .expect("the pages reach each other")
}

/// Connects two pages; the one of seat `calls` asks for it.
async fn connected(calls: usize) -> [ChannelSet; 2] {
    let mut sets = [set(0), set(1)];
    sets[calls].connect(Seat(1 - calls as u8));
    let mut open = [false; 2];
    while open != [true; 2] {
        let seen = std::cell::Cell::new(0);
        until(&mut sets, |at, news| {
            seen.set(at);
            *news == ChannelNews::Opened { is_relayed: false }
        })
        .await;
        open[seen.get()] = true;
    }
    sets
}

#[tokio::test]
async fn datagrams_travel_both_ways_whoever_begins() {
    for calls in [0, 1] {
        let mut sets = connected(calls).await;
        for from in [0, 1] {
            sets[from].send(Seat(1 - from as u8), vec![7, from as u8]);
            let heard = until(&mut sets, |at, news| {
                at != from && matches!(news, ChannelNews::Datagram(_))
            });
            assert_eq!(heard.await, ChannelNews::Datagram(vec![7, from as u8]));
        }
    }
}

#[tokio::test]
async fn a_page_that_closes_its_connection_is_known_to_be_gone() {
    let mut sets = connected(0).await;
    sets[0].close(Seat(1));
    until(&mut sets, |at, news| {
        at == 1 && *news == ChannelNews::Closed
    })
    .await;
}

#[tokio::test]
async fn signals_that_nobody_sends_are_dropped() {
    let mut pages = set(1);
    let offer = signal::encode(&Signal::Offer {
        connection: NonZeroU32::MIN,
        sdp: "v=0".to_owned(),
    });
    let answer = signal::encode(&Signal::Answer {
        connection: NonZeroU32::MIN,
        sdp: "v=0".to_owned(),
    });
    for data in ["", "{}", &answer] {
        pages.handle_signal(Seat(0), data);
    }
    assert!(pages.connections.is_empty());
    pages.handle_signal(Seat(2), &offer);
    assert!(pages.connections.is_empty(), "the higher seat never offers");
    pages.handle_signal(Seat(0), &offer);
    let mut news = Vec::new();
    while news.last() != Some(&ChannelNews::Closed) {
        let next = poll_fn(|context| pages.poll_news(context));
        news.push(timeout(WITHIN, next).await.unwrap().1);
    }
    assert_eq!(
        news,
        [ChannelNews::Begun, ChannelNews::Closed],
        "it describes nothing"
    );
    assert!(pages.connections.is_empty());
}
