//! Files, streams and disks that are not what they should be: an answer in a line, an exit code that tells,
//! and no harm.
#![cfg(unix)]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use pretty_assertions::assert_eq;

use crate::process::{Finished, LIMIT, World, answer};

fn make_pipe(world: &World, file: &str) {
    let status = std::process::Command::new("mkfifo")
        .arg(world.home.path().join(file))
        .status();
    assert!(status.unwrap().success());
}

/// Runs the binary with standard output going to a device that is always full.
async fn run_into_full_disk(world: &World, arguments: &[&str]) -> Finished {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = world.command(arguments);
    let child = command.stdout(Stdio::from(full.unwrap())).spawn().unwrap();
    let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    Finished::new(output.expect("pi hangs").unwrap())
}

#[tokio::test]
async fn what_cannot_be_attached_is_named_with_advice() {
    let world = World::new([]).await;
    make_pipe(&world, "project/pipe");
    fs::create_dir(world.project().join("folder")).unwrap();
    for argument in ["@pipe", "@folder", "@/dev/zero", "@missing", "@"] {
        let run = world
            .run(&["--model", "mock/alpha", "-p", argument, "x"])
            .await;
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{argument}");
        assert!(
            run.stderr.contains("\nhint: "),
            "{argument}: {}",
            run.stderr
        );
    }
    assert!(world.server.requests().is_empty());
}

#[tokio::test]
async fn pipes_and_devices_in_the_place_of_files_hold_nobody_up() {
    for file in ["auth.json", "models.json", "settings.json", "trust.json"] {
        let world = World::new([answer("fine")]).await;
        let path = world.home.path().join("agent").join(file);
        fs::remove_file(&path).ok();
        make_pipe(&world, &format!("agent/{file}"));
        let run = world.run(&["-p", "x"]).await;
        assert!(run.stderr.contains(file), "{file}: {run:?}");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let run = world.run(&["-p", "x"]).await;
        assert!(run.stderr.contains(file), "{file}: {run:?}");
    }
}

#[tokio::test]
async fn a_broken_models_file_is_named_when_its_model_is_missing() {
    let world = World::new([]).await;
    world.home.write("agent/models.json", "{ broken");
    let run = world.run(&["--model", "mock/alpha", "-p", "x"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("models.json"), "{}", run.stderr);
    assert!(run.stderr.contains("mock/alpha"), "{}", run.stderr);
}

#[tokio::test]
async fn output_that_is_not_taken_is_a_failure() {
    for arguments in [
        vec!["--model", "mock/alpha", "-p", "x"],
        vec!["--model", "mock/alpha", "--mode", "json", "x"],
        vec!["--list-models"],
        vec!["--help"],
        vec!["--demo"],
    ] {
        let world = World::new([answer("fine")]).await;
        let run = run_into_full_disk(&world, &arguments).await;
        assert_eq!(run.code, Some(1), "{arguments:?}: {run:?}");
        let complaints = run.stderr.matches("cannot write").count();
        assert_eq!(complaints, 1, "{arguments:?}: {run:?}");
    }
}

/// Runs the binary where no file may grow over some blocks of 512 bytes, as on a disk that is full.
async fn run_without_space(world: &World, blocks: &str, arguments: &[&str]) -> Finished {
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    let mut command = tokio::process::Command::new("sh");
    command
        .args(["-c", script, "sh", blocks, env!("CARGO_BIN_EXE_pi")])
        .args(arguments)
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .stdin(Stdio::null());
    let output = tokio::time::timeout(LIMIT, command.output()).await;
    Finished::new(output.expect("pi hangs").unwrap())
}

#[tokio::test]
async fn what_cannot_be_kept_is_a_failure_and_the_session_stays_whole() {
    let long = "word ".repeat(20_000);
    for blocks in ["0", "40"] {
        let world = World::new([answer(&long), answer("later")]).await;
        let arguments = ["--model", "mock/alpha", "--session-id", "s", "-p", "x"];
        let run = run_without_space(&world, blocks, &arguments).await;
        assert_eq!(run.code, Some(1), "{blocks}: {run:?}");
        assert!(run.stderr.contains("disk"), "{blocks}: {run:?}");
        // What was paid for is not lost where only the file did not take it.
        let is_printed = run.stdout.trim_end() == long.trim_end();
        assert_eq!(is_printed, blocks == "40", "{blocks}: {run:?}");
        let run = world.run(&arguments).await;
        assert_eq!(run.code, Some(0), "{blocks}: {run:?}");
    }
}

#[tokio::test]
async fn folders_with_any_name_can_be_worked_in() {
    for name in [
        &b"bytes\xff\xfe"[..],
        b"new\nline",
        "emoji😀".as_bytes(),
        b"-dash",
    ] {
        let world = World::new([answer("one"), answer("two")]).await;
        let folder = world.home.path().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        for (flag, expected) in [("-p", "one\n"), ("-cp", "two\n")] {
            let flags = if flag == "-cp" {
                vec!["-c", "-p", "x"]
            } else {
                vec!["-p", "x"]
            };
            let mut command = world.command(&["--model", "mock/alpha"]);
            command.args(flags).current_dir(&folder);
            let run = Finished::new(command.output().await.unwrap());
            assert_eq!(
                (run.code, run.stdout.as_str()),
                (Some(0), expected),
                "{run:?}"
            );
        }
        let second = world.server.requests()[1].json();
        let said = second["messages"].as_array().unwrap().len();
        assert_eq!(said, 4, "the session was found again in {name:?}");
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_told() {
    let world = World::new([]).await;
    for mode in ["text", "json", "rpc"] {
        let gone = world.home.path().join("gone");
        fs::create_dir(&gone).unwrap();
        let script = "cd \"$1\" && rmdir \"$1\" && exec \"$2\" --mode \"$3\" -p x";
        let mut command = tokio::process::Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .arg(&gone)
            .arg(env!("CARGO_BIN_EXE_pi"))
            .arg(mode)
            .env_clear()
            .envs(world.environment());
        let run = Finished::new(command.output().await.unwrap());
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("\nhint: "), "{run:?}");
    }
}
