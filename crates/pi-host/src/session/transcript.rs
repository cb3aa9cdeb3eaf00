//! The session file and its in-memory views.
//!
//! All appends go through here, so that the projection the model sees and the totals follow the
//! file without being rebuilt. Both are built on first use: a long session opens without reading
//! its conversation.

use std::sync::Arc;

use pi_context::estimate::{context_tokens_after, recent_context_tokens};
use pi_protocol::{AgentMessage, ContextUsage, Entry, EntryBody, EntryId, SharedMessage};
use pi_session::{BranchSummary, PendingRecord, Projection, Session, SessionError, SessionTotals};

/// Number of records that outlive their run.
const RECENT_RECORDS: usize = 64;

/// A session and its cached views.
pub(crate) struct Transcript {
    session: Session,
    projection: Option<Projection>,
    /// The messages of the projection, shared with requests and events.
    messages: Option<Vec<SharedMessage>>,
    totals: SessionTotals,
    /// Number of messages in the model's context, if computed and still valid.
    count: Option<usize>,
    /// Size of the model's context, if computed and still valid.
    context_tokens: Option<u64>,
    /// Entries of the messages added by the current run, oldest first.
    recorded: Vec<(SharedMessage, EntryId)>,
    /// The conversation was handed over to another session; changes would be lost.
    is_taken: bool,
}

