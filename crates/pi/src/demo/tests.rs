//! The output of the demo when it is piped.

use parking_lot::Mutex;
use pi_session::{AccessMode, OpenSession};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;

async fn play_demo(directory: &Path, ink: Ink) -> String {
    let shown = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&shown);
    let narrator = Narrator::new(
        ink,
        Box::new(move |text| {
            sink.lock().push_str(text);
        }),
    );
    play(
        directory,
        &Env::fixed([("HOME", "/nowhere")]),
        None,
        narrator,
    )
    .await
    .unwrap();
    let text = shown.lock().clone();
    text.replace(&directory.display().to_string(), "[directory]")
        .replace(pi_env::VERSION, "[version]")
}

#[tokio::test]
async fn the_demo_writes_runs_edits_and_runs_again() {
    let directory = TempDir::new().unwrap();
    insta::assert_snapshot!(play_demo(directory.path(), Ink::Plain).await);
    let program = fs::read_to_string(directory.path().join("project/table.sh")).unwrap();
    assert!(program.contains("printf '%4s'"));
}

#[tokio::test]
async fn the_session_of_the_demo_can_be_opened() {
    let directory = TempDir::new().unwrap();
    play_demo(directory.path(), Ink::Plain).await;
    let options = OpenSession {
        access: AccessMode::Read,
        ..OpenSession::default()
    };
    let session = Session::open(&directory.path().join("session.jsonl"), options).unwrap();
    assert_eq!(session.name(), Some("pi demo"));
    assert_eq!(session.open_report().skipped_lines, 0);
    session.check_cwd().unwrap();
    let last = session.current_branch().entries().unwrap();
    let answers = last
        .iter()
        .filter_map(|entry| match entry.body.as_message() {
            Some(pi_protocol::AgentMessage::Assistant(answer)) => Some(answer),
            _ => None,
        });
    let providers: Vec<_> = answers.map(|answer| answer.provider.clone()).collect();
    assert_eq!(providers, [script::PROVIDER; 6]);
}

#[tokio::test]
async fn colors_are_used_only_on_a_terminal() {
    for (ink, is_colored) in [(Ink::Plain, false), (Ink::Colored, true)] {
        let directory = TempDir::new().unwrap();
        let shown = play_demo(directory.path(), ink).await;
        assert_eq!(shown.contains('\u{1b}'), is_colored, "{ink:?}");
    }
}

#[test]
fn every_demo_has_its_own_directory() {
    let parent = TempDir::new().unwrap();
    let first = create_directory(parent.path()).unwrap();
    let second = create_directory(parent.path()).unwrap();
    assert_ne!(first, second);
    assert!(create_directory(&parent.path().join("missing")).is_err());
}

#[test]
fn paths_can_be_pasted_into_a_shell() {
    for (path, expected) in [
        (
            "/tmp/pi-demo-1/session.jsonl",
            "/tmp/pi-demo-1/session.jsonl",
        ),
        ("/tmp/a b/it's", r"'/tmp/a b/it'\''s'"),
    ] {
        assert_eq!(quoted(Path::new(path)), expected);
    }
}
