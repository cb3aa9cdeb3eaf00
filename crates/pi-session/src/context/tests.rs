//! Rules for building a context, and their cost.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    START_MS, TestPath, compaction, custom_message, described, metadata, omission, replacement,
    response, result, tool_calls, user,
};

fn context(entries: impl IntoIterator<Item = Value>) -> Vec<String> {
    described(TestPath::of(entries).projection().messages())
}

fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

#[test]
fn each_entry_type_shows_its_messages() {
    let cases: [(Value, &[&str]); 12] = [
        (user("hi"), &["user hi"]),
        (response("yes"), &["assistant [yes]"]),
        (result("c", "out"), &["toolResult [out]"]),
        (
            json!({"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": true}),
            &["bashExecution ls"],
        ),
        (custom_message("note"), &["custom note"]),
        (
            json!({"type": "branch_summary", "fromId": "root", "summary": "b"}),
            &["branchSummary b"],
        ),
        (
            json!({"type": "branch_summary", "fromId": "root", "summary": ""}),
            &[],
        ),
        (
            json!({"type": "model_change", "provider": "p", "modelId": "m"}),
            &[],
        ),
        (json!({"type": "label", "targetId": "x", "label": "l"}), &[]),
        (json!({"type": "session_info", "name": "n"}), &[]),
        (metadata(), &[]),
        (
            json!({"type": "from_the_future", "message": {"role": "user", "content": "no"}}),
            &[],
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(context([entry.clone()]), expected, "{entry}");
    }
}

#[test]
fn synthesized_messages_have_the_fields_and_timestamp_of_their_entry() {
    let mut path = TestPath::default();
    path.push(
        json!({"type": "custom_message", "customType": "note", "content": "c",
        "display": false, "details": {"n": 1}}),
    );
    path.push(json!({"type": "branch_summary", "fromId": "e0", "summary": "b"}));
    path.push(compaction("s", "e2"));
    let projection = path.projection();
    let older = project_path(&path.entries[..2]);
    let messages: Vec<Value> = older
        .messages()
        .chain(projection.messages())
        .map(|message| serde_json::to_value(message).unwrap())
        .collect();
    assert_eq!(
        messages,
        [
            json!({"role": "custom", "customType": "note", "content": "c", "display": false,
                "details": {"n": 1}, "timestamp": START_MS}),
            json!({"role": "branchSummary", "summary": "b", "fromId": "e0",
                "timestamp": START_MS + 1000}),
            json!({"role": "compactionSummary", "summary": "s", "tokensBefore": 1,
                "timestamp": START_MS + 2000}),
        ]
    );
}

#[test]
fn a_compaction_precedes_what_it_keeps_and_what_follows() {
    let before = || {
        vec![
            system("old"),
            user("1"),
            response("2"),
            user("3"),
            system("new"),
            response("4"),
        ]
    };
    let after = || vec![user("6"), system("newer"), response("7")];
    let cases: [(&str, &[&str]); 4] = [
        ("e3", &["user 3", "assistant [4]"]),
        (
            "e0",
            &["user 1", "assistant [2]", "user 3", "assistant [4]"],
        ),
        ("e6", &[]),
        ("nowhere", &[]),
    ];
    for (first_kept, kept) in cases {
        let mut expected = vec!["compactionSummary s"];
        expected.extend(kept);
        expected.extend(["user 6", "system newer", "assistant [7]"]);
        let path = before()
            .into_iter()
            .chain([compaction("s", first_kept)])
            .chain(after());
        assert_eq!(context(path), expected, "{first_kept}");
    }
}

#[test]
fn a_compaction_includes_the_current_prompt() {
    let mut entry = compaction("s", "e1");
    entry["systemMessage"] = json!({"role": "system", "content": "prompt"});
    assert_eq!(
        context([system("old"), user("1"), entry, user("3")]),
        ["system prompt", "compactionSummary s", "user 1", "user 3"]
    );
}

#[test]
fn older_and_invalid_compactions_contribute_nothing() {
    let odd = json!({"type": "compaction", "summary": ["not", "text"], "firstKeptEntryId": "e0"});
    assert_eq!(
        context([
            user("0"),
            compaction("older", "e0"),
            user("2"),
            compaction("s", "e0"),
            odd,
            user("5")
        ]),
        ["compactionSummary s", "user 0", "user 2", "user 5"]
    );
}

#[test]
fn a_first_format_compaction_without_a_kept_entry_keeps_none() {
    let entry = json!({"type": "compaction", "summary": "s"});
    assert_eq!(
        context([user("0"), entry, user("2")]),
        ["compactionSummary s", "user 2"]
    );
}

#[test]
fn the_last_edit_of_a_target_applies() {
    let cases: [(&str, Value, Vec<Value>, &[&str]); 12] = [
        ("omitted", user("x"), vec![omission("e0")], &[]),
        (
            "replaced",
            user("x"),
            vec![replacement("e0", &json!("y"))],
            &["user y"],
        ),
        (
            "by blocks",
            user("x"),
            vec![replacement("e0", &json!([{"type": "text", "text": "y"}]))],
            &["user [y]"],
        ),
        (
            "text becomes a block in responses",
            response("x"),
            vec![replacement("e0", &json!("y"))],
            &["assistant [y]"],
        ),
        (
            "and in results",
            result("c", "x"),
            vec![replacement("e0", &json!("y"))],
            &["toolResult [y]"],
        ),
        (
            "extension's",
            custom_message("x"),
            vec![replacement("e0", &json!("y"))],
            &["custom y"],
        ),
        (
            "extension's omitted",
            custom_message("x"),
            vec![omission("e0")],
            &[],
        ),
        (
            "omitted, then replaced",
            user("x"),
            vec![omission("e0"), replacement("e0", &json!("y"))],
            &["user y"],
        ),
        (
            "replaced, then omitted",
            user("x"),
            vec![replacement("e0", &json!("y")), omission("e0")],
            &[],
        ),
        (
            "not content",
            user("x"),
            vec![replacement("e0", &json!(7))],
            &["user []"],
        ),
        (
            "not an edit",
            user("x"),
            vec![json!({"type": "context_edit", "targetId": "e0", "replacement": "y"})],
            &["user x"],
        ),
        (
            "other roles",
            json!({"type": "branch_summary", "fromId": "r", "summary": "b"}),
            vec![replacement("e0", &json!("y"))],
            &["branchSummary b"],
        ),
    ];
    for (name, target, edits, expected) in cases {
        assert_eq!(
            context([target].into_iter().chain(edits)),
            expected,
            "{name}"
        );
    }
}

#[test]
fn only_edits_within_the_context_apply() {
    let edited_before = [
        user("0"),
        user("1"),
        omission("e1"),
        user("3"),
        compaction("s", "e3"),
        omission("e3"),
    ];
    assert_eq!(context(edited_before), ["compactionSummary s"]);
    let edit_before_the_kept_range = [
        user("0"),
        response("1"),
        omission("e3"),
        user("3"),
        compaction("s", "e3"),
    ];
    assert_eq!(
        context(edit_before_the_kept_range),
        ["compactionSummary s", "user 3"]
    );
}

#[test]
fn missing_content_reads_as_empty() {
    for role in ["system", "user", "assistant", "toolResult"] {
        for message in [
            json!({"role": role}),
            json!({"role": role, "content": null}),
        ] {
            assert_eq!(context([message]), [format!("{role} []")]);
        }
    }
}

#[test]
fn results_of_compacted_calls_are_hidden() {
    let path = [
        user("0"),
        tool_calls(&["a", "b"]),
        result("a", "ra"),
        result("b", "rb"),
        tool_calls(&["c"]),
        compaction("s", "e3"),
        result("c", "rc"),
        result("gone", "r"),
    ];
    assert_eq!(
        context(path),
        [
            "compactionSummary s",
            "assistant [call<c>]",
            "toolResult [rc]"
        ]
    );
}

#[test]
fn model_and_thinking_level_come_from_the_whole_path() {
    let level = |level: &str| json!({"type": "thinking_level_change", "thinkingLevel": level});
    let model = |model: &str| json!({"type": "model_change", "provider": "p", "modelId": model});
    let cases: [(Vec<Value>, Option<&str>, &str); 6] = [
        (vec![], None, "off"),
        (
            vec![model("m"), level("high"), user("hi")],
            Some("p/m"),
            "high",
        ),
        (vec![model("m"), response("a")], Some("mock/alpha"), "off"),
        (
            vec![response("a"), model("m"), level("high"), level("odd")],
            Some("p/m"),
            "odd",
        ),
        (
            vec![
                level("low"),
                response("a"),
                user("u"),
                compaction("s", "e3"),
            ],
            Some("mock/alpha"),
            "low",
        ),
        (
            vec![model("m"), response("a"), omission("e1")],
            Some("mock/alpha"),
            "off",
        ),
    ];
    for (entries, model, level) in cases {
        let settings = PathSettings::of_path(&TestPath::of(entries).entries);
        let name = settings
            .model
            .map(|model| format!("{}/{}", model.provider, model.model_id));
        assert_eq!(
            (name.as_deref(), settings.thinking_level.as_str()),
            (model, level)
        );
    }
}

#[test]
fn the_current_tools_are_restored() {
    let tool = |name: &str| json!({"name": name, "description": "", "parameters": {}});
    let path = [
        json!({"role": "system", "content": "", "toolsAdded": [tool("read"), tool("bash")]}),
        user("hi"),
        json!({"role": "system", "content": "", "toolsRemoved": [{"name": "read"}], "toolsAdded": [tool("ls")]}),
    ];
    let names = TestPath::of(path).projection().tool_names();
    assert_eq!(names, Some(vec!["bash".to_owned(), "ls".to_owned()]));
    let none_left = TestPath::of([json!({"role": "system", "content": "p"})]).projection();
    assert_eq!(none_left.tool_names(), Some(Vec::new()));
    assert_eq!(TestPath::of([user("hi")]).projection().tool_names(), None);
}

/// A source that records which entries are read.
struct RecordingSource {
    entries: HashMap<EntryId, Arc<Entry>>,
    read: RefCell<Vec<String>>,
    metadata_reads: RefCell<usize>,
}

impl RecordingSource {
    fn of(path: &TestPath) -> Self {
        let entries = path.entries.iter();
        Self {
            entries: entries
                .map(|entry| (entry.id.clone(), Arc::clone(entry)))
                .collect(),
            read: RefCell::default(),
            metadata_reads: RefCell::default(),
        }
    }
}

impl EntrySource for RecordingSource {
    type Error = Infallible;

    fn metadata(&self, id: &EntryId) -> Option<EntryMetadata<'_>> {
        *self.metadata_reads.borrow_mut() += 1;
        self.entries.get(id).map(|entry| EntryMetadata {
            parent_id: entry.parent_id.as_ref(),
            kind: entry.body.kind(),
        })
    }

    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, Infallible> {
        self.read.borrow_mut().push(id.to_string());
        Ok(self.entries.get(id).cloned())
    }
}

