//! A list of labeled URLs, shown as hyperlinks if the terminal supports them.

use pi_tui::{ColorToken, Lines};
use pi_views::text::web_address::is_web;
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::{BlockCanvas, clean_line};

#[derive(Debug)]
pub(crate) struct LinksBlock(Vec<(&'static str, String)>);

impl LinksBlock {
    pub(crate) fn new(links: Vec<(&'static str, String)>) -> Self {
        let clean = links
            .into_iter()
            .map(|(label, address)| (label, clean_line(&address)));
        Self(clean.collect())
    }
}

impl TranscriptBlock for LinksBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        for (label, address) in &self.0 {
            let label = ctx.paint(ColorToken::Dim, &format!("{label}: "));
            let shown = ctx.paint(ColorToken::Accent, address);
            if ctx.capabilities.hyperlinks && is_web(address) {
                canvas.styled(&format!(
                    "{label}\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\"
                ));
            } else {
                canvas.styled(&format!("{label}{shown}"));
            }
        }
        canvas.plain().into()
    }

    fn generation(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_urls_are_hyperlinks_if_supported() {
        let addresses = vec![
            ("Share URL", "https://example.com/#1".to_owned()),
            ("Gist", "javascript:\u{1b}]8;;x".to_owned()),
        ];
        let mut block = LinksBlock::new(addresses);
        let mut ctx = RenderContext::for_tests();
        ctx.capabilities.hyperlinks = true;
        let lines = block.lines(60, &ctx);
        let text: Vec<&str> = lines.iter().map(pi_tui::Line::as_str).collect();
        let text = text.join("\n");
        assert_eq!(text.matches("\x1b]8;;https://example.com/#1").count(), 1);
        assert_eq!(text.matches("\x1b]8;;").count(), 2);
        ctx.capabilities.hyperlinks = false;
        let lines = block.lines(60, &ctx);
        assert!(lines.iter().all(|line| !line.contains("\x1b]8")));
    }
}
