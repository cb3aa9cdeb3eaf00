//! Tools without a dedicated renderer: name, arguments, output.

use pi_tui::{ColorToken, TruncateOptions, truncate_to_width, visible_width};

use super::{draw_listing, title};
use crate::blocks::canvas::{BlockCanvas, clean, clean_line};
use crate::blocks::tool_call::CallView;

/// Lines of output in the collapsed form.
pub(super) const COLLAPSED_LINES: usize = 10;
/// Arguments beyond this many bytes are omitted in the collapsed form.
const SHORT_ARGUMENTS: usize = 2_000;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let name = title(call.name, canvas.ctx);
    if canvas.expanded || call.arguments.is_empty() {
        canvas.styled(&name);
        if !call.arguments.is_empty()
            && let Ok(json) = serde_json::to_string_pretty(call.arguments)
        {
            canvas.blank();
            canvas.text(ColorToken::Muted, &clean(&json));
        }
    } else {
        let room = canvas.width().saturating_sub(visible_width(&name) + 1);
        let arguments = clean_line(&short_arguments(call));
        let ellipsis = TruncateOptions { ellipsis: "…" };
        let arguments = truncate_to_width(&arguments, room, ellipsis);
        let arguments = canvas.ctx.paint(ColorToken::Muted, &arguments);
        canvas.styled(&format!("{name} {arguments}"));
    }
    draw_listing(call, canvas, COLLAPSED_LINES, &[]);
}

/// Returns the arguments on one line, such as `depth=7 name="x"`.
fn short_arguments(call: &CallView<'_>) -> String {
    let mut length = 0;
    let short: Vec<String> = call
        .arguments
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .take_while(|argument| {
            let fits = length <= SHORT_ARGUMENTS;
            length += argument.len();
            fits
        })
        .collect();
    short.join(" ")
}
