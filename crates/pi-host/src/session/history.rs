//! The stored conversation: messages, entries, tree and statistics.

use std::sync::Arc;
use std::time::Duration;

use pi_export::{EntryRange, ListingError, entry_range_json};
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantBlock, ContextUsage, CustomEntry, Entry, EntryBody, EntryId,
    EntryKind, MessageRole, SessionEvent, SessionStats, SessionTree, SharedMessage, StopReason,
    UsageEntry,
};
use pi_session::{AccessMode, OpenSession, Session, SessionError, SessionTotals};
use serde::Serialize;
use serde_json::Value;

use super::queue::concatenated;
use super::transcript::Transcript;
use super::{AgentSession, SessionOutline};

/// Entries read while holding the lock; takes a few milliseconds.
const READ_BATCH: usize = 100;

/// Delay between two batches. A lock that is retaken immediately may starve other threads.
const LOCK_YIELD: Duration = Duration::from_micros(100);

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

/// The stored conversation.
#[derive(Clone, Copy)]
pub struct History<'session> {
    pub(super) session: &'session AgentSession,
}

impl AgentSession {
    pub fn history(&self) -> History<'_> {
        History { session: self }
    }
}

impl History<'_> {
    /// Returns what identifies the session and where it is. Unlike other reads, this never waits for a write.
    pub fn outline(self) -> SessionOutline {
        self.session.0.outline.lock().clone()
    }

    /// Waits until the session file exists.
    pub(crate) async fn wait_until_saved(self) {
        let core = &self.session.0;
        let mut saved = std::pin::pin!(core.saved.notified());
        saved.as_mut().enable();
        if !core.outline.lock().is_saved {
            saved.await;
        }
    }

    /// Calls `read` with the session locked, so nothing can be appended meanwhile.
    pub fn with_session<R>(self, read: impl FnOnce(&Session) -> R) -> R {
        read(self.session.0.transcript().session())
    }

    /// Changes the session directly, for extensions that own it. Emits no events.
    pub(crate) fn change(
        self,
        change: &mut dyn FnMut(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let change = |transcript: &mut Transcript| transcript.change(change);
        self.session.writer().write(change)
    }

    /// Stores extension state in the session.
    pub async fn append_custom_entry(
        self,
        custom_type: &str,
        data: Option<Value>,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = CustomEntry {
            custom_type: custom_type.to_owned(),
            data,
        };
        self.append(entry).await
    }

    /// Stores tokens that were used outside of the conversation.
    pub async fn append_usage(self, usage: UsageEntry) -> Result<Arc<Entry>, SessionError> {
        self.append(usage).await
    }

    async fn append(self, entry: impl Into<EntryBody>) -> Result<Arc<Entry>, SessionError> {
        let append = |transcript: &mut Transcript| transcript.append(entry);
        let entry = self.session.writer().write(append)?;
        let published = Arc::clone(&entry);
        self.session
            .0
            .publish(SessionEvent::EntryAppended { entry: published })
            .await;
        Ok(entry)
    }

    /// Sets the session's name; an empty name removes it.
    pub async fn set_name(self, name: &str) -> Result<(), SessionError> {
        let set = |transcript: &mut Transcript| transcript.set_name(name);
        self.session.writer().write(set)?;
        let name = self.session.session_name();
        self.session
            .0
            .publish_with_hooks(SessionEvent::SessionInfoChanged { name })
            .await;
        Ok(())
    }

    /// Sets the label of an entry; `None` removes it.
    pub fn set_label(self, target: &EntryId, label: Option<&str>) -> Result<(), SessionError> {
        let set = |transcript: &mut Transcript| transcript.set_label(target, label);
        self.session.writer().write(set)?;
        self.log_label(target, label);
        Ok(())
    }

    pub(super) fn log_label(self, target: &EntryId, label: Option<&str>) {
        let label = label.filter(|label| !label.is_empty());
        self.session.0.log_change(SessionEvent::LabelChanged {
            target_id: target.clone(),
            label: label.map(str::to_owned),
        });
    }

    /// Stores a message outside of a turn, and publishes it if it is one of an extension.
    pub(super) async fn append_message(self, message: AgentMessage) -> Result<(), SessionError> {
        let message = Arc::new(message);
        let append = |transcript: &mut Transcript| transcript.append_message(&message);
        self.session.writer().write(append)?;
        if !matches!(*message, AgentMessage::Custom(_)) {
            return Ok(());
        }
        let start = AgentEvent::MessageStart {
            message: Arc::clone(&message),
        };
        self.session.0.publish(SessionEvent::Agent(start)).await;
        let end = AgentEvent::MessageEnd { message };
        self.session.0.publish(SessionEvent::Agent(end)).await;
        Ok(())
    }

    /// Returns the messages in the model's context.
    pub fn messages(self) -> Result<Vec<SharedMessage>, SessionError> {
        Ok(self.session.0.transcript().messages()?.to_vec())
    }

    /// Returns the model's context as a JSON array. If the conversation is not loaded, it is copied
    /// from the file without parsing.
    pub fn messages_json(self) -> Result<String, SessionError> {
        let mut transcript = self.session.0.transcript();
        if transcript.is_loaded() {
            return pi_protocol::json::to_string(transcript.messages()?)
                .map_err(SessionError::Serialize);
        }
        transcript.session().current_branch().messages_json()
    }

    /// Returns the number of messages in the model's context, without loading the conversation.
    pub fn message_count(self) -> usize {
        self.session
            .0
            .transcript()
            .message_count()
            .unwrap_or_default()
    }

    /// Returns the text of the last response, if it has any.
    pub fn last_assistant_text(self) -> Result<Option<String>, SessionError> {
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
    pub fn stats(self) -> Result<SessionStats, SessionError> {
        let context_usage = self.context_usage()?;
        let mut transcript = self.session.0.transcript();
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

    /// Computes the totals for [`History::stats`] in small batches, so that other callers do
    /// not wait long for the session. Blocking; takes a while for a long session.
    pub fn precompute_stats(self) -> Result<(), SessionError> {
        while !self.session.0.transcript().count_more()? {
            std::thread::sleep(LOCK_YIELD);
        }
        self.context_usage()?;
        Ok(())
    }

    /// Reads a copy of the session, so that reading all of it does not block other callers.
    /// Blocking.
    pub fn with_copy<R>(self, read: impl FnOnce(&Session) -> R) -> R {
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
                    env: self.session.0.env.clone(),
                    cwd: Some(self.session.0.cwd.clone()),
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
    pub fn context_usage(self) -> Result<Option<ContextUsage>, SessionError> {
        let Some(model) = self.session.selection().limits_model() else {
            return Ok(None);
        };
        self.session
            .0
            .transcript()
            .context_usage(model.context_window)
    }

    /// Returns usage over all branches, also by model.
    pub fn totals(self) -> Result<SessionTotals, SessionError> {
        self.session.0.transcript().totals().cloned()
    }

    /// Returns the user messages of all branches, to fork before one of them.
    pub fn messages_for_forking(self) -> Result<Vec<ForkMessage>, SessionError> {
        let nodes = self.tree().nodes;
        let asked = nodes
            .into_iter()
            .filter(|node| node.kind == EntryKind::Message(MessageRole::User));
        let asked: Vec<EntryId> = asked.map(|node| node.id).collect();
        let mut messages = Vec::new();
        for part in asked.chunks(READ_BATCH) {
            // Retake the lock for each batch, so other callers get a turn.
            let transcript = self.session.0.transcript();
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
    pub fn entries_since(self, since: Option<&EntryId>) -> Result<EntriesSince, SessionError> {
        let transcript = self.session.0.transcript();
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

    /// Serializes some of the entries: `entries`, `leafId`, and `hasMore` if there are older ones.
    pub fn entries_json(self, range: &EntryRange) -> Result<String, ListingError> {
        self.with_session(|session| entry_range_json(session, range))
    }

    /// Returns the entry of a message that a run has added recently.
    pub(crate) fn entry_of(self, message: &SharedMessage) -> Option<EntryId> {
        self.session.0.transcript().entry_of(message)
    }

    /// Builds the tree without reading entries.
    pub fn tree(self) -> SessionTree {
        self.with_session(|session| session.entries().tree())
    }
}
