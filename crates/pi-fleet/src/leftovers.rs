//! Processes that a killed worker has left behind: its pi process, and commands of it.
//!
//! Commands carry an environment variable with the name of their run and the epoch of their worker. pi itself hides its
//! environment, so its process ID is stored with the time it started. A worker ends processes of its own epoch and of
//! earlier ones only: if it was suspended and another worker of this machine has the run, those of its successor stay.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Set for the agent of a run and everything it starts: the directory of the batch, the ID of the task and the epoch.
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

/// What workers of this machine start for a run.
pub(crate) struct RunProcesses {
    /// The directory of the batch and the ID of the task.
    name: String,
    /// Where the agents are stored.
    directory: PathBuf,
    task: String,
}

impl RunProcesses {
    pub(crate) fn new(batch: &Path, task: &str) -> Self {
        Self {
            name: format!("{}:{task}", batch.display()),
            directory: batch.join("runs"),
            task: task.to_owned(),
        }
    }

    /// Identifies the run on this machine.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value of [`RUN_VARIABLE`].
    pub(crate) fn marker(&self, epoch: u64) -> String {
        format!("{}:{epoch}", self.name)
    }

    pub(crate) fn agent_file(&self, epoch: u64) -> PathBuf {
        self.directory.join(format!("{}.{epoch}.agent", self.task))
    }

    /// Stores the agent, so that a later worker can end it.
    pub(crate) fn store_agent(&self, epoch: u64, process: u32) -> io::Result<()> {
        let Some(started) = i32::try_from(process).ok().and_then(start_time) else {
            return Ok(());
        };
        let text = format!("{process} {started}\n");
        let path = self.agent_file(epoch);
        pi_fs::atomic_file::write(&path, text.as_bytes(), pi_fs::NewFileMode::Private)
    }

    /// Kills what is left of the run up to an epoch, and waits until it has exited.
    pub(crate) async fn kill(&self, epoch: u64) {
        let files = self.agent_files(epoch).into_iter();
        let stored = files.filter_map(|path| parse(&std::fs::read_to_string(path).ok()?));
        let stored: Vec<_> = stored.collect();
        let is_of_run = |marker: &str| {
            let found = marker.strip_prefix(&self.name);
            let found = found.and_then(|rest| rest.strip_prefix(':')?.parse::<u64>().ok());
            found.is_some_and(|found| found <= epoch)
        };
        kill_all(&stored, is_of_run).await;
        self.forget_agents(epoch);
    }

    /// Removes the files of agents that have exited, up to an epoch.
    pub(crate) fn forget_agents(&self, epoch: u64) {
        for path in self.agent_files(epoch) {
            std::fs::remove_file(path).ok();
        }
    }

    /// Returns the files of the agents up to an epoch.
    fn agent_files(&self, epoch: u64) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        let files = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let rest = name.strip_prefix(&self.task)?.strip_prefix('.')?;
            let found: u64 = rest.strip_suffix(".agent")?.parse().ok()?;
            (found <= epoch).then(|| entry.path())
        });
        files.collect()
    }
}

/// Kills processes by their marker, and waits until they have exited.
pub(crate) async fn kill_marked(marker: &str) {
    kill_all(&[], |found| found == marker).await;
}

async fn kill_all(stored: &[ProcessIdentity], is_marker: impl Fn(&str) -> bool) {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    let mut is_clear = false;
    while Instant::now() < deadline {
        let agents = stored
            .iter()
            .filter(|agent| start_time(agent.id) == Some(agent.started));
        let mut alive: Vec<i32> = agents.map(|agent| agent.id).collect();
        alive.extend(marked(&is_marker));
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

/// Returns the processes whose environment has the variable with such a value.
#[cfg(target_os = "linux")]
fn marked(is_marker: &impl Fn(&str) -> bool) -> Vec<i32> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let this = std::process::id().cast_signed();
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| *id != this && start_time(*id).is_some())
        .filter(|id| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| {
                let variable = std::str::from_utf8(variable).ok();
                let value = variable.and_then(|text| text.split_once('='));
                value.is_some_and(|(name, value)| name == RUN_VARIABLE && is_marker(value))
            })
        })
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn marked(_is_marker: &impl Fn(&str) -> bool) -> Vec<i32> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn spawn(marker: &str) -> io::Result<std::process::Child> {
        let mut command = std::process::Command::new("sleep");
        command.arg("1000").env(RUN_VARIABLE, marker);
        command.spawn()
    }

    #[tokio::test]
    async fn processes_of_earlier_epochs_are_killed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("runs")).unwrap();
        let run = RunProcesses::new(directory.path(), "a");
        let other = RunProcesses::new(directory.path(), "a.4");
        let killed = [1, 3].map(|epoch| (spawn(&run.marker(epoch)).unwrap(), spawn("").unwrap()));
        let kept = [(&run, 4), (&other, 1)].map(|(run, epoch)| {
            let agent = spawn("").unwrap();
            run.store_agent(epoch, agent.id()).unwrap();
            [spawn(&run.marker(epoch)).unwrap(), agent]
        });
        for (epoch, (_, agent)) in [1, 3].into_iter().zip(&killed) {
            run.store_agent(epoch, agent.id()).unwrap();
        }
        run.kill(3).await;
        for (command, agent) in killed {
            for mut process in [command, agent] {
                assert!(!process.wait().unwrap().success());
            }
        }
        for mut process in kept.into_iter().flatten() {
            assert!(process.try_wait().unwrap().is_none());
            process.kill().unwrap();
            process.wait().unwrap();
        }
        assert!(!run.agent_file(3).exists() && run.agent_file(4).exists());
        assert!(other.agent_file(1).exists());
    }

    #[tokio::test]
    async fn a_process_with_a_reused_id_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("runs")).unwrap();
        let run = RunProcesses::new(directory.path(), "a");
        let mut other = spawn("other").unwrap();
        std::fs::write(run.agent_file(1), format!("{} 1\n", other.id())).unwrap();
        run.kill(1).await;
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
