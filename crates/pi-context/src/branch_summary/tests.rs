//! Contents, budget and placement of branch summaries.

use std::collections::HashMap;
use std::convert::Infallible;

use pi_protocol::{AssistantMessage, CacheRetention, ThinkingLevel};
use pi_session::EntryMetadata;
use pi_session::testing::{
    TestPath, compaction, custom_message, described, metadata, model, omission, replacement,
    response, result, tool_calls, user,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::compaction::request::{SummaryError, SummaryPurpose};

/// Returns a text of this many tokens.
fn text_of(tokens: usize) -> String {
    "abcd".repeat(tokens)
}

fn branch(entries: Vec<Value>) -> AbandonedBranch {
    AbandonedBranch {
        entries: TestPath::of(entries).entries,
        common_ancestor_id: None,
    }
}

/// Returns the messages summarized within a budget of tokens.
fn summarized_within(entries: Vec<Value>, budget: u64) -> Vec<String> {
    let plan = BranchSummaryPlan::new(&branch(entries), &model(), 1000 - budget);
    plan.map_or_else(Vec::new, |plan| described(plan.messages()))
}

struct EntryTree(HashMap<EntryId, Arc<Entry>>);

impl EntrySource for EntryTree {
    type Error = Infallible;

    fn metadata(&self, id: &EntryId) -> Option<EntryMetadata<'_>> {
        self.0.get(id).map(|entry| EntryMetadata {
            parent_id: entry.parent_id.as_ref(),
            kind: entry.body.kind(),
        })
    }

    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, Infallible> {
        Ok(self.0.get(id).cloned())
    }
}

/// The old leaf, the target, the abandoned entries and the common ancestor.
type NavigationCase = (
    Option<&'static str>,
    &'static str,
    &'static [&'static str],
    Option<&'static str>,
);

#[test]
fn the_abandoned_branch_starts_below_the_common_ancestor() {
    let entry = |(id, parent): (&str, Option<&str>)| {
        let entry: Entry = serde_json::from_value(
            json!({"type": "message", "id": id, "parentId": parent, "message": user(id)}),
        )
        .unwrap();
        (entry.id.clone(), Arc::new(entry))
    };
    let links = [
        ("a", None),
        ("b", Some("a")),
        ("c", Some("b")),
        ("d", Some("c")),
        ("e", Some("a")),
        ("f", Some("e")),
        ("other-root", None),
    ];
    let tree = EntryTree(links.into_iter().map(entry).collect());
    let cases: [NavigationCase; 7] = [
        (Some("d"), "f", &["b", "c", "d"], Some("a")),
        (Some("f"), "d", &["e", "f"], Some("a")),
        (Some("d"), "b", &["c", "d"], Some("b")),
        (Some("b"), "d", &[], Some("b")),
        (Some("d"), "other-root", &["a", "b", "c", "d"], None),
        (Some("d"), "unknown", &["a", "b", "c", "d"], None),
        (None, "d", &[], None),
    ];
    for (old_leaf, target, expected, ancestor) in cases {
        let old_leaf = old_leaf.map(EntryId::from);
        let Ok(abandoned) =
            AbandonedBranch::collect(&tree, old_leaf.as_ref(), &EntryId::from(target));
        let ids: Vec<&str> = abandoned
            .entries
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        assert_eq!(ids, expected, "to {target}");
        assert_eq!(abandoned.common_ancestor_id, ancestor.map(EntryId::from));
    }
}

#[test]
fn results_prompts_and_metadata_are_excluded() {
    let entries = vec![
        json!({"role": "system", "content": "p"}),
        user("u"),
        tool_calls(&["a"]),
        result("a", "r"),
        metadata(),
        custom_message("c"),
        json!({"role": "bashExecution", "command": "ls", "output": ""}),
        json!({"role": "bashExecution", "command": "secret", "output": "", "excludeFromContext": true}),
        json!({"type": "branch_summary", "fromId": "x", "summary": "b"}),
        compaction("s", "e0"),
        user("omitted"),
        omission("e10"),
        user("old text"),
        replacement("e12", &json!("new text")),
    ];
    assert_eq!(
        summarized_within(entries, 500),
        [
            "user u",
            "assistant [call<a>]",
            "custom c",
            "bashExecution ls",
            "branchSummary b",
            "compactionSummary s",
            "user new text",
        ]
    );
    assert_eq!(
        summarized_within(vec![metadata(), result("a", "r")], 500),
        [""; 0]
    );
}

#[test]
fn the_newest_messages_that_fit_are_summarized() {
    let path = || {
        vec![
            user(&text_of(10)),
            response("b"),
            user(&text_of(20)),
            response("d"),
        ]
    };
    for (budget, count) in [(32, 4), (31, 3), (21, 2), (20, 1), (1, 1)] {
        let summarized = summarized_within(path(), budget);
        assert_eq!(summarized.len(), count, "{budget}");
        assert_eq!(summarized.last().map(String::as_str), Some("assistant [d]"));
    }
}

