//! `cargo fuzz run hub`: see README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::hub(data));
