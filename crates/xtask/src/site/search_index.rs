//! The index of the search: the text below every heading, as a module that the page loads with the first search.

use serde_json::{Value, json};

use super::render::RenderedPage;
use super::topics::Topic;

/// Builds the index of pages with their addresses.
#[derive(Debug, Default)]
pub(super) struct SearchIndex {
    pages: Vec<Value>,
    sections: Vec<Value>,
}

impl SearchIndex {
    pub(super) fn add(&mut self, address: &str, topic: &Topic, page: &RenderedPage) {
        let number = self.pages.len();
        self.pages.push(json!([
            address,
            page.title,
            topic.section.title(),
            format!("{} {}", topic.about, topic.keywords.join(" ")),
        ]));
        for section in &page.sections {
            let words: Vec<&str> = section.text.split_whitespace().collect();
            if words.is_empty() && section.anchor.is_empty() {
                continue;
            }
            self.sections.push(json!([
                number,
                section.anchor,
                section.heading,
                words.join(" ")
            ]));
        }
    }

    /// Returns the source of the module.
    pub(super) fn into_module(self) -> String {
        let index = json!({"pages": self.pages, "sections": self.sections});
        // JSON is an expression of JavaScript.
        format!("export default {index};\n")
    }
}
