//! What the model sees of a session: the path to the leaf, compaction and edits applied.
//!
//! [`project`] reads only the entries that take part, so that a long session behind a compaction
//! costs what is left of it. What a message says to a model in the end is decided in
//! [`crate::model_messages`].

mod edit;
mod source;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::slice;
use std::sync::Arc;

use pi_ai::transcript::current_system_message;
use pi_ai::{
    AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, Message,
    SystemMessage,
};

use crate::entry::{CompactionEntry, ContextEditEntry, Entry, EntryBody, EntryId};

pub(crate) use source::path_to_root;
pub use source::{EntryOutline, EntrySource};
use source::{PathEntries, Step};

/// The thinking level of a session that never chose one.
const DEFAULT_THINKING_LEVEL: &str = "off";

/// What the model sees at a leaf of the session, entry by entry.
///
/// After a compaction the list begins with it, then come the entries it kept, then those appended
/// since; without one it is the path from the root.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    entries: Vec<ProjectedEntry>,
    /// How many entries after the leading compaction come before it on the path.
    kept: usize,
    /// The model that was chosen or answered last, on the whole path.
    pub model: Option<ContextModel>,
    /// The thinking level chosen last, on the whole path.
    pub thinking_level: String,
}

/// A model by the names session files use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextModel {
    /// The provider's id.
    pub provider: String,
    /// The model's id at that provider.
    pub model_id: String,
}

/// An entry and what it contributes to the context.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedEntry {
    entry: Arc<Entry>,
    shown: Shown,
}

/// What an entry shows to the model.
#[derive(Debug, Clone, PartialEq)]
enum Shown {
    Nothing,
    /// The message of the entry as it is stored.
    Stored,
    /// Messages made from the entry.
    Instead(Vec<AgentMessage>),
}

impl ProjectedEntry {
    /// Returns the entry behind the messages.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Returns the messages; most entries have one, many none, a compaction up to two.
    pub fn messages(&self) -> &[AgentMessage] {
        match (&self.shown, &self.entry.body) {
            (Shown::Instead(messages), _) => messages,
            (Shown::Stored, EntryBody::Message(message)) => slice::from_ref(message),
            (Shown::Stored | Shown::Nothing, _) => &[],
        }
    }

    /// Tells whether an edit left out what the entry would have shown.
    pub(crate) fn is_omitted(&self) -> bool {
        self.messages().is_empty() && shows_messages(&self.entry)
    }
}

impl Projection {
    /// Returns the entries in the order of the context.
    pub fn entries(&self) -> &[ProjectedEntry] {
        &self.entries
    }

    /// Returns the messages in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &AgentMessage> {
        self.entries.iter().flat_map(ProjectedEntry::messages)
    }

    /// Returns the compaction that leads the context.
    pub fn compaction(&self) -> Option<(&Entry, &CompactionEntry)> {
        let entry = self.entries.first()?.entry.as_ref();
        match &entry.body {
            EntryBody::Compaction(compaction) => Some((entry, compaction)),
            _ => None,
        }
    }

    /// Returns the messages of entries that follow the leading compaction on the path; all of them
    /// where there is none.
    pub(crate) fn since_compaction(&self) -> impl Iterator<Item = &AgentMessage> {
        let first = match self.compaction() {
            Some(_) => self.kept + 1,
            None => 0,
        };
        let entries = self.entries.iter().skip(first);
        entries.flat_map(ProjectedEntry::messages)
    }

    /// Returns the entry at the leaf.
    pub fn last_entry(&self) -> Option<&Arc<Entry>> {
        let last = self.entries.len().checked_sub(1)?;
        // With nothing after it, the compaction that leads the context is the leaf.
        let index = if last == self.kept && self.compaction().is_some() {
            0
        } else {
            last
        };
        self.entries.get(index).map(ProjectedEntry::entry)
    }

    /// Returns where on the path the entry at an index of [`Projection::entries`] stands.
    pub(crate) fn path_position(&self, index: usize) -> usize {
        match index {
            0 => self.kept,
            _ if index <= self.kept => index - 1,
            _ => index,
        }
    }

    /// Replays the system messages into the prompt and the tools in force; none when the context
    /// has no system message.
    pub fn system_message(&self) -> Option<SystemMessage> {
        let messages: Vec<Message> = self
            .messages()
            .filter_map(|message| match message {
                AgentMessage::System(system) => Some(Message::System(system.clone())),
                _ => None,
            })
            .collect();
        current_system_message(&messages)
    }

    /// Returns the names of the tools the transcript declares, to restore on resume and after a
    /// jump in the tree; none when it declares no prompt at all, which leaves the tools as they are.
    pub fn tool_names(&self) -> Option<Vec<String>> {
        let system = self.system_message()?;
        let tools = system.tools_added.unwrap_or_default();
        Some(tools.into_iter().map(|tool| tool.name).collect())
    }
}

