//! Reading a file: which part of which one; its text only when expanded.

use std::path::Path;

use pi_tui::{ColorToken, SyntaxStyles};

use super::{Argument, Truncation, number, output_text, painted_path, title};
use crate::blocks::growing_code::language_of;
use crate::blocks::page::{Page, clean_line, expand_hint};
use crate::blocks::tool_call::Call;

/// Lines of an error in the short form.
const SHOWN: usize = 10;
/// Files that instruct the model.
const CONTEXT_FILES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    draw_title(call, page);
    let Some(output) = call.output else {
        return;
    };
    if !page.expanded && !call.failed {
        return;
    }
    let text = output_text(output, page.appearance);
    if !text.is_empty() {
        page.blank();
        let path = Argument::path(call.arguments).text();
        match path {
            Some(path) if !call.failed && output.pictures.is_empty() => {
                let styles = SyntaxStyles::from_theme(&page.appearance.theme);
                let plain = page.appearance.style(ColorToken::ToolOutput);
                call.code.grow(&text);
                let width = page.width();
                page.rows(call.code.rows(language_of(path), &styles, plain, width));
            }
            _ if call.failed => page.beginning(ColorToken::Error, &text, SHOWN),
            _ => page.beginning(ColorToken::ToolOutput, &text, SHOWN),
        }
    }
    if let Some(truncation) = Truncation::of(output) {
        let remark = format!("[Not everything was read: {}]", truncation.remark());
        page.text(ColorToken::Warning, &remark);
    }
}

fn draw_title(call: &Call<'_>, page: &mut Page<'_>) {
    let appearance = page.appearance;
    let path = Argument::path(call.arguments);
    let range = range(call);
    let range = appearance.paint(ColorToken::Warning, &range);
    let special = path.text().filter(|_| !page.expanded).and_then(special);
    let line = match special {
        Some(Special::Skill(name)) => {
            let label = appearance.style(ColorToken::CustomMessageLabel).bold();
            let name = appearance.paint(ColorToken::CustomMessageText, &clean_line(&name));
            format!(
                "{} {name}{range}{}",
                label.apply("[skill]"),
                expand_hint(appearance)
            )
        }
        Some(Special::Context) => {
            let path = painted_path(path, appearance);
            format!(
                "{} {path}{range}{}",
                title("read context", appearance),
                expand_hint(appearance)
            )
        }
        None => format!(
            "{} {}{range}",
            title("read", appearance),
            painted_path(path, appearance)
        ),
    };
    page.styled(&line);
}

/// Returns the lines asked for, such as `:10-20`.
fn range(call: &Call<'_>) -> String {
    let offset = number(call.arguments, "offset");
    let Some(limit) = number(call.arguments, "limit") else {
        return offset.map_or_else(String::new, |offset| format!(":{offset}"));
    };
    let offset = offset.unwrap_or_else(|| "1".to_owned());
    match (offset.parse::<u64>(), limit.parse::<u64>()) {
        (Ok(first), Ok(count)) => {
            let last = first.saturating_add(count).saturating_sub(1);
            format!(":{first}-{last}")
        }
        _ => format!(":{offset}+{limit}"),
    }
}

/// A file that means more than its path says.
enum Special {
    /// The instructions of a skill.
    Skill(String),
    /// Instructions of the project or the user.
    Context,
}

fn special(path: &str) -> Option<Special> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    if name == "SKILL.md" {
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
        return Some(Special::Skill(folder.unwrap_or_else(|| name.to_owned())));
    }
    CONTEXT_FILES.contains(&name).then_some(Special::Context)
}
