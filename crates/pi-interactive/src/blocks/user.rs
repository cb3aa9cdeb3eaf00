//! What the user said.

use pi_ai::{MessageContent, InputBlock};
use pi_runtime::ComponentId;
use pi_tui::{ColorToken, Lines, MarkdownOptions};

use super::drawer::Wording;
use super::page::{Page, mark_zone};
use super::picture::describe;
use crate::block::Block;
use crate::look::Appearance;

/// A message of the user.
#[derive(Debug)]
pub(crate) struct UserBlock {
    text: String,
    /// A line for each picture that goes with it.
    pictures: Vec<String>,
    wording: Option<Wording>,
    generation: u64,
}

impl UserBlock {
    /// Lets extensions have a say in the wording.
    #[must_use]
    pub(crate) fn worded_by(mut self, wording: Option<Wording>) -> Self {
        self.wording = wording;
        self
    }

    /// Takes the wording of extensions.
    pub(crate) fn accept(&mut self, texts: Option<Vec<String>>) {
        if let Some(wording) = &mut self.wording {
            wording.accept(texts);
            self.generation += 1;
        }
    }

    /// Makes a block of a message; none if there is nothing to show.
    pub(crate) fn new(content: &MessageContent) -> Option<Self> {
        let pictures = match content {
            MessageContent::Text(_) => Vec::new(),
            MessageContent::Blocks(blocks) => blocks.iter().filter_map(picture).collect(),
        };
        Self::with(content.joined_text(), pictures)
    }

    /// Makes a block of a text; none if it is empty.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        Self::with(text.to_owned(), Vec::new())
    }

    fn with(text: String, pictures: Vec<String>) -> Option<Self> {
        let is_empty = text.trim().is_empty() && pictures.is_empty();
        (!is_empty).then_some(Self {
            text,
            pictures,
            wording: None,
            generation: 0,
        })
    }
}

fn picture(block: &InputBlock) -> Option<String> {
    match block {
        InputBlock::Image(image) => Some(describe(image)),
        InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    }
}

impl Block for UserBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let mut page = Page::new(width, appearance.output_padding, appearance);
        let options = MarkdownOptions {
            keep_list_markers: true,
            keep_escapes: true,
            ..MarkdownOptions::default()
        };
        let style = appearance.style(ColorToken::UserMessageText);
        if let Some(wording) = &mut self.wording {
            let parts = [("user", self.text.as_str())].into_iter();
            wording.ask(width, appearance, (0, false), parts);
        }
        let worded = self.wording.as_ref().and_then(|wording| wording.text(0));
        page.markdown(worded.unwrap_or(&self.text), style, options);
        for picture in &self.pictures {
            page.foreign(ColorToken::Muted, picture);
        }
        let mut lines = page.panel(ColorToken::UserMessageBg);
        mark_zone(&mut lines);
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn row(&self) -> Option<ComponentId> {
        self.wording.as_ref().map(Wording::id)
    }
}
