//! Repairs on a real disk: backups, errors, and files that must not change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_env::Env;
use pi_session::{ForkPosition, ProblemKind, RepairError, Session, SessionCheck, SessionRepair};
use pretty_assertions::assert_eq;

use crate::temp_files::{HEADER, TempFiles, append_bytes, branch, open, read, user, user_line};

fn repair(path: &Path) -> Result<Option<SessionRepair>, RepairError> {
    SessionRepair::run(path, &Env::process())
}

/// A session with three entries, the second of which is partial.
fn damaged(temp: &TempFiles, name: &str) -> PathBuf {
    let (one, two, three) = (
        user_line("a", None),
        user_line("b", Some("a")),
        user_line("c", Some("b")),
    );
    temp.lines(name, &[HEADER, &one, two.get(..90).unwrap(), &three])
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_repair_keeps_the_original_file_and_the_unreadable_data() {
    let temp = TempFiles::new();
    let path = damaged(&temp, "s.jsonl");
    let before = read(&path);
    let written = SystemTime::now() - Duration::from_secs(5000);
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(written).unwrap();

    assert_eq!(SessionCheck::read(&path).unwrap().damage, 2);
    assert_eq!(read(&path), before, "a check does not write");
    let done = repair(&path).unwrap().unwrap();
    assert_eq!((done.quarantined, done.placeholders), (1, 1));
    assert_eq!(read(&done.backup), before);
    let half = user_line("b", Some("a")).get(..90).unwrap().to_owned();
    assert_eq!(read(&done.lost.unwrap()), format!("{half}\n"));
    assert_eq!(
        names(temp.path()),
        ["s.jsonl", "s.jsonl.bak", "s.jsonl.lost"]
    );
    for line in [
        HEADER.to_owned(),
        user_line("a", None),
        user_line("c", Some("b")),
    ] {
        assert!(read(&path).lines().any(|kept| kept == line), "{line}");
    }
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
    assert!(SessionCheck::read(&path).unwrap().is_sound());
    assert!(repair(&path).unwrap().is_none(), "one repair is enough");

    let mut session = open(&path).unwrap();
    assert_eq!(branch(&session), ["a", "b", "c"]);
    session.append_message(user("on")).unwrap();
    let copy = session.fork(&"c".into(), ForkPosition::At).unwrap();
    drop(copy);
}

#[test]
fn backups_are_never_overwritten() {
    let temp = TempFiles::new();
    let path = damaged(&temp, "s.jsonl");
    repair(&path).unwrap().unwrap();
    append_bytes(&path, "rubbish\n");
    let again = repair(&path).unwrap().unwrap();
    assert!(again.backup.ends_with("s.jsonl.bak2"));
    assert!(again.lost.unwrap().ends_with("s.jsonl.lost2"));
    assert_eq!(names(temp.path()).len(), 5);
    let listed =
        pi_session::listing::files(pi_session::listing::SearchScope::Directory(temp.path()));
    assert_eq!(listed, [path]);
}

#[test]
fn a_file_without_records_is_not_changed() {
    let temp = TempFiles::new();
    let nulls = temp.write("nulls.jsonl", [0; 4096]);
    assert!(matches!(
        repair(&nulls),
        Err(RepairError::NoReadableRecords { .. })
    ));
    let text = temp.write("notes.jsonl", "my notes\n");
    assert!(matches!(
        repair(&text),
        Err(RepairError::NoReadableRecords { .. })
    ));
    assert_eq!(read(&text), "my notes\n");
    let empty = temp.write("empty.jsonl", "");
    assert!(repair(&empty).unwrap().is_none());
    let missing = repair(&temp.path().join("missing.jsonl")).unwrap_err();
    assert!(missing.to_string().contains("session file not found"));
    assert_eq!(names(temp.path()).len(), 3);
}

#[cfg(unix)]
#[test]
fn an_open_session_is_not_repaired() {
    let temp = TempFiles::new();
    let path = damaged(&temp, "s.jsonl");
    let session: Session = open(&path).unwrap();
    let before = read(&path);
    let error = repair(&path).unwrap_err();
    assert!(matches!(error, RepairError::InUse { .. }), "{error}");
    let notes = SessionCheck::read(&path).unwrap().problems;
    let in_use = notes.iter().any(|it| it.kind == ProblemKind::InUse);
    assert!(in_use, "a record being written may be reported as damage");
    assert_eq!(read(&path), before);
    assert_eq!(names(temp.path()), ["s.jsonl"]);
    drop(session);
    assert!(repair(&path).unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn mode_and_symlink_are_preserved() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let temp = TempFiles::new();
    let real = damaged(&temp, "real/s.jsonl");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = temp.path().join("link.jsonl");
    symlink("real/s.jsonl", &link).unwrap();
    let done = repair(&link).unwrap().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o640);
    assert_eq!(mode(&done.lost.unwrap()), 0o600);
    assert!(done.backup.ends_with("real/s.jsonl.bak"));
    assert!(SessionCheck::read(&link).unwrap().is_sound());
}

#[test]
fn a_rebuilt_header_uses_the_working_directory_of_its_siblings() {
    let temp = TempFiles::new();
    temp.lines("2026-01-01T00-00-00-000Z_other.jsonl", &[HEADER]);
    let path = temp.lines(
        "2026-01-02T00-00-00-000Z_mine.jsonl",
        &[&user_line("a", None)],
    );
    repair(&path).unwrap().unwrap();
    let session = open(&path).unwrap();
    assert_eq!(session.header().id, "mine");
    assert_eq!(session.header().cwd, "/project");
}

#[test]
fn a_large_file_with_a_long_line_is_repaired() {
    let temp = TempFiles::new();
    let mut content = format!("{HEADER}\n");
    let mut parent = None;
    for number in 0..20_000 {
        let id = format!("{number:08x}");
        content += &user_line(&id, parent.as_deref());
        content += "\n";
        parent = Some(id);
    }
    let long = user_line("long", parent.as_deref()).replace("from long", &"x".repeat(8_000_000));
    let path = temp.write("s.jsonl", format!("{content}{long}\n{{\"type\":\"mess"));
    let done = repair(&path).unwrap().unwrap();
    assert_eq!((done.found.entries, done.quarantined), (20_001, 1));
    assert_eq!(read(&path), format!("{content}{long}\n"));
}

#[test]
fn a_directory_is_not_a_session() {
    let temp = TempFiles::new();
    let error = SessionCheck::read(temp.path()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    let kind = source.downcast_ref::<io::Error>().unwrap().kind();
    assert_eq!(kind, io::ErrorKind::IsADirectory);
}
