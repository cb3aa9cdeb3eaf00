//! Test harness: a temporary home and project, a scripted model server, and helpers to run the binary and build
//! model replies.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Deadline for a run of the binary, far longer than any run takes.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Returns the binary under test: the one of this build, or another one in `PI_TEST_BINARY`, such as a release build.
pub(crate) fn pi_binary() -> OsString {
    let other = std::env::var_os("PI_TEST_BINARY");
    other.unwrap_or_else(|| env!("CARGO_BIN_EXE_pi").into())
}

/// A temporary home with a project and a scripted model server.
pub(crate) struct TestContext {
    pub(crate) home: TempHome,
    pub(crate) server: ScriptedServer,
}

impl TestContext {
    /// Creates the home and starts a server that sends `replies` in order.
    pub(crate) async fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let server = ScriptedServer::start(replies).await;
        let home = TempHome::new();
        let model = |id: &str, reasoning: bool| {
            json!({
                "id": id, "name": id, "reasoning": reasoning, "input": ["text", "image"],
                "contextWindow": 200_000, "maxTokens": 8192,
                "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
            })
        };
        let models = json!({"providers": {"mock": {
            "baseUrl": format!("{}/v1", server.url()), "api": "openai-completions", "apiKey": "k",
            "models": [model("alpha", true), model("beta", false)],
        }}});
        home.write("agent/models.json", models.to_string());
        home.write("project/.keep", "");
        Self { home, server }
    }

    pub(crate) fn project_dir(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Returns the path of the only session file.
    pub(crate) fn session_file(&self) -> PathBuf {
        let sessions = std::fs::read_dir(self.home.path().join("agent/sessions")).unwrap();
        let files =
            sessions.flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap());
        let files = files.map(|file| file.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
        let mut files: Vec<_> = files.collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    /// Returns the records of the only session file, with the header.
    pub(crate) fn session_records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.session_file()).unwrap();
        let records = text.lines().map(serde_json::from_str);
        records.collect::<Result<_, _>>().expect("complete records")
    }

    /// Prepares a run of the binary in the project directory. It inherits only `PATH` from this process.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(pi_binary());
        command
            .args(arguments)
            .current_dir(self.project_dir())
            .env_clear();
        command.envs(self.environment());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Returns the environment variables of a run.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let path_in_home = |name: &str| self.home.path().join(name).to_string_lossy().into_owned();
        [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", path_in_home("home")),
            ("PI_CODING_AGENT_DIR", path_in_home("agent")),
            ("PI_OFFLINE", "1".to_owned()),
            // Some tests inspect the process in /proc.
            ("PI_ALLOW_DEBUGGER", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Runs the binary with empty stdin until it exits.
    pub(crate) async fn run(&self, arguments: &[&str]) -> PiOutput {
        self.run_with_input(arguments, "").await
    }

    /// Runs the binary with `input` on stdin until it exits.
    pub(crate) async fn run_with_input(&self, arguments: &[&str], input: &str) -> PiOutput {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A process that exits early does not read all input.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
        let output = tokio::time::timeout(TEST_TIMEOUT, child.wait_with_output()).await;
        PiOutput::new(output.expect("pi timed out").unwrap())
    }
}

/// Exit code and output of a finished run.
#[derive(Debug)]
pub(crate) struct PiOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl PiOutput {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Parses stdout as JSON lines.
    pub(crate) fn records(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Returns the Node of the TypeScript pi, if that is installed; prints a note if not.
#[cfg(unix)]
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
pub(crate) fn node() -> Option<PathBuf> {
    let peer = std::env::var_os("PI_PEER_DIR").map(PathBuf::from);
    let peer = peer.or_else(|| Some(std::env::home_dir()?.join(".cache/pi-peer")));
    let node = peer?.join("node_modules/.bin/node");
    if !node.exists() {
        println!("skipped: needs Node 22.15 or newer");
        return None;
    }
    Some(node)
}

/// A complete text reply.
pub(crate) fn text_reply(text: &str) -> ScriptedReply {
    finish_reply(partial_reply(text), "stop")
}

/// A text reply that is not finished.
pub(crate) fn partial_reply(text: &str) -> ScriptedReply {
    partial_reply_with(&json!({"role": "assistant", "content": text}))
}

/// A reply that starts with this delta and is not finished.
pub(crate) fn partial_reply_with(first: &Value) -> ScriptedReply {
    ScriptedReply::event_stream().chunk(delta_event(first, None))
}

/// A reply that calls the `bash` tool.
pub(crate) fn bash_reply(command: &str) -> ScriptedReply {
    tool_call_reply("bash", &json!({"command": command}))
}

/// A reply that calls one tool.
pub(crate) fn tool_call_reply(tool: &str, arguments: &Value) -> ScriptedReply {
    tool_calls_reply(&[(tool, arguments)])
}

/// A reply that calls several tools, given as name and arguments.
pub(crate) fn tool_calls_reply(calls: &[(&str, &Value)]) -> ScriptedReply {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            json!({
                "index": index, "id": format!("call_{}", index + 1), "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()},
            })
        })
        .collect();
    let message = json!({"role": "assistant", "tool_calls": calls});
    finish_reply(
        ScriptedReply::event_stream().chunk(delta_event(&message, None)),
        "tool_calls",
    )
}

/// A server-sent event with more text.
#[cfg(unix)]
pub(crate) fn text_delta(text: &str) -> String {
    delta_event(&json!({"content": text}), None)
}

/// Appends the final events to a partial reply.
pub(crate) fn finish_reply(reply: ScriptedReply, reason: &str) -> ScriptedReply {
    reply
        .chunk(delta_event(&json!({}), Some(reason)))
        .chunk("data: [DONE]\n\n")
}

/// A server-sent event in the format of `chat.completion.chunk`.
pub(crate) fn delta_event(delta: &Value, finish: Option<&str>) -> String {
    let event = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {event}\n\n")
}
