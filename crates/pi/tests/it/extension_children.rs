//! Child processes of extensions do not survive pi if it is killed, unless they are detached.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, Read as _};
use std::path::Path;

use pi_test_support::ScriptedReply;
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::harness::{TEST_TIMEOUT, TestContext, node};

fn extension() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/extension_children");
    directory.join("spawn.ts").to_string_lossy().into_owned()
}

/// Waits for a file with the ID of a process.
fn process_in(file: &Path) -> Pid {
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(id) = text.strip_suffix('\n') {
            return Pid::from_raw(id.parse().unwrap()).unwrap();
        }
        std::thread::yield_now();
    }
}

async fn assert_children_end(context: &TestContext, path: &str, manner: &str) {
    let gate = context.project_dir().join("gate");
    let detached = context.project_dir().join("detached");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let extension = extension();
    let arguments = ["--model", "mock/alpha", "-e", &extension, "-p", "x"];
    let mut command = context.command(&arguments);
    let mut child = command
        .env("PATH", path)
        .env("MANNER", manner)
        .spawn()
        .unwrap();
    let (ready, started) = tokio::sync::oneshot::channel();
    let (done, ended) = tokio::sync::oneshot::channel();
    // Not on the runtime, which would wait for it if the test fails.
    std::thread::spawn(move || {
        let mut gate = std::io::BufReader::new(std::fs::File::open(gate).unwrap());
        let mut line = String::new();
        gate.read_line(&mut line).unwrap();
        ready.send(process_in(&detached)).unwrap();
        gate.read_to_string(&mut String::new()).unwrap();
        done.send(()).unwrap();
    });
    let detached = tokio::time::timeout(TEST_TIMEOUT, started).await;
    let detached = detached.expect("the children did not start").unwrap();
    child.kill().await.unwrap();
    let ended = tokio::time::timeout(TEST_TIMEOUT, ended).await;
    ended
        .unwrap_or_else(|_| panic!("a process has survived ({manner})"))
        .unwrap();
    // Fails if the process is gone.
    rustix::process::kill_process(detached, Signal::KILL).unwrap();
}

const MANNERS: [&str; 4] = ["execSync", "spawn", "exec", "pi.exec"];

#[tokio::test]
async fn children_end_when_the_process_is_killed() {
    let path = std::env::var("PATH").unwrap_or_default();
    for manner in MANNERS {
        let context = TestContext::new([ScriptedReply::event_stream()]).await;
        assert_children_end(&context, &path, manner).await;
    }
}

#[tokio::test]
async fn children_of_node_end_when_the_process_is_killed() {
    let Some(node) = node() else {
        return;
    };
    let path = std::env::var("PATH").unwrap_or_default();
    for manner in MANNERS {
        let context = TestContext::new([ScriptedReply::event_stream()]).await;
        let settings = json!({"extensionHost": "node"}).to_string();
        context.home.write("agent/settings.json", settings);
        let bin = context.home.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(&node, bin.join("node")).unwrap();
        let path = format!("{}:{path}", bin.display());
        assert_children_end(&context, &path, manner).await;
    }
}
