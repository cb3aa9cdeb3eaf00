//! The TypeScript pi's own `RpcClient`, taken from its package, drives our binary.
//!
//! The client starts `node CLI …`; a script of that name, first in the path, starts our binary instead. Skips
//! where the package is not installed.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::{Finished, LIMIT, World, answer, begin};

const CLIENT: &str = "@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js";

struct Reference {
    node: PathBuf,
    client: PathBuf,
}

/// Returns where the packages of the TypeScript pi would be: where `PI_PEER_DIR` says, or in the user's
/// cache.
pub(crate) fn modules() -> Option<PathBuf> {
    let directory = match std::env::var_os("PI_PEER_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => std::env::home_dir()?.join(".cache/pi-peer"),
    };
    Some(directory.join("node_modules"))
}

fn reference() -> Option<Reference> {
    let modules = modules()?;
    let found = Reference {
        node: modules.join(".bin/node"),
        client: modules.join(CLIENT),
    };
    (found.node.exists() && found.client.exists()).then_some(found)
}

/// Puts our binary in the place of `node`.
fn stand_in(world: &World) -> PathBuf {
    let script = format!(
        "#!/bin/sh\nshift\nexec '{}' \"$@\"\n",
        env!("CARGO_BIN_EXE_pi")
    );
    let path = world.home.write("bin/node", script);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.parent().unwrap().to_owned()
}

#[tokio::test]
async fn the_reference_client_drives_our_binary() {
    let Some(reference) = reference() else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let world = World::new([
        answer("first answer"),
        begin("never ends").stall(),
        answer("third answer"),
        answer("## Goal\nA summary."),
        answer("after the fork"),
    ])
    .await;
    let settings = json!({"compaction": {"keepRecentTokens": 60}});
    world
        .home
        .write("agent/settings.json", settings.to_string());
    let path = format!(
        "{}:{}",
        stand_in(&world).display(),
        std::env::var("PATH").unwrap()
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reference_client.mjs");
    let child = Command::new(&reference.node)
        .arg(script)
        .arg(&reference.client)
        .arg(world.home.path().join("out.html"))
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = tokio::time::timeout(2 * LIMIT, child.wait_with_output()).await;
    let run = Finished::new(output.expect("the client hangs").unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    let seen: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        seen,
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
    assert!(world.home.path().join("out.html").exists());
}