/// Projects the path that ends at a leaf; no leaf is the place before the first entry.
pub fn project<Source: EntrySource>(
    source: &Source,
    leaf: Option<&EntryId>,
) -> Result<Projection, Source::Error> {
    let steps = path_to_root(source, leaf);
    let selected = Selection::read(source, &steps)?;
    let model = last_model(source, &steps, &selected)?;
    let thinking_level = last_thinking_level(source, &steps)?;
    Ok(selected.projection(model, thinking_level))
}

/// Projects a path that is at hand, its root first.
pub fn project_path(path: &[Arc<Entry>]) -> Projection {
    let source = PathEntries::new(path);
    match project(&source, path.last().map(|entry| &entry.id)) {
        Ok(projection) => projection,
        Err(error) => never(error),
    }
}

fn never(error: Infallible) -> Projection {
    match error {}
}

/// The entries that take part, each list in path order.
struct Selection {
    compaction: Option<Arc<Entry>>,
    kept: Vec<Arc<Entry>>,
    after: Vec<Arc<Entry>>,
    /// How many steps of the path, from the leaf, were looked at.
    steps: usize,
}

impl Selection {
    fn read<Source: EntrySource>(
        source: &Source,
        steps: &[Step<'_>],
    ) -> Result<Self, Source::Error> {
        let Some((position, compaction)) = latest_compaction(source, steps)? else {
            return Ok(Self {
                compaction: None,
                kept: Vec::new(),
                after: read_reversed(source, steps)?,
                steps: steps.len(),
            });
        };
        let (newer, older) = steps.split_at(position);
        let older = older.get(1..).unwrap_or_default();
        let first_kept = match &compaction.body {
            EntryBody::Compaction(body) => body.first_kept_entry_id.as_ref(),
            _ => None,
        };
        let kept_steps = first_kept
            .and_then(|id| older.iter().position(|step| step.id == *id))
            .and_then(|last| older.get(..=last))
            .unwrap_or_default();
        Ok(Self {
            compaction: Some(compaction),
            kept: read_reversed(source, kept_steps)?,
            after: read_reversed(source, newer)?,
            steps: position + 1 + kept_steps.len(),
        })
    }

    fn projection(self, model: Option<ContextModel>, thinking_level: String) -> Projection {
        // The compaction carries the replay of the system messages before it.
        let kept: Vec<_> = self
            .kept
            .into_iter()
            .filter(|entry| !is_system_message(entry))
            .collect();
        let kept_count = kept.len();
        let is_compacted = self.compaction.is_some();
        let leading = self.compaction.into_iter();
        let sources: Vec<_> = leading.chain(kept).chain(self.after).collect();
        let edits = Edits::of(&sources);
        let mut entries: Vec<_> = sources.iter().map(|entry| edits.show(entry)).collect();
        if is_compacted {
            leave_out_older_compactions(&mut entries);
            leave_out_orphaned_results(&mut entries);
        }
        Projection {
            entries,
            kept: kept_count,
            model,
            thinking_level,
        }
    }
}

fn is_system_message(entry: &Entry) -> bool {
    matches!(entry.body, EntryBody::Message(AgentMessage::System(_)))
}

/// Returns the compaction nearest to the leaf and its position among the steps.
fn latest_compaction<Source: EntrySource>(
    source: &Source,
    steps: &[Step<'_>],
) -> Result<Option<(usize, Arc<Entry>)>, Source::Error> {
    let candidates = steps.iter().enumerate();
    for (position, step) in candidates.filter(|(_, step)| step.type_name == "compaction") {
        // A compaction of an unexpected shape reads as an unknown entry and compacts nothing.
        if let Some(entry) = source.entry(&step.id)?
            && matches!(entry.body, EntryBody::Compaction(_))
        {
            return Ok(Some((position, entry)));
        }
    }
    Ok(None)
}

fn read_reversed<Source: EntrySource>(
    source: &Source,
    steps: &[Step<'_>],
) -> Result<Vec<Arc<Entry>>, Source::Error> {
    let entries = steps.iter().rev().map(|step| source.entry(&step.id));
    entries.filter_map(Result::transpose).collect()
}

fn last_model<Source: EntrySource>(
    source: &Source,
    steps: &[Step<'_>],
    selected: &Selection,
) -> Result<Option<ContextModel>, Source::Error> {
    let read = selected.kept.iter().chain(&selected.after);
    if let Some(model) = read.rev().find_map(|entry| model_of(entry)) {
        return Ok(Some(model));
    }
    let older = steps.get(selected.steps..).unwrap_or_default();
    for step in older {
        if matches!(step.type_name, "message" | "model_change")
            && let Some(entry) = source.entry(&step.id)?
            && let Some(model) = model_of(&entry)
        {
            return Ok(Some(model));
        }
    }
    Ok(None)
}

fn model_of(entry: &Entry) -> Option<ContextModel> {
    match &entry.body {
        EntryBody::ModelChange(change) => Some(ContextModel {
            provider: change.provider.clone(),
            model_id: change.model_id.clone(),
        }),
        EntryBody::Message(AgentMessage::Assistant(answer)) => Some(ContextModel {
            provider: answer.provider.clone(),
            model_id: answer.model.clone(),
        }),
        _ => None,
    }
}

fn last_thinking_level<Source: EntrySource>(
    source: &Source,
    steps: &[Step<'_>],
) -> Result<String, Source::Error> {
    for step in steps {
        if step.type_name == "thinking_level_change"
            && let Some(entry) = source.entry(&step.id)?
            && let EntryBody::ThinkingLevelChange(change) = &entry.body
        {
            return Ok(change.thinking_level.clone());
        }
    }
    Ok(DEFAULT_THINKING_LEVEL.to_owned())
}

/// The edits in force among some entries: the last of each target.
pub(crate) struct Edits<'entries>(HashMap<&'entries EntryId, &'entries ContextEditEntry>);

impl<'entries> Edits<'entries> {
    pub(crate) fn of(entries: &'entries [Arc<Entry>]) -> Self {
        let edits = entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::ContextEdit(edit) => Some((&edit.target_id, edit)),
            _ => None,
        });
        Self(edits.collect())
    }

    /// Decides what an entry shows.
    pub(crate) fn show(&self, entry: &Arc<Entry>) -> ProjectedEntry {
        ProjectedEntry {
            shown: shown(entry, self.0.get(&entry.id).copied()),
            entry: Arc::clone(entry),
        }
    }
}

fn shown(entry: &Entry, edit: Option<&ContextEditEntry>) -> Shown {
    if !shows_messages(entry) {
        return Shown::Nothing;
    }
    let Some(edit) = edit else {
        return match made_messages(entry) {
            Some(messages) => Shown::Instead(messages),
            None => Shown::Stored,
        };
    };
    let Some(replacement) = &edit.replacement else {
        return Shown::Nothing;
    };
    let messages = made_messages(entry)
        .or_else(|| {
            entry
                .body
                .as_message()
                .cloned()
                .map(|message| vec![message])
        })
        .unwrap_or_default();
    let edited = messages
        .into_iter()
        .map(|message| edit::with_content(message, &replacement.content));
    Shown::Instead(edited.collect())
}

/// Tells whether an entry of this sort takes part in the context unless it is edited out.
fn shows_messages(entry: &Entry) -> bool {
    match &entry.body {
        EntryBody::Message(_) | EntryBody::CustomMessage(_) | EntryBody::Compaction(_) => true,
        EntryBody::BranchSummary(branch) => !branch.summary.is_empty(),
        EntryBody::ModelChange(_)
        | EntryBody::ThinkingLevelChange(_)
        | EntryBody::Usage(_)
        | EntryBody::ContextEdit(_)
        | EntryBody::Custom(_)
        | EntryBody::Label(_)
        | EntryBody::SessionInfo(_)
        | EntryBody::Unknown(_) => false,
    }
}

/// Makes the messages of an entry that is no message itself.
fn made_messages(entry: &Entry) -> Option<Vec<AgentMessage>> {
    let timestamp = entry.timestamp_ms().unwrap_or_default();
    match &entry.body {
        EntryBody::CustomMessage(custom) => Some(vec![AgentMessage::Custom(CustomMessage {
            custom_type: custom.custom_type.clone(),
            content: custom.content.clone(),
            display: custom.display,
            details: custom.details.clone(),
            timestamp,
            ..CustomMessage::default()
        })]),
        EntryBody::BranchSummary(branch) => {
            Some(vec![AgentMessage::BranchSummary(BranchSummaryMessage {
                summary: branch.summary.clone(),
                from_id: Some(branch.from_id.as_str().to_owned()),
                timestamp,
                ..BranchSummaryMessage::default()
            })])
        }
        EntryBody::Compaction(compaction) => {
            let system = compaction.system_message.clone().map(AgentMessage::System);
            let summary = AgentMessage::CompactionSummary(CompactionSummaryMessage {
                summary: compaction.summary.clone(),
                tokens_before: compaction.tokens_before,
                timestamp,
                ..CompactionSummaryMessage::default()
            });
            Some(system.into_iter().chain([summary]).collect())
        }
        _ => None,
    }
}

/// Leaves out compactions within the kept range: the leading one speaks for them.
fn leave_out_older_compactions(entries: &mut [ProjectedEntry]) {
    for entry in entries.iter_mut().skip(1) {
        if matches!(entry.entry.body, EntryBody::Compaction(_)) {
            entry.shown = Shown::Nothing;
        }
    }
}

/// Leaves out results whose calls a compaction removed: no service takes one without the other, and
/// an extension may have cut anywhere.
fn leave_out_orphaned_results(entries: &mut [ProjectedEntry]) {
    let mut orphans = Vec::new();
    let mut calls: HashSet<&str> = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        for message in entry.messages() {
            match message {
                AgentMessage::Assistant(answer) => {
                    calls.extend(answer.tool_calls().map(|call| call.id.as_str()));
                }
                AgentMessage::ToolResult(result)
                    if !calls.contains(result.tool_call_id.as_str()) =>
                {
                    orphans.push(index);
                }
                _ => {}
            }
        }
    }
    for index in orphans {
        if let Some(entry) = entries.get_mut(index) {
            entry.shown = Shown::Nothing;
        }
    }
}

#[cfg(test)]
mod tests;
