//! File search by name.

use pi_tui::ColorToken;

use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::blocks::tool_call::CallView;
use pi_views::canvas::{BlockCanvas, clean_line};

/// Lines in the collapsed form.
const COLLAPSED_LINES: usize = 20;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let ctx = canvas.ctx;
    let pattern = Argument::of(call.arguments, &["pattern"]);
    let pattern = painted(pattern, ColorToken::Accent, "…", ctx);
    let path = Argument::of(call.arguments, &["path"]);
    let path = short_path(path.text().unwrap_or("."), ctx);
    let limit = number(call.arguments, "limit")
        .map(|limit| format!(" (limit {limit})"))
        .unwrap_or_default();
    let location = format!(" in {}{limit}", clean_line(&path));
    let location = ctx.paint(ColorToken::ToolOutput, &location);
    canvas.styled(&format!("{} {pattern}{location}", title("find", ctx)));
    draw_listing(
        call,
        canvas,
        COLLAPSED_LINES,
        &[("resultLimitReached", "results")],
    );
}
