//! `pi fleet check`: whether this machine and its server can do the work.

use std::path::Path;

use pi_fs::file_lock::{LockState, try_lock};

use super::batches::Batches;
use super::programs;
use super::words::Failure;
use super::{SOME_FAILED, SUCCESS, print};
use crate::engine::{DiskSync, NatsEngine};
use crate::store::ArtifactStore;

/// Seconds by which the clocks of a worker and its server may differ.
const MAX_SKEW: f64 = 5.0;

/// Checks what runs need; returns the exit code.
pub(super) async fn check(
    batches: &Batches,
    program: Option<&str>,
    store: Option<ArtifactStore>,
) -> Result<u8, Failure> {
    let mut report = Report { is_sound: true };
    report.line("git", programs::git().await);
    let found = programs::find_pi(program).map_err(|failure| failure.cause);
    let found = match found {
        Ok(path) => programs::pi_version(&path).await,
        Err(cause) => Err(cause),
    };
    let this = pi_env::release();
    if found.as_ref().is_ok_and(|version| *version != this) {
        let text = format!("it has another version than this program, {this}");
        Report::warning("pi", &text);
    }
    report.line("pi", found);
    report.line("file locks", check_locks(batches.root()));
    if let Some(program) = &batches.settings().container.program {
        report.line("containers", programs::version(program).await);
    }
    let limits = &batches.settings().limits;
    if !limits.buckets.is_empty() || limits.budget.per_day.is_some() {
        report.line("limits", Ok(limits.describe()));
    }
    if let Some(store) = store {
        report.line("artifacts", store.check().await);
    }
    if let Some(remote) = batches.remote() {
        // Connecting has checked the version.
        report.line("engine", Ok(remote.server_version()));
        report.line("permissions", check_permissions(remote).await);
        report.line("clock", check_clock(remote).await);
        check_sync(remote, &mut report).await;
    }
    Ok(if report.is_sound {
        SUCCESS
    } else {
        SOME_FAILED
    })
}

struct Report {
    is_sound: bool,
}

impl Report {
    fn line(&mut self, name: &str, found: Result<String, String>) {
        match found {
            Ok(text) => {
                print(&format!("ok      {name}: {text}"));
            }
            Err(text) => {
                self.is_sound = false;
                print(&format!("failed  {name}: {text}"));
            }
        }
    }

    fn warning(name: &str, text: &str) {
        print(&format!("warning {name}: {text}"));
    }
}

async fn check_permissions(remote: &NatsEngine) -> Result<String, String> {
    if remote.may_delete_streams().await {
        Err("this user may delete streams: give workers the user `worker`".to_owned())
    } else {
        Ok("may not delete streams".to_owned())
    }
}

async fn check_clock(remote: &NatsEngine) -> Result<String, String> {
    let skew = remote
        .clock_skew()
        .await
        .map_err(|error| error.to_string())?;
    let text = format!("differs by {:.1} s from that of the server", skew.abs());
    if skew.abs() <= MAX_SKEW {
        Ok(text)
    } else {
        Err(format!("{text}: synchronize it, for example with chrony"))
    }
}

async fn check_sync(remote: &NatsEngine, report: &mut Report) {
    const NAME: &str = "disk sync";
    const ADVICE: &str = "set `sync_interval: always` in its group `jetstream`";
    match remote.disk_sync().await {
        DiskSync::Always => report.line(NAME, Ok("every message".to_owned())),
        DiskSync::Sometimes { replicas: 1 } => {
            let text = "the server loses acknowledged messages when its power fails";
            report.line(NAME, Err(format!("{text}: {ADVICE}")));
        }
        DiskSync::Sometimes { replicas } => {
            let text = format!("messages are lost if {replicas} servers lose power together");
            Report::warning(NAME, &format!("{text}: {ADVICE}"));
        }
        DiskSync::Unknown => Report::warning(
            NAME,
            &format!("the server does not report it to this user; {ADVICE}, as pi fleet up does"),
        ),
    }
}

fn check_locks(root: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", root.display());
    pi_fs::private::create_directory(root).map_err(failed)?;
    let path = root.join("check.lock");
    let open = || pi_fs::private::open_or_create(&path).map_err(failed);
    let (first, second) = (open()?, open()?);
    match (try_lock(&first, &path), try_lock(&second, &path)) {
        (LockState::Acquired, LockState::HeldElsewhere) => Ok(root.display().to_string()),
        (LockState::HeldElsewhere, _) => Ok("held by another check".to_owned()),
        _ => Err(format!("{} does not support file locks", root.display())),
    }
}
