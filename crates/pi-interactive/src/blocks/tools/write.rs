//! Writing a file: its text, as it arrives.

use pi_tui::{ColorToken, SyntaxStyles};

use super::{Argument, painted_path, title};
use crate::blocks::growing_code::language_of;
use crate::blocks::page::{Page, clean};
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
    let content = clean(content);
    let content = content.trim_end_matches('\n');
    if content.is_empty() {
        return;
    }
    let total = content.split('\n').count();
    let shown = if page.expanded {
        total
    } else {
        SHOWN.min(total)
    };
    let language = Argument::path(call.arguments)
        .text()
        .map_or("", language_of);
    let styles = SyntaxStyles::from_theme(&page.appearance.theme);
    let plain = page.appearance.style(ColorToken::ToolOutput);
    page.blank();
    for line in call.code.lines(content, language, &styles, plain, shown) {
        page.styled(&line);
    }
    if shown < total {
        page.more(&format!("{} more lines, {total} in all", total - shown));
    }
}
