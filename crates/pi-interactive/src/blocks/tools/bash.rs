//! A shell command: the command, the end of what it printed, and how long it took.

use std::time::Duration;

use pi_tui::ColorToken;
use serde_json::Value;

use super::{Argument, Truncation, number, output_text, title_style};
use crate::blocks::page::{Page, clean};
use crate::blocks::tool_call::{Call, Output, Progress};

/// Rows of output in the short form.
const SHOWN: usize = 5;

/// Writes what is known of a call; `prompt` stands before the command.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>, prompt: &str) {
    draw_command(call, page, prompt);
    if let Some(output) = call.output {
        draw_output(call, output, page);
    }
    let time = match (call.progress, call.now) {
        (Progress::Running(since), Some(now)) => {
            let elapsed = now.saturating_duration_since(since);
            Some(format!("Running for {}", duration(elapsed)))
        }
        (Progress::Done(Some(took)), _) => Some(format!("Took {}", duration(took))),
        _ => None,
    };
    if let Some(time) = time {
        page.blank();
        page.text(ColorToken::Muted, &time);
    }
}

fn draw_command(call: &Call<'_>, page: &mut Page<'_>, prompt: &str) {
    let appearance = page.appearance;
    let command = match Argument::of(call.arguments, &["command"]) {
        Argument::Text(command) if !command.is_empty() => clean(command).into_owned(),
        Argument::Text(_) | Argument::Missing => "…".to_owned(),
        Argument::Invalid => "[not a text]".to_owned(),
    };
    let timeout = number(call.arguments, "timeout")
        .map(|seconds| appearance.paint(ColorToken::Muted, &format!(" (at most {seconds}s)")))
        .unwrap_or_default();
    let command = title_style(appearance).apply(&format!("{prompt} {command}"));
    page.styled(&format!("{command}{timeout}"));
}

fn draw_output(call: &Call<'_>, output: &Output, page: &mut Page<'_>) {
    let text = output_text(output, page.appearance);
    let details = output.details.as_ref();
    let full = details
        .and_then(|details| details.get("fullOutputPath"))
        .and_then(Value::as_str);
    let truncation = Truncation::of(output);
    let text = match full.filter(|_| truncation.is_some() && call.progress != Progress::Waiting) {
        Some(full) => without_remark(&text, full),
        None => &text,
    };
    let text = text.trim_matches('\n').trim_end();
    if !text.is_empty() {
        page.blank();
        page.end(ColorToken::ToolOutput, text, SHOWN);
    }
    let mut remarks = Vec::new();
    remarks.extend(truncation.map(|truncation| format!("Kept: {}", truncation.remark())));
    remarks.extend(full.map(|full| format!("All of it: {full}")));
    if !remarks.is_empty() {
        page.blank();
        page.foreign(ColorToken::Warning, &format!("[{}]", remarks.join(". ")));
    }
}

/// Returns an output without the remark for the model on where all of it is.
fn without_remark<'text>(text: &'text str, full: &str) -> &'text str {
    match text.trim_end().rsplit_once("\n\n[") {
        Some((before, remark)) if remark.ends_with(']') && remark.contains(full) => before,
        _ => text,
    }
}

/// Returns a time in few characters, such as `1m 5s`.
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
    fn times_are_short() {
        let text = |millis| duration(Duration::from_millis(millis));
        assert_eq!(text(640), "0.6s");
        assert_eq!(text(59_990), "59.9s");
        assert_eq!(text(65_000), "1m 5s");
        assert_eq!(text(7_384_000), "2h 3m 4s");
    }
}
