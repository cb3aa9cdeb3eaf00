//! Directory listings.

use pi_tui::ColorToken;

use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::blocks::tool_call::CallView;
use pi_views::canvas::BlockCanvas;

/// Lines in the collapsed form.
const COLLAPSED_LINES: usize = 20;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let ctx = canvas.ctx;
    let argument = Argument::of(call.arguments, &["path"]);
    let path = argument.text().map(|path| short_path(path, ctx));
    let argument = path.as_deref().map_or(argument, Argument::Text);
    let path = painted(argument, ColorToken::Accent, ".", ctx);
    let limit = number(call.arguments, "limit")
        .map(|limit| ctx.paint(ColorToken::ToolOutput, &format!(" (limit {limit})")))
        .unwrap_or_default();
    canvas.styled(&format!("{} {path}{limit}", title("ls", ctx)));
    draw_listing(
        call,
        canvas,
        COLLAPSED_LINES,
        &[("entryLimitReached", "entries")],
    );
}
