//! File writes: the contents, while they stream.

use pi_markdown::SyntaxStyles;
use pi_tui::{ColorToken, TruncateOptions, truncate_to_width};

use super::call::CallView;
use super::{Argument, painted_path, title};
use crate::canvas::BlockCanvas;
use crate::text::language::language_of;
use crate::theme::ui_theme::RenderContext;

/// Lines in the collapsed form.
const COLLAPSED_LINES: usize = 10;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let path = Argument::path(call.arguments);
    let line = title_line(call, canvas.ctx);
    canvas.styled(&line);
    match Argument::of(call.arguments, &["content"]) {
        Argument::Missing => {}
        Argument::Invalid => {
            canvas.blank();
            canvas.text(ColorToken::Error, "[invalid content]");
        }
        Argument::Text(content) => {
            let language = path.text().map_or("", language_of);
            draw_code(call, canvas, content, language);
        }
    }
    if let Some(output) = call.output.filter(|_| call.failed)
        && !output.text.trim().is_empty()
    {
        canvas.blank();
        canvas.text(ColorToken::Error, output.text.trim());
    }
}

pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext) -> String {
    let path = painted_path(Argument::path(call.arguments), ctx);
    format!("{} {path}", title("write", ctx))
}

/// Draws the code in an argument, which may still grow.
pub(super) fn draw_code(
    call: &mut CallView<'_>,
    canvas: &mut BlockCanvas<'_>,
    content: &str,
    language: &str,
) {
    call.code.grow(content);
    let total = call.code.total();
    if total == 0 {
        return;
    }
    let styles = SyntaxStyles::from_theme(&canvas.ctx.theme);
    let plain = canvas.ctx.style(ColorToken::MdCodeBlock);
    canvas.blank();
    if canvas.expanded {
        let width = canvas.width();
        canvas.rows(call.code.rows(language, &styles, plain, width));
        return;
    }
    // Data on a single line could fill many screens.
    let columns = COLLAPSED_LINES * canvas.width();
    let mut is_cut = false;
    for line in call.code.lines(language, &styles, plain, COLLAPSED_LINES) {
        let start = truncate_to_width(&line, columns, TruncateOptions { ellipsis: "…" });
        is_cut |= start.len() != line.len();
        canvas.styled(&start);
    }
    match total.saturating_sub(COLLAPSED_LINES) {
        0 if is_cut => canvas.more("rest of a long line"),
        0 => {}
        more => canvas.more(&format!("{more} more lines, {total} total")),
    }
}
