//! Runs the tests of `packages/node` with the binary. Skipped without Node.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::harness::pi_binary;
use crate::reference_client::modules_of;

const TYPESCRIPT: [&str; 2] = ["typescript@5.9.3", "@types/node@22"];

/// Major versions of Node that the package is tested with, next to the one of this machine.
const NODE_VERSIONS: [&str; 2] = ["22", "24"];

const INSTALL_TIMEOUT: Duration = Duration::from_mins(3);

/// Deadline for all tests of a package, far longer than they take.
const PACKAGE_TIMEOUT: Duration = Duration::from_mins(8);

/// Returns the Node of the TypeScript pi, or the one on `PATH`.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
fn node() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path);
    let mut installed = directories.map(|directory| directory.join("node"));
    let with_reference = modules_of("1.5.0").map(|modules| modules.join(".bin/node"));
    let found = with_reference.filter(|node| node.exists());
    let found = found.or_else(|| installed.find(|node| node.is_file()));
    if found.is_none() {
        println!("skipped: needs Node");
    }
    found
}

/// Installs packages of the npm registry. Returns the directory with their modules; prints a note and returns `None` if
/// some of the files are missing afterwards.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
async fn install(name: &str, packages: &[&str], files: &[&str]) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let modules = directory.join("node_modules");
    let has_all = || files.iter().all(|file| modules.join(file).exists());
    if !has_all() {
        let installing = tokio::process::Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&directory)
            .args(packages)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status();
        tokio::time::timeout(INSTALL_TIMEOUT, installing).await.ok();
    }
    if !has_all() {
        println!("skipped: needs {packages:?} of the npm registry");
        return None;
    }
    Some(modules)
}

/// Returns the Node of this machine, and those of [`NODE_VERSIONS`] that can be installed.
async fn nodes() -> Vec<PathBuf> {
    let mut nodes: Vec<PathBuf> = node().into_iter().collect();
    for version in NODE_VERSIONS {
        let package = format!("node@{version}");
        let modules = install(&format!("node-{version}"), &[&package], &[".bin/node"]).await;
        nodes.extend(modules.map(|modules| modules.join(".bin/node")));
    }
    nodes
}

/// Runs Node in a directory of the repository; returns its output.
async fn run_node(node: &Path, directory: &str, arguments: &[&str]) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(directory);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories =
        std::iter::once(node.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    let running = tokio::process::Command::new(node)
        .args(arguments)
        .current_dir(package)
        .env("PATH", std::env::join_paths(directories).unwrap())
        .env("PI_BINARY", pi_binary())
        .env_remove("PI_CODING_AGENT_DIR")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PACKAGE_TIMEOUT, running).await;
    let output = output.expect("Node ended").unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {text}", node.display());
    text
}

async fn run_node_tests(node: &Path, directory: &str) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(directory);
    // Node 20 expands no patterns.
    let tests = std::fs::read_dir(package.join("test")).unwrap();
    let tests = tests.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let tests = tests.filter(|name| name.ends_with(".test.js"));
    let tests: Vec<String> = tests.map(|name| format!("test/{name}")).collect();
    let mut arguments = vec!["--test", "--test-timeout=120000"];
    arguments.extend(tests.iter().map(String::as_str));
    let text = run_node(node, directory, &arguments).await;
    assert!(text.contains("fail 0"), "{}: {text}", node.display());
}

#[tokio::test]
async fn the_node_package_passes_its_tests_with_each_version_of_node() {
    for node in nodes().await {
        run_node_tests(&node, "packages/node").await;
    }
}

#[tokio::test]
async fn the_extension_for_vs_code_passes_its_tests() {
    if let Some(node) = node() {
        run_node_tests(&node, "editors/vscode").await;
    }
}

/// A program for the types of the TypeScript pi compiles with them, where they are installed, and with those of the package.
#[tokio::test]
async fn a_program_for_the_types_of_the_typescript_pi_compiles() {
    let files = ["typescript/bin/tsc", "@types/node"];
    let Some(modules) = install("typescript", &TYPESCRIPT, &files).await else {
        return;
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/node");
    let package = package.canonicalize().unwrap();
    let reference = modules_of("1.5.0");
    let reference = reference.map(|it| it.join("@earendil-works/pi-coding-agent/dist/index.d.ts"));
    let reference = reference.filter(|types| types.exists());
    let types = reference.into_iter().chain([package.join("index.d.ts")]);
    for types in types {
        let project = tempfile::tempdir().unwrap();
        let config = json!({
            "compilerOptions": {
                "strict": true,
                "noEmit": true,
                "skipLibCheck": true,
                "target": "es2022",
                "module": "nodenext",
                "types": ["node"],
                "typeRoots": [modules.join("@types")],
                "paths": {"@earendil-works/pi-coding-agent": [types]},
            },
            "files": [package.join("test/types/program.ts")],
        });
        let config_file = project.path().join("tsconfig.json");
        let mode = pi_fs::NewFileMode::Private;
        pi_fs::atomic_file::write(&config_file, config.to_string().as_bytes(), mode).unwrap();
        let compiling = tokio::process::Command::new("node")
            .arg(modules.join("typescript/bin/tsc"))
            .arg("--project")
            .arg(&config_file)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PACKAGE_TIMEOUT, compiling).await;
        let output = output.expect("the compiler ended").unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {text}", types.display());
    }
}

/// Programs that embed the TypeScript pi run on the package. They are downloaded, so this test must be asked for.
#[tokio::test]
async fn programs_run_on_the_node_package() {
    if std::env::var_os("PI_TEST_NODE_PROGRAMS").is_none() {
        println!("skipped: set PI_TEST_NODE_PROGRAMS=1 to install programs from the registry");
        return;
    }
    let node = nodes().await.pop().expect("a Node to run them");
    print!(
        "{}",
        run_node(&node, "packages/node", &["programs/run.js"]).await
    );
}
