//! Addresses to go to, one a line, each a link where the terminal has links.

use pi_tui::{ColorToken, Lines};

use super::page::{Page, clean_line};
use crate::block::Block;
use crate::look::Appearance;
use crate::web_address::is_web;

/// Addresses with what they are.
#[derive(Debug)]
pub(crate) struct LinksBlock(Vec<(&'static str, String)>);

impl LinksBlock {
    /// Makes a block of labels and web addresses.
    pub(crate) fn new(links: Vec<(&'static str, String)>) -> Self {
        let clean = links
            .into_iter()
            .map(|(label, address)| (label, clean_line(&address)));
        Self(clean.collect())
    }
}

impl Block for LinksBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let mut page = Page::new(width, appearance.output_padding, appearance);
        for (label, address) in &self.0 {
            let label = appearance.paint(ColorToken::Dim, &format!("{label}: "));
            let shown = appearance.paint(ColorToken::Accent, address);
            if appearance.capabilities.hyperlinks && is_web(address) {
                page.styled(&format!(
                    "{label}\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\"
                ));
            } else {
                page.styled(&format!("{label}{shown}"));
            }
        }
        page.plain().into()
    }

    fn generation(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_addresses_are_links_where_there_are_links() {
        let addresses = vec![
            ("Share URL", "https://example.com/#1".to_owned()),
            ("Gist", "javascript:\u{1b}]8;;x".to_owned()),
        ];
        let mut block = LinksBlock::new(addresses);
        let mut appearance = Appearance::for_tests();
        appearance.capabilities.hyperlinks = true;
        let lines = block.lines(60, &appearance);
        let text: Vec<&str> = lines.iter().map(pi_tui::Line::as_str).collect();
        let text = text.join("\n");
        assert_eq!(text.matches("\x1b]8;;https://example.com/#1").count(), 1);
        assert_eq!(text.matches("\x1b]8;;").count(), 2);
        appearance.capabilities.hyperlinks = false;
        let lines = block.lines(60, &appearance);
        assert!(lines.iter().all(|line| !line.contains("\x1b]8")));
    }
}
