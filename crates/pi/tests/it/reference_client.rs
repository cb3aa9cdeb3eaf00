//! Drives the binary with the `RpcClient` of the TypeScript pi.
//!
//! The client starts `node CLI …`; a script named `node`, first in `PATH`, starts the binary instead. Skipped if the
//! package is not installed.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, partial_reply, text_reply};

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

fn find_reference() -> Option<ReferenceInstall> {
    let modules = modules()?;
    let install = ReferenceInstall {
        node: modules.join(".bin/node"),
        client: modules.join(CLIENT),
    };
    (install.node.exists() && install.client.exists()).then_some(install)
}

/// Writes a `node` script that starts the binary and returns its directory.
fn write_node_wrapper(context: &TestContext) -> PathBuf {
    let script = format!(
        "#!/bin/sh\nshift\nexec '{}' \"$@\"\n",
        env!("CARGO_BIN_EXE_pi")
    );
    let path = context.home.write("bin/node", script);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.parent().unwrap().to_owned()
}

#[tokio::test]
async fn the_reference_client_drives_the_binary() {
    let Some(reference) = find_reference() else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
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
    let path = format!(
        "{}:{}",
        write_node_wrapper(&context).display(),
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
