//! Disk faults: package installation is atomic, and a read-only home is reported.
//!
//! The faults are injected with seccomp; see `pi_test_support::kernel_fault_command`.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_test_support::{
    DiskFault, DiskOperation, install_kernel_fault, kernel_fault_command, was_killed_by_fault,
};
use pretty_assertions::assert_eq;
use serde::{Deserialize, Serialize};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};
use crate::packages::PackageSetup;

const LAUNCH_VARIABLE: &str = "PI_TEST_LAUNCH";

/// A run of the binary, passed to [`launch`] as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct FaultyLaunch {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    directory: PathBuf,
}

#[test]
#[ignore = "started by other tests in a separate process, which executes the binary"]
fn launch() {
    let Ok(launch) = std::env::var(LAUNCH_VARIABLE) else {
        return;
    };
    let launch: FaultyLaunch = serde_json::from_str(&launch).unwrap();
    if install_kernel_fault() {
        let error = std::process::Command::new(env!("CARGO_BIN_EXE_pi"))
            .args(launch.arguments)
            .env_clear()
            .envs(launch.environment)
            .current_dir(launch.directory)
            .exec();
        panic!("{error}");
    }
}

/// Runs the binary with `fault` injected at `step`.
async fn run_with_fault(
    context: &TestContext,
    arguments: &[&str],
    step: DiskOperation,
    fault: DiskFault,
) -> std::process::Output {
    let mut environment = context.environment();
    environment.retain(|(name, _)| name != "PI_OFFLINE");
    let launch = FaultyLaunch {
        arguments: arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect(),
        environment,
        directory: context.project_dir(),
    };
    let mut command = kernel_fault_command("disk_faults::launch", step, fault);
    command
        .env(LAUNCH_VARIABLE, serde_json::to_string(&launch).unwrap())
        .stdin(std::process::Stdio::null());
    let output = tokio::process::Command::from(command).output();
    let output = tokio::time::timeout(TEST_TIMEOUT, output).await;
    output.expect("pi timed out").unwrap()
}

/// Makes the locks in a directory stale.
fn age_locks(directory: &Path) {
    let stale = SystemTime::now() - Duration::from_mins(30);
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|it| it == "lock") {
            fs::File::open(path).unwrap().set_modified(stale).unwrap();
        }
    }
}

#[tokio::test]
async fn package_installation_is_atomic_and_can_be_retried() {
    let steps = [
        DiskOperation::CreateDir,
        DiskOperation::Create,
        DiskOperation::Write,
        DiskOperation::Sync,
        DiskOperation::Rename,
    ];
    for step in steps {
        for fault in DiskFault::ALL.into_iter().take(4) {
            let setup = PackageSetup::new(vec![]).await;
            let output =
                run_with_fault(&setup.context, &["install", "npm:tool"], step, fault).await;
            let case = format!("{fault:?} at {step:?}: {output:?}");
            if fault == DiskFault::Kill {
                assert!(was_killed_by_fault(output.status), "{case}");
            } else {
                assert_eq!(output.status.code(), Some(1), "{case}");
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(stderr.contains("error: "), "{case}");
            }
            let agent = setup.context.home.path().join("agent");
            if agent.join("settings.json").exists() {
                let settings = setup.settings();
                let is_listed = settings["packages"] == serde_json::json!(["npm:tool"]);
                assert_eq!(
                    is_listed,
                    setup.has("node_modules/tool/templates/greet.md"),
                    "{case}"
                );
            }
            for directory in [agent.clone(), agent.join("npm")] {
                age_locks(&directory);
            }
            let retry = setup.run(&["install", "npm:tool"]).await;
            assert_eq!(retry.code, Some(0), "{case}: {retry:?}");
            assert!(setup.has("node_modules/tool/templates/greet.md"), "{case}");
            assert!(setup.has("node_modules/helper/index.js"), "{case}");
            let entries = fs::read_dir(agent.join("npm")).unwrap();
            let mut names = entries.map(|entry| entry.unwrap().file_name());
            let is_staging = |name: std::ffi::OsString| name.to_string_lossy().contains("staging");
            assert!(!names.any(is_staging), "{case}");
        }
    }
}

#[tokio::test]
async fn a_read_only_home_is_reported_and_works_without_a_session() {
    for step in [DiskOperation::CreateDir, DiskOperation::Create] {
        let context = TestContext::new([text_reply("hello"), text_reply("hello")]).await;
        let arguments = ["--model", "mock/alpha", "-p", "hi"];
        let output = run_with_fault(&context, &arguments, step, DiskFault::ReadOnly).await;
        let run = PiOutput::new(output);
        assert_eq!(run.code, Some(1), "{step:?}: {run:?}");
        assert!(run.stderr.contains("error: "), "{run:?}");
        let arguments = ["--model", "mock/alpha", "--no-session", "-p", "hi"];
        let output = run_with_fault(&context, &arguments, step, DiskFault::ReadOnly).await;
        let run = PiOutput::new(output);
        assert_eq!(run.code, Some(0), "{step:?}: {run:?}");
        assert!(run.stdout.ends_with("hello\n"), "{run:?}");
    }
}
