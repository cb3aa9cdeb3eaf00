//! Untrusted terminal text; see `pi_fuzz_checks::text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::text(data));
