//! What leaves the program: exports, shared pages and bug reports, with secrets redacted.
//!
//! [`export_html`] and [`export_jsonl`] write a session to a file, [`SharePage`] uploads a page, and
//! [`BugReport`] collects what is needed to reproduce a problem. A [`Redactor`] removes secrets from
//! each of them. A [`ReplayScript`] is the record of a conversation that can run again; the runner is
//! in `pi-host`.
//!
//! This crate takes sessions and facts as data and runs neither models nor tools.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use pi_export::{HtmlOptions, export_html_file};
//!
//! # fn main() -> Result<(), pi_export::ExportError> {
//! let options = HtmlOptions {
//!     output: Some("session.html".into()),
//!     ..HtmlOptions::default()
//! };
//! export_html_file(Path::new("session.jsonl"), &options)?;
//! # Ok(())
//! # }
//! ```

mod bug_report;
mod export;
mod redaction;
mod replay;
mod session_json;
mod share;

pub use bug_report::{BugReport, BugReportError, ReportedSession, WrittenReport};
pub use export::{
    ExportColor, ExportError, ExportScheme, ExportTheme, HtmlOptions, JsonlOptions, export_html,
    export_html_file, export_jsonl,
};
pub use redaction::{Redactor, environment_secrets, secrets_in_use, stored_secrets};
pub use replay::{
    END_OF_RECORD, NextPrompt, RecordError, ReplayDifference, ReplayReport, ReplayScript,
    ScriptedTurn,
};
pub use session_json::{
    EntryRange, ListingError, entry_range_fields, entry_range_json, session_entries_json,
    session_tree_json,
};
pub use share::{GhCli, Gist, ShareError, SharePage};
