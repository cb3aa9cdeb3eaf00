//! Letters that changed inside of valid records: found with the checksums of what pi wrote, without blaming other
//! programs that append to a file or edit it.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_session::{SessionCheck, SessionRepair, delete_session};
use pretty_assertions::assert_eq;

use crate::temp_files::{TempFiles, assistant, create, open, read, user};

fn sums_of(path: &Path) -> PathBuf {
    path.with_extension("jsonl.sums")
}

/// A saved session with `count` prompts and responses; its first line is the header.
fn saved_session(temp: &TempFiles, count: usize) -> PathBuf {
    let mut session = create(&temp.sessions("/project"));
    for number in 0..count {
        session
            .append_message(user(&format!("prompt {number}")))
            .unwrap();
        session
            .append_message(assistant(&format!("response {number}")))
            .unwrap();
    }
    session.path().unwrap().to_owned()
}

/// Returns the problems of a file and the number of entries that match their checksum.
fn check(path: &Path) -> (Vec<String>, usize) {
    let check = SessionCheck::read(path).unwrap();
    let problems = check.problems.iter().map(|problem| {
        let place = problem.line.map_or(String::new(), |it| format!("{it} "));
        let description = problem.kind.description();
        let silent = description.contains("no program has written");
        let cause = if silent { " silently" } else { "" };
        format!("{place}{}{cause}", problem.kind.name())
    });
    (problems.collect(), check.verified)
}

/// Replaces text of a file; without `is_noticed`, like a disk that returns other bytes.
fn replace(path: &Path, from: &str, to: &str, is_noticed: bool) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let content = read(path);
    assert!(content.contains(from), "{content}");
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(content.replacen(from, to, 1).as_bytes())
        .unwrap();
    if is_noticed {
        file.set_modified(modified + std::time::Duration::from_secs(1))
            .unwrap();
    } else {
        file.set_modified(modified).unwrap();
    }
}

#[test]
fn changed_letters_are_found_and_a_repair_accepts_them() {
    for is_noticed in [false, true] {
        let temp = TempFiles::new();
        let path = saved_session(&temp, 2);
        assert_eq!(check(&path), (vec![], 4));
        replace(&path, "response 1", "response 7", is_noticed);
        let kind = if is_noticed {
            "1 changed-text"
        } else {
            "1 changed-text silently"
        };
        assert_eq!(check(&path), (vec![kind.to_owned()], 0));
        let damaged = read(&path);
        let repair = SessionRepair::run(&path, &Env::process()).unwrap().unwrap();
        assert_eq!(read(&repair.backup), damaged);
        assert_eq!(read(&path), damaged);
        assert_eq!(check(&path), (vec![], 0));
    }
}

#[test]
fn the_lines_are_named() {
    let temp = TempFiles::new();
    // Each line has about 200 bytes and a checksum covers 4 KiB.
    let path = saved_session(&temp, 100);
    let size = fs::metadata(sums_of(&path)).unwrap().len();
    assert!(size < 20 * 62, "{size} bytes of checksums");
    assert_eq!(check(&path).1, 200);
    replace(&path, "response 50", "response 59", false);
    let report = SessionCheck::read(&path).unwrap();
    assert_eq!(report.damage, 1, "{report:?}");
    let first = report.problems[0].line.unwrap();
    let description = report.problems[0].kind.description();
    let last = description.split_once("up to line ").unwrap().1;
    let last: u64 = last.split(' ').next().unwrap().parse().unwrap();
    assert!((71..=103).contains(&first) && (103..140).contains(&last));
    assert!(report.verified > 150 && report.verified < 200);
}

#[test]
fn what_other_programs_append_is_not_a_problem() {
    let temp = TempFiles::new();
    let path = saved_session(&temp, 1);
    let line = r#"{"type":"custom","id":"other","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","customType":"x"}"#;
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{line}").unwrap();
    assert_eq!(check(&path), (vec![], 2));
    open(&path).unwrap().append_message(user("more")).unwrap();
    assert_eq!(check(&path), (vec![], 3));
    // Before the file was changed by others, nothing can be said about the time of a change.
    replace(&path, "prompt 0", "prompt 1", false);
    assert_eq!(check(&path), (vec!["1 changed-text".to_owned()], 1));
    replace(&path, "prompt 1", "prompt 0", false);
    replace(&path, "more", "less", false);
    let expected = vec!["5 changed-text silently".to_owned()];
    assert_eq!(check(&path), (expected, 2));
}

#[test]
fn an_edited_file_is_not_damaged() {
    let temp = TempFiles::new();
    let path = saved_session(&temp, 30);
    let edited = read(&path).replacen("prompt 0", "a longer prompt", 1);
    fs::remove_file(&path).unwrap();
    File::create(&path)
        .unwrap()
        .write_all(edited.as_bytes())
        .unwrap();
    let report = SessionCheck::read(&path).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(check(&path).0, ["rewritten"]);
    // What pi writes from now on is covered again.
    let mut session = open(&path).unwrap();
    session.append_message(user("more")).unwrap();
    drop(session);
    replace(&path, "more", "less", false);
    let last = format!("{} changed-text silently", 62);
    assert_eq!(check(&path).0, ["rewritten".to_owned(), last]);
}

#[test]
fn without_checksums_nothing_is_claimed() {
    let temp = TempFiles::new();
    let path = saved_session(&temp, 1);
    fs::remove_file(sums_of(&path)).unwrap();
    replace(&path, "prompt 0", "prompt 1", false);
    assert_eq!(check(&path), (vec![], 0));
}

#[test]
fn checksums_are_private_and_removed_with_the_session() {
    let temp = TempFiles::new();
    let path = saved_session(&temp, 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(sums_of(&path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    delete_session(&path).unwrap();
    assert!(!sums_of(&path).exists());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_checksums_is_not_followed() {
    let temp = TempFiles::new();
    let path = saved_session(&temp, 1);
    fs::remove_file(sums_of(&path)).unwrap();
    let target = path.with_extension("private");
    File::create(&target).unwrap();
    std::os::unix::fs::symlink(&target, sums_of(&path)).unwrap();
    open(&path).unwrap().append_message(user("more")).unwrap();
    assert_eq!(read(&target), "");
    assert_eq!(check(&path), (vec![], 0));
}

#[test]
fn damaged_checksums_are_not_damage_of_the_session() {
    let temp = TempFiles::new();
    let path = saved_session(&temp, 1);
    for content in ["", "garbage", &"x".repeat(62 * 3 + 5), &"0 ".repeat(31)] {
        File::create(sums_of(&path))
            .unwrap()
            .write_all(content.as_bytes())
            .unwrap();
        assert!(SessionCheck::read(&path).unwrap().is_sound(), "{content}");
        let mut session = open(&path).unwrap();
        session.append_message(user("more")).unwrap();
        drop(session);
        let (problems, verified) = check(&path);
        assert_eq!((problems, verified), (vec![], 1), "{content}");
    }
}
