//! Properties of compactions of arbitrary paths.

use std::collections::HashSet;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, EntryBody, EntryId};
use pi_session::testing::{
    TestPath, compaction, custom_message, metadata, omission, replacement, response_with_tokens,
    result, tool_calls, user,
};
use pi_session::{Projection, project_path};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{keeping, summary, text_of};
use crate::compaction::request::SummaryPurpose;
use crate::compaction::{CompactionPlan, SummaryAuthor};

#[derive(Debug, Clone)]
enum ConversationStep {
    User(usize),
    Response {
        size: usize,
        reported: u64,
    },
    /// Tool calls and their results; a message may arrive while the tools run.
    ToolCalls {
        calls: usize,
        size: usize,
        interrupted: bool,
    },
    /// A response with calls that is omitted afterwards.
    FailedAttempt {
        calls: usize,
    },
    Metadata,
    System,
    Edit(Index),
    /// A compaction by an extension, which may keep from any entry.
    ExtensionCompaction(Index),
    /// A compaction by pi.
    Compact(u64),
}

fn steps() -> impl Strategy<Value = Vec<ConversationStep>> {
    let size = 0_usize..40;
    let step = prop_oneof![
        4 => size.clone().prop_map(ConversationStep::User),
        4 => (size.clone(), 0_u64..200).prop_map(|(size, reported)| ConversationStep::Response { size, reported }),
        4 => (1_usize..4, size, any::<bool>()).prop_map(|(calls, size, interrupted)| ConversationStep::ToolCalls { calls, size, interrupted }),
        1 => (0_usize..3).prop_map(|calls| ConversationStep::FailedAttempt { calls }),
        2 => Just(ConversationStep::Metadata),
        1 => Just(ConversationStep::System),
        1 => any::<Index>().prop_map(ConversationStep::Edit),
        1 => any::<Index>().prop_map(ConversationStep::ExtensionCompaction),
        1 => (0_u64..100).prop_map(ConversationStep::Compact),
    ];
    prop::collection::vec(step, 0..30)
}

fn build_path(steps: &[ConversationStep]) -> TestPath {
    let mut path = TestPath::default();
    for step in steps {
        apply(&mut path, step);
    }
    path
}

fn apply(path: &mut TestPath, step: &ConversationStep) {
    match step {
        ConversationStep::User(size) => {
            path.push(user(&text_of(*size)));
        }
        ConversationStep::Response { size, reported } => {
            path.push(response_with_tokens(&text_of(*size), *reported));
        }
        ConversationStep::ToolCalls {
            calls,
            size,
            interrupted,
        } => {
            let ids = push_calls(path, *calls);
            if *interrupted {
                path.push(custom_message(&text_of(*size)));
            }
            for id in ids {
                path.push(result(&id, &text_of(*size)));
            }
        }
        ConversationStep::FailedAttempt { calls } => {
            let first = path.entries.len();
            for id in push_calls(path, *calls) {
                path.push(result(&id, "r"));
            }
            for position in first..path.entries.len() {
                path.push(omission(&format!("e{position}")));
            }
        }
        ConversationStep::Metadata => {
            path.push(metadata());
        }
        ConversationStep::System => {
            path.push(json!({"role": "system", "content": "more"}));
        }
        ConversationStep::Edit(index) => edit_input(path, *index),
        ConversationStep::ExtensionCompaction(index) if !path.entries.is_empty() => {
            let kept = index.get(&path.entries).id.to_string();
            path.push(compaction("by extension", &kept));
        }
        ConversationStep::ExtensionCompaction(_) => {}
        ConversationStep::Compact(keep) => compact(path, *keep),
    }
}

fn push_calls(path: &mut TestPath, count: usize) -> Vec<String> {
    let position = path.entries.len();
    let ids: Vec<String> = (0..count)
        .map(|call| format!("c{position}-{call}"))
        .collect();
    path.push(tool_calls(
        &ids.iter().map(String::as_str).collect::<Vec<_>>(),
    ));
    ids
}

