//! The binary on a disk that fails: packages are installed or not, a home that can only be read is told.
//!
//! The kernel makes the faults: see `pi_test_support::kernel_fault_command`.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_test_support::{
    DiskFault, DiskOperation, install_kernel_fault, kernel_fault_command, was_killed_by_fault,
};
use pretty_assertions::assert_eq;
use serde::{Deserialize, Serialize};

use crate::packages::Shop;
use crate::process::{Finished, LIMIT, World, answer};

const LAUNCH: &str = "PI_TEST_LAUNCH";

/// A run of the binary.
#[derive(Debug, Serialize, Deserialize)]
struct Launch {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    folder: PathBuf,
}

#[test]
#[ignore = "run by another test, in a process of its own, which becomes the binary"]
fn launch() {
    let Ok(launch) = std::env::var(LAUNCH) else {
        return;
    };
    let launch: Launch = serde_json::from_str(&launch).unwrap();
    if install_kernel_fault() {
        let error = std::process::Command::new(env!("CARGO_BIN_EXE_pi"))
            .args(launch.arguments)
            .env_clear()
            .envs(launch.environment)
            .current_dir(launch.folder)
            .exec();
        panic!("{error}");
    }
}

/// Runs the binary under a fault.
async fn run(
    world: &World,
    arguments: &[&str],
    step: DiskOperation,
    fault: DiskFault,
) -> std::process::Output {
    let mut environment = world.environment();
    environment.retain(|(name, _)| name != "PI_OFFLINE");
    let launch = Launch {
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        environment,
        folder: world.project(),
    };
    let mut command = kernel_fault_command("disk_faults::launch", step, fault);
    command
        .env(LAUNCH, serde_json::to_string(&launch).unwrap())
        .stdin(std::process::Stdio::null());
    let output = tokio::process::Command::from(command).output();
    let output = tokio::time::timeout(LIMIT, output).await;
    output.expect("pi hangs").unwrap()
}

/// Lets locks look as if their holders died long ago.
fn age_locks(folder: &Path) {
    let long_ago = SystemTime::now() - Duration::from_mins(30);
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|it| it == "lock") {
            fs::File::open(path)
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
    }
}

#[tokio::test]
async fn a_package_is_installed_or_not_and_the_next_attempt_works() {
    let steps = [
        DiskOperation::CreateDir,
        DiskOperation::Create,
        DiskOperation::Write,
        DiskOperation::Sync,
        DiskOperation::Rename,
    ];
    for step in steps {
        for fault in DiskFault::ALL.into_iter().take(4) {
            let shop = Shop::open(vec![]).await;
            let output = run(&shop.world, &["install", "npm:tool"], step, fault).await;
            let case = format!("{fault:?} at {step:?}: {output:?}");
            if fault == DiskFault::Kill {
                assert!(was_killed_by_fault(output.status), "{case}");
            } else {
                assert_eq!(output.status.code(), Some(1), "{case}");
                let told = String::from_utf8_lossy(&output.stderr);
                assert!(told.contains("error: "), "{case}");
            }
            let agent = shop.world.home.path().join("agent");
            if agent.join("settings.json").exists() {
                let settings = shop.settings();
                let is_named = settings["packages"] == serde_json::json!(["npm:tool"]);
                assert_eq!(
                    is_named,
                    shop.has("node_modules/tool/words/greet.md"),
                    "{case}"
                );
            }
            for folder in [agent.clone(), agent.join("npm")] {
                age_locks(&folder);
            }
            let again = shop.run(&["install", "npm:tool"]).await;
            assert_eq!(again.code, Some(0), "{case}: {again:?}");
            assert!(shop.has("node_modules/tool/words/greet.md"), "{case}");
            assert!(shop.has("node_modules/helper/index.js"), "{case}");
            let staged = fs::read_dir(agent.join("npm")).unwrap();
            let mut staged = staged.map(|entry| entry.unwrap().file_name());
            let is_staged = |name: std::ffi::OsString| name.to_string_lossy().contains("staging");
            assert!(!staged.any(is_staged), "{case}");
        }
    }
}

#[tokio::test]
async fn a_home_that_can_only_be_read_is_told_and_the_answer_printed() {
    for step in [DiskOperation::CreateDir, DiskOperation::Create] {
        let world = World::new([answer("hello"), answer("hello")]).await;
        let arguments = ["--model", "mock/alpha", "-p", "hi"];
        let output = run(&world, &arguments, step, DiskFault::ReadOnly).await;
        let run_once = Finished::new(output);
        assert_eq!(run_once.code, Some(1), "{step:?}: {run_once:?}");
        assert!(run_once.stderr.contains("error: "), "{run_once:?}");
        let arguments = ["--model", "mock/alpha", "--no-session", "-p", "hi"];
        let output = run(&world, &arguments, step, DiskFault::ReadOnly).await;
        let without = Finished::new(output);
        assert_eq!(without.code, Some(0), "{step:?}: {without:?}");
        assert!(without.stdout.ends_with("hello\n"), "{without:?}");
    }
}
