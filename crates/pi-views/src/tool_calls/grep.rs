//! Text search in files.

use pi_tui::ColorToken;

use super::call::CallView;
use super::{Argument, draw_listing, number, painted, short_path, title};
use crate::canvas::{BlockCanvas, clean_line};
use crate::theme::ui_theme::RenderContext;

/// Lines in the collapsed form.
const COLLAPSED_LINES: usize = 15;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let line = title_line(call, canvas.ctx);
    canvas.styled(&line);
    let limits = [
        ("matchLimitReached", "matches"),
        ("linesTruncated", "long lines truncated"),
    ];
    draw_listing(call, canvas, COLLAPSED_LINES, &limits);
}

pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext) -> String {
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
    format!("{} {pattern}{location}", title("grep", ctx))
}

/// Returns the number of matching lines, which are listed as `path:line: text`.
pub(super) fn matches(output: &str) -> usize {
    let is_match = |line: &&str| {
        let mut parts = line.split(':').skip(1);
        parts.any(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    output.lines().filter(is_match).count()
}
