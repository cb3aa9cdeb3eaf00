//! Runs the binary in RPC mode with an extension: executes the steps of a test row, responds to dialogs, and records
//! all output.
#![cfg(unix)]

pub(crate) mod pattern;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use pi_test_support::ScriptedReply;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::harness::{
    TEST_TIMEOUT, TestContext, finish_reply, partial_reply, text_reply, tool_calls_reply,
};

/// Extension UI requests that wait for a response.
const DIALOGS: [&str; 4] = ["select", "confirm", "input", "editor"];

/// Returns the program under test.
pub(crate) fn program() -> PathBuf {
    match std::env::var_os("PI_EXAMPLES_PROGRAM") {
        Some(program) => program.into(),
        None => env!("CARGO_BIN_EXE_pi").into(),
    }
}

/// Builds the model replies of a row.
pub(crate) fn replies(script: &Value) -> Vec<ScriptedReply> {
    let script = script.as_array().cloned().unwrap_or_default();
    script.iter().map(reply).collect()
}

fn reply(step: &Value) -> ScriptedReply {
    let text = |name: &str| step[name].as_str();
    if let Some(raw) = text("raw") {
        return ScriptedReply::event_stream().chunk(raw.to_owned());
    }
    if let Some(calls) = step["calls"].as_array() {
        let calls: Vec<(&str, &Value)> = calls
            .iter()
            .map(|call| (call["call"].as_str().unwrap(), &call["input"]))
            .collect();
        return tool_calls_reply(&calls);
    }
    if let Some(name) = text("call") {
        return tool_calls_reply(&[(name, &step["input"])]);
    }
    let content = text("text").unwrap();
    match text("gate") {
        Some(gate) => finish_reply(partial_reply(content).gate(gate), "stop"),
        None => text_reply(content),
    }
}

/// Expands placeholders such as `${PROJECT}` in a row.
pub(crate) fn expand_placeholders(row: &Value, context: &TestContext, examples: &Path) -> Value {
    let values = [
        ("${PROJECT}", context.project_dir()),
        ("${AGENT}", context.home.path().join("agent")),
        ("${HOME}", context.home.path().join("home")),
        ("${EXAMPLES}", examples.to_owned()),
        ("${MODEL}", context.server.url().into()),
        ("${PATH}", std::env::var("PATH").unwrap_or_default().into()),
    ];
    let mut text = row.to_string();
    for (name, value) in values {
        text = text.replace(name, &value.to_string_lossy());
    }
    serde_json::from_str(&text).unwrap()
}

/// Writes the files of a row and runs its `prepare` script in the project directory.
pub(crate) fn prepare(row: &Value, context: &TestContext) {
    for (path, text) in row["files"].as_object().into_iter().flatten() {
        let text = match text {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        context.home.write(path, text);
    }
    if let Some(script) = row["prepare"].as_str() {
        let output = run_script(context, script);
        assert!(output.status.success(), "{script}: {output:?}");
    }
}

fn run_script(context: &TestContext, script: &str) -> Output {
    std::process::Command::new("sh")
        .args(["-ec", script])
        .current_dir(context.project_dir())
        .env_clear()
        .envs(environment(context, &Value::Null))
        .output()
        .unwrap()
}

/// Returns the environment of a run, with an identity for Git commits.
fn environment(context: &TestContext, row: &Value) -> Vec<(String, String)> {
    let mut environment = context.environment();
    for role in ["AUTHOR", "COMMITTER"] {
        environment.push((format!("GIT_{role}_NAME"), "Tester".to_owned()));
        environment.push((format!("GIT_{role}_EMAIL"), "tester@example.com".to_owned()));
    }
    for (name, value) in row["environment"].as_object().into_iter().flatten() {
        environment.push((name.clone(), value.as_str().unwrap().to_owned()));
    }
    environment
}

/// A running program under test.
pub(crate) struct ExtensionDriver<'context> {
    context: &'context TestContext,
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    stderr: ChildStderr,
    dialog_responses: VecDeque<Value>,
    records: Vec<Value>,
    sent_commands: usize,
}

