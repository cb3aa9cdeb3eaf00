use std::path::Path;

use pi_core::NoSession;
use pretty_assertions::assert_eq;

use super::*;
use crate::local_environment::local_environment;

const DEADLINE: Duration = Duration::from_secs(30);

struct Harness {
    tool: ProcessTool,
    cx: ToolContext,
    exits: tokio::sync::mpsc::UnboundedReceiver<ProcessExit>,
    _directory: tempfile::TempDir,
}

impl Harness {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (processes, exits) = BackgroundProcesses::new();
        let tool = ProcessTool::new(ProcessToolOptions {
            processes,
            variables: Arc::new(|| None),
            command_prefix: None,
            spill_directory: directory.path().to_owned(),
        });
        let session = Arc::new(NoSession::at(directory.path()));
        Self {
            tool,
            cx: ToolContext::new("call_1", session, Arc::new(local_environment())),
            exits,
            _directory: directory,
        }
    }

    fn directory(&self) -> &Path {
        self.cx.session.cwd()
    }

    async fn call(&self, arguments: Value) -> Result<Value, String> {
        let Value::Object(arguments) = arguments else {
            unreachable!()
        };
        let called = self.tool.call(self.cx.clone(), arguments).await;
        let output = called.map_err(|error| error.to_string())?;
        Ok(output.structured_content.unwrap_or_default())
    }

    async fn start(&self, name: &str, command: &str) -> Result<Value, String> {
        self.call(json!({"action": "start", "name": name, "command": command}))
            .await
    }

    /// Reads until the output contains a text; returns the last result.
    async fn read_until(&self, name: &str, text: &str) -> Value {
        let reading = async {
            loop {
                let read = self.call(json!({"action": "read", "name": name})).await;
                let read = read.unwrap();
                if read["output"].as_str().unwrap().contains(text) {
                    return read;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, reading).await.unwrap()
    }
}

#[tokio::test]
async fn a_process_is_started_read_written_to_and_stopped() {
    let harness = Harness::new();
    let command = "echo ready; while read line; do echo got $line; done; sleep 600";
    let started = harness.start("echo", command).await.unwrap();
    assert_eq!(started["state"], json!("running"));
    let first = harness.read_until("echo", "ready").await;
    harness
        .call(json!({"action": "write", "name": "echo", "data": "one\n"}))
        .await
        .unwrap();
    harness.read_until("echo", "got one").await;
    let since = json!({"action": "read", "name": "echo", "since": first["next"]});
    let new = harness.call(since).await.unwrap();
    assert_eq!(new["output"], json!("got one\n"));
    let stopped = harness.call(json!({"action": "stop", "name": "echo"}));
    assert_eq!(stopped.await.unwrap()["state"], json!("stopped"));
    let listed = harness.call(json!({"action": "list"})).await.unwrap();
    assert_eq!(listed["processes"][0]["state"], json!("stopped"));
    assert_eq!(listed["processes"][0]["command"], json!(command));
    let again = harness.start("echo", "true").await.unwrap();
    assert_eq!(again["state"], json!("exited"), "the name is free again");
}

#[tokio::test]
async fn a_command_that_fails_at_once_is_reported_by_start() {
    let harness = Harness::new();
    let failed = harness.start("build", "echo no such target; exit 3").await;
    let failed = failed.unwrap();
    assert_eq!(failed["state"], json!("exited"));
    assert_eq!(failed["exit_code"], json!(3));
    assert_eq!(failed["output"], json!("no such target\n"));
}

#[tokio::test]
async fn mistakes_are_named() {
    let harness = Harness::new();
    for (arguments, error) in [
        (
            json!({"action": "read", "name": "x"}),
            "There is no process x.",
        ),
        (
            json!({"action": "start", "name": "x"}),
            "missing field `command`",
        ),
        (
            json!({"action": "start", "name": "a b", "command": "true"}),
            "Invalid name",
        ),
        (
            json!({"action": "start", "name": "", "command": "true"}),
            "Invalid name",
        ),
        (json!({"action": "run"}), "unknown variant `run`"),
    ] {
        let problem = harness.call(arguments).await.unwrap_err();
        assert!(problem.contains(error), "{problem}");
    }
    harness.start("x", "sleep 600").await.unwrap();
    let problem = harness.start("x", "sleep 600").await.unwrap_err();
    assert!(problem.starts_with("x is already running."), "{problem}");
    for number in 1..8 {
        let name = format!("x{number}");
        harness.start(&name, "exec sleep 600").await.unwrap();
    }
    let problem = harness.start("y", "true").await.unwrap_err();
    assert!(problem.contains("x, x1, x2"), "{problem}");
    let stop = json!({"action": "stop", "name": "x"});
    harness.call(stop).await.unwrap();
    let write = json!({"action": "write", "name": "x", "data": "late"});
    assert_eq!(harness.call(write).await.unwrap_err(), "x has ended.");
}

#[tokio::test]
async fn the_end_of_a_process_is_reported_on_request() {
    let mut harness = Harness::new();
    let start = |name: &str, command: &str, notify: bool| json!({"action": "start", "name": name, "command": command, "notify": notify});
    harness.call(start("quiet", "true", false)).await.unwrap();
    let stopped = start("stopped", "sleep 600", true);
    harness.call(stopped).await.unwrap();
    let stop = json!({"action": "stop", "name": "stopped"});
    harness.call(stop).await.unwrap();
    let tests = start("tests", "echo 2 failed; exit 1", true);
    harness.call(tests).await.unwrap();
    let exit = tokio::time::timeout(DEADLINE, harness.exits.recv()).await;
    let expected = ProcessExit {
        name: "tests".to_owned(),
        state: ProcessState::Exited(Some(1)),
        output: "2 failed\n".to_owned(),
    };
    assert_eq!(exit.unwrap(), Some(expected));
}

#[tokio::test]
async fn long_output_is_saved_and_bounded_in_memory() {
    let harness = Harness::new();
    harness
        .start("log", "seq 1 200000; sleep 600")
        .await
        .unwrap();
    let read = harness.read_until("log", "\n200000").await;
    assert_eq!(read["truncated"], json!(true));
    assert!(read["output"].as_str().unwrap().len() < 60_000);
    let file = read["full_output_path"].as_str().unwrap();
    let saved = std::fs::metadata(file).unwrap().len();
    assert!(saved > 1_000_000, "{saved}");
}

#[tokio::test]
async fn processes_end_with_the_session() {
    let harness = Harness::new();
    let file = harness.directory().join("pid");
    let command = "(trap '' HUP TERM; sleep 600 & echo $! > pid; wait)";
    harness.start("server", command).await.unwrap();
    let started = async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            // Complete with its line feed.
            if let Some(pid) = text.strip_suffix('\n') {
                return pid.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let pid = tokio::time::timeout(DEADLINE, started).await.unwrap();
    drop(harness.tool);
    let ended = async {
        while pi_test_support::is_running(&pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, ended).await.unwrap();
}
