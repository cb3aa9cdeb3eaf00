//! A message or an entry that an extension put in.

use pi_runtime::ComponentId;
use pi_tui::{ColorToken, Line, Lines, MarkdownOptions};

use super::drawer::CustomDrawer;
use super::page::{PANEL_PADDING, Page};
use crate::block::Block;
use crate::look::Appearance;

/// A message of an extension, drawn by it or as all of them are.
#[derive(Debug)]
pub(crate) struct CustomBlock {
    /// The name of its kind and the text; nothing where only the extension can show it.
    usual: Option<(String, String)>,
    drawer: Option<CustomDrawer>,
    expanded: bool,
    generation: u64,
}

impl CustomBlock {
    /// Makes a block of a message and the extension's name for its kind.
    pub(crate) fn new(kind: &str, content: &pi_ai::MessageContent) -> Self {
        Self {
            usual: Some((kind.to_owned(), content.joined_text())),
            drawer: None,
            expanded: false,
            generation: 0,
        }
    }

    /// Makes a block that shows what an extension draws, and nothing else.
    pub(crate) fn drawn(drawer: CustomDrawer) -> Self {
        Self {
            usual: None,
            drawer: Some(drawer),
            expanded: false,
            generation: 0,
        }
    }

    /// Has an extension draw the block.
    #[must_use]
    pub(crate) fn drawn_by(mut self, drawer: Option<CustomDrawer>) -> Self {
        self.drawer = drawer;
        self
    }

    /// Takes lines of the extension; none show the block as all are shown.
    pub(crate) fn accept(&mut self, drawn: Option<Vec<String>>) {
        if let Some(drawer) = &mut self.drawer {
            drawer.accept(drawn);
            self.generation += 1;
        }
    }
}

impl Block for CustomBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let expanded = self.expanded;
        let drawn = self
            .drawer
            .as_mut()
            .and_then(|drawer| drawer.lines(width, appearance, expanded));
        if let Some(mut drawn) = drawn {
            if !drawn.is_empty() {
                drawn.insert(0, Line::default());
            }
            return drawn.into();
        }
        let Some((kind, text)) = &self.usual else {
            return Lines::empty();
        };
        let mut page = Page::new(width, PANEL_PADDING, appearance);
        page.label(kind);
        page.blank();
        let style = appearance.style(ColorToken::CustomMessageText);
        page.markdown(text, style, MarkdownOptions::default());
        page.panel(ColorToken::CustomMessageBg).into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            if self.drawer.is_some() {
                self.generation += 1;
            }
        }
    }

    fn row(&self) -> Option<ComponentId> {
        self.drawer.as_ref().map(CustomDrawer::id)
    }
}
