//! `cargo fuzz run signal`: see README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::signal(data));
