//! Markdown and syntax highlighting for the terminal, incremental while the text is still streaming.
//!
//! Source becomes blocks (`parse`), blocks become lines (`block`, `inline`, `list`, `table`,
//! `code`, `latex`, `mermaid`), and finished blocks are cached (`stream`). The text is untrusted:
//! control sequences are removed from it.
//!
//! ```
//! use pi_markdown::{Markdown, MarkdownTheme};
//! use pi_tui::{Component as _, strip_ansi};
//!
//! let mut document = Markdown::new("- *one*\n- two", MarkdownTheme::default());
//! let lines: Vec<String> = document
//!     .render(20)
//!     .iter()
//!     .map(|line| strip_ansi(line).trim_end().to_owned())
//!     .collect();
//! assert_eq!(lines, ["- one", "- two"]);
//! ```

mod block;
mod code;
mod component;
mod inline;
mod latex;
mod list;
mod mermaid;
mod parse;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod theme;

pub use code::{CodeHighlighter, SyntaxStyles, highlight_code};
pub use component::{Markdown, MarkdownOptions, MermaidRendering};
pub use latex::latex_to_unicode;
pub use mermaid::mermaid_to_text;
pub use theme::MarkdownTheme;
