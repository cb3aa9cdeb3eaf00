//! Sharing with a scripted `gh`.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use pi_session::NewSession;
use pi_test_support::write_program;
use pretty_assertions::assert_eq;
use secrecy::SecretString;

use super::*;
use crate::redaction::Redactor;

struct GhHarness {
    directory: tempfile::TempDir,
}

impl GhHarness {
    fn new(script: &str) -> Self {
        let harness = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let path = harness.directory.path().join("gh");
        write_program(&path, format!("#!/bin/sh\n{script}\n"));
        harness
    }

    fn program(&self) -> GhCli {
        GhCli::find(&Env::fixed([(
            "PATH",
            self.directory.path().to_str().unwrap(),
        )]))
        .unwrap()
    }
}

fn page() -> SharePage {
    let mut session = Session::in_memory(Path::new("/project"), NewSession::default()).unwrap();
    for message in [
        serde_json::json!({"role": "user", "content": "my key is stored-secret", "timestamp": 1}),
        serde_json::json!({"role": "assistant", "content": [
            {"type": "text", "text": "Bearer abcdef1234567890, then"}
        ], "stopReason": "stop", "timestamp": 2}),
    ] {
        session
            .append_message(serde_json::from_value(message).unwrap())
            .unwrap();
    }
    let redaction = Redactor::new([SecretString::from("stored-secret")]).with_pattern_detection();
    let options = HtmlOptions {
        redaction,
        ..HtmlOptions::default()
    };
    SharePage::write(&session, options).unwrap()
}

#[tokio::test]
async fn a_page_without_secrets_becomes_a_secret_gist() {
    let harness = GhHarness::new(
        "case \"$1 $2\" in 'auth status') exit 0;; esac\n\
         echo 'Creating gist session.html' >&2\n\
         cp \"$4\" \"$(dirname \"$0\")/sent.html\"\n\
         echo \"$1 $2 $3\" > \"$(dirname \"$0\")/words\"\n\
         echo https://gist.github.com/me/0123abcdef",
    );
    let cancel = CancellationToken::new();
    let page = page();
    let program = harness.program();
    program.check(&cancel).await.unwrap();
    let gist = program.create(&page, &cancel).await.unwrap();
    assert_eq!(
        gist,
        Gist {
            url: "https://gist.github.com/me/0123abcdef".to_owned(),
            viewer_url: "https://pi.dev/session/#0123abcdef".to_owned(),
        }
    );
    let read = |name: &str| std::fs::read_to_string(harness.directory.path().join(name)).unwrap();
    assert_eq!(read("words"), "gist create --public=false\n");
    let sent = read("sent.html");
    assert!(!sent.contains("stored-secret") && !sent.contains("abcdef1234567890"));
    assert!(page.redacted >= 2, "{}", page.redacted);
    assert_eq!(page.bytes, sent.len() as u64);
    let path = page.path().to_owned();
    drop(page);
    assert!(!path.exists());
}

#[tokio::test]
async fn every_failure_is_explained() {
    let nowhere = GhCli::find(&Env::fixed([("PATH", "/nonexistent")]));
    assert!(matches!(nowhere, Err(ShareError::GhNotFound)));
    let cancel = CancellationToken::new();
    let page = page();
    let refused = GhHarness::new("exit 1").program().check(&cancel).await;
    assert!(matches!(refused, Err(ShareError::NotSignedIn)));
    let failing = GhHarness::new("echo first >&2; echo 'HTTP 422: too large' >&2; exit 1");
    let error = failing.program().create(&page, &cancel).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "gh could not create the gist: HTTP 422: too large"
    );
    assert!(error.hint().is_some());
    for script in [
        "echo hello",
        "echo https://gist.github.com/x/$(printf '\\033')",
    ] {
        let error = GhHarness::new(script)
            .program()
            .create(&page, &cancel)
            .await;
        assert!(matches!(error, Err(ShareError::NoGistUrl)), "{script}");
    }
}

#[tokio::test]
async fn cancellation_kills_gh() {
    let harness = GhHarness::new("echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 60");
    let cancel = CancellationToken::new();
    let page = page();
    let program = harness.program();
    let creating = program.create(&page, &cancel);
    let giving_up = async {
        let pid = harness.directory.path().join("pid");
        while !pid.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (created, ()) = tokio::join!(creating, giving_up);
    assert!(matches!(created, Err(ShareError::Cancelled)));
}
