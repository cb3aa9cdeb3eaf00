//! What commands write to the agent directory takes effect at the next start, so it is reported.
#![cfg(unix)]

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, text_reply};
use crate::terminal::Terminal;

/// Sends commands, waits after each for a record of the given type, and returns the changes that were reported.
async fn reported(context: &TestContext, commands: &[Value], until: &str) -> Vec<String> {
    let arguments = ["--model", "mock/alpha", "--mode", "rpc", "--no-session"];
    let mut command = context.command(&arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut reports = Vec::new();
    for command in commands {
        let line = format!("{command}\n");
        stdin.write_all(line.as_bytes()).await.unwrap();
        loop {
            let reading = tokio::time::timeout(TEST_TIMEOUT, stdout.next_line());
            let line = reading.await.unwrap().unwrap().expect("pi exited");
            let record: Value = serde_json::from_str(&line).unwrap();
            assert_ne!(record["type"], "extension_error", "{record}");
            if record["type"] == "session_warning" {
                reports.push(record["message"].as_str().unwrap().to_owned());
            }
            if record["type"] == until {
                break;
            }
        }
    }
    drop(stdin);
    child.wait().await.unwrap();
    reports
}

#[tokio::test]
async fn files_that_a_command_of_the_user_changes_are_reported() {
    let context = TestContext::new([]).await;
    let commands = [
        "echo harmless > other.txt; cat $PI_CODING_AGENT_DIR/models.json",
        "cd $PI_CODING_AGENT_DIR; echo '{}' > settings.json; echo '{}' > trust.json",
        "cd $PI_CODING_AGENT_DIR; mkdir -p extensions/new; echo > extensions/new/index.ts",
        "echo harmless",
    ];
    let commands = commands.map(|command| json!({"type": "bash", "command": command}));
    let reports = reported(&context, &commands, "response").await;
    assert_eq!(reports.len(), 2, "{reports:#?}");
    assert!(reports[0].starts_with("settings.json, trust.json of the agent directory changed"));
    assert!(reports[1].starts_with("extensions/new/index.ts of the agent directory changed"));
}

#[tokio::test]
async fn files_that_a_tool_changes_are_reported() {
    let context = TestContext::new([
        bash_reply("echo hi > $PI_CODING_AGENT_DIR/AGENTS.md"),
        text_reply("done"),
    ])
    .await;
    let prompt = json!({"type": "prompt", "message": "go"});
    let reports = reported(&context, &[prompt], "agent_settled").await;
    assert_eq!(reports.len(), 1, "{reports:#?}");
    assert!(reports[0].starts_with("AGENTS.md of the agent directory changed while a tool ran"));
}

#[tokio::test]
async fn print_mode_warns_about_files_that_a_tool_changes() {
    let context = TestContext::new([
        bash_reply("echo '{}' > $PI_CODING_AGENT_DIR/settings.json"),
        text_reply("done"),
    ])
    .await;
    let run = context.run(&["--model", "mock/alpha", "-p", "go"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"));
    let expected = "warning: settings.json of the agent directory changed while a tool ran";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_warns_about_files_that_a_command_changes() {
    let context = TestContext::new([]).await;
    let terminal = Terminal::start(&context, &["--model", "mock/alpha"]);
    terminal.wait("alpha");
    terminal.submit("!echo '{}' > $PI_CODING_AGENT_DIR/settings.json");
    terminal.wait("settings.json of the agent directory changed while a command ran");
    terminal.quit();
}
