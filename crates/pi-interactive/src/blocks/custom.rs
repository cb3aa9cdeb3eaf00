//! A message that an extension put in.

use pi_tui::{ColorToken, Lines, MarkdownOptions};

use super::page::{PANEL_PADDING, Page};
use crate::block::Block;
use crate::look::Appearance;

/// A message of an extension.
#[derive(Debug)]
pub(crate) struct CustomBlock {
    kind: String,
    text: String,
}

impl CustomBlock {
    /// Makes a block of a message and the extension's name for its kind.
    pub(crate) fn new(kind: &str, content: &pi_ai::Content) -> Self {
        Self {
            kind: kind.to_owned(),
            text: content.joined_text(),
        }
    }
}

impl Block for CustomBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let mut page = Page::new(width, PANEL_PADDING, appearance);
        page.label(&self.kind);
        page.blank();
        let style = appearance.style(ColorToken::CustomMessageText);
        page.markdown(&self.text, style, MarkdownOptions::default());
        page.panel(ColorToken::CustomMessageBg).into()
    }

    fn generation(&self) -> u64 {
        0
    }
}
