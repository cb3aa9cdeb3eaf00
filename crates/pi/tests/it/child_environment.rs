//! What the commands that pi starts get to know, and what others get to know of pi.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::process::{World, answer, shell_call};

#[tokio::test]
async fn commands_inherit_the_shell_and_nothing_that_is_stored() {
    let tell = "env > env.txt; tr '\\0' '\\n' < /proc/self/environ >> env.txt; true";
    let world = World::new([shell_call(tell), answer("done")]).await;
    let stored = json!({
        "anthropic": {"type": "api_key", "key": "stored-key-of-anthropic"},
        "openai": {"type": "api_key", "key": "!echo printed-key-of-openai"},
        "groq": {"type": "api_key", "key": "stored-key-of-groq", "env": {"GROQ_REGION": "stored-variable"}},
        "openai-codex": {"type": "oauth", "access": "stored-access", "refresh": "stored-refresh",
            "expires": 4_102_444_800_000_u64},
    });
    world.home.write("agent/auth.json", stored.to_string());
    let mut command = world.command(&[
        "--model",
        "mock/alpha",
        "--api-key",
        "key-of-this-run",
        "-p",
        "hello",
    ]);
    let ran = command.env("OWN_TOKEN", "exported-by-the-shell").output();
    let ran = ran.await.unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(
        world.server.requests()[0].header("authorization"),
        Some("Bearer key-of-this-run")
    );
    let seen = world.home.read("project/env.txt");
    assert!(seen.contains("OWN_TOKEN=exported-by-the-shell"), "{seen}");
    for secret in ["stored-", "printed-", "key-of-this-run"] {
        assert!(!seen.contains(secret), "{secret}: {seen}");
    }
}

/// Asks a running pi who may look into it: its files in `/proc` belong to root then.
#[cfg(target_os = "linux")]
async fn is_closed(variables: &[(&str, &str)]) -> Option<bool> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    const SOMEBODY: u32 = 65_534;
    let world = World::new([]).await;
    let mut command = world.command(&["--mode", "rpc"]);
    command.env_remove("PI_ALLOW_DEBUGGER");
    command.envs(variables.iter().copied());
    command.stdin(std::process::Stdio::piped());
    let own = std::fs::metadata("/proc/self").unwrap().uid();
    if own == 0 {
        // For root, everything in `/proc` is root's: somebody else must be asked.
        let open = std::fs::Permissions::from_mode(0o777);
        for folder in ["", "agent", "project"] {
            std::fs::set_permissions(world.home.path().join(folder), open.clone()).unwrap();
        }
        command.uid(SOMEBODY);
    }
    // The folder the tests are built in may be closed to somebody else.
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let request = b"{\"type\":\"get_state\"}\n";
    stdin.write_all(request).await.unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).await.unwrap();
    assert!(line.contains("get_state"), "{line}");
    let process = child.id().unwrap();
    let owner = std::fs::metadata(format!("/proc/{process}/environ")).unwrap();
    Some(owner.uid() == 0)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_is_closed_to_debuggers_and_core_files() {
    if let Some(closed) = is_closed(&[]).await {
        assert!(closed);
        let allowed = is_closed(&[("PI_ALLOW_DEBUGGER", "1")]).await;
        assert_eq!(allowed, Some(false));
    }
}
