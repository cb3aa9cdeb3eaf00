//! Markdown, complete and streamed; see `pi_fuzz_checks::markdown`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::markdown(data));
