//! Shell commands: command, end of the output, duration.

use std::time::Duration;

use pi_tui::ColorToken;
use serde_json::Value;

use super::call::{CallOutput, CallProgress, CallView};
use super::compact::SHORTEST_TIME;
use super::{Argument, OutputTruncation, number, output_text, title_style};
use crate::canvas::{BlockCanvas, clean};
use crate::theme::ui_theme::RenderContext;

/// Rows of output in the collapsed form.
const COLLAPSED_LINES: usize = 5;

/// Draws a call; `prompt` precedes the command.
pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>, prompt: &str) {
    let command = title_line(call, canvas.ctx, prompt);
    canvas.styled(&command);
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
            Some(format!("Running for {}", running_time(elapsed)))
        }
        (CallProgress::Done(Some(took)), _) if took >= SHORTEST_TIME => {
            Some(format!("Took {}", duration(took)))
        }
        _ => None,
    };
    if let Some(time) = time {
        canvas.blank();
        canvas.text(ColorToken::Muted, &time);
    }
}

/// Returns the command after `prompt`, which may have several lines.
pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext, prompt: &str) -> String {
    let command = match Argument::of(call.arguments, &["command"]) {
        Argument::Text(command) if !command.is_empty() => clean(command).into_owned(),
        Argument::Text(_) | Argument::Missing => "…".to_owned(),
        Argument::Invalid => "[invalid argument]".to_owned(),
    };
    let timeout = number(call.arguments, "timeout")
        .map(|seconds| ctx.paint(ColorToken::Muted, &format!(" (timeout {seconds}s)")))
        .unwrap_or_default();
    let command = title_style(ctx).apply(&format!("{prompt} {command}"));
    format!("{command}{timeout}")
}

/// Returns the path of the complete output, if the output was truncated.
fn full_output(output: &CallOutput) -> Option<&str> {
    let details = output.details.as_ref()?;
    details.get("fullOutputPath").and_then(Value::as_str)
}

/// Returns the output without notes to the model.
pub(super) fn shown_output(call: &CallView<'_>, ctx: &RenderContext) -> Option<String> {
    let output = call.output?;
    let text = output_text(output, ctx);
    let is_truncated = OutputTruncation::of(output).is_some();
    let full =
        full_output(output).filter(|_| is_truncated && call.progress != CallProgress::Waiting);
    let text = match full {
        Some(full) => without_note(&text, full),
        None => &text,
    };
    Some(text.trim_matches('\n').trim_end().to_owned())
}

fn draw_output(call: &CallView<'_>, output: &CallOutput, canvas: &mut BlockCanvas<'_>) {
    let text = shown_output(call, canvas.ctx).unwrap_or_default();
    let full = full_output(output);
    let truncation = OutputTruncation::of(output);
    if !text.is_empty() {
        canvas.blank();
        canvas.tail(ColorToken::ToolOutput, &text, COLLAPSED_LINES);
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

/// How a command failed, as its result says it: the start of the line, and its short form.
const FAILURES: [(&str, &str); 3] = [
    ("Command exited with code ", "exit "),
    ("Command timed out after ", "timed out after "),
    ("Command aborted", "interrupted"),
];

/// Returns how a command failed, such as `exit 3`.
pub(super) fn failure(text: &str) -> Option<String> {
    text.rsplit('\n').find_map(|line| {
        FAILURES.iter().find_map(|(start, short)| {
            let rest = line.strip_prefix(start)?;
            Some(format!("{short}{}", rest.replace(" seconds", "s")))
        })
    })
}

/// Returns the output of a failed command without the line that says how it failed.
pub(super) fn without_failure(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let failed = lines
        .iter()
        .rposition(|line| FAILURES.iter().any(|(start, _)| line.starts_with(start)));
    let kept = lines
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != failed);
    let kept: Vec<&str> = kept.map(|(_, line)| *line).collect();
    kept.join("\n")
}

/// Formats the time a call has been running, in whole seconds: it is updated once per second.
pub(super) fn running_time(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        _ => duration(elapsed),
    }
}

/// Formats a duration, such as `1m 5s`.
pub(super) fn duration(duration: Duration) -> String {
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
