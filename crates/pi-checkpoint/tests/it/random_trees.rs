//! Random changes over a random session tree: restoring any entry gives the files of that moment.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use pi_checkpoint::{FileState, Resolution};
use pi_protocol::EntryId;
use pretty_assertions::assert_eq;

use crate::simulated_session::{SimulatedSession, read, write};

/// A linear congruential generator: the same sequence everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn name(&mut self) -> PathBuf {
        let names = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/b"];
        names[self.below(names.len())].into()
    }
}

/// Changes a path in a random way. Returns nothing if the change does not fit what is there.
fn random_call(random: &mut Random, session: &mut SimulatedSession) {
    let path = session.project().join(random.name());
    let state = read(&path).state;
    let contents = format!("{}\n", random.below(1000)).repeat(1 + random.below(40));
    match random.below(6) {
        // Like `write`: with the missing directories.
        0..=2 if !matches!(state, FileState::Directory { .. }) => {
            let project = session.project();
            let ancestors = path.ancestors().take_while(|parent| *parent != project);
            let mut paths: Vec<PathBuf> = ancestors.map(Path::to_owned).collect();
            paths.reverse();
            let blocked = paths.iter().any(|path| {
                let state = read(path).state;
                matches!(state, FileState::File { .. } | FileState::Link { .. })
            });
            if !blocked || paths.len() == 1 {
                session.call(&paths, || {
                    if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                        fs::remove_file(&path).unwrap();
                    }
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    write(&path, &contents);
                });
            }
        }
        3 => match state {
            FileState::File { .. } | FileState::Link { .. } => {
                session.call(std::slice::from_ref(&path), || {
                    fs::remove_file(&path).unwrap();
                });
            }
            _ => {}
        },
        4 if matches!(state, FileState::File { .. }) => {
            let mode = [0o600, 0o644, 0o755][random.below(3)];
            session.call(std::slice::from_ref(&path), || {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            });
        }
        5 if state == FileState::Missing && path.parent().unwrap().is_dir() => {
            let target = ["a", "missing", "../a"][random.below(3)];
            session.call(std::slice::from_ref(&path), || {
                symlink(target, &path).unwrap();
            });
        }
        _ => {}
    }
}

/// Deletes a directory with everything in it, like `rm -r`.
fn remove_directory(session: &mut SimulatedSession) {
    let directory = session.path("d");
    let below = session.files().into_keys();
    let paths: Vec<PathBuf> = below.filter(|path| path.starts_with(&directory)).collect();
    if directory.is_dir() {
        session.call(&paths, || fs::remove_dir_all(&directory).unwrap());
    }
}

pub(crate) fn restore_and_compare(session: &mut SimulatedSession, entry: &EntryId, seed: u64) {
    let branch = session.branch(entry);
    let plan = session.history.plan(&branch).unwrap();
    let report = session.history.restore(&plan, Resolution::Skip).unwrap();
    assert!(report.failed.is_empty(), "{seed} {entry}: {report:?}");
    assert!(report.skipped.is_empty(), "{seed} {entry}: {report:?}");
    assert_eq!(session.files(), session.copies[entry], "{seed} {entry}");
}

#[test]
fn restoring_any_entry_gives_the_files_of_that_moment() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let mut session = SimulatedSession::new();
        for _ in 0..14 {
            session.prompt();
            for _ in 0..random.below(5) {
                random_call(&mut random, &mut session);
            }
            if random.below(6) == 0 {
                remove_directory(&mut session);
            }
            session.end_turn();
            // Move in the tree, with and without the files.
            if random.below(3) == 0 {
                let entry = session.entries[random.below(session.entries.len())].clone();
                if random.below(2) == 0 {
                    restore_and_compare(&mut session, &entry, seed);
                }
                session.leaf = Some(entry);
            }
        }
        for entry in session.entries.clone() {
            restore_and_compare(&mut session, &entry, seed);
        }
        // And back, from the index alone.
        session.history = pi_checkpoint::FileHistory::open(&session.store(), u64::MAX).unwrap();
        for entry in session.entries.clone().iter().rev() {
            restore_and_compare(&mut session, entry, seed);
        }
    }
}

#[test]
fn undo_restores_one_turn_after_the_other() {
    let mut session = SimulatedSession::new();
    let file = session.path("a");
    let mut expected = Vec::new();
    for turn in 0..3 {
        expected.push(session.prompt());
        session.write("a", &format!("{turn}.0"));
        session.write("a", &format!("{turn}.1"));
        session.write(&format!("new{turn}"), "x");
        session.end_turn();
    }
    session.prompt();
    session.end_turn();
    for prompt in expected.iter().rev() {
        let branch = session.branch(session.leaf.as_ref().unwrap());
        let plan = session.history.plan_undo(&branch).unwrap().unwrap();
        assert_eq!(plan.files.len(), 2, "{plan:#?}");
        session.history.restore(&plan, Resolution::Skip).unwrap();
        assert_eq!(session.files(), session.copies[prompt]);
    }
    let branch = session.branch(session.leaf.as_ref().unwrap());
    assert_eq!(session.history.plan_undo(&branch).unwrap(), None);
    assert!(!file.exists());

    // What was undone stays undone when a later turn is undone, and what was restored can be undone again.
    let later = session.prompt();
    session.write("a", "later");
    undo(&mut session);
    assert_eq!(session.files(), session.copies[&later]);
    let branch = session.branch(session.leaf.as_ref().unwrap());
    assert_eq!(session.history.plan_undo(&branch).unwrap(), None);
    restore_and_compare(&mut session, &expected[2], 0);
    undo(&mut session);
    assert_eq!(session.files(), session.copies[&expected[1]]);
}

fn undo(session: &mut SimulatedSession) {
    let branch = session.branch(session.leaf.as_ref().unwrap());
    let plan = session.history.plan_undo(&branch).unwrap().unwrap();
    session.history.restore(&plan, Resolution::Skip).unwrap();
}
