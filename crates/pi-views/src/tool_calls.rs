//! Rendering of tool calls, one file per tool, and shared helpers.

mod bash;
mod call;
mod codemode;
mod compact;
mod edit;
mod find;
mod grep;
mod ls;
mod other;
mod read;
mod streaming_code;
mod write;

use pi_protocol::json::JsonObject;
use pi_tui::{ColorToken, Line, Style};
use serde_json::Value;

use crate::canvas::{BlockCanvas, clean_line};
use crate::image_preview;
use crate::text::byte_size::format_size;
use crate::theme::ui_theme::RenderContext;

pub use call::{CallOutput, CallProgress, CallView};
pub use compact::{draw as draw_row, is_row};
pub use edit::EditPreviews;
pub use streaming_code::StreamingCode;

/// Draws a call; uses the lines of an extension where it has drawn them.
pub fn draw_with(
    call: &mut CallView<'_>,
    canvas: &mut BlockCanvas<'_>,
    drawn_call: Option<Vec<Line>>,
    drawn_result: Option<Vec<Line>>,
) {
    match (drawn_call, drawn_result) {
        (None, None) => draw(call, canvas),
        (drawn_call, drawn_result) => {
            match drawn_call {
                Some(lines) => canvas.rows(lines),
                None => other::draw_call(call, canvas),
            }
            match drawn_result {
                Some(lines) => canvas.rows(lines),
                None => draw_listing(call, canvas, other::COLLAPSED_LINES, &[]),
            }
        }
    }
}

fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    match call.name {
        "read" => read::draw(call, canvas),
        "write" => write::draw(call, canvas),
        "edit" => edit::draw(call, canvas),
        "bash" => bash::draw(call, canvas, "$"),
        "powershell" => bash::draw(call, canvas, "PS>"),
        "grep" => grep::draw(call, canvas),
        "find" => find::draw(call, canvas),
        "ls" => ls::draw(call, canvas),
        "codemode" => codemode::draw(call, canvas),
        _ => other::draw(call, canvas),
    }
}

/// Returns whether a tool shows its running time.
pub fn shows_time(name: &str) -> bool {
    matches!(name, "bash" | "powershell" | "codemode")
}

/// A string argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument<'call> {
    /// Missing, or not streamed yet.
    Missing,
    Text(&'call str),
    /// Not a string.
    Invalid,
}

impl<'call> Argument<'call> {
    /// Returns the first of these arguments that is present.
    fn of(arguments: &'call JsonObject, names: &[&str]) -> Self {
        match names.iter().find_map(|name| arguments.get(*name)) {
            None | Some(Value::Null) => Self::Missing,
            Some(Value::String(text)) => Self::Text(text),
            Some(_) => Self::Invalid,
        }
    }

    /// Returns the path argument; some models use another name.
    fn path(arguments: &'call JsonObject) -> Self {
        Self::of(arguments, &["file_path", "path"])
    }

    /// Returns the text, unless empty.
    fn text(self) -> Option<&'call str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Missing | Self::Invalid => None,
        }
    }
}

fn title(name: &str, ctx: &RenderContext) -> String {
    title_style(ctx).apply(&clean_line(name))
}

fn title_style(ctx: &RenderContext) -> Style {
    ctx.style(ColorToken::ToolTitle).bold()
}

/// Returns an argument in one color; `missing` is shown if there is none.
fn painted(
    argument: Argument<'_>,
    token: ColorToken,
    missing: &str,
    ctx: &RenderContext,
) -> String {
    match argument {
        Argument::Invalid => ctx.paint(ColorToken::Error, "[invalid argument]"),
        Argument::Missing | Argument::Text("") => ctx.paint(ColorToken::ToolOutput, missing),
        Argument::Text(text) => ctx.paint(token, &clean_line(text)),
    }
}

