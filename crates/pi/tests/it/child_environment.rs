//! Isolation of processes: commands started by pi receive no stored credentials, and other processes cannot inspect
//! pi.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::harness::{TestContext, bash_reply, text_reply};

#[tokio::test]
async fn commands_inherit_the_environment_but_no_stored_credentials() {
    let print_env = "env > env.txt; tr '\\0' '\\n' < /proc/self/environ >> env.txt; true";
    let context = TestContext::new([bash_reply(print_env), text_reply("done")]).await;
    let stored = json!({
        "anthropic": {"type": "api_key", "key": "stored-anthropic-key"},
        "openai": {"type": "api_key", "key": "!echo printed-openai-key"},
        "groq": {"type": "api_key", "key": "stored-groq-key", "env": {"GROQ_REGION": "stored-variable"}},
        "openai-codex": {"type": "oauth", "access": "stored-access", "refresh": "stored-refresh",
            "expires": 4_102_444_800_000_u64},
    });
    context.home.write("agent/auth.json", stored.to_string());
    let mut command = context.command(&[
        "--model",
        "mock/alpha",
        "--api-key",
        "command-line-key",
        "-p",
        "hello",
    ]);
    let output = command.env("USER_TOKEN", "exported-by-the-shell").output();
    let output = output.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        context.server.requests()[0].header("authorization"),
        Some("Bearer command-line-key")
    );
    let inherited = context.home.read("project/env.txt");
    assert!(
        inherited.contains("USER_TOKEN=exported-by-the-shell"),
        "{inherited}"
    );
    for secret in ["stored-", "printed-", "command-line-key"] {
        assert!(!inherited.contains(secret), "{secret}: {inherited}");
    }
}

/// Whether a running pi is protected from inspection: its files in `/proc` belong to root. Returns `None` if pi cannot
/// be started as another user.
#[cfg(target_os = "linux")]
async fn is_protected(variables: &[(&str, &str)]) -> Option<bool> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    const UNPRIVILEGED_UID: u32 = 65_534;
    let context = TestContext::new([]).await;
    let mut command = context.command(&["--mode", "rpc"]);
    command.env_remove("PI_ALLOW_DEBUGGER");
    command.envs(variables.iter().copied());
    command.stdin(std::process::Stdio::piped());
    let uid = std::fs::metadata("/proc/self").unwrap().uid();
    if uid == 0 {
        // The files of a root process always belong to root, so pi runs as another user.
        let open = std::fs::Permissions::from_mode(0o777);
        for directory in ["", "agent", "project"] {
            std::fs::set_permissions(context.home.path().join(directory), open.clone()).unwrap();
        }
        command.uid(UNPRIVILEGED_UID);
    }
    // The other user may have no access to the build directory.
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let request = b"{\"type\":\"get_state\"}\n";
    stdin.write_all(request).await.unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).await.unwrap();
    assert!(line.contains("get_state"), "{line}");
    let pid = child.id().unwrap();
    let environ = std::fs::metadata(format!("/proc/{pid}/environ")).unwrap();
    Some(environ.uid() == 0)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_blocks_debuggers_and_core_dumps() {
    if let Some(protected) = is_protected(&[]).await {
        assert!(protected);
        let protected = is_protected(&[("PI_ALLOW_DEBUGGER", "1")]).await;
        assert_eq!(protected, Some(false));
    }
}
