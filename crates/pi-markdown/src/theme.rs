//! The styles of a rendered document.

use pi_tui::{ColorToken, Style, Theme};

use crate::code::SyntaxStyles;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownTheme {
    pub heading: Style,
    pub link: Style,
    /// URLs shown next to links that are not clickable.
    pub link_url: Style,
    /// Inline code.
    pub code: Style,
    /// Code blocks that are not highlighted.
    pub code_block: Style,
    /// Fences of code blocks.
    pub code_block_border: Style,
    pub quote: Style,
    pub quote_border: Style,
    pub rule: Style,
    /// List markers.
    pub list_bullet: Style,
    /// Syntax highlighting.
    pub syntax: SyntaxStyles,
    /// Prepended to each line of a code block.
    pub code_indent: String,
    /// Whether links are clickable, so that URLs need not be shown.
    pub hyperlinks: bool,
}

impl Default for MarkdownTheme {
    fn default() -> Self {
        let plain = Style::plain();
        Self {
            heading: plain,
            link: plain,
            link_url: plain,
            code: plain,
            code_block: plain,
            code_block_border: plain,
            quote: plain,
            quote_border: plain,
            rule: plain,
            list_bullet: plain,
            syntax: SyntaxStyles::default(),
            code_indent: "  ".to_owned(),
            hyperlinks: false,
        }
    }
}

impl MarkdownTheme {
    /// Returns the styles of a theme. `hyperlinks` is whether the terminal supports OSC 8.
    pub fn from_theme(theme: &Theme, hyperlinks: bool) -> Self {
        Self {
            heading: theme.style(ColorToken::MdHeading),
            link: theme.style(ColorToken::MdLink),
            link_url: theme.style(ColorToken::MdLinkUrl),
            code: theme.style(ColorToken::MdCode),
            code_block: theme.style(ColorToken::MdCodeBlock),
            code_block_border: theme.style(ColorToken::MdCodeBlockBorder),
            quote: theme.style(ColorToken::MdQuote),
            quote_border: theme.style(ColorToken::MdQuoteBorder),
            rule: theme.style(ColorToken::MdHr),
            list_bullet: theme.style(ColorToken::MdListBullet),
            syntax: SyntaxStyles::from_theme(theme),
            hyperlinks,
            ..Self::default()
        }
    }
}
