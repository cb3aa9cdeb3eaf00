//! What a model sees of a session, and how it is kept within the context window.
//!
//! A [`Projection`](pi_session::Projection) of `pi-session` is the part of a session that the model
//! sees. This crate estimates its size ([`estimate`]), decides when it must be compacted
//! ([`CompactionCheck`]) and plans what is summarized and what is kept ([`CompactionPlan`],
//! [`BranchSummaryPlan`]). [`PromptSections`] hold the system prompt and compute its updates.
//!
//! Everything is data in, data out: this crate neither calls a model nor writes files.
//!
//! ```
//! use std::path::Path;
//!
//! use pi_context::{CompactionPlan, CompactionSettings, NothingToCompact};
//! use pi_session::{NewSession, Session};
//!
//! # fn main() -> Result<(), pi_session::SessionError> {
//! let session = Session::in_memory(Path::new("/project"), NewSession::default())?;
//! let projection = session.current_branch().projection()?;
//! let plan = CompactionPlan::new(&projection, &CompactionSettings::default());
//! assert_eq!(plan, Err(NothingToCompact::TooSmall));
//! # Ok(())
//! # }
//! ```

mod branch_summary;
mod cache_miss;
mod cache_report;
mod compaction;
mod context_report;
pub mod estimate;
mod extension_cost_text;
mod insight_text;
mod model_messages;
mod sections;
mod system_prompt;
mod turn_costs;
mod usage;

pub use branch_summary::{AbandonedBranch, BranchSummaryPlan, NavigationTarget};
pub use cache_miss::{CacheMiss, CacheMissDetector};
pub use cache_report::CacheReporter;
pub use compaction::chunks::ChunkedSummary;
pub use compaction::files::{FileLists, TouchedFiles};
pub use compaction::prompt::SummaryInstructions;
pub use compaction::request::{Summarizer, Summary, SummaryError, SummaryPurpose, SummaryRequest};
pub use compaction::serialize::serialize_conversation;
pub use compaction::settings::{CompactionSettings, CompactionSettingsError};
pub use compaction::trigger::{
    CompactionCheck, CompactionPhase, exceeds_threshold, needs_compaction,
};
pub use compaction::{
    CompactionPlan, CompactionResult, MessageSelection, NothingToCompact, SummaryAuthor,
};
pub use context_report::context_report;
pub use extension_cost_text::extension_costs_text;
pub use insight_text::{cache_text, context_text, cost_text, preview_text};
pub use model_messages::{bash_execution_text, to_model_message, to_model_messages};
pub use sections::{
    InvalidSectionName, PromptSection, PromptSections, section_changes, system_update,
};
pub use system_prompt::{
    DocsPaths, ProjectInstructions, PromptSkill, PromptTool, SystemPromptParts, find_documentation,
    shell_command,
};
pub use turn_costs::{TurnCost, turn_costs};
pub use usage::context_usage;
