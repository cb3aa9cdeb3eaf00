//! Tests of export and sharing.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;

/// Questions about a page; the program that would upload it is never run.
#[cfg(unix)]
mod confirmation {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use pi_env::Env;
    use pi_export::{GhCli, HtmlOptions, SharePage};
    use pi_session::{NewSession, Session};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn prepared() -> PreparedShare {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("gh");
        std::fs::File::create(&program).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let env = Env::fixed([("PATH", directory.path().to_str().unwrap())]);
        let mut session = Session::in_memory(Path::new("/project"), NewSession::default()).unwrap();
        let response = json!({"role": "assistant", "content": [], "stopReason": "stop"});
        session
            .append_message(serde_json::from_value(response).unwrap())
            .unwrap();
        PreparedShare {
            program: GhCli::find(&env).unwrap(),
            page: SharePage::write(&session, HtmlOptions::default()).unwrap(),
        }
    }

    fn is_question(line: &str) -> bool {
        line.starts_with("Dialogs(Ask") && line.contains("Share this session?")
    }

    #[test]
    fn nothing_is_uploaded_without_confirmation() {
        let mut share = ShareController::default();
        let asked = listed(&share.update(ShareMsg::Prepared(Ok(prepared()))));
        assert!(is_question(&asked[0]), "{asked:?}");
        let dismissed = share.update(ShareMsg::Answered(QuestionAnswer::Dismissed));
        assert_eq!(listed(&dismissed), ["Status: Not shared"]);
        let late = share.update(ShareMsg::Answered(QuestionAnswer::Chosen(0)));
        assert!(late.is_empty(), "the page is gone");
    }

    #[test]
    fn a_preview_opens_the_page_and_asks_again() {
        let mut share = ShareController::default();
        share.update(ShareMsg::Prepared(Ok(prepared())));
        let commands = listed(&share.update(ShareMsg::Answered(QuestionAnswer::Chosen(1))));
        assert!(
            commands[0].starts_with("Terminal(OpenFile("),
            "{commands:?}"
        );
        assert!(is_question(&commands[1]), "{commands:?}");
    }

    #[test]
    fn an_upload_shows_its_progress() {
        let mut share = ShareController::default();
        share.update(ShareMsg::Prepared(Ok(prepared())));
        let commands = listed(&share.update(ShareMsg::Answered(QuestionAnswer::Chosen(0))));
        assert!(commands[0].contains("Sharing session"), "{commands:?}");
        assert_eq!(commands.last().unwrap(), "run upload the page");
    }
}

fn gist() -> Gist {
    Gist {
        url: "https://gist.github.com/1".to_owned(),
        viewer_url: "https://pi.dev/session/1".to_owned(),
    }
}

#[test]
fn an_export_is_reported_with_its_path() {
    let mut share = ShareController::default();
    let output = Some("a.html".to_owned());
    let commands = share.update(ShareMsg::Export(output));
    assert_eq!(listed(&commands), ["Export(File(Some(\"a.html\")))"]);
    let commands = share.update(ShareMsg::Exported(Ok(PathBuf::from("/x/a.html"))));
    assert_eq!(listed(&commands), ["Status: Session exported to /x/a.html"]);
    let commands = share.update(ShareMsg::Exported(Err("disk full".to_owned())));
    assert_eq!(listed(&commands), ["Error: disk full"]);
}

#[test]
fn dismissing_the_progress_cancels_the_upload() {
    let cancel = CancellationToken::new();
    let mut share = ShareController {
        prepared: None,
        upload: Some(cancel.clone()),
    };
    let commands = share.update(ShareMsg::Answered(QuestionAnswer::Dismissed));
    assert_eq!(listed(&commands), ["Status: Sharing canceled"]);
    assert!(cancel.is_cancelled());
    assert!(share.update(ShareMsg::Uploaded(None)).is_empty());
}

#[test]
fn the_link_of_a_shared_session_is_shown_and_copied() {
    let mut share = ShareController {
        prepared: None,
        upload: Some(CancellationToken::new()),
    };
    let commands = listed(&share.update(ShareMsg::Uploaded(Some(Ok(gist())))));
    assert_eq!(commands[0], "Dialogs(Finish(Share))");
    assert!(commands[1].starts_with("Transcript(Links("), "{commands:?}");
    assert_eq!(
        commands[2],
        "Terminal(Copy { text: \"https://pi.dev/session/1\", done: \"Link copied\" })"
    );
}

#[test]
fn an_answer_without_a_page_does_nothing() {
    let mut share = ShareController::default();
    let answer = QuestionAnswer::Chosen(0);
    assert!(share.update(ShareMsg::Answered(answer)).is_empty());
}
