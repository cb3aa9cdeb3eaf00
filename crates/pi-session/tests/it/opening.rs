//! Creating and opening files: repairs, errors, and files that must not change.

use std::fs;
use std::path::Path;

use pi_session::listing::MessageText;
use pi_session::{
    AccessMode, NewSession, OpenReport, OpenSession, Session, SessionError, SessionStore,
};
use pretty_assertions::assert_eq;

use crate::temp_files::{
    HEADER, TempFiles, append_bytes, assistant, branch, create, open, read, user, user_line,
};

#[test]
fn the_file_is_created_with_the_first_message() {
    let temp = TempFiles::new();
    let directory = temp.sessions("/project");
    let mut session = create(&directory);
    assert!(directory.path().is_dir());
    session.set_name("early").unwrap();
    let path = session.path().unwrap().to_owned();
    assert!(!path.exists() && !session.is_saved());

    // Listeners are notified of this message, so it must survive a crash.
    session.append_message(user("hello")).unwrap();
    assert!(session.is_saved());
    assert_eq!(read(&path).lines().count(), 3);
    session.append_message(assistant("hi")).unwrap();
    let content = read(&path);
    let types: Vec<String> = content
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].to_string())
        .collect();
    assert_eq!(
        types,
        [
            "\"session\"",
            "\"session_info\"",
            "\"message\"",
            "\"message\""
        ]
    );
    session.append_message(user("more")).unwrap();
    assert!(read(&path).starts_with(&content));
    assert_eq!(read(&path).lines().count(), 5);

    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let timestamp = session.header().timestamp.replace([':', '.'], "-");
    assert_eq!(name, format!("{timestamp}_{}.jsonl", session.id()));
}

#[cfg(unix)]
#[test]
fn files_and_directories_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let temp = TempFiles::new();
    let mut session = create(&temp.sessions("/project"));
    session.append_message(assistant("hi")).unwrap();
    let path = session.path().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn damaged_files_open_with_their_complete_entries() {
    let one = user_line("aaaaaaa1", None);
    let two = user_line("aaaaaaa2", Some("aaaaaaa1"));
    let skipped = |lines| OpenReport {
        skipped_lines: lines,
        ..OpenReport::default()
    };
    let cases = [
        (format!("{HEADER}\n{one}\n{two}\n"), skipped(0)),
        (
            format!("{HEADER}\n{one}\n{two}"),
            OpenReport {
                missing_line_feed: true,
                ..skipped(0)
            },
        ),
        (
            format!("{HEADER}\n{one}\n{two}\n{{\"type\":\"mess"),
            OpenReport {
                torn_tail: true,
                ..skipped(1)
            },
        ),
        (
            format!("{HEADER}\n{one}\nthis is not json\n\n{two}\n"),
            skipped(1),
        ),
        (format!("\nnot json\n{HEADER}\n{one}\n{two}\n"), skipped(1)),
        (
            format!("\u{feff}{HEADER}\r\n{one}\r\n \t\r\n{two}\r\n"),
            skipped(0),
        ),
        (
            format!("{HEADER}\n{one}\n42\n[]\n\"x\"\nnull\n{{}}\n{two}\n"),
            skipped(4),
        ),
        (
            format!("{HEADER}\n{one}\n{HEADER}\n{{\"type\":\"label\"}}\n{two}\n"),
            skipped(2),
        ),
    ];
    for (content, expected) in cases {
        let temp = TempFiles::new();
        let path = temp.write("s.jsonl", &content);
        let reader = Session::open(
            &path,
            OpenSession {
                access: AccessMode::Read,
                ..OpenSession::default()
            },
        )
        .unwrap();
        assert_eq!(branch(&reader), ["aaaaaaa1", "aaaaaaa2"], "{content}");
        assert_eq!(read(&path), content, "reading changes nothing");

        let mut session = open(&path).unwrap();
        assert_eq!(*session.open_report(), expected, "{content}");
        let ended = if content.ends_with('\n') { "" } else { "\n" };
        assert_eq!(read(&path), format!("{content}{ended}"));
        let next = session.append_message(user("on")).unwrap();
        assert_eq!(next.parent_id.as_ref().unwrap(), "aaaaaaa2");
        assert!(read(&path).starts_with(&content), "nothing is removed");
        drop(session);
        let again = open(&path).unwrap();
        assert_eq!(branch(&again).len(), 3, "{content}");
        assert!(!again.open_report().torn_tail);
    }
}

