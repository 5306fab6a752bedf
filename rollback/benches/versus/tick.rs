//! The cost of a tick with rollbacks of one depth.
//!
//! All players are in one process, at 60 Hz. Seat 0 is timed; what the others send reaches it `depth` ticks late, and
//! their actions change every tick, so that every tick rolls back exactly `depth` ticks. Both sessions encode their
//! packets. GGRS saves every frame, as it does on its own, and takes no checksums; ours takes four digests a second.
//! The cost of reading the clock is left out.

use std::collections::VecDeque;
use std::hint::black_box;

use env_core::{Action, World as _};
use ggrs::SessionState;
use protocol::{Controller, Seat};
use rollback::Session;

use super::theirs::{self, Post, Terms, Theirs};
use super::{Clocks, median};
use crate::support::network::Conditions;
use crate::support::play::config;
use crate::support::scenario::{READY_US, Scenario};
use crate::support::toy::Toy;

const TICKS: u64 = 4_000;
const WARM_UP: u64 = 500;
const WINDOW: u8 = 16;

/// The action of a seat, another one each tick.
fn action(seat: usize, tick: u64) -> Action {
    1 + ((tick + seat as u64) % 2) as Action
}

fn toy(players: usize) -> Toy {
    Toy::new(players as u8, 1 << 16, 1 << 16)
}

/// Nanoseconds that two readings of the clock take.
fn overhead(clocks: Clocks) -> f64 {
    let mut spans = Vec::with_capacity(1_000);
    for _ in 0..1_000 {
        let start = (clocks.real_ns)();
        spans.push((clocks.real_ns)() - start);
    }
    median(spans)
}

/// Nanoseconds of the median tick of seat 0.
pub(crate) fn ours(players: usize, depth: u64, clocks: Clocks) -> f64 {
    let scenario = Scenario {
        window: WINDOW,
        controllers: vec![Controller::Human; players],
        ..Scenario::calm(1, 60, 1 << 16, Conditions::default())
    };
    let session = |seat| {
        let config = config(&scenario, Some(Seat(seat as u8)));
        Session::new(config, toy(players), Vec::new())
    };
    let mut peers: Vec<_> = (0..players).map(session).collect();
    // Packets that arrive some ticks after they were sent, by receiver.
    let mut to = vec![VecDeque::<(u64, Seat, Vec<u8>)>::new(); players];
    let mut spent = Vec::with_capacity(TICKS as usize);
    for tick in 0..WARM_UP + TICKS {
        let now_us = READY_US + 500_000 + (tick * 1_000_000).div_ceil(60);
        for seat in (0..players).rev() {
            let start = (clocks.real_ns)();
            let peer = &mut peers[seat];
            while to[seat].front().is_some_and(|&(due, ..)| due <= tick) {
                let (_, from, bytes) = to[seat].pop_front().expect("it was just seen");
                peer.handle_datagram(now_us, from, &bytes)
                    .expect("an honest packet");
            }
            peer.handle_action(now_us, action(seat, tick));
            peer.handle_timeout(now_us);
            while let Some(transmit) = peer.poll_transmit() {
                let late = if transmit.to.0 == 0 { depth } else { 0 };
                let packet = (tick + late, Seat(seat as u8), transmit.bytes.to_vec());
                to[transmit.to.index()].push_back(packet);
            }
            while let Some(event) = peer.poll_event() {
                black_box(event);
            }
            if seat == 0 && tick >= WARM_UP {
                spent.push((clocks.real_ns)() - start);
            }
        }
    }
    let stats = *peers[0].stats();
    assert_eq!(u64::from(peers[0].current().0), WARM_UP + TICKS);
    assert_eq!(
        u64::from(stats.max_depth),
        depth,
        "the depth is not the one wanted"
    );
    let least = depth * (WARM_UP + TICKS - depth);
    assert!(stats.resimulated >= least, "a tick was not rolled back");
    median(spent) - overhead(clocks)
}

/// Nanoseconds of the median frame of player 0.
pub(crate) fn theirs(players: usize, depth: u64, clocks: Clocks) -> f64 {
    let post = Post::new(players);
    let session = |seat| theirs::session(seat, players, &post, Terms::of(WINDOW, 0));
    let mut peers: Vec<_> = (0..players)
        .map(|seat| (session(seat), toy(players)))
        .collect();
    for (_, world) in &mut peers {
        world.reset(1);
    }
    for _ in 0..1_000 {
        for (seat, (session, _)) in peers.iter_mut().enumerate() {
            session.poll_remote_clients();
            while let Some((to, bytes)) = post.take(seat) {
                post.deliver(seat, to, bytes);
            }
        }
    }
    let runs = |session: &Theirs| session.current_state() == SessionState::Running;
    assert!(peers.iter().all(|(session, _)| runs(session)));
    let mut late = VecDeque::<(u64, usize, Vec<u8>)>::new();
    let (mut spent, mut steps) = (Vec::with_capacity(TICKS as usize), 0);
    for tick in 0..WARM_UP + TICKS {
        for seat in (0..players).rev() {
            while seat == 0 && late.front().is_some_and(|&(due, ..)| due <= tick) {
                let (_, from, bytes) = late.pop_front().expect("it was just seen");
                post.deliver(from, 0, bytes);
            }
            let start = (clocks.real_ns)();
            let (session, world) = &mut peers[seat];
            session.poll_remote_clients();
            for event in session.events() {
                black_box(event);
            }
            session
                .add_local_input(seat, action(seat, tick))
                .expect("the local player's");
            let requests = session.advance_frame().expect("within the window");
            let ran = theirs::obey(world, requests, |_| None);
            if seat == 0 {
                steps += ran;
                if tick >= WARM_UP {
                    spent.push((clocks.real_ns)() - start);
                }
            }
            while let Some((to, bytes)) = post.take(seat) {
                match to {
                    0 => late.push_back((tick + depth, seat, bytes)),
                    _ => post.deliver(seat, to, bytes),
                }
            }
        }
    }
    let all = WARM_UP + TICKS;
    assert_eq!(peers[0].0.current_frame() as u64, all);
    assert_eq!(
        steps,
        all + depth * (all - depth),
        "the depth is not the one wanted"
    );
    median(spent) - overhead(clocks)
}
