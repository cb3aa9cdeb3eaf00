//! Extensions on Node. What needs a real one is passed over where there is none that is new enough.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use pi_ext::{
    ConsoleLine, EngineError, EngineOptions, ExtensionHost, Extensions, Fault, FaultKind, Host,
    HostError, HostFuture, NodeHostError, ProcessInfo,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Returns a path with the Node of the TypeScript pi first, where that is installed.
fn path_with_node() -> String {
    let peer = std::env::var_os("PI_PEER_DIR").map(PathBuf::from);
    let peer = peer.or_else(|| Some(std::env::home_dir()?.join(".cache/pi-peer")));
    let folder = peer.unwrap_or_default().join("node_modules/.bin");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", folder.display())
}

/// Returns whether there is a Node that can run extensions; says so where there is none.
#[expect(clippy::print_stdout, reason = "whoever reads the output shall know")]
fn has_node() -> bool {
    let version = Command::new("node")
        .arg("--version")
        .env("PATH", path_with_node())
        .output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    let mut parts = version.trim().trim_start_matches('v').split('.');
    let mut next = || parts.next().and_then(|part| part.parse::<u32>().ok());
    let fits = matches!((next(), next()), (Some(22), Some(15..)) | (Some(24..), _));
    if !fits {
        println!("passed over: no Node 22.15 or newer on PATH, but {version:?}");
    }
    fits
}

struct Program {
    told: Mutex<Vec<(String, Value)>>,
    printed: Mutex<Vec<ConsoleLine>>,
    faults: mpsc::UnboundedSender<Fault>,
}

impl Host for Program {
    fn console(&self, line: ConsoleLine) {
        self.printed.lock().unwrap().push(line);
    }

    fn fault(&self, fault: Fault) {
        drop(self.faults.send(fault));
    }

    fn call(&self, _: Option<&str>, method: &str, arguments: Value) -> Result<Value, HostError> {
        let told = (method.to_owned(), arguments);
        self.told.lock().unwrap().push(told);
        match method {
            "context" => Ok(json!({"mode": "print", "hasUI": false, "cwd": "/project"})),
            _ => Ok(Value::Null),
        }
    }

    fn request(&self, _: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let is_question = method == "ui.ask" && arguments["kind"] == "select";
        if is_question {
            Box::pin(std::future::ready(Ok(json!("b"))))
        } else {
            Box::pin(std::future::pending())
        }
    }
}

struct World {
    host: Arc<Program>,
    faults: mpsc::UnboundedReceiver<Fault>,
    extensions: Extensions,
}

impl World {
    fn new(path: &str) -> Self {
        let (sender, faults) = mpsc::unbounded_channel();
        let host = Arc::new(Program {
            told: Mutex::default(),
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
            extensions: Extensions::new(options),
        }
    }

    fn with_node() -> Self {
        Self::new(&path_with_node())
    }

    async fn load(&self, name: &str, place: ExtensionHost) -> Result<Value, EngineError> {
        self.extensions.load_in(&fixture(name), place).await
    }

    async fn command(&self, name: &str) -> Result<(), EngineError> {
        let extension = fixture("worker.ts");
        let extension = extension.to_str().unwrap();
        self.extensions.run_command(extension, name, "").await
    }

    fn told(&self, method: &str) -> Vec<Value> {
        let told = self.host.told.lock().unwrap();
        let same = told.iter().filter(|(known, _)| known == method);
        same.map(|(_, arguments)| arguments.clone()).collect()
    }
}

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/node_host");
    folder.join(name)
}

#[tokio::test]
async fn an_extension_runs_on_node_with_what_only_node_has() {
    if !has_node() {
        return;
    }
    let world = World::with_node();
    let registered = world.load("worker.ts", ExtensionHost::Node).await.unwrap();
    assert_eq!(registered["tools"][0]["name"], "add");
    assert_eq!(registered["events"], json!(["input", "tool_call"]));
    world
        .extensions
        .bind(json!({ "loud": true }))
        .await
        .unwrap();
    assert!(!world.extensions.engine().is_started());

    let worker = fixture("worker.ts");
    let worker = worker.to_str().unwrap();
    let arguments = json!({ "a": 2, "b": 40 });
    let running = world
        .extensions
        .execute_tool(worker, "add", "call-1", arguments, 7);
    let result = running.await.unwrap();
    assert_eq!(result["content"][0]["text"], "42");
    assert_eq!(
        result["details"],
        json!({
            "place": ["/project", "function", true, 2, "metre"],
            "loud": true,
            "flag": true,
        })
    );
    let update = world.told("tool.update");
    assert_eq!(update[0]["signalId"], 7);
    assert_eq!(update[0]["partial"]["content"][0]["text"], "adding");
}

