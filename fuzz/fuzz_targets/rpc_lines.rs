//! RPC client lines; see `pi_fuzz_checks::rpc_lines`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::rpc_lines(data));
