//! What can be asked of a session: its state, its numbers, its entries, its tree.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{QueueMode, SharedMessage};
use pi_ai::{AgentMessage, AssistantBlock, Model, StopReason, StreamPhase, ThinkingLevel};
use pi_session::{
    Access, ContextUsage, Entry, EntryBody, EntryId, EntryKind, MessageRole, OpenSession, Session,
    SessionError, SessionTotals, SessionTree, TokenTotals,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::AgentSession;
use super::queue::concatenated;
use crate::toolset::{RegisteredTool, ToolOrigin};

/// Entries read in one go while others wait for the session: a few milliseconds' worth.
const READ_BATCH: usize = 100;

/// A pause between two such goes. A lock that is taken again at once may never reach who waits.
const LOCK_YIELD: Duration = Duration::from_micros(100);

/// A look at a session, in the form of RPC's `get_state`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<Model>>,
    /// How much it thinks.
    pub thinking_level: ThinkingLevel,
    /// Whether a run is under way.
    pub is_streaming: bool,
    /// Whether a compaction or a branch summary is under way.
    pub is_compacting: bool,
    /// How steering is delivered.
    pub steering_mode: QueueMode,
    /// How follow-ups are delivered.
    pub follow_up_mode: QueueMode,
    /// Where the file is or will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether the session compacts itself.
    pub auto_compaction_enabled: bool,
    /// How many messages the model sees.
    pub message_count: usize,
    /// How many messages wait.
    pub pending_message_count: usize,
}

/// What a session has used, in the form of RPC's `get_session_stats`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// Where the file is or will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    /// Messages of the user.
    pub user_messages: u64,
    pub assistant_messages: u64,
    /// Calls in the answers.
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// Cost in US dollars.
    pub cost: f64,
    /// How full the model's window is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The share of the last request's prompt that came from the cache, in percent; for people, and
    /// not part of what clients are told.
    #[serde(skip)]
    pub cache_hit_share: Option<f64>,
}

/// A message that a fork may begin before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkMessage {
    pub entry_id: EntryId,
    pub text: String,
}

/// The entries of a session, or those after one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntriesSince {
    /// The entries in the order of the file.
    pub entries: Vec<Arc<Entry>>,
    /// Where the conversation stands.
    pub leaf_id: Option<EntryId>,
}

/// A tool as callers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInfo {
    /// The name the model calls it by.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
    /// Advice on its use.
    pub guidelines: Vec<String>,
    /// Where it comes from.
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
    /// Looks at the session. Costs the same for a long conversation as for a short one.
    pub fn status(&self) -> SessionStatus {
        let (is_streaming, is_compacting) = {
            let state = self.state();
            (state.run.active, state.is_compacting())
        };
        SessionStatus {
            model: self.model(),
            thinking_level: self.thinking_level(),
            is_streaming,
            is_compacting,
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

    /// Returns whether a run is under way, pauses between attempts included.
    pub fn is_streaming(&self) -> bool {
        self.state().run.active
    }

    /// Returns what the model's request under way is doing, as a value that can be watched; none
    /// between requests. It is for people to see and not part of the events.
    pub fn request_phase(&self) -> watch::Receiver<Option<StreamPhase>> {
        self.0.agent.request_phase()
    }

    /// Returns whether a compaction or a move in the tree is under way.
    pub fn is_compacting(&self) -> bool {
        self.state().is_compacting()
    }

    /// Returns whether no run, compaction or move is under way; true while `agent_settled` is told.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        !state.run.active && !state.is_compacting()
    }

    /// Returns where the session file is or will be.
    pub fn session_file(&self) -> Option<PathBuf> {
        self.with_session(|session| session.path().map(ToOwned::to_owned))
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> String {
        self.with_session(|session| session.id().to_owned())
    }

    /// Returns the session's name.
    pub fn session_name(&self) -> Option<String> {
        self.with_session(|session| session.name().map(str::to_owned))
    }

    /// Returns what the model sees.
    pub fn messages(&self) -> Result<Vec<SharedMessage>, SessionError> {
        self.load_context()?;
        Ok(self.0.agent.state().messages)
    }

    /// Spells what the model sees as a list of JSON; for a session nobody has used yet, its file is copied and
    /// not read.
    pub fn messages_json(&self) -> Result<String, SessionError> {
        if self.state().context_loaded {
            let messages = self.0.agent.state().messages;
            return pi_ai::json::to_string(&messages).map_err(SessionError::Unspellable);
        }
        self.with_session(Session::messages_json)
    }

    /// Returns how many messages the model sees; a session nobody has used yet is not read for it.
    pub fn message_count(&self) -> usize {
        if self.state().context_loaded {
            return self.0.agent.message_count();
        }
        self.transcript().message_count().unwrap_or_default()
    }

    /// Returns the answer that is arriving.
    pub fn streaming_message(&self) -> Option<pi_ai::LiveMessage> {
        self.0.agent.state().streaming_message
    }

    /// Returns the text of the last answer, if it has any.
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

    /// Counts what the session has used, over all branches.
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

    /// Counts what [`AgentSession::stats`] tells, a little at a time, so that nobody waits long for the
    /// session meanwhile. Blocks; a long session takes a while.
    pub fn precompute_stats(&self) -> Result<(), SessionError> {
        while !self.transcript().count_more()? {
            std::thread::sleep(LOCK_YIELD);
        }
        Ok(())
    }

    /// Looks at a copy of the session, so that reading all of it keeps nobody waiting. Blocks.
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
                    access: Access::Read,
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
            // Without a file, or with one that somebody took away, what is in memory counts.
            None => self.with_session(read),
        }
    }

    /// Measures how full the model's window is; none without a model or a known window.
    pub fn context_usage(&self) -> Result<Option<ContextUsage>, SessionError> {
        let Some(model) = self.model() else {
            return Ok(None);
        };
        self.transcript().context_usage(model.context_window)
    }

    /// Returns what the session has used, by model too, over all branches.
    pub fn totals(&self) -> Result<SessionTotals, SessionError> {
        self.transcript().totals().cloned()
    }

    /// Returns the user's messages of all branches, to fork before one.
    pub fn messages_for_forking(&self) -> Result<Vec<ForkMessage>, SessionError> {
        let nodes = self.tree().nodes;
        let asked = nodes
            .into_iter()
            .filter(|node| node.kind == EntryKind::Message(MessageRole::User));
        let asked: Vec<EntryId> = asked.map(|node| node.id).collect();
        let mut messages = Vec::new();
        for part in asked.chunks(READ_BATCH) {
            // Taken anew for each part, for others to get a word in.
            let transcript = self.transcript();
            for entry_id in part {
                let entry = transcript.session().entry(entry_id.as_str())?;
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

    /// Reads the entries after one, or all of them.
    pub fn entries_since(&self, since: Option<&EntryId>) -> Result<EntriesSince, SessionError> {
        let transcript = self.transcript();
        let session = transcript.session();
        let entries: Result<Vec<_>, _> = match since {
            None => session.entries().collect(),
            Some(since) => {
                session.entry(since.as_str())?;
                let ids = session.tree().nodes.into_iter().map(|node| node.id);
                ids.skip_while(|id| id != since)
                    .skip(1)
                    .map(|id| session.entry(id.as_str()))
                    .collect()
            }
        };
        Ok(EntriesSince {
            entries: entries?,
            leaf_id: session.leaf_id().cloned(),
        })
    }

    /// Lays out the tree without reading entries.
    pub fn tree(&self) -> SessionTree {
        self.with_session(pi_session::Session::tree)
    }
}
