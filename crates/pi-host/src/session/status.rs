//! What a session is doing, and what identifies it.

use std::path::PathBuf;
use std::sync::Arc;

use pi_core::{RegisteredTool, ToolOrigin};
use pi_protocol::{ActivityKind, Model, QueueMode, StreamPhase, ThinkingLevel};
use serde::{Serialize, Serializer};
use serde_json::Value;
use tokio::sync::watch;

use super::AgentSession;

/// The status of a session, in the format of RPC's `get_state`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    /// Serialized as [`Model::unknown`] if none is selected: clients expect the field.
    #[serde(serialize_with = "model_or_unknown")]
    pub model: Option<Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    /// Whether a run is in progress.
    pub is_streaming: bool,
    /// Whether a compaction or a branch summary is in progress.
    pub is_compacting: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// The session file; it may not exist yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    pub auto_compaction_enabled: bool,
    /// Number of messages in the model's context.
    pub message_count: usize,
    /// Number of queued messages.
    pub pending_message_count: usize,
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn model_or_unknown<S: Serializer>(
    model: &Option<Arc<Model>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match model {
        Some(model) => model.without_password().serialize(serializer),
        None => Model::unknown().serialize(serializer),
    }
}

/// A tool, as callers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInfo {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    pub guidelines: Vec<String>,
    pub origin: ToolOrigin,
}

impl ToolInfo {
    pub(super) fn of(tool: &RegisteredTool) -> Self {
        let declaration = tool.tool.declaration();
        Self {
            name: declaration.name.clone(),
            description: declaration.description.clone(),
            parameters: declaration.parameters.clone(),
            guidelines: tool.guidelines.clone(),
            origin: tool.origin,
        }
    }
}

impl AgentSession {
    /// Returns the current status. The cost does not depend on the length of the conversation.
    pub fn status(&self) -> SessionStatus {
        let activity = self.0.control.activity();
        SessionStatus {
            model: self.selection().model(),
            thinking_level: self.selection().thinking_level(),
            is_streaming: activity.kind == ActivityKind::Running,
            is_compacting: activity.is_compacting,
            steering_mode: self.queue().steering_mode(),
            follow_up_mode: self.queue().follow_up_mode(),
            session_file: self.session_file(),
            session_id: self.session_id(),
            session_name: self.session_name(),
            auto_compaction_enabled: self.compaction().is_automatic(),
            message_count: self.history().message_count(),
            pending_message_count: self.queue().message_count(),
        }
    }

    /// Returns whether a run is in progress, including delays between attempts.
    pub fn is_streaming(&self) -> bool {
        self.0.control.activity().kind == ActivityKind::Running
    }

    /// Watches the phase of the current model request; `None` between requests. For display; not
    /// part of the events.
    pub fn request_phase(&self) -> watch::Receiver<Option<StreamPhase>> {
        self.0.control.request_phase()
    }

    /// Returns whether a compaction or a move in the tree is in progress.
    pub fn is_compacting(&self) -> bool {
        self.0.control.activity().is_compacting
    }

    /// Returns whether no run, compaction or move is starting or in progress; true while
    /// `agent_settled` is published.
    pub fn is_idle(&self) -> bool {
        let activity = self.0.control.activity();
        let is_run = matches!(
            activity.kind,
            ActivityKind::Preparing | ActivityKind::Running
        );
        !is_run && !activity.is_compacting
    }

    /// Returns the path of the session file; it may not exist yet.
    pub fn session_file(&self) -> Option<PathBuf> {
        self.0.outline.lock().file.clone()
    }

    pub fn session_id(&self) -> String {
        self.0.outline.lock().id.clone()
    }

    pub fn session_name(&self) -> Option<String> {
        self.0.outline.lock().name.clone()
    }

    pub fn streaming_message(&self) -> Option<pi_protocol::LiveMessage> {
        self.0.machine().streaming().cloned()
    }
}
