//! Forks, clones, imports and exports.

use pi_protocol::EntryId;
use pi_session::{ForkPosition, NewSession, OpenSession, Session, SessionError, SessionStore};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::temp_files::{
    HEADER, TempFiles, assistant, branch, create, open, read, user, user_line,
};

fn append(session: &mut Session, message: pi_protocol::AgentMessage) -> EntryId {
    session.append_message(message).unwrap().id.clone()
}

fn values(content: &str) -> Vec<Value> {
    let lines = content
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn a_fork_before_a_user_message_ends_at_its_parent() {
    let temp = TempFiles::new();
    let mut session = create(&temp.sessions("/project"));
    let one = append(&mut session, user("one"));
    let two = append(&mut session, assistant("two"));
    let three = append(&mut session, user("three"));
    append(&mut session, assistant("four"));
    let source = session.path().unwrap().to_string_lossy().into_owned();

    let forked = session.fork(&three, ForkPosition::Before).unwrap();
    assert_eq!(forked.selected_text.as_deref(), Some("three"));
    assert_eq!(
        forked.session.current_branch().ids(),
        [one.clone(), two.clone()]
    );
    assert_eq!(
        forked.session.header().parent_session.as_deref(),
        Some(&*source)
    );
    assert!(forked.session.is_saved(), "the path contains a response");
    let original = read(session.path().unwrap());
    let lines: Vec<&str> = original.lines().skip(1).take(2).collect();
    let copy = read(forked.session.path().unwrap());
    assert_eq!(copy.lines().skip(1).collect::<Vec<_>>(), lines);

    let at = session.fork(&three, ForkPosition::At).unwrap();
    assert_eq!(
        at.session.current_branch().ids(),
        [one.clone(), two.clone(), three]
    );
    assert_eq!(at.selected_text, None);

    let first = session.fork(&one, ForkPosition::Before).unwrap();
    assert_eq!(first.session.entries().len(), 0);
    assert_eq!(
        first.session.header().parent_session.as_deref(),
        Some(&*source)
    );

    let error = session.fork(&two, ForkPosition::Before).unwrap_err();
    assert!(
        matches!(error, SessionError::NotAUserMessage { .. }),
        "{error}"
    );
    let error = session
        .fork(&EntryId::from("no"), ForkPosition::At)
        .unwrap_err();
    assert!(
        matches!(error, SessionError::UnknownEntry { .. }),
        "{error}"
    );
}

#[test]
fn a_fork_continues_in_its_own_file() {
    let temp = TempFiles::new();
    let mut session = create(&temp.sessions("/project"));
    let one = append(&mut session, user("one"));
    append(&mut session, assistant("two"));
    let mut fork = session.fork(&one, ForkPosition::At).unwrap().session;
    assert!(!fork.is_saved(), "the path contains no response");
    append(&mut fork, assistant("else"));
    let ids = branch(&fork);
    let path = fork.path().unwrap().to_owned();
    drop(fork);
    assert_eq!(branch(&open(&path).unwrap()), ids);
    assert_eq!(session.entries().len(), 2);

    let mut clone = session.clone_branch().unwrap();
    assert_eq!(branch(&clone), branch(&session));
    append(&mut clone, user("three"));
    assert_eq!(read(clone.path().unwrap()).lines().count(), 4);
}

#[test]
fn an_unsaved_session_can_only_be_restarted() {
    let temp = TempFiles::new();
    let mut session = create(&temp.sessions("/project"));
    let error = session.clone_branch().unwrap_err();
    assert!(matches!(error, SessionError::Empty), "{error}");
    session.set_name("named").unwrap();
    let error = session.clone_branch().unwrap_err();
    assert!(matches!(error, SessionError::Unsaved), "{error}");
    let one = append(&mut session, user("one"));
    let again = session.fork(&one, ForkPosition::Before).unwrap();
    assert_eq!(again.selected_text.as_deref(), Some("one"));
}

#[test]
fn labels_are_moved_to_the_end_of_the_path() {
    let temp = TempFiles::new();
    let compaction = r#"{"type":"compaction","id":"ccccccc1","parentId":"aaaaaaa2","timestamp":"2026-01-01T00:00:05.000Z","summary":"s","firstKeptEntryId":"bbbbbbb1","tokensBefore":1,"other":true}"#;
    let label = |id: &str, parent: &str, target: &str, label: &str, second: u32| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:{second:02}.000Z","targetId":"{target}","label":"{label}"}}"#
        )
    };
    let path = temp.lines(
        "s.jsonl",
        &[
            HEADER,
            &user_line("aaaaaaa1", None),
            &label("bbbbbbb1", "aaaaaaa1", "aaaaaaa1", "first", 2),
            &user_line("aaaaaaa2", Some("bbbbbbb1")),
            compaction,
            &label("bbbbbbb2", "ccccccc1", "aaaaaaa2", "second", 3),
            &user_line("aaaaaaa3", Some("bbbbbbb2")),
            &label("bbbbbbb3", "aaaaaaa1", "aaaaaaa1", "renamed", 4),
            &user_line("elsewhere", Some("aaaaaaa1")),
            &label("bbbbbbb4", "elsewhere", "elsewhere", "off the path", 4),
        ],
    );
    let session = open(&path).unwrap();
    let fork = session.extract_branch(&EntryId::from("aaaaaaa3")).unwrap();
    let entries = fork.current_branch().entries().unwrap();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.body.type_name()).collect();
    assert_eq!(
        kinds,
        [
            "message",
            "message",
            "compaction",
            "message",
            "label",
            "label"
        ]
    );
    let shapes: Vec<Value> = entries
        .iter()
        .map(|entry| serde_json::to_value(&**entry).unwrap())
        .collect();
    assert_eq!(shapes[1]["parentId"], "aaaaaaa1");
    assert_eq!(shapes[2]["firstKeptEntryId"], "aaaaaaa2");
    assert_eq!(shapes[2]["other"], true);
    assert_eq!(shapes[3]["parentId"], "ccccccc1");
    assert_eq!(
        (
            &shapes[4]["targetId"],
            &shapes[4]["label"],
            &shapes[4]["timestamp"]
        ),
        (
            &"aaaaaaa1".into(),
            &"renamed".into(),
            &"2026-01-01T00:00:04.000Z".into()
        )
    );
    assert_eq!(
        (&shapes[5]["targetId"], &shapes[5]["label"]),
        (&"aaaaaaa2".into(), &"second".into())
    );
    assert_eq!(
        fork.entries().label(&EntryId::from("aaaaaaa1")),
        Some("renamed")
    );
    assert!(!fork.entries().contains("elsewhere"));
    assert!(!fork.is_saved());
}

