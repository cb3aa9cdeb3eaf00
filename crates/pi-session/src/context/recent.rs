//! How large the context is, told from its end.
//!
//! The last answer that reports its size has counted everything before it. Where nothing later changed
//! what it had counted, a long conversation need not be read to know.

use pi_ai::AgentMessage;

use super::shown::Edits;
use super::source::EntrySource;
use crate::compaction::estimate::{message_tokens, reported_tokens};
use crate::entry::EntryId;
use crate::error::SessionError;
use crate::kind::EntryKind;
use crate::store::Session;

impl Session {
    /// Returns the size of what the model sees now, by the last report and what came after it; none
    /// where an edit, a compaction or the beginning comes first, and only a projection can tell.
    pub fn recent_context_tokens(&self) -> Result<Option<u64>, SessionError> {
        recent_context_tokens(self, self.leaf_id())
    }
}

fn recent_context_tokens<Source: EntrySource>(
    source: &Source,
    leaf: Option<&EntryId>,
) -> Result<Option<u64>, Source::Error> {
    let mut later = 0_u64;
    for step in source.walk(leaf) {
        match step.kind {
            EntryKind::ContextEdit | EntryKind::Compaction => return Ok(None),
            EntryKind::Message(_) | EntryKind::CustomMessage | EntryKind::BranchSummary => {}
            _ => continue,
        }
        let Some(entry) = source.entry(step.id)? else {
            continue;
        };
        for message in Edits::none().show(&entry).messages() {
            if let AgentMessage::Assistant(answer) = message
                && let Some(reported) = reported_tokens(answer)
            {
                return Ok(Some(reported.saturating_add(later)));
            }
            later = later.saturating_add(message_tokens(message));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::context::source::PathEntries;
    use crate::testing::{
        Path, answer, answer_of, compaction, custom_message, metadata, omission, user,
    };

    fn told(path: &Path) -> Option<u64> {
        let leaf = path.entries.last().map(|entry| &entry.id);
        let Ok(tokens) = recent_context_tokens(&PathEntries::new(&path.entries), leaf);
        tokens
    }

    #[test]
    fn the_end_tells_what_a_projection_would() {
        let mut path = Path::of([user("hi"), answer_of("first", 100), user("more")]);
        for entry in [
            custom_message("a note of some length"),
            metadata(),
            answer("reports nothing"),
            answer_of("second", 250),
            user("and then some"),
        ] {
            path.push(entry);
            assert_eq!(told(&path), Some(path.projection().estimate().tokens));
        }
    }

    #[test]
    fn what_changed_after_the_report_is_not_told() {
        let begun = || Path::of([user("hi"), answer_of("first", 100), user("more")]);
        for change in [omission("e0"), compaction("short", "e2")] {
            let mut path = begun();
            path.push(change);
            assert_eq!(told(&path), None);
            path.push(answer_of("second", 50));
            assert_eq!(told(&path), Some(50));
            assert_eq!(path.projection().estimate().tokens, 50);
        }
        assert_eq!(told(&Path::of([user("hi"), answer("silent")])), None);
    }
}
