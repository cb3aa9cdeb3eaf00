//! Results of the shell tools: text for the model, and data for programs that call the tool.

use std::time::Duration;

use pi_core::{ExitCode, ProcessError, ProcessOperations, ToolError};
use pi_protocol::ToolOutput;
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

use crate::output_spool::{MAX_FILE_BYTES, OutputSnapshot, OutputSpool};
use crate::truncate::{MAX_BYTES, TruncatedBy, format_size};

/// Output that programs receive; more than the model does, because they decide what to pass on.
const STRUCTURED_OUTPUT_BYTES: usize = 1024 * 1024;

const NO_OUTPUT: &str = "(no output)";

/// Returns the result of a command that is still running.
pub(super) fn partial_output(snapshot: OutputSnapshot) -> ToolOutput {
    ToolOutput {
        details: Some(details(&snapshot)),
        ..ToolOutput::text(snapshot.truncation.content)
    }
}

fn details(snapshot: &OutputSnapshot) -> Value {
    let mut details = JsonObject::new();
    if snapshot.truncation.truncated {
        details.insert("truncation".to_owned(), json!(snapshot.truncation));
    }
    if let Some(path) = &snapshot.full_output_path {
        details.insert("fullOutputPath".to_owned(), json!(path.to_string_lossy()));
    }
    Value::Object(details)
}

/// A command that has ended, and its output.
pub(super) struct FinishedCommand<'command> {
    pub(super) spool: &'command OutputSpool,
    pub(super) wall_time: Duration,
    /// Name of the shell in messages.
    pub(super) shell: &'static str,
    pub(super) processes: &'command dyn ProcessOperations,
}

impl FinishedCommand<'_> {
    /// Returns the result of the command. An exit code other than zero is a failure with a result.
    pub(super) async fn result(
        self,
        outcome: Result<ExitCode, ProcessError>,
    ) -> Result<ToolOutput, ToolError> {
        let snapshot = self.spool.snapshot();
        let shown = output_text(self.spool, &snapshot);
        let status = match outcome {
            Ok(ExitCode(Some(code))) => return Ok(self.exited(code, shown, &snapshot).await),
            Ok(ExitCode(None)) => {
                let shown = shown.unwrap_or_else(|| NO_OUTPUT.to_owned());
                let status = "Command exited without an exit code";
                return Err(ToolError::new(format!("{shown}\n\n{status}")));
            }
            Err(ProcessError::Aborted) => "Command aborted".to_owned(),
            Err(ProcessError::TimedOut(limit)) => {
                format!("Command timed out after {} seconds", limit.as_secs_f64())
            }
            Err(ProcessError::MissingDirectory(path)) => format!(
                "Working directory does not exist: {}. Cannot run {} commands; create the directory \
                 or continue in another one.",
                path.display(),
                self.shell
            ),
            Err(error @ (ProcessError::Start(_) | ProcessError::Other(_))) => {
                format!("Cannot run {}: {error}", self.shell)
            }
        };
        Err(ToolError::new(match shown {
            Some(shown) => format!("{shown}\n\n{status}"),
            None => status,
        }))
    }

    async fn exited(
        &self,
        code: i32,
        shown: Option<String>,
        snapshot: &OutputSnapshot,
    ) -> ToolOutput {
        let shown = shown.unwrap_or_else(|| NO_OUTPUT.to_owned());
        let has_failed = code != 0;
        let text = if has_failed {
            let hint = self.processes.failure_hint(&shown);
            let hint = hint.map_or_else(String::new, |hint| format!("\n{hint}"));
            format!("{shown}\n\nCommand exited with code {code}{hint}")
        } else {
            shown
        };
        ToolOutput {
            details: snapshot.truncation.truncated.then(|| details(snapshot)),
            structured_content: Some(self.structured_content(code, snapshot).await),
            is_error: has_failed.then_some(true),
            ..ToolOutput::text(text)
        }
    }

    async fn structured_content(&self, code: i32, snapshot: &OutputSnapshot) -> Value {
        let output = self.spool.full_output(STRUCTURED_OUTPUT_BYTES).await;
        let mut content = JsonObject::new();
        content.insert("output".to_owned(), json!(output.text));
        content.insert("truncated".to_owned(), json!(output.is_cut));
        if output.is_cut
            && let Some(path) = &snapshot.full_output_path
        {
            content.insert("full_output_path".to_owned(), json!(path.to_string_lossy()));
        }
        content.insert("exit_code".to_owned(), json!(code));
        let seconds = (self.wall_time.as_secs_f64() * 10.0).round() / 10.0;
        content.insert("wall_time_seconds".to_owned(), json!(seconds));
        Value::Object(content)
    }
}

/// Returns the output with a truncation notice; `None` if there is no output.
fn output_text(spool: &OutputSpool, snapshot: &OutputSnapshot) -> Option<String> {
    let cut = &snapshot.truncation;
    if !cut.truncated {
        return Some(cut.content.clone()).filter(|text| !text.is_empty());
    }
    let full_output = match (&snapshot.full_output_path, spool.failure()) {
        (Some(path), _) if spool.file_is_truncated() => format!(
            "First {} of the output: {}",
            format_size(MAX_FILE_BYTES),
            path.display()
        ),
        (Some(path), _) => format!("Full output: {}", path.display()),
        (None, Some(error)) => format!("Full output could not be saved: {error}"),
        (None, None) => "Full output was not saved".to_owned(),
    };
    let last = cut.total_lines;
    let first = last + 1 - cut.output_lines.min(last);
    let part = if cut.last_line_partial {
        format!(
            "Showing last {} of line {last} ({})",
            format_size(cut.output_bytes),
            format_size(spool.last_line_bytes())
        )
    } else {
        let limit = match cut.truncated_by {
            Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES)),
            Some(TruncatedBy::Lines) | None => String::new(),
        };
        format!("Showing lines {first}-{last} of {last}{limit}")
    };
    Some(format!("{}\n\n[{part}. {full_output}]", cut.content))
}
