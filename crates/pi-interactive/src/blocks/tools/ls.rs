//! Listing a folder.

use pi_tui::ColorToken;

use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::blocks::page::Page;
use crate::blocks::tool_call::Call;

/// Lines in the short form.
const SHOWN: usize = 20;

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    let appearance = page.appearance;
    let argument = Argument::of(call.arguments, &["path"]);
    let path = argument.text().map(|path| short_path(path, appearance));
    let argument = path.as_deref().map_or(argument, Argument::Text);
    let path = painted(argument, ColorToken::Accent, ".", appearance);
    let limit = number(call.arguments, "limit")
        .map(|limit| appearance.paint(ColorToken::ToolOutput, &format!(" (limit {limit})")))
        .unwrap_or_default();
    page.styled(&format!("{} {path}{limit}", title("ls", appearance)));
    draw_listing(call, page, SHOWN, &[("entryLimitReached", "entries")]);
}
