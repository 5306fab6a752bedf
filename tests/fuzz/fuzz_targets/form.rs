//! `cargo fuzz run form`: see README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::form(data));
