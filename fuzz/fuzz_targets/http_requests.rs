//! Heads of HTTP requests; see `pi_fuzz_checks::http_requests`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::http_requests(data));
