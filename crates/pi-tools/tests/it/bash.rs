//! The bash tool with a real shell; expected results match the reference.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use pi_core::{Environment, Progress, ShellCommand, ToolError, Variables};
use pi_protocol::ToolOutput;
use pi_tools::{
    LocalShell, SessionVariables, SharedSessionVariables, ShellTool, ShellToolOptions, SpawnHook,
    local_environment, put_on_path,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::{BoundTool, TestProject, call, call_until, text};

struct TestShell {
    project: TempDir,
    spill: TempDir,
}

impl TestShell {
    fn new() -> Self {
        Self {
            project: TempDir::new().unwrap(),
            spill: TempDir::new().unwrap(),
        }
    }

    fn options(&self) -> ShellToolOptions {
        ShellToolOptions {
            spill_directory: self.spill.path().to_owned(),
            ..ShellToolOptions::default()
        }
    }

    fn tool(&self) -> BoundTool {
        self.tool_in(local_environment(), self.options())
    }

    fn tool_in(&self, environment: Environment, options: ShellToolOptions) -> BoundTool {
        TestProject::new(self.project.path(), environment).bind(ShellTool::bash(options))
    }
}

/// Returns the output and the status of a failed command, which is its last paragraph.
fn split_status(text: &str) -> (&str, &str) {
    text.rsplit_once("\n\n").unwrap_or(("", text))
}

#[tokio::test]
async fn successful_commands_return_their_output() {
    let shell = TestShell::new();
    std::fs::File::create(shell.project.path().join("f.txt")).unwrap();
    let project = shell.project.path().canonicalize().unwrap();
    let project = project.display();
    for (command, output) in [
        ("echo out", "out\n".to_owned()),
        ("true", "(no output)".to_owned()),
        ("echo o; echo e >&2; echo o2", "o\ne\no2\n".to_owned()),
        ("cat; echo eof", "eof\n".to_owned()),
        ("pwd; ls", format!("{project}\nf.txt\n")),
        ("printf 'no newline'", "no newline".to_owned()),
        (
            r"printf '\033[31mred\033[0m\r\nnext\000nul\n'",
            "\u{1b}[31mred\u{1b}[0m\r\nnext\0nul\n".to_owned(),
        ),
        (
            r"printf '\xff\xfe bytes\n'",
            "\u{fffd}\u{fffd} bytes\n".to_owned(),
        ),
        ("cd / && pwd", "/\n".to_owned()),
        ("pwd", format!("{project}\n")),
        ("tty || true", "not a tty\n".to_owned()),
        (
            "(: < /dev/tty) 2>/dev/null || echo no terminal",
            "no terminal\n".to_owned(),
        ),
    ] {
        let result = call(&shell.tool(), json!({"command": command}))
            .await
            .unwrap();
        assert_eq!(
            (text(&result), &result.details),
            (output.as_str(), &None),
            "{command}"
        );
    }
}

#[tokio::test]
async fn failed_commands_end_with_their_exit_status() {
    let shell = TestShell::new();
    for (command, output, code) in [
        ("echo out; exit 3", "out\n", " 3"),
        ("exit 1", "(no output)", " 1"),
        (
            "no_such_command_here",
            "/bin/bash: line 1: no_such_command_here: command not found\n",
            " 127",
        ),
        ("kill -9 $$", "(no output)", " 137"),
    ] {
        let result = call(&shell.tool(), json!({"command": command}))
            .await
            .unwrap();
        let (shown, status) = split_status(text(&result));
        assert_eq!(shown, output, "{command}");
        assert!(status.ends_with(code), "{command}: {status}");
        assert_eq!(result.is_error, Some(true), "{command}");
        assert_eq!(result.details, None, "{command}");
        let structured = result.structured_content.unwrap();
        assert_eq!(structured["exit_code"].to_string(), code.trim());
        assert_eq!(structured["truncated"], false);
        let raw = structured["output"].as_str().unwrap();
        assert_eq!(raw, output.trim_start_matches("(no output)"), "{command}");
    }
}

#[tokio::test]
async fn output_streams_keep_their_order() {
    let command = "for i in $(seq 1 500); do echo $i; echo $((i + 1000)) >&2; done";
    let result = call(&TestShell::new().tool(), json!({"command": command}))
        .await
        .unwrap();
    let lines: Vec<_> = (1..=500).flat_map(|i| [i, i + 1000]).collect();
    let shown: Result<Vec<i32>, _> = text(&result).lines().map(str::parse).collect();
    assert_eq!(shown.unwrap(), lines);
}

#[tokio::test]
async fn updates_start_empty_and_end_with_all_output() {
    let updates = Progress::default();
    let arguments = json!({"command": "echo out"});
    let result = call_until(
        &TestShell::new().tool(),
        arguments,
        &updates,
        CancellationToken::new(),
    )
    .await;
    assert_eq!(text(&result.unwrap()), "out\n");
    let sent: Vec<_> = std::iter::from_fn(|| updates.take()).collect();
    let last = ToolOutput {
        details: Some(json!({})),
        ..ToolOutput::text("out\n")
    };
    assert_eq!(sent, [ToolOutput::default(), last]);
}

#[tokio::test]
async fn a_timeout_stops_the_command() {
    let shell = TestShell::new();
    for (command, limit, output, status) in [
        ("echo before; sleep 300", json!(1), "before\n", " 1 seconds"),
        ("sleep 300", json!(0.5), "", " 0.5 seconds"),
    ] {
        let arguments = json!({"command": command, "timeout": limit});
        let error = call(&shell.tool(), arguments).await.unwrap_err();
        assert_eq!(split_status(&error.0).0, output);
        assert!(error.0.ends_with(status), "{error}");
    }
    let in_time = call(&shell.tool(), json!({"command": "echo x", "timeout": 60})).await;
    assert_eq!(text(&in_time.unwrap()), "x\n");
}

#[tokio::test]
async fn invalid_timeouts_are_rejected() {
    let shell = TestShell::new();
    let marker = shell.project.path().join("ran");
    for limit in [
        json!(0),
        json!(-1),
        json!(99_999_999),
        json!(1e300),
        json!(1e-12),
    ] {
        let arguments = json!({"command": "touch ran", "timeout": limit});
        let error = call(&shell.tool(), arguments).await.unwrap_err();
        assert!(error.0.starts_with("Invalid timeout"), "{error}");
    }
    assert!(!marker.exists());
}

#[tokio::test]
async fn aborting_keeps_the_output() {
    let shell = TestShell::new();
    let tool = shell.tool();
    let updates = Progress::default();
    let cancel = CancellationToken::new();
    let arguments = json!({"command": "echo begin; exec sleep 300"});
    let running = call_until(&tool, arguments, &updates, cancel.clone());
    let watching = async {
        let started = ToolOutput::text("begin\n").content;
        while updates
            .take()
            .is_none_or(|update| update.content != started)
        {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(running, watching);
    let error = result.unwrap_err();
    assert_eq!(split_status(&error.0), ("begin\n", "Command aborted"));
}

#[tokio::test]
async fn long_output_is_truncated_and_saved() {
    let shell = TestShell::new();
    let rows = r#"for i in $(seq 1 1500); do echo "row $i ................................................"; done"#;
    let record = |cut: [usize; 4], by: &str, partial: bool| {
        let [total_lines, total_bytes, lines, bytes] = cut;
        json!({
            "truncated": true, "truncatedBy": by, "totalLines": total_lines,
            "totalBytes": total_bytes, "outputLines": lines, "outputBytes": bytes,
            "lastLinePartial": partial, "firstLineExceedsLimit": false,
            "maxLines": 2000, "maxBytes": 51200,
        })
    };
    for (command, first, last, cut, notice) in [
        (
            "seq 1 3000",
            "1001",
            "3000",
            record([3000, 13893, 2000, 9999], "lines", false),
            "[Showing lines 1001-3000 of 3000. Full output: ",
        ),
        (
            rows,
            "row 612 ................................................",
            "row 1500 ................................................",
            record([1500, 85893, 889, 51173], "bytes", false),
            "[Showing lines 612-1500 of 1500 (50.0KB limit). Full output: ",
        ),
        (
            r"head -c 70000 /dev/zero | tr '\0' x",
            &"x".repeat(51200),
            &"x".repeat(51200),
            record([1, 70000, 1, 51200], "bytes", true),
            "[Showing last 50.0KB of line 1 (68.4KB). Full output: ",
        ),
    ] {
        let result = call(&shell.tool(), json!({"command": command}))
            .await
            .unwrap();
        let (shown, notice_text) = text(&result).rsplit_once("\n\n").unwrap();
        assert_eq!(shown.lines().next(), Some(first));
        assert_eq!(shown.lines().last(), Some(last));
        assert!(notice_text.starts_with(notice), "{notice_text}");
        let mut details = result.details.clone().unwrap();
        let path = details["fullOutputPath"].as_str().unwrap().to_owned();
        assert!(notice_text.ends_with(&format!("{path}]")), "{notice_text}");
        assert_eq!(
            std::fs::metadata(path).unwrap().len(),
            cut["totalBytes"].as_u64().unwrap()
        );
        let truncation = details["truncation"].as_object_mut().unwrap();
        assert_eq!(truncation.shift_remove("content"), Some(json!(shown)));
        assert_eq!(json!(truncation), cut);
    }
}

#[tokio::test]
async fn output_at_the_limits_is_not_truncated() {
    let shell = TestShell::new();
    let result = call(&shell.tool(), json!({"command": "seq 1 2000"}))
        .await
        .unwrap();
    assert_eq!(
        (text(&result).lines().count(), result.details),
        (2000, None)
    );
    let failed = call(&shell.tool(), json!({"command": "seq 1 3000; exit 2"}))
        .await
        .unwrap();
    let (shown, status) = split_status(text(&failed));
    assert!(status.ends_with(" 2"), "{status}");
    assert!(
        shown.contains("3000\n\n[Showing lines 1001-3000 of 3000. "),
        "{shown}"
    );
    let details = failed.details.unwrap();
    assert_eq!(details["truncation"]["totalLines"], 3000);
}

#[tokio::test]
async fn programs_receive_the_beginning_and_the_end_of_long_output() {
    let shell = TestShell::new();
    let run = async |command: &str| {
        let result = call(&shell.tool(), json!({"command": command})).await;
        result.unwrap().structured_content.unwrap()
    };
    let complete = run("seq 1 4000").await;
    assert_eq!(complete["truncated"], false);
    assert_eq!(complete["output"].as_str().unwrap().lines().count(), 4000);
    assert_eq!(complete.get("full_output_path"), None);

    let cut = run("echo first; head -c 1500000 /dev/zero | tr '\\0' x; echo; echo last").await;
    let output = cut["output"].as_str().unwrap();
    assert!(output.starts_with("first\nx"), "{:?}", output.get(..20));
    assert!(output.ends_with("x\nlast\n"));
    let (head, rest) = output.split_once("\n\n[... ").unwrap();
    let (omitted, tail) = rest.split_once(" bytes omitted ...]\n\n").unwrap();
    assert_eq!((head.len(), tail.len()), (512 * 1024, 512 * 1024));
    let size = std::fs::metadata(cut["full_output_path"].as_str().unwrap());
    let omitted: u64 = omitted.parse().unwrap();
    assert_eq!(size.unwrap().len(), 1024 * 1024 + omitted);
}

#[tokio::test]
async fn shell_and_prefix_are_configurable() {
    let shell = TestShell::new();
    let with_shell = |path: &str| Environment {
        processes: Arc::new(LocalShell::at(path)),
        ..local_environment()
    };
    let options = ShellToolOptions {
        command_prefix: Some("PREFIXED=yes".to_owned()),
        ..shell.options()
    };
    let tool = shell.tool_in(with_shell("/bin/sh"), options);
    let result = call(&tool, json!({"command": "echo $PREFIXED $0"})).await;
    assert_eq!(text(&result.unwrap()), "yes /bin/sh\n");

    let tool = shell.tool_in(with_shell("/no/such/shell"), shell.options());
    let error = call(&tool, json!({"command": "true"})).await.unwrap_err();
    assert!(error.0.contains("not found: /no/such/shell"), "{error}");
}

#[tokio::test]
async fn commands_receive_session_variables() {
    let shell = TestShell::new();
    let mut vars: Variables = [
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("PI_MODEL".into(), "outer".into()),
        ("PI_PROVIDER".into(), "outer".into()),
    ]
    .into();
    put_on_path(&mut vars, Path::new("/agent/bin"));
    let environment = Environment {
        vars,
        ..local_environment()
    };
    let session = SharedSessionVariables::default();
    session.set(Some(SessionVariables {
        session_id: "s1".to_owned(),
        session_file: Some("/sessions/s1.jsonl".into()),
        model: Some("m".to_owned()),
        ..SessionVariables::default()
    }));
    let options = ShellToolOptions {
        session: Some(session),
        ..shell.options()
    };
    let prompt = ShellTool::bash(options.clone()).prompt();
    assert_eq!(prompt.guidelines.len(), 1);
    let tool = shell.tool_in(environment.clone(), options);
    let command = "env | grep ^PI_ | sort; echo $PATH";
    let result = call(&tool, json!({"command": command})).await.unwrap();
    let expected = "PI_MODEL=m\nPI_SESSION_FILE=/sessions/s1.jsonl\nPI_SESSION_ID=s1\n\
                    /agent/bin:/usr/bin:/bin\n";
    assert_eq!(text(&result), expected);

    let hidden = shell.tool_in(environment, shell.options());
    let result = call(&hidden, json!({"command": "env | grep -c ^PI_"}))
        .await
        .unwrap();
    assert_eq!(split_status(text(&result)).0, "0\n");
    let prompt = ShellTool::bash(shell.options()).prompt();
    assert_eq!(prompt.guidelines.len(), 0);
}

struct WrappingHook;

impl SpawnHook for WrappingHook {
    fn adjust(&self, command: ShellCommand) -> BoxFuture<'_, Result<ShellCommand, ToolError>> {
        let adjusted = match command.command.as_str() {
            "forbidden" => Err(ToolError::new("not this one")),
            _ => Ok(ShellCommand {
                command: format!("echo wrapped; {}", command.command),
                cwd: "/".into(),
                ..command
            }),
        };
        ready(adjusted).boxed()
    }
}

#[tokio::test]
async fn a_hook_can_change_the_command() {
    let shell = TestShell::new();
    let options = ShellToolOptions {
        spawn_hook: Some(Arc::new(WrappingHook)),
        ..shell.options()
    };
    let tool = shell.tool_in(local_environment(), options);
    let result = call(&tool, json!({"command": "pwd"})).await.unwrap();
    assert_eq!(text(&result), "wrapped\n/\n");
    let error = call(&tool, json!({"command": "forbidden"}))
        .await
        .unwrap_err();
    assert_eq!(error, ToolError::new("not this one"));
}

#[tokio::test]
async fn a_deleted_working_directory_is_reported() {
    let shell = TestShell::new();
    let tool = shell.tool();
    let path = shell.project.path().to_owned();
    shell.project.close().unwrap();
    let error = call(&tool, json!({"command": "true"})).await.unwrap_err();
    assert!(
        error
            .0
            .contains(&format!("does not exist: {}", path.display())),
        "{error}"
    );
}

#[tokio::test]
async fn start_errors_are_reported() {
    let shell = TestShell::new();
    let error = call(&shell.tool(), json!({"command": "echo \u{0}"}))
        .await
        .unwrap_err();
    assert!(error.0.contains("cannot start the command"), "{error}");
    let long = "x".repeat(4 << 20);
    let error = call(&shell.tool(), json!({"command": long}))
        .await
        .unwrap_err();
    assert!(error.0.contains("cannot start the command"), "{error}");
}

#[tokio::test]
async fn a_background_process_does_not_block_the_tool() {
    let command = "(exec sleep 300) & echo $!";
    let shell = TestShell::new();
    let tool = shell.tool();
    let running = call(&tool, json!({"command": command}));
    let result = tokio::time::timeout(Duration::from_mins(1), running)
        .await
        .unwrap();
    let result = result.unwrap();
    let process = text(&result).trim();
    let kill = format!("kill {process}");
    call(&TestShell::new().tool(), json!({"command": kill}))
        .await
        .expect("the background process is still running");
}
