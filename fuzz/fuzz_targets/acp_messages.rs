//! Messages of an ACP client; see `pi_fuzz_checks::acp_messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::acp_messages(data));
