//! Streamed tool call arguments; see `pi_fuzz_checks::partial_json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::partial_json(data));
