//! Tools without a dedicated renderer: name, arguments, output.

use pi_tui::{ColorToken, TruncateOptions, truncate_to_width, visible_width};
use serde_json::Value;

use super::call::CallView;
use super::{draw_listing, title};
use crate::canvas::{BlockCanvas, clean, clean_line};
use crate::theme::ui_theme::RenderContext;

/// Lines of output in the collapsed form.
pub(super) const COLLAPSED_LINES: usize = 10;
/// Lines of output of a tool of an MCP server in the collapsed form.
const MCP_LINES: usize = 5;
/// Columns of the arguments in the collapsed form.
const SHORT_ARGUMENTS: usize = 100;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    draw_call(call, canvas);
    let lines = match mcp_name(call.name) {
        Some(_) => MCP_LINES,
        None => COLLAPSED_LINES,
    };
    draw_listing(call, canvas, lines, &[]);
}

/// Draws the name with the arguments: on one line if collapsed, otherwise one line each.
pub(super) fn draw_call(call: &CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    if canvas.expanded || call.arguments.is_empty() {
        canvas.styled(&name(call, canvas.ctx));
        for (key, value) in call.arguments {
            canvas.text(ColorToken::Muted, &clean(&argument(key, value)));
        }
        return;
    }
    let line = title_line(call, canvas.ctx, canvas.width());
    canvas.styled(&line);
}

/// Returns the name with the arguments, as far as they fit.
pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext, width: usize) -> String {
    let name = name(call, ctx);
    if call.arguments.is_empty() {
        return name;
    }
    let room = width.saturating_sub(visible_width(&name) + 1);
    let room = room.min(SHORT_ARGUMENTS);
    let mut short = String::new();
    for (key, value) in call.arguments {
        if short.len() > SHORT_ARGUMENTS * 4 {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(&argument(key, value));
    }
    let ellipsis = TruncateOptions { ellipsis: "…" };
    let short = clean_line(&short);
    let short = truncate_to_width(&short, room, ellipsis);
    format!("{name} {}", ctx.paint(ColorToken::Muted, &short))
}

fn name(call: &CallView<'_>, ctx: &RenderContext) -> String {
    match mcp_name(call.name) {
        Some((server, tool)) => title(&format!("{server}/{tool}"), ctx),
        None => title(call.name, ctx),
    }
}

/// Splits the name of an MCP server's tool, such as `mcp__garden__plant`.
fn mcp_name(name: &str) -> Option<(&str, &str)> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

/// Returns an argument such as `depth=7` or `name="x"`.
fn argument(key: &str, value: &Value) -> String {
    format!("{key}={value}")
}