#[test]
fn a_summary_may_exceed_the_budget_while_there_is_room() {
    let summaries = [
        compaction(&text_of(50), "none"),
        json!({"type": "branch_summary", "fromId": "x", "summary": text_of(50)}),
    ];
    for summary in summaries {
        for (recent, expected) in [(8, 2), (9, 1)] {
            let path = vec![user("old"), summary.clone(), user(&text_of(recent))];
            assert_eq!(summarized_within(path, 10).len(), expected, "{recent}");
        }
    }
}

#[test]
fn a_small_window_still_leaves_room() {
    let mut small = model();
    small.context_window = 100;
    let abandoned = branch(vec![user(&text_of(30)), user(&text_of(30))]);
    let plan = BranchSummaryPlan::new(&abandoned, &small, 16_384).unwrap();
    assert_eq!((plan.messages().count(), plan.tokens), (1, 30));
    small.context_window = 0;
    let plan = BranchSummaryPlan::new(&abandoned, &small, 16_384).unwrap();
    assert_eq!(plan.messages().count(), 2);
}

#[test]
fn files_of_the_branch_and_its_summaries_are_listed() {
    let summary = |path: &str, from_hook: bool| {
        json!({"type": "branch_summary", "fromId": "x", "summary": "b", "fromHook": from_hook,
            "details": {"readFiles": [path], "modifiedFiles": []}})
    };
    let entries = vec![
        summary("nested", false),
        summary("extension", true),
        tool_calls(&["too-old"]),
        tool_calls(&["first-that-does-not-fit"]),
        tool_calls(&["recent"]),
    ];
    let tokens = message_tokens(
        TestPath::of([tool_calls(&["recent"])]).entries[0]
            .body
            .as_message()
            .unwrap(),
    );
    let plan = BranchSummaryPlan::new(&branch(entries), &model(), 1000 - tokens).unwrap();
    assert_eq!(
        plan.files.lists().read,
        ["first-that-does-not-fit", "nested", "recent"]
    );
}

fn summarizer(model: &Model) -> Summarizer<'_> {
    Summarizer {
        model,
        thinking_level: ThinkingLevel::High,
        now_ms: 7,
    }
}

#[test]
fn the_request_is_uncached_and_uses_the_thinking_level_of_the_session() {
    let plan =
        BranchSummaryPlan::new(&branch(vec![user("hi"), response("yes")]), &model(), 100).unwrap();
    let request = plan.request(&summarizer(&model()), SummaryInstructions::Default);
    assert_eq!(request.purpose, SummaryPurpose::Branch);
    assert_eq!(request.cache_retention, CacheRetention::None);
    assert_eq!(request.reasoning, ThinkingLevel::High);
    let text = serde_json::to_value(&request.messages[1]).unwrap();
    let text = text["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("<conversation>\n[User]: hi\n\n[Assistant]: yes\n</conversation>\n\n")
    );
}

#[test]
fn the_stored_summary_starts_with_a_lead() {
    let read: AssistantMessage = serde_json::from_value(json!({"stopReason": "stop",
        "content": [{"type": "text", "text": "## Goal"}], "usage": {"input": 3}}))
    .unwrap();
    let plan = BranchSummaryPlan::new(&branch(vec![tool_calls(&["f"])]), &model(), 100).unwrap();
    let request = plan.request(&summarizer(&model()), SummaryInstructions::Default);
    assert_eq!(
        plan.finish(&request.read(&read).unwrap()),
        BranchSummary {
            summary: format!("{LEAD}## Goal\n\n<read-files>\nf\n</read-files>"),
            details: Some(json!({"readFiles": ["f"], "modifiedFiles": []})),
            usage: Some(read.usage.clone()),
            from_hook: Some(false),
        }
    );
    let aborted = AssistantMessage {
        stop_reason: pi_protocol::StopReason::Aborted,
        ..read
    };
    assert_eq!(request.read(&aborted), Err(SummaryError::Aborted));
}

#[test]
fn navigating_to_a_resendable_message_selects_its_parent() {
    let blocks = json!([{"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "i"}, {"type": "text", "text": "b"}]);
    let cases = [
        (user("again"), Some("e0"), Some("again")),
        (
            json!({"role": "user", "content": blocks}),
            Some("e0"),
            Some("ab"),
        ),
        (custom_message("note"), Some("e0"), Some("note")),
        (response("x"), Some("e1"), None),
        (metadata(), Some("e1"), None),
    ];
    for (target, leaf, editor_text) in cases {
        let path = TestPath::of([response("first"), target]);
        let expected = NavigationTarget {
            leaf: leaf.map(EntryId::from),
            editor_text: editor_text.map(str::to_owned),
        };
        assert_eq!(NavigationTarget::of(&path.entries[1]), expected);
    }
    let root = TestPath::of([user("first")]);
    assert_eq!(NavigationTarget::of(&root.entries[0]).leaf, None);
}
