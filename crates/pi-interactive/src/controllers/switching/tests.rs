//! Tests of switching sessions, navigation and the session list.

use pretty_assertions::assert_eq;
use tokio::sync::mpsc;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;
use crate::app::message::AppMsg;

struct SwitchTester {
    switching: SwitchController,
    app: TestContext,
    posted: mpsc::Receiver<AppMsg>,
}

impl SwitchTester {
    fn new() -> Self {
        let (handle, posted) = AppHandle::new();
        Self {
            switching: SwitchController::new(handle),
            app: TestContext::default(),
            posted,
        }
    }

    fn send(&mut self, message: SwitchMsg) -> Vec<AppCommand> {
        self.switching.update(message, &self.app.context())
    }

    fn list(&mut self) -> (Box<dyn FnMut(ListProgress) + Send>, CancellationToken) {
        match self.send(SwitchMsg::List(SessionScope::All)).pop() {
            Some(AppCommand::Session(SessionCommand::ListSessions {
                observer, cancel, ..
            })) => (observer, cancel),
            other => panic!("{other:?}"),
        }
    }
}

fn entry(id: &str) -> EntryId {
    EntryId::from(id)
}

#[test]
fn a_failed_switch_keeps_the_session_on_screen() {
    let mut tester = SwitchTester::new();
    let requests = [
        Replacement::New,
        Replacement::Clone,
        Replacement::Reload,
        Replacement::Resume(PathBuf::from("gone.jsonl")),
        Replacement::Fork(entry("e1")),
        Replacement::Import(PathBuf::from("broken.jsonl")),
    ];
    for request in requests {
        let commands = tester.send(SwitchMsg::Replaced {
            request,
            result: Err("no such session".to_owned()),
        });
        assert_eq!(listed(&commands), ["Error: no such session"]);
    }
}

#[test]
fn a_fork_restores_the_text_of_the_message() {
    let mut tester = SwitchTester::new();
    let commands = tester.send(SwitchMsg::Replaced {
        request: Replacement::Fork(entry("e1")),
        result: Ok(ReplaceOutcome {
            selected_text: Some("try this".to_owned()),
            ..ReplaceOutcome::default()
        }),
    });
    assert_eq!(
        listed(&commands),
        [
            "Prompt(SetText(\"try this\"))",
            "Status: Forked before the selected message"
        ]
    );
}

#[test]
fn the_session_of_a_hit_is_opened_at_the_entry() {
    let mut tester = SwitchTester::new();
    let path = PathBuf::from("/other.jsonl");
    let open = SwitchMsg::OpenHit {
        path: path.clone(),
        entry: entry("e7"),
    };
    assert_eq!(listed(&tester.send(open)), ["session Replace"]);
    let commands = tester.send(SwitchMsg::Replaced {
        request: Replacement::ResumeAt(path, entry("e7")),
        result: Ok(ReplaceOutcome::default()),
    });
    let commands = listed(&commands);
    assert_eq!(commands[0], "Status: Session resumed");
    assert!(commands[1].starts_with("ShowEntry("), "{commands:?}");
}

#[test]
fn a_switch_that_a_hook_canceled_reports_nothing() {
    let mut tester = SwitchTester::new();
    let commands = tester.send(SwitchMsg::Replaced {
        request: Replacement::New,
        result: Ok(ReplaceOutcome {
            cancelled: true,
            ..ReplaceOutcome::default()
        }),
    });
    assert!(commands.is_empty());
}

#[test]
fn a_run_prevents_a_reload_but_not_a_new_session() {
    let mut tester = SwitchTester::new();
    tester.app.session.activity.idle = false;
    let commands = tester.send(SwitchMsg::Replace(Replacement::Reload));
    assert_eq!(
        listed(&commands),
        ["Warning: Cannot reload while a run is in progress"]
    );
    let commands = tester.send(SwitchMsg::Replace(Replacement::New));
    assert_eq!(listed(&commands), ["session Replace"]);
}

