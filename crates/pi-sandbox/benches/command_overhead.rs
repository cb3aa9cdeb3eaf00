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

    fn confined(sandbox: &Sandbox) -> Command {
        let path = std::env::var_os("PATH");
        let program = ConfinedProgram {
            program: "true".as_ref(),
            path: path.as_deref(),
            cwd: None,
        };
        let mut command = sandbox.command(program).expect("`true` exists");
        command.current_dir(PathBuf::from("/"));
        command
    }

    #[divan::bench]
    fn direct() {
        run(Command::new("true"));
    }

    #[divan::bench]
    fn workspace(bencher: Bencher<'_, '_>) {
        let (_directory, sandbox) = sandbox(SandboxMode::Workspace);
        bencher.bench_local(|| run(confined(&sandbox)));
    }

    #[divan::bench]
    fn tried(bencher: Bencher<'_, '_>) {
        let (_directory, sandbox) = sandbox(SandboxMode::Try);
        bencher.bench_local(|| {
            let attempt = sandbox.attempt().expect("an overlay can be stored");
            run(confined(attempt.sandbox()));
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
    std::process::ExitCode::SUCCESS
}

#[cfg(not(target_os = "linux"))]
fn main() {}
