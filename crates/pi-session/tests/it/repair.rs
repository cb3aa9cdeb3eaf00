//! Repairs on a real disk: what stays beside the file, what is refused, what is not touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_ai::Env;
use pi_session::{ForkPosition, ProblemKind, SessionRepair, RepairError, Session, SessionCheck};
use pretty_assertions::assert_eq;

use crate::scratch::{HEADER, Scratch, append_bytes, branch, open, read, user, user_line};

fn repair(path: &Path) -> Result<Option<SessionRepair>, RepairError> {
    SessionRepair::run(path, &Env::process())
}

/// A session of three entries whose second is half there.
fn damaged(scratch: &Scratch, name: &str) -> PathBuf {
    let (one, two, three) = (
        user_line("a", None),
        user_line("b", Some("a")),
        user_line("c", Some("b")),
    );
    scratch.lines(name, &[HEADER, &one, two.get(..90).unwrap(), &three])
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
fn a_repair_keeps_the_file_as_it_was_and_what_it_could_not_read() {
    let scratch = Scratch::new();
    let path = damaged(&scratch, "s.jsonl");
    let before = read(&path);
    let written = SystemTime::now() - Duration::from_secs(5000);
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(written).unwrap();

    assert_eq!(SessionCheck::read(&path).unwrap().damage, 2);
    assert_eq!(read(&path), before, "a check writes nothing");
    let done = repair(&path).unwrap().unwrap();
    assert_eq!((done.quarantined, done.placeholders), (1, 1));
    assert_eq!(read(&done.backup), before);
    let half = user_line("b", Some("a")).get(..90).unwrap().to_owned();
    assert_eq!(read(&done.lost.unwrap()), format!("{half}\n"));
    assert_eq!(
        names(scratch.path()),
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
    assert!(repair(&path).unwrap().is_none(), "once is enough");

    let mut session = open(&path).unwrap();
    assert_eq!(branch(&session), ["a", "b", "c"]);
    session.append_message(user("on")).unwrap();
    let copy = session.fork(&"c".into(), ForkPosition::At).unwrap();
    drop(copy);
}

#[test]
fn backups_are_never_overwritten() {
    let scratch = Scratch::new();
    let path = damaged(&scratch, "s.jsonl");
    repair(&path).unwrap().unwrap();
    append_bytes(&path, "rubbish\n");
    let again = repair(&path).unwrap().unwrap();
    assert!(again.backup.ends_with("s.jsonl.bak2"));
    assert!(again.lost.unwrap().ends_with("s.jsonl.lost2"));
    assert_eq!(names(scratch.path()).len(), 5);
    let listed =
        pi_session::listing::files(pi_session::listing::SearchScope::Directory(scratch.path()));
    assert_eq!(listed, [path]);
}

#[test]
fn a_file_without_a_record_is_left_as_it_is() {
    let scratch = Scratch::new();
    let nulls = scratch.write("nulls.jsonl", [0; 4096]);
    assert!(matches!(
        repair(&nulls),
        Err(RepairError::NoReadableRecords { .. })
    ));
    let text = scratch.write("notes.jsonl", "my notes\n");
    assert!(matches!(
        repair(&text),
        Err(RepairError::NoReadableRecords { .. })
    ));
    assert_eq!(read(&text), "my notes\n");
    let empty = scratch.write("empty.jsonl", "");
    assert!(repair(&empty).unwrap().is_none());
    let missing = repair(&scratch.path().join("nowhere.jsonl")).unwrap_err();
    assert!(missing.to_string().contains("there is no session file"));
    assert_eq!(names(scratch.path()).len(), 3);
}

#[cfg(unix)]
#[test]
fn a_session_that_is_open_is_left_alone() {
    let scratch = Scratch::new();
    let path = damaged(&scratch, "s.jsonl");
    let session: Session = open(&path).unwrap();
    let before = read(&path);
    let error = repair(&path).unwrap_err();
    assert!(matches!(error, RepairError::InUse { .. }), "{error}");
    let notes = SessionCheck::read(&path).unwrap().problems;
    let in_use = notes.iter().any(|it| it.kind == ProblemKind::InUse);
    assert!(in_use, "what is being written may look like damage");
    assert_eq!(read(&path), before);
    assert_eq!(names(scratch.path()), ["s.jsonl"]);
    drop(session);
    assert!(repair(&path).unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn the_mode_and_a_link_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let scratch = Scratch::new();
    let real = damaged(&scratch, "real/s.jsonl");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = scratch.path().join("link.jsonl");
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
fn a_lost_header_takes_the_directory_of_its_neighbors() {
    let scratch = Scratch::new();
    scratch.lines("2026-01-01T00-00-00-000Z_other.jsonl", &[HEADER]);
    let path = scratch.lines(
        "2026-01-02T00-00-00-000Z_mine.jsonl",
        &[&user_line("a", None)],
    );
    repair(&path).unwrap().unwrap();
    let session = open(&path).unwrap();
    assert_eq!(session.header().id, "mine");
    assert_eq!(session.header().cwd, "/project");
}

#[test]
fn a_long_file_with_a_long_line_is_checked_and_repaired() {
    let scratch = Scratch::new();
    let mut content = format!("{HEADER}\n");
    let mut parent = None;
    for number in 0..20_000 {
        let id = format!("{number:08x}");
        content += &user_line(&id, parent.as_deref());
        content += "\n";
        parent = Some(id);
    }
    let long = user_line("long", parent.as_deref()).replace("from long", &"x".repeat(8_000_000));
    let path = scratch.write("s.jsonl", format!("{content}{long}\n{{\"type\":\"mess"));
    let done = repair(&path).unwrap().unwrap();
    assert_eq!((done.found.entries, done.quarantined), (20_001, 1));
    assert_eq!(read(&path), format!("{content}{long}\n"));
}

#[test]
fn a_folder_or_a_pipe_is_no_session() {
    let scratch = Scratch::new();
    let error = SessionCheck::read(scratch.path()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    let kind = source.downcast_ref::<io::Error>().unwrap().kind();
    assert_eq!(kind, io::ErrorKind::IsADirectory);
}
