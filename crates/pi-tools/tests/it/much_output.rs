//! The memory that commands with much output need. Each is measured in a separate process.

use std::path::Path;
use std::sync::Arc;

use pi_tools::{
    BackgroundProcesses, ProcessTool, ProcessToolOptions, ShellTool, ShellToolOptions,
    local_environment,
};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{TestProject, call, text};

/// Name of the tool that runs the command of [`flood_of_output`].
const TOOL: &str = "PI_TEST_FLOOD_TOOL";

/// How much the command prints.
const BYTES: &str = "PI_TEST_FLOOD_BYTES";

/// A file contains no more output than this.
const MAX_SAVED_BYTES: u64 = 257 << 20;

/// Prints the peak of this process's memory. Started by the tests below.
#[tokio::test]
#[ignore = "started by other tests"]
async fn flood_of_output() {
    let (Ok(tool), Ok(bytes)) = (std::env::var(TOOL), std::env::var(BYTES)) else {
        return;
    };
    let command = format!("yes 'a line of output' | head -c {bytes}; echo; echo end");
    let directory = TempDir::new().unwrap();
    let output = match tool.as_str() {
        "bash" => output_of_bash(directory.path(), &command).await,
        _ => output_of_background_process(directory.path(), &command).await,
    };
    assert!(output.len() < 100_000, "{}", output.len());
    assert!(output.contains("\nend"), "{}", output.len());
    let saved = std::fs::read_dir(directory.path()).unwrap();
    let saved: u64 = saved
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(saved < MAX_SAVED_BYTES, "{saved}");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:"));
    println!("{}", peak.unwrap());
}

async fn output_of_bash(directory: &Path, command: &str) -> String {
    let tool = ShellTool::bash(ShellToolOptions {
        spill_directory: directory.to_owned(),
        ..ShellToolOptions::default()
    });
    let tool = TestProject::new(directory, local_environment()).bind(tool);
    let result = call(&tool, json!({"command": command})).await.unwrap();
    text(&result).to_owned()
}

async fn output_of_background_process(directory: &Path, command: &str) -> String {
    let (processes, mut exits) = BackgroundProcesses::new();
    let tool = ProcessTool::new(ProcessToolOptions {
        processes,
        variables: Arc::new(|| None),
        command_prefix: None,
        spill_directory: directory.to_owned(),
    });
    let tool = TestProject::new(directory, local_environment()).bind(tool);
    let start = json!({"action": "start", "name": "flood", "command": command, "notify": true});
    call(&tool, start).await.unwrap();
    exits.recv().await.unwrap();
    let read = json!({"action": "read", "name": "flood"});
    let result = call(&tool, read).await.unwrap();
    let structured = result.structured_content.unwrap_or_default();
    structured["output"].as_str().unwrap().to_owned()
}

/// Returns the peak of memory, in kilobytes, of a process whose command prints much.
fn peak_memory(tool: &str, bytes: u64) -> u64 {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "much_output::flood_of_output",
            "--ignored",
            "--nocapture",
        ])
        .env(TOOL, tool)
        .env(BYTES, bytes.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let peak = text
        .split_once("VmHWM:")
        .and_then(|(_, rest)| rest.split_whitespace().next());
    peak.unwrap_or_else(|| panic!("{output:?}"))
        .parse()
        .unwrap()
}

fn check_memory(tool: &str, bytes: u64) {
    let [little, much] = [1 << 20, bytes].map(|bytes| peak_memory(tool, bytes));
    assert!(
        much < little + 24 * 1024,
        "{little} kB, with much output {much} kB"
    );
}

#[test]
fn a_command_with_much_output_needs_little_memory() {
    check_memory("bash", 128 << 20);
}

#[test]
fn a_background_process_with_much_output_needs_little_memory() {
    check_memory("process", 128 << 20);
}

#[test]
#[ignore = "takes minutes without optimization"]
fn a_command_with_two_gigabytes_of_output_needs_little_memory() {
    check_memory("bash", 2 << 30);
}

#[test]
#[ignore = "takes minutes without optimization"]
fn a_background_process_with_two_gigabytes_of_output_needs_little_memory() {
    check_memory("process", 2 << 30);
}
