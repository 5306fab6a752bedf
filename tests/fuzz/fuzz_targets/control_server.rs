//! `cargo fuzz run control_server`: see README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::control_server(data));