/// Returns the path of a call. It is not a link: the model chose it, and a click may run the file.
fn painted_path(argument: Argument<'_>, ctx: &RenderContext) -> String {
    let Some(path) = argument.text() else {
        return painted(argument, ColorToken::Accent, "…", ctx);
    };
    ctx.paint(ColorToken::Accent, &clean_line(&short_path(path, ctx)))
}

/// Returns a path with the home directory as `~`.
fn short_path(path: &str, ctx: &RenderContext) -> String {
    let home = ctx.home.as_ref().and_then(|home| home.to_str());
    let inside = home
        .filter(|home| !home.is_empty())
        .and_then(|home| path.strip_prefix(home))
        .filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    inside.map_or_else(|| path.to_owned(), |rest| format!("~{rest}"))
}

/// Returns a numeric argument as it was written.
fn number(arguments: &JsonObject, name: &str) -> Option<String> {
    let value = arguments.get(name).filter(|value| !value.is_null())?;
    Some(match value {
        Value::String(text) => clean_line(text),
        other => other.to_string(),
    })
}

/// Returns the text of an output, with a line for each image that cannot be drawn.
fn output_text(output: &CallOutput, ctx: &RenderContext) -> String {
    let mut text = output.text.trim_end().to_owned();
    if !image_preview::are_drawn(ctx) {
        for image in &output.images {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&image.description());
        }
    }
    text
}

/// Draws the first lines of a listing, and the limits that were reached.
fn draw_listing(
    call: &CallView<'_>,
    canvas: &mut BlockCanvas<'_>,
    shown: usize,
    limits: &[(&str, &str)],
) {
    let Some(output) = call.output else {
        return;
    };
    let token = if call.failed {
        ColorToken::Error
    } else {
        ColorToken::ToolOutput
    };
    let text = output_text(output, canvas.ctx);
    let text = text.trim();
    if !text.is_empty() {
        canvas.blank();
        canvas.head(token, text, shown);
    }
    let details = output.details.as_ref();
    let detail = |name: &str| details.and_then(|details| details.get(name));
    let mut reasons: Vec<String> = limits
        .iter()
        .filter_map(|(name, what)| match detail(name)? {
            Value::Number(limit) => Some(format!("{limit} {what} limit")),
            Value::Bool(true) => Some((*what).to_owned()),
            _ => None,
        })
        .collect();
    if let Some(truncation) = OutputTruncation::of(output) {
        reasons.push(format!("{} limit", format_size(truncation.max_bytes)));
    }
    if !reasons.is_empty() {
        let note = format!("[Truncated: {}]", reasons.join(", "));
        canvas.text(ColorToken::Warning, &note);
    }
}

/// Truncation details of a result.
#[derive(Debug, PartialEq, Eq)]
struct OutputTruncation {
    by_lines: bool,
    output_lines: u64,
    total_lines: u64,
    max_bytes: u64,
    first_line_too_long: bool,
}

impl OutputTruncation {
    /// Reads the details; `None` if nothing was truncated.
    fn of(output: &CallOutput) -> Option<Self> {
        let details = output.details.as_ref()?.get("truncation")?;
        let flag = |name: &str| {
            details
                .get(name)
                .and_then(Value::as_bool)
                .unwrap_or_default()
        };
        let number = |name: &str| {
            details
                .get(name)
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        flag("truncated").then(|| Self {
            by_lines: details.get("truncatedBy").and_then(Value::as_str) == Some("lines"),
            output_lines: number("outputLines"),
            total_lines: number("totalLines"),
            max_bytes: number("maxBytes"),
            first_line_too_long: flag("firstLineExceedsLimit"),
        })
    }

    fn note(&self) -> String {
        if self.first_line_too_long {
            format!("first line exceeds {}", format_size(self.max_bytes))
        } else if self.by_lines {
            format!(
                "showing {} of {} lines",
                self.output_lines, self.total_lines
            )
        } else {
            format!(
                "showing {} lines ({} limit)",
                self.output_lines,
                format_size(self.max_bytes)
            )
        }
    }
}
