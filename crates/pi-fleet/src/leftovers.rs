//! Processes that a killed worker has left behind: its pi process, and commands of it.
//!
//! Commands carry an environment variable with the name of their run. pi itself hides its environment, so its process
//! ID is stored with the time it started.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Set for the agent of a run and everything it starts: the directory of the batch and the ID of the task.
pub(crate) const RUN_VARIABLE: &str = "PI_FLEET_RUN";

/// How long to wait for killed processes to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait before looking again.
const POLL: Duration = Duration::from_millis(10);

/// A process and when it started, in clock ticks since boot. Process IDs are reused, the pair is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessIdentity {
    id: i32,
    started: u64,
}

/// Stores the process of a run, so that a later worker can end it.
pub(crate) fn store(path: &Path, process: u32) -> io::Result<()> {
    let Some(started) = i32::try_from(process).ok().and_then(start_time) else {
        return Ok(());
    };
    let text = format!("{process} {started}\n");
    pi_fs::atomic_file::write(path, text.as_bytes(), pi_fs::NewFileMode::Private)
}

/// Kills what is left of a run, and waits until it has exited.
pub(crate) async fn kill(path: &Path, marker: &str) {
    let stored = std::fs::read_to_string(path).ok();
    kill_all(stored.as_deref().and_then(parse), marker).await;
}

/// Kills processes by their marker, and waits until they have exited.
pub(crate) async fn kill_marked(marker: &str) {
    kill_all(None, marker).await;
}

async fn kill_all(stored: Option<ProcessIdentity>, marker: &str) {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    let mut is_clear = false;
    while Instant::now() < deadline {
        let agent = stored.filter(|agent| start_time(agent.id) == Some(agent.started));
        let mut alive: Vec<i32> = agent.map(|agent| agent.id).into_iter().collect();
        alive.extend(marked(marker));
        for id in &alive {
            if let Some(process) = rustix::process::Pid::from_raw(*id) {
                rustix::process::kill_process(process, rustix::process::Signal::KILL).ok();
            }
        }
        // A process that was just forked may not have its environment yet: look twice.
        if alive.is_empty() && std::mem::replace(&mut is_clear, true) {
            return;
        }
        is_clear = alive.is_empty();
        tokio::time::sleep(POLL).await;
    }
}

fn parse(text: &str) -> Option<ProcessIdentity> {
    let (id, started) = text.trim().split_once(' ')?;
    Some(ProcessIdentity {
        id: id.parse().ok()?,
        started: started.parse().ok()?,
    })
}

/// Returns when a process started; `None` if it does not exist or has exited.
#[cfg(target_os = "linux")]
fn start_time(process: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn start_time(_process: i32) -> Option<u64> {
    None
}

/// Returns the processes whose environment has the variable with this value.
#[cfg(target_os = "linux")]
fn marked(marker: &str) -> Vec<i32> {
    if marker.is_empty() {
        return Vec::new();
    }
    let variable = format!("{RUN_VARIABLE}={marker}");
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let this = std::process::id().cast_signed();
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| *id != this && start_time(*id).is_some())
        .filter(|id| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|one| one == variable.as_bytes())
        })
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn marked(_marker: &str) -> Vec<i32> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn marked_and_stored_processes_are_killed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent");
        let marker = directory.path().to_string_lossy().into_owned();
        let spawn = |value: &str| {
            let mut command = std::process::Command::new("sleep");
            command.arg("1000").env(RUN_VARIABLE, value);
            command.spawn().unwrap()
        };
        let mut running = spawn(&marker);
        let mut stored = spawn("");
        let mut other = spawn("other");
        store(&path, stored.id()).unwrap();
        kill(&path, &marker).await;
        assert!(!running.wait().unwrap().success());
        assert!(!stored.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[tokio::test]
    async fn a_process_with_a_reused_id_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent");
        let mut other = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        std::fs::write(&path, format!("{} 1\n", other.id())).unwrap();
        kill(&path, "none").await;
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
