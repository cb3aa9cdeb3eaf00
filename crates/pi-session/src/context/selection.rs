//! Selects the entries of a path that contribute to the context.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, CompactionEntry, Entry, EntryBody, EntryId, EntryKind, MessageRole,
};

use super::Projection;
use super::entry_view::{ContextEdits, hide_older_compactions, hide_orphaned_results};
use super::source::{EntrySource, PathStep};

/// The contributing entries, each list in path order.
#[derive(Default)]
pub(super) struct ContextSelection {
    compaction: Option<Arc<Entry>>,
    kept: Vec<Arc<Entry>>,
    after: Vec<Arc<Entry>>,
    /// Whether earlier messages are left out because there are too many.
    is_cut: bool,
}

impl ContextSelection {
    /// Walks from the leaf to the latest compaction and on to the first entry it keeps. Reads at most `limit` messages
    /// that follow the compaction.
    pub(super) fn read<Source: EntrySource>(
        source: &Source,
        leaf: Option<&EntryId>,
        limit: usize,
    ) -> Result<Self, Source::Error> {
        let mut selection = Self::default();
        let mut messages = 0;
        let mut walk = source.walk(leaf);
        for step in walk.by_ref() {
            messages += usize::from(is_conversation(step.kind));
            let is_declaration = step.kind == EntryKind::Message(MessageRole::System);
            selection.is_cut |= messages > limit;
            if selection.is_cut && !is_declaration && step.kind != EntryKind::Compaction {
                continue;
            }
            let Some(entry) = source.entry(step.id)? else {
                continue;
            };
            // A compaction with an unexpected shape reads as an unknown entry and has no effect.
            if matches!(entry.body, EntryBody::Compaction(_)) {
                selection.compaction = Some(entry);
                break;
            }
            selection.after.push(entry);
        }
        selection.after.reverse();
        if selection.is_cut {
            selection.start_with_prompt();
        } else if let Some(entry) = &selection.compaction
            && let EntryBody::Compaction(compaction) = &entry.body
        {
            selection.kept = read_kept(source, walk, &entry.id, compaction)?;
        }
        Ok(selection)
    }

    /// Removes responses and results before the first prompt, since models expect one first.
    fn start_with_prompt(&mut self) {
        let mut has_prompt = false;
        self.after.retain(|entry| {
            has_prompt |= matches!(entry.body, EntryBody::Message(AgentMessage::User(_)));
            has_prompt || is_system_message(entry)
        });
    }

    pub(super) fn projection(self) -> Projection {
        // The compaction contains the replayed system messages that precede it.
        let kept: Vec<_> = self
            .kept
            .into_iter()
            .filter(|entry| !is_system_message(entry))
            .collect();
        let kept_count = kept.len();
        let is_compacted = self.compaction.is_some();
        let leading = self.compaction.into_iter();
        let sources: Vec<_> = leading.chain(kept).chain(self.after).collect();
        let edits = ContextEdits::of(&sources);
        let mut entries: Vec<_> = sources.iter().map(|entry| edits.show(entry)).collect();
        if is_compacted {
            hide_older_compactions(&mut entries);
        }
        if is_compacted || self.is_cut {
            hide_orphaned_results(&mut entries);
        }
        Projection {
            entries,
            kept: kept_count,
        }
    }
}

/// Returns whether entries of this kind are messages of the conversation.
fn is_conversation(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Message(_) | EntryKind::CustomMessage | EntryKind::BranchSummary
    ) && kind != EntryKind::Message(MessageRole::System)
}

fn is_system_message(entry: &Entry) -> bool {
    matches!(entry.body, EntryBody::Message(AgentMessage::System(_)))
}

/// Reads the entries before a compaction that it keeps; none if its first kept entry is not on the
/// path.
fn read_kept<'path, Source: EntrySource>(
    source: &Source,
    walk: impl Iterator<Item = PathStep<'path>>,
    own_id: &EntryId,
    compaction: &CompactionEntry,
) -> Result<Vec<Arc<Entry>>, Source::Error> {
    let Some(first) = compaction
        .first_kept_entry_id
        .as_ref()
        .filter(|id| *id != own_id)
    else {
        return Ok(Vec::new());
    };
    let mut ids = Vec::new();
    for step in walk {
        ids.push(step.id);
        if step.id == first {
            let entries = ids.into_iter().rev().map(|id| source.entry(id));
            return entries.filter_map(Result::transpose).collect();
        }
    }
    Ok(Vec::new())
}
