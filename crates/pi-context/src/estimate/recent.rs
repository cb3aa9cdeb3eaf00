//! Context size computed from the end of the path. The last response that reports its usage covers
//! everything before it, so if nothing later changed the context, a long conversation need not be
//! read. Without a report, messages are estimated one at a time, so that the conversation is never in
//! memory as a whole.

use std::sync::Arc;

use pi_protocol::estimate::assistant_tokens;
use pi_protocol::transcript::current_system_message;
use pi_protocol::{AgentMessage, Entry, EntryBody, EntryId, EntryKind, Message};
use pi_session::{ContextEdits, EntrySource};

use super::{message_tokens, reported_tokens, system_tokens};

/// Returns the context size from the last reported usage and the messages after it, or from all
/// messages if none reports usage. Returns `None` if an edit or a compaction comes first, which
/// requires a projection.
pub fn recent_context_tokens<Source: EntrySource>(
    source: &Source,
    leaf: Option<&EntryId>,
) -> Result<Option<u64>, Source::Error> {
    let mut later = 0_u64;
    let mut systems = Vec::new();
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
            if let AgentMessage::System(system) = message {
                systems.push(Message::System(Arc::clone(system)));
            }
            later = later.saturating_add(message_tokens(message));
        }
    }
    // Only the prompt that results from replaying all system messages counts.
    let replaced: u64 = systems.iter().map(system_message_tokens).sum();
    systems.reverse();
    let current = current_system_message(&systems);
    let current = current.as_ref().map_or(0, system_tokens);
    Ok(Some(later.saturating_sub(replaced).saturating_add(current)))
}

fn system_message_tokens(message: &Message) -> u64 {
    match message {
        Message::System(system) => system_tokens(system),
        _ => 0,
    }
}

/// Returns the context size after an entry was appended to a context of a known size; `None` if the
/// entry changes what precedes it.
pub fn context_tokens_after(tokens: u64, entry: &Arc<Entry>) -> Option<u64> {
    match &entry.body {
        EntryBody::ContextEdit(_)
        | EntryBody::Compaction(_)
        | EntryBody::Message(AgentMessage::System(_)) => None,
        EntryBody::Message(AgentMessage::Assistant(response)) => {
            let reported = reported_tokens(response);
            Some(reported.unwrap_or_else(|| tokens.saturating_add(assistant_tokens(response))))
        }
        _ => {
            let shown = ContextEdits::none().show(entry);
            let added = shown.messages().iter().map(message_tokens).sum();
            Some(tokens.saturating_add(added))
        }
    }
}

#[cfg(test)]
mod tests {
    use pi_session::testing::{
        TestPath, compaction, custom_message, metadata, omission, response, response_with_tokens,
        user,
    };
    use pretty_assertions::assert_eq;
    use serde_json::json;

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
            let before = recent_tokens(&path.clone()).unwrap();
            path.push(entry);
            let after = Some(context_tokens(&path.projection()).tokens);
            assert_eq!(recent_tokens(&path), after);
            let last = path.entries.last().unwrap();
            assert_eq!(context_tokens_after(before, last), after);
        }
    }

    #[test]
    fn without_a_report_all_messages_are_estimated() {
        let mut path = TestPath::of([user("hi")]);
        let system = json!({"role": "system", "content": "Be brief."});
        for entry in [
            response("no usage"),
            custom_message("a note"),
            metadata(),
            system.clone(),
            system,
        ] {
            path.push(entry);
            let expected = Some(context_tokens(&path.projection()).tokens);
            assert_eq!(recent_tokens(&path), expected);
        }
        assert_eq!(recent_tokens(&TestPath::of([])), Some(0));
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
    }
}
