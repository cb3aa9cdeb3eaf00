//! Sessions written by the TypeScript pi, with its summaries and contexts.
//! `tests/fixtures/reference` contains session files of its runs and the expected results computed
//! by its code; prompts and tool descriptions are replaced by placeholders.

use std::collections::HashMap;
use std::sync::Arc;

use pi_protocol::{CompactionEntry, Entry, EntryBody, EntryId};
use pi_session::testing::model;
use pi_session::{BranchSummary, PathSettings, project_path};
use pretty_assertions::assert_eq;
use serde::Deserialize;
use serde_json::Value;

use super::{keeping, summarizer, summary, text};
use crate::branch_summary::{AbandonedBranch, BranchSummaryPlan};
use crate::compaction::prompt::SummaryInstructions;
use crate::compaction::request::{SummaryPurpose, SummaryRequest};
use crate::compaction::{CompactionPlan, SummaryAuthor};

const CASES: [&str; 14] = [
    "compact-again",
    "compact-between-turns",
    "compact-files",
    "compact-manual",
    "compact-overflow",
    "compact-split",
    "compact-threshold",
    "ext-compact",
    "ext-tree",
    "length-recovery",
    "session-continue-model",
    "session-v1",
    "session-v2",
    "session-v3-entries",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    keep_recent_tokens: u64,
    summaries: Vec<ExpectedSummary>,
    context: Value,
    model: Value,
    thinking_level: String,
}

/// The conversations that were summarized for one entry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExpectedSummary {
    entry: String,
    history: Option<String>,
    turn_prefix: Option<String>,
    previous: Option<String>,
    branch: Option<String>,
}

struct ReferenceSession {
    entries: Vec<Arc<Entry>>,
    expected: Expected,
}

impl ReferenceSession {
    fn read(name: &str) -> Self {
        let file = |extension: &str| {
            let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/reference");
            std::fs::read_to_string(format!("{directory}/{name}.{extension}")).unwrap()
        };
        let entries = file("jsonl");
        let entries = entries.lines().skip(1);
        Self {
            entries: entries
                .map(|line| Arc::new(serde_json::from_str(line).unwrap()))
                .collect(),
            expected: serde_json::from_str(&file("expected.json")).unwrap(),
        }
    }

    /// Returns the path to an entry, root first.
    fn path_to(&self, leaf: Option<&EntryId>) -> Vec<Arc<Entry>> {
        let by_id: HashMap<&EntryId, &Arc<Entry>> = self
            .entries
            .iter()
            .map(|entry| (&entry.id, entry))
            .collect();
        let mut path = Vec::new();
        let mut next = leaf;
        while let Some(entry) = next.and_then(|id| by_id.get(id)) {
            path.push(Arc::clone(entry));
            next = entry.parent_id.as_ref();
        }
        path.reverse();
        path
    }
}

/// Converts a value to JSON with numbers formatted as in the expectation.
fn as_javascript(value: &impl serde::Serialize) -> Value {
    serde_json::from_str(&pi_protocol::json::to_string(value).unwrap()).unwrap()
}

#[test]
fn contexts_match() {
    for name in CASES {
        let session = ReferenceSession::read(name);
        let path = session.path_to(session.entries.last().map(|entry| &entry.id));
        let projection = project_path(&path);
        let messages: Vec<_> = projection.messages().collect();
        assert_eq!(as_javascript(&messages), session.expected.context, "{name}");
        let settings = PathSettings::of_path(&path);
        assert_eq!(
            settings.thinking_level, session.expected.thinking_level,
            "{name}"
        );
        let model = settings.model.unwrap();
        assert_eq!(
            session.expected.model["provider"], *model.provider,
            "{name}"
        );
        assert_eq!(session.expected.model["modelId"], *model.model_id, "{name}");
    }
}

#[test]
fn compactions_and_branch_summaries_match() {
    let mut count = 0;
    for name in CASES {
        let session = ReferenceSession::read(name);
        for expected in &session.expected.summaries {
            let id = EntryId::from(expected.entry.as_str());
            let entry = session.entries.iter().find(|entry| entry.id == id).unwrap();
            match &entry.body {
                EntryBody::Compaction(written) => {
                    check_compaction(name, &session, entry, written, expected);
                }
                EntryBody::BranchSummary(_) => check_branch(name, &session, entry, expected),
                other => panic!("{name}: {other:?}"),
            }
            count += 1;
        }
    }
    assert_eq!(count, 12);
}

