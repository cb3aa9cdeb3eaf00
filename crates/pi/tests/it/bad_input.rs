//! Unreadable files, failing streams and full disks: a clear error, a nonzero exit code, and no data loss.
#![cfg(unix)]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use pretty_assertions::assert_eq;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};

fn make_fifo(context: &TestContext, file: &str) {
    let status = std::process::Command::new("mkfifo")
        .arg(context.home.path().join(file))
        .status();
    assert!(status.unwrap().success());
}

/// Runs the binary with stdout redirected to `/dev/full`.
async fn run_with_full_stdout(context: &TestContext, arguments: &[&str]) -> PiOutput {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = context.command(arguments);
    let child = command.stdout(Stdio::from(full.unwrap())).spawn().unwrap();
    let output = tokio::time::timeout(TEST_TIMEOUT, child.wait_with_output()).await;
    PiOutput::new(output.expect("pi timed out").unwrap())
}

#[tokio::test]
async fn invalid_attachments_are_reported_with_a_hint() {
    let context = TestContext::new([]).await;
    make_fifo(&context, "project/pipe");
    fs::create_dir(context.project_dir().join("directory")).unwrap();
    for argument in ["@pipe", "@directory", "@/dev/zero", "@missing", "@"] {
        let run = context
            .run(&["--model", "mock/alpha", "-p", argument, "x"])
            .await;
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{argument}");
        assert!(
            run.stderr.contains("\nhint: "),
            "{argument}: {}",
            run.stderr
        );
    }
    assert!(context.server.requests().is_empty());
}

#[tokio::test]
async fn configuration_files_that_are_pipes_or_devices_do_not_block() {
    for file in ["auth.json", "models.json", "settings.json", "trust.json"] {
        let context = TestContext::new([text_reply("fine")]).await;
        let path = context.home.path().join("agent").join(file);
        fs::remove_file(&path).ok();
        make_fifo(&context, &format!("agent/{file}"));
        let run = context.run(&["-p", "x"]).await;
        assert!(run.stderr.contains(file), "{file}: {run:?}");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let run = context.run(&["-p", "x"]).await;
        assert!(run.stderr.contains(file), "{file}: {run:?}");
    }
}

#[tokio::test]
async fn an_unknown_model_error_names_the_broken_models_file() {
    let context = TestContext::new([]).await;
    context.home.write("agent/models.json", "{ broken");
    let run = context.run(&["--model", "mock/alpha", "-p", "x"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("models.json"), "{}", run.stderr);
    assert!(run.stderr.contains("mock/alpha"), "{}", run.stderr);
}

#[tokio::test]
async fn a_failed_write_to_stdout_is_reported_once() {
    for arguments in [
        vec!["--model", "mock/alpha", "-p", "x"],
        vec!["--model", "mock/alpha", "--mode", "json", "x"],
        vec!["--list-models"],
        vec!["--help"],
        vec!["--demo"],
    ] {
        let context = TestContext::new([text_reply("fine")]).await;
        let run = run_with_full_stdout(&context, &arguments).await;
        assert_eq!(run.code, Some(1), "{arguments:?}: {run:?}");
        let errors = run.stderr.matches("cannot write").count();
        assert_eq!(errors, 1, "{arguments:?}: {run:?}");
    }
}

/// Runs the binary with a file size limit, in blocks of 512 bytes, to simulate a full disk.
async fn run_with_file_size_limit(
    context: &TestContext,
    blocks: &str,
    arguments: &[&str],
) -> PiOutput {
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    let mut command = tokio::process::Command::new("sh");
    command
        .args(["-c", script, "sh", blocks, env!("CARGO_BIN_EXE_pi")])
        .args(arguments)
        .current_dir(context.project_dir())
        .env_clear()
        .envs(context.environment())
        .stdin(Stdio::null());
    let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    PiOutput::new(output.expect("pi timed out").unwrap())
}

#[tokio::test]
async fn a_full_disk_is_reported_and_the_session_stays_intact() {
    let long = "word ".repeat(20_000);
    for blocks in ["0", "40"] {
        let context = TestContext::new([text_reply(&long), text_reply("later")]).await;
        let arguments = ["--model", "mock/alpha", "--session-id", "s", "-p", "x"];
        let run = run_with_file_size_limit(&context, blocks, &arguments).await;
        assert_eq!(run.code, Some(1), "{blocks}: {run:?}");
        assert!(run.stderr.contains("disk"), "{blocks}: {run:?}");
        // The answer is printed even if only saving it failed.
        let is_printed = run.stdout.trim_end() == long.trim_end();
        assert_eq!(is_printed, blocks == "40", "{blocks}: {run:?}");
        let run = context.run(&arguments).await;
        assert_eq!(run.code, Some(0), "{blocks}: {run:?}");
    }
}

#[tokio::test]
async fn directories_with_unusual_names_are_supported() {
    for name in [
        &b"bytes\xff\xfe"[..],
        b"new\nline",
        "emoji😀".as_bytes(),
        b"-dash",
    ] {
        let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
        let directory = context.home.path().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&directory).unwrap();
        for (flag, expected) in [("-p", "one\n"), ("-cp", "two\n")] {
            let flags = if flag == "-cp" {
                vec!["-c", "-p", "x"]
            } else {
                vec!["-p", "x"]
            };
            let mut command = context.command(&["--model", "mock/alpha"]);
            command.args(flags).current_dir(&directory);
            let run = PiOutput::new(command.output().await.unwrap());
            assert_eq!(
                (run.code, run.stdout.as_str()),
                (Some(0), expected),
                "{run:?}"
            );
        }
        let second = context.server.requests()[1].json();
        let count = second["messages"].as_array().unwrap().len();
        assert_eq!(count, 4, "the session was resumed in {name:?}");
    }
}

#[tokio::test]
async fn a_deleted_working_directory_is_reported() {
    let context = TestContext::new([]).await;
    for mode in ["text", "json", "rpc"] {
        let deleted = context.home.path().join("deleted");
        fs::create_dir(&deleted).unwrap();
        let script = "cd \"$1\" && rmdir \"$1\" && exec \"$2\" --mode \"$3\" -p x";
        let mut command = tokio::process::Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .arg(&deleted)
            .arg(env!("CARGO_BIN_EXE_pi"))
            .arg(mode)
            .env_clear()
            .envs(context.environment());
        let run = PiOutput::new(command.output().await.unwrap());
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("\nhint: "), "{run:?}");
    }
}
