//! Extensions on Node. Tests that need Node are skipped if no recent version is installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use pi_ext::{
    ConsoleLine, EngineError, EngineHost, EngineOptions, ExtensionFault, ExtensionHost,
    ExtensionManager, FaultKind, HostError, HostFuture, NodeHostError, ProcessInfo,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Returns a `PATH` that starts with the Node of the TypeScript pi, if that is installed.
fn path_with_node() -> String {
    let peer = std::env::var_os("PI_PEER_DIR").map(PathBuf::from);
    let peer = peer.or_else(|| Some(std::env::home_dir()?.join(".cache/pi-peer")));
    let directory = peer.unwrap_or_default().join("node_modules/.bin");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", directory.display())
}

/// Returns whether a suitable Node is installed; prints a note if not.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
fn has_node() -> bool {
    let version = Command::new("node")
        .arg("--version")
        .env("PATH", path_with_node())
        .output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    let mut parts = version.trim().trim_start_matches('v').split('.');
    let mut next = || parts.next().and_then(|part| part.parse::<u32>().ok());
    let is_suitable = matches!((next(), next()), (Some(22), Some(15..)) | (Some(24..), _));
    if !is_suitable {
        println!("skipped: needs Node 22.15 or newer, found {version:?}");
    }
    is_suitable
}

struct NodeTestHost {
    calls: Mutex<Vec<(String, Value)>>,
    printed: Mutex<Vec<ConsoleLine>>,
    faults: mpsc::UnboundedSender<ExtensionFault>,
}

impl EngineHost for NodeTestHost {
    fn console(&self, line: ConsoleLine) {
        self.printed.lock().unwrap().push(line);
    }

    fn fault(&self, fault: ExtensionFault) {
        drop(self.faults.send(fault));
    }

    fn call(&self, _: Option<&str>, method: &str, arguments: Value) -> Result<Value, HostError> {
        let call = (method.to_owned(), arguments);
        self.calls.lock().unwrap().push(call);
        match method {
            "program.context" => Ok(json!({"mode": "print", "hasUI": false, "cwd": "/project"})),
            _ => Ok(Value::Null),
        }
    }

    fn request(&self, _: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let is_select = method == "ui.showDialog" && arguments["kind"] == "select";
        if is_select {
            Box::pin(std::future::ready(Ok(json!("b"))))
        } else {
            Box::pin(std::future::pending())
        }
    }
}

struct NodeHostEnv {
    host: Arc<NodeTestHost>,
    faults: mpsc::UnboundedReceiver<ExtensionFault>,
    extensions: ExtensionManager,
}

impl NodeHostEnv {
    fn new(path: &str) -> Self {
        let (sender, faults) = mpsc::unbounded_channel();
        let host = Arc::new(NodeTestHost {
            calls: Mutex::default(),
            printed: Mutex::default(),
            faults: sender,
        });
        let process = ProcessInfo {
            working_directory: fixture("."),
            environment: vec![("PATH".to_owned(), path.to_owned())],
            ..ProcessInfo::default()
        };
        let options = EngineOptions::new(Arc::clone(&host) as _).with_process(process);
        Self {
            host,
            faults,
            extensions: ExtensionManager::new(options),
        }
    }

    fn with_node() -> Self {
        Self::new(&path_with_node())
    }

    async fn load(&self, name: &str, host: ExtensionHost) -> Result<Value, EngineError> {
        self.extensions.load_on(&fixture(name), host).await
    }

    async fn emit(&self, event: Value) -> Value {
        let mut dispatch = self.extensions.hook_dispatch(1, 0, event);
        dispatch.run(None, &Value::Null).await.unwrap()
    }

    async fn command(&self, name: &str) -> Result<(), EngineError> {
        let extension = fixture("worker.ts");
        let extension = extension.to_str().unwrap();
        self.extensions.run_command(extension, name, "").await
    }

    async fn tool(&self, extension: &str, tool: &str) -> Result<Value, EngineError> {
        let extension = fixture(extension);
        let extension = extension.to_str().unwrap();
        self.extensions
            .execute_tool(extension, tool, "call-1", json!({}), 7)
            .await
    }

