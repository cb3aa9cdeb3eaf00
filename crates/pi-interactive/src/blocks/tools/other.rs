//! Tools without a dedicated renderer: name, arguments, output.

use pi_tui::{ColorToken, TruncateOptions, truncate_to_width, visible_width};
use serde_json::Value;

use super::{draw_listing, title};
use crate::blocks::tool_call::CallView;
use pi_views::canvas::{BlockCanvas, clean, clean_line};

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
    let name = match mcp_name(call.name) {
        Some((server, tool)) => title(&format!("{server}/{tool}"), canvas.ctx),
        None => title(call.name, canvas.ctx),
    };
    if canvas.expanded || call.arguments.is_empty() {
        canvas.styled(&name);
        for (key, value) in call.arguments {
            canvas.text(ColorToken::Muted, &clean(&argument(key, value)));
        }
        return;
    }
    let room = canvas.width().saturating_sub(visible_width(&name) + 1);
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
    let short = canvas.ctx.paint(ColorToken::Muted, &short);
    canvas.styled(&format!("{name} {short}"));
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
