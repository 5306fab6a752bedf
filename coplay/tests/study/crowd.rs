//! A hundred people who come to a lobby at the same time, over real sockets.

use std::collections::{BTreeMap, BTreeSet};

use protocol::Controller;
use protocol::control::{Entry, Plan, ServerMessage};
use signaling_server::server::ServerOptions;

use super::host::Host;
use super::page::Page;

#[tokio::test]
async fn a_hundred_people_at_once_are_in_fifty_groups_and_nobody_is_stranded() {
    let host = Host::new();
    let options = ServerOptions {
        links: 100,
        ..host.options()
    };
    let server = host.start_with(options).await;
    let mut pages = Vec::new();
    for link in &server.links {
        pages.push(Page::enter(&server, Entry::Invite(link.clone())).await);
    }
    // All of them are done reading at the same time.
    for page in &mut pages {
        page.done(0, Vec::new()).await;
    }
    let mut groups: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
    for page in &mut pages {
        let plan: Plan = page
            .until(|message| match message {
                ServerMessage::Match(plan) => Some(plan),
                _ => None,
            })
            .await;
        assert_eq!(plan.controllers, [Controller::Human, Controller::Human]);
        let seats = groups.entry(plan.episode).or_default();
        assert!(seats.insert(plan.seat.0), "two people in one seat");
    }
    assert_eq!(groups.len(), 50);
    assert!(
        groups
            .into_values()
            .all(|seats| seats == BTreeSet::from([0, 1]))
    );
    server.stop().await;
}