#[test]
fn navigation_shows_the_summary_in_progress_and_then_the_new_branch() {
    let mut tester = SwitchTester::new();
    let commands = tester.send(SwitchMsg::Navigate {
        target: entry("e1"),
        summarize: Summarize::With("briefly".to_owned()),
    });
    let [
        _,
        _,
        AppCommand::Session(SessionCommand::Navigate { options, .. }),
    ] = &commands[..]
    else {
        panic!("{:?}", listed(&commands));
    };
    assert_eq!(options.instructions.as_deref(), Some("briefly"));
    assert_eq!(options.step, NavigateStep::Rest);

    let commands = tester.send(SwitchMsg::Navigated {
        target: entry("e1"),
        result: Ok(NavigateOutcome {
            editor_text: Some("edit me".to_owned()),
            ..NavigateOutcome::default()
        }),
    });
    assert_eq!(
        listed(&commands),
        [
            "Status(Show(Idle))",
            "RebuildTranscript",
            "Prompt(RestoreText(\"edit me\"))",
            "Status: Moved to the selected entry",
            "Prompt(SendHeld)",
            "Extensions(NavigationEnded)",
        ]
    );
}

#[test]
fn a_summary_is_asked_about_after_what_is_restored() {
    let mut tester = SwitchTester::new();
    let commands = tester.send(SwitchMsg::Navigate {
        target: entry("e1"),
        summarize: Summarize::Ask,
    });
    let [
        _,
        AppCommand::Session(SessionCommand::Navigate { options, .. }),
    ] = &commands[..]
    else {
        panic!("{:?}", listed(&commands));
    };
    assert_eq!(options.step, NavigateStep::UntilSummary);
    let commands = tester.send(SwitchMsg::Navigated {
        target: entry("e1"),
        result: Ok(NavigateOutcome {
            needs_summary_choice: true,
            ..NavigateOutcome::default()
        }),
    });
    let commands = listed(&commands);
    assert!(commands[1].contains("BranchSummary"), "{commands:?}");
}

#[test]
fn navigation_that_fails_or_is_aborted_leaves_the_transcript() {
    let mut tester = SwitchTester::new();
    let failed = tester.send(SwitchMsg::Navigated {
        target: entry("e1"),
        result: Err("busy".to_owned()),
    });
    assert_eq!(
        listed(&failed),
        [
            "Status(Show(Idle))",
            "Error: busy",
            "Extensions(NavigationEnded)"
        ]
    );
    let aborted = tester.send(SwitchMsg::Navigated {
        target: entry("e1"),
        result: Ok(NavigateOutcome {
            aborted: true,
            ..NavigateOutcome::default()
        }),
    });
    let aborted = listed(&aborted);
    assert_eq!(aborted[1], "Status: Branch not summarized");
    assert!(aborted[2].contains("Tree"), "{aborted:?}");
}

#[test]
fn the_current_entry_is_no_target() {
    let mut tester = SwitchTester::new();
    tester.app.session.leaf = Some(entry("e1"));
    let commands = tester.send(SwitchMsg::Navigate {
        target: entry("e1"),
        summarize: Summarize::Skip,
    });
    assert_eq!(listed(&commands), ["Status: Already at this entry"]);
}

#[test]
fn a_listing_reports_progress_and_ends_with_its_dialog() {
    let mut tester = SwitchTester::new();
    let (mut observer, cancel) = tester.list();
    observer(ListProgress {
        loaded: 1,
        total: 3,
        sessions: None,
    });
    let Ok(AppMsg::Switch(progress)) = tester.posted.try_recv() else {
        panic!("nothing posted");
    };
    let commands = tester.send(progress);
    assert!(matches!(
        commands[..],
        [AppCommand::UpdateDialog(DialogUpdate::Sessions {
            loaded: 1,
            finished: false,
            ..
        })]
    ));

    let (_, next) = tester.list();
    assert!(cancel.is_cancelled(), "another listing replaces it");
    tester.send(SwitchMsg::StopListing);
    assert!(next.is_cancelled());
}

