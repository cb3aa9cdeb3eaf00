//! `settings.json`, read and changed; see `pi_fuzz_checks::settings_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::settings_file(data));
