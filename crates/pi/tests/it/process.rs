//! A home with a scripted model, and the binary in it.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// More than any of these runs takes; a run that hangs fails instead.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A user's home, a project, and a model that follows a script.
pub(crate) struct World {
    pub(crate) home: TempHome,
    pub(crate) server: ScriptedServer,
}

impl World {
    /// Prepares everything; the model gives these replies.
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

    /// Returns the project's folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Prepares a run of the binary in the project, with nothing of this process's environment but the path.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear();
        command.envs(self.environment());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Returns the environment of a run.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let below = |name: &str| self.home.path().join(name).to_string_lossy().into_owned();
        [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", below("home")),
            ("PI_CODING_AGENT_DIR", below("agent")),
            ("PI_OFFLINE", "1".to_owned()),
            // Some tests count what a process holds.
            ("PI_ALLOW_DEBUGGER", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Runs the binary to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with_input(arguments, "").await
    }

    /// Runs the binary to its end, with something piped into it.
    pub(crate) async fn run_with_input(&self, arguments: &[&str], input: &str) -> Finished {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A process that ends early does not read everything.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
        let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
        Finished::new(output.expect("pi hangs").unwrap())
    }
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the output as records, one a line.
    pub(crate) fn records(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// An answer of the model: some text, then the end.
pub(crate) fn answer(text: &str) -> ScriptedReply {
    finish(begin(text), "stop")
}

/// The beginning of an answer.
pub(crate) fn begin(text: &str) -> ScriptedReply {
    begin_with(&json!({"role": "assistant", "content": text}))
}

/// The beginning of an answer that says something else than text.
pub(crate) fn begin_with(first: &Value) -> ScriptedReply {
    ScriptedReply::event_stream().chunk(delta(first, None))
}

/// An answer that calls the shell.
pub(crate) fn shell_call(command: &str) -> ScriptedReply {
    tool_call("bash", &json!({"command": command}))
}

/// An answer that calls a tool.
pub(crate) fn tool_call(tool: &str, arguments: &Value) -> ScriptedReply {
    tool_calls(&[(tool, arguments)])
}

/// An answer that calls these tools with these arguments.
pub(crate) fn tool_calls(calls: &[(&str, &Value)]) -> ScriptedReply {
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
    finish(
        ScriptedReply::event_stream().chunk(delta(&message, None)),
        "tool_calls",
    )
}

/// More text of an answer.
#[cfg(unix)]
pub(crate) fn delta_text(text: &str) -> String {
    delta(&json!({"content": text}), None)
}

/// The end of an answer.
pub(crate) fn finish(reply: ScriptedReply, reason: &str) -> ScriptedReply {
    reply
        .chunk(delta(&json!({}), Some(reason)))
        .chunk("data: [DONE]\n\n")
}

/// An event of an answer.
pub(crate) fn delta(delta: &Value, finish: Option<&str>) -> String {
    let event = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {event}\n\n")
}
