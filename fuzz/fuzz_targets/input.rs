//! Terminal input in arbitrary chunks; see `pi_fuzz_checks::input`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::input(data));
