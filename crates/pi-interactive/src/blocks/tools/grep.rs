//! Text search in files.

use pi_tui::ColorToken;

use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::blocks::tool_call::CallView;
use pi_views::canvas::{BlockCanvas, clean_line};

/// Lines in the collapsed form.
const COLLAPSED_LINES: usize = 15;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let ctx = canvas.ctx;
    let pattern = match Argument::of(call.arguments, &["pattern"]) {
        Argument::Text(pattern) => {
            ctx.paint(ColorToken::Accent, &format!("/{}/", clean_line(pattern)))
        }
        argument => painted(argument, ColorToken::Accent, "…", ctx),
    };
    let path = Argument::of(call.arguments, &["path"]);
    let path = short_path(path.text().unwrap_or("."), ctx);
    let glob = Argument::of(call.arguments, &["glob"]).text();
    let glob = glob.map(|glob| format!(" ({})", clean_line(glob)));
    let limit = number(call.arguments, "limit").map(|limit| format!(" limit {limit}"));
    let location = format!(
        " in {}{}{}",
        clean_line(&path),
        glob.unwrap_or_default(),
        limit.unwrap_or_default()
    );
    let location = ctx.paint(ColorToken::ToolOutput, &location);
    canvas.styled(&format!("{} {pattern}{location}", title("grep", ctx)));
    let limits = [
        ("matchLimitReached", "matches"),
        ("linesTruncated", "long lines truncated"),
    ];
    draw_listing(call, canvas, COLLAPSED_LINES, &limits);
}
