//! A confined program starts, ends and is signaled like any other.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use pi_sandbox::ConfinedProgram;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Fixture, text};

const DEADLINE: Duration = Duration::from_mins(1);

pub(crate) fn exit_status() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    for script in [
        "true",
        "exit 7",
        "exit 255",
        "kill -TERM $$",
        "kill -KILL $$",
        "kill -SEGV $$",
        "sh -c 'kill -9 $$'",
    ] {
        let [inside, outside] =
            [Some(&sandbox), None].map(|sandbox| fixture.run(sandbox, script).status);
        assert_eq!(inside.code(), outside.code(), "{script}");
        assert_eq!(inside.signal(), outside.signal(), "{script}");
    }
}

/// Commands have their own shared memory, but see a project that is stored there.
pub(crate) fn workspace_in_shared_memory() {
    let fixture = Fixture::below(Path::new("/dev/shm"));
    let run = |mode: &str, script: &str| {
        let sandbox = fixture.sandbox(&json!({ "mode": mode }));
        text(&fixture.run(Some(&sandbox), script))
    };
    let script = "cat file.txt; echo x > $TMPDIR/t && cat $TMPDIR/t; echo x > new; \
                  cat $OUTSIDE/file.txt .env; echo x > .git/hooks/pre-commit; echo x > /dev/shm/s && cat /dev/shm/s";
    let output = run("workspace", script);
    let count = |output: &str, error: &str| output.matches(error).count();
    assert!(output.starts_with("text\nx\nx\n"), "{output}");
    assert!(!output.contains("SECRET"), "{output}");
    assert_eq!(count(&output, "Read-only file system"), 1, "{output}");
    assert_eq!(count(&output, "No such file"), 1, "{output}");
    assert!(fixture.project().join("new").exists());
    assert!(!Path::new("/dev/shm/s").exists());
    let output = run("read-only", "cat file.txt; echo x > new; echo x > .git/new");
    assert!(output.starts_with("text\n"), "{output}");
    assert_eq!(count(&output, "Read-only file system"), 2, "{output}");
}

pub(crate) fn signals() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    let mut command = fixture.command(Some(&sandbox), "bash");
    let script = "trap 'echo caught; exit 3' TERM; trap 'echo usr1' USR1; echo ready; while :; do sleep 0.1; done";
    let mut child = command
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let helper = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(helper, rustix::process::Signal::USR1).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "usr1");
    rustix::process::kill_process(helper, rustix::process::Signal::TERM).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "caught");
    assert_eq!(wait(&mut child).code(), Some(3));
    // Without a handler it ends the program.
    let mut command = fixture.command(Some(&sandbox), "bash");
    let script = "echo ready; sleep 1000";
    let mut child = command
        .args(["-c", script])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::TERM).unwrap();
    assert_eq!(wait(&mut child).signal(), Some(libc::SIGTERM));
}

pub(crate) fn daemons_outlive_the_command() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    let script = "(sleep 0.3; echo done > daemon.txt) > /dev/null 2>&1 & echo started";
    assert_eq!(text(&fixture.run(Some(&sandbox), script)), "started\n");
    let file = fixture.project().join("daemon.txt");
    wait_until("the daemon has written its file", || file.exists());
}

pub(crate) fn killing_the_helper_kills_the_program() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    let mut command = fixture.command(Some(&sandbox), "bash");
    let mut child = command
        .args(["-c", "echo ready; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child.kill().unwrap();
    // The pipe closes when the program has ended.
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(wait(&mut child).signal(), Some(libc::SIGKILL));
}

pub(crate) fn missing_programs() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    for program in ["pi-missing-program", "/nonexistent/program", "./missing"] {
        let path = std::env::var_os("PATH");
        let error = sandbox.command(ConfinedProgram {
            program: program.as_ref(),
            path: path.as_deref(),
            cwd: Some(&fixture.project()),
        });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{program}");
    }
}

pub(crate) fn environment_and_streams() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    let mut command = fixture.command(Some(&sandbox), "bash");
    let script = "echo $VALUE:$1; pwd; id -u; echo error >&2; cat; mktemp -p $TMPDIR >/dev/null && ls /dev/fd/ >/dev/null && echo tools";
    let output = command
        .args(["-c", script, "bash", "argument"])
        .env("VALUE", "x")
        .output()
        .unwrap();
    let user = rustix::process::geteuid().as_raw();
    let project = fixture.project();
    assert_eq!(
        text(&output),
        format!("x:argument\n{}\n{user}\ntools\nerror\n", project.display())
    );
    let terminal = fixture.run(Some(&sandbox), "script -qec 'tty' /dev/null");
    assert!(text(&terminal).contains("/dev/pts/"), "{}", text(&terminal));
}

/// Programs that read the whole workspace do not fail because of directories that protect missing paths.
pub(crate) fn placeholders_are_readable() {
    let fixture = Fixture::new();
    std::fs::remove_file(fixture.project().join(".env")).unwrap();
    let sandbox = fixture.workspace_sandbox();
    let script =
        "set -e; ls -d .pi .mcp.json; find . > /dev/null; grep -rq text .; tar cf /dev/null .";
    let output = fixture.run(Some(&sandbox), script);
    assert!(output.status.success(), "{}", text(&output));
}

/// Directories that protect missing paths exist only while a command runs, also if it was killed or runs in parallel.
pub(crate) fn placeholders_are_removed() {
    let fixture = Fixture::new();
    let sandbox = fixture.workspace_sandbox();
    let pi = fixture.project().join(".pi");
    let start = || {
        let mut command = fixture.command(Some(&sandbox), "bash");
        let mut child = command
            .args(["-c", "echo ready; exec sleep 1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        child
    };
    let mut first = start();
    assert!(pi.exists());
    // A command that ends leaves what another one uses.
    fixture.run(Some(&sandbox), "true");
    assert!(pi.exists());
    first.kill().unwrap();
    wait(&mut first);
    wait_until("the last command has removed it", || {
        fixture.run(Some(&sandbox), "git status --porcelain | grep -E 'pi|mcp'");
        !pi.exists()
    });
}

fn wait(child: &mut Child) -> std::process::ExitStatus {
    let mut status = None;
    wait_until("the helper has ended", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_true() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
