//! Disk failures and process kills at every step of creating, appending to, migrating and repairing
//! a session. The kernel injects the faults in a separate process, see
//! `pi_test_support::kernel_fault_command`. Faults at every byte of a record are tested next to the
//! store, on an in-memory disk.

use std::fs;
use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_session::{NewSession, Session, SessionCheck, SessionRepair};
use pi_test_support::{
    DiskFault, DiskOperation, install_kernel_fault, kernel_fault_command, was_killed_by_fault,
};
use pretty_assertions::assert_eq;

use crate::temp_files::{HEADER, TempFiles, branch, open, user, user_line};

const JOB: &str = "PI_TEST_JOB";
const FILE: &str = "PI_TEST_FILE";

/// Operations on a file, and the disk operations they need.
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

fn setup(temp: &TempFiles, job: &str) -> PathBuf {
    let (one, two) = (user_line("a", None), user_line("b", Some("a")));
    match job {
        "create" => temp.path().join("s.jsonl"),
        "append" => temp.lines("s.jsonl", &[HEADER, &one, &two]),
        "migrate" => {
            let header = HEADER.replace(r#""version":3,"#, "");
            let plain =
                r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
            temp.lines("s.jsonl", &[&header, plain, plain])
        }
        _ => temp.lines(
            "s.jsonl",
            &[HEADER, &one, "rubbish", &user_line("c", Some("b"))],
        ),
    }
}

/// Runs a job; panics on errors.
fn run_job(job: &str, path: &Path) {
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
        _ => drop(SessionRepair::run(path, &Env::process()).unwrap()),
    }
}

/// Checks that a job has completed.
fn check_done(job: &str, path: &Path) {
    assert!(SessionCheck::read(path).unwrap().is_sound());
    let session = open(path).unwrap();
    match job {
        "create" => assert_eq!(session.entries().len(), 1),
        "append" => assert_eq!(session.entries().len(), 3),
        "migrate" => assert_eq!(session.entries().len(), 2),
        _ => assert_eq!(branch(&session), ["a", "b", "c"]),
    }
}

#[test]
#[ignore = "run by another test in a separate process"]
fn job_under_a_fault() {
    let (Ok(job), Ok(file)) = (std::env::var(JOB), std::env::var(FILE)) else {
        return;
    };
    if install_kernel_fault() {
        run_job(&job, Path::new(&file));
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
fn a_failed_job_changes_nothing_and_can_be_retried() {
    for (job, steps) in JOBS {
        for step in steps {
            for fault in DiskFault::ALL.into_iter().take(4) {
                let temp = TempFiles::new();
                let path = setup(&temp, job);
                let before = fs::read(&path).ok();
                let output = run(job, *step, fault, &path);
                let case = format!("{job}: {fault:?} at {step:?}: {output:?}");
                if fault == DiskFault::Kill {
                    assert!(was_killed_by_fault(output.status), "{case}");
                } else {
                    assert!(!output.status.success(), "{case}");
                    let files = fs::read_dir(temp.path()).unwrap().count();
                    assert_eq!(files, usize::from(before.is_some()), "{case}");
                }
                let left = fs::read(&path).ok();
                if job == "create" && left.as_ref().is_some_and(Vec::is_empty) {
                    // An empty file is not a session yet.
                    fs::remove_file(&path).unwrap();
                } else {
                    assert_eq!(left, before, "{case}");
                }
                run_job(job, &path);
                check_done(job, &path);
            }
        }
    }
}

#[test]
fn a_repair_copies_the_backup_if_it_cannot_link() {
    for fault in [DiskFault::NoSpace, DiskFault::ReadOnly] {
        let temp = TempFiles::new();
        let path = setup(&temp, "repair");
        let before = fs::read(&path).unwrap();
        let output = run("repair", DiskOperation::Link, fault, &path);
        assert!(output.status.success(), "{output:?}");
        check_done("repair", &path);
        let backup = temp.path().join("s.jsonl.bak");
        assert_eq!(fs::read(backup).unwrap(), before);
    }
}

#[test]
fn file_systems_without_locks_are_supported() {
    for job in ["create", "append", "repair"] {
        let temp = TempFiles::new();
        let path = setup(&temp, job);
        let output = run(job, DiskOperation::Lock, DiskFault::Unsupported, &path);
        assert!(output.status.success(), "{job}: {output:?}");
        check_done(job, &path);
    }
}
