//! One run of the binary in RPC mode with extensions: takes the steps of a row, answers dialogs, and keeps all that
//! was seen.
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

use crate::process::{LIMIT, World, answer, begin, finish, tool_calls};

/// Requests of the user interface that wait for an answer.
const DIALOGS: [&str; 4] = ["select", "confirm", "input", "editor"];

/// Returns the program that is driven.
pub(crate) fn program() -> PathBuf {
    match std::env::var_os("PI_EXAMPLES_PROGRAM") {
        Some(program) => program.into(),
        None => env!("CARGO_BIN_EXE_pi").into(),
    }
}

/// Returns the answers of the model in a row.
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
            .map(|call| (call["call"].as_str().unwrap(), &call["with"]))
            .collect();
        return tool_calls(&calls);
    }
    if let Some(name) = text("call") {
        return tool_calls(&[(name, &step["with"])]);
    }
    let said = text("say").unwrap();
    match text("gate") {
        Some(gate) => finish(begin(said).gate(gate), "stop"),
        None => answer(said),
    }
}

/// Puts the folders of the run into the texts of a row.
pub(crate) fn fill(row: &Value, world: &World, examples: &Path) -> Value {
    let folders = [
        ("${PROJECT}", world.project()),
        ("${AGENT}", world.home.path().join("agent")),
        ("${HOME}", world.home.path().join("home")),
        ("${EXAMPLES}", examples.to_owned()),
        ("${MODEL}", world.server.url().into()),
        ("${PATH}", std::env::var("PATH").unwrap_or_default().into()),
    ];
    let mut text = row.to_string();
    for (name, path) in folders {
        text = text.replace(name, &path.to_string_lossy());
    }
    serde_json::from_str(&text).unwrap()
}

/// Writes the files of a row and runs its preparation in the project.
pub(crate) fn prepare(row: &Value, world: &World) {
    for (path, text) in row["files"].as_object().into_iter().flatten() {
        let text = match text {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        world.home.write(path, text);
    }
    if let Some(script) = row["prepare"].as_str() {
        let output = shell(world, script);
        assert!(output.status.success(), "{script}: {output:?}");
    }
}

fn shell(world: &World, script: &str) -> Output {
    std::process::Command::new("sh")
        .args(["-ec", script])
        .current_dir(world.project())
        .env_clear()
        .envs(environment(world, &Value::Null))
        .output()
        .unwrap()
}

/// The environment of a run; whoever commits has a name.
fn environment(world: &World, row: &Value) -> Vec<(String, String)> {
    let mut environment = world.environment();
    for role in ["AUTHOR", "COMMITTER"] {
        environment.push((format!("GIT_{role}_NAME"), "Tester".to_owned()));
        environment.push((format!("GIT_{role}_EMAIL"), "tester@example.com".to_owned()));
    }
    for (name, value) in row["environment"].as_object().into_iter().flatten() {
        environment.push((name.clone(), value.as_str().unwrap().to_owned()));
    }
    environment
}

/// A running program.
pub(crate) struct Driver<'world> {
    world: &'world World,
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    errors: ChildStderr,
    answers: VecDeque<Value>,
    seen: Vec<Value>,
    commands: usize,
}

