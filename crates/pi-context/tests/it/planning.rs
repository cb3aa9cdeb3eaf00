//! Projecting, compacting and branching a session in a real file.

use std::fs::File;
use std::path::{Path, PathBuf};

use pi_context::{
    AbandonedBranch, BranchSummaryPlan, CompactionPlan, CompactionSettings, NavigationTarget,
    Summarizer, SummaryAuthor, SummaryInstructions, SummaryRequest,
};
use pi_protocol::{AgentMessage, AssistantMessage, Entry, EntryBody, Model, ThinkingLevel};
use pi_session::{OpenSession, Session, project_path};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;

fn open(path: &Path) -> Session {
    Session::open(path, OpenSession::default()).unwrap()
}

fn create(home: &TempDir) -> PathBuf {
    let path = home.path().join("s.jsonl");
    File::create(&path).unwrap();
    path
}

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

fn append(session: &mut Session, message: Value) -> std::sync::Arc<Entry> {
    let message: AgentMessage = serde_json::from_value(message).unwrap();
    session.append_message(message).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": 1})
}

fn response(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "mock",
        "model": "alpha", "stopReason": "stop", "timestamp": 1})
}

/// Parses a response to a summary request.
fn read_summary(request: &SummaryRequest, text: &str) -> pi_context::Summary {
    let response: AssistantMessage = serde_json::from_value(response(text)).unwrap();
    request.read(&response).unwrap()
}

fn context_texts(session: &Session) -> Vec<String> {
    let projection = session.current_branch().projection().unwrap();
    let messages = pi_context::to_model_messages(projection.messages());
    let texts = messages.iter().map(|message| {
        let value = serde_json::to_value(message).unwrap();
        match &value["content"] {
            Value::String(text) => text.clone(),
            blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
        }
    });
    texts.collect()
}

#[test]
fn a_session_continues_from_its_compaction_after_reopening() {
    let home = TempDir::new().unwrap();
    let path = create(&home);
    let mut session = open(&path);
    append(&mut session, user("first"));
    append(&mut session, response("one"));
    append(&mut session, user(&"recent ".repeat(20)));
    append(&mut session, response("two"));

    let projection = session.current_branch().projection().unwrap();
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
        .map(|request| read_summary(request, "SUMMARY"))
        .collect();
    let result = plan.finish(&summaries).unwrap();
    let entry = result.into_entry(&projection, SummaryAuthor::Pi, 1);
    session.append(EntryBody::Compaction(entry)).unwrap();
    append(&mut session, user("next"));
    drop(session);

    let session = open(&path);
    let texts = context_texts(&session);
    assert_eq!(texts.len(), 4);
    assert!(
        texts[0].contains("<summary>\nSUMMARY\n</summary>"),
        "{}",
        texts[0]
    );
    assert!(texts[1].starts_with("recent "));
    assert_eq!(texts[2..], ["two", "next"]);
    assert_eq!(
        session.current_branch().projection().unwrap(),
        project_path(&session.current_branch().entries().unwrap())
    );
    let settings = session.current_branch().settings().unwrap();
    assert_eq!(settings.model.unwrap().model_id, "alpha");
}

#[test]
fn an_abandoned_branch_is_summarized_at_the_navigation_target() {
    let home = TempDir::new().unwrap();
    let mut session = open(&create(&home));
    append(&mut session, user("first"));
    let fork = append(&mut session, response("one"));
    let target = append(&mut session, user("second"));
    let old_leaf = append(&mut session, response("two"));

    let abandoned =
        AbandonedBranch::collect(session.entries(), session.leaf_id(), &target.id).unwrap();
    assert_eq!(
        abandoned.entries.as_slice(),
        std::slice::from_ref(&old_leaf)
    );
    let destination = NavigationTarget::of(&target);
    assert_eq!(destination.leaf.as_ref(), Some(&fork.id));
    assert_eq!(destination.editor_text.as_deref(), Some("second"));

    let model = model();
    let plan = BranchSummaryPlan::new(&abandoned, &model, 100).unwrap();
    let summarizer = Summarizer {
        model: &model,
        thinking_level: ThinkingLevel::High,
        now_ms: 1,
    };
    let request = plan.request(&summarizer, SummaryInstructions::Focus("the names"));
    let summary = plan.finish(&read_summary(&request, "BRANCH"));
    let stored = session
        .branch_with_summary(destination.leaf.as_ref(), summary)
        .unwrap();
    assert_eq!(stored.parent_id.as_ref(), Some(&fork.id));
    let EntryBody::BranchSummary(stored) = &stored.body else {
        panic!("not a branch summary: {stored:?}");
    };
    assert_eq!(stored.from_id, old_leaf.id);
    let texts = context_texts(&session);
    assert_eq!(texts[..2], ["first", "one"]);
    assert!(texts[2].contains("BRANCH</summary>"), "{}", texts[2]);
}
