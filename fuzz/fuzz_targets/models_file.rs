//! `models.json`, JSON with comments; see `pi_fuzz_checks::models_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::models_file(data));
