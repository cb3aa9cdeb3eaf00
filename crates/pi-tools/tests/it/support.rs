//! Calls tools like the agent loop does, and runs tests in separate processes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_core::{Environment, NoSession, Progress, Tool, ToolContext, ToolError, validate_arguments};
use pi_protocol::{InputBlock, ToolOutput};
use pi_tools::{
    EditTool, FindTool, GrepTool, LsTool, MutationQueue, ReadTool, SharedImagePolicy, WriteTool,
    local_environment,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Longer than any call takes on a busy machine, so that a blocked call fails the test.
const TEST_TIMEOUT: Duration = Duration::from_secs(50);

/// A working directory and what tools share in it.
pub(crate) struct TestProject {
    mutations: MutationQueue,
    cx: ToolContext,
}

/// A tool and the context of its calls.
pub(crate) struct BoundTool {
    pub(crate) tool: Box<dyn Tool>,
    cx: ToolContext,
}

impl TestProject {
    pub(crate) fn local(directory: &Path) -> Self {
        Self::new(directory, local_environment())
    }

    pub(crate) fn new(directory: &Path, environment: Environment) -> Self {
        let session = Arc::new(NoSession::at(directory));
        Self {
            mutations: MutationQueue::default(),
            cx: ToolContext::new("call_1", session, Arc::new(environment)),
        }
    }

    pub(crate) fn bind(&self, tool: impl Tool + 'static) -> BoundTool {
        BoundTool {
            tool: Box::new(tool),
            cx: self.cx.clone(),
        }
    }

    pub(crate) fn read(&self) -> BoundTool {
        self.bind(ReadTool::new(SharedImagePolicy::default()))
    }

    pub(crate) fn write(&self) -> BoundTool {
        self.bind(WriteTool::new(self.mutations.clone()))
    }

    pub(crate) fn edit(&self) -> BoundTool {
        self.bind(EditTool::new(self.mutations.clone()))
    }

    pub(crate) fn grep(&self) -> BoundTool {
        self.bind(GrepTool::default())
    }

    pub(crate) fn find(&self) -> BoundTool {
        self.bind(FindTool::default())
    }

    pub(crate) fn ls(&self) -> BoundTool {
        self.bind(LsTool::default())
    }
}

/// Prepares and validates the arguments, then runs the tool.
pub(crate) async fn call(tool: &BoundTool, arguments: Value) -> Result<ToolOutput, ToolError> {
    let cancel = CancellationToken::new();
    call_until(tool, arguments, &Progress::default(), cancel).await
}

/// Like [`call`], with partial results and a token.
pub(crate) async fn call_until(
    tool: &BoundTool,
    arguments: Value,
    progress: &Progress,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments must be an object")
    };
    let BoundTool { tool, cx } = tool;
    let arguments = validate_arguments(tool.declaration(), tool.prepare_arguments(arguments))
        .map_err(|error| ToolError::new(error.to_string()))?;
    let cx = ToolContext {
        progress: progress.clone(),
        cancel,
        ..cx.clone()
    };
    tokio::time::timeout(TEST_TIMEOUT, tool.call(cx, arguments))
        .await
        .unwrap_or_else(|_| panic!("the tool is blocked"))
}

/// Returns the text of a result, which is its first block.
pub(crate) fn text(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(InputBlock::Text(text)) => &text.text,
        other => panic!("expected text, got {other:?}"),
    }
}

/// Set in the process that runs a single test.
#[cfg(unix)]
const ISOLATED: &str = "PI_TEST_ALONE";

/// Runs the named test in a separate process as an unprivileged user, because root permissions and
/// the memory of other tests would invalidate it. Returns `true` in that process.
#[cfg(unix)]
pub(crate) fn run_isolated(test: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const UNPRIVILEGED_UID: u32 = 65_534;
    if std::env::var_os(ISOLATED).is_some() {
        return true;
    }
    let mut program = std::env::current_exe()
        .unwrap_or_else(|error| panic!("cannot find the test binary: {error}"));
    // The build directory may not be accessible to other users, so the binary is copied.
    let public = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir_in("/tmp")
        .unwrap_or_else(|error| panic!("cannot create a temporary directory: {error}"));
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let copy = public.path().join("test");
        pi_test_support::copy_program(&program, &copy);
        program = copy;
    }
    let mut command = std::process::Command::new(program);
    command
        .args(["--exact", test, "--nocapture"])
        .env(ISOLATED, "1");
    if is_root {
        command
            .uid(UNPRIVILEGED_UID)
            .gid(UNPRIVILEGED_UID)
            .env("TMPDIR", "/tmp")
            .current_dir(public.path());
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start the test: {error}"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
