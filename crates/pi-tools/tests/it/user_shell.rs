//! User commands with a real shell.

use std::ffi::OsString;
use std::sync::Arc;

use pi_core::ProcessError;
use pi_tools::{LocalShell, ShellResult, UserShell};
use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

fn shell(directory: &TempDir) -> UserShell {
    let inherited: [(OsString, OsString); 2] = [
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("PI_MODEL".into(), "outer".into()),
    ];
    UserShell {
        cwd: directory.path().to_owned(),
        processes: Arc::new(LocalShell::default()),
        vars: inherited.into(),
        command_prefix: None,
        spill_directory: directory.path().to_owned(),
    }
}

async fn run(command: &str) -> serde_json::Value {
    let directory = TempDir::new().unwrap();
    let result = shell(&directory)
        .run(command, |_| (), CancellationToken::new())
        .await;
    serde_json::to_value(result.unwrap()).unwrap()
}

#[tokio::test]
async fn results_are_plain_text() {
    for (command, output, code) in [
        (r"printf 'a\nb\n'", "a\nb\n", 0),
        ("exit 3", "", 3),
        ("echo err >&2", "err\n", 0),
        (
            r"printf '\033[31mred\033[0m\r\nnul\000\a\n'",
            "red\nnul\n",
            0,
        ),
        ("kill -9 $$", "", 137),
        ("echo $PI_MODEL", "outer\n", 0),
    ] {
        let expected =
            json!({"output": output, "exitCode": code, "cancelled": false, "truncated": false});
        assert_eq!(run(command).await, expected, "{command}");
    }
}

#[tokio::test]
async fn long_output_is_truncated_and_saved() {
    let directory = TempDir::new().unwrap();
    let mut shown = String::new();
    let on_text = |text: &str| shown.push_str(text);
    let result = shell(&directory)
        .run("seq 1 3000", on_text, CancellationToken::new())
        .await
        .unwrap();
    let numbers: Vec<_> = (1..=3000).map(|number: u32| number.to_string()).collect();
    let expected = numbers.join("\n") + "\n";
    assert_eq!(shown, expected);
    let path = result.full_output_path.clone().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    assert!(result.truncated);
    assert!(result.output.starts_with("1001\n") && result.output.ends_with("\n3000"));
}

#[tokio::test]
async fn a_canceled_command_keeps_its_output() {
    let directory = TempDir::new().unwrap();
    let cancel = CancellationToken::new();
    let on_text = |_: &str| cancel.cancel();
    let result = shell(&directory)
        .run("echo begin; exec sleep 300", on_text, cancel.clone())
        .await
        .unwrap();
    let expected = ShellResult {
        output: "begin\n".to_owned(),
        exit_code: None,
        cancelled: true,
        truncated: false,
        full_output_path: None,
    };
    assert_eq!(result, expected);
}

#[tokio::test]
async fn a_missing_directory_is_an_error() {
    let directory = TempDir::new().unwrap();
    let mut shell = shell(&directory);
    shell.cwd = directory.path().join("gone");
    let error = shell
        .run("true", |_| (), CancellationToken::new())
        .await
        .unwrap_err();
    assert!(matches!(error, ProcessError::MissingDirectory(path) if path == shell.cwd));
}

#[tokio::test]
async fn the_prefix_runs_first() {
    let directory = TempDir::new().unwrap();
    let mut shell = shell(&directory);
    shell.command_prefix = Some("shopt -s expand_aliases\nalias hi='echo hello'".to_owned());
    let result = shell
        .run("hi", |_| (), CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(result.output, "hello\n");
}
