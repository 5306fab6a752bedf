//! The oracles see what they are for: each test breaks one thing, and some run of a few says so.

use protocol::datagram::{Datagram, Layout};
use simulation::run::{Mischief, Tamper};
use simulation::seeds::{self, Case};
use simulation::server::Sabotage;

/// Runs that each test plays at most.
const RUNS: u64 = 400;

/// What the oracles say of the first run that they find at fault.
fn seen(mischief: Mischief) -> String {
    let mut runs = (0..RUNS).map(|seed| seeds::play(Case::Seed(seed), mischief, false));
    runs.find_map(Result::err).unwrap_or_default()
}

fn sabotaged(server: Sabotage) -> String {
    seen(Mischief {
        server,
        ..Mischief::default()
    })
}

fn tampered(datagrams: Tamper) -> String {
    seen(Mischief {
        datagrams: Some(datagrams),
        ..Mischief::default()
    })
}

fn rewrite(bytes: &mut Vec<u8>, layout: Layout, change: impl FnOnce(&mut Datagram)) {
    // What only measures, before the start, is left alone.
    if let Ok(mut datagram) = Datagram::decode(bytes, layout) {
        change(&mut datagram);
        datagram.encode(layout, bytes);
    }
}

#[test]
fn a_seat_cut_where_the_first_page_has_it_takes_back_what_was_confirmed() {
    let seen = sabotaged(Sabotage {
        cut_at_least: true,
        ..Sabotage::default()
    });
    assert!(
        seen.starts_with("log") || seen.starts_with("stall"),
        "{seen}"
    );
}

#[test]
fn a_write_that_was_acknowledged_and_lost_is_missed() {
    let seen = sabotaged(Sabotage {
        lose_writes: true,
        ..Sabotage::default()
    });
    assert!(
        seen.starts_with("durable") || seen.starts_with("change"),
        "{seen}"
    );
}

#[test]
fn confirming_beyond_the_lease_takes_back_what_was_confirmed() {
    let mischief = Mischief {
        no_lease: true,
        ..Mischief::default()
    };
    let mut runs = (0..10).map(|seed| seeds::play(Case::Leased(seed), mischief, false));
    let seen = runs.find_map(Result::err).unwrap_or_default();
    assert!(
        ["log", "retraction", "digest"]
            .iter()
            .any(|name| seen.starts_with(name)),
        "{seen}"
    );
}

#[test]
fn a_receipt_for_what_never_came_confirms_what_somebody_lacks() {
    let seen = tampered(|bytes, layout, _| {
        rewrite(bytes, layout, |datagram| {
            for have in &mut datagram.have {
                have.0 += 3;
            }
        });
    });
    assert!(
        ["receipts", "log", "stall", "liveness"]
            .iter()
            .any(|name| seen.starts_with(name)),
        "{seen}"
    );
}

#[test]
fn a_packet_of_another_episode_that_is_let_in_is_seen() {
    let seen = tampered(|bytes, layout, before| {
        let Ok(now) = Datagram::decode(bytes, layout) else {
            return;
        };
        let old = before
            .iter()
            .filter_map(|old| Datagram::decode(old, layout).ok());
        let mut foreign =
            old.filter(|old| old.from == now.from && (old.era != now.era || old.life != now.life));
        if let Some(leak) = foreign.find(|old| old.first <= now.first) {
            rewrite(bytes, layout, |datagram| {
                (datagram.first, datagram.inputs) = (leak.first, leak.inputs);
                datagram.have[usize::from(leak.from.0)] = leak.have[usize::from(leak.from.0)];
            });
        }
    });
    assert!(
        ["log", "digest", "stall", "liveness"]
            .iter()
            .any(|name| seen.starts_with(name)),
        "{seen}"
    );
}

#[test]
fn an_honest_run_is_clean_and_the_same_every_time() {
    for seed in 0..4 {
        let one = seeds::play(Case::Seed(seed), Mischief::default(), false);
        let other = seeds::play(Case::Seed(seed), Mischief::default(), false);
        let (one, other) = (one.expect("a clean run"), other.expect("a clean run"));
        assert_eq!(
            (one.delivered, one.took_us),
            (other.delivered, other.took_us)
        );
    }
}
