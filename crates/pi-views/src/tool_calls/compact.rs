//! The compact form: one row with status, title, result and time; below it the output that matters.

use std::time::Duration;

use pi_markdown::SyntaxStyles;
use pi_protocol::settings::ToolRows;
use pi_tui::{ColorToken, TruncateOptions, truncate_to_width, visible_width};

use super::call::{CallOutput, CallProgress, CallView};
use super::{Argument, bash, codemode, edit, find, grep, ls, other, output_text, read, write};
use crate::canvas::BlockCanvas;
use crate::text::language::language_of;
use crate::theme::ui_theme::RenderContext;

/// Rows of output below a command, and of a file that is written.
const OUTPUT_ROWS: usize = 3;
/// Rows of output below a failed call.
const FAILED_ROWS: usize = 8;
/// Rows of output of tools without a renderer.
const OTHER_ROWS: usize = 5;
/// Indentation of what is below a row: the status and a space.
const INDENT: usize = 2;
/// Narrower terminals show only the rows.
const MIN_WIDTH: usize = 10;
/// Times of quick calls are noise.
pub(super) const SHORTEST_TIME: Duration = Duration::from_millis(100);
const SHORTEST_RUNNING_TIME: Duration = Duration::from_secs(1);

/// Draws a collapsed call without a panel.
pub fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let rows = canvas.ctx.tool_rows;
    draw_row(call, canvas);
    if canvas.width() < MIN_WIDTH {
        return;
    }
    let mut below = canvas.indented(INDENT);
    draw_below(call, &mut below, rows);
    canvas.append_indented(below, INDENT);
}

fn draw_row(call: &CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let ctx = canvas.ctx;
    let (token, mark) = status(call);
    let mark = ctx.paint(token, mark);
    let width = canvas.width();
    let title = title(call, ctx, width);
    // A command may have several lines.
    let mut lines = title.split('\n');
    let first = lines.next().unwrap_or_default();
    let first = match lines.next() {
        Some(_) => format!("{first} …"),
        None => first.to_owned(),
    };
    let summary = summary(call, ctx);
    let gap = if summary.is_empty() { 0 } else { 2 };
    let room = width.saturating_sub(INDENT + gap + visible_width(&summary));
    // On narrow terminals the title is worth more than the result.
    let (room, summary) = if room < width / 3 {
        (width.saturating_sub(INDENT), String::new())
    } else {
        (room, summary)
    };
    let title = truncate_to_width(&first, room, TruncateOptions { ellipsis: "…" });
    let gap = " ".repeat(if summary.is_empty() { 0 } else { gap });
    let row = format!("{mark} {title}{gap}{summary}");
    canvas.rows([truncate_to_width(&row, width, TruncateOptions { ellipsis: "" }).into_owned()]);
}

/// Returns the mark of a call's state, which needs no color to be understood.
fn status(call: &CallView<'_>) -> (ColorToken, &'static str) {
    match call.progress {
        CallProgress::Waiting => (ColorToken::Muted, "◦"),
        CallProgress::Running(_) => (ColorToken::Accent, "▸"),
        CallProgress::Done(_) if call.failed => (ColorToken::Error, "✗"),
        CallProgress::Done(_) => (ColorToken::Success, "✓"),
    }
}

fn title(call: &CallView<'_>, ctx: &RenderContext, width: usize) -> String {
    match call.name {
        "read" => read::title_line(call, ctx, true),
        "write" => write::title_line(call, ctx),
        "edit" => edit::title_line(call, ctx),
        "bash" => bash::title_line(call, ctx, "$"),
        "powershell" => bash::title_line(call, ctx, "PS>"),
        "grep" => grep::title_line(call, ctx),
        "find" => find::title_line(call, ctx),
        "ls" => ls::title_line(call, ctx),
        "codemode" => super::title(call.name, ctx),
        _ => other::title_line(call, ctx, width.saturating_sub(INDENT)),
    }
}

/// Returns what came of a call, and its time.
fn summary(call: &CallView<'_>, ctx: &RenderContext) -> String {
    let mut parts: Vec<String> = Vec::new();
    let muted = |text: &str| ctx.paint(ColorToken::Muted, text);
    if let Some(output) = call.output {
        match call.name {
            "edit" if !call.failed => {
                let (added, removed) = edit::counts(output);
                let counts = [
                    (added, '+', ColorToken::ToolDiffAdded),
                    (removed, '−', ColorToken::ToolDiffRemoved),
                ];
                let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
                let counts: Vec<String> = counts
                    .map(|(count, sign, token)| ctx.paint(token, &format!("{sign}{count}")))
                    .collect();
                parts.extend((!counts.is_empty()).then(|| counts.join(" ")));
            }
            "bash" | "powershell" if call.failed => {
                parts.extend(
                    bash::failure(&output.text).map(|reason| ctx.paint(ColorToken::Error, &reason)),
                );
            }
            _ if call.failed => {}
            _ => parts.extend(counted(call, output).as_deref().map(muted)),
        }
    } else if call.name == "write" {
        parts.extend(written_lines(call).as_deref().map(muted));
    }
    parts.extend(time(call).as_deref().map(muted));
    parts.join("  ")
}

