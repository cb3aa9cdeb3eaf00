//! Commands that daemonize, ignore signals or write forever. Every command has a unique marker in
//! its environment; processes that still have it afterwards have survived.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pi_core::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use pi_tools::LocalShell;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{run_isolated, text};

/// Longer than any test should take, and shorter than the commands would run.
const TEST_TIMEOUT: Duration = Duration::from_secs(40);

/// Chunks of output that wait for the reader.
const CHANNEL_CAPACITY: usize = 4;

struct MarkedCommand {
    mark: String,
    directory: TempDir,
    command: ShellCommand,
}

impl MarkedCommand {
    fn new(command: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let mark = Uuid::new_v4().to_string();
        let environment = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("MARK".into(), OsString::from(&mark)),
        ]
        .into();
        Self {
            command: ShellCommand {
                command: command.to_owned(),
                cwd: directory.path().to_owned(),
                environment,
                ..ShellCommand::default()
            },
            mark,
            directory,
        }
    }

    fn with_pipe(self, name: &str) -> Self {
        let path = self.directory.path().join(name);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        self
    }

    /// Returns the processes that have the marker and are not zombies.
    fn survivors(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter(|process| is_marked(&process.path(), &self.mark))
            .map(|process| {
                let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).replace('\0', " ")
            })
            .collect()
    }

    fn start(&self, cancel: &CancellationToken) -> StartedCommand {
        let (sender, output) = mpsc::channel(CHANNEL_CAPACITY);
        let (command, cancel) = (self.command.clone(), cancel.clone());
        let task =
            tokio::spawn(
                async move { LocalShell::default().execute(command, sender, cancel).await },
            );
        StartedCommand { task, output }
    }

    /// Runs until the command prints `ready`, cancels it and returns its surviving processes.
    async fn cancel_when_ready(&self) -> Vec<String> {
        let cancel = CancellationToken::new();
        let mut running = self.start(&cancel);
        running.wait_for("ready").await;
        assert!(!self.survivors().is_empty());
        cancel.cancel();
        let result = running.end().await;
        assert!(matches!(result, Err(ProcessError::Aborted)), "{result:?}");
        self.survivors()
    }
}

fn is_marked(process: &Path, mark: &str) -> bool {
    let has_mark = std::fs::read(process.join("environ"))
        .is_ok_and(|environment| String::from_utf8_lossy(&environment).contains(mark));
    // A zombie has no environment, and neither does a process that is being killed.
    has_mark && std::fs::metadata(process.join("exe")).is_ok()
}

struct StartedCommand {
    task: tokio::task::JoinHandle<Result<ExitCode, ProcessError>>,
    output: mpsc::Receiver<Bytes>,
}

impl StartedCommand {
    async fn wait_for(&mut self, text: &str) {
        let mut seen = Vec::new();
        let waiting = async {
            while !String::from_utf8_lossy(&seen).contains(text) {
                seen.extend_from_slice(&self.output.recv().await.expect("the command has exited"));
            }
        };
        tokio::time::timeout(TEST_TIMEOUT, waiting)
            .await
            .expect("no output from the command");
    }

    async fn end(mut self) -> Result<ExitCode, ProcessError> {
        let draining = async { while self.output.recv().await.is_some() {} };
        let both = async { tokio::join!(self.task, draining) };
        let (result, ()) = tokio::time::timeout(TEST_TIMEOUT, both)
            .await
            .expect("the command does not exit");
        result.unwrap()
    }
}