    fn calls(&self, method: &str) -> Vec<Value> {
        let calls = self.host.calls.lock().unwrap();
        let matching = calls.iter().filter(|(known, _)| known == method);
        matching.map(|(_, arguments)| arguments.clone()).collect()
    }
}

fn fixture(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/node_host");
    directory.join(name)
}

#[tokio::test]
async fn an_extension_on_node_starts_threads_and_finds_the_program() {
    if !has_node() {
        return;
    }
    let env = NodeHostEnv::with_node();
    let registered = env.load("standalone.ts", ExtensionHost::Node).await;
    assert_eq!(registered.unwrap()["tools"][0]["name"], "tool_true_42_0");
}

#[tokio::test]
async fn an_extension_on_node_can_use_webassembly() {
    if !has_node() {
        return;
    }
    let env = NodeHostEnv::with_node();
    let registered = env.load("worker.ts", ExtensionHost::Node).await.unwrap();
    assert_eq!(registered["tools"][0]["name"], "add");
    assert_eq!(registered["events"], json!(["input", "tool_call"]));
    env.extensions.bind(json!({ "loud": true })).await.unwrap();
    assert!(!env.extensions.engine().is_started());

    let worker = fixture("worker.ts");
    let worker = worker.to_str().unwrap();
    let arguments = json!({ "a": 2, "b": 40 });
    let running = env
        .extensions
        .execute_tool(worker, "add", "call-1", arguments, 7);
    let result = running.await.unwrap();
    assert_eq!(result["content"][0]["text"], "42");
    assert_eq!(
        result["details"],
        json!({
            "place": ["/project", "function", true, 2, "meter"],
            "loud": true,
            "flag": true,
        })
    );
    let update = env.calls("job.toolUpdate");
    assert_eq!(update[0]["signalId"], 7);
    assert_eq!(update[0]["partial"]["content"][0]["text"], "adding");
}

#[tokio::test]
async fn dialogs_can_be_aborted_and_console_output_is_attributed() {
    if !has_node() {
        return;
    }
    let env = NodeHostEnv::with_node();
    env.load("worker.ts", ExtensionHost::Node).await.unwrap();
    env.extensions.bind(json!({})).await.unwrap();
    env.command("ask").await.unwrap();
    assert_eq!(
        env.calls("session.appendEntry"),
        [json!({
            "customType": "answers",
            "data": { "answer": "b", "withdrawn": false, "half": "\u{fffd}" },
        })]
    );
    let printed = env.host.printed.lock().unwrap();
    assert_eq!(printed[0].text, "asking { deep: [ 1 ] }");
    let extension = printed[0].extension.clone().map(PathBuf::from);
    assert_eq!(extension, Some(fixture("worker.ts")));
}

#[tokio::test]
async fn extensions_on_both_hosts_receive_events_in_order() {
    if !has_node() {
        return;
    }
    let env = NodeHostEnv::with_node();
    env.load("worker.ts", ExtensionHost::Node).await.unwrap();
    let registered = env
        .load("neighbor.ts", ExtensionHost::Embedded)
        .await
        .unwrap();
    assert_eq!(registered["events"], json!(["input", "tool_call"]));
    env.extensions.bind(json!({})).await.unwrap();
    let event = json!({ "type": "input", "text": "hello" });
    let result = env.emit(event).await;
    assert_eq!(
        result,
        json!({ "action": "transform", "text": "hello here on Node" })
    );
    let event = json!({ "type": "tool_call", "toolName": "fail", "input": {} });
    let result = env.emit(event).await;
    assert_eq!(result, json!({ "failure": "not like this" }));
}

#[tokio::test]
async fn uncaught_errors_are_reported_and_the_extension_keeps_running() {
    if !has_node() {
        return;
    }
    let mut env = NodeHostEnv::with_node();
    env.load("worker.ts", ExtensionHost::Node).await.unwrap();
    env.command("late").await.unwrap();
    let fault = env.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::Uncaught);
    assert_eq!(fault.message, "TypeError: too late");
    let stack = fault.stack.unwrap();
    assert!(stack.contains("worker.ts:45"), "{stack}");
    env.command("leave").await.unwrap();
    let errors = env.calls("program.reportError");
    let message = errors[0]["error"].as_str().unwrap();
    assert!(message.starts_with("process.exit()"), "{message}");
    env.command("ask").await.unwrap();
}