/// Returns the size of a result, such as `40 lines`.
fn counted(call: &CallView<'_>, output: &CallOutput) -> Option<String> {
    let finished = matches!(call.progress, CallProgress::Done(_));
    match call.name {
        "read" => match output.images.len() {
            0 => Some(plural(
                line_count(read::without_note(&output.text)),
                "line",
                "lines",
            )),
            _ => Some("image".to_owned()),
        },
        "bash" | "powershell" => {
            let lines = line_count(&output.text);
            (lines > OUTPUT_ROWS).then(|| plural(lines, "line", "lines"))
        }
        "write" => written_lines(call),
        "grep" if finished => Some(plural(grep::matches(&output.text), "match", "matches")),
        "find" if finished => Some(plural(find::files(&output.text), "file", "files")),
        "ls" if finished => Some(plural(ls::entries(&output.text), "entry", "entries")),
        "codemode" => {
            let calls = codemode::calls(output).len();
            (calls > 0).then(|| plural(calls, "call", "calls"))
        }
        "edit" | "grep" | "find" | "ls" => None,
        _ => {
            let lines = line_count(&output.text);
            (lines > OTHER_ROWS).then(|| plural(lines, "line", "lines"))
        }
    }
}

fn written_lines(call: &CallView<'_>) -> Option<String> {
    let content = Argument::of(call.arguments, &["content"]).text()?;
    Some(plural(content.lines().count(), "line", "lines"))
}

fn line_count(text: &str) -> usize {
    match text.trim_end() {
        "" => 0,
        text => text.split('\n').count(),
    }
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns how long a call took, or has been running, once that is worth showing.
fn time(call: &CallView<'_>) -> Option<String> {
    match (call.progress, call.now) {
        (CallProgress::Running(since), Some(now)) => {
            let elapsed = now.saturating_duration_since(since);
            (elapsed >= SHORTEST_RUNNING_TIME).then(|| bash::running_time(elapsed))
        }
        (CallProgress::Done(Some(took)), _) => {
            (took >= SHORTEST_TIME).then(|| bash::duration(took))
        }
        _ => None,
    }
}

fn draw_below(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>, rows: ToolRows) {
    let finished = matches!(call.progress, CallProgress::Done(_));
    if finished && call.failed {
        draw_failure(call, canvas);
        return;
    }
    if finished && rows == ToolRows::Line {
        return;
    }
    match call.name {
        "read" | "grep" | "find" | "ls" => {}
        "write" => draw_written(call, canvas),
        "edit" => edit::draw_change(call, canvas),
        "codemode" => codemode::draw_compact(call, canvas),
        "bash" | "powershell" => {
            if let Some(text) = bash::shown_output(call, canvas.ctx) {
                canvas.last_rows(ColorToken::ToolOutput, &text, OUTPUT_ROWS);
            }
        }
        _ => {
            let text = call.output.map(|output| output_text(output, canvas.ctx));
            if let Some(text) = text {
                canvas.first_rows(ColorToken::ToolOutput, text.trim(), OTHER_ROWS);
            }
        }
    }
}

fn draw_failure(call: &CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let Some(output) = call.output else {
        return;
    };
    let text = output_text(output, canvas.ctx);
    match call.name {
        "bash" | "powershell" => {
            let text = bash::shown_output(call, canvas.ctx).unwrap_or(text);
            let text = bash::without_failure(&text);
            let text = text.trim_matches('\n').trim_end();
            canvas.last_rows(ColorToken::ToolOutput, text, FAILED_ROWS);
        }
        _ => {
            for line in text.trim().lines().take(FAILED_ROWS) {
                canvas.text(ColorToken::Error, line);
            }
        }
    }
}

/// Draws the first lines of a file that is written.
fn draw_written(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let Some(content) = Argument::of(call.arguments, &["content"]).text() else {
        return;
    };
    let language = Argument::path(call.arguments)
        .text()
        .map_or("", language_of);
    call.code.grow(content);
    let styles = SyntaxStyles::from_theme(&canvas.ctx.theme);
    let plain = canvas.ctx.style(ColorToken::MdCodeBlock);
    let width = canvas.width();
    let fit =
        |line: &str| truncate_to_width(line, width, TruncateOptions { ellipsis: "…" }).into_owned();
    let lines = call.code.lines(language, &styles, plain, OUTPUT_ROWS);
    let mut rows: Vec<String> = lines.map(|line| fit(&line)).collect();
    while rows.last().is_some_and(|row| visible_width(row) == 0) {
        rows.pop();
    }
    canvas.rows(rows);
}

/// Whether a call is drawn as a row instead of a panel.
pub fn is_row(expanded: bool, rows: ToolRows) -> bool {
    !expanded && rows != ToolRows::Panel
}
