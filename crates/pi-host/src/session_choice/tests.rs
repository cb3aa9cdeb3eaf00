//! Combinations of flags, and resolution of names.

use pi_protocol::{AgentMessage, AssistantMessage, StopReason};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;

use super::*;

fn flags(change: impl FnOnce(&mut SessionFlags)) -> SessionFlags {
    let mut flags = SessionFlags::default();
    change(&mut flags);
    flags
}

#[test]
fn flags_that_contradict_each_other_are_named() {
    let text = |text: &str| Some(text.to_owned());
    for (flags, conflict) in [
        (
            flags(|it| (it.fork, it.session, it.no_session) = (text("a"), text("b"), true)),
            "--fork cannot be combined with --session, --no-session",
        ),
        (
            flags(|it| (it.fork, it.continue_recent, it.resume) = (text("a"), true, true)),
            "--fork cannot be combined with --continue, --resume",
        ),
        (
            flags(|it| (it.session_id, it.session) = (text("id"), text("b"))),
            "--session-id cannot be combined with --session",
        ),
    ] {
        assert_eq!(flags.choice().unwrap_err().to_string(), conflict);
    }
    let bad = flags(|it| it.session_id = text("-bad-"));
    assert!(matches!(bad.choice(), Err(SessionFlagsError::InvalidId(_))));
}

#[test]
fn flags_have_an_order_of_precedence() {
    let text = |text: &str| Some(text.to_owned());
    for (flags, choice) in [
        (flags(|_| {}), Some(SessionChoice::default())),
        (
            flags(|it| (it.no_session, it.session_id) = (true, text("x"))),
            Some(SessionChoice::InMemory { id: text("x") }),
        ),
        (
            flags(|it| (it.fork, it.session_id) = (text("src"), text("x"))),
            Some(SessionChoice::Fork {
                source: "src".to_owned(),
                id: text("x"),
            }),
        ),
        (
            flags(|it| (it.session, it.resume, it.continue_recent) = (text("s"), true, true)),
            Some(SessionChoice::Named("s".to_owned())),
        ),
        (
            flags(|it| (it.resume, it.continue_recent) = (true, true)),
            None,
        ),
        (
            flags(|it| it.continue_recent = true),
            Some(SessionChoice::ContinueRecent),
        ),
        (
            flags(|it| it.session_id = text("x")),
            Some(SessionChoice::WithId("x".to_owned())),
        ),
    ] {
        assert_eq!(flags.choice().unwrap(), choice);
    }
}

fn resolver(home: &TempHome, project: &str) -> SessionResolver {
    SessionResolver {
        agent_dir: AgentDir::at(home.path().join("agent")),
        chosen: None,
        cwd: home.path().join(project),
        cwd_override: None,
        env: Env::fixed([("HOME", home.path().to_str().unwrap())]),
    }
}

/// Creates a session with a file.
fn saved_session(resolver: &SessionResolver, id: &str) -> PathBuf {
    let choice = SessionChoice::New {
        id: Some(id.to_owned()),
        parent: None,
    };
    let mut session = resolver.open(choice, &mut Vec::new()).unwrap();
    let answer = AgentMessage::from(AssistantMessage {
        stop_reason: StopReason::Stop,
        ..AssistantMessage::default()
    });
    session.append_message(answer).unwrap();
    session.path().unwrap().to_owned()
}

#[test]
fn names_resolve_to_files_ids_and_id_prefixes() {
    let home = TempHome::new();
    let here = resolver(&home, "here");
    let there = resolver(&home, "there");
    let path = saved_session(&here, "abc-1");
    let far = saved_session(&there, "xyz-9");
    let open = |name: &str| here.open(SessionChoice::Named(name.to_owned()), &mut Vec::new());
    for name in ["abc-1", "abc", path.to_str().unwrap()] {
        assert_eq!(open(name).unwrap().path(), Some(&*path), "{name}");
    }
    assert!(matches!(open("nope"), Err(SessionChoiceError::NotFound(_))));
    match open("xyz") {
        Err(SessionChoiceError::OtherProject { path, cwd }) => {
            assert_eq!(path, far);
            assert!(cwd.ends_with("there"), "{cwd}");
        }
        other => panic!("{other:?}"),
    }
    let fork = SessionChoice::Fork {
        source: "xyz".to_owned(),
        id: None,
    };
    let fork = here.open(fork, &mut Vec::new()).unwrap();
    assert_eq!(fork.cwd(), here.cwd);
    assert_eq!(fork.header().parent_session.as_deref(), far.to_str());
}

#[test]
fn a_session_is_created_at_a_missing_path() {
    let home = TempHome::new();
    let here = resolver(&home, "here");
    let choice = SessionChoice::Named("sub/new.jsonl".to_owned());
    let session = here.open(choice, &mut Vec::new()).unwrap();
    assert_eq!(session.path(), Some(&*here.cwd.join("sub/new.jsonl")));
    assert!(!session.is_saved());
}

#[test]
fn an_id_is_opened_or_created_with_a_warning() {
    let home = TempHome::new();
    let here = resolver(&home, "here");
    let path = saved_session(&here, "known");
    let mut diagnostics = Vec::new();
    let with_id = |id: &str| SessionChoice::WithId(id.to_owned());
    let known = here.open(with_id("known"), &mut diagnostics).unwrap();
    assert_eq!(known.path(), Some(&*path));
    assert!(diagnostics.is_empty());
    let new = here.open(with_id("unknown"), &mut diagnostics).unwrap();
    assert_eq!(new.id(), "unknown");
    assert!(diagnostics[0].message.contains("unknown"));
}

#[test]
fn the_most_recent_session_is_continued_or_a_new_one_started() {
    let home = TempHome::new();
    let here = resolver(&home, "here");
    let recent = || {
        here.open(SessionChoice::ContinueRecent, &mut Vec::new())
            .unwrap()
    };
    assert!(!recent().is_saved());
    let path = saved_session(&here, "last");
    assert_eq!(recent().path(), Some(&*path));
}
