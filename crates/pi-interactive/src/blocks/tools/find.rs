//! Looking for files by name.

use pi_tui::ColorToken;

use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::blocks::page::{Page, clean_line};
use crate::blocks::tool_call::Call;

/// Lines in the short form.
const SHOWN: usize = 20;

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    let appearance = page.appearance;
    let pattern = Argument::of(call.arguments, &["pattern"]);
    let pattern = painted(pattern, ColorToken::Accent, "…", appearance);
    let path = Argument::of(call.arguments, &["path"]);
    let path = short_path(path.text().unwrap_or("."), appearance);
    let limit = number(call.arguments, "limit")
        .map(|limit| format!(" (limit {limit})"))
        .unwrap_or_default();
    let place = format!(" in {}{limit}", clean_line(&path));
    let place = appearance.paint(ColorToken::ToolOutput, &place);
    page.styled(&format!("{} {pattern}{place}", title("find", appearance)));
    draw_listing(call, page, SHOWN, &[("resultLimitReached", "results")]);
}