#[tokio::test]
async fn nothing_survives_a_kill() {
    for (name, command) in [
        ("a child", "sleep 300 & echo ready; wait"),
        (
            "a shell that ignores signals",
            "trap '' TERM INT HUP; echo ready; while :; do sleep 300; done",
        ),
        (
            "a job with its own group",
            "set -m; sleep 300 & echo ready; wait",
        ),
        (
            "a child in its own session",
            "setsid sh -c 'echo ready; sleep 300' & wait",
        ),
        (
            "a daemon: forked twice, own session, own files",
            "setsid sh -c '(sh -c \"echo ready >&3; exec 3>&-; exec sleep 300\" </dev/null >/dev/null 2>&1 &)' 3>&1; sleep 300",
        ),
        (
            "a shell replaced by exec",
            "setsid sh -c 'sleep 300 & wait' >/dev/null 2>&1 & exec sh -c 'echo ready; sleep 300'",
        ),
        (
            "a stopped child",
            "setsid sh -c 'kill -STOP $$' & sleep 300 & kill -STOP $!; echo ready; wait",
        ),
        (
            "an endless fork loop",
            "f() { while :; do setsid sh -c 'sleep 0.2; sh -c \"sleep 300 &\"' & n=$((n+1)); \
             [ $n = 20 ] && echo ready; [ $n -gt 200 ] && wait; done; }; f",
        ),
    ] {
        let left = MarkedCommand::new(command).cancel_when_ready().await;
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}

#[tokio::test]
async fn nothing_survives_a_timeout() {
    let mut command = MarkedCommand::new("setsid sleep 300 & trap '' TERM; sleep 300");
    command.command.timeout = Some(Duration::from_millis(300));
    let result = command.start(&CancellationToken::new()).end().await;
    assert!(
        matches!(result, Err(ProcessError::TimedOut(_))),
        "{result:?}"
    );
    assert_eq!(command.survivors(), [""; 0]);
}

#[tokio::test]
async fn nothing_survives_a_dropped_call() {
    let command = MarkedCommand::new("setsid sleep 300 & echo ready; wait");
    let mut running = command.start(&CancellationToken::new());
    running.wait_for("ready").await;
    running.task.abort();
    assert!(running.task.await.unwrap_err().is_cancelled());
    assert_eq!(command.survivors(), [""; 0]);
}

#[tokio::test]
async fn an_orphan_that_keeps_writing_is_killed_after_its_shell() {
    // The shell has exited and its orphan left the session: only the pipe identifies it.
    let command = "setsid sh -c '(while :; do echo $PPID; sleep 0.01; done) &' & \
                   while ! test -e gone; do sleep 0.01; done";
    let command = MarkedCommand::new(command);
    let cancel = CancellationToken::new();
    let mut running = command.start(&cancel);
    running.wait_for("\n").await;
    std::fs::File::create(command.directory.path().join("gone")).unwrap();
    // Wait until only the writing process is left.
    while command
        .survivors()
        .iter()
        .any(|line| line.contains("test -e"))
    {
        running.wait_for("\n").await;
    }
    cancel.cancel();
    let result = running.end().await;
    assert!(matches!(result, Err(ProcessError::Aborted)), "{result:?}");
    assert_eq!(command.survivors(), [""; 0]);
}

#[tokio::test]
async fn a_daemon_that_keeps_the_pipe_survives_and_can_write() {
    let command = "(read line < gate; echo late && echo alive > reply) & echo started";
    let command = MarkedCommand::new(command)
        .with_pipe("gate")
        .with_pipe("reply");
    let result = command.start(&CancellationToken::new()).end().await;
    assert_eq!(result.unwrap(), ExitCode(Some(0)));
    assert_eq!(command.survivors().len(), 1);
    let (gate, reply) = (
        command.directory.path().join("gate"),
        command.directory.path().join("reply"),
    );
    let reply = tokio::task::spawn_blocking(move || {
        use std::io::Write;
        let mut gate = std::fs::File::options().write(true).open(gate).unwrap();
        gate.write_all(b"go\n").unwrap();
        std::fs::read_to_string(reply).unwrap()
    });
    let reply = tokio::time::timeout(TEST_TIMEOUT, reply)
        .await
        .expect("the daemon was killed");
    assert_eq!(reply.unwrap(), "alive\n");
}

/// Waits until a condition is met.
async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, waiting).await.unwrap();
}

#[tokio::test]
async fn output_after_the_shell_exits_waits_for_a_slow_reader() {
    let command = "(for _ in 1 2 3 4; do read line < gate; printf x; done; read line < gate; echo last; : > written) & \
                   read line < exit; true";
    let command = MarkedCommand::new(command)
        .with_pipe("gate")
        .with_pipe("exit");
    let open = async |name: &str| {
        let pipe = command.directory.path().join(name);
        let open = move || std::fs::File::options().write(true).open(pipe).map(drop);
        tokio::task::spawn_blocking(open).await.unwrap().unwrap();
    };
    let mut running = command.start(&CancellationToken::new());
    // Fills the channel with a chunk at a time, so that nothing more is read.
    for count in 1..=CHANNEL_CAPACITY {
        open("gate").await;
        until(|| running.output.len() == count).await;
    }
    open("gate").await;
    open("exit").await;
    let written = command.directory.path().join("written");
    until(|| written.exists()).await;
    // Takes as long as the idle time that would complete the command.
    let silent = MarkedCommand::new("sleep 5 & echo started");
    let result = silent.start(&CancellationToken::new()).end().await;
    assert_eq!(result.unwrap(), ExitCode(Some(0)));
    running.wait_for("last").await;
    assert_eq!(running.end().await.unwrap(), ExitCode(Some(0)));
}

