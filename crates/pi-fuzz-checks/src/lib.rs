//! Invariants that must hold for any input, as functions over bytes.
//!
//! Each check takes fuzzer input, exercises the public interface of one crate, and panics
//! if an invariant is violated. The targets in `fuzz/` run them continuously; the tests of this crate replay
//! the corpora in `fuzz/corpus/` and some mutations of them on every run.
//!
//! ```
//! let mut checks = pi_fuzz_checks::CHECKS.iter();
//! let (_, check) = checks.find(|(name, _)| *name == "event_stream").unwrap();
//! check(b"\0bytes of a body");
//! ```

#![expect(
    clippy::unwrap_used,
    reason = "a check is a test: what it prepares works, or it fails"
)]

mod acp_messages;
mod chat_messages;
mod chunks;
mod event_stream;
mod file_history;
mod fleet_tasks;
mod front_matter;
mod globs;
mod hosts;
mod http_requests;
mod input;
mod markdown;
mod mcp_messages;
mod models_file;
mod mom_events;
mod overlay_changes;
mod partial_json;
mod rpc_lines;
mod session_file;
mod settings_file;
mod shell_rules;
mod sse;
mod temp_files;
mod text;

pub use acp_messages::acp_messages;
pub use chat_messages::chat_messages;
pub use event_stream::event_stream;
pub use file_history::file_history;
pub use fleet_tasks::fleet_tasks;
pub use front_matter::front_matter;
pub use globs::globs;
pub use http_requests::http_requests;
pub use input::input;
pub use markdown::markdown;
pub use mcp_messages::mcp_messages;
pub use models_file::models_file;
pub use mom_events::mom_events;
pub use overlay_changes::overlay_changes;
pub use partial_json::partial_json;
pub use rpc_lines::rpc_lines;
pub use session_file::session_file;
pub use settings_file::settings_file;
pub use shell_rules::shell_rules;
pub use sse::sse;
pub use text::text;

/// A check; panics if the input violates an invariant.
pub type Check = fn(&[u8]);

/// All checks, by the name of their target and corpus.
pub const CHECKS: &[(&str, Check)] = &[
    ("acp_messages", acp_messages),
    ("chat_messages", chat_messages),
    ("event_stream", event_stream),
    ("file_history", file_history),
    ("fleet_tasks", fleet_tasks),
    ("front_matter", front_matter),
    ("globs", globs),
    ("http_requests", http_requests),
    ("input", input),
    ("markdown", markdown),
    ("mcp_messages", mcp_messages),
    ("models_file", models_file),
    ("mom_events", mom_events),
    ("overlay_changes", overlay_changes),
    ("partial_json", partial_json),
    ("rpc_lines", rpc_lines),
    ("session_file", session_file),
    ("settings_file", settings_file),
    ("shell_rules", shell_rules),
    ("sse", sse),
    ("text", text),
];
