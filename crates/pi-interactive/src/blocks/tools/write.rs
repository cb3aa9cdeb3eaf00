//! Writing a file: its text, as it arrives.

use pi_tui::{ColorToken, SyntaxStyles, TruncateOptions, truncate_to_width};

use super::{Argument, painted_path, title};
use crate::blocks::growing_code::language_of;
use crate::blocks::page::Page;
use crate::blocks::tool_call::Call;

/// Lines in the short form.
const SHOWN: usize = 10;

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    let appearance = page.appearance;
    let path = Argument::path(call.arguments);
    page.styled(&format!(
        "{} {}",
        title("write", appearance),
        painted_path(path, appearance)
    ));
    match Argument::of(call.arguments, &["content"]) {
        Argument::Missing => {}
        Argument::Invalid => {
            page.blank();
            page.text(ColorToken::Error, "[the content is not a text]");
        }
        Argument::Text(content) => draw_content(call, page, content),
    }
    if let Some(output) = call.output.filter(|_| call.failed)
        && !output.text.trim().is_empty()
    {
        page.blank();
        page.text(ColorToken::Error, output.text.trim());
    }
}

fn draw_content(call: &mut Call<'_>, page: &mut Page<'_>, content: &str) {
    call.code.grow(content);
    let total = call.code.total();
    if total == 0 {
        return;
    }
    let language = Argument::path(call.arguments)
        .text()
        .map_or("", language_of);
    let styles = SyntaxStyles::from_theme(&page.appearance.theme);
    let plain = page.appearance.style(ColorToken::ToolOutput);
    page.blank();
    if page.expanded {
        let width = page.width();
        page.rows(call.code.rows(language, &styles, plain, width));
        return;
    }
    // Data in one line would fill many screens.
    let columns = SHOWN * page.width();
    let mut is_cut = false;
    for line in call.code.lines(language, &styles, plain, SHOWN) {
        let start = truncate_to_width(&line, columns, TruncateOptions { ellipsis: "…" });
        is_cut |= start.len() != line.len();
        page.styled(&start);
    }
    match total.saturating_sub(SHOWN) {
        0 if is_cut => page.more("the rest of a long line"),
        0 => {}
        more => page.more(&format!("{more} more lines, {total} in all")),
    }
}
