//! The oracles find their faults: each test breaks one thing, and the responsible oracle reports it.

use env_core::World as _;
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{Era, Seat};
use rollback::Session;
use simulation::fault_injection::{FaultInjection, Tamper};
use simulation::native::Native;
use simulation::run::Run;
use simulation::scenario::Scenario;
use simulation::seeds::{self, Case};
use simulation::tab::Tab;
use simulation::trace::Trace;

/// Runs that each test plays at most.
const RUNS: u64 = 400;

/// The finding of the oracles in the first run that they find at fault.
fn seen(injected: FaultInjection) -> String {
    let mut runs = (0..RUNS).map(|seed| seeds::play(Case::Seed(seed), injected, false));
    runs.find_map(Result::err).unwrap_or_default()
}

fn tampered(datagrams: Tamper) -> String {
    seen(FaultInjection {
        datagrams: Some(datagrams),
        ..FaultInjection::default()
    })
}

fn rewrite(bytes: &mut Vec<u8>, layout: DatagramLayout, change: impl FnOnce(&mut Datagram)) {
    // What only measures, before the start, is left alone.
    if let Ok(mut datagram) = Datagram::decode(bytes, layout) {
        change(&mut datagram);
        datagram.encode(layout, bytes);
    }
}

#[test]
fn a_page_that_takes_what_it_has_confirmed_for_final_is_seen() {
    let injected = FaultInjection {
        settles_early: true,
        ..FaultInjection::default()
    };
    // With four people there are often three who stay, and are beyond the last word of the one who goes.
    let mut runs = (0..RUNS).map(|seed| seeds::play(Case::Seats(seed, 4), injected, false));
    let seen = runs.find_map(Result::err).unwrap_or_default();
    let is_seen = seen.starts_with("retraction") || seen.starts_with("log");
    assert!(is_seen, "{seen}");
}

#[test]
fn a_write_that_was_acknowledged_and_lost_is_missed() {
    let seen = seen(FaultInjection {
        lose_writes: true,
        ..FaultInjection::default()
    });
    assert!(seen.starts_with("durable"), "{seen}");
}

#[test]
fn a_draft_that_was_promised_and_lost_is_missed() {
    let injected = FaultInjection {
        lose_drafts: true,
        ..FaultInjection::default()
    };
    let typing = (0..RUNS).filter(|seed| Scenario::new(*seed).terms.pages.form);
    let mut runs = typing.map(|seed| seeds::play(Case::Seed(seed), injected, false));
    let seen = runs.find_map(Result::err).unwrap_or_default();
    assert!(seen.starts_with("draft"), "{seen}");
}

#[test]
fn a_payment_that_was_promised_and_lost_is_missed() {
    let seen = seen(FaultInjection {
        lose_pay: true,
        ..FaultInjection::default()
    });
    assert!(seen.starts_with("blame"), "{seen}");
}

/// Seeds whose people play in turns.
fn in_turns() -> impl Iterator<Item = u64> {
    (0..RUNS).filter(|seed| Scenario::new(*seed).terms.turns)
}

#[test]
fn turns_are_among_what_seeds_mean_and_a_turn_that_is_lost_is_missed_like_a_tick() {
    assert!((RUNS / 16..RUNS / 4).contains(&(in_turns().count() as u64)));
    let injected = FaultInjection {
        lose_writes: true,
        ..FaultInjection::default()
    };
    let mut runs = in_turns().map(|seed| seeds::play(Case::Seed(seed), injected, false));
    let seen = runs.find_map(Result::err).unwrap_or_default();
    assert!(seen.starts_with("durable"), "{seen}");
}

/// The episode that a page plays now, and the number of its confirmed ticks.
fn at(page: &Tab) -> Option<(Era, u32)> {
    let peer = page.peer().filter(|_| page.is_alive)?;
    Some((peer.plan().era, peer.session()?.confirmed().0))
}

