//! Model and resource file patterns; see `pi_fuzz_checks::globs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::globs(data));