#[tokio::test]
async fn dialogs_are_answered_and_withdrawn_and_prints_are_charged() {
    if !has_node() {
        return;
    }
    let world = World::with_node();
    world.load("worker.ts", ExtensionHost::Node).await.unwrap();
    world.extensions.bind(json!({})).await.unwrap();
    world.command("ask").await.unwrap();
    assert_eq!(
        world.told("entry.append"),
        [json!({
            "customType": "answers",
            "data": { "answer": "b", "withdrawn": false, "half": "\u{fffd}" },
        })]
    );
    let printed = world.host.printed.lock().unwrap();
    assert_eq!(printed[0].text, "asking { deep: [ 1 ] }");
    let extension = printed[0].extension.clone().map(PathBuf::from);
    assert_eq!(extension, Some(fixture("worker.ts")));
}

#[tokio::test]
async fn extensions_in_both_places_hear_of_an_event_one_after_the_other() {
    if !has_node() {
        return;
    }
    let world = World::with_node();
    world.load("worker.ts", ExtensionHost::Node).await.unwrap();
    let registered = world
        .load("neighbor.ts", ExtensionHost::Embedded)
        .await
        .unwrap();
    assert_eq!(registered["events"], json!(["input", "tool_call"]));
    world.extensions.bind(json!({})).await.unwrap();
    let event = json!({ "type": "input", "text": "said" });
    let result = world.extensions.emit(1, Some(event), None).await.unwrap();
    assert_eq!(
        result,
        json!({ "action": "transform", "text": "said here on Node" })
    );
    let event = json!({ "type": "tool_call", "toolName": "fail", "input": {} });
    let result = world.extensions.emit(2, Some(event), None).await.unwrap();
    assert_eq!(result, json!({ "failure": "not like this" }));
}

#[tokio::test]
async fn what_nobody_catches_is_told_and_the_extension_goes_on() {
    if !has_node() {
        return;
    }
    let mut world = World::with_node();
    world.load("worker.ts", ExtensionHost::Node).await.unwrap();
    world.command("late").await.unwrap();
    let fault = world.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::Uncaught);
    assert_eq!(fault.message, "TypeError: too late");
    let stack = fault.stack.unwrap();
    assert!(stack.contains("worker.ts:45"), "{stack}");
    world.command("leave").await.unwrap();
    let refused = world.told("error");
    let refused = refused[0]["error"].as_str().unwrap();
    assert!(refused.starts_with("process.exit()"), "{refused}");
    world.command("ask").await.unwrap();
}

#[tokio::test]
async fn the_end_of_node_sets_its_extensions_aside_and_no_others() {
    if !has_node() {
        return;
    }
    let mut world = World::with_node();
    world.load("worker.ts", ExtensionHost::Node).await.unwrap();
    world
        .load("neighbor.ts", ExtensionHost::Embedded)
        .await
        .unwrap();
    let crashed = world.command("crash").await.unwrap_err();
    let is_ended = matches!(&crashed, EngineError::Node(NodeHostError::Ended(_)));
    assert!(is_ended, "{crashed}");
    let fault = world.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::HostEnded);
    assert_eq!(fault.message, crashed.to_string());
    assert_eq!(world.command("ask").await, Err(crashed));
    let event = json!({ "type": "input", "text": "said" });
    let result = world.extensions.emit(1, Some(event), None).await.unwrap();
    assert_eq!(result["text"], "said here");
}

#[cfg(unix)]
#[tokio::test]
async fn without_node_the_extension_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path().to_str().unwrap());
    let missing = world.load("worker.ts", ExtensionHost::Node).await;
    assert_eq!(missing, Err(EngineError::Node(NodeHostError::NotFound)));
    let message = missing.unwrap_err().to_string();
    assert!(message.contains("install Node 22.15 or newer"), "{message}");
    let loaded = world.load("neighbor.ts", ExtensionHost::Embedded).await;
    assert_eq!(loaded.unwrap()["events"], json!(["input"]));
}

#[cfg(unix)]
#[tokio::test]
async fn a_node_that_is_too_old_or_breaks_is_named() {
    use std::os::unix::fs::PermissionsExt as _;

    let cases = [
        (
            r#"printf '\036{"kind":"unfit","version":"18.2.0"}\n'; cat >/dev/null"#,
            "Node 18.2.0 is too old to run extensions; install Node 22.15 or newer",
        ),
        (
            "echo 'node: bad option: --input-type' >&2; echo 'SyntaxError: no' >&2; exit 9",
            "Node has ended (exit status: 9: SyntaxError: no), and the extensions on it with it; \
             /reload starts them again",
        ),
    ];
    for (script, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("node");
        crate::support::write(&program, format!("#!/bin/sh\n{script}\n"));
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, permissions).unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let world = World::new(&path);
        let failed = world.load("worker.ts", ExtensionHost::Node).await;
        assert_eq!(failed.unwrap_err().to_string(), expected);
    }
}
