//! Within an episode a step allocates nothing, on any thread, whatever it writes.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use batch::{Arrays, Autoreset, BatchOptions, Infos, Observations};
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

const INSTANCES: usize = 100;

/// Steps a batch and returns the allocations of all threads after the first steps, in which buffers grow.
fn allocations(id: &str, compact: bool, observes: bool) -> u64 {
    let options = BatchOptions {
        instances: INSTANCES,
        threads: 3,
        autoreset: Autoreset::NextStep,
        in_place: true,
    };
    let mut batch = batch::open(id, r#"{"horizon":1000}"#, options).unwrap();
    let spec = batch.spec().clone();
    let rows = INSTANCES * usize::from(spec.seats);
    let values = rows * spec.observation_len();
    let (mut wide, mut bytes) = (vec![0.0; values], vec![0; values]);
    let (mut masks, mut returns) = (vec![0; rows * spec.actions.len()], vec![0.0; rows]);
    let (mut lengths, mut events) = (vec![0; INSTANCES], vec![0.0; rows * spec.events.len()]);
    let (mut rewards, mut terminated, mut truncated) =
        (vec![0.0; rows], vec![0; rows], vec![0; rows]);
    let mut rng = Rng::new(1);
    let mut actions = vec![0; rows];
    let mut before = 0;
    for step in 0..120 {
        if step == 60 {
            before = ALLOCATIONS.load(Ordering::Relaxed);
        }
        actions.fill_with(|| rng.below(spec.actions.len() as u32) as u16);
        let mut arrays = Arrays::new(&mut rewards, &mut terminated, &mut truncated);
        if observes {
            arrays.observations = match compact {
                true => Observations::Compact(&mut bytes),
                false => Observations::F32(&mut wide),
            };
            arrays.masks = Some(&mut masks);
        }
        arrays.infos = Some(Infos {
            episode_return: &mut returns,
            episode_length: &mut lengths,
            events: &mut events,
        });
        batch.step(&actions, arrays).unwrap();
    }
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_step_allocates_nothing() {
    // Episodes of the others end when somebody arrives, and a new one may allocate.
    for id in ["overcooked", "overcooked_v2"] {
        let world = env_core::envs::open(id, "").unwrap();
        for observes in [false, true] {
            assert_eq!(allocations(id, false, observes), 0, "{id} {observes}");
            if world.spec().compact {
                assert_eq!(allocations(id, true, observes), 0, "{id} compact");
            }
        }
    }
}