#[test]
fn only_contributing_entries_are_read() {
    let mut path =
        TestPath::of([json!({"type": "thinking_level_change", "thinkingLevel": "high"})]);
    for _ in 0..1000 {
        path.push(user("long ago"));
        path.push(response("long ago"));
    }
    let kept = path.push(user("kept"));
    path.push(response("kept"));
    path.push(compaction("s", kept.as_str()));
    let leaf = path.push(user("now"));
    let store = RecordingSource::of(&path);
    let Ok(projection) = project(&store, Some(&leaf));
    assert_eq!(projection, path.projection());
    assert_eq!(store.read.take(), ["e2004", "e2003", "e2001", "e2002"]);
    assert_eq!(store.metadata_reads.take(), 4);

    let Ok(settings) = PathSettings::read(&store, Some(&leaf));
    assert_eq!(settings, PathSettings::of_path(&path.entries));
    assert_eq!(settings.thinking_level, "high");
    assert_eq!(store.read.take(), ["e2002", "e0"]);
}

#[test]
fn only_the_last_messages_of_an_endless_conversation_are_read() {
    let system = json!({"role": "system", "content": "", "toolsAdded": [{"name": "read", "description": "", "parameters": {}}]});
    let mut entries = vec![system];
    for number in 0..1000 {
        entries.push(user(&format!("prompt {number}")));
        entries.push(response(&format!("response {number}")));
    }
    let path = TestPath::of(entries.clone());
    let leaf = path.entries.last().map(|entry| &entry.id);
    let store = RecordingSource::of(&path);
    let Ok(selection) = ContextSelection::read(&store, leaf, 5);
    let projection = selection.projection();
    // A response without its prompt is left out; the prompt and tools of the start are kept.
    let expected = ["e0", "e1997", "e1998", "e1999", "e2000"];
    let shown = projection.entries().iter();
    let shown: Vec<&str> = shown.map(|entry| entry.entry().id.as_str()).collect();
    assert_eq!(shown, expected);
    assert_eq!(projection.tool_names(), Some(vec!["read".to_owned()]));
    assert_eq!(store.read.take().len(), 6);
    // A compaction on the way replaces what precedes it.
    entries.insert(1000, compaction("summary", "e900"));
    let path = TestPath::of(entries);
    let leaf = path.entries.last().map(|entry| &entry.id);
    let store = RecordingSource::of(&path);
    let Ok(selection) = ContextSelection::read(&store, leaf, 4);
    let shown = selection.projection();
    let shown = shown.entries().iter();
    let shown: Vec<&str> = shown.map(|entry| entry.entry().id.as_str()).collect();
    assert_eq!(shown, ["e1000", "e1998", "e1999", "e2000", "e2001"]);
}

