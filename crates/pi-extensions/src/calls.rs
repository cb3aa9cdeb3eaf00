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

pub(crate) use agents::{AgentCalls, AgentRunCalls, AgentState, CreatedAgent};
pub(crate) use builtin::{BuiltinCalls, BuiltinTool, ShellExit};
pub(crate) use group::{Answer, Parameters, Pending, to_json};
pub(crate) use jobs::{CallableTool, JobCalls, NestedRunResult};
pub(crate) use messages::MessageCalls;
pub(crate) use models::{AuthStatus, ModelCalls, RequestAuth};
pub(crate) use program::{ContextInfo, ProgramCalls};
pub(crate) use registration::{RegistrationCalls, RendererKind};
pub(crate) use replacement::{Replacement, ReplacementCalls};
pub(crate) use run::RunCalls;
pub(crate) use screen::{AppliedCompletion, OverlayBounds, ScreenCalls, ThemeChange};
pub(crate) use selection::{ScopedModelInfo, SelectionCalls, ToolSummary};
pub(crate) use session::{
    AppendedEntry, ContextModelInfo, EntryMessages, SessionCalls, SessionContext, SessionInfo,
};
pub(crate) use session_files::{
    FileContext, ListedSession, ProjectedPath, SessionFileCalls, SessionWriteCalls,
};
pub(crate) use sign_in::SignInCalls;
pub(crate) use ui::UiCalls;
pub(crate) use utilities::{
    BranchSummaryText, CompactionSummary, ContextFile, LoadedResources, PromptTemplateInfo,
    ResizedImage, ResourceProblem, SkillInfo, TextDiff, UtilityCalls,
};
