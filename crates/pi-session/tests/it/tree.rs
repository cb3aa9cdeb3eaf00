//! Tree navigation, labels, names and edits.

use std::path::Path;

use pi_protocol::{
    AgentMessage, AssistantMessage, CompactionEntry, ContextEditEntry, ContextReplacement,
    CustomMessage, EntryBody, EntryId, EntryKind, MessageRole, ModelChangeEntry,
};
use pi_session::{BranchSummary, NewSession, Session, SessionError};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::temp_files::{HEADER, TempFiles, assistant, branch, open, user, user_line};

fn session() -> Session {
    Session::in_memory(Path::new("/project"), NewSession::default()).unwrap()
}

fn append(session: &mut Session, message: AgentMessage) -> EntryId {
    session.append_message(message).unwrap().id.clone()
}

#[test]
fn branches_roots_and_summaries() {
    let mut session = session();
    let one = append(&mut session, user("one"));
    let two = append(&mut session, assistant("two"));
    let three = append(&mut session, user("three"));
    session.branch(&one).unwrap();
    let other = append(&mut session, assistant("other"));
    assert_eq!(session.current_branch().ids(), [one.clone(), other.clone()]);
    assert_eq!(
        session.entries().children(Some(&one)).unwrap(),
        [two.clone(), other]
    );

    session.reset_leaf();
    assert_eq!(
        (session.leaf_id(), session.current_branch().ids().len()),
        (None, 0)
    );
    let root = append(&mut session, user("another root"));
    assert_eq!(
        session.entries().children(None).unwrap(),
        [one.clone(), root.clone()]
    );

    let summary = BranchSummary {
        summary: "s".to_owned(),
        ..BranchSummary::default()
    };
    let entry = session
        .branch_with_summary(Some(&two), summary.clone())
        .unwrap();
    let EntryBody::BranchSummary(body) = &entry.body else {
        panic!("{entry:?}");
    };
    assert_eq!(
        (body.from_id.clone(), entry.parent_id.clone()),
        (root, Some(two.clone()))
    );
    assert_eq!(
        session.entries().children(Some(&two)).unwrap(),
        [three, entry.id.clone()]
    );

    session.reset_leaf();
    let entry = session.branch_with_summary(None, summary).unwrap();
    let EntryBody::BranchSummary(body) = &entry.body else {
        panic!("{entry:?}");
    };
    assert_eq!((body.from_id.as_str(), &entry.parent_id), ("root", &None));

    let unknown = session.branch(&EntryId::from("missing")).unwrap_err();
    assert!(matches!(unknown, SessionError::UnknownEntry { .. }));
    assert_eq!(session.leaf_id(), Some(&entry.id));
}

#[test]
fn orphans_are_roots_and_children_are_sorted_by_time() {
    let temp = TempFiles::new();
    let at = |id: &str, parent: &str, second: u32| {
        format!(
            r#"{{"type":"custom","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:{second:02}.000Z","customType":"x"}}"#
        )
    };
    let path = temp.lines(
        "s.jsonl",
        &[
            HEADER,
            &at("a", "null", 0),
            &at("late", "\"a\"", 9),
            &at("early", "\"a\"", 1),
            &at("orphan", "\"gone\"", 2),
            &at("child", "\"orphan\"", 3),
            &at("self", "\"self\"", 4),
            // A parent may follow its child, as after merging two files by hand.
            &at("before", "\"after\"", 5),
            &at("after", "\"a\"", 6),
            // Entries that follow each other must not form an endless path.
            &at("ring1", "\"ring2\"", 7),
            &at("ring2", "\"ring1\"", 8),
        ],
    );
    let session = open(&path).unwrap();
    let tree = session.entries().tree();
    let names = |positions: &[usize]| -> Vec<String> {
        let nodes = positions
            .iter()
            .map(|position| tree.nodes[*position].id.to_string());
        nodes.collect()
    };
    assert_eq!(names(&tree.roots), ["a", "orphan", "self", "ring1"]);
    assert_eq!(names(&tree.nodes[0].children), ["early", "after", "late"]);
    let path = session
        .entries()
        .branch_to(&EntryId::from("before"))
        .unwrap()
        .ids();
    assert_eq!(path, ["a", "after", "before"]);
    assert_eq!(branch(&session), ["ring1", "ring2"]);
    assert_eq!(session.entries().children(None).unwrap(), ["a", "self"]);
}

