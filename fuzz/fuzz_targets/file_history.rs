//! Indexes of file histories; see `pi_fuzz_checks::file_history`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::file_history(data));
