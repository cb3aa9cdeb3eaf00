//! What is told of a branch, within which budget, and where it goes.

use std::collections::HashMap;
use std::convert::Infallible;

use pi_ai::{AssistantMessage, CacheRetention, ThinkingLevel};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::compaction::request::{SummaryError, SummaryPurpose};
use crate::context::EntryMetadata;
use crate::testing::{
    Path, answer, calling, compaction, custom_message, described, metadata, model, omission,
    replacement, result, user,
};

/// Text of so many tokens.
fn words(tokens: usize) -> String {
    "abcd".repeat(tokens)
}

fn branch(entries: Vec<Value>) -> AbandonedBranch {
    AbandonedBranch {
        entries: Path::of(entries).entries,
        common_ancestor_id: None,
    }
}

/// What is told of a branch within a budget of tokens.
fn told_within(entries: Vec<Value>, budget: u64) -> Vec<String> {
    let plan = BranchSummaryPlan::new(&branch(entries), &model(), 1000 - budget);
    plan.map_or_else(Vec::new, |plan| described(plan.messages()))
}

struct Tree(HashMap<EntryId, Arc<Entry>>);

impl EntrySource for Tree {
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

/// The leaf, the target, what is left and the common ancestor.
type Departure = (
    Option<&'static str>,
    &'static str,
    &'static [&'static str],
    Option<&'static str>,
);

#[test]
fn the_branch_goes_from_below_the_common_ancestor_to_the_old_leaf() {
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
    let tree = Tree(links.into_iter().map(entry).collect());
    let cases: [Departure; 7] = [
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
        let Ok(left) = AbandonedBranch::collect(&tree, old_leaf.as_ref(), &EntryId::from(target));
        let ids: Vec<&str> = left.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, expected, "to {target}");
        assert_eq!(left.common_ancestor_id, ancestor.map(EntryId::from));
    }
}

#[test]
fn results_prompts_and_metadata_are_not_told() {
    let entries = vec![
        json!({"role": "system", "content": "p"}),
        user("u"),
        calling(&["a"]),
        result("a", "r"),
        metadata(),
        custom_message("c"),
        json!({"role": "bashExecution", "command": "ls", "output": ""}),
        json!({"role": "bashExecution", "command": "secret", "output": "", "excludeFromContext": true}),
        json!({"type": "branch_summary", "fromId": "x", "summary": "b"}),
        compaction("s", "e0"),
        user("left out"),
        omission("e10"),
        user("old words"),
        replacement("e12", &json!("new words")),
    ];
    assert_eq!(
        told_within(entries, 500),
        [
            "user u",
            "assistant [call<a>]",
            "custom c",
            "bashExecution ls",
            "branchSummary b",
            "compactionSummary s",
            "user new words",
        ]
    );
    assert_eq!(
        told_within(vec![metadata(), result("a", "r")], 500),
        [""; 0]
    );
}

#[test]
fn the_newest_that_fits_is_told() {
    let path = || vec![user(&words(10)), answer("b"), user(&words(20)), answer("d")];
    for (budget, count) in [(32, 4), (31, 3), (21, 2), (20, 1), (1, 1)] {
        let told = told_within(path(), budget);
        assert_eq!(told.len(), count, "{budget}");
        assert_eq!(told.last().map(String::as_str), Some("assistant [d]"));
    }
}

#[test]
fn a_summary_may_exceed_the_budget_while_there_is_room() {
    let summaries = [
        compaction(&words(50), "none"),
        json!({"type": "branch_summary", "fromId": "x", "summary": words(50)}),
    ];
    for summary in summaries {
        for (recent, expected) in [(8, 2), (9, 1)] {
            let path = vec![user("old"), summary.clone(), user(&words(recent))];
            assert_eq!(told_within(path, 10).len(), expected, "{recent}");
        }
    }
}

#[test]
fn a_small_window_still_leaves_room() {
    let mut small = model();
    small.context_window = 100;
    let left = branch(vec![user(&words(30)), user(&words(30))]);
    let plan = BranchSummaryPlan::new(&left, &small, 16_384).unwrap();
    assert_eq!((plan.messages().count(), plan.tokens), (1, 30));
    small.context_window = 0;
    let plan = BranchSummaryPlan::new(&left, &small, 16_384).unwrap();
    assert_eq!(plan.messages().count(), 2);
}

#[test]
fn files_of_the_branch_and_of_its_summaries_are_listed() {
    let summary = |path: &str, from_hook: bool| {
        json!({"type": "branch_summary", "fromId": "x", "summary": "b", "fromHook": from_hook,
            "details": {"readFiles": [path], "modifiedFiles": []}})
    };
    let entries = vec![
        summary("nested", false),
        summary("extension", true),
        calling(&["too-old"]),
        calling(&["first-that-does-not-fit"]),
        calling(&["recent"]),
    ];
    let tokens = message_tokens(
        Path::of([calling(&["recent"])]).entries[0]
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
fn the_request_is_short_uncached_and_without_thinking() {
    let plan =
        BranchSummaryPlan::new(&branch(vec![user("hi"), answer("yes")]), &model(), 100).unwrap();
    let mut large = model();
    large.max_tokens = 50_000;
    for (model, max_tokens) in [(&model(), 100), (&large, 4096)] {
        let request = plan.request(&summarizer(model), SummaryInstructions::Default);
        assert_eq!(request.purpose, SummaryPurpose::Branch);
        assert_eq!(request.max_tokens, Some(max_tokens));
        assert_eq!(request.cache_retention, CacheRetention::None);
        assert_eq!(request.reasoning, ThinkingLevel::Off);
        let text = serde_json::to_value(&request.messages[1]).unwrap();
        let text = text["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("<conversation>\n[User]: hi\n\n[Assistant]: yes\n</conversation>\n\n")
        );
    }
}

#[test]
fn what_is_stored_leads_with_where_it_comes_from() {
    let read: AssistantMessage = serde_json::from_value(json!({"stopReason": "stop",
        "content": [{"type": "text", "text": "## Goal"}], "usage": {"input": 3}}))
    .unwrap();
    let plan = BranchSummaryPlan::new(&branch(vec![calling(&["f"])]), &model(), 100).unwrap();
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
    let cancelled = AssistantMessage {
        stop_reason: pi_ai::StopReason::Aborted,
        ..read
    };
    assert_eq!(request.read(&cancelled), Err(SummaryError::Aborted));
}

#[test]
fn one_lands_before_what_can_be_said_anew() {
    let blocks = json!([{"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "i"}, {"type": "text", "text": "b"}]);
    let cases = [
        (user("again"), Some("e0"), Some("again")),
        (
            json!({"role": "user", "content": blocks}),
            Some("e0"),
            Some("ab"),
        ),
        (custom_message("note"), Some("e0"), Some("note")),
        (answer("x"), Some("e1"), None),
        (metadata(), Some("e1"), None),
    ];
    for (target, leaf, editor_text) in cases {
        let path = Path::of([answer("first"), target]);
        let landing = NavigationTarget {
            leaf: leaf.map(EntryId::from),
            editor_text: editor_text.map(str::to_owned),
        };
        assert_eq!(NavigationTarget::of(&path.entries[1]), landing);
    }
    let root = Path::of([user("first")]);
    assert_eq!(NavigationTarget::of(&root.entries[0]).leaf, None);
}
