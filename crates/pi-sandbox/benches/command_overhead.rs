//! What a sandbox costs per command: `true` directly, in a workspace, and tried with its changes discarded. The design allows
//! 15 ms for a workspace and 40 ms for a tried command, on a quiet machine.

#![expect(
    clippy::expect_used,
    reason = "a benchmark cannot run without its files"
)]

#[cfg(target_os = "linux")]
mod linux {
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use divan::Bencher;
    use pi_protocol::settings::{SandboxMode, SandboxSettings};
    use pi_sandbox::{ConfinedProgram, Roots, Sandbox};

    fn sandbox(mode: SandboxMode) -> (tempfile::TempDir, Sandbox) {
        let directory = tempfile::tempdir().expect("a directory can be created");
        let root = directory.path().canonicalize().expect("it exists");
        for name in ["project/.git/hooks", "home/agent", "cache"] {
            std::fs::create_dir_all(root.join(name)).expect("it can be created");
        }
        let roots = Roots {
            workspace: root.join("project"),
            home: Some(root.join("home")),
            agent_dir: root.join("home/agent"),
            caches: vec![root.join("cache")],
            ..Roots::default()
        };
        let settings = SandboxSettings {
            mode: Some(mode.into()),
            ..SandboxSettings::default()
        };
        let sandbox = Sandbox::start(&settings, &roots);
        let sandbox = sandbox.expect("the system has namespaces");
        (directory, sandbox.expect("the mode is not off"))
    }

    fn run(mut command: Command) {
        let status = command.stdin(Stdio::null()).status();
        assert!(status.expect("`true` starts").success());
    }

    fn confined(sandbox: &Sandbox, program: &str) -> Command {
        let path = std::env::var_os("PATH");
        let program = ConfinedProgram {
            program: program.as_ref(),
            path: path.as_deref(),
            cwd: None,
        };
        let mut command = sandbox.command(program).expect("the program exists");
        command.current_dir(PathBuf::from("/"));
        command
    }

    /// Rounds of [`report`]; the fastest of each kind is compared, because others measure the machine.
    const ROUNDS: usize = 60;

    /// Prints what the sandbox adds to a command of a shell, which is what the model runs.
    #[expect(clippy::print_stdout, reason = "the result of a benchmark")]
    pub(super) fn report() {
        let (_directory, sandbox) = sandbox(SandboxMode::Workspace);
        let fastest = |run: &dyn Fn()| {
            let times = (0..ROUNDS).map(|_| {
                let start = Instant::now();
                run();
                start.elapsed()
            });
            times.min().unwrap_or_default().as_secs_f64() * 1000.0
        };
        let shell = |mut command: Command| {
            command.args(["-c", "true"]);
            run(command);
        };
        let direct = fastest(&|| shell(Command::new("bash")));
        let confined = fastest(&|| shell(confined(&sandbox, "bash")));
        println!(
            "bash -c true: {direct:.1} ms, in a workspace {confined:.1} ms: +{:.1} ms, {:.1} times",
            confined - direct,
            confined / direct,
        );
    }

    #[divan::bench]
    fn direct() {
        run(Command::new("true"));
    }

    #[divan::bench]
    fn workspace(bencher: Bencher<'_, '_>) {
        let (_directory, sandbox) = sandbox(SandboxMode::Workspace);
        bencher.bench_local(|| run(confined(&sandbox, "true")));
    }

    #[divan::bench]
    fn tried(bencher: Bencher<'_, '_>) {
        let (_directory, sandbox) = sandbox(SandboxMode::Try);
        bencher.bench_local(|| {
            let attempt = sandbox.attempt().expect("an overlay can be stored");
            run(confined(attempt.sandbox(), "true"));
            assert!(attempt.changes().expect("they can be read").is_empty());
        });
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == pi_sandbox::CONFINE) {
        // This program is its own helper, as `pi` is.
        return pi_sandbox::run_confined(words);
    }
    divan::main();
    linux::report();
    std::process::ExitCode::SUCCESS
}

#[cfg(not(target_os = "linux"))]
fn main() {}
