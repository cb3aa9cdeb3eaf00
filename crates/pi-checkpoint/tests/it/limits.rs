//! The store stays below its limit, and the files of the store are private.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use pi_checkpoint::{FileCondition, HistoryCheck, Resolution};
use pretty_assertions::assert_eq;

use crate::simulated_session::{SimulatedSession, text};

/// Returns a text that does not compress well.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed;
    let letters = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        char::from(b'!' + u8::try_from((state >> 40) % 90).unwrap())
    });
    letters.take(length).collect()
}

fn stored_bytes(store: &Path) -> u64 {
    let contents = fs::read_dir(store.join("contents")).unwrap();
    contents
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

#[test]
fn the_oldest_contents_are_removed_first() {
    let mut session = SimulatedSession::with_limit(10_000);
    let mut prompts = Vec::new();
    for turn in 0..8 {
        prompts.push(session.prompt());
        session.write("a", &noise(turn, 3000));
        assert!(stored_bytes(&session.store()) <= 10_000, "{turn}");
    }
    let branch = session.branch(&prompts[7]);
    let plan = session.history.plan(&branch).unwrap();
    assert_eq!(plan.count(FileCondition::Restorable), 1);
    session.history.restore(&plan, Resolution::Skip).unwrap();
    assert_eq!(text(&session.path("a")).unwrap(), noise(6, 3000));
    let branch = session.branch(&prompts[2]);
    let plan = session.history.plan(&branch).unwrap();
    assert_eq!(plan.count(FileCondition::Unavailable), 1);
    let report = session
        .history
        .restore(&plan, Resolution::Overwrite)
        .unwrap();
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(text(&session.path("a")).unwrap(), noise(6, 3000));
}

#[test]
fn a_file_larger_than_the_limit_is_listed_but_not_stored() {
    let mut session = SimulatedSession::with_limit(1000);
    session.prompt();
    session.write("a", &noise(1, 3000));
    assert_eq!(session.history.changes().len(), 1);
    assert!(!session.store().join("contents").exists());
}

#[test]
fn the_store_is_private_and_sound() {
    let mut session = SimulatedSession::new();
    session.prompt();
    session.write("a", "x");
    let store = session.store();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&store), 0o700);
    assert_eq!(mode(&store.join("contents")), 0o700);
    assert_eq!(mode(&store.join("index.jsonl")), 0o600);
    let contents: Vec<_> = fs::read_dir(store.join("contents")).unwrap().collect();
    for file in contents {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    let check = HistoryCheck::read(&store).unwrap().unwrap();
    assert!(check.is_sound());
    assert_eq!((check.changes, check.contents), (1, 1));
}
