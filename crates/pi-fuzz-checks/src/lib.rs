//! Invariants that must hold for any input, as functions over bytes.
//!
//! Each check takes fuzzer input, exercises the public interface of one crate, and panics
//! if an invariant is violated. The targets in `fuzz/` run them continuously; the tests of this crate replay
//! the corpora in `fuzz/corpus/` and some mutations of them on every run.
//!
//! ```
//! let (name, check) = pi_fuzz_checks::CHECKS[0];
//! assert_eq!(name, "event_stream");
//! check(b"\0bytes of a body");
//! ```

#![expect(
    clippy::unwrap_used,
    reason = "a check is a test: what it prepares works, or it fails"
)]

mod chunks;
mod event_stream;
mod front_matter;
mod globs;
mod input;
mod markdown;
mod models_file;
mod partial_json;
mod rpc_lines;
mod session_file;
mod settings_file;
mod sse;
mod temp_files;
mod text;

pub use event_stream::event_stream;
pub use front_matter::front_matter;
pub use globs::globs;
pub use input::input;
pub use markdown::markdown;
pub use models_file::models_file;
pub use partial_json::partial_json;
pub use rpc_lines::rpc_lines;
pub use session_file::session_file;
pub use settings_file::settings_file;
pub use sse::sse;
pub use text::text;

/// A check; panics if the input violates an invariant.
pub type Check = fn(&[u8]);

/// All checks, by the name of their target and corpus.
pub const CHECKS: &[(&str, Check)] = &[
    ("event_stream", event_stream),
    ("front_matter", front_matter),
    ("globs", globs),
    ("input", input),
    ("markdown", markdown),
    ("models_file", models_file),
    ("partial_json", partial_json),
    ("rpc_lines", rpc_lines),
    ("session_file", session_file),
    ("settings_file", settings_file),
    ("sse", sse),
    ("text", text),
];
