//! The part of `cargo xtask bench rollback` that runs in Node: ticks beside GGRS in wasm, and matches in virtual time.
//! The host gives `setNow`, after which its clocks show virtual milliseconds.
#![cfg(target_arch = "wasm32")]

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "../benches/versus/mod.rs"]
mod versus;

use wasm_bindgen::prelude::*;

use versus::{Clocks, figures};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = ["globalThis", "realClock"], js_name = now)]
    fn real_ms() -> f64;
    #[wasm_bindgen(js_namespace = globalThis, js_name = setNow)]
    fn set_now(ms: f64);
}

fn clocks() -> Clocks {
    Clocks {
        real_ns: || real_ms() * 1e6,
        set_us: |us| set_now(us as f64 / 1e3),
    }
}

/// Figures of one kind, as JSON lines.
#[wasm_bindgen]
pub fn measure(kind: &str) -> String {
    let lines = match kind {
        "costs" => figures::costs(clocks(), "wasm"),
        "wire" => figures::wire(clocks()),
        "pace" => figures::pace(clocks()),
        "seen" => figures::seen(),
        "starts" => figures::starts(clocks()),
        other => panic!("there is no figure {other}"),
    };
    lines.join("\n")
}

/// True if two survivors of a GGRS match confirm different states after a drop.
#[wasm_bindgen]
pub fn drop_diverges(seed: u32, gap_ms: u32, loss: u32) -> bool {
    figures::drop_diverges(seed.into(), gap_ms.into(), loss, clocks())
}