fn edit_input(path: &mut TestPath, index: Index) {
    let user_entries: Vec<&Arc<Entry>> = path
        .entries
        .iter()
        .filter(|entry| matches!(entry.body.as_message(), Some(AgentMessage::User(_))))
        .collect();
    if !user_entries.is_empty() {
        let target = index.get(&user_entries).id.to_string();
        path.push(replacement(&target, &json!(text_of(3))));
    }
}

/// Compacts a path like a session does.
fn compact(path: &mut TestPath, keep: u64) {
    let projection = path.projection();
    let Ok(plan) = CompactionPlan::new(&projection, &keeping(keep)) else {
        return;
    };
    let summaries = [
        summary(SummaryPurpose::History, "history", 1),
        summary(SummaryPurpose::TurnPrefix, "prefix", 1),
    ];
    let needed = summaries.iter().filter(|summary| match summary.purpose {
        SummaryPurpose::History => plan.history_messages().next().is_some(),
        _ => plan.turn_prefix_messages().next().is_some(),
    });
    let result = plan.finish(&needed.cloned().collect::<Vec<_>>()).unwrap();
    let entry = result.into_entry(&projection, SummaryAuthor::Pi, 0);
    let mut fields: Value = serde_json::to_value(EntryBody::Compaction(entry)).unwrap();
    fields["type"] = json!("compaction");
    path.push(fields);
}

fn has_orphaned_result(projection: &Projection) -> bool {
    let mut calls = HashSet::new();
    projection.messages().any(|message| match message {
        AgentMessage::Assistant(response) => {
            calls.extend(response.tool_calls().map(|call| call.id.clone()));
            false
        }
        AgentMessage::ToolResult(result) => !calls.contains(&result.tool_call_id),
        _ => false,
    })
}

/// Returns the entries with messages, except system messages and compactions.
fn shown(projection: &Projection) -> Vec<EntryId> {
    let shown = projection.entries().iter().filter(|entry| {
        let is_compaction = matches!(entry.entry().body, EntryBody::Compaction(_));
        let conversation = |message: &AgentMessage| !matches!(message, AgentMessage::System(_));
        !is_compaction && entry.messages().iter().any(conversation)
    });
    shown.map(|entry| entry.entry().id.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_compacted_context_has_no_orphaned_results(steps in steps(), keep in 0_u64..100) {
        let mut path = build_path(&steps);
        prop_assert!(!has_orphaned_result(&path.projection()));
        compact(&mut path, keep);
        prop_assert!(!has_orphaned_result(&path.projection()));
    }

    #[test]
    fn every_entry_is_summarized_or_kept(steps in steps(), keep in 0_u64..100) {
        let mut path = build_path(&steps);
        let before = path.projection();
        let Ok(plan) = CompactionPlan::new(&before, &keeping(keep)) else {
            return Ok(());
        };
        compact(&mut path, keep);
        let all = shown(&before);
        let kept = shown(&path.projection());
        let summarized = plan.history_messages().count() + plan.turn_prefix_messages().count();
        prop_assert!(summarized > 0);
        prop_assert_eq!(&all[summarized..], kept.as_slice());
    }

    #[test]
    fn planning_is_deterministic(steps in steps(), keep in 0_u64..100) {
        let path = build_path(&steps);
        let once = CompactionPlan::new(&path.projection(), &keeping(keep));
        let again = CompactionPlan::new(&project_path(&path.entries), &keeping(keep));
        prop_assert_eq!(once, again);
    }

    #[test]
    fn compacting_twice_in_a_row_has_no_effect(steps in steps(), keep in 0_u64..100) {
        let mut path = build_path(&steps);
        compact(&mut path, keep);
        let length = path.entries.len();
        compact(&mut path, keep);
        prop_assert!(path.entries.len() <= length + 1);
        let ends_compacted = path
            .entries
            .last()
            .is_some_and(|entry| matches!(entry.body, EntryBody::Compaction(_)));
        if ends_compacted {
            let length = path.entries.len();
            compact(&mut path, keep);
            prop_assert_eq!(path.entries.len(), length);
        }
    }
}
