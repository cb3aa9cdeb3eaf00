//! What extensions and their children write to the standard output is not part of the program's output.
#![cfg(target_os = "linux")]

use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TestContext, text_reply};

/// What the children and files of the extension write.
const WRITTEN: [&str; 5] = [
    "from-exec",
    "from-spawn-sync",
    "from-spawn",
    "from-file",
    "from-descriptor",
];

async fn run(arguments: &[&str], input: &str) -> PiOutput {
    let context = TestContext::new([text_reply("done")]).await;
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let extension = crate_dir.join("tests/it/extension_output/write.ts");
    let extension = extension.to_string_lossy().into_owned();
    let common = ["--model", "mock/alpha", "-e", &extension];
    context
        .run_with_input(&[&common, arguments].concat(), input)
        .await
}

fn assert_on_stderr(output: &PiOutput) {
    for text in WRITTEN {
        assert!(output.stderr.contains(text), "{text}: {output:?}");
    }
    assert!(!output.stdout.contains("from-"), "{output:?}");
}

#[tokio::test]
async fn print_mode_prints_only_the_answer() {
    let output = run(&["-p", "go"], "").await;
    assert_eq!(output.stdout, "done\n", "{output:?}");
    assert_on_stderr(&output);
}

#[tokio::test]
async fn json_mode_prints_only_records() {
    let output = run(&["--mode", "json", "go"], "").await;
    assert!(output.records().iter().any(|it| it["type"] == "agent_end"));
    assert_on_stderr(&output);
}

#[tokio::test]
async fn rpc_mode_writes_only_records_and_reads_every_command() {
    let commands = [
        json!({"type": "prompt", "message": "go", "id": "1"}),
        json!({"type": "get_state", "id": "2"}),
    ];
    let input: String = commands.map(|command| format!("{command}\n")).concat();
    let context = TestContext::new([text_reply("done")]).await;
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let extension = crate_dir.join("tests/it/extension_output/write.ts");
    let extension = extension.to_string_lossy().into_owned();
    let arguments = ["--model", "mock/alpha", "-e", &extension, "--mode", "rpc"];
    let mut child = context
        .command(&arguments)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = {
        use tokio::io::AsyncBufReadExt as _;
        tokio::io::BufReader::new(child.stdout.take().unwrap()).lines()
    };
    tokio::io::AsyncWriteExt::write_all(&mut stdin, input.as_bytes())
        .await
        .unwrap();
    let mut records: Vec<Value> = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let record: Value = serde_json::from_str(&line).unwrap();
        let is_last = record["type"] == "agent_settled";
        records.push(record);
        if is_last {
            break;
        }
    }
    drop(stdin);
    let output = PiOutput::new(child.wait_with_output().await.unwrap());
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_on_stderr(&output);
    for id in ["1", "2"] {
        assert!(records.iter().any(|it| it["id"] == id), "{records:#?}");
    }
}
