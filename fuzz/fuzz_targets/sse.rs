//! Server-sent events in arbitrary chunks; see `pi_fuzz_checks::sse`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::sse(data));