#[test]
fn a_state_that_differs_is_seen_in_turns_too() {
    let seen = in_turns().filter_map(|seed| {
        let (mut turned, mut told) = (None, false);
        let mut run = Run::new(
            Scenario::new(seed),
            FaultInjection::default(),
            Trace::new(false),
        );
        let seen = run.run_watched(|_, pages, seen| {
            let page = pages.first_mut();
            let turns = |page: &mut Tab| turn_a_bit(page).then(|| at(page)).flatten();
            match (turned, page) {
                (None, Some(page)) => turned = turns(page),
                // A page that is closed before its next turn shows nothing.
                (Some((era, tick)), Some(page)) => {
                    told |= at(page).is_some_and(|now| now.0 == era && now.1 > tick);
                }
                (_, None) => {}
            }
            seen
        });
        told.then(|| (seed, seen.err().unwrap_or_default()))
    });
    let seen: Vec<_> = seen.collect();
    assert!(seen.len() > 10, "{seen:?}");
    // One whose steps are counted otherwise may play on behind the horizon, and is refused.
    let by = ["digest", "refusal", "seen"];
    let is_seen = |seen: &str| by.iter().any(|oracle| seen.starts_with(oracle));
    let mut all = seen.iter();
    assert!(all.all(|(_, seen)| is_seen(seen)), "{seen:?}");
}

/// Makes a datagram claim that its sender has three more inputs of everybody except the two, who know their own inputs.
fn forge(
    bytes: &mut Vec<u8>,
    layout: DatagramLayout,
    to: Seat,
    only: impl FnOnce(&Datagram) -> bool,
) {
    rewrite(bytes, layout, |datagram| {
        if only(datagram) {
            let from = datagram.from;
            let all = (0..).map(Seat).zip(&mut datagram.have);
            let others = all.filter(|(seat, _)| ![from, to].contains(seat));
            others.for_each(|(_, have)| have.0 += 3);
        }
    });
}

#[test]
fn a_receipt_for_what_never_came_confirms_what_somebody_lacks() {
    let seen = tampered(|bytes, layout, to, _| forge(bytes, layout, to, |_| true));
    assert!(seen.starts_with("receipts"), "{seen}");
}

#[test]
fn a_receipt_for_what_never_came_is_seen_after_seats_changed_hands_too() {
    let seen = tampered(|bytes, layout, to, _| {
        forge(bytes, layout, to, |datagram| datagram.changes > 0);
    });
    assert!(seen.starts_with("receipts"), "{seen}");
}

#[test]
fn inputs_of_another_episode_that_are_let_in_are_seen() {
    let seen = tampered(|bytes, layout, _, before| {
        let Ok(now) = Datagram::decode(bytes, layout) else {
            return;
        };
        let old = before
            .iter()
            .filter_map(|old| Datagram::decode(old, layout).ok());
        let mut foreign = old.filter(|old| {
            let is_foreign = old.era != now.era || old.life != now.life;
            old.from == now.from && is_foreign && !old.inputs.is_empty()
        });
        if let Some(leak) = foreign.next() {
            rewrite(bytes, layout, |datagram| {
                let inputs = leak.inputs.iter().cycle();
                for (own, foreign) in datagram.inputs.iter_mut().zip(inputs) {
                    *own = *foreign;
                }
            });
        }
    });
    // Before it is final, the digests show it.
    let is_seen = seen.starts_with("log") || seen.starts_with("digest");
    assert!(is_seen, "{seen}");
}

/// Turns a bit of the state of a page's world, if that makes another possible state.
fn turn_a_bit(page: &mut Tab) -> bool {
    turn_first(page, |len| Box::new(0..len))
}

/// Turns a bit of the state of the last partner of a page's shared world: all of its choice except its present value,
/// which the next step forgets.
fn turn_a_bit_of_a_partner(page: &mut Tab) -> bool {
    turn_first(page, |len| Box::new((0..len.saturating_sub(2)).rev()))
}

