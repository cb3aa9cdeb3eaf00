//! The session file and what is kept of it in memory.
//!
//! Whatever is appended goes through here, so that the projection the model sees and the totals
//! follow the file without being made anew. Neither exists before somebody asks: a long session
//! opens without reading its conversation.

use std::sync::Arc;

use pi_agent::SharedMessage;
use pi_ai::AgentMessage;
use pi_session::{
    BranchSummary, ContextUsage, Entry, EntryBody, EntryId, Projection, Session, SessionError,
    SessionTotals,
};

/// A session and the views on it that are in use.
pub(crate) struct Transcript {
    session: Session,
    projection: Option<Projection>,
    totals: SessionTotals,
    /// How many messages the model sees, where that was asked for and has not changed.
    count: Option<usize>,
    /// The entries of the messages that the run in progress has added, oldest first.
    recorded: Vec<(SharedMessage, EntryId)>,
}

impl Transcript {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            projection: None,
            totals: SessionTotals::default(),
            count: None,
            recorded: Vec::new(),
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// Appends an entry; on an error nothing has changed, in the file or here.
    pub(crate) fn append(
        &mut self,
        body: impl Into<EntryBody>,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.append(body)?;
        self.follow(&entry);
        Ok(entry)
    }

    /// Appends a message as the entry its role asks for.
    pub(crate) fn append_message(
        &mut self,
        message: AgentMessage,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.append_message(message)?;
        self.follow(&entry);
        Ok(entry)
    }

    /// Names the session.
    pub(crate) fn set_name(&mut self, name: &str) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.set_name(name)?;
        self.follow(&entry);
        Ok(entry)
    }

    /// Labels an entry.
    pub(crate) fn set_label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.set_label(target, label)?;
        self.follow(&entry);
        Ok(entry)
    }

    /// Moves the leaf; none is the place before the first entry.
    pub(crate) fn move_to(&mut self, leaf: Option<&EntryId>) -> Result<(), SessionError> {
        match leaf {
            Some(leaf) => self.session.branch(leaf)?,
            None => self.session.reset_leaf(),
        }
        self.projection = None;
        self.count = None;
        Ok(())
    }

    /// Moves the leaf and appends a summary of what is left.
    pub(crate) fn move_with_summary(
        &mut self,
        leaf: Option<&EntryId>,
        summary: BranchSummary,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = self.session.branch_with_summary(leaf, summary)?;
        self.projection = None;
        self.count = None;
        self.count(&entry);
        Ok(entry)
    }

    fn follow(&mut self, entry: &Arc<Entry>) {
        if !is_metadata(&entry.body) {
            self.count = None;
        }
        self.count(entry);
        let follows = self
            .projection
            .as_mut()
            .is_none_or(|projection| projection.follow(entry));
        if !follows {
            // Projected before the old one goes, which holds the entries that both have.
            self.projection = self.session.projection().ok();
        }
    }

    /// Counts an entry that was appended, if those before it are counted.
    fn count(&mut self, entry: &Entry) {
        if self.totals.entries + 1 == self.session.len() {
            self.totals.add(entry);
        }
    }

    /// Counts some more of the entries; tells whether all are counted.
    pub(crate) fn count_more(&mut self) -> Result<bool, SessionError> {
        self.session.count_more(&mut self.totals)
    }

    /// Measures how full a window is; none where its size is unknown.
    pub(crate) fn context_usage(
        &mut self,
        window: u64,
    ) -> Result<Option<ContextUsage>, SessionError> {
        if self.projection.is_none()
            && let Some(tokens) = self.session.recent_context_tokens()?
        {
            return Ok(ContextUsage::of_size(Some(tokens), window));
        }
        Ok(ContextUsage::of(self.projection()?, window))
    }

    /// Returns what the model sees.
    pub(crate) fn projection(&mut self) -> Result<&Projection, SessionError> {
        let projection = match self.projection.take() {
            Some(projection) => projection,
            None => self.session.projection()?,
        };
        Ok(self.projection.insert(projection))
    }

    /// Returns how many messages the model sees, without reading them.
    pub(crate) fn message_count(&mut self) -> Result<usize, SessionError> {
        let count = match self.count {
            Some(count) => count,
            None => self.session.context_outline()?.messages,
        };
        self.count = Some(count);
        Ok(count)
    }

    /// Returns what the model sees, as messages of an agent.
    pub(crate) fn messages(&mut self) -> Result<Vec<SharedMessage>, SessionError> {
        let projection = self.projection()?;
        Ok(projection.messages().cloned().map(Arc::new).collect())
    }

    /// Returns the counts over all entries.
    pub(crate) fn totals(&mut self) -> Result<&SessionTotals, SessionError> {
        while !self.count_more()? {}
        Ok(&self.totals)
    }

    /// Remembers the entry of a message that the run has added.
    pub(crate) fn record_entry(&mut self, message: &SharedMessage, entry: &Entry) {
        self.recorded.push((Arc::clone(message), entry.id.clone()));
    }

    /// Forgets the messages of the run before.
    pub(crate) fn clear_recorded(&mut self) {
        self.recorded = Vec::new();
    }

    /// Returns the entry of a message that the run has added.
    pub(crate) fn entry_of(&self, message: &SharedMessage) -> Option<EntryId> {
        let newest_first = self.recorded.iter().rev();
        newest_first
            .into_iter()
            .find(|(recorded, _)| Arc::ptr_eq(recorded, message))
            .map(|(_, id)| id.clone())
    }
}

/// Returns whether an entry has no part in what the model sees.
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
