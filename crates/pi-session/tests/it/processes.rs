//! Concurrent access by two processes, and killed writers. The other process is this test binary,
//! started again for one of the tests below with the file path in its environment; without that
//! variable those tests do nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use pi_session::listing::SearchScope;
use pi_session::{AppendError, NewSession, RemovalError, Session, SessionError, delete_session};
use pretty_assertions::assert_eq;

use crate::temp_files::{TempFiles, assistant, create, open, user};

const FILE: &str = "PI_SESSION_TEST_FILE";
const MARK: &str = "appended ";

/// Starts this binary to run a single test on a file.
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

/// Reads the next ID that the other process has appended.
fn next_id(output: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    while output.read_line(&mut line).unwrap() > 0 {
        // The test harness prints the test name on the line of the first ID.
        if let Some((_, id)) = line.split_once(MARK)
            && id.ends_with('\n')
        {
            return Some(id.trim().to_owned());
        }
        line.clear();
    }
    None
}

fn report_id(id: &str) {
    println!("{MARK}{id}");
    std::io::stdout().flush().unwrap();
}

fn saved(temp: &TempFiles) -> (Session, PathBuf) {
    let mut session = create(&temp.sessions("/project"));
    session.append_message(assistant("hi")).unwrap();
    let path = session.path().unwrap().to_owned();
    (session, path)
}

#[test]
fn hold_session() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let mut session = open(Path::new(&file)).unwrap();
    let entry = session
        .append_message(user("from the hold_session"))
        .unwrap();
    report_id(entry.id.as_str());
    // Holds the lock until the other process closes the pipe.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn write_forever() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let mut session = open(Path::new(&file)).unwrap();
    loop {
        let entry = session.append_message(user("again and again")).unwrap();
        report_id(entry.id.as_str());
    }
}

#[cfg(unix)]
#[test]
fn a_locked_session_can_be_read_and_is_writable_after_release() {
    let temp = TempFiles::new();
    let (session, path) = saved(&temp);
    drop(session);
    let (mut child, mut output) = start("processes::hold_session", &path);
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
            .contains("another pi process has this session open"),
        "{error}"
    );
    assert_eq!(session.entries().len(), 2);

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let mine = session.append_message(user("mine")).unwrap();
    assert_eq!(mine.parent_id.as_ref().unwrap(), &*theirs);
}

#[cfg(unix)]
#[test]
fn a_second_session_in_this_process_is_a_concurrent_writer() {
    let temp = TempFiles::new();
    let (mut first, path) = saved(&temp);
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
    let appended = second.load_appended().unwrap();
    assert_eq!(appended.entries, std::slice::from_ref(&theirs.id));
    second.append_message(user("now")).unwrap();
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let temp = TempFiles::new();
    let (session, path) = saved(&temp);
    drop(session);
    let (mut child, mut output) = start("processes::write_forever", &path);
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
        "the lock is released when the process exits"
    );
    let found: Vec<String> = session
        .current_branch()
        .ids()
        .iter()
        .skip(1)
        .map(ToString::to_string)
        .collect();
    assert_eq!(found[..acknowledged.len()], acknowledged);
    // One record may be written but not reported, and one reported but truncated in the pipe.
    assert!(found.len() <= acknowledged.len() + 2);
    session.append_message(user("on")).unwrap();
}

#[cfg(unix)]
#[test]
fn a_replaced_or_deleted_file_is_not_written() {
    let temp = TempFiles::new();
    for (change, expected) in [
        ("replace", "another process replaced or truncated the file"),
        ("delete", "the file was deleted while open"),
    ] {
        let (mut session, path) = saved(&temp);
        match change {
            "replace" => {
                let replacement = temp.write("replacement", std::fs::read(&path).unwrap());
                std::fs::rename(replacement, &path).unwrap();
            }
            _ => std::fs::remove_file(&path).unwrap(),
        }
        let error = session.append_message(user("lost?")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        // The content in memory can still be exported.
        let exported = session.export_branch().unwrap();
        assert_eq!(String::from_utf8(exported).unwrap().lines().count(), 2);
        assert_eq!(path.exists(), change == "replace");
    }
}

#[test]
fn a_chosen_id_belongs_to_the_first_session_that_is_written() {
    let temp = TempFiles::new();
    let store = temp.sessions("/project");
    let new = || NewSession {
        id: Some("job-1".into()),
        ..NewSession::default()
    };
    let mut one = store.create(new()).unwrap();
    let mut other = store.create(new()).unwrap();
    one.append_message(user("first")).unwrap();
    let path = one.path().unwrap().to_owned();
    for _ in 0..2 {
        match other.append_message(user("second")).unwrap_err() {
            SessionError::IdTaken { id, path: taken } => {
                assert_eq!((id.as_str(), &taken), ("job-1", &path));
            }
            error => panic!("{error}"),
        }
    }
    one.append_message(assistant("answer")).unwrap();
    assert_eq!(
        pi_session::listing::files(SearchScope::Directory(store.path())),
        [path]
    );
}

#[test]
fn threads_that_choose_the_same_id_write_one_session() {
    let temp = TempFiles::new();
    let store = temp.sessions("/project");
    let new = || NewSession {
        id: Some("job-1".into()),
        ..NewSession::default()
    };
    let mut sessions: Vec<_> = (0..8).map(|_| store.create(new()).unwrap()).collect();
    let barrier = std::sync::Barrier::new(sessions.len());
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = sessions
            .iter_mut()
            .map(|session| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    session.append_message(user("hi")).is_ok()
                })
            })
            .collect();
        let written = writers.into_iter().map(|writer| writer.join().unwrap());
        written.filter(|written| *written).count()
    });
    assert_eq!(written, 1);
    let files = pi_session::listing::files(SearchScope::Directory(store.path()));
    assert_eq!(files.len(), 1);
}

#[test]
fn an_open_session_is_not_deleted() {
    let temp = TempFiles::new();
    let (mut session, path) = saved(&temp);
    let error = delete_session(&path).unwrap_err();
    assert!(matches!(error, RemovalError::InUse { .. }), "{error}");
    session.append_message(user("more")).unwrap();
    drop(session);
    delete_session(&path).unwrap();
    assert!(!path.exists());
}
