//! A disk that fails, or a process that dies, at every step of creating, appending to, migrating and
//! repairing a session.
//!
//! The kernel makes the faults, in a process of their own: see `pi_test_support::kernel_fault_command`. What
//! happens at every single byte of a record is tried beside the store, on a disk in memory.

use std::fs;
use std::path::{Path, PathBuf};

use pi_ai::Env;
use pi_session::{NewSession, Repair, Session, SessionCheck};
use pi_test_support::{DiskFault, DiskOperation, install_kernel_fault, kernel_fault_command, was_killed_by_fault};
use pretty_assertions::assert_eq;

use crate::scratch::{HEADER, Scratch, branch, open, user, user_line};

const JOB: &str = "PI_TEST_JOB";
const FILE: &str = "PI_TEST_FILE";

/// What is done to a file, and the steps it takes on the disk.
const JOBS: [(&str, &[DiskOperation]); 4] = [
    ("create", &[DiskOperation::Create, DiskOperation::Write]),
    ("append", &[DiskOperation::Write]),
    ("migrate", &REPLACING),
    ("repair", &REPLACING),
];

const REPLACING: [DiskOperation; 5] = [
    DiskOperation::Create,
    DiskOperation::Write,
    DiskOperation::SetMode,
    DiskOperation::Sync,
    DiskOperation::Rename,
];

fn setup(scratch: &Scratch, job: &str) -> PathBuf {
    let (one, two) = (user_line("a", None), user_line("b", Some("a")));
    match job {
        "create" => scratch.path().join("s.jsonl"),
        "append" => scratch.lines("s.jsonl", &[HEADER, &one, &two]),
        "migrate" => {
            let header = HEADER.replace(r#""version":3,"#, "");
            let plain =
                r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
            scratch.lines("s.jsonl", &[&header, plain, plain])
        }
        _ => scratch.lines(
            "s.jsonl",
            &[HEADER, &one, "rubbish", &user_line("c", Some("b"))],
        ),
    }
}

/// Does the job; an error is told by a panic.
fn perform(job: &str, path: &Path) {
    match job {
        "create" => {
            let mut session =
                Session::create_at(path, Path::new("/project"), NewSession::default()).unwrap();
            session.append_message(user("first")).unwrap();
        }
        "append" => {
            let mut session = open(path).unwrap();
            session.append_message(user("third")).unwrap();
        }
        "migrate" => drop(open(path).unwrap()),
        _ => drop(Repair::perform(path, &Env::process()).unwrap()),
    }
}

/// Checks that a job has been done.
fn check_done(job: &str, path: &Path) {
    assert!(SessionCheck::read(path).unwrap().is_sound());
    let session = open(path).unwrap();
    match job {
        "create" => assert_eq!(session.len(), 1),
        "append" => assert_eq!(session.len(), 3),
        "migrate" => assert_eq!(session.len(), 2),
        _ => assert_eq!(branch(&session), ["a", "b", "c"]),
    }
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn job_under_a_fault() {
    let (Ok(job), Ok(file)) = (std::env::var(JOB), std::env::var(FILE)) else {
        return;
    };
    if install_kernel_fault() {
        perform(&job, Path::new(&file));
    }
}

fn run(job: &str, step: DiskOperation, fault: DiskFault, path: &Path) -> std::process::Output {
    kernel_fault_command("disk_faults::job_under_a_fault", step, fault)
        .env(JOB, job)
        .env(FILE, path)
        .output()
        .unwrap()
}

#[test]
fn a_session_is_as_it_was_and_the_next_attempt_works() {
    for (job, steps) in JOBS {
        for step in steps {
            for fault in DiskFault::ALL.into_iter().take(4) {
                let scratch = Scratch::new();
                let path = setup(&scratch, job);
                let before = fs::read(&path).ok();
                let output = run(job, *step, fault, &path);
                let case = format!("{job}: {fault:?} at {step:?}: {output:?}");
                if fault == DiskFault::Kill {
                    assert!(was_killed_by_fault(output.status), "{case}");
                } else {
                    assert!(!output.status.success(), "{case}");
                    let files = fs::read_dir(scratch.path()).unwrap().count();
                    assert_eq!(files, usize::from(before.is_some()), "{case}");
                }
                let left = fs::read(&path).ok();
                if job == "create" && left.as_ref().is_some_and(Vec::is_empty) {
                    // The file is there and nothing in it, which makes it no session.
                    fs::remove_file(&path).unwrap();
                } else {
                    assert_eq!(left, before, "{case}");
                }
                perform(job, &path);
                check_done(job, &path);
            }
        }
    }
}

#[test]
fn a_repair_copies_what_it_cannot_link() {
    for fault in [DiskFault::NoSpace, DiskFault::ReadOnly] {
        let scratch = Scratch::new();
        let path = setup(&scratch, "repair");
        let before = fs::read(&path).unwrap();
        let output = run("repair", DiskOperation::Link, fault, &path);
        assert!(output.status.success(), "{output:?}");
        check_done("repair", &path);
        let backup = scratch.path().join("s.jsonl.bak");
        assert_eq!(fs::read(backup).unwrap(), before);
    }
}

#[test]
fn a_file_system_without_locks_is_written_to_all_the_same() {
    for job in ["create", "append", "repair"] {
        let scratch = Scratch::new();
        let path = setup(&scratch, job);
        let output = run(job, DiskOperation::Lock, DiskFault::Unsupported, &path);
        assert!(output.status.success(), "{job}: {output:?}");
        check_done(job, &path);
    }
}
