//! What a process acknowledged and had not stored when it was killed. Dropping a session without
//! closing it leaves the same files as a kill.

use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_protocol::{AgentMessage, BashExecutionMessage, Delivery, ModelChangeEntry};
use pi_session::{NewSession, PendingRecord, Session, delete_session};
use pretty_assertions::assert_eq;

use crate::temp_files::{TempFiles, assistant, create, open, read, user};

fn command(text: &str) -> PendingRecord {
    PendingRecord::Command {
        message: BashExecutionMessage {
            command: text.to_owned(),
            ..BashExecutionMessage::default()
        },
    }
}

fn queued(text: &str) -> PendingRecord {
    PendingRecord::Queued {
        delivery: Delivery::FollowUp,
        text: Some(text.to_owned()),
        message: user(text),
    }
}

fn journal_of(path: &Path) -> PathBuf {
    path.with_extension("jsonl.pending")
}

/// A saved session with a prompt and a response.
fn saved_session(temp: &TempFiles) -> (Session, PathBuf) {
    let mut session = create(&temp.sessions("/project"));
    session.append_message(user("hi")).unwrap();
    session.append_message(assistant("hello")).unwrap();
    let path = session.path().unwrap().to_owned();
    (session, path)
}

#[test]
fn commands_are_stored_and_messages_are_queued_again() {
    let temp = TempFiles::new();
    let (mut session, path) = saved_session(&temp);
    session
        .pending()
        .set(&[command("ls"), queued("one"), queued("two")])
        .unwrap();
    session
        .pending()
        .set(&[command("ls"), queued("two")])
        .unwrap();
    drop(session);

    for _ in 0..2 {
        let mut session = open(&path).unwrap();
        assert_eq!(session.open_report().restored_messages, 1);
        assert_eq!(session.pending().take_restored(), [queued("two")]);
        let last = session.current_branch().leaf().unwrap().unwrap();
        let stored = serde_json::to_value(&*last).unwrap();
        assert_eq!(stored["message"]["command"], "ls");
        assert_eq!(session.entries().len(), 3, "the command is stored once");
    }

    let mut session = open(&path).unwrap();
    assert!(session.pending().has_journal());
    session.pending().set(&[]).unwrap();
    assert!(!journal_of(&path).exists());
    assert!(!session.pending().has_journal());
}

#[test]
fn what_was_stored_before_the_kill_is_not_restored() {
    let temp = TempFiles::new();
    let (mut session, path) = saved_session(&temp);
    session
        .pending()
        .set(&[queued("next"), command("ls")])
        .unwrap();
    session.append_message(user("next")).unwrap();
    let stored = BashExecutionMessage {
        command: "ls".to_owned(),
        ..BashExecutionMessage::default()
    };
    session
        .append_message(AgentMessage::BashExecution(stored))
        .unwrap();
    let content = read(&path);
    drop(session);

    let mut session = open(&path).unwrap();
    assert_eq!(session.pending().take_restored(), []);
    assert_eq!(read(&path), content);
    assert!(!journal_of(&path).exists());
}

#[test]
fn a_session_without_a_file_is_restored() {
    let temp = TempFiles::new();
    let store = temp.sessions("/project");
    let (_, older) = saved_session(&temp);
    let mut session = create(&store);
    let path = session.path().unwrap().to_owned();
    session
        .append(ModelChangeEntry {
            provider: "p".to_owned(),
            model_id: "m".to_owned(),
        })
        .unwrap();
    session.pending().keep_drafts().unwrap();
    assert!(!journal_of(&path).exists(), "every start has these entries");
    session.set_name("draft").unwrap();
    session.pending().set(&[queued("later")]).unwrap();
    let id = session.id().to_owned();
    assert_eq!(
        store.find_most_recent(),
        Some(older),
        "a draft is not a session file"
    );
    drop(session);

    for by_path in [true, false] {
        let options = NewSession {
            id: Some(id.clone()),
            ..NewSession::default()
        };
        let session = if by_path {
            Session::create_at(&path, Path::new("/project"), options)
        } else {
            store.create(options)
        };
        let session = session.unwrap();
        assert_eq!((session.id(), session.name()), (&*id, Some("draft")));
        assert!(!session.is_saved());
    }
    let mut session = store.continue_recent(&Env::default()).unwrap();
    assert_eq!((session.id(), session.name()), (&*id, Some("draft")));
    assert_eq!(session.pending().take_restored(), [queued("later")]);
    session.pending().set(&[]).unwrap();
    session.append_message(user("first")).unwrap();
    assert!(!journal_of(&path).exists());
    assert_eq!(read(&path).lines().count(), 4, "header and three entries");
}

#[test]
fn a_draft_of_a_running_process_is_left_alone() {
    let temp = TempFiles::new();
    let store = temp.sessions("/project");
    let mut running = create(&store);
    running.pending().keep_drafts().unwrap();
    running.set_name("mine").unwrap();
    let other = store.continue_recent(&Env::default()).unwrap();
    assert_ne!(other.id(), running.id());
    running.set_name("still mine").unwrap();
}

#[test]
fn an_older_draft_does_not_replace_a_newer_session() {
    let temp = TempFiles::new();
    let store = temp.sessions("/project");
    let mut draft = create(&store);
    draft.pending().keep_drafts().unwrap();
    draft.set_name("draft").unwrap();
    let journal = journal_of(draft.path().unwrap());
    drop(draft);
    let file = std::fs::File::open(&journal).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let (session, path) = saved_session(&temp);
    drop(session);
    let continued = store.continue_recent(&Env::default()).unwrap();
    assert_eq!(continued.path(), Some(&*path));
}

#[test]
fn a_closed_session_leaves_nothing() {
    let temp = TempFiles::new();
    let (mut session, path) = saved_session(&temp);
    session.pending().set(&[queued("later")]).unwrap();
    session.pending().discard();
    assert!(!journal_of(&path).exists());
    session.pending().set(&[queued("later")]).unwrap();
    drop(session);
    delete_session(&path).unwrap();
    assert!(!journal_of(&path).exists());
}

#[test]
fn a_record_that_was_partly_written_is_ignored() {
    let temp = TempFiles::new();
    let (mut session, path) = saved_session(&temp);
    session
        .pending()
        .set(&[queued("one"), queued("two")])
        .unwrap();
    drop(session);
    let journal = journal_of(&path);
    let content = read(&journal);
    temp.write("torn", content.get(..content.len() - 5).unwrap());
    std::fs::rename(temp.path().join("torn"), &journal).unwrap();
    let mut session = open(&path).unwrap();
    assert_eq!(session.pending().take_restored(), [queued("one")]);
    session
        .pending()
        .set(&[queued("one"), queued("three")])
        .unwrap();
    drop(session);
    let restored = open(&path).unwrap().pending().take_restored();
    assert_eq!(restored, [queued("one"), queued("three")]);
}