#[test]
fn the_outline_matches_the_projection_and_reads_little() {
    let tools = |name: &str| json!({"role": "system", "content": "", "toolsAdded": [{"name": name, "description": "", "parameters": {}}]});
    let start = || {
        vec![
            tools("read"),
            user("1"),
            response("2"),
            metadata(),
            user("3"),
        ]
    };
    let cases = [
        Vec::new(),
        start(),
        [
            start(),
            vec![
                omission("e2"),
                omission("e4"),
                replacement("e4", &json!("x")),
            ],
        ]
        .concat(),
        [
            start(),
            vec![
                tools("bash"),
                compaction("s", "e2"),
                user("6"),
                custom_message("n"),
            ],
        ]
        .concat(),
        [
            start(),
            vec![compaction("s", "e1"), omission("e5"), response("7")],
        ]
        .concat(),
        [start(), vec![compaction("s", "nowhere"), response("7")]].concat(),
        vec![json!({"type": "branch_summary", "fromId": "root", "summary": ""})],
    ];
    for entries in cases {
        let path = TestPath::of(entries.clone());
        let store = RecordingSource::of(&path);
        let leaf = path.entries.last().map(|entry| &entry.id);
        let Ok(outline) = ContextOutline::read(&store, leaf);
        let projection = path.projection();
        assert_eq!(
            outline.messages,
            projection.messages().count(),
            "{entries:?}"
        );
        assert_eq!(outline.tool_names, projection.tool_names(), "{entries:?}");
        let mentioned = mentioned_tools(projection.system_messages().map(Arc::as_ref));
        assert_eq!(outline.mentioned_tools, mentioned, "{entries:?}");
        for id in store.read.take() {
            let entry = path
                .entries
                .iter()
                .find(|entry| entry.id.as_str() == id)
                .unwrap();
            let is_conversation = matches!(
                &entry.body,
                EntryBody::Message(AgentMessage::User(_) | AgentMessage::Assistant(_))
            );
            assert!(!is_conversation, "{id} was read");
        }
    }
}

