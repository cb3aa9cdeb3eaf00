//! A client that records what the agent sends and checks it against the official schema, if that is installed.

use std::collections::{HashMap, VecDeque};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::official_sdk::check_schema;
use crate::harness::{TEST_TIMEOUT, TestContext};

pub(super) struct AcpClient {
    pub(super) child: Child,
    pub(super) stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    next_id: u64,
    /// Methods of requests, by ID.
    methods: HashMap<u64, String>,
    responses: HashMap<u64, Value>,
    /// Requests of the agent that were not answered.
    asked: VecDeque<Value>,
    /// Notifications of the agent.
    pub(super) notifications: Vec<Value>,
}

impl AcpClient {
    /// Starts the agent without sending anything.
    pub(super) fn spawn(context: &TestContext, arguments: &[&str]) -> Self {
        let mut words = vec!["acp"];
        words.extend(arguments);
        let mut child = context
            .command(&words)
            .stdin(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        Self {
            stdin: child.stdin.take(),
            child,
            lines: BufReader::new(stdout).lines(),
            next_id: 0,
            methods: HashMap::new(),
            responses: HashMap::new(),
            asked: VecDeque::new(),
            notifications: Vec::new(),
        }
    }

    /// Starts the agent and initializes it.
    pub(super) async fn start(context: &TestContext, capabilities: Value) -> Self {
        let mut client = Self::spawn(context, &[]);
        let mut params = json!({"protocolVersion": 1});
        params["clientCapabilities"] = capabilities;
        client.call("initialize", params).await.unwrap();
        client
    }

    /// Opens a session in the project and returns its ID.
    pub(super) async fn open(&mut self, context: &TestContext) -> String {
        let params = json!({"cwd": context.project_dir(), "mcpServers": []});
        let opened = self.call("session/new", params).await.unwrap();
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).await.unwrap();
        stdin.flush().await.unwrap();
    }

    pub(super) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write(line.as_bytes()).await;
    }

    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        message["params"] = params;
        self.send(&message).await;
    }

    /// Sends a request and returns its ID.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.methods.insert(id, method.to_owned());
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        message["params"] = params;
        self.send(&message).await;
        id
    }

    /// Waits for the response to a request: its result, or its error.
    pub(super) async fn response(&mut self, id: u64) -> Result<Value, Value> {
        while !self.responses.contains_key(&id) {
            assert!(self.receive().await, "the agent has ended");
        }
        let response = self.responses.remove(&id).unwrap();
        match response.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(response["result"].clone()),
        }
    }

    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.request(method, params).await;
        self.response(id).await
    }

    /// Sends a prompt of one text and returns the ID of the request.
    pub(super) async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        self.request("session/prompt", params).await
    }

    /// Sends a prompt and returns why the turn stopped.
    pub(super) async fn ask(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text).await;
        let result = self.response(id).await.unwrap();
        result["stopReason"].as_str().unwrap().to_owned()
    }

    /// Waits for the next request of the agent.
    pub(super) async fn question(&mut self) -> Value {
        while self.asked.is_empty() {
            assert!(self.receive().await, "the agent has ended");
        }
        self.asked.pop_front().unwrap()
    }

    pub(super) async fn answer(&mut self, question: &Value, result: Value) {
        let mut message = json!({"jsonrpc": "2.0", "id": question["id"]});
        message["result"] = result;
        self.send(&message).await;
    }

    /// Waits until a notification satisfies a condition.
    pub(super) async fn wait_for(&mut self, condition: impl Fn(&Value) -> bool) -> Value {
        let mut position = 0;
        loop {
            while let Some(notification) = self.notifications.get(position) {
                if condition(notification) {
                    return notification.clone();
                }
                position += 1;
            }
            assert!(self.receive().await, "the agent has ended");
        }
    }

    /// Waits for an update of a kind.
    pub(super) async fn wait_for_update(&mut self, kind: &str) -> Value {
        let is_wanted =
            |message: &Value| message["params"]["update"]["sessionUpdate"].as_str() == Some(kind);
        self.wait_for(is_wanted).await["params"]["update"].clone()
    }

    /// Reads a message; returns `false` at the end.
    pub(super) async fn receive(&mut self) -> bool {
        let line = tokio::time::timeout(TEST_TIMEOUT, self.lines.next_line()).await;
        let Some(line) = line.expect("the agent sent nothing").unwrap() else {
            return false;
        };
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = message["id"].as_u64();
        let method = message.get("method").and_then(Value::as_str);
        match (id, method) {
            (Some(_), Some(method)) => {
                check_schema(method, "Request", &message["params"]);
                self.asked.push_back(message);
            }
            (Some(id), None) => {
                if let (Some(method), Some(result)) = (self.methods.get(&id), message.get("result"))
                {
                    check_schema(method, "Response", result);
                }
                self.responses.insert(id, message);
            }
            (None, Some(method)) => {
                check_schema(method, "Notification", &message["params"]);
                self.notifications.push(message);
            }
            (None, None) => {
                // An error about a message without an ID.
                self.responses.insert(0, message);
            }
        }
        true
    }

    /// Returns the updates of a session, or of all.
    pub(super) fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self
            .notifications
            .iter()
            .map(|message| &message["params"]["update"]);
        let updates = updates.filter(|update| update["sessionUpdate"].as_str() == Some(kind));
        updates.cloned().collect()
    }

    /// Concatenates the text of the updates of a kind.
    pub(super) fn text(&self, kind: &str) -> String {
        let updates = self.updates(kind);
        let texts = updates
            .iter()
            .filter_map(|update| update["content"]["text"].as_str());
        texts.collect()
    }

    /// Kills the agent.
    pub(super) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Closes stdin and waits for the exit.
    pub(super) async fn close(mut self) -> Option<i32> {
        drop(self.stdin.take());
        let waiting = async {
            while self.receive().await {}
            self.child.wait().await.unwrap().code()
        };
        tokio::time::timeout(TEST_TIMEOUT, waiting).await.unwrap()
    }
}
