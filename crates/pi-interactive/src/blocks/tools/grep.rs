//! Searching in files.

use pi_tui::ColorToken;

use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::blocks::page::{Page, clean_line};
use crate::blocks::tool_call::Call;

/// Lines in the short form.
const SHOWN: usize = 15;

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    let appearance = page.appearance;
    let pattern = match Argument::of(call.arguments, &["pattern"]) {
        Argument::Text(pattern) => {
            appearance.paint(ColorToken::Accent, &format!("/{}/", clean_line(pattern)))
        }
        argument => painted(argument, ColorToken::Accent, "…", appearance),
    };
    let path = Argument::of(call.arguments, &["path"]);
    let path = short_path(path.text().unwrap_or("."), appearance);
    let glob = Argument::of(call.arguments, &["glob"]).text();
    let glob = glob.map(|glob| format!(" ({})", clean_line(glob)));
    let limit = number(call.arguments, "limit").map(|limit| format!(" limit {limit}"));
    let place = format!(
        " in {}{}{}",
        clean_line(&path),
        glob.unwrap_or_default(),
        limit.unwrap_or_default()
    );
    let place = appearance.paint(ColorToken::ToolOutput, &place);
    page.styled(&format!("{} {pattern}{place}", title("grep", appearance)));
    let limits = [
        ("matchLimitReached", "matches"),
        ("linesTruncated", "long lines are cut"),
    ];
    draw_listing(call, page, SHOWN, &limits);
}
