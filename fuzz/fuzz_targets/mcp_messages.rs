//! Messages of an MCP server; see `pi_fuzz_checks::mcp_messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::mcp_messages(data));
