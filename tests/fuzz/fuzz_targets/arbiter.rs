//! `cargo fuzz run arbiter`: see README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::arbiter(data));
