//! Lines of the sockets of chat services; see `pi_fuzz_checks::chat_messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::chat_messages(data));
