//! Context size computed from the end of the path. The last response that reports its usage covers
//! everything before it, so if nothing later changed the context, a long conversation need not be
//! read.

use pi_protocol::{AgentMessage, EntryId, EntryKind};
use pi_session::{ContextEdits, EntrySource};

use super::{message_tokens, reported_tokens};

/// Returns the context size from the last reported usage and the messages after it; `None` if
/// an edit, a compaction or the start of the path comes first, which requires a projection.
pub fn recent_context_tokens<Source: EntrySource>(
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
        for message in ContextEdits::none().show(&entry).messages() {
            if let AgentMessage::Assistant(response) = message
                && let Some(reported) = reported_tokens(response)
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
    use pi_session::testing::{
        TestPath, compaction, custom_message, metadata, omission, response, response_with_tokens,
        user,
    };
    use pretty_assertions::assert_eq;

    use super::super::context_tokens;
    use super::*;

    fn recent_tokens(path: &TestPath) -> Option<u64> {
        let leaf = path.entries.last().map(|entry| &entry.id);
        let Ok(tokens) = recent_context_tokens(&pi_session::PathEntries::new(&path.entries), leaf);
        tokens
    }

    #[test]
    fn the_result_matches_the_projection() {
        let mut path = TestPath::of([user("hi"), response_with_tokens("first", 100), user("more")]);
        for entry in [
            custom_message("a note of some length"),
            metadata(),
            response("no usage"),
            response_with_tokens("second", 250),
            user("and then some"),
        ] {
            path.push(entry);
            assert_eq!(
                recent_tokens(&path),
                Some(context_tokens(&path.projection()).tokens)
            );
        }
    }

    #[test]
    fn changes_after_the_report_require_a_projection() {
        let begun = || TestPath::of([user("hi"), response_with_tokens("first", 100), user("more")]);
        for change in [omission("e0"), compaction("short", "e2")] {
            let mut path = begun();
            path.push(change);
            assert_eq!(recent_tokens(&path), None);
            path.push(response_with_tokens("second", 50));
            assert_eq!(recent_tokens(&path), Some(50));
            assert_eq!(context_tokens(&path.projection()).tokens, 50);
        }
        assert_eq!(
            recent_tokens(&TestPath::of([user("hi"), response("no usage")])),
            None
        );
    }
}
