//! Calls tools the way the loop does, and runs tests in a process of their own.

use std::path::Path;
use std::time::Duration;

use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink, validate_arguments};
use pi_ai::InputBlock;
use pi_tools::ToolContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Longer than any call here takes, however busy the machine; what would block forever fails.
const PATIENCE: Duration = Duration::from_secs(50);

/// A context in the given directory.
pub(crate) fn context(directory: &Path) -> ToolContext {
    ToolContext::local(directory)
}

/// Prepares and checks the arguments, then runs the tool.
pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    let cancel = CancellationToken::new();
    call_until(tool, arguments, &UpdateSink::default(), cancel).await
}

/// The same, with a place for updates and a token.
pub(crate) async fn call_until(
    tool: &dyn Tool,
    arguments: Value,
    updates: &UpdateSink,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let arguments = validate_arguments(tool.declaration(), tool.prepare_arguments(arguments))
        .map_err(|error| ToolError::new(error.to_string()))?;
    let run = tool.execute("call_1", arguments, updates.clone(), cancel);
    tokio::time::timeout(PATIENCE, run)
        .await
        .unwrap_or_else(|_| panic!("the tool blocks"))
}

/// The text of a result, its first block.
pub(crate) fn text(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(InputBlock::Text(text)) => &text.text,
        other => panic!("expected a text, found {other:?}"),
    }
}

/// Says that this process runs one test alone.
#[cfg(unix)]
const ALONE: &str = "PI_TEST_ALONE";

/// Runs the named test in a process of its own, as an ordinary user: what root may do to files, and
/// the memory of other tests, would hide what it is about. Returns true in that process.
#[cfg(unix)]
pub(crate) fn is_alone(test: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const NOBODY: u32 = 65_534;
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut program = std::env::current_exe().unwrap_or_else(|error| panic!("no program: {error}"));
    // The build folder may be closed to others, so that user gets a copy it can reach.
    let public = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir_in("/tmp")
        .unwrap_or_else(|error| panic!("no temporary folder: {error}"));
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let copy = public.path().join("test");
        // Not copied by this process: whatever another test starts meanwhile would hold the copy open
        // for a moment, and a program that is written to does not start.
        let copied = std::process::Command::new("cp")
            .args([&program, &copy])
            .status();
        assert!(copied.is_ok_and(|status| status.success()), "no copy");
        program = copy;
    }
    let mut command = std::process::Command::new(program);
    command
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1");
    if is_root {
        command
            .uid(NOBODY)
            .gid(NOBODY)
            .env("TMPDIR", "/tmp")
            .current_dir(public.path());
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("the test does not start: {error}"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
