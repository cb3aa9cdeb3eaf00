//! The calls that JavaScript makes to the program: their names, parameters and results.
//!
//! Each file in this folder declares one group of calls as a trait with one method per call. The
//! handlers (`handlers`) implement the traits, so that the compiler rejects a call without a
//! handler. Parameters are parsed once, by the declaration; an error names the call and the
//! parameter. A test compares the names and parameters with the JavaScript sources
//! (`pi-ext/js`).

mod agents;
mod builtin;
mod group;
mod jobs;
mod messages;
mod models;
mod program;
mod registration;
mod replacement;
mod run;
mod screen;
mod selection;
mod session;
mod session_files;
mod sign_in;
#[cfg(test)]
mod tests;
mod ui;
mod utilities;

pub(super) use agents::{AgentCalls, AgentRunCalls, AgentState, CreatedAgent};
pub(super) use builtin::{BuiltinCalls, BuiltinTool, ShellExit};
pub(super) use group::{Answer, Parameters, Pending, to_json};
pub(super) use jobs::JobCalls;
pub(super) use messages::MessageCalls;
pub(super) use models::{AuthStatus, ModelCalls, RequestAuth};
pub(super) use program::{ContextInfo, ProgramCalls};
pub(super) use registration::{RegistrationCalls, RendererKind};
pub(super) use replacement::{Replacement, ReplacementCalls};
pub(super) use run::RunCalls;
pub(super) use screen::{AppliedCompletion, OverlayBounds, ScreenCalls, ThemeChange};
pub(super) use selection::{ScopedModelInfo, SelectionCalls, ToolSourceInfo, ToolSummary};
pub(super) use session::{
    AppendedEntry, ContextModelInfo, EntryMessages, SessionCalls, SessionContext, SessionInfo,
};
pub(super) use session_files::{
    FileContext, ListedSession, ProjectedPath, SessionFileCalls, SessionWriteCalls,
};
pub(super) use sign_in::SignInCalls;
pub(super) use ui::UiCalls;
pub(super) use utilities::{
    BranchSummaryText, CompactionSummary, ContextFile, LoadedResources, PromptTemplateInfo,
    ResizedImage, ResourceProblem, SkillInfo, TextDiff, UtilityCalls,
};
