//! Drives the binary with the `RpcClient` of the TypeScript pi.
//!
//! The client starts `node CLI …`; a script named `node`, first in `PATH`, starts the binary instead. Skipped if the
//! package is not installed.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, partial_reply, text_reply};
use crate::serve::{address, request, token};
use crate::web_ui::{Served, serve};

const CLIENT: &str = "@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js";

struct ReferenceInstall {
    node: PathBuf,
    client: PathBuf,
}

/// Returns the `node_modules` directory in which the TypeScript pi is installed for tests: below `PI_PEER_DIR`, or
/// in the user's cache. It may not exist.
pub(crate) fn modules() -> Option<PathBuf> {
    let directory = match std::env::var_os("PI_PEER_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => std::env::home_dir()?.join(".cache/pi-peer"),
    };
    Some(directory.join("node_modules"))
}

/// Returns the `node_modules` directory of another version, which is installed next to the other one.
pub(crate) fn modules_of(version: &str) -> Option<PathBuf> {
    let modules = modules()?;
    let directory = modules.parent()?;
    let name = directory.file_name()?.to_str()?;
    let other = directory.with_file_name(format!("{name}-{version}"));
    Some(other.join("node_modules"))
}

/// Returns the Node that is installed with a version; prints a note if there is none.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
pub(crate) fn node_of(version: &str) -> Option<PathBuf> {
    let node = modules_of(version)?.join(".bin/node");
    if !node.exists() {
        println!("skipped: needs the Node of the TypeScript pi {version}");
        return None;
    }
    Some(node)
}

/// Returns an installed version.
fn find_reference() -> Option<ReferenceInstall> {
    let installs = [modules(), modules_of("1.5.0")].into_iter().flatten();
    let mut installs = installs.map(|modules| ReferenceInstall {
        node: modules.join(".bin/node"),
        client: modules.join(CLIENT),
    });
    installs.find(|install| install.node.exists() && install.client.exists())
}

/// Writes a `node` script with this command and returns its directory. The command receives the arguments for pi.
fn write_node_wrapper(context: &TestContext, command: &str) -> PathBuf {
    let script = format!("#!/bin/sh\nshift\nexec {command}\n");
    let path = context.home.write_program("bin/node", script);
    path.parent().unwrap().to_owned()
}

async fn new_context() -> TestContext {
    let context = TestContext::new([
        text_reply("first answer"),
        partial_reply("never ends").stall(),
        text_reply("third answer"),
        text_reply("## Goal\nA summary."),
        text_reply("after the fork"),
    ])
    .await;
    let settings = json!({"compaction": {"keepRecentTokens": 60}});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    context
}

/// Runs the client with a `node` that executes this command, and checks all results.
async fn drive(context: &TestContext, reference: &ReferenceInstall, command: &str) {
    let path = format!(
        "{}:{}",
        write_node_wrapper(context, command).display(),
        std::env::var("PATH").unwrap()
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reference_client.mjs");
    let child = Command::new(&reference.node)
        .arg(script)
        .arg(&reference.client)
        .arg(context.home.path().join("out.html"))
        .current_dir(context.project_dir())
        .env_clear()
        .envs(context.environment())
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = tokio::time::timeout(2 * TEST_TIMEOUT, child.wait_with_output()).await;
    let run = PiOutput::new(output.expect("the client timed out").unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    let results: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        results,
        json!({
            "model": "alpha",
            "firstEvents": ["agent_start", "turn_start"],
            "lastEvent": "agent_settled",
            "text": "first answer",
            "cleared": {"steering": ["later"], "followUp": ["even later"]},
            "abortedStop": "aborted",
            "models": ["alpha", "beta"],
            "cycled": "beta",
            "levels": ["off", "minimal", "low", "medium", "high"],
            "level": "high",
            "cycledLevel": "off",
            "bash": {"output": "hi\n", "exitCode": 0, "cancelled": false, "truncated": false},
            "summary": "## Goal\nA summary.",
            "exported": true,
            "forkMessages": 3,
            "fork": {"text": "one", "cancelled": false},
            "forkText": "after the fork",
            "clone": {"cancelled": false},
            "switch": {"cancelled": false},
            "name": "named",
            "hasTree": true,
            "hasEntries": true,
            "commands": [],
            "newSession": {"cancelled": false},
            "messages": 0,
        })
    );
    assert!(context.home.path().join("out.html").exists());
}

#[tokio::test]
async fn the_reference_client_drives_the_binary() {
    let Some(reference) = find_reference() else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let context = new_context().await;
    let command = format!("'{}' \"$@\"", env!("CARGO_BIN_EXE_pi"));
    drive(&context, &reference, &command).await;
}

/// Connects a client of lines with a WebSocket: what it writes is one message per line, and messages are its input.
/// Returns the port for the client.
async fn bridge(context: &TestContext, served: &Served, session: &str) -> u16 {
    let url = format!("ws://{}/v1/sessions/{session}/socket", address(served));
    let mut request = url.into_client_request().unwrap();
    let token = format!("Bearer {}", token(context)).parse().unwrap();
    request.headers_mut().insert("authorization", token);
    let stream = TcpStream::connect(address(served)).await.unwrap();
    let connected = tokio_tungstenite::client_async(request, stream).await;
    let (mut to_server, mut from_server) = connected.unwrap().0.split();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let (from_client, mut to_client) = client.split();
        let mut lines = BufReader::new(from_client).lines();
        let sending = async {
            while let Ok(Some(line)) = lines.next_line().await {
                to_server.send(Message::text(line)).await.unwrap();
            }
        };
        let receiving = async {
            while let Some(Ok(Message::Text(text))) = from_server.next().await {
                assert!(!text.contains('\n'), "one line per message: {text}");
                let line = format!("{text}\n");
                if to_client.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(sending, receiving);
    });
    port
}

/// Clients in editors start a process and exchange lines with it; the process may be a bridge to a server.
#[tokio::test(flavor = "multi_thread")]
async fn the_reference_client_works_unchanged_through_a_websocket() {
    let Some(reference) = find_reference() else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let context = new_context().await;
    let served = serve(&context).await;
    let cwd = json!({"cwd": context.project_dir()});
    let (status, opened) = request(&context, &served, "POST /v1/sessions", &cwd).await;
    assert_eq!(status, 201, "{opened}");
    let session = opened["session"].as_str().unwrap();
    let port = bridge(&context, &served, session).await;
    let connect = "const s=require('net').connect(+process.argv[1],'127.0.0.1');process.stdin.pipe(s);s.pipe(process.stdout)";
    let node = reference.node.display();
    let command = format!("'{node}' -e \"{connect}\" {port}");
    drive(&context, &reference, &command).await;
}
