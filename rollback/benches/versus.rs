//! The cost of a tick beside GGRS, natively: figures 1 and 3 of `cargo xtask bench rollback`, as JSON lines.
//! The matches of the other figures pass in virtual time, which GGRS only knows in a page: `examples/versus.rs`.
#![expect(clippy::disallowed_types, reason = "a bench measures time")]
#![allow(dead_code, reason = "the other figures are measured in wasm")]

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "versus/mod.rs"]
mod versus;

use std::sync::OnceLock;
use std::time::Instant;

fn real_ns() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64
}

fn main() {
    let clocks = versus::Clocks {
        real_ns,
        set_us: |_| {},
    };
    for line in versus::figures::costs(clocks, "native") {
        println!("{line}");
    }
}
