//! Events about sessions, models and dialogs.

use std::path::Path;
use std::sync::Arc;

use pi_core::SharedMessage;
use pi_protocol::Model;
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
pub(crate) struct ProjectTrust<'a> {
    pub(crate) cwd: &'a Path,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionStartEvent<'a> {
    pub(crate) reason: &'static str,
    pub(crate) previous_session_file: Option<&'a Path>,
}

/// Extensions may name more skills, prompt templates and themes.
#[derive(Serialize)]
pub(crate) struct ResourcesDiscover<'a> {
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) reason: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BeforeSwitch<'a> {
    pub(crate) reason: &'static str,
    pub(crate) target_session_file: Option<&'a Path>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BeforeFork {
    pub(crate) entry_id: String,
    pub(crate) position: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionShutdownEvent<'a> {
    pub(crate) reason: &'static str,
    pub(crate) target_session_file: Option<&'a Path>,
}

#[derive(Serialize)]
pub(crate) struct SessionInfoChanged<'a> {
    pub(crate) name: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct AgentEnded<'a> {
    pub(crate) messages: &'a [SharedMessage],
}

#[derive(Serialize)]
pub(crate) struct AgentSettled {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelSelect {
    pub(crate) model: Arc<Model>,
    pub(crate) previous_model: Option<Arc<Model>>,
    pub(crate) source: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThinkingLevelSelect {
    pub(crate) level: &'static str,
    pub(crate) previous_level: &'static str,
}

/// A dialog that waits for the user.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct UiPrompt {
    pub(crate) reason: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) title: Option<String>,
}

/// The first dialog was opened.
#[derive(Serialize)]
pub(crate) struct UiPromptStart(pub(crate) UiPrompt);

/// The last dialog was closed.
#[derive(Serialize)]
pub(crate) struct UiPromptEnd(pub(crate) UiPrompt);
