//! Tests of export and sharing.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;

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
