//! Directory listings.

use pi_tui::ColorToken;

use super::call::CallView;
use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::canvas::BlockCanvas;
use crate::theme::ui_theme::RenderContext;

/// Lines in the collapsed form.
const COLLAPSED_LINES: usize = 20;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let line = title_line(call, canvas.ctx);
    canvas.styled(&line);
    draw_listing(
        call,
        canvas,
        COLLAPSED_LINES,
        &[("entryLimitReached", "entries")],
    );
}

pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext) -> String {
    let argument = Argument::of(call.arguments, &["path"]);
    let path = argument.text().map(|path| short_path(path, ctx));
    let argument = path.as_deref().map_or(argument, Argument::Text);
    let path = painted(argument, ColorToken::Accent, ".", ctx);
    let limit = number(call.arguments, "limit")
        .map(|limit| ctx.paint(ColorToken::ToolOutput, &format!(" (limit {limit})")))
        .unwrap_or_default();
    format!("{} {path}{limit}", title("ls", ctx))
}

/// Returns the number of entries, one per line; notes are in brackets or parentheses.
pub(super) fn entries(output: &str) -> usize {
    super::find::files(output)
}
