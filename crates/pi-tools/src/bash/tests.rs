//! The shell tools with scripted processes; the integration tests run real shells.

use bytes::Bytes;
use pi_core::{Environment, ExitCode, NoSession, ProcessError, ProcessOperations, Variables};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::local_environment::local_environment;

/// Writes chunks, each after a pause in milliseconds, and exits.
struct ScriptedProcess(Vec<(u64, &'static [u8])>);

impl ProcessOperations for ScriptedProcess {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        Box::pin(async move {
            for (pause, chunk) in &self.0 {
                tokio::time::sleep(Duration::from_millis(*pause)).await;
                output.send(Bytes::from_static(chunk)).await.unwrap();
            }
            match command.command.as_str() {
                "fail" => Err(ProcessError::Other("no connection".to_owned())),
                "vanish" => Ok(ExitCode(None)),
                _ => Ok(ExitCode(Some(0))),
            }
        })
    }
}

fn context(script: Vec<(u64, &'static [u8])>) -> ToolContext {
    let environment = Environment {
        processes: Arc::new(ScriptedProcess(script)),
        vars: Variables::new(),
        ..local_environment()
    };
    let session = Arc::new(NoSession::at("/"));
    ToolContext::new("call_1", session, Arc::new(environment))
}

async fn run(cx: &ToolContext, command: &str) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = json!({"command": command}) else {
        unreachable!()
    };
    let tool = ShellTool::bash(ShellToolOptions::default());
    tool.call(cx.clone(), arguments).await
}

#[tokio::test(start_paused = true)]
async fn updates_come_at_most_ten_times_a_second() {
    let chunks = vec![(10, &b"x"[..]); 100];
    let cx = context(chunks);
    let started = Instant::now();
    let result = run(&cx, "go").await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    let structured = json!({
        "output": "x".repeat(100), "truncated": false, "exit_code": 0, "wall_time_seconds": 1.0,
    });
    let expected = ToolOutput {
        structured_content: Some(structured),
        ..ToolOutput::text("x".repeat(100))
    };
    assert_eq!(result, expected);
    let sent: Vec<_> = std::iter::from_fn(|| cx.progress.take()).collect();
    // The empty one, one for the first output, one every 100 ms, and the rest at the end.
    assert_eq!(sent.len(), 12, "{sent:?}");
    assert_eq!(sent.first(), Some(&ToolOutput::default()));
    let last = sent.last().unwrap();
    assert_eq!(last.content, ToolOutput::text("x".repeat(100)).content);
    assert_eq!(last.details, Some(json!({})));
}

#[tokio::test(start_paused = true)]
async fn a_character_split_between_chunks_is_complete() {
    let chunks = vec![(0, &b"a\xe6"[..]), (500, b"\x97"), (500, b"\xa5b\xc3")];
    let cx = context(chunks);
    let result = run(&cx, "go").await.unwrap();
    assert_eq!(result.content, ToolOutput::text("a日b\u{fffd}").content);
    let structured = result.structured_content.unwrap();
    assert_eq!(structured["output"], "a日b\u{fffd}");
    let shown: Vec<_> = std::iter::from_fn(|| cx.progress.take())
        .skip(1)
        .map(|update| update.content)
        .collect();
    let [first, last] = ["a", "a日b\u{fffd}"].map(|text| ToolOutput::text(text).content);
    assert_eq!(shown.first(), Some(&first));
    assert_eq!(shown.last(), Some(&last));
    let middle = ToolOutput::text("a日b").content;
    assert!(
        shown
            .iter()
            .all(|text| [&first, &middle, &last].contains(&text)),
        "{shown:?}"
    );
}

#[tokio::test]
async fn other_failures_are_reported() {
    let with_output = context(vec![(0, b"partial\n")]);
    let error = run(&with_output, "fail").await.unwrap_err();
    assert_eq!(error.0, "partial\n\n\nCannot run bash: no connection");
    let without_output = context(Vec::new());
    let error = run(&without_output, "fail").await.unwrap_err();
    assert_eq!(error.0, "Cannot run bash: no connection");
    let error = run(&without_output, "vanish").await.unwrap_err();
    assert_eq!(
        error.0,
        "(no output)\n\nCommand exited without an exit code"
    );
}

#[tokio::test]
async fn powershell_writes_utf8() {
    let tool = ShellTool::new(POWERSHELL, ShellToolOptions::default());
    let arguments = ShellArguments {
        command: "Get-ChildItem".to_owned(),
        timeout: None,
    };
    let cx = context(Vec::new());
    let command = tool.command(&cx, arguments).await.unwrap();
    assert_eq!(command.shell, ShellLanguage::PowerShell);
    let command = command.command;
    assert!(
        command.starts_with("try { [Console]::OutputEncoding"),
        "{command}"
    );
    assert!(command.ends_with("\nGet-ChildItem"), "{command}");
    assert_eq!(tool.declaration().name, "powershell");
}
