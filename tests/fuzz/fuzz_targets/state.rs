//! `cargo fuzz run state`: see README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::state(data));