#[tokio::test]
async fn a_character_may_arrive_in_two_chunks() {
    let command = MarkedCommand::new(r"printf '\346'; read line < gate; printf '\227\245'");
    let command = command.with_pipe("gate");
    let gate = command.directory.path().join("gate");
    let mut running = command.start(&CancellationToken::new());
    assert_eq!(running.output.recv().await.unwrap(), &b"\xe6"[..]);
    let open = move || std::fs::File::options().write(true).open(gate).map(drop);
    tokio::task::spawn_blocking(open).await.unwrap().unwrap();
    assert_eq!(running.output.recv().await.unwrap(), &b"\x97\xa5"[..]);
    assert_eq!(running.end().await.unwrap(), ExitCode(Some(0)));
}

#[tokio::test]
async fn a_canceled_call_starts_nothing() {
    let command = MarkedCommand::new("touch ran");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = command.start(&cancel).end().await;
    assert!(matches!(result, Err(ProcessError::Aborted)), "{result:?}");
    assert!(!command.directory.path().join("ran").exists());
}

#[tokio::test]
async fn concurrent_commands_do_not_affect_each_other() {
    let keep = MarkedCommand::new("echo ready; read line < gate; echo done").with_pipe("gate");
    let mut kept = keep.start(&CancellationToken::new());
    kept.wait_for("ready").await;
    let stopped: Vec<_> = (0..8)
        .map(|_| MarkedCommand::new("setsid sleep 300 & echo ready; wait"))
        .collect();
    let kills = stopped.iter().map(MarkedCommand::cancel_when_ready);
    for left in futures_util::future::join_all(kills).await {
        assert_eq!(left, [""; 0]);
    }
    let gate = keep.directory.path().join("gate");
    let open = move || std::fs::File::options().write(true).open(gate).map(drop);
    tokio::task::spawn_blocking(open).await.unwrap().unwrap();
    kept.wait_for("done").await;
    assert_eq!(kept.end().await.unwrap(), ExitCode(Some(0)));
}

#[test]
fn two_gigabytes_of_output_use_little_memory() {
    use pi_core::{NoSession, Tool, ToolContext};
    use pi_tools::{ShellTool, ShellToolOptions, local_environment};
    use serde_json::json;

    const GIGABYTES: u64 = 2;
    /// Mostly the test binary and the runtime.
    const MAX_KILOBYTES: u64 = 48 * 1024;
    if !run_isolated("process_tree::two_gigabytes_of_output_use_little_memory") {
        return;
    }
    let spill = TempDir::new().unwrap();
    let tool = ShellTool::bash(ShellToolOptions {
        spill_directory: spill.path().to_owned(),
        ..ShellToolOptions::default()
    });
    let command = format!("yes 'a line of ordinary length, more or less' | head -c {GIGABYTES}G");
    let arguments = json!({"command": command}).as_object().unwrap().clone();
    let session = Arc::new(NoSession::at("/"));
    let cx = ToolContext::new("call_1", session, Arc::new(local_environment()));
    let running = tool.call(cx, arguments);
    let result = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(running)
        .unwrap();
    let details = result.details.as_ref().unwrap();
    assert_eq!(details["truncation"]["totalBytes"], json!(GIGABYTES << 30));
    let saved = std::fs::metadata(details["fullOutputPath"].as_str().unwrap()).unwrap();
    assert!(saved.len() < 257 << 20, "{} bytes saved", saved.len());
    let shown = text(&result);
    assert!(shown.contains("First 256.0MB of the output: "), "{shown}");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < MAX_KILOBYTES, "{kilobytes} kB peak");
}
