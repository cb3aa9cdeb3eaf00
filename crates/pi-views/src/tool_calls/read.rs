//! File reads: path and range; the contents only when expanded.

use std::path::Path;

use pi_markdown::SyntaxStyles;
use pi_tui::ColorToken;

use super::call::CallView;
use super::{Argument, OutputTruncation, number, output_text, painted_path, title};
use crate::canvas::{BlockCanvas, clean_line, expand_hint};
use crate::text::language::language_of;
use crate::theme::ui_theme::RenderContext;

/// Lines of an error in the collapsed form.
const COLLAPSED_LINES: usize = 10;
/// Context files, which instruct the model.
const CONTEXT_FILES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let line = title_line(call, canvas.ctx, !canvas.expanded);
    canvas.styled(&line);
    let Some(output) = call.output else {
        return;
    };
    if !canvas.expanded && !call.failed {
        return;
    }
    let text = output_text(output, canvas.ctx);
    if !text.is_empty() {
        canvas.blank();
        let path = Argument::path(call.arguments).text();
        match path {
            Some(path) if !call.failed && output.images.is_empty() => {
                let styles = SyntaxStyles::from_theme(&canvas.ctx.theme);
                let plain = canvas.ctx.style(ColorToken::MdCodeBlock);
                call.code.grow(&text);
                let width = canvas.width();
                canvas.rows(call.code.rows(language_of(path), &styles, plain, width));
            }
            _ if call.failed => canvas.head(ColorToken::Error, &text, COLLAPSED_LINES),
            _ => canvas.head(ColorToken::ToolOutput, &text, COLLAPSED_LINES),
        }
    }
    if let Some(truncation) = OutputTruncation::of(output) {
        let note = format!("[Truncated: {}]", truncation.note());
        canvas.text(ColorToken::Warning, &note);
    }
}

pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext, is_collapsed: bool) -> String {
    let path = Argument::path(call.arguments);
    let range = range(call);
    let range = ctx.paint(ColorToken::Warning, &range);
    let special = path.text().filter(|_| is_collapsed).and_then(special);
    match special {
        Some(SpecialFile::Skill(name)) => {
            let label = ctx.style(ColorToken::CustomMessageLabel).bold();
            let name = ctx.paint(ColorToken::CustomMessageText, &clean_line(&name));
            format!(
                "{} {name}{range}{}",
                label.apply("[skill]"),
                expand_hint(ctx)
            )
        }
        Some(SpecialFile::Context) => {
            let path = painted_path(path, ctx);
            format!(
                "{} {path}{range}{}",
                title("read context", ctx),
                expand_hint(ctx)
            )
        }
        None => format!("{} {}{range}", title("read", ctx), painted_path(path, ctx)),
    }
}

/// Returns the contents without the note to the model about what was left out.
pub(super) fn without_note(text: &str) -> &str {
    match text.trim_end().rsplit_once("\n\n[") {
        Some((contents, note)) if note.ends_with("to continue]") => contents,
        _ => text,
    }
}

/// Returns the requested lines, such as `:10-20`.
fn range(call: &CallView<'_>) -> String {
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

/// A file with a special meaning.
enum SpecialFile {
    Skill(String),
    /// A context file of the project or the user.
    Context,
}

fn special(path: &str) -> Option<SpecialFile> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    if name == "SKILL.md" {
        let directory = path.parent().and_then(Path::file_name);
        let directory = directory.map(|directory| directory.to_string_lossy().into_owned());
        return Some(SpecialFile::Skill(
            directory.unwrap_or_else(|| name.to_owned()),
        ));
    }
    CONTEXT_FILES
        .contains(&name)
        .then_some(SpecialFile::Context)
}