impl<'world> Driver<'world> {
    /// Starts the program with the extension.
    pub(crate) fn start(
        world: &'world World,
        program: &Path,
        extension: &Path,
        row: &Value,
    ) -> Self {
        let arguments = row["arguments"].as_array().cloned().unwrap_or_default();
        let mut child = Command::new(program)
            .args(["--mode", "rpc", "--model", "mock/alpha", "-e"])
            .arg(extension)
            .args(arguments.iter().map(|it| it.as_str().unwrap()))
            .current_dir(world.project())
            .env_clear()
            .envs(environment(world, row))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            world,
            input: child.stdin.take(),
            output: output.lines(),
            errors: child.stderr.take().unwrap(),
            child,
            answers: row["answers"]
                .as_array()
                .cloned()
                .unwrap_or_default()
                .into(),
            seen: Vec::new(),
            commands: 0,
        }
    }

    /// Returns the number of the program's process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Takes the steps of a row.
    ///
    /// # Errors
    ///
    /// Says which step waited in vain.
    pub(crate) async fn follow(&mut self, row: &Value) -> Result<(), String> {
        for step in row["steps"].as_array().cloned().unwrap_or_default() {
            timeout(LIMIT, self.step(&step))
                .await
                .map_err(|_elapsed| format!("hangs: {step}"))?
                .map_err(|error| format!("{error}: {step}"))?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        let since = self.seen.len();
        if let Some(text) = step["prompt"].as_str() {
            self.send(json!({"type": "prompt", "message": text}))
                .await?;
            return self.until(since, &json!({"type": "agent_settled"})).await;
        }
        if let Some(text) = step["run"].as_str() {
            return self.send(json!({"type": "prompt", "message": text})).await;
        }
        if let Some(gate) = step["release"].as_str() {
            self.world.server.wait_for_gate(gate).await;
            self.world.server.open_gate(gate);
            return Ok(());
        }
        if let Some(gate) = step["reached"].as_str() {
            self.world.server.wait_for_gate(gate).await;
            return Ok(());
        }
        if step["send"].is_object() {
            return self.send(step["send"].clone()).await;
        }
        self.until(0, &step["until"]).await
    }

    /// Sends a command and waits for its response.
    async fn send(&mut self, mut command: Value) -> Result<(), String> {
        self.commands += 1;
        let id = format!("step-{}", self.commands);
        command["id"] = json!(id);
        if command["entryId"] == json!("first user message") {
            command["entryId"] = self.first_user_message();
        }
        let since = self.seen.len();
        self.write(&command).await?;
        self.until(since, &json!({"type": "response", "id": id}))
            .await
    }

    /// Returns the entry that the last `get_fork_messages` listed first.
    fn first_user_message(&self) -> Value {
        let listed = self
            .seen
            .iter()
            .rev()
            .find(|it| it["command"] == "get_fork_messages");
        listed.unwrap()["data"]["messages"][0]["entryId"].clone()
    }

    async fn write(&mut self, record: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        let line = format!("{record}\n");
        let written = input.write_all(line.as_bytes()).await;
        written.map_err(|error| error.to_string())
    }

    /// Reads on until a record looks like this.
    async fn until(&mut self, since: usize, wanted: &Value) -> Result<(), String> {
        let mut next = since;
        loop {
            while let Some(record) = self.seen.get(next) {
                if pattern::matches(wanted, record) {
                    return Ok(());
                }
                next += 1;
            }
            if !self.read().await? {
                return Err("the program ended".to_owned());
            }
        }
    }

    /// Reads one record, answers it if it is a dialog, and keeps it; false at the end.
    async fn read(&mut self) -> Result<bool, String> {
        let line = self.output.next_line().await;
        let Some(line) = line.map_err(|error| error.to_string())? else {
            return Ok(false);
        };
        let record: Value =
            serde_json::from_str(&line).map_err(|_invalid| format!("not a record: {line}"))?;
        let method = record["method"].as_str().unwrap_or_default();
        if record["type"] == "extension_ui_request" && DIALOGS.contains(&method) {
            let mut answer = self.answers.pop_front().ok_or(format!("asks: {line}"))?;
            answer["type"] = json!("extension_ui_response");
            answer["id"] = record["id"].clone();
            self.write(&answer).await?;
        }
        self.seen.push(record);
        Ok(true)
    }

    /// Closes the input, waits for the end, and returns all that was seen: the program's records, the requests that
    /// reached the model, what the row's last command prints, and how the program ended.
    pub(crate) async fn finish(mut self, row: &Value) -> Vec<Value> {
        drop(self.input.take());
        let ended = timeout(LIMIT, async {
            while self.read().await.unwrap_or(false) {}
            let mut errors = String::new();
            self.errors.read_to_string(&mut errors).await.unwrap();
            let status = self.child.wait().await.unwrap();
            json!({"type": "end", "code": status.code(), "errors": errors})
        });
        let ended = ended.await.unwrap_or_else(|_| json!({"type": "hangs"}));
        let requests = self.world.server.requests();
        let requests = requests
            .iter()
            .map(|request| json!({"type": "model_request", "body": request.json()}));
        self.seen.extend(requests);
        if let Some(script) = row["afterwards"].as_str() {
            let output = shell(self.world, script);
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let (text, errors) = (text(&output.stdout), text(&output.stderr));
            self.seen
                .push(json!({"type": "afterwards", "text": text, "errors": errors}));
        }
        self.seen.push(ended);
        self.seen
    }
}
