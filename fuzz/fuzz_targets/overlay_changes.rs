//! Overlays of tried commands; see `pi_fuzz_checks::overlay_changes`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::overlay_changes(data));