#[test]
fn sessions_in_memory_fork_in_memory() {
    let mut session =
        Session::in_memory(std::path::Path::new("/project"), NewSession::default()).unwrap();
    let one = append(&mut session, user("one"));
    append(&mut session, assistant("two"));
    session.set_label(&one, Some("here")).unwrap();
    let fork = session.fork(&one, ForkPosition::At).unwrap().session;
    assert_eq!((fork.path(), fork.entries().len()), (None, 2));
    assert_eq!(fork.entries().label(&one), Some("here"));
    assert_eq!(fork.header().parent_session, None);
    let empty = session.fork(&one, ForkPosition::Before).unwrap().session;
    assert_eq!((empty.path(), empty.entries().len()), (None, 0));
}

#[test]
fn a_file_is_forked_with_all_branches_into_another_project() {
    let temp = TempFiles::new();
    let source = temp.lines(
        "s.jsonl",
        &[
            HEADER,
            &user_line("aaaaaaa1", None),
            "not json",
            r#"{"type":"later","id":"x","parentId":"aaaaaaa1","timestamp":"t","odd":  "spacing"}"#,
            &user_line("aaaaaaa2", Some("aaaaaaa1")),
        ],
    );
    let target = temp.sessions("/other");
    let options = NewSession {
        id: Some("copy".to_owned()),
        ..NewSession::default()
    };
    let fork = target.fork_file(&source, options.clone()).unwrap();
    assert_eq!((fork.id(), fork.cwd()), ("copy", target.cwd()));
    assert_eq!(branch(&fork), ["aaaaaaa1", "aaaaaaa2"]);
    let content = read(fork.path().unwrap());
    assert_eq!(
        values(&content)[0]["parentSession"],
        source.to_string_lossy().as_ref()
    );
    let kept: Vec<&str> = content.lines().skip(1).collect();
    let original = read(&source);
    let expected: Vec<&str> = original
        .lines()
        .skip(1)
        .filter(|line| *line != "not json")
        .collect();
    assert_eq!(kept, expected, "lines are copied verbatim");

    let error = target.fork_file(&source, options).unwrap_err();
    assert!(matches!(error, SessionError::IdTaken { .. }), "{error}");
    let other = temp.write("other.jsonl", "hello\n");
    let error = target.fork_file(&other, NewSession::default()).unwrap_err();
    assert!(matches!(error, SessionError::NotASession { .. }), "{error}");
}

