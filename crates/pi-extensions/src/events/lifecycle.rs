//! Events about sessions, models and dialogs.

use std::path::Path;
use std::sync::Arc;

use pi_protocol::{Model, SharedMessage};
use serde::Serialize;

use super::events;
use super::results::{CancelResult, DiscoveredResources, TrustResult};

events! {
    ProjectTrust<'_> => "project_trust" -> TrustResult;
    SessionStartEvent<'_> => "session_start";
    ResourcesDiscover<'_> => "resources_discover" -> DiscoveredResources;
    BeforeSwitch<'_> => "session_before_switch" -> CancelResult;
    BeforeFork => "session_before_fork" -> CancelResult;
    SessionShutdownEvent<'_> => "session_shutdown";
    SessionInfoChanged<'_> => "session_info_changed";
    AgentEnded<'_> => "agent_end";
    AgentSettled => "agent_settled";
    ModelSelect => "model_select";
    ThinkingLevelSelect => "thinking_level_select";
    UiPromptStart => "ui_prompt_start";
    UiPromptEnd => "ui_prompt_end";
}

/// Whether to trust a project, before any of its files are read.
#[derive(Serialize)]
pub struct ProjectTrust<'a> {
    pub cwd: &'a Path,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStartEvent<'a> {
    pub reason: &'static str,
    pub previous_session_file: Option<&'a Path>,
}

/// Extensions may name more skills, prompt templates and themes.
#[derive(Serialize)]
pub struct ResourcesDiscover<'a> {
    pub cwd: Option<&'a Path>,
    pub reason: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeSwitch<'a> {
    pub reason: &'static str,
    pub target_session_file: Option<&'a Path>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeFork {
    pub entry_id: String,
    pub position: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionShutdownEvent<'a> {
    pub reason: &'static str,
    pub target_session_file: Option<&'a Path>,
}

#[derive(Serialize)]
pub struct SessionInfoChanged<'a> {
    pub name: Option<&'a str>,
}

#[derive(Serialize)]
pub struct AgentEnded<'a> {
    pub messages: &'a [SharedMessage],
}

#[derive(Serialize)]
pub struct AgentSettled {
    pub aborted: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSelect {
    pub model: Arc<Model>,
    pub previous_model: Option<Arc<Model>>,
    pub source: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingLevelSelect {
    pub level: &'static str,
    pub previous_level: &'static str,
}

/// A dialog that waits for the user.
#[derive(Debug, Clone, Default, Serialize)]
pub struct UiPrompt {
    pub reason: &'static str,
    pub kind: &'static str,
    pub title: Option<String>,
}

/// The first dialog was opened.
#[derive(Serialize)]
pub struct UiPromptStart(pub UiPrompt);

/// The last dialog was closed.
#[derive(Serialize)]
pub struct UiPromptEnd(pub UiPrompt);
