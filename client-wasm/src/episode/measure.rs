//! Measures device and connection: a few seconds in total, while the page is in sight.
//!
//! This module must not know what a study asks for, nor how measurements are shown.

use std::cell::RefCell;
use std::rc::Rc;

use env_core::World as _;
use js_sys::{Promise, Reflect};
use protocol::control::{Answer, Device, Trial};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use crate::episode::module;
use crate::pages::unmet_requirements::Measurements;
use crate::shell::{dom, lifetime};

/// Round trips to the server whose median is reported, and the least number of them that is enough.
const PINGS: usize = 9;
const LEAST_PINGS: usize = 3;
/// Pause between them, and the longest time for all, milliseconds.
const PING_PAUSE_MS: f64 = 60.0;
const PINGS_MS: f64 = 8_000.0;
/// Frames before the first one that counts: the page has just changed.
const WARM_UP: usize = 5;
/// Time over which frames are counted, milliseconds.
const FRAMES_MS: f64 = 1_000.0;
/// A browser that gives no frame for this long gives none, milliseconds.
const NO_FRAME_MS: i32 = 1_500;
/// Stretches of steps whose median is reported.
const STRETCHES: usize = 9;
/// The least time of a stretch, milliseconds: clocks of pages may be as coarse as a millisecond.
const STRETCH_MS: f64 = 5.0;
/// The most steps of a stretch.
const STEPS: u32 = 100_000;

/// Round trips to the server, milliseconds, as they come in.
pub(crate) type Pings = Rc<RefCell<Vec<f64>>>;

/// The progress of the measurements.
pub(crate) enum At {
    /// At this check.
    Check(usize),
    /// It waits until the page is in sight.
    OutOfSight,
}

/// Everything that is measured.
pub(crate) struct Measured {
    /// As the server takes it.
    pub(crate) answers: Vec<Answer>,
    /// The measurements as the person sees them.
    pub(crate) found: Measurements,
}

/// Measures. `tell` gets the progress, `ping` asks the server for an answer, whose round trip is added to `pings`.
pub(crate) async fn measure_device(
    trials: &[Trial],
    pings: Pings,
    tell: impl Fn(At),
    ping: impl Fn(),
) -> Measured {
    tell(At::Check(0));
    in_sight(&tell).await;
    tell(At::Check(1));
    let step_ms = steps(trials).await;
    tell(At::Check(2));
    let rtt_ms = round_trip(&pings, ping).await;
    tell(At::Check(3));
    let fps = frames(&tell).await;
    tell(At::Check(4));
    // The window last: it may have been made larger meanwhile.
    let found = Measurements {
        window: read_window(),
        rtt_ms,
        fps,
        step_ms,
    };
    Measured {
        answers: answers(found),
        found,
    }
}

fn answers(found: Measurements) -> Vec<Answer> {
    let device = read_device();
    let (_, fullscreen) = dom::read_screen();
    let audio = has("AudioContext") || has("webkitAudioContext");
    let to_hundredths = |number: f64| json!((number * 100.0).round() / 100.0);
    let numbers = [
        ("rtt_ms", found.rtt_ms.map(to_hundredths)),
        ("fps", found.fps.map(to_hundredths)),
        ("step_ms", found.step_ms.map(|ms| json!(ms))),
    ];
    let facts = [
        ("device", json!(device)),
        ("webrtc", json!(has("RTCPeerConnection"))),
        ("fullscreen", json!(fullscreen)),
        ("audio", json!(audio)),
        (
            "keyboard",
            json!(device == Device::Desktop || dom::matches_media("(any-hover: hover)")),
        ),
        ("touch", json!(is_touched())),
        ("width", json!(found.window.0.min(u32::from(u16::MAX)))),
        ("height", json!(found.window.1.min(u32::from(u16::MAX)))),
    ];
    let numbers = numbers
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let answer = |(name, value): (&str, Value)| Answer {
        name: name.to_owned(),
        value: value.to_string(),
    };
    facts.into_iter().chain(numbers).map(answer).collect()
}

/// Width and height of the window, CSS pixels.
pub(crate) fn read_window() -> (u32, u32) {
    let window = dom::window();
    let pixels = |size: Result<JsValue, JsValue>| size.ok().and_then(|size| size.as_f64());
    let of = |size| pixels(size).map_or(0, |size| size as u32);
    (of(window.inner_width()), of(window.inner_height()))
}

fn has(name: &str) -> bool {
    Reflect::has(&dom::window(), &name.into()).unwrap_or(false)
}