#[tokio::test]
async fn an_exit_of_node_affects_only_its_extensions() {
    if !has_node() {
        return;
    }
    let mut env = NodeHostEnv::with_node();
    env.load("worker.ts", ExtensionHost::Node).await.unwrap();
    env.load("neighbor.ts", ExtensionHost::Embedded)
        .await
        .unwrap();
    let crashed = env.command("crash").await.unwrap_err();
    let has_exited = matches!(&crashed, EngineError::Node(NodeHostError::Exited(_)));
    assert!(has_exited, "{crashed}");
    let fault = env.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::NodeExited);
    assert_eq!(fault.message, crashed.to_string());
    assert_eq!(env.command("ask").await, Err(crashed));
    let event = json!({ "type": "input", "text": "hello" });
    let result = env.emit(event).await;
    assert_eq!(result["text"], "hello here");
}

#[cfg(unix)]
#[tokio::test]
async fn children_do_not_share_the_protocol() {
    if !has_node() {
        return;
    }
    let env = NodeHostEnv::with_node();
    env.load("children.ts", ExtensionHost::Node).await.unwrap();
    let result = env.tool("children.ts", "inherit").await.unwrap();
    // The child reads the end of an empty input, and what it writes is not a frame.
    assert_eq!(result["content"][0]["text"], "read 0 bytes");
    let result = env.tool("children.ts", "inherit").await.unwrap();
    assert_eq!(result["content"][0]["text"], "read 0 bytes");
    assert_eq!(env.calls("program.forged"), [Value::Null; 0]);
    let printed = env.host.printed.lock().unwrap();
    let forged = |line: &&ConsoleLine| line.text.contains("program.forged");
    assert_eq!(printed.iter().filter(forged).count(), 2);
}

#[tokio::test]
async fn a_result_that_is_too_large_is_an_error() {
    if !has_node() {
        return;
    }
    let env = NodeHostEnv::with_node();
    env.load("children.ts", ExtensionHost::Node).await.unwrap();
    for tool in ["huge", "hugeError", "thrownObject"] {
        let failed = env.tool("children.ts", tool).await.unwrap_err();
        assert!(matches!(failed, EngineError::Exception(_)), "{tool}");
        assert!(failed.to_string().len() < 100_000, "{tool}");
    }
    // Node is still there.
    let result = env.tool("children.ts", "small").await.unwrap();
    assert_eq!(result["content"][0]["text"], "small");
}

#[cfg(unix)]
#[tokio::test]
async fn a_missing_node_is_reported_with_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let env = NodeHostEnv::new(directory.path().to_str().unwrap());
    let missing = env.load("worker.ts", ExtensionHost::Node).await;
    assert_eq!(missing, Err(EngineError::Node(NodeHostError::NotFound)));
    let message = missing.unwrap_err().to_string();
    assert!(message.contains("install Node 22.15 or newer"), "{message}");
    let loaded = env.load("neighbor.ts", ExtensionHost::Embedded).await;
    assert_eq!(loaded.unwrap()["events"], json!(["input"]));
}

#[cfg(unix)]
#[tokio::test]
async fn an_outdated_or_broken_node_is_reported() {
    let cases = [
        (
            r#"printf '\036{"kind":"unsupported","version":"18.2.0"}\n'; cat >/dev/null"#,
            "Node 18.2.0 is too old to run extensions; install Node 22.15 or newer",
        ),
        (
            "echo 'node: bad option: --input-type' >&2; echo 'SyntaxError: no' >&2; exit 9",
            "Node exited (exit status: 9: SyntaxError: no); its extensions are unavailable until \
             you run /reload",
        ),
    ];
    for (script, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("node");
        pi_test_support::write_program(&program, format!("#!/bin/sh\n{script}\n"));
        let path = format!("{}:/usr/bin:/bin", directory.path().display());
        let env = NodeHostEnv::new(&path);
        let failed = env.load("worker.ts", ExtensionHost::Node).await;
        assert_eq!(failed.unwrap_err().to_string(), expected);
    }
}
