//! The tool over processes that are not real; real shells are run by the integration tests.

use bytes::Bytes;
use pretty_assertions::assert_eq;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

/// Writes pieces, a pause before each, and ends.
struct Script(Vec<(u64, &'static [u8])>);

impl ProcessOperations for Script {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        Box::pin(async move {
            for (pause, piece) in &self.0 {
                tokio::time::sleep(Duration::from_millis(*pause)).await;
                output.send(Bytes::from_static(piece)).await.unwrap();
            }
            match command.command.as_str() {
                "fail" => Err(ProcessError::Other("no connection".to_owned())),
                "vanish" => Ok(ExitCode(None)),
                _ => Ok(ExitCode(Some(0))),
            }
        })
    }
}

fn tool(dialect: Dialect, script: Vec<(u64, &'static [u8])>) -> ShellTool {
    let options = ShellToolOptions {
        processes: Arc::new(Script(script)),
        environment: ShellEnvironment::default(),
        ..ShellToolOptions::local("/", LocalShell::default())
    };
    ShellTool::new(dialect, options)
}

async fn run(
    tool: &ShellTool,
    command: &str,
    updates: &UpdateSink,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = json!({"command": command}) else {
        unreachable!()
    };
    let cancel = CancellationToken::new();
    tool.execute("call_1", arguments, updates.clone(), cancel)
        .await
}

#[tokio::test(start_paused = true)]
async fn updates_come_at_most_ten_times_a_second() {
    let pieces = vec![(10, &b"x"[..]); 100];
    let updates = UpdateSink::default();
    let begun = Instant::now();
    let result = run(&tool(BASH, pieces), "go", &updates).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(result, ToolOutput::text("x".repeat(100)));
    let sent: Vec<_> = std::iter::from_fn(|| updates.take()).collect();
    // The empty one, one at the first output, one every 100 ms, and the rest at the end.
    assert_eq!(sent.len(), 12, "{sent:?}");
    assert_eq!(sent.first(), Some(&ToolOutput::default()));
    let last = sent.last().unwrap();
    assert_eq!(last.content, ToolOutput::text("x".repeat(100)).content);
    assert_eq!(last.details, Some(json!({})));
}

#[tokio::test(start_paused = true)]
async fn a_character_in_two_pieces_comes_out_whole() {
    let pieces = vec![(0, &b"a\xe6"[..]), (500, b"\x97"), (500, b"\xa5b\xc3")];
    let updates = UpdateSink::default();
    let result = run(&tool(BASH, pieces), "go", &updates).await.unwrap();
    assert_eq!(result, ToolOutput::text("a日b\u{fffd}"));
    let shown: Vec<_> = std::iter::from_fn(|| updates.take())
        .skip(1)
        .map(|update| update.content)
        .collect();
    let [begun, ended] = ["a", "a日b\u{fffd}"].map(|text| ToolOutput::text(text).content);
    assert_eq!(shown.first(), Some(&begun));
    assert_eq!(shown.last(), Some(&ended));
    let whole = ToolOutput::text("a日b").content;
    assert!(
        shown
            .iter()
            .all(|text| [&begun, &whole, &ended].contains(&text)),
        "{shown:?}"
    );
}

#[tokio::test]
async fn other_ways_to_fail_are_told() {
    let updates = UpdateSink::default();
    let speaking = tool(BASH, vec![(0, b"so far\n")]);
    let error = run(&speaking, "fail", &updates).await.unwrap_err();
    assert_eq!(error.0, "so far\n\n\nbash failed: no connection");
    let silent = tool(BASH, Vec::new());
    let error = run(&silent, "fail", &updates).await.unwrap_err();
    assert_eq!(error.0, "bash failed: no connection");
    let error = run(&silent, "vanish", &updates).await.unwrap_err();
    assert_eq!(
        error.0,
        "(no output)\n\nThe command ended without an exit code."
    );
}

#[tokio::test]
async fn powershell_writes_utf8() {
    let tool = tool(POWERSHELL, Vec::new());
    let arguments = Arguments {
        command: "Get-ChildItem".to_owned(),
        timeout: None,
    };
    let command = tool.command(arguments).await.unwrap().command;
    assert!(
        command.starts_with("try { [Console]::OutputEncoding"),
        "{command}"
    );
    assert!(command.ends_with("\nGet-ChildItem"), "{command}");
    assert_eq!(tool.declaration().name, "powershell");
}