impl Transcript {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            projection: None,
            messages: None,
            totals: SessionTotals::default(),
            count: None,
            context_tokens: None,
            recorded: Vec::new(),
            is_taken: false,
        }
    }

    /// Returns what remains when the conversation is handed over.
    pub(crate) fn taken(empty: Session) -> Self {
        Self {
            is_taken: true,
            ..Self::new(empty)
        }
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.is_taken
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// Replaces the records that are acknowledged and not stored yet.
    pub(crate) fn set_pending(&mut self, records: &[PendingRecord]) -> Result<(), SessionError> {
        self.session.pending().set(records)
    }

    /// Returns whether the session may have pending records, which an empty list removes.
    pub(crate) fn may_have_pending(&mut self) -> bool {
        self.session.pending().has_journal()
    }

    /// Drops the pending records of a session that is closed in order, and releases its file.
    pub(crate) fn close(&mut self) {
        self.session.pending().close();
    }

    /// Appends an entry; on error, neither the file nor the views have changed.
    pub(crate) fn append(
        &mut self,
        body: impl Into<EntryBody>,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.append(body)?;
        self.apply_entry(&entry, None);
        Ok(entry)
    }

    /// Changes the session in a way that the views do not follow.
    pub(crate) fn change(
        &mut self,
        change: &mut dyn FnMut(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let changed = change(&mut self.session);
        self.forget_views();
        changed
    }

    /// Appends a message as the entry for its role.
    pub(crate) fn append_message(
        &mut self,
        message: &SharedMessage,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.append_message(AgentMessage::clone(message))?;
        self.apply_entry(&entry, Some(message));
        Ok(entry)
    }

    pub(crate) fn set_name(&mut self, name: &str) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.set_name(name)?;
        self.apply_entry(&entry, None);
        Ok(entry)
    }

    pub(crate) fn set_label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.set_label(target, label)?;
        self.apply_entry(&entry, None);
        Ok(entry)
    }

    /// Moves the leaf; `None` is the position before the first entry.
    pub(crate) fn move_to(&mut self, leaf: Option<&EntryId>) -> Result<(), SessionError> {
        match leaf {
            Some(leaf) => self.session.branch(leaf)?,
            None => self.session.reset_leaf(),
        }
        self.forget_views();
        Ok(())
    }

    /// Moves the leaf and appends a summary of the branch that was left.
    pub(crate) fn move_with_summary(
        &mut self,
        leaf: Option<&EntryId>,
        summary: BranchSummary,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.branch_with_summary(leaf, summary)?;
        self.forget_views();
        self.count(&entry);
        Ok(entry)
    }

    /// Reads the entries that another process has appended, and moves to the last one.
    pub(crate) fn read_appended(&mut self) -> Result<(), SessionError> {
        let appended = self.session.load_appended()?;
        for id in &appended.entries {
            let entry = self.session.entries().read(id.as_str())?;
            let follows = entry.parent_id.as_ref() == self.session.leaf_id();
            self.session.branch(id)?;
            if follows {
                self.apply_entry(&entry, None);
            } else {
                self.forget_views();
            }
        }
        Ok(())
    }

    /// Drops the views of the conversation; they are rebuilt on the next use.
    pub(crate) fn forget_views(&mut self) {
        self.projection = None;
        self.messages = None;
        self.count = None;
        self.context_tokens = None;
    }

    /// Updates the views for an appended entry, and for the message it stores.
    fn apply_entry(&mut self, entry: &Arc<Entry>, message: Option<&SharedMessage>) {
        if !is_metadata(&entry.body) {
            self.count = None;
            match (&mut self.messages, message) {
                (Some(messages), Some(message)) => messages.push(Arc::clone(message)),
                _ => self.messages = None,
            }
        }
        self.count(entry);
        let tokens = self.context_tokens.take();
        self.context_tokens = tokens.and_then(|tokens| context_tokens_after(tokens, entry));
        let follows = self
            .projection
            .as_mut()
            .is_none_or(|projection| projection.append(entry));
        if !follows {
            // Build the new projection before dropping the old one, which shares its entries.
            self.projection = self.session.current_branch().projection().ok();
        }
    }

    /// Counts an appended entry if those before it are counted.
    fn count(&mut self, entry: &Entry) {
        if self.totals.entries + 1 == self.session.entries().len() {
            self.totals.add(entry);
        }
    }

    /// Returns the totals of the entries that are counted so far.
    pub(crate) fn counted(&self) -> &SessionTotals {
        &self.totals
    }

    /// Replaces the totals by those of another process that has counted more of the same entries.
    pub(crate) fn adopt_totals(&mut self, totals: SessionTotals) {
        if (self.totals.entries..=self.session.entries().len()).contains(&totals.entries) {
            self.totals = totals;
        }
    }

    /// Counts more entries; returns whether all are counted.
    pub(crate) fn count_more(&mut self) -> Result<bool, SessionError> {
        self.totals.count_more(self.session.entries())
    }

    /// Returns the usage of a context window; `None` if its size is unknown.
    pub(crate) fn context_usage(
        &mut self,
        window: u64,
    ) -> Result<Option<ContextUsage>, SessionError> {
        if self.projection.is_none() && self.context_tokens.is_none() {
            self.context_tokens =
                recent_context_tokens(self.session.entries(), self.session.leaf_id())?;
        }
        if self.context_tokens.is_some() {
            return Ok(ContextUsage::of_size(self.context_tokens, window));
        }
        Ok(pi_context::context_usage(self.projection()?, window))
    }

    /// Returns the model's context.
    pub(crate) fn projection(&mut self) -> Result<&Projection, SessionError> {
        let projection = match self.projection.take() {
            Some(projection) => projection,
            None => self.session.current_branch().projection()?,
        };
        Ok(self.projection.insert(projection))
    }

    /// Returns the number of messages in the model's context, without reading them.
    pub(crate) fn message_count(&mut self) -> Result<usize, SessionError> {
        if let Some(messages) = &self.messages {
            return Ok(messages.len());
        }
        let count = match self.count {
            Some(count) => count,
            None => self.session.current_branch().context_outline()?.messages,
        };
        self.count = Some(count);
        Ok(count)
    }

    /// Whether the conversation was read from the file.
    pub(crate) fn is_loaded(&self) -> bool {
        self.messages.is_some()
    }

    /// Returns the model's context as messages.
    pub(crate) fn messages(&mut self) -> Result<&[SharedMessage], SessionError> {
        let messages = match self.messages.take() {
            Some(messages) => messages,
            None => {
                let projection = self.projection()?;
                projection.messages().cloned().map(Arc::new).collect()
            }
        };
        Ok(self.messages.insert(messages))
    }

    /// Returns the totals over all entries.
    pub(crate) fn totals(&mut self) -> Result<&SessionTotals, SessionError> {
        while !self.count_more()? {}
        Ok(&self.totals)
    }

    /// Records the entry of a message added by the run.
    pub(crate) fn record_entry(&mut self, message: &SharedMessage, entry: &Entry) {
        self.recorded.push((Arc::clone(message), entry.id.clone()));
    }

    /// Clears the records of the previous run, except for what observers may still be about to read.
    pub(crate) fn clear_recorded(&mut self) {
        let outdated = self.recorded.len().saturating_sub(RECENT_RECORDS);
        self.recorded.drain(..outdated);
    }

    /// Returns the entry of a message added by the run.
    pub(crate) fn entry_of(&self, message: &SharedMessage) -> Option<EntryId> {
        let newest_first = self.recorded.iter().rev();
        newest_first
            .into_iter()
            .find(|(recorded, _)| Arc::ptr_eq(recorded, message))
            .map(|(_, id)| id.clone())
    }
}

/// Returns whether an entry is not part of the model's context.
fn is_metadata(body: &EntryBody) -> bool {
    matches!(
        body,
        EntryBody::ModelChange(_)
            | EntryBody::ThinkingLevelChange(_)
            | EntryBody::Usage(_)
            | EntryBody::Custom(_)
            | EntryBody::Label(_)
            | EntryBody::SessionInfo(_)
    )
}
