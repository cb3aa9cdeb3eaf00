//! Scheduled events; see `pi_fuzz_checks::mom_events`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::mom_events(data));
