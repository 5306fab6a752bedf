//! What a tick costs without and with rollback, beside GGRS in the same run, and what goes over the wire.
//! Prints one JSON object a line: name, value, unit.
//!
//! Method: two players in one process, the toy world of the tests (208 bytes, a step of some 20 ns), 60 Hz.
//! Seat 0 is timed; what seat 1 sends reaches it `depth` ticks late, and seat 1's action changes every tick,
//! so that every tick rolls back exactly `depth` ticks. Both sessions encode their packets (GGRS with postcard).
//! Times are medians over ticks, then over rounds that alternate, so that a busy machine shows little.
//! GGRS saves every frame, reads the clock as it does on its own, and takes no checksums; ours takes a digest each second.
#![expect(clippy::disallowed_types, reason = "a bench measures time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use env_core::{Action, World};
use ggrs::{
    GgrsRequest, Message, NonBlockingSocket, P2PSession, PlayerType, PredictRepeatLast,
    SessionBuilder, SessionState,
};
use protocol::Seat;
use rollback::Session;
use support::network::Conditions;
use support::play::{Mischief, config, play};
use support::scenario::{READY_US, Scenario};
use support::toy::{State, Toy};

const TICKS: u64 = 5_000;
const WARM_UP: u64 = 500;
const ROUNDS: usize = 7;
const WINDOW: u8 = 16;

fn main() {
    for depth in [0, 4, 8] {
        let (ours, theirs): (Vec<f64>, Vec<f64>) = (0..ROUNDS)
            .map(|_| (session_tick(depth), ggrs_tick(depth)))
            .unzip();
        let (ours, theirs) = (median(ours), median(theirs));
        print(&format!("session_tick_depth_{depth}"), ours, "ns");
        print(&format!("ggrs_tick_depth_{depth}"), theirs, "ns");
        print(
            &format!("ggrs_over_session_depth_{depth}"),
            theirs / ours,
            "x",
        );
    }
    wire(60);
    wire(10);
}

fn print(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.1},"unit":"{unit}"}}"#);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The action of a seat, another one each tick.
fn action(seat: usize, tick: u64) -> Action {
    1 + ((tick + seat as u64) % 2) as Action
}

fn toy() -> Toy {
    Toy::new(2, 1 << 16, 1 << 16)
}

/// Packets that arrive some ticks after they were sent.
type Late = VecDeque<(u64, Vec<u8>)>;

