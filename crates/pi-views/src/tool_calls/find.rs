//! File search by name.

use pi_tui::ColorToken;

use super::call::CallView;
use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::canvas::{BlockCanvas, clean_line};
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
        &[("resultLimitReached", "results")],
    );
}

pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext) -> String {
    let pattern = Argument::of(call.arguments, &["pattern"]);
    let pattern = painted(pattern, ColorToken::Accent, "…", ctx);
    let path = Argument::of(call.arguments, &["path"]);
    let path = short_path(path.text().unwrap_or("."), ctx);
    let limit = number(call.arguments, "limit")
        .map(|limit| format!(" (limit {limit})"))
        .unwrap_or_default();
    let location = format!(" in {}{limit}", clean_line(&path));
    let location = ctx.paint(ColorToken::ToolOutput, &location);
    format!("{} {pattern}{location}", title("find", ctx))
}

/// Returns the number of paths, one per line; notes are in brackets or parentheses.
pub(super) fn files(output: &str) -> usize {
    let is_path = |line: &&str| !line.is_empty() && !line.starts_with(['(', '[']);
    output.lines().filter(is_path).count()
}
