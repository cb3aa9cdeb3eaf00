//! Colors code by syntax, as HTML spans with classes.
//!
//! The highlighter of `pi-markdown` writes terminal colors, one per kind of token, which become classes here.

use pi_markdown::{SyntaxStyles, highlight_code};
use pi_tui::{Color, Style};

use super::html::escape;

/// The classes of the style sheet, in the order of their terminal colors.
const CLASSES: [&str; 9] = [
    "comment",
    "keyword",
    "function",
    "variable",
    "string",
    "number",
    "type",
    "operator",
    "punctuation",
];

const ESCAPE: &str = "\x1b[";

/// Returns the code of a block as HTML. `language` is the first word of the fence.
pub(super) fn highlighted(code: &str, language: &str) -> String {
    let lines = highlight_code(
        code.trim_end_matches('\n'),
        language,
        &styles(),
        Style::plain(),
    );
    let mut html = String::with_capacity(code.len() * 2);
    for line in lines {
        push_line(&mut html, &line);
        html.push('\n');
    }
    html
}

/// Terminal colors 1 to 9 stand for the classes.
fn styles() -> SyntaxStyles {
    let color = |index: u8| Style::plain().fg(Color::Indexed(index));
    SyntaxStyles {
        comment: color(1),
        keyword: color(2),
        function: color(3),
        variable: color(4),
        string: color(5),
        number: color(6),
        type_name: color(7),
        operator: color(8),
        punctuation: color(9),
    }
}

fn push_line(html: &mut String, line: &str) {
    let mut parts = line.split(ESCAPE);
    html.push_str(&escape(parts.next().unwrap_or_default()));
    for part in parts {
        let Some((codes, text)) = part.split_once('m') else {
            html.push_str(&escape(part));
            continue;
        };
        match class_of(codes) {
            Some(_) if text.is_empty() => {}
            Some(class) => {
                html.push_str("<span class=\"c-");
                html.push_str(class);
                html.push_str("\">");
                html.push_str(&escape(text));
                html.push_str("</span>");
            }
            None => html.push_str(&escape(text)),
        }
    }
}

/// Returns the class of a foreground color; `None` for sequences that end one.
fn class_of(codes: &str) -> Option<&'static str> {
    let code: usize = codes.parse().ok()?;
    let index = match code {
        31..=37 => code - 30,
        90..=97 => code - 82,
        _ => return None,
    };
    CLASSES.get(index.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn tokens_get_classes_and_text_is_escaped() {
        let html = highlighted("let a = \"<b>\"; // 1 < 2\n", "ts");
        assert!(
            html.contains("<span class=\"c-keyword\">let</span>"),
            "{html}"
        );
        assert!(html.contains("&lt;b&gt;"), "{html}");
        assert!(html.contains("<span class=\"c-comment\">"), "{html}");
        assert!(!html.contains('\x1b'), "{html}");
    }

    #[test]
    fn unknown_languages_stay_plain() {
        assert_eq!(highlighted("a < b\n", "text"), "a &lt; b\n");
    }
}