#[test]
fn text_accepted_by_javascript_is_accepted() {
    let temp = TempFiles::new();
    let half = r#"{"type":"message","id":"aaaaaaa1","parentId":null,"timestamp":"t","message":{"role":"user","content":"half \ud83d of it","timestamp":1}}"#;
    let mut content = format!("{HEADER}\n{half}\n").into_bytes();
    content.extend(b"{\"type\":\"custom\",\"id\":\"aaaaaaa2\",\"parentId\":\"aaaaaaa1\",\"customType\":\"\xff\"}\n");
    content.extend("{\"type\":\"custom\",\"id\":\"aaaaaaa3\",\"parentId\":\"aaaaaaa2\",\"customType\":\"\u{2028}\"}\n".bytes());
    let path = temp.write("s.jsonl", &content);
    let session = open(&path).unwrap();
    let entries = session.current_branch().entries().unwrap();
    let texts: Vec<String> = entries
        .iter()
        .map(|entry| pi_protocol::json::to_string(&**entry).unwrap())
        .collect();
    assert!(texts[0].contains("half \u{fffd} of it"), "{}", texts[0]);
    assert!(texts[1].contains("\u{fffd}") && texts[2].contains("\u{2028}"));
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn an_empty_file_gets_a_header() {
    let temp = TempFiles::new();
    let path = temp.write("empty.jsonl", "");
    let session = Session::open(
        &path,
        OpenSession {
            cwd: Some("/project".into()),
            ..OpenSession::default()
        },
    )
    .unwrap();
    assert!(session.open_report().was_empty && session.is_saved());
    assert_eq!(read(&path).lines().count(), 1);
    let id = session.id().to_owned();
    drop(session);
    let mut session = open(&path).unwrap();
    assert_eq!(
        (session.id(), session.cwd()),
        (id.as_str(), Path::new("/project"))
    );
    session.append_message(user("first")).unwrap();
    assert_eq!(read(&path).lines().count(), 2);
}

#[test]
fn files_that_are_not_sessions_are_rejected_unchanged() {
    for content in [
        "hello\n",
        "\n",
        "{\"type\":\"message\",\"id\":\"a\"}\n",
        "{\"type\":\"session\"}\n",
        "{\"type\":\"session\",\"id\":7}\n",
        "42\n",
        HEADER.get(..40).unwrap(),
    ] {
        let temp = TempFiles::new();
        let path = temp.write("x.jsonl", content);
        let error = open(&path).unwrap_err();
        assert!(
            matches!(error, SessionError::NotASession { .. }),
            "{content}"
        );
        assert!(
            error
                .to_string()
                .contains("x.jsonl: the first line is not a session header"),
            "{error}"
        );
        assert_eq!(read(&path), content);
    }
}

#[test]
fn read_errors_are_reported() {
    let temp = TempFiles::new();
    let missing = open(&temp.path().join("none.jsonl")).unwrap_err();
    assert!(matches!(missing, SessionError::Missing { .. }), "{missing}");
    let directory = open(temp.path()).unwrap_err();
    assert!(
        matches!(directory, SessionError::Unreadable { .. }),
        "{directory}"
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_a_session() {
    let temp = TempFiles::new();
    let path = temp.path().join("pipe.jsonl");
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(status.unwrap().success());
    for access in [AccessMode::Write, AccessMode::Read] {
        let options = OpenSession {
            access,
            ..OpenSession::default()
        };
        let error = Session::open(&path, options).unwrap_err();
        assert!(matches!(error, SessionError::Unreadable { .. }), "{error}");
    }
    assert_eq!(pi_session::listing::read_header(&path), None);
}

#[test]
fn a_missing_working_directory_is_reported() {
    let temp = TempFiles::new();
    let path = temp.lines("s.jsonl", &[HEADER]);
    let error = open(&path).unwrap().check_cwd().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/project") && text.contains("s.jsonl"),
        "{text}"
    );
    let other_cwd = Session::open(
        &path,
        OpenSession {
            cwd: Some(temp.path().to_owned()),
            access: AccessMode::Read,
            ..OpenSession::default()
        },
    );
    other_cwd.unwrap().check_cwd().unwrap();
}

#[test]
fn session_ids_are_validated_and_unique() {
    let temp = TempFiles::new();
    let directory = temp.sessions("/project");
    let with_id = |id: &str| {
        let options = NewSession {
            id: Some(id.to_owned()),
            ..NewSession::default()
        };
        directory.create(options)
    };
    let mut session = with_id("mine.1").unwrap();
    assert_eq!(session.id(), "mine.1");
    session.append_message(assistant("hi")).unwrap();
    let error = with_id("mine.1").unwrap_err();
    assert!(matches!(error, SessionError::IdTaken { .. }), "{error}");
    assert!(
        error.to_string().contains("`mine.1` is already used by"),
        "{error}"
    );
    let error = with_id("../mine").unwrap_err();
    assert!(matches!(error, SessionError::InvalidId(_)), "{error}");
}

#[test]
fn a_custom_path_is_used() {
    let temp = TempFiles::new();
    let path = temp.path().join("new/dir/s.jsonl");
    let cwd = Path::new("/project");
    let mut session = Session::create_at(&path, cwd, NewSession::default()).unwrap();
    assert!(!path.exists());
    session.append_message(assistant("hi")).unwrap();
    assert_eq!(read(&path).lines().count(), 2);
    let error = Session::create_at(&path, cwd, NewSession::default()).unwrap_err();
    assert!(
        matches!(error, SessionError::AlreadyExists { .. }),
        "{error}"
    );
}

#[test]
fn continuing_opens_the_most_recently_written_file() {
    let temp = TempFiles::new();
    let directory = temp.sessions("/project");
    let fresh = directory.continue_recent(&pi_env::Env::process()).unwrap();
    assert!(!fresh.is_saved());
    let mut first = create(&directory);
    first.append_message(assistant("one")).unwrap();
    let mut second = create(&directory);
    second.append_message(assistant("two")).unwrap();
    let first_path = first.path().unwrap().to_owned();
    append_bytes(&first_path, "");
    let later = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    let file = fs::File::options().write(true).open(&first_path).unwrap();
    file.set_modified(later).unwrap();
    temp.write(
        &directory
            .path()
            .join("newest-but-not-a-session.jsonl")
            .to_string_lossy(),
        "not a session",
    );
    let id = first.id().to_owned();
    drop((first, second));
    let continued = directory.continue_recent(&pi_env::Env::process()).unwrap();
    assert_eq!(continued.id(), id);
}

/// `/projects/a-b` and `/projects/a/b` have the same default directory.
#[test]
fn sessions_of_a_directory_with_a_similar_name_are_not_continued() {
    let temp = TempFiles::new();
    let (ours, theirs) = (
        temp.sessions("/projects/a-b"),
        temp.sessions("/projects/a/b"),
    );
    assert_eq!(ours.path(), theirs.path());
    let mut session = create(&theirs);
    session.append_message(assistant("private")).unwrap();
    let id = session.id().to_owned();
    drop(session);
    assert_eq!(ours.find_most_recent(), None);
    assert_eq!(ours.find_by_id(&id), None);
    let list = |store: &SessionStore| {
        let listed = store.list(MessageText::Skip, &mut |_| {}, &|| false);
        listed.unwrap().len()
    };
    assert_eq!((list(&ours), list(&theirs)), (0, 1));
    let continued = theirs.continue_recent(&pi_env::Env::process()).unwrap();
    assert_eq!(continued.id(), id);
}

#[test]
fn an_unknown_entry_is_reported() {
    let temp = TempFiles::new();
    let session = create(&temp.sessions("/project"));
    let error = session.entries().read("ffffffff").unwrap_err();
    assert_eq!(error.to_string(), "Entry ffffffff not found");
}

#[cfg(unix)]
#[test]
fn a_directory_path_that_is_too_long_fails_cleanly() {
    let temp = TempFiles::new();
    let deep = temp.path().join("directory/".repeat(4096 / 10));
    let directory = pi_session::SessionStore::custom(&deep, temp.path(), Path::new("/project"));
    let error = directory.create(NewSession::default()).unwrap_err();
    assert!(
        matches!(error, SessionError::Unwritable { .. }),
        "{error:?}"
    );
    let file = deep.join("s.jsonl");
    let error = Session::create_at(&file, Path::new("/project"), NewSession::default());
    assert!(error.is_err());
    assert!(open(&file).is_err());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}
