//! Shell commands and rules for them; see `pi_fuzz_checks::shell_rules`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::shell_rules(data));
