//! Markdown, whole and in pieces; see `pi_fuzz_checks::markdown`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::markdown(data));