#[test]
fn the_current_session_file_is_not_deleted() {
    let mut tester = SwitchTester::new();
    let path = PathBuf::from("current.jsonl");
    tester.app.session.file = Some(path.clone());
    let commands = tester.send(SwitchMsg::DeleteFile(path));
    assert!(matches!(
        commands[..],
        [AppCommand::UpdateDialog(DialogUpdate::Failed(_))]
    ));
    let commands = tester.send(SwitchMsg::DeleteFile(PathBuf::from("other.jsonl")));
    assert_eq!(listed(&commands), ["session DeleteFile"]);
}

#[test]
fn an_empty_session_cannot_be_forked() {
    let mut tester = SwitchTester::new();
    let commands = tester.send(SwitchMsg::ForkPoints(Ok(Vec::new())));
    assert_eq!(
        listed(&commands),
        ["Status: The session has no messages to fork from"]
    );
}

#[test]
fn a_listing_that_was_canceled_leaves_the_list() {
    let mut tester = SwitchTester::new();
    let ended = |sessions| SwitchMsg::ListingEnded {
        scope: SessionScope::All,
        sessions,
    };
    assert!(tester.send(ended(None)).is_empty());
    let commands = tester.send(ended(Some(Vec::new())));
    assert!(matches!(
        commands[..],
        [AppCommand::UpdateDialog(DialogUpdate::Sessions {
            finished: true,
            ..
        })]
    ));
}

#[test]
fn the_list_shows_what_became_of_a_file() {
    let mut tester = SwitchTester::new();
    let path = PathBuf::from("other.jsonl");
    for (message, update) in [
        (SwitchMsg::FileRenamed(Ok(())), "SessionRenamed"),
        (
            SwitchMsg::FileRenamed(Err("locked".to_owned())),
            "Failed(\"locked\")",
        ),
        (
            SwitchMsg::FileDeleted(Ok(path)),
            "SessionDeleted(\"other.jsonl\")",
        ),
        (
            SwitchMsg::FileDeleted(Err("denied".to_owned())),
            "Failed(\"denied\")",
        ),
    ] {
        let commands = tester.send(message);
        assert_eq!(listed(&commands), [format!("UpdateDialog({update})")]);
    }
}

#[test]
fn clearing_a_name_in_the_list_stores_an_empty_one() {
    let mut tester = SwitchTester::new();
    let commands = tester.send(SwitchMsg::RenameFile {
        path: PathBuf::from("other.jsonl"),
        name: None,
    });
    assert!(matches!(
        &commands[..],
        [AppCommand::Session(SessionCommand::RenameFile { name, .. })] if name.is_empty()
    ));
}

#[test]
fn a_new_name_is_shown_in_the_title() {
    let mut tester = SwitchTester::new();
    let named = |result| SwitchMsg::NameSet {
        name: "Parser".to_owned(),
        result,
    };
    assert_eq!(
        listed(&tester.send(named(Ok(())))),
        ["Status(NameChanged)", "Status: Session renamed to Parser"]
    );
    assert_eq!(
        listed(&tester.send(named(Err("read-only".to_owned())))),
        ["Error: read-only"]
    );
}

#[test]
fn a_compaction_offers_to_undo_it_and_a_failed_one_is_reported() {
    let mut tester = SwitchTester::new();
    for (result, shown) in [
        (Ok(()), vec!["Status: Run /compact undo to go back"]),
        (
            Err(CompactFailure::Canceled),
            vec!["Status: Compaction canceled"],
        ),
        (
            Err(CompactFailure::Failed("too small".to_owned())),
            vec!["Error: too small"],
        ),
    ] {
        let commands = tester.send(SwitchMsg::Compacted(result));
        assert_eq!(listed(&commands), shown);
    }
}