/// Plans the compaction again, uses the recorded summaries as responses, and compares the result.
fn check_compaction(
    name: &str,
    session: &ReferenceSession,
    entry: &Entry,
    written: &CompactionEntry,
    expected: &ExpectedSummary,
) {
    let path = session.path_to(entry.parent_id.as_ref());
    let projection = project_path(&path);
    let settings = keeping(session.expected.keep_recent_tokens);
    let plan = CompactionPlan::new(&projection, &settings).unwrap();
    assert_eq!(plan.previous_summary, expected.previous, "{name}");
    let requests = plan.requests(&summarizer(&model()), None);
    let conversation_of = |purpose| {
        let request = requests.iter().find(|request| request.purpose == purpose);
        request.map(conversation)
    };
    assert_eq!(
        conversation_of(SummaryPurpose::History),
        expected.history,
        "{name}"
    );
    assert_eq!(
        conversation_of(SummaryPurpose::TurnPrefix),
        expected.turn_prefix,
        "{name}"
    );
    if written.from_hook == Some(true) {
        return;
    }
    let responses: Vec<_> = requests
        .iter()
        .map(|request| summary(request.purpose, model_text(written, request.purpose), 1))
        .collect();
    let result = plan.finish(&responses).unwrap();
    let now_ms = entry.timestamp_ms().unwrap();
    let mut entry_body = result.into_entry(&projection, SummaryAuthor::Pi, now_ms);
    entry_body.usage.clone_from(&written.usage);
    assert_eq!(
        as_javascript(&EntryBody::Compaction(entry_body)),
        as_javascript(&entry.body),
        "{name}"
    );
}

/// Returns the part of a summary that the model wrote.
fn model_text(written: &CompactionEntry, purpose: SummaryPurpose) -> &str {
    let files = written
        .summary
        .find("\n\n<read-files>")
        .unwrap_or(written.summary.len());
    let (text, _) = written.summary.split_at(files);
    let separator = "\n\n---\n\n**Turn Context (split turn):**\n\n";
    match (text.split_once(separator), purpose) {
        (Some((_, prefix)), SummaryPurpose::TurnPrefix) => prefix,
        (Some((history, _)), _) => history,
        (None, _) => text,
    }
}

fn check_branch(name: &str, session: &ReferenceSession, entry: &Entry, expected: &ExpectedSummary) {
    let EntryBody::BranchSummary(written) = &entry.body else {
        panic!("{name}: not a branch summary");
    };
    let old = session.path_to(Some(&written.from_id));
    let target = session.path_to(entry.parent_id.as_ref());
    let left = AbandonedBranch {
        entries: old
            .iter()
            .filter(|entry| !target.contains(entry))
            .cloned()
            .collect(),
        common_ancestor_id: entry.parent_id.clone(),
    };
    let model = model();
    let plan = BranchSummaryPlan::new(&left, &model, 100).unwrap();
    let request = plan.request(&summarizer(&model), SummaryInstructions::Default);
    assert_eq!(Some(conversation(&request)), expected.branch, "{name}");
    let mut summary_entry = plan.finish(&summary(SummaryPurpose::Branch, &written.summary, 1));
    // The lead before the summary differs between implementations.
    assert!(summary_entry.summary.ends_with(&written.summary), "{name}");
    summary_entry.summary.clone_from(&written.summary);
    summary_entry.usage.clone_from(&written.usage);
    let expected = BranchSummary {
        summary: written.summary.clone(),
        details: written.details.clone(),
        usage: written.usage.clone(),
        from_hook: written.from_hook,
    };
    assert_eq!(summary_entry, expected, "{name}");
}

fn conversation(request: &SummaryRequest) -> String {
    let text = text(request);
    let (_, rest) = text.split_once("<conversation>\n").unwrap();
    rest.split_once("\n</conversation>").unwrap().0.to_owned()
}
