//! Any tool we know nothing about: its name, its arguments, its text.

use pi_tui::{ColorToken, TruncateOptions, truncate_to_width, visible_width};

use super::{draw_listing, title};
use crate::blocks::page::{Page, clean, clean_line};
use crate::blocks::tool_call::Call;

/// Lines of output in the short form.
pub(super) const SHOWN: usize = 10;
/// Arguments after this many bytes stay out of the short form.
const SHORT_ARGUMENTS: usize = 2_000;

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    let name = title(call.name, page.appearance);
    if page.expanded || call.arguments.is_empty() {
        page.styled(&name);
        if !call.arguments.is_empty()
            && let Ok(json) = serde_json::to_string_pretty(call.arguments)
        {
            page.blank();
            page.text(ColorToken::Muted, &clean(&json));
        }
    } else {
        let room = page.width().saturating_sub(visible_width(&name) + 1);
        let arguments = clean_line(&short_arguments(call));
        let ellipsis = TruncateOptions { ellipsis: "…" };
        let arguments = truncate_to_width(&arguments, room, ellipsis);
        let arguments = page.appearance.paint(ColorToken::Muted, &arguments);
        page.styled(&format!("{name} {arguments}"));
    }
    draw_listing(call, page, SHOWN, &[]);
}

/// Returns the arguments in one line, such as `depth=7 name="x"`.
fn short_arguments(call: &Call<'_>) -> String {
    let mut length = 0;
    let short: Vec<String> = call
        .arguments
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .take_while(|argument| {
            let fits = length <= SHORT_ARGUMENTS;
            length += argument.len();
            fits
        })
        .collect();
    short.join(" ")
}
