//! Read access to a session: status, statistics, entries, tree.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_context::SessionStats;
use pi_core::{RegisteredTool, ToolOrigin};
use pi_protocol::{
    ActivityKind, AgentMessage, AssistantBlock, ContextUsage, Entry, EntryBody, EntryId, EntryKind,
    MessageRole, Model, QueueMode, SharedMessage, StopReason, ThinkingLevel,
};
use pi_providers::StreamPhase;
use pi_session::{AccessMode, OpenSession, Session, SessionError, SessionTotals, SessionTree};
use serde::{Serialize, Serializer};
use serde_json::Value;
use tokio::sync::watch;

use super::AgentSession;
use super::queue::concatenated;

/// Entries read while holding the lock; takes a few milliseconds.
const READ_BATCH: usize = 100;

/// Delay between two batches. A lock that is retaken immediately may starve other threads.
const LOCK_YIELD: Duration = Duration::from_micros(100);

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
        Some(model) => model.serialize(serializer),
        None => Model::unknown().serialize(serializer),
    }
}

/// A user message before which the session can be forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkMessage {
    pub entry_id: EntryId,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntriesSince {
    /// The entries in file order.
    pub entries: Vec<Arc<Entry>>,
    /// The entry the conversation is at.
    pub leaf_id: Option<EntryId>,
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
            model: self.model(),
            thinking_level: self.thinking_level(),
            is_streaming: activity.kind == ActivityKind::Running,
            is_compacting: activity.is_compacting,
            steering_mode: self.steering_mode(),
            follow_up_mode: self.follow_up_mode(),
            session_file: self.session_file(),
            session_id: self.session_id(),
            session_name: self.session_name(),
            auto_compaction_enabled: self.auto_compaction_enabled(),
            message_count: self.message_count(),
            pending_message_count: self.pending_message_count(),
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

    /// Returns whether no run, compaction or move is in progress; true while `agent_settled` is
    /// published.
    pub fn is_idle(&self) -> bool {
        let activity = self.0.control.activity();
        activity.kind != ActivityKind::Running && !activity.is_compacting
    }

    /// Returns whether closing the session would interrupt or lose nothing: it is idle, no message is queued and no
    /// shell command runs.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_idle() && self.pending_message_count() == 0 && !self.is_bash_running()
    }

    /// Returns the path of the session file; it may not exist yet.
    pub fn session_file(&self) -> Option<PathBuf> {
        self.with_session(|session| session.path().map(ToOwned::to_owned))
    }

    pub fn session_id(&self) -> String {
        self.with_session(|session| session.id().to_owned())
    }

    pub fn session_name(&self) -> Option<String> {
        self.with_session(|session| session.name().map(str::to_owned))
    }

    /// Returns the messages in the model's context.
    pub fn messages(&self) -> Result<Vec<SharedMessage>, SessionError> {
        Ok(self.transcript().messages()?.to_vec())
    }

    /// Returns the model's context as a JSON array. If the conversation is not loaded, it is copied
    /// from the file without parsing.
    pub fn messages_json(&self) -> Result<String, SessionError> {
        let mut transcript = self.transcript();
        if transcript.is_loaded() {
            return pi_protocol::json::to_string(transcript.messages()?)
                .map_err(SessionError::Serialize);
        }
        transcript.session().current_branch().messages_json()
    }

    /// Returns the number of messages in the model's context, without loading the conversation.
    pub fn message_count(&self) -> usize {
        self.transcript().message_count().unwrap_or_default()
    }

    pub fn streaming_message(&self) -> Option<pi_protocol::LiveMessage> {
        self.machine().streaming().cloned()
    }

    /// Returns the text of the last response, if it has any.
    pub fn last_assistant_text(&self) -> Result<Option<String>, SessionError> {
        let messages = self.messages()?;
        let response = messages.iter().rev().find_map(|message| match &**message {
            AgentMessage::Assistant(response)
                if response.stop_reason != StopReason::Aborted || !response.content.is_empty() =>
            {
                Some(response)
            }
            _ => None,
        });
        let text = response.map(|response| {
            let texts = response.content.iter().filter_map(AssistantBlock::as_text);
            texts.collect::<String>().trim().to_owned()
        });
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// Returns usage statistics over all branches.
    pub fn stats(&self) -> Result<SessionStats, SessionError> {
        let context_usage = self.context_usage()?;
        let mut transcript = self.transcript();
        let totals = transcript.totals()?.clone();
        let session = transcript.session();
        Ok(SessionStats {
            session_file: session.path().map(ToOwned::to_owned),
            session_id: session.id().to_owned(),
            user_messages: totals.user_messages,
            assistant_messages: totals.assistant_messages,
            tool_calls: totals.tool_calls,
            tool_results: totals.tool_results,
            total_messages: totals.total_messages,
            tokens: totals.tokens,
            cost: totals.cost,
            context_usage,
            cache_hit_share: totals.cache_hit_share,
        })
    }

    /// Computes the totals for [`AgentSession::stats`] in small batches, so that other callers do
    /// not wait long for the session. Blocking; takes a while for a long session.
    pub fn precompute_stats(&self) -> Result<(), SessionError> {
        while !self.transcript().count_more()? {
            std::thread::sleep(LOCK_YIELD);
        }
        Ok(())
    }

    /// Reads a copy of the session, so that reading all of it does not block other callers.
    /// Blocking.
    pub fn with_copy<R>(&self, read: impl FnOnce(&Session) -> R) -> R {
        let (copy, leaf) = self.with_session(|session| {
            let path = session.path().filter(|_| session.is_saved());
            let path = path.map(std::path::Path::to_owned);
            (path, session.leaf_id().cloned())
        });
        let copy = copy.and_then(|path| {
            let mut copy = Session::open(
                &path,
                OpenSession {
                    access: AccessMode::Read,
                    env: self.0.env.clone(),
                    cwd: Some(self.0.cwd.clone()),
                    ..OpenSession::default()
                },
            )
            .ok()?;
            match leaf {
                Some(leaf) => copy.branch(&leaf).ok()?,
                None => copy.reset_leaf(),
            }
            Some(copy)
        });
        match copy {
            Some(copy) => read(&copy),
            // Without a file, or if it was deleted, use the entries in memory.
            None => self.with_session(read),
        }
    }

    /// Returns the usage of the context window; `None` without a model or a known window size.
    pub fn context_usage(&self) -> Result<Option<ContextUsage>, SessionError> {
        let Some(model) = self.model() else {
            return Ok(None);
        };
        self.transcript().context_usage(model.context_window)
    }

    /// Returns usage over all branches, also by model.
    pub fn totals(&self) -> Result<SessionTotals, SessionError> {
        self.transcript().totals().cloned()
    }

    /// Returns the user messages of all branches, to fork before one of them.
    pub fn messages_for_forking(&self) -> Result<Vec<ForkMessage>, SessionError> {
        let nodes = self.tree().nodes;
        let asked = nodes
            .into_iter()
            .filter(|node| node.kind == EntryKind::Message(MessageRole::User));
        let asked: Vec<EntryId> = asked.map(|node| node.id).collect();
        let mut messages = Vec::new();
        for part in asked.chunks(READ_BATCH) {
            // Retake the lock for each batch, so other callers get a turn.
            let transcript = self.transcript();
            for entry_id in part {
                let entry = transcript.session().entries().read(entry_id.as_str())?;
                let EntryBody::Message(AgentMessage::User(user)) = &entry.body else {
                    continue;
                };
                let text = concatenated(&user.content);
                if !text.is_empty() {
                    messages.push(ForkMessage {
                        entry_id: entry_id.clone(),
                        text,
                    });
                }
            }
        }
        Ok(messages)
    }

    /// Reads the entries after `since`, or all of them.
    pub fn entries_since(&self, since: Option<&EntryId>) -> Result<EntriesSince, SessionError> {
        let transcript = self.transcript();
        let session = transcript.session();
        let entries: Result<Vec<_>, _> = match since {
            None => session.entries().iter().collect(),
            Some(since) => {
                session.entries().read(since.as_str())?;
                let ids = session
                    .entries()
                    .tree()
                    .nodes
                    .into_iter()
                    .map(|node| node.id);
                ids.skip_while(|id| id != since)
                    .skip(1)
                    .map(|id| session.entries().read(id.as_str()))
                    .collect()
            }
        };
        Ok(EntriesSince {
            entries: entries?,
            leaf_id: session.leaf_id().cloned(),
        })
    }

    /// Builds the tree without reading entries.
    pub fn tree(&self) -> SessionTree {
        self.with_session(|session| session.entries().tree())
    }
}
