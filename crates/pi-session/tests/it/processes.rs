//! Two processes at one session, and one that is killed.
//!
//! The other process is this test program, started again for one of the tests below with the file's
//! path in its environment; without that those tests do nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use pi_session::{AppendError, Session, SessionError};
use pretty_assertions::assert_eq;

use crate::scratch::{Scratch, assistant, create, open, user};

const FILE: &str = "PI_SESSION_TEST_FILE";
const MARK: &str = "appended ";

/// Starts this program for one test and gives it a file.
fn start(test: &str, file: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

/// Reads the next id the other process has appended.
fn next_id(output: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    while output.read_line(&mut line).unwrap() > 0 {
        // The test harness puts the test's name on the line of the first one.
        if let Some((_, id)) = line.split_once(MARK)
            && id.ends_with('\n')
        {
            return Some(id.trim().to_owned());
        }
        line.clear();
    }
    None
}

fn tell(id: &str) {
    println!("{MARK}{id}");
    std::io::stdout().flush().unwrap();
}

fn saved(scratch: &Scratch) -> (Session, PathBuf) {
    let mut session = create(&scratch.sessions("/project"));
    session.append_message(assistant("hi")).unwrap();
    let path = session.path().unwrap().to_owned();
    (session, path)
}

#[test]
fn holder() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let mut session = open(Path::new(&file)).unwrap();
    let entry = session.append_message(user("from the holder")).unwrap();
    tell(entry.id.as_str());
    // Holds the session until the other side lets go of the pipe.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn writer_without_end() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let mut session = open(Path::new(&file)).unwrap();
    loop {
        let entry = session.append_message(user("again and again")).unwrap();
        tell(entry.id.as_str());
    }
}

#[cfg(unix)]
#[test]
fn a_session_open_elsewhere_can_be_read_and_taken_over_when_it_is_let_go() {
    let scratch = Scratch::new();
    let (session, path) = saved(&scratch);
    drop(session);
    let (mut child, mut output) = start("processes::holder", &path);
    let theirs = next_id(&mut output).unwrap();

    let mut session = open(&path).unwrap();
    assert!(session.open_report().locked_elsewhere);
    assert_eq!(session.leaf_id().unwrap(), &*theirs);
    let error = session.append_message(user("mine")).unwrap_err();
    let in_use = matches!(
        &error,
        SessionError::AppendFailed {
            source: AppendError::InUse,
            ..
        }
    );
    assert!(in_use, "{error}");
    assert!(
        error
            .to_string()
            .contains("another pi has this session open"),
        "{error}"
    );
    assert_eq!(session.len(), 2);

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let mine = session.append_message(user("mine")).unwrap();
    assert_eq!(mine.parent_id.as_ref().unwrap(), &*theirs);
}

#[cfg(unix)]
#[test]
fn a_second_session_in_this_process_is_a_second_writer_too() {
    let scratch = Scratch::new();
    let (mut first, path) = saved(&scratch);
    let mut second = open(&path).unwrap();
    assert!(second.open_report().locked_elsewhere);
    assert!(second.append_message(user("no")).is_err());
    let theirs = first.append_message(user("first")).unwrap();
    drop(first);
    let error = second.append_message(user("not yet")).unwrap_err();
    let grown = matches!(
        &error,
        SessionError::AppendFailed {
            source: AppendError::ConcurrentWrite { .. },
            ..
        }
    );
    assert!(grown, "{error}");
    let adopted = second.load_appended().unwrap();
    assert_eq!(adopted.entries, std::slice::from_ref(&theirs.id));
    second.append_message(user("now")).unwrap();
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let scratch = Scratch::new();
    let (session, path) = saved(&scratch);
    drop(session);
    let (mut child, mut output) = start("processes::writer_without_end", &path);
    let mut acknowledged: Vec<String> = Vec::new();
    while acknowledged.len() < 300 {
        acknowledged.push(next_id(&mut output).unwrap());
    }
    child.kill().unwrap();
    acknowledged.extend(std::iter::from_fn(|| next_id(&mut output)));
    child.wait().unwrap();

    let mut session = open(&path).unwrap();
    assert!(
        !session.open_report().locked_elsewhere,
        "a lock ends with its process"
    );
    let found: Vec<String> = session
        .branch_ids()
        .iter()
        .skip(1)
        .map(ToString::to_string)
        .collect();
    assert_eq!(found[..acknowledged.len()], acknowledged);
    // One may be written and not told, one told and cut off in the pipe.
    assert!(found.len() <= acknowledged.len() + 2);
    session.append_message(user("on")).unwrap();
}

#[cfg(unix)]
#[test]
fn a_replaced_or_deleted_file_is_not_written_to() {
    let scratch = Scratch::new();
    for (change, expected) in [
        ("replace", "another program replaced or cut it"),
        ("delete", "it was deleted while open"),
    ] {
        let (mut session, path) = saved(&scratch);
        match change {
            "replace" => {
                let beside = scratch.write("beside", std::fs::read(&path).unwrap());
                std::fs::rename(beside, &path).unwrap();
            }
            _ => std::fs::remove_file(&path).unwrap(),
        }
        let error = session.append_message(user("lost?")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        // What is in memory can still be saved elsewhere.
        let rescued = session.export_branch().unwrap();
        assert_eq!(String::from_utf8(rescued).unwrap().lines().count(), 2);
        assert_eq!(path.exists(), change == "replace");
    }
}
