//! Task files; see `pi_fuzz_checks::fleet_tasks`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::fleet_tasks(data));
