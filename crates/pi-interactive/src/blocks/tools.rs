//! What each tool shows of a call, and the parts they have in common.

mod bash;
mod edit;
mod find;
mod grep;
mod ls;
mod other;
mod read;
mod write;

use pi_ai::json::JsonObject;
use pi_tui::{ColorToken, Line, Style};
use serde_json::Value;

use super::page::{Page, clean_line};
use super::tool_call::{Call, Output};
use crate::look::Appearance;
use crate::size_text::size_text;

pub(super) use edit::EditPreviews;

/// Writes what is known of a call, with the parts in their place that an extension has drawn.
pub(super) fn draw_with(
    call: &mut Call<'_>,
    page: &mut Page<'_>,
    drawn_call: Option<Vec<Line>>,
    drawn_result: Option<Vec<Line>>,
) {
    match (drawn_call, drawn_result) {
        (None, None) => draw(call, page),
        (drawn_call, drawn_result) => {
            match drawn_call {
                Some(lines) => page.rows(lines),
                None => page.styled(&title(call.name, page.appearance)),
            }
            match drawn_result {
                Some(lines) => page.rows(lines),
                None => draw_listing(call, page, other::SHOWN, &[]),
            }
        }
    }
}

/// Writes what is known of a call.
fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    match call.name {
        "read" => read::draw(call, page),
        "write" => write::draw(call, page),
        "edit" => edit::draw(call, page),
        "bash" => bash::draw(call, page, "$"),
        "powershell" => bash::draw(call, page, "PS>"),
        "grep" => grep::draw(call, page),
        "find" => find::draw(call, page),
        "ls" => ls::draw(call, page),
        _ => other::draw(call, page),
    }
}

/// Returns whether a tool shows how long it has been running.
pub(super) fn shows_time(name: &str) -> bool {
    matches!(name, "bash" | "powershell")
}

/// A text among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument<'call> {
    /// It has not arrived, or was left out.
    Missing,
    Text(&'call str),
    /// It is no text.
    Invalid,
}

impl<'call> Argument<'call> {
    /// Returns the first of these arguments that is there.
    fn of(arguments: &'call JsonObject, names: &[&str]) -> Self {
        match names.iter().find_map(|name| arguments.get(*name)) {
            None | Some(Value::Null) => Self::Missing,
            Some(Value::String(text)) => Self::Text(text),
            Some(_) => Self::Invalid,
        }
    }

    /// Returns the path of a call; some models name it otherwise.
    fn path(arguments: &'call JsonObject) -> Self {
        Self::of(arguments, &["file_path", "path"])
    }

    /// Returns the text, if it is one and not empty.
    fn text(self) -> Option<&'call str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Missing | Self::Invalid => None,
        }
    }
}

/// Returns the name of a tool as a title.
fn title(name: &str, appearance: &Appearance) -> String {
    title_style(appearance).apply(&clean_line(name))
}

fn title_style(appearance: &Appearance) -> Style {
    appearance.style(ColorToken::ToolTitle).bold()
}

/// Returns an argument in one color; `missing` stands for one that is not there.
fn painted(
    argument: Argument<'_>,
    token: ColorToken,
    missing: &str,
    appearance: &Appearance,
) -> String {
    match argument {
        Argument::Invalid => appearance.paint(ColorToken::Error, "[not a text]"),
        Argument::Missing | Argument::Text("") => appearance.paint(ColorToken::ToolOutput, missing),
        Argument::Text(text) => appearance.paint(token, &clean_line(text)),
    }
}

/// Returns the path of a call, as a link where the terminal knows them.
fn painted_path(argument: Argument<'_>, appearance: &Appearance) -> String {
    let Some(path) = argument.text() else {
        return painted(argument, ColorToken::Accent, "…", appearance);
    };
    let shown = appearance.paint(
        ColorToken::Accent,
        &clean_line(&short_path(path, appearance)),
    );
    if !appearance.capabilities.hyperlinks {
        return shown;
    }
    let address = file_address(&appearance.cwd.join(path).to_string_lossy());
    format!("\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\")
}

/// Returns a path with the home as `~`.
fn short_path(path: &str, appearance: &Appearance) -> String {
    let home = appearance.home.as_ref().and_then(|home| home.to_str());
    let inside = home
        .filter(|home| !home.is_empty())
        .and_then(|home| path.strip_prefix(home))
        .filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    inside.map_or_else(|| path.to_owned(), |rest| format!("~{rest}"))
}

/// Returns the address of a file, everything unusual escaped.
fn file_address(path: &str) -> String {
    let mut address = String::from("file://");
    if !path.starts_with('/') {
        address.push('/');
    }
    let escaped = path.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' | b':' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    address.extend(escaped);
    address
}

/// Returns a number among the arguments as it was written.
fn number(arguments: &JsonObject, name: &str) -> Option<String> {
    let value = arguments.get(name).filter(|value| !value.is_null())?;
    Some(match value {
        Value::String(text) => clean_line(text),
        other => other.to_string(),
    })
}

/// Returns the text of an output, with a line for each picture that cannot be shown.
fn output_text(output: &Output, appearance: &Appearance) -> String {
    let mut text = output.text.trim_end().to_owned();
    let shows_pictures = appearance.capabilities.images.is_some() && appearance.show_images;
    if !shows_pictures {
        for picture in &output.pictures {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&picture.description());
        }
    }
    text
}

/// Writes the first lines of the output of a tool that lists things.
fn draw_listing(call: &Call<'_>, page: &mut Page<'_>, shown: usize, limits: &[(&str, &str)]) {
    let Some(output) = call.output else {
        return;
    };
    let token = if call.failed {
        ColorToken::Error
    } else {
        ColorToken::ToolOutput
    };
    let text = output_text(output, page.appearance);
    let text = text.trim();
    if !text.is_empty() {
        page.blank();
        page.beginning(token, text, shown);
    }
    let details = output.details.as_ref();
    let detail = |name: &str| details.and_then(|details| details.get(name));
    let mut reasons: Vec<String> = limits
        .iter()
        .filter_map(|(name, what)| match detail(name)? {
            Value::Number(limit) => Some(format!("limit of {limit} {what}")),
            Value::Bool(true) => Some((*what).to_owned()),
            _ => None,
        })
        .collect();
    if let Some(truncation) = Truncation::of(output) {
        reasons.push(format!("limit of {}", size_text(truncation.max_bytes)));
    }
    if !reasons.is_empty() {
        let remark = format!("[Not everything is shown: {}]", reasons.join(", "));
        page.text(ColorToken::Warning, &remark);
    }
}

/// What a result says about having been cut.
#[derive(Debug, PartialEq, Eq)]
struct Truncation {
    by_lines: bool,
    output_lines: u64,
    total_lines: u64,
    max_bytes: u64,
    first_line_too_long: bool,
}

impl Truncation {
    /// Reads it off a result; none if nothing was cut.
    fn of(output: &Output) -> Option<Self> {
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

    fn remark(&self) -> String {
        if self.first_line_too_long {
            format!(
                "the first line is longer than {}",
                size_text(self.max_bytes)
            )
        } else if self.by_lines {
            format!("{} of {} lines", self.output_lines, self.total_lines)
        } else {
            format!(
                "{} lines, limit of {}",
                self.output_lines,
                size_text(self.max_bytes)
            )
        }
    }
}