#[test]
fn the_leaf_on_load_is_the_last_entry_of_any_type() {
    let temp = TempFiles::new();
    let label = r#"{"type":"label","id":"bbbbbbb1","parentId":"aaaaaaa1","timestamp":"2026-01-01T00:00:02.000Z","targetId":"aaaaaaa1","label":"here"}"#;
    let path = temp.lines("s.jsonl", &[HEADER, &user_line("aaaaaaa1", None), label]);
    let session = open(&path).unwrap();
    assert_eq!(session.leaf_id().unwrap(), "bbbbbbb1");
    assert_eq!(session.entries().kind("bbbbbbb1"), Some(EntryKind::Label));
    assert_eq!(
        session.entries().kind("aaaaaaa1"),
        Some(EntryKind::Message(MessageRole::User))
    );
}

#[test]
fn the_last_label_applies_and_an_empty_one_clears_it() {
    let mut session = session();
    let one = append(&mut session, user("one"));
    for (label, expected) in [
        (Some("a"), Some("a")),
        (Some("b"), Some("b")),
        (Some(""), None),
        (Some("c"), Some("c")),
        (None, None),
    ] {
        session.set_label(&one, label).unwrap();
        assert_eq!(session.entries().label(&one), expected);
    }
    let error = session
        .set_label(&EntryId::from("missing"), Some("x"))
        .unwrap_err();
    assert!(matches!(error, SessionError::UnknownEntry { .. }));
}

#[test]
fn names_are_single_line_and_shared_by_all_branches() {
    let mut session = session();
    let one = append(&mut session, user("one"));
    for (name, expected) in [
        (" a\r\n\nb \n c ", Some("a b   c")),
        ("plain", Some("plain")),
        (" \n ", None),
    ] {
        session.set_name(name).unwrap();
        session.branch(&one).unwrap();
        assert_eq!(session.name(), expected, "{name:?}");
    }
}

#[test]
fn edits_require_a_visible_target_on_the_active_branch() {
    let mut session = session();
    let question = append(&mut session, user("one"));
    let response = append(&mut session, assistant("two"));
    let change = session.append(ModelChangeEntry {
        provider: "p".to_owned(),
        model_id: "m".to_owned(),
    });
    let change = change.unwrap().id.clone();
    session.branch(&question).unwrap();
    let edit = |target: &EntryId, content: Option<Value>| ContextEditEntry {
        target_id: target.clone(),
        replacement: content.map(|content| ContextReplacement {
            content,
            extra: pi_protocol::json::JsonObject::new(),
        }),
    };
    let error = session.append(edit(&response, None)).unwrap_err();
    assert!(matches!(error, SessionError::NotOnBranch { .. }), "{error}");
    session.branch(&change).unwrap();
    let error = session.append(edit(&change, None)).unwrap_err();
    assert!(matches!(error, SessionError::NotEditable { .. }), "{error}");
    let error = session.append(edit(&question, Some(json!(7)))).unwrap_err();
    assert!(
        matches!(error, SessionError::InvalidReplacement { .. }),
        "{error}"
    );
    let before = session.entries().len();
    for (target, content, stored) in [
        (&question, json!("text"), json!("text")),
        (
            &response,
            json!("text"),
            json!([{"type": "text", "text": "text"}]),
        ),
        (&response, json!([]), json!([])),
    ] {
        let entry = session.append(edit(target, Some(content))).unwrap();
        let EntryBody::ContextEdit(edit) = &entry.body else {
            panic!("{entry:?}");
        };
        assert_eq!(edit.replacement.as_ref().unwrap().content, stored);
    }
    assert_eq!(session.entries().len(), before + 3);
}

#[test]
fn messages_become_entries_that_match_their_roles() {
    let mut session = session();
    let note = AgentMessage::Custom(CustomMessage {
        custom_type: "note".to_owned(),
        content: "seen".into(),
        display: true,
        ..CustomMessage::default()
    });
    let entry = session.append_message(note).unwrap();
    assert_eq!(entry.body.type_name(), "custom_message");
    // An unfinished response has no stop reason yet.
    let pending = AgentMessage::from(AssistantMessage::default());
    for message in [
        pending,
        AgentMessage::BranchSummary(pi_protocol::BranchSummaryMessage::default()),
        AgentMessage::CompactionSummary(pi_protocol::CompactionSummaryMessage::default()),
    ] {
        let error = session.append_message(message).unwrap_err();
        assert!(matches!(error, SessionError::NotAMessage { .. }), "{error}");
    }
    assert_eq!(session.entries().len(), 1);
}

#[test]
fn a_compaction_that_keeps_nothing_refers_to_itself() {
    let mut session = session();
    append(&mut session, user("one"));
    let entry = session
        .append(CompactionEntry {
            summary: "s".to_owned(),
            first_kept_entry_id: None,
            tokens_before: 1,
            details: None,
            usage: None,
            from_hook: None,
            system_message: None,
        })
        .unwrap();
    let EntryBody::Compaction(compaction) = &entry.body else {
        panic!("{entry:?}");
    };
    assert_eq!(compaction.first_kept_entry_id.as_ref(), Some(&entry.id));
}
