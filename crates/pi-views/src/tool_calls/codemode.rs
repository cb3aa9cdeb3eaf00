//! Scripts: the source, the calls it makes, the output.

use pi_tui::{ColorToken, TruncateOptions, truncate_to_width};
use serde_json::Value;

use super::call::{CallOutput, CallProgress, CallView};
use super::{Argument, bash, output_text, title, write};
use crate::canvas::{BlockCanvas, clean_line};

/// Calls in the collapsed form.
const COLLAPSED_CALLS: usize = 8;
/// Columns of the arguments of a call in the collapsed form.
const SHORT_ARGUMENTS: usize = 80;
/// Lines of output in the collapsed form.
const COLLAPSED_LINES: usize = 5;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let ctx = canvas.ctx;
    canvas.styled(&title(call.name, ctx));
    match Argument::of(call.arguments, &["code"]) {
        Argument::Missing => {}
        Argument::Invalid => canvas.text(ColorToken::Error, "[invalid argument]"),
        Argument::Text(code) => write::draw_code(call, canvas, code.trim_end(), "javascript"),
    }
    if let Some(output) = call.output {
        draw_calls(output, canvas);
        // While the script runs there is no output yet, only calls.
        if matches!(call.progress, CallProgress::Done(_)) {
            draw_output(call, output, canvas);
        }
    }
    bash::draw_time(call, canvas);
}

fn detail<'output>(output: &'output CallOutput, name: &str) -> Option<&'output Value> {
    output.details.as_ref()?.get(name)
}

/// Returns the calls that a script made.
pub(super) fn calls(output: &CallOutput) -> &[Value] {
    let calls = detail(output, "calls").and_then(Value::as_array);
    calls.map(Vec::as_slice).unwrap_or_default()
}

/// Draws the calls and the first lines of output below a row.
pub(super) fn draw_compact(call: &CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let Some(output) = call.output else {
        return;
    };
    let calls = calls(output);
    let hidden = calls.len().saturating_sub(COLLAPSED_LINES);
    for call in calls.iter().skip(hidden) {
        draw_call(call, canvas);
    }
    if matches!(call.progress, CallProgress::Done(_)) {
        let text = output_text(output, canvas.ctx);
        canvas.first_rows(
            ColorToken::ToolOutput,
            without_header(&text).trim(),
            COLLAPSED_LINES,
        );
    }
}

fn draw_calls(output: &CallOutput, canvas: &mut BlockCanvas<'_>) {
    let calls = calls(output);
    if calls.is_empty() {
        return;
    }
    canvas.blank();
    let hidden = if canvas.expanded {
        0
    } else {
        calls.len().saturating_sub(COLLAPSED_CALLS)
    };
    if hidden > 0 {
        canvas.more(&format!("{hidden} earlier calls"));
    }
    for call in calls.iter().skip(hidden) {
        draw_call(call, canvas);
    }
}

fn draw_call(call: &Value, canvas: &mut BlockCanvas<'_>) {
    let ctx = canvas.ctx;
    let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
    let (token, mark) = match text("status") {
        "ok" => (ColorToken::Success, "✓"),
        "error" => (ColorToken::Error, "✗"),
        "cancelled" => (ColorToken::Muted, "⊘"),
        _ => (ColorToken::Warning, "…"),
    };
    let name = ctx.paint(ColorToken::ToolTitle, &clean_line(text("name")));
    let mut line = format!("{} {name}", ctx.paint(token, mark));
    let arguments = clean_line(text("args"));
    if !arguments.is_empty() {
        let room = if canvas.expanded {
            arguments.len()
        } else {
            SHORT_ARGUMENTS
        };
        let shown = truncate_to_width(&arguments, room, TruncateOptions { ellipsis: "…" });
        line.push(' ');
        line.push_str(&ctx.paint(ColorToken::Muted, &shown));
    }
    if let Some(ms) = call.get("durationMs").and_then(Value::as_f64) {
        line.push(' ');
        line.push_str(&ctx.paint(ColorToken::Dim, &short_time(ms)));
    }
    canvas.styled(&line);
    let error = text("error");
    if canvas.expanded && !error.is_empty() {
        canvas.untrusted(ColorToken::Error, error);
    }
}

fn draw_output(call: &CallView<'_>, output: &CallOutput, canvas: &mut BlockCanvas<'_>) {
    let text = output_text(output, canvas.ctx);
    let text = without_header(&text).trim();
    if text.is_empty() {
        return;
    }
    let token = if call.failed {
        ColorToken::Error
    } else {
        ColorToken::ToolOutput
    };
    canvas.blank();
    canvas.head(token, text, COLLAPSED_LINES);
    let path = detail(output, "fullOutputPath").and_then(Value::as_str);
    if let Some(path) = path.filter(|_| !canvas.expanded) {
        canvas.untrusted(ColorToken::Muted, &format!("Full output: {path}"));
    }
}

/// Returns an output without outcome and wall time. Input that was rejected has no header.
fn without_header(text: &str) -> &str {
    let mut parts = text.splitn(4, '\n');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(outcome), Some(time), Some("Output:"))
            if outcome.starts_with("Script ") && time.starts_with("Wall time ") =>
        {
            parts.next().unwrap_or_default()
        }
        _ => text,
    }
}

/// Formats milliseconds, such as `85ms` or `1.5s`.
fn short_time(ms: f64) -> String {
    if ms < 1000.0 {
        format!("{ms:.0}ms")
    } else {
        format!("{:.1}s", ms / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_header_is_not_shown() {
        let header = "Script completed\nWall time 0.1 seconds\nOutput:\n";
        assert_eq!(without_header(&format!("{header}\none\ntwo")), "\none\ntwo");
        assert_eq!(without_header(header), "");
        assert_eq!(without_header("The input is empty."), "The input is empty.");
        assert_eq!(
            without_header("Script a\nb\nOutput:\nc"),
            "Script a\nb\nOutput:\nc"
        );
    }

    #[test]
    fn times_are_short() {
        assert_eq!(short_time(85.4), "85ms");
        assert_eq!(short_time(1_540.0), "1.5s");
    }
}