fn is_touched() -> bool {
    dom::window().navigator().max_touch_points() > 0
}

/// A screen that is touched first of all is a phone's or a tablet's. The shorter side of a phone's has fewer than 600
/// pixels.
pub(crate) fn read_device() -> Device {
    if !is_touched() || !dom::matches_media("(pointer: coarse)") {
        return Device::Desktop;
    }
    let is_small = "(max-device-width: 599.98px), (max-device-height: 599.98px)";
    match dom::matches_media(is_small) {
        true => Device::Phone,
        false => Device::Tablet,
    }
}

/// Waits until the page is in sight; whether it had to.
async fn in_sight(tell: &impl Fn(At)) -> bool {
    let waits = dom::document().hidden();
    while dom::document().hidden() {
        tell(At::OutOfSight);
        pause(200.0).await;
    }
    waits
}

async fn round_trip(pings: &Pings, ping: impl Fn()) -> Option<f64> {
    pings.borrow_mut().clear();
    let until_ms = dom::page_ms() + PINGS_MS;
    let mut sent = 0;
    while pings.borrow().len() < PINGS && dom::page_ms() < until_ms {
        // The next one goes out when the one before is back: they must not wait for each other.
        if pings.borrow().len() >= sent {
            ping();
            sent = pings.borrow().len() + 1;
        }
        pause(PING_PAUSE_MS).await;
    }
    let trips = pings.borrow().clone();
    (trips.len() >= LEAST_PINGS).then(|| median(trips))
}

/// Measures frames per second over a second in sight; `None` if the browser gives none.
async fn frames(tell: &impl Fn(At)) -> Option<f64> {
    loop {
        for _ in 0..WARM_UP {
            frame().await;
        }
        let from_ms = frame().await?;
        let (mut count, mut last_ms) = (0_u32, from_ms);
        while last_ms - from_ms < FRAMES_MS && !dom::document().hidden() {
            last_ms = frame().await?;
            count += 1;
        }
        if !in_sight(tell).await {
            return Some(f64::from(count) * 1_000.0 / (last_ms - from_ms));
        }
        tell(At::Check(3));
    }
}

/// Measures a step of the slowest world, milliseconds; `None` if there is no world, or one cannot be played here.
async fn steps(trials: &[Trial]) -> Option<f64> {
    let mut slowest = None;
    for Trial { module, params } in trials {
        let mut world = module::load_module(&module::module_url(module), params, |_| ())
            .await
            .ok()?;
        let spec = world.spec().clone();
        let actions = vec![spec.noop; usize::from(spec.seats)];
        let mut count = 1;
        let mut stretches = Vec::new();
        while stretches.len() < STRETCHES {
            let from_ms = dom::page_ms();
            for step in 0..count {
                if step % spec.horizon.max(1) == 0 {
                    world.reset(u64::from(step));
                }
                world.step(&actions);
            }
            let took_ms = dom::page_ms() - from_ms;
            match took_ms < STRETCH_MS && count < STEPS {
                true => count *= 2,
                false => stretches.push(took_ms / f64::from(count)),
            }
            // The page stays alive meanwhile.
            pause(0.0).await;
        }
        if world.fault().is_some() {
            return None;
        }
        let step_ms = median(stretches);
        slowest = Some(slowest.map_or(step_ms, |slowest: f64| slowest.max(step_ms)));
    }
    slowest
}

/// The middle one of some numbers that there are.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Waits. A page that has ended waits for ever.
async fn pause(ms: f64) {
    let promise = Promise::new(&mut |done, _| {
        if lifetime::is_over() {
            return;
        }
        let window = dom::window();
        // A browser that refuses a timer cannot be waited for.
        if (window.set_timeout_with_callback_and_timeout_and_arguments_0(&done, ms as i32)).is_err()
        {
            done.call0(&JsValue::NULL).ok();
        }
    });
    JsFuture::from(promise).await.ok();
}

/// The time of the next frame, milliseconds; `None` if there is none. A page that has ended waits for ever.
async fn frame() -> Option<f64> {
    let promise = Promise::new(&mut |done, _| {
        if lifetime::is_over() {
            return;
        }
        let window = dom::window();
        window.request_animation_frame(&done).ok();
        window
            .set_timeout_with_callback_and_timeout_and_arguments_0(&done, NO_FRAME_MS)
            .ok();
    });
    JsFuture::from(promise).await.ok()?.as_f64()
}
