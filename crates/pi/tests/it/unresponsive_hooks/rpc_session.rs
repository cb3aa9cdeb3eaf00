//! A client in RPC mode.

use std::process::{ExitStatus, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::{BadHook, extension, path};
use crate::harness::{TEST_TIMEOUT, TestContext};

pub(super) struct RpcSession {
    hook: BadHook,
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// All records so far.
    records: Vec<Value>,
}

impl RpcSession {
    pub(super) fn start(context: &TestContext, hook: BadHook, arguments: &[&str]) -> Self {
        let extension = extension();
        let common = ["--model", "mock/alpha", "--mode", "rpc", "-e", &extension];
        let mut child = context
            .command(&[&common, arguments].concat())
            .env("PATH", path(context))
            .envs(hook.variables())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            hook,
            input: child.stdin.take(),
            child,
            output,
            records: Vec::new(),
        }
    }

    pub(super) async fn send(&mut self, command: Value) {
        let line = format!("{command}\n");
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
    }

    pub(super) async fn prompt(&mut self) {
        let prompt = json!({"type": "prompt", "message": "go"});
        self.send(prompt).await;
    }

    /// Returns the next record; `None` at the end of the output.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let line = timeout(TEST_TIMEOUT, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{:?}: {:#?}", self.hook, self.records));
        let record: Value = serde_json::from_str(&line.unwrap()?).unwrap();
        self.records.push(record.clone());
        Some(record)
    }

    /// Reads up to the record that `is_wanted` accepts, and disables an extension that does not respond. Returns
    /// whether a client was asked about one.
    pub(super) async fn disable_until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> bool {
        let mut was_asked = false;
        loop {
            let record = self.next().await;
            let record = record.unwrap_or_else(|| panic!("{:?}: {:#?}", self.hook, self.records));
            if record["method"] == "select" {
                assert!(record["title"].as_str().unwrap().contains("not responding"));
                was_asked = true;
                let (id, options) = (&record["id"], &record["options"]);
                let answer =
                    json!({"type": "extension_ui_response", "id": id, "value": options[1]});
                self.send(answer).await;
            }
            if record["method"] == "confirm" {
                let answer = json!({
                    "type": "extension_ui_response", "id": record["id"], "confirmed": true,
                });
                self.send(answer).await;
            }
            if is_wanted(&record) {
                return was_asked;
            }
        }
    }

    /// Reads up to the record that `is_wanted` accepts.
    pub(super) async fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) {
        self.disable_until(is_wanted).await;
    }

    /// Reads up to the record that `is_wanted` accepts, and returns it.
    pub(super) async fn record(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.until(is_wanted).await;
        self.records.last().cloned().unwrap_or_default()
    }

    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Closes the input and waits for the exit.
    pub(super) async fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        self.exit().await
    }

    /// Waits for the exit.
    pub(super) async fn exit(&mut self) -> ExitStatus {
        while self.next().await.is_some() {}
        let status = timeout(TEST_TIMEOUT, self.child.wait()).await;
        status
            .unwrap_or_else(|_| panic!("{:?}", self.hook))
            .unwrap()
    }
}

pub(super) fn is_type(name: &'static str) -> impl Fn(&Value) -> bool {
    move |record| record["type"] == name
}

/// Whether a record is the response to a command.
pub(super) fn is_response(command: &'static str) -> impl Fn(&Value) -> bool {
    move |record| record["type"] == "response" && record["command"] == command
}

/// Whether a record shows that the hook is running.
pub(super) fn is_entered(record: &Value) -> bool {
    record["message"] == "hook entered"
}
