//! What holds for every compaction of any path.

use std::collections::HashSet;
use std::sync::Arc;

use pi_ai::AgentMessage;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{keeping, summary, words};
use crate::compaction::request::SummaryPurpose;
use crate::compaction::{CompactionPlan, SummaryAuthor};
use crate::context::{Projection, project_path};
use crate::entry::{Entry, EntryBody, EntryId};
use crate::testing::{
    Path, answer_of, calling, compaction, custom_message, metadata, omission, replacement, result,
    user,
};

/// One step of a conversation.
#[derive(Debug, Clone)]
enum Move {
    Say(usize),
    Answer {
        size: usize,
        reported: u64,
    },
    /// Calls and their results; something may come in while the tools run.
    Work {
        calls: usize,
        size: usize,
        interrupted: bool,
    },
    /// An attempt with calls that is left out afterwards.
    Fail {
        calls: usize,
    },
    Metadata,
    System,
    Edit(Index),
    /// A compaction of an extension, which may keep from anywhere.
    Cut(Index),
    /// A compaction of our own.
    Compact(u64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let size = 0_usize..40;
    let one = prop_oneof![
        4 => size.clone().prop_map(Move::Say),
        4 => (size.clone(), 0_u64..200).prop_map(|(size, reported)| Move::Answer { size, reported }),
        4 => (1_usize..4, size, any::<bool>()).prop_map(|(calls, size, interrupted)| Move::Work { calls, size, interrupted }),
        1 => (0_usize..3).prop_map(|calls| Move::Fail { calls }),
        2 => Just(Move::Metadata),
        1 => Just(Move::System),
        1 => any::<Index>().prop_map(Move::Edit),
        1 => any::<Index>().prop_map(Move::Cut),
        1 => (0_u64..100).prop_map(Move::Compact),
    ];
    prop::collection::vec(one, 0..30)
}

fn play(moves: &[Move]) -> Path {
    let mut path = Path::default();
    for step in moves {
        apply(&mut path, step);
    }
    path
}

fn apply(path: &mut Path, step: &Move) {
    match step {
        Move::Say(size) => {
            path.push(user(&words(*size)));
        }
        Move::Answer { size, reported } => {
            path.push(answer_of(&words(*size), *reported));
        }
        Move::Work {
            calls,
            size,
            interrupted,
        } => {
            let ids = push_calls(path, *calls);
            if *interrupted {
                path.push(custom_message(&words(*size)));
            }
            for id in ids {
                path.push(result(&id, &words(*size)));
            }
        }
        Move::Fail { calls } => {
            let first = path.entries.len();
            for id in push_calls(path, *calls) {
                path.push(result(&id, "r"));
            }
            for position in first..path.entries.len() {
                path.push(omission(&format!("e{position}")));
            }
        }
        Move::Metadata => {
            path.push(metadata());
        }
        Move::System => {
            path.push(json!({"role": "system", "content": "more"}));
        }
        Move::Edit(index) => edit_input(path, *index),
        Move::Cut(index) if !path.entries.is_empty() => {
            let kept = index.get(&path.entries).id.to_string();
            path.push(compaction("extension's", &kept));
        }
        Move::Cut(_) => {}
        Move::Compact(keep) => compact(path, *keep),
    }
}

fn push_calls(path: &mut Path, count: usize) -> Vec<String> {
    let position = path.entries.len();
    let ids: Vec<String> = (0..count)
        .map(|call| format!("c{position}-{call}"))
        .collect();
    path.push(calling(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    ids
}

fn edit_input(path: &mut Path, index: Index) {
    let said: Vec<&Arc<Entry>> = path
        .entries
        .iter()
        .filter(|entry| matches!(entry.body.as_message(), Some(AgentMessage::User(_))))
        .collect();
    if !said.is_empty() {
        let target = index.get(&said).id.to_string();
        path.push(replacement(&target, &json!(words(3))));
    }
}

/// Compacts a path as a session would.
fn compact(path: &mut Path, keep: u64) {
    let projection = path.projection();
    let Ok(plan) = CompactionPlan::new(&projection, &keeping(keep)) else {
        return;
    };
    let summaries = [
        summary(SummaryPurpose::History, "history", 1),
        summary(SummaryPurpose::TurnPrefix, "beginning", 1),
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
        AgentMessage::Assistant(answer) => {
            calls.extend(answer.tool_calls().map(|call| call.id.clone()));
            false
        }
        AgentMessage::ToolResult(result) => !calls.contains(&result.tool_call_id),
        _ => false,
    })
}

/// Returns the entries that show something, without prompts and compactions.
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
    fn a_compacted_context_has_no_result_without_its_call(moves in moves(), keep in 0_u64..100) {
        let mut path = play(&moves);
        prop_assert!(!has_orphaned_result(&path.projection()));
        compact(&mut path, keep);
        prop_assert!(!has_orphaned_result(&path.projection()));
    }

    #[test]
    fn every_entry_is_summarized_or_kept(moves in moves(), keep in 0_u64..100) {
        let mut path = play(&moves);
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
    fn planning_twice_gives_the_same(moves in moves(), keep in 0_u64..100) {
        let path = play(&moves);
        let once = CompactionPlan::new(&path.projection(), &keeping(keep));
        let again = CompactionPlan::new(&project_path(&path.entries), &keeping(keep));
        prop_assert_eq!(once, again);
    }

    #[test]
    fn compacting_again_at_once_is_refused(moves in moves(), keep in 0_u64..100) {
        let mut path = play(&moves);
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
