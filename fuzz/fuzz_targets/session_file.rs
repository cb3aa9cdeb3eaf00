//! Session files, damaged in any way; see `pi_fuzz_checks::session_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::session_file(data));
