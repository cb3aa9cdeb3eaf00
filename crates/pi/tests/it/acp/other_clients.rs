//! Clients of other languages and programs: the SDKs for Rust and Python, `acpx`, and the check of the agent registry.
//!
//! What they need is installed once into the test directory of the build; without the registries these tests are skipped.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::client::AcpClient;
use super::sdk_scenarios::run_scenarios;
use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, partial_reply, pi_binary, text_reply};

const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

const PYTHON_PACKAGE: &str = "agent-client-protocol==0.12.1";

const ACPX: &str = "acpx@0.19.1";

const RUST_PROJECT: &str = r#"[package]
name = "acp-client"
version = "0.0.0"
edition = "2024"

[dependencies]
agent-client-protocol = { version = "=5.0.0", features = ["process"] }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }

[workspace]
"#;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a command of an installation; returns whether it succeeded.
async fn install(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(INSTALL_TIMEOUT, command.status()).await;
    matches!(ended, Ok(Ok(status)) if status.success())
}

#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

#[tokio::test]
async fn the_python_client_runs_the_scenarios() {
    let environment = directory("acp-python");
    let python = environment.join("bin/python");
    let marker = environment.join("installed");
    if !marker.exists() {
        let mut create = Command::new("python3");
        create.args(["-m", "venv"]).arg(&environment);
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", PYTHON_PACKAGE]);
        if !install(&mut create).await || !install(&mut pip).await {
            return skipped("needs Python, pip and PyPI");
        }
        std::fs::File::create(marker).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/acp/client.py");
    run_scenarios(&python, &[&script]).await;
}

#[tokio::test]
async fn the_rust_client_runs_the_scenarios() {
    let project = directory("acp-rust-client");
    let program = project.join("target/debug/acp-client");
    std::fs::create_dir_all(project.join("src")).unwrap();
    let source = include_str!("../../fixtures/acp_client/main.rs");
    for (file, text) in [("Cargo.toml", RUST_PROJECT), ("src/main.rs", source)] {
        let path = project.join(file);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
            let mode = pi_fs::NewFileMode::Private;
            pi_fs::atomic_file::write(&path, text.as_bytes(), mode).unwrap();
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--target-dir"])
        .arg(project.join("target"))
        .current_dir(&project)
        .env_remove("RUSTFLAGS");
    if !install(&mut build).await {
        return skipped("the crate agent-client-protocol cannot be built");
    }
    run_scenarios(&program, &[]).await;
}

/// Returns the directory with `acpx` and its Node.
async fn acpx() -> Option<&'static Path> {
    static INSTALLED: OnceCell<Option<PathBuf>> = OnceCell::const_new();
    let installing = INSTALLED.get_or_init(async || {
        let project = directory("acpx");
        let programs = project.join("node_modules/.bin");
        let has_all = || programs.join("acpx").exists() && programs.join("node").exists();
        if !has_all() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
                .arg(&project)
                .args([ACPX, &format!("{}@22", crate::mcp_packages::node_package())]);
            install(&mut npm).await;
        }
        if !has_all() {
            skipped("needs Node, npm and the npm registry");
        }
        has_all().then_some(programs)
    });
    installing.await.as_deref()
}

/// Runs `acpx` with our agent in the project; returns whether it succeeded, and its output.
async fn run_acpx(programs: &Path, context: &TestContext, arguments: &[&str]) -> (bool, String) {
    let mut command = acpx_command(programs, context, arguments);
    let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let output = output.unwrap().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.success(), text)
}