#[test]
fn a_projection_is_extended_by_appended_entries() {
    let mut path = TestPath::of([user("1"), response("2")]);
    let mut projection = path.projection();
    for entry in [
        user("3"),
        metadata(),
        custom_message("4"),
        tool_calls(&["c"]),
        result("c", "5"),
    ] {
        path.push(entry);
        assert!(projection.append(path.entries.last().unwrap()));
        assert_eq!(projection, path.projection());
    }
    for entry in [omission("e0"), compaction("s", "e1")] {
        path.push(entry);
        let before = projection.clone();
        assert!(!projection.append(path.entries.last().unwrap()));
        assert_eq!(projection, before);
    }
}

#[test]
fn paths_end_at_a_missing_parent_and_never_loop() {
    let mut path = TestPath::of([user("0"), user("1"), user("2")]);
    let store = RecordingSource::of(&path);
    let at = |store: &RecordingSource, leaf: Option<&str>| {
        let Ok(projection) = project(store, leaf.map(EntryId::from).as_ref());
        described(projection.messages())
    };
    assert_eq!(at(&store, Some("e1")), ["user 0", "user 1"]);
    assert_eq!(at(&store, Some("unknown")), [""; 0]);
    assert_eq!(at(&store, None), [""; 0]);

    Arc::make_mut(&mut path.entries[0]).parent_id = Some(EntryId::from("missing"));
    assert_eq!(
        at(&RecordingSource::of(&path), Some("e1")),
        ["user 0", "user 1"]
    );
    Arc::make_mut(&mut path.entries[0]).parent_id = Some(EntryId::from("e2"));
    assert_eq!(
        at(&RecordingSource::of(&path), Some("e1")),
        ["user 2", "user 0", "user 1"]
    );
}

#[test]
fn the_leaf_is_known_after_a_compaction() {
    let leaf = |entries: Vec<Value>| {
        let projection = TestPath::of(entries).projection();
        projection.last_entry().map(|entry| entry.id.to_string())
    };
    assert_eq!(leaf(vec![]), None);
    assert_eq!(leaf(vec![user("0")]).as_deref(), Some("e0"));
    assert_eq!(
        leaf(vec![user("0"), compaction("s", "e0")]).as_deref(),
        Some("e1")
    );
    assert_eq!(
        leaf(vec![user("0"), compaction("s", "e1")]).as_deref(),
        Some("e1")
    );
    assert_eq!(
        leaf(vec![user("0"), compaction("s", "e0"), metadata()]).as_deref(),
        Some("e2")
    );
}