/// Turns a bit of the first byte that makes another possible state, in this order of all bytes.
fn turn_first(page: &mut Tab, order: fn(usize) -> Box<dyn Iterator<Item = usize>>) -> bool {
    let session = page.peer_mut().and_then(|peer| peer.session_mut());
    let is_late = |session: &&mut Session<Native>| session.current().0 > 20;
    let Some(session) = session
        .filter(is_late)
        .filter(|session| session.ended().is_none())
    else {
        return false;
    };
    let world = session.world();
    let (mut state, digest) = (Vec::new(), world.digest());
    world.state(&mut state);
    order(state.len()).any(|at| {
        let mut other = state.clone();
        other[at] ^= 1;
        world.restore(&other).is_ok() && world.digest() != digest
    })
}

#[test]
fn a_state_that_differs_is_seen_at_the_next_digest() {
    let ticks = (0..20).filter_map(|seed| {
        let mut turned = None;
        let mut run = Run::new(
            Scenario::slow(seed),
            FaultInjection::default(),
            Trace::new(false),
        );
        let seen = run.run_watched(|_, pages, seen| {
            if turned.is_none() && pages.len() > 1 && turn_a_bit(&mut pages[1]) {
                let session = pages[1].peer().and_then(|peer| peer.session());
                turned = session.map(|session| session.current().0);
            }
            seen
        });
        // `None` if that page played no such tick.
        let turned: u32 = turned?;
        Some((seen.err().unwrap_or_default(), turned))
    });
    // A rollback to before that tick mends the state.
    let ticks: Vec<_> = ticks.collect();
    let at_once = ticks.iter().filter(|(seen, turned)| {
        let words = seen.strip_suffix(" ticks").unwrap_or_default();
        let after = words.rsplit(' ').next().unwrap_or_default();
        let within = turned.saturating_sub(20)..=turned + 20;
        seen.starts_with("digest") && after.parse().is_ok_and(|tick| within.contains(&tick))
    });
    assert!(at_once.count() > 10, "{ticks:?}");
}

/// Seeds whose people share their seats, and whose pages are all honest.
fn shared() -> impl Iterator<Item = (u64, Scenario)> {
    let all = (0..RUNS).map(|seed| (seed, Scenario::shared(seed)));
    all.filter(|(_, scenario)| scenario.liar.is_none())
}

#[test]
fn seats_are_shared_in_every_mode_and_partners_play_in_them() {
    for mode in ["handover", "override", "choose"] {
        let mut own = shared().filter(|(_, scenario)| {
            let shared = scenario.terms.shared;
            shared.is_some_and(|shared| shared.mode == mode)
        });
        let (seed, _) = own.next().expect("some of the seeds have this mode");
        let played = seeds::play(Case::Shared(seed), FaultInjection::default(), false);
        let figures = played.expect("a clean run").figures;
        assert!(figures.handed_over > 0, "{mode}: {figures:?}");
    }
    let dishonest = (0..RUNS).filter(|seed| Scenario::shared(*seed).liar.is_some());
    assert!((RUNS / 8..RUNS / 2).contains(&(dishonest.count() as u64)));
}

#[test]
fn a_partner_of_a_shared_seat_that_chooses_otherwise_on_one_page_is_seen() {
    let seen = shared().take(40).filter_map(|(seed, scenario)| {
        let mut is_turned = false;
        let mut run = Run::new(scenario, FaultInjection::default(), Trace::new(false));
        let seen = run.run_watched(|_, pages, seen| {
            is_turned = is_turned || pages.first_mut().is_some_and(turn_a_bit_of_a_partner);
            seen
        });
        is_turned.then(|| (seed, seen.err().unwrap_or_default()))
    });
    let seen: Vec<_> = seen.collect();
    // A rollback to before that tick repairs the state, and so does a newly opened page.
    let found = seen.iter().filter(|(_, seen)| seen.starts_with("digest"));
    assert!(found.count() > 10, "{seen:?}");
}

#[test]
fn an_honest_run_is_clean_and_the_same_every_time() {
    for case in (0..4).map(Case::Seed).chain((0..4).map(Case::Shared)) {
        let one = seeds::play(case, FaultInjection::default(), false);
        let other = seeds::play(case, FaultInjection::default(), false);
        let (one, other) = (one.expect("a clean run"), other.expect("a clean run"));
        assert_eq!(
            (one.delivered, one.took_us),
            (other.delivered, other.took_us)
        );
    }
}
