//! Files that something else has changed are not overwritten without asking, and edits between turns are kept.

use std::os::unix::fs::symlink;

use pi_checkpoint::{FileCondition, Resolution};
use pretty_assertions::assert_eq;

use crate::simulated_session::{SimulatedSession, text, write};

#[test]
fn a_changed_file_is_skipped_overwritten_or_written_next_to() {
    for (resolution, file, next) in [
        (Resolution::Skip, "mine", None),
        (Resolution::Overwrite, "old", None),
        (Resolution::WriteNextTo, "mine", Some("old")),
    ] {
        let mut session = SimulatedSession::new();
        let [changed, unchanged] = ["changed", "unchanged"].map(|name| session.path(name));
        write(&changed, "old");
        write(&unchanged, "old");
        let prompt = session.prompt();
        session.write("changed", "new");
        session.write("unchanged", "new");
        write(&changed, "mine");
        let branch = session.branch(&prompt);
        let plan = session.history.plan(&branch).unwrap();
        assert_eq!(plan.count(FileCondition::ChangedSince), 1);
        assert_eq!(plan.count(FileCondition::Restorable), 1);
        let report = session.history.restore(&plan, resolution).unwrap();
        assert_eq!(text(&unchanged).unwrap(), "old");
        assert_eq!(text(&changed).unwrap(), file, "{resolution:?}");
        assert_eq!(text(&session.path("changed.restored")).as_deref(), next);
        assert_eq!(
            report.skipped.len(),
            usize::from(resolution == Resolution::Skip)
        );
    }
}

#[test]
fn a_change_after_the_plan_is_noticed() {
    let mut session = SimulatedSession::new();
    let file = session.path("a");
    let prompt = session.prompt();
    session.write("a", "new");
    let branch = session.branch(&prompt);
    let plan = session.history.plan(&branch).unwrap();
    write(&file, "mine");
    let report = session.history.restore(&plan, Resolution::Skip).unwrap();
    assert_eq!((report.restored.len(), report.skipped.len()), (0, 1));
    assert_eq!(text(&file).unwrap(), "mine");
}

#[test]
fn undo_keeps_an_edit_that_the_user_made_between_turns() {
    let mut session = SimulatedSession::new();
    let file = session.path("a");
    session.prompt();
    let first = session.write("a", "first");
    write(&file, "mine");
    session.prompt();
    session.write("a", "second");
    let branch = session.branch(session.leaf.as_ref().unwrap());
    let plan = session.history.plan_undo(&branch).unwrap().unwrap();
    session.history.restore(&plan, Resolution::Skip).unwrap();
    assert_eq!(text(&file).unwrap(), "mine");
    // The entry itself is from before that edit.
    let branch = session.branch(&first);
    let plan = session.history.plan(&branch).unwrap();
    session.history.restore(&plan, Resolution::Skip).unwrap();
    assert_eq!(text(&file).unwrap(), "first");
}

#[test]
fn a_directory_that_became_a_link_is_not_followed() {
    let mut session = SimulatedSession::new();
    let [directory, elsewhere] = ["d", "elsewhere"].map(|name| session.path(name));
    for path in [&directory, &elsewhere] {
        std::fs::create_dir(path).unwrap();
    }
    let prompt = session.prompt();
    session.write("d/a", "new");
    std::fs::remove_dir_all(&directory).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    write(&elsewhere.join("a"), "new");
    let branch = session.branch(&prompt);
    let plan = session.history.plan(&branch).unwrap();
    let report = session
        .history
        .restore(&plan, Resolution::Overwrite)
        .unwrap();
    // The file of the tool is gone; the other one is not it.
    assert!(report.failed.is_empty() && report.restored.is_empty());
    assert_eq!(text(&elsewhere.join("a")).unwrap(), "new");
}
