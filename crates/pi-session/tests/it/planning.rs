//! A session is projected, compacted and left for another branch, on a real file.

use pi_ai::{AgentMessage, AssistantMessage, Model, ThinkingLevel};
use pi_session::{
    BranchSummaryPlan, CompactionPlan, CompactionSettings, Entry, EntryBody, NavigationTarget, AbandonedBranch,
    Session, Summarizer, SummaryAuthor, SummaryInstructions, SummaryRequest, project_path,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::scratch::{Scratch, open};

const SETTINGS: CompactionSettings = CompactionSettings {
    enabled: true,
    reserve_tokens: 16_384,
    keep_recent_tokens: 20,
};

fn model() -> Model {
    serde_json::from_value(json!({
        "id": "alpha", "name": "Alpha", "api": "a", "provider": "mock", "baseUrl": "",
        "reasoning": false, "input": ["text"], "contextWindow": 200_000, "maxTokens": 8192,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    }))
    .unwrap()
}

fn say(session: &mut Session, message: Value) -> std::sync::Arc<Entry> {
    let message: AgentMessage = serde_json::from_value(message).unwrap();
    session.append_message(message).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": 1})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "mock",
        "model": "alpha", "stopReason": "stop", "timestamp": 1})
}

/// Answers a request for a summary.
fn summarized(request: &SummaryRequest, text: &str) -> pi_session::Summary {
    let answer: AssistantMessage = serde_json::from_value(answer(text)).unwrap();
    request.read(&answer).unwrap()
}

fn texts(session: &Session) -> Vec<String> {
    let projection = session.projection().unwrap();
    let messages = pi_session::to_model_messages(projection.messages());
    let said = messages.iter().map(|message| {
        let value = serde_json::to_value(message).unwrap();
        match &value["content"] {
            Value::String(text) => text.clone(),
            blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
        }
    });
    said.collect()
}

#[test]
fn a_session_goes_on_from_its_compaction_after_reopening() {
    let scratch = Scratch::new();
    let path = scratch.write("s.jsonl", "");
    let mut session = open(&path).unwrap();
    say(&mut session, user("first"));
    say(&mut session, answer("one"));
    say(&mut session, user(&"recent ".repeat(20)));
    say(&mut session, answer("two"));

    let projection = session.projection().unwrap();
    let plan = CompactionPlan::new(&projection, &SETTINGS).unwrap();
    let model = model();
    let summarizer = Summarizer {
        model: &model,
        thinking_level: ThinkingLevel::Off,
        now_ms: 1,
    };
    let summaries: Vec<_> = plan
        .requests(&summarizer, None)
        .iter()
        .map(|request| summarized(request, "SUMMARY"))
        .collect();
    let result = plan.finish(&summaries).unwrap();
    let entry = result.into_entry(&projection, SummaryAuthor::Pi, 1);
    session.append(EntryBody::Compaction(entry)).unwrap();
    say(&mut session, user("next"));
    drop(session);

    let session = open(&path).unwrap();
    let said = texts(&session);
    assert_eq!(said.len(), 4);
    assert!(
        said[0].contains("<summary>\nSUMMARY\n</summary>"),
        "{}",
        said[0]
    );
    assert!(said[1].starts_with("recent "));
    assert_eq!(said[2..], ["two", "next"]);
    assert_eq!(
        session.projection().unwrap(),
        project_path(&session.branch_entries().unwrap())
    );
    let settings = session.path_settings().unwrap();
    assert_eq!(settings.model.unwrap().model_id, "alpha");
}

#[test]
fn a_branch_that_is_left_is_told_at_the_landing() {
    let scratch = Scratch::new();
    let mut session = open(&scratch.write("s.jsonl", "")).unwrap();
    say(&mut session, user("first"));
    let fork = say(&mut session, answer("one"));
    let target = say(&mut session, user("second"));
    let old_leaf = say(&mut session, answer("two"));

    let left = AbandonedBranch::collect(&session, session.leaf_id(), &target.id).unwrap();
    assert_eq!(left.entries.as_slice(), std::slice::from_ref(&old_leaf));
    let landing = NavigationTarget::of(&target);
    assert_eq!(landing.leaf.as_ref(), Some(&fork.id));
    assert_eq!(landing.editor_text.as_deref(), Some("second"));

    let model = model();
    let plan = BranchSummaryPlan::new(&left, &model, 100).unwrap();
    let summarizer = Summarizer {
        model: &model,
        thinking_level: ThinkingLevel::High,
        now_ms: 1,
    };
    let request = plan.request(&summarizer, SummaryInstructions::Focus("the names"));
    let summary = plan.finish(&summarized(&request, "BRANCH"));
    let stored = session
        .branch_with_summary(landing.leaf.as_ref(), summary)
        .unwrap();
    assert_eq!(stored.parent_id.as_ref(), Some(&fork.id));
    let EntryBody::BranchSummary(stored) = &stored.body else {
        panic!("not a branch summary: {stored:?}");
    };
    assert_eq!(stored.from_id, old_leaf.id);
    let said = texts(&session);
    assert_eq!(said[..2], ["first", "one"]);
    assert!(said[2].contains("BRANCH</summary>"), "{}", said[2]);
}