/// Nanoseconds of the median tick of seat 0.
fn session_tick(depth: u64) -> f64 {
    let scenario = Scenario {
        window: WINDOW,
        ..Scenario::calm(1, 60, 1 << 16, Conditions::default())
    };
    let mut peers =
        [0, 1].map(|seat| Session::new(config(&scenario, Some(Seat(seat))), toy(), Vec::new()));
    let mut to = [Late::new(), Late::new()];
    let mut spent = Vec::with_capacity(TICKS as usize);
    for tick in 0..WARM_UP + TICKS {
        let now_us = READY_US + 500_000 + (tick * 1_000_000).div_ceil(60);
        for seat in [1, 0] {
            let start = Instant::now();
            let peer = &mut peers[seat];
            while to[seat].front().is_some_and(|&(due, _)| due <= tick) {
                let (_, bytes) = to[seat].pop_front().expect("it was just seen");
                peer.handle_datagram(now_us, Seat(1 - seat as u8), &bytes)
                    .expect("an honest packet");
            }
            peer.handle_action(now_us, action(seat, tick));
            peer.handle_timeout(now_us);
            while let Some(transmit) = peer.poll_transmit() {
                let late = if seat == 1 { depth } else { 0 };
                to[1 - seat].push_back((tick + late, transmit.bytes.to_vec()));
            }
            while let Some(event) = peer.poll_event() {
                black_box(event);
            }
            if seat == 0 && tick >= WARM_UP {
                spent.push(start.elapsed().as_nanos() as f64);
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
    assert_eq!(
        stats.resimulated,
        depth * (WARM_UP + TICKS - depth),
        "a tick was not rolled back"
    );
    median(spent)
}

struct Yardstick;

impl ggrs::Config for Yardstick {
    type Input = Action;
    type InputPredictor = PredictRepeatLast;
    type State = State;
    type Address = usize;
}

/// What two GGRS sessions share: the tick, and packets for each.
#[derive(Default)]
struct Wire {
    tick: u64,
    depth: u64,
    to: [Late; 2],
}

struct Socket {
    seat: usize,
    wire: Rc<RefCell<Wire>>,
}

impl NonBlockingSocket<usize> for Socket {
    fn send_to(&mut self, message: &Message, &to: &usize) {
        let wire = &mut *self.wire.borrow_mut();
        let late = if self.seat == 1 { wire.depth } else { 0 };
        let bytes = postcard::to_allocvec(message).expect("a message is plain data");
        wire.to[to].push_back((wire.tick + late, bytes));
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let wire = &mut *self.wire.borrow_mut();
        let arrived = wire.to[self.seat]
            .iter()
            .take_while(|&&(due, _)| due <= wire.tick)
            .count();
        let packets = wire.to[self.seat].drain(..arrived);
        packets
            .map(|(_, bytes)| {
                (
                    1 - self.seat,
                    postcard::from_bytes(&bytes).expect("it was just written"),
                )
            })
            .collect()
    }
}

fn ggrs_session(seat: usize, wire: &Rc<RefCell<Wire>>) -> P2PSession<Yardstick> {
    let socket = Socket {
        seat,
        wire: wire.clone(),
    };
    let builder = SessionBuilder::<Yardstick>::new()
        .with_max_prediction_window(usize::from(WINDOW))
        .with_input_delay(0)
        .add_player(PlayerType::Local, seat)
        .and_then(|builder| builder.add_player(PlayerType::Remote(1 - seat), 1 - seat))
        .and_then(|builder| builder.start_p2p_session(socket));
    builder.expect("two players are a session")
}

/// Nanoseconds of the median frame of player 0.
fn ggrs_tick(depth: u64) -> f64 {
    let wire = Rc::new(RefCell::new(Wire::default()));
    let mut peers = [0, 1].map(|seat| (ggrs_session(seat, &wire), toy()));
    for (_, world) in &mut peers {
        world.reset(1);
    }
    for _ in 0..1_000 {
        peers
            .iter_mut()
            .for_each(|(session, _)| session.poll_remote_clients());
    }
    assert!(
        peers
            .iter()
            .all(|(session, _)| session.current_state() == SessionState::Running)
    );
    wire.borrow_mut().depth = depth;
    let (mut spent, mut steps) = (Vec::with_capacity(TICKS as usize), 0);
    for tick in 0..WARM_UP + TICKS {
        wire.borrow_mut().tick = tick;
        for seat in [1, 0] {
            let start = Instant::now();
            let (session, world) = &mut peers[seat];
            session.poll_remote_clients();
            for event in session.events() {
                black_box(event);
            }
            session
                .add_local_input(seat, action(seat, tick))
                .expect("the local player's");
            let requests = session.advance_frame().expect("within the window");
            let ran = obey(world, requests);
            if seat == 0 {
                steps += ran;
                if tick >= WARM_UP {
                    spent.push(start.elapsed().as_nanos() as f64);
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
    median(spent)
}

/// Does what GGRS asks, and counts the steps.
fn obey(world: &mut Toy, requests: Vec<GgrsRequest<Yardstick>>) -> u64 {
    let mut steps = 0;
    for request in requests {
        match request {
            GgrsRequest::SaveGameState { cell, frame } => cell.save(frame, Some(world.state), None),
            GgrsRequest::LoadGameState { cell, .. } => {
                world.state = cell.load().expect("it was saved")
            }
            GgrsRequest::AdvanceFrame { inputs } => {
                world.step(&[inputs[0].0, inputs[1].0]);
                steps += 1;
            }
        }
    }
    steps
}

/// Two minutes of two people on a simulated network: round trip 60 ms, 1 % loss, an action every 250 ms.
fn wire(tick_hz: u16) {
    let conditions = Conditions {
        delay_us: 30_000,
        loss: 100,
        ..Conditions::default()
    };
    let scenario = Scenario::calm(7, tick_hz, u32::from(tick_hz) * 120, conditions);
    let report = play(&scenario, &Mischief::none()).expect("the match ends in order");
    let seconds = f64::from(report.ticks) / f64::from(tick_hz);
    let stats = &report.stats[0];
    print(
        &format!("wire_{tick_hz}hz_payload_per_peer"),
        stats.bytes_sent as f64 / seconds,
        "B/s",
    );
    print(
        &format!("wire_{tick_hz}hz_packets_per_peer"),
        stats.datagrams_sent as f64 / seconds,
        "1/s",
    );
    print(
        &format!("wire_{tick_hz}hz_mean_packet"),
        stats.bytes_sent as f64 / stats.datagrams_sent as f64,
        "B",
    );
    print(
        &format!("wire_{tick_hz}hz_held"),
        stats.held_us as f64 / 1e6 / seconds * 60.0,
        "s/min",
    );
    assert!(stats.bytes_sent as f64 / (stats.datagrams_sent as f64) < 30.0);
}
