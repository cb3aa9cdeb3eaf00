//! Renders a page for a terminal in palette colors, which fit light and dark backgrounds.

use pi_env::Env;
use pi_markdown::{Markdown, MarkdownTheme, SyntaxStyles};
use pi_tui::{
    CapabilityOverrides, Color, Component as _, Style, TerminalCapabilities, TerminalEnvironment,
    probe_tmux_hyperlinks,
};

/// Long lines are hard to read, so wider terminals get a margin.
const MAX_COLUMNS: usize = 100;

const CYAN: Style = Style::plain().fg(Color::Indexed(6));
const GREEN: Style = Style::plain().fg(Color::Indexed(2));

/// Renders a page for the terminal of the process.
pub(super) fn render(text: &str, env: &Env) -> String {
    let variable = |name: &str| env.var(name);
    let terminal = TerminalEnvironment::new(&variable);
    let columns = terminal.size().columns.min(MAX_COLUMNS);
    let theme = if env.var("NO_COLOR").is_some() {
        MarkdownTheme::default()
    } else {
        let none = CapabilityOverrides::default();
        let capabilities = TerminalCapabilities::resolve(terminal, none, probe_tmux_hyperlinks);
        theme(capabilities.hyperlinks)
    };
    lines(text, theme, columns)
}

fn lines(text: &str, theme: MarkdownTheme, columns: usize) -> String {
    let mut page = Markdown::new(&joined(text), theme).padding(1, 0);
    let mut shown = String::new();
    for line in &page.render(columns) {
        shown.push_str(line.as_str().trim_end());
        shown.push('\n');
    }
    shown
}

/// Joins the lines of each paragraph, since the source is hard-wrapped.
pub(crate) fn joined(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    let mut in_code = false;
    let mut can_grow = false;
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        let stands_alone = in_code || is_fence || line.is_empty() || line.starts_with(['|', '#']);
        let is_item = line.trim_start().starts_with("- ") || is_numbered(line);
        if can_grow && !stands_alone && !is_item {
            page.pop();
            page.push(' ');
            page.push_str(line.trim_start());
        } else {
            page.push_str(line);
        }
        page.push('\n');
        can_grow = !stands_alone;
        in_code ^= is_fence;
    }
    page
}

fn is_numbered(line: &str) -> bool {
    let number = line.trim_start().split_once(". ").map(|(number, _)| number);
    number.is_some_and(|number| !number.is_empty() && number.chars().all(|it| it.is_ascii_digit()))
}

fn theme(hyperlinks: bool) -> MarkdownTheme {
    let dim = Style::plain().dim();
    MarkdownTheme {
        heading: Style::plain().bold(),
        link: Style::plain().underline(),
        link_url: dim,
        code: CYAN,
        code_block: Style::plain(),
        code_block_border: dim,
        quote: Style::plain().italic(),
        quote_border: dim,
        rule: dim,
        list_bullet: dim,
        syntax: SyntaxStyles {
            comment: dim,
            string: GREEN,
            keyword: CYAN,
            ..SyntaxStyles::default()
        },
        hyperlinks,
        ..MarkdownTheme::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paragraphs_are_joined() {
        let source = "# Title\nOne\ntwo.\n\n- item\n  continues\n- next\n1. first\n   continues\n\n| a |\n|---|\n```sh\none\ntwo\n```\n";
        let expected = "# Title\nOne two.\n\n- item continues\n- next\n1. first continues\n\n| a |\n|---|\n```sh\none\ntwo\n```\n";
        assert_eq!(joined(source), expected);
    }

    #[test]
    fn lines_fit_the_terminal() {
        let text = "# Title\n\nSome `code` and a long sentence that does not fit into forty columns.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let shown = lines(text, theme(false), 40);
        assert!(shown.contains("Title"));
        for line in shown.lines() {
            assert!(pi_tui::visible_width(line) <= 40, "{line}");
        }
    }
}