impl<'context> ExtensionDriver<'context> {
    /// Starts the program with the extension.
    pub(crate) fn start(
        context: &'context TestContext,
        program: &Path,
        extension: &Path,
        row: &Value,
    ) -> Self {
        let arguments = row["arguments"].as_array().cloned().unwrap_or_default();
        let mut child = Command::new(program)
            .args(["--mode", "rpc", "--model", "mock/alpha", "-e"])
            .arg(extension)
            .args(arguments.iter().map(|it| it.as_str().unwrap()))
            .current_dir(context.project_dir())
            .env_clear()
            .envs(environment(context, row))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            context,
            input: child.stdin.take(),
            output: output.lines(),
            stderr: child.stderr.take().unwrap(),
            child,
            dialog_responses: row["responses"]
                .as_array()
                .cloned()
                .unwrap_or_default()
                .into(),
            records: Vec::new(),
            sent_commands: 0,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Runs the steps of a row.
    ///
    /// # Errors
    ///
    /// Returns a description of the step that failed or timed out.
    pub(crate) async fn run_steps(&mut self, row: &Value) -> Result<(), String> {
        for step in row["steps"].as_array().cloned().unwrap_or_default() {
            timeout(TEST_TIMEOUT, self.run_step(&step))
                .await
                .map_err(|_elapsed| format!("timed out: {step}"))?
                .map_err(|error| format!("{error}: {step}"))?;
        }
        Ok(())
    }

    async fn run_step(&mut self, step: &Value) -> Result<(), String> {
        let since = self.records.len();
        if let Some(text) = step["prompt"].as_str() {
            self.send(json!({"type": "prompt", "message": text}))
                .await?;
            return self
                .wait_for(since, &json!({"type": "agent_settled"}))
                .await;
        }
        if let Some(text) = step["run"].as_str() {
            return self.send(json!({"type": "prompt", "message": text})).await;
        }
        if let Some(gate) = step["release"].as_str() {
            self.context.server.wait_for_gate(gate).await;
            self.context.server.open_gate(gate);
            return Ok(());
        }
        if let Some(gate) = step["reached"].as_str() {
            self.context.server.wait_for_gate(gate).await;
            return Ok(());
        }
        if step["send"].is_object() {
            return self.send(step["send"].clone()).await;
        }
        self.wait_for(0, &step["until"]).await
    }

    /// Sends a command and waits for its response.
    async fn send(&mut self, mut command: Value) -> Result<(), String> {
        self.sent_commands += 1;
        let id = format!("step-{}", self.sent_commands);
        command["id"] = json!(id);
        if command["entryId"] == json!("first user message") {
            command["entryId"] = self.first_user_message();
        }
        let since = self.records.len();
        self.write(&command).await?;
        self.wait_for(since, &json!({"type": "response", "id": id}))
            .await
    }

    /// Returns the first entry ID of the last `get_fork_messages` response.
    fn first_user_message(&self) -> Value {
        let response = self
            .records
            .iter()
            .rev()
            .find(|it| it["command"] == "get_fork_messages");
        response.unwrap()["data"]["messages"][0]["entryId"].clone()
    }

    async fn write(&mut self, record: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("stdin is closed")?;
        let line = format!("{record}\n");
        let written = input.write_all(line.as_bytes()).await;
        written.map_err(|error| error.to_string())
    }

    /// Reads until a record after the first `since` ones matches the pattern.
    async fn wait_for(&mut self, since: usize, expected: &Value) -> Result<(), String> {
        let mut next = since;
        loop {
            while let Some(record) = self.records.get(next) {
                if pattern::matches(expected, record) {
                    return Ok(());
                }
                next += 1;
            }
            if !self.read_record().await? {
                return Err("the program exited".to_owned());
            }
        }
    }

    /// Reads and stores one record and responds to it if it is a dialog. Returns `false` at the end of the output.
    async fn read_record(&mut self) -> Result<bool, String> {
        let line = self.output.next_line().await;
        let Some(line) = line.map_err(|error| error.to_string())? else {
            return Ok(false);
        };
        let record: Value =
            serde_json::from_str(&line).map_err(|_invalid| format!("not a record: {line}"))?;
        let method = record["method"].as_str().unwrap_or_default();
        if record["type"] == "extension_ui_request" && DIALOGS.contains(&method) {
            let response = self.dialog_responses.pop_front();
            let mut response = response.ok_or(format!("unexpected dialog: {line}"))?;
            response["type"] = json!("extension_ui_response");
            response["id"] = record["id"].clone();
            self.write(&response).await?;
        }
        self.records.push(record);
        Ok(true)
    }

    /// Closes stdin, waits for the program to exit, and returns the program's records, the model requests, the output
    /// of the row's `after` script, and the exit record.
    pub(crate) async fn finish(mut self, row: &Value) -> Vec<Value> {
        drop(self.input.take());
        let exit = timeout(TEST_TIMEOUT, async {
            while self.read_record().await.unwrap_or(false) {}
            let mut stderr = String::new();
            self.stderr.read_to_string(&mut stderr).await.unwrap();
            let status = self.child.wait().await.unwrap();
            json!({"type": "exit", "code": status.code(), "stderr": stderr})
        });
        let exit = exit.await.unwrap_or_else(|_| json!({"type": "timeout"}));
        let requests = self.context.server.requests();
        let requests = requests
            .iter()
            .map(|request| json!({"type": "model_request", "body": request.json()}));
        self.records.extend(requests);
        if let Some(script) = row["after"].as_str() {
            let output = run_script(self.context, script);
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            self.records
                .push(json!({"type": "after", "stdout": stdout, "stderr": stderr}));
        }
        self.records.push(exit);
        self.records
    }
}
