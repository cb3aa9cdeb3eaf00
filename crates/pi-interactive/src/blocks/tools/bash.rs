//! Shell commands: command, end of the output, duration.

use std::time::Duration;

use pi_tui::ColorToken;
use serde_json::Value;

use super::{Argument, OutputTruncation, number, output_text, title_style};
use crate::blocks::tool_call::{CallOutput, CallProgress, CallView};
use pi_views::canvas::{BlockCanvas, clean};

/// Rows of output in the collapsed form.
const COLLAPSED_LINES: usize = 5;

/// Draws a call; `prompt` precedes the command.
pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>, prompt: &str) {
    draw_command(call, canvas, prompt);
    if let Some(output) = call.output {
        draw_output(call, output, canvas);
    }
    draw_time(call, canvas);
}

/// Draws how long a call has been running, or took.
pub(super) fn draw_time(call: &CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let time = match (call.progress, call.now) {
        (CallProgress::Running(since), Some(now)) => {
            let elapsed = now.saturating_duration_since(since);
            Some(format!("Running for {}", duration(elapsed)))
        }
        (CallProgress::Done(Some(took)), _) => Some(format!("Took {}", duration(took))),
        _ => None,
    };
    if let Some(time) = time {
        canvas.blank();
        canvas.text(ColorToken::Muted, &time);
    }
}

fn draw_command(call: &CallView<'_>, canvas: &mut BlockCanvas<'_>, prompt: &str) {
    let ctx = canvas.ctx;
    let command = match Argument::of(call.arguments, &["command"]) {
        Argument::Text(command) if !command.is_empty() => clean(command).into_owned(),
        Argument::Text(_) | Argument::Missing => "…".to_owned(),
        Argument::Invalid => "[invalid argument]".to_owned(),
    };
    let timeout = number(call.arguments, "timeout")
        .map(|seconds| ctx.paint(ColorToken::Muted, &format!(" (timeout {seconds}s)")))
        .unwrap_or_default();
    let command = title_style(ctx).apply(&format!("{prompt} {command}"));
    canvas.styled(&format!("{command}{timeout}"));
}

fn draw_output(call: &CallView<'_>, output: &CallOutput, canvas: &mut BlockCanvas<'_>) {
    let text = output_text(output, canvas.ctx);
    let details = output.details.as_ref();
    let full = details
        .and_then(|details| details.get("fullOutputPath"))
        .and_then(Value::as_str);
    let truncation = OutputTruncation::of(output);
    let text = match full.filter(|_| truncation.is_some() && call.progress != CallProgress::Waiting)
    {
        Some(full) => without_note(&text, full),
        None => &text,
    };
    let text = text.trim_matches('\n').trim_end();
    if !text.is_empty() {
        canvas.blank();
        canvas.tail(ColorToken::ToolOutput, text, COLLAPSED_LINES);
    }
    let mut notes = Vec::new();
    notes.extend(truncation.map(|truncation| format!("Truncated: {}", truncation.note())));
    notes.extend(full.map(|full| format!("Full output: {full}")));
    if !notes.is_empty() {
        canvas.blank();
        canvas.untrusted(ColorToken::Warning, &format!("[{}]", notes.join(". ")));
    }
}

/// Removes the note to the model about the full output.
fn without_note<'text>(text: &'text str, full: &str) -> &'text str {
    match text.trim_end().rsplit_once("\n\n[") {
        Some((before, note)) if note.ends_with(']') && note.contains(full) => before,
        _ => text,
    }
}

/// Formats a duration, such as `1m 5s`.
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", duration.as_secs_f64().min(59.9)),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!(
            "{}h {}m {}s",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let text = |millis| duration(Duration::from_millis(millis));
        assert_eq!(text(640), "0.6s");
        assert_eq!(text(59_990), "59.9s");
        assert_eq!(text(65_000), "1m 5s");
        assert_eq!(text(7_384_000), "2h 3m 4s");
    }
}
