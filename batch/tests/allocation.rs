//! In steady state a step allocates nothing, on any thread, new episodes included.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use batch::{Arrays, Autoreset, Infos, Observations, Options};
use env_core::rng::Rng;

/// Counts what any thread allocates.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed to the system's allocator unchanged.
#[expect(unsafe_code, reason = "an allocator is unsafe by its nature")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_step_allocates_nothing() {
    const INSTANCES: usize = 200;
    const ROWS: usize = 2 * INSTANCES;
    let options = Options {
        instances: INSTANCES,
        threads: 3,
        autoreset: Autoreset::NextStep,
        in_place: true,
    };
    let mut batch = batch::open("overcooked", r#"{"horizon":1000}"#, options).unwrap();
    let length = batch.spec().observation_len();
    let (mut observations, mut masks) = (vec![0.0; ROWS * length], vec![0; ROWS * 7]);
    let (mut rewards, mut terminated, mut truncated) =
        (vec![0.0; ROWS], vec![0; ROWS], vec![0; ROWS]);
    let (mut returns, mut lengths, mut events) = (
        vec![0.0; ROWS],
        vec![0; INSTANCES],
        vec![0.0; ROWS * batch.spec().events.len()],
    );
    let mut rng = Rng::new(1);
    let mut actions = vec![0; ROWS];
    let mut paid = 0.0;
    let mut before = 0;
    for step in 0..400 {
        // Buffers grow to their size in the first steps.
        if step == 100 {
            before = ALLOCATIONS.load(Ordering::Relaxed);
        }
        actions.fill_with(|| rng.below(7) as u16);
        let arrays = Arrays {
            observations: Observations::F32(&mut observations),
            masks: Some(&mut masks),
            infos: Some(Infos {
                episode_return: &mut returns,
                episode_length: &mut lengths,
                events: &mut events,
            }),
            ..Arrays::new(&mut rewards, &mut terminated, &mut truncated)
        };
        batch.step(&actions, arrays).unwrap();
        paid += rewards.iter().sum::<f32>();
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert!(paid > 0.0, "random cooks put onions into pots");
}