fn acpx_command(programs: &Path, context: &TestContext, arguments: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let agent = format!("{} acp", pi_binary().to_str().unwrap());
    let mut command = Command::new(programs.join("acpx"));
    command
        .args(["--agent", &agent, "--ttl", "60"])
        .args(arguments)
        .current_dir(context.project_dir())
        .env_clear()
        .envs(context.environment())
        .env("PATH", format!("{}:{path}", programs.display()))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

#[tokio::test]
async fn acpx_runs_single_prompts() {
    let Some(programs) = acpx().await else {
        return;
    };
    let replies = [text_reply("One."), text_reply("Two.")];
    let context = TestContext::new(replies).await;
    let option = [
        "--model",
        "mock/alpha",
        "exec",
        "--config-option",
        "thinking=high",
        "first",
    ];
    let (is_done, text) = run_acpx(programs, &context, &option).await;
    assert!(is_done && text.contains("One."), "{text}");
    let request = context.server.requests()[0].json();
    assert_eq!(request["model"], json!("alpha"));
    assert_eq!(request["reasoning_effort"], json!("high"), "{request}");
    let strict = ["--format", "json", "--json-strict", "exec", "second"];
    let (is_done, text) = run_acpx(programs, &context, &strict).await;
    assert!(is_done, "{text}");
    for line in text.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(text.contains("Two."), "{text}");
}

#[tokio::test]
async fn acpx_applies_its_permission_policy() {
    let Some(programs) = acpx().await else {
        return;
    };
    for (policy, is_allowed) in [("--approve-all", true), ("--deny-all", false)] {
        let replies = [bash_reply("touch made"), text_reply("Done.")];
        let context = TestContext::new(replies).await;
        let extension = r#"export default (pi) => pi.on("tool_call", async (event, ctx) => {
            if (!(await ctx.ui.confirm("Run " + event.input.command, ""))) return { block: true };
        });"#;
        context.home.write("agent/extensions/ask.js", extension);
        let (_, text) = run_acpx(programs, &context, &[policy, "exec", "go"]).await;
        assert!(text.contains("Done."), "{text}");
        let made = context.project_dir().join("made");
        assert_eq!(made.exists(), is_allowed, "{policy}: {text}");
    }
}

#[tokio::test]
async fn acpx_keeps_sessions_and_cancels() {
    let Some(programs) = acpx().await else {
        return;
    };
    let replies = [text_reply("One."), partial_reply("slow").stall()];
    let context = TestContext::new(replies).await;
    let (is_done, text) = run_acpx(programs, &context, &["sessions", "new"]).await;
    assert!(is_done, "{text}");
    let (is_done, text) = run_acpx(programs, &context, &["prompt", "first"]).await;
    assert!(is_done && text.contains("One."), "{text}");
    let (_, text) = run_acpx(programs, &context, &["sessions", "list"]).await;
    assert!(text.contains("first"), "{text}");
    let mut prompt = acpx_command(programs, &context, &["prompt", "second"]);
    let prompting = tokio::time::timeout(TEST_TIMEOUT, prompt.output());
    let mut prompting = std::pin::pin!(prompting);
    tokio::select! {
        output = &mut prompting => panic!("ended without a request: {output:?}"),
        _ = context.server.wait_for_request(1) => {}
    }
    let (is_done, text) = run_acpx(programs, &context, &["cancel"]).await;
    assert!(is_done, "{text}");
    let output = prompting.await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("cancelled"), "{text}");
    run_acpx(programs, &context, &["sessions", "close"]).await;
}

/// The rules of the registry for entries: fields, versions, the icon, and a sign-in method without any configuration.
#[tokio::test]
async fn the_entry_of_the_registry_is_accepted() {
    let entry = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/acp-registry/pi");
    let agent = std::fs::read(entry.join("agent.json")).unwrap();
    let agent: Value = serde_json::from_slice(&agent).unwrap();
    let known = [
        "id",
        "name",
        "version",
        "description",
        "license",
        "distribution",
    ];
    for field in known {
        assert!(!agent[field].is_null(), "{field}");
    }
    assert_eq!(agent["id"], json!("pi"), "the name of the directory");
    assert_eq!(agent["version"], json!(env!("CARGO_PKG_VERSION")));
    let package = agent["distribution"]["npx"]["package"].as_str().unwrap();
    let version = package.rsplit_once('@').unwrap().1;
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert_eq!(agent["distribution"]["npx"]["args"], json!(["acp"]));
    let icon = std::fs::read_to_string(entry.join("icon.svg")).unwrap();
    assert!(icon.contains(r#"width="16" height="16""#) && icon.contains("currentColor"));
    assert!(!icon.contains('#'), "colors are those of the client");

    let context = TestContext::new([]).await;
    context.home.write("agent/models.json", "{}");
    let mut client = AcpClient::spawn(&context, &[]);
    let capabilities = json!({
        "terminal": true,
        "fs": {"readTextFile": true, "writeTextFile": true},
        "_meta": {"terminal_output": true, "terminal-auth": true},
    });
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    let initialized = client.call("initialize", params).await.unwrap();
    let methods = initialized["authMethods"].as_array().unwrap();
    let has_type = |method: &Value| ["agent", "terminal"].iter().any(|it| method["type"] == *it);
    assert!(methods.iter().any(has_type), "{methods:?}");
}
