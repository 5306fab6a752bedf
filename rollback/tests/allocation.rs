//! In steady state a session allocates nothing, rollbacks included.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use protocol::{Controller, Era, Seat};
use rollback::{Config, Session};

use support::toy::{Partner, Toy};

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged.
#[expect(unsafe_code, reason = "an allocator is unsafe by its nature")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_tick_allocates_nothing() {
    let [person, ai] = [
        Controller::Human,
        Controller::Ai {
            policy: "toy".into(),
        },
    ];
    let controllers = vec![person.clone(), person, ai];
    let mut peers = [0, 1].map(|seat| {
        let config = Config {
            era: Era(1),
            local: Some(Seat(seat)),
            controllers: controllers.clone(),
            seed: 1,
            tick_hz: 60,
            input_delay: 1,
            window: 12,
            t0_us: 0,
            rules: Default::default(),
        };
        let partners = vec![None, None, Some(Box::new(Partner::new(false)) as _)];
        Session::new(config, Toy::new(3, 10_000, 10_000), partners)
    });
    // Packets travel in boxes that the test owns, five ticks late.
    let mut under_way = [[[0_u8; 64]; 8]; 2];
    let mut lengths = [[0; 8]; 2];
    let mut allocations = 0;
    for tick in 0..5_000_usize {
        let now_us = tick as u64 * 1_000_000 / 60 + 1_000;
        let before = ALLOCATIONS.get();
        for seat in 0..2 {
            let peer = &mut peers[seat];
            let box_now = tick % 8;
            if tick >= 5 {
                let late = (tick - 5) % 8;
                let bytes = &under_way[1 - seat][late][..lengths[1 - seat][late]];
                peer.handle_datagram(now_us, Seat(1 - seat as u8), bytes)
                    .unwrap();
            }
            peer.handle_action(now_us, 1 + (tick % 2) as u16);
            peer.handle_timeout(now_us);
            while let Some(transmit) = peer.poll_transmit() {
                under_way[seat][box_now][..transmit.bytes.len()].copy_from_slice(transmit.bytes);
                lengths[seat][box_now] = transmit.bytes.len();
            }
            while peer.poll_event().is_some() {}
            peer.preview(|_| {});
        }
        if tick >= 20 {
            allocations += ALLOCATIONS.get() - before;
        }
    }
    assert!(
        peers[0].stats().rollbacks > 4_000 && peers[0].stats().max_depth >= 3,
        "{:?}",
        peers[0].stats()
    );
    assert_eq!(allocations, 0);
}
