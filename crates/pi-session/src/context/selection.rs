//! Which entries of a path take part in its context, and what the whole path says about the model.

use std::sync::Arc;

use pi_ai::AgentMessage;

use super::shown::{Edits, leave_out_older_compactions, leave_out_orphaned_results};
use super::source::{EntrySource, Step};
use super::{ContextModel, Projection};
use crate::entry::{Entry, EntryBody};

/// The thinking level of a session that never chose one.
const DEFAULT_THINKING_LEVEL: &str = "off";

/// The entries that take part, each list in path order.
pub(super) struct Selection {
    compaction: Option<Arc<Entry>>,
    kept: Vec<Arc<Entry>>,
    after: Vec<Arc<Entry>>,
    /// How many steps of the path, from the leaf, were looked at.
    steps: usize,
}

impl Selection {
    pub(super) fn read<Source: EntrySource>(
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

    pub(super) fn projection(
        self,
        model: Option<ContextModel>,
        thinking_level: String,
    ) -> Projection {
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

pub(super) fn last_model<Source: EntrySource>(
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

pub(super) fn last_thinking_level<Source: EntrySource>(
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