#[test]
fn an_import_copies_the_file_under_an_unused_name() {
    let temp = TempFiles::new();
    let source = temp.lines("in/s.jsonl", &[HEADER, &user_line("aaaaaaa1", None)]);
    let directory = temp.path().join("sessions");
    let store = SessionStore::custom(&directory, temp.path(), temp.path());
    let import = |source: &std::path::Path| store.import(source, OpenSession::default());
    for name in ["s.jsonl", "s-1.jsonl", "s-2.jsonl"] {
        let session = import(&source).unwrap();
        assert_eq!(session.path().unwrap(), directory.join(name));
        assert_eq!(read(session.path().unwrap()), read(&source));
    }
    let there = import(&directory.join("s-1.jsonl")).unwrap();
    assert_eq!(there.path().unwrap(), directory.join("s-1.jsonl"));

    let other = temp.write("in/other.jsonl", "hello\n");
    assert!(matches!(
        import(&other),
        Err(SessionError::NotASession { .. })
    ));
    let missing = temp.path().join("in/none.jsonl");
    assert!(matches!(
        import(&missing),
        Err(SessionError::Missing { .. })
    ));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 3);
}

#[test]
fn an_export_is_a_linear_branch() {
    let temp = TempFiles::new();
    let path = temp.lines(
        "s.jsonl",
        &[
            HEADER,
            &user_line("aaaaaaa1", Some("gone")),
            &user_line("other", Some("aaaaaaa1")),
            &user_line("aaaaaaa2", Some("aaaaaaa1")),
        ],
    );
    let session = open(&path).unwrap();
    let exported = String::from_utf8(session.export_branch().unwrap()).unwrap();
    let lines = values(&exported);
    assert_eq!(lines[0]["id"], "one");
    assert_ne!(lines[0]["timestamp"], "2026-01-01T00:00:00.000Z");
    assert_eq!(
        (&lines[1]["id"], &lines[1]["parentId"]),
        (&"aaaaaaa1".into(), &Value::Null)
    );
    assert_eq!(
        (&lines[2]["id"], &lines[2]["parentId"]),
        (&"aaaaaaa2".into(), &"aaaaaaa1".into())
    );
    assert_eq!(lines.len(), 3);
    let copy = temp.write("export.jsonl", &exported);
    assert_eq!(branch(&open(&copy).unwrap()), ["aaaaaaa1", "aaaaaaa2"]);
}

#[test]
fn a_custom_directory_receives_forks() {
    let temp = TempFiles::new();
    let custom = temp.path().join("custom");
    let directory = SessionStore::custom(&custom, &temp.path().join("agent"), "/project".as_ref());
    let mut session = create(&directory);
    append(&mut session, assistant("hi"));
    let clone = session.clone_branch().unwrap();
    assert_eq!(clone.path().unwrap().parent().unwrap(), custom);
}
