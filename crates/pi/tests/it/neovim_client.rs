//! Neovim as a client of the line protocol: the same script gets the same from `pi --mode rpc` and, through the bridge of
//! the examples, from the WebSocket of `pi serve`. Skipped without Neovim or Python.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{
    TEST_TIMEOUT, TestContext, partial_reply, pi_binary, text_reply, tool_call_reply,
};
use crate::web_ui::serve;

const EXTENSION: &str = "export default (pi) => pi.registerCommand('ask', { description: 'Ask', handler: async (args, ctx) => {
  ctx.ui.notify('answer ' + (await ctx.ui.confirm('Sure?', 'Really')));
} });";

/// Returns the path of a program, which it prints with these arguments; prints a note and returns `None` without it.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
async fn installed(name: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(name).args(arguments).output().await;
    let printed = output.ok().filter(|output| output.status.success());
    let Some(output) = printed else {
        println!("skipped: needs {name}");
        return None;
    };
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    Some(text.trim().into())
}

async fn context() -> TestContext {
    let context = TestContext::new([
        text_reply("answer"),
        tool_call_reply("read", &json!({"path": "marker.txt"})),
        text_reply("done"),
        tool_call_reply("bash", &json!({"command": "sleep 1"})),
        partial_reply("never ends").stall(),
    ])
    .await;
    context.home.write("agent/extensions/ask.ts", EXTENSION);
    context.home.write("project/marker.txt", "MARKER\n");
    context
}

/// Runs the script in Neovim, with a command that it starts. Returns what it saw.
async fn report(context: &TestContext, neovim: &Path, command: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/neovim_client.lua");
    let report = context.home.path().join("report.json");
    let mut editor = Command::new(neovim);
    editor
        .args(["--clean", "--headless", "-c"])
        .arg(format!("luafile {}", script.display()))
        .current_dir(context.project_dir())
        .env_clear()
        .envs(context.environment())
        .env("PI_CLIENT_COMMAND", json!(command).to_string())
        .env("PI_CLIENT_REPORT", &report)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(4 * TEST_TIMEOUT, editor.output()).await;
    let output = ended.expect("Neovim does not end").unwrap();
    let report = std::fs::read(&report);
    let report = report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["error"], Value::Null, "{report:#}");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn neovim_gets_the_same_from_the_websocket_as_from_rpc() {
    let arguments = [
        "--clean",
        "--headless",
        "-c",
        "echo v:progpath",
        "-c",
        "qall",
    ];
    let Some(neovim) = installed("nvim", &arguments).await else {
        return;
    };
    // The one on `PATH` may be a script that needs the user's home.
    let Some(python) = installed("python3", &["-c", "import sys; print(sys.executable)"]).await
    else {
        return;
    };
    let pi = pi_binary();
    let rpc = [
        pi.to_str().unwrap(),
        "--model",
        "mock/alpha",
        "--mode",
        "rpc",
    ];
    let over_rpc = report(&context().await, &neovim, &rpc).await;
    let expected = json!({
        "model": "alpha", "messages before": 0, "thinking": "string", "command": "extension",
        "delta": "answer", "fork": "string", "name": "From Neovim", "transcript": 3,
        "arguments": "marker.txt", "result": "MARKER\n", "question": "Sure?", "answer": "answer true",
        "streaming": false,
    });
    assert_eq!(over_rpc["checks"], expected);

    let context = context().await;
    let _served = serve(&context).await;
    let bridge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi-serve/examples/bridge.py");
    let socket = context.home.path().join("serve.sock");
    let paths = [&python, &bridge, &socket].map(|path| path.to_str().unwrap());
    let command = [&paths[..], &["--mode", "rpc"]].concat();
    let over_websocket = report(&context, &neovim, &command).await;
    assert_eq!(over_websocket, over_rpc);
}
