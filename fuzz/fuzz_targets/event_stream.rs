//! AWS event-stream frames in arbitrary chunks; see `pi_fuzz_checks::event_stream`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::event_stream(data));
