//! Inline content: the text of paragraphs, headings and table cells.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::{Inline, MAX_DEPTH, MarkdownParser};

impl<'a, I: Iterator<Item = (Event<'a>, Range<usize>)>> MarkdownParser<'a, I> {
    /// Parses inline content: up to its end tag if it has one, otherwise up to the next block.
    pub(super) fn inlines(&mut self, depth: usize, end_tag: Option<()>) -> Vec<Inline> {
        let mut text = Vec::new();
        let mut ignored = 0;
        loop {
            match self.events.peek() {
                None | Some((Event::Rule, _)) => break,
                Some((Event::End(_), _)) if ignored > 0 => {
                    ignored -= 1;
                    self.events.next();
                    continue;
                }
                Some((Event::End(_), _)) => {
                    if end_tag.is_some() {
                        self.events.next();
                    }
                    break;
                }
                Some((Event::Start(tag), _)) if !is_inline(tag) => break,
                Some((Event::Start(_), _)) if depth >= MAX_DEPTH => {
                    ignored += 1;
                    self.events.next();
                    continue;
                }
                Some(_) => {}
            }
            let Some((event, range)) = self.events.next() else {
                break;
            };
            self.inline(event, &range, depth, &mut text);
        }
        text
    }

    fn inline(
        &mut self,
        event: Event<'a>,
        range: &Range<usize>,
        depth: usize,
        text: &mut Vec<Inline>,
    ) {
        match event {
            Event::Text(part) => {
                let part = self.restored(&part, range);
                let before = self.source.get(..range.start).unwrap_or_default();
                if self.keep_escapes && before.ends_with('\\') {
                    push_text(text, "\\");
                }
                push_text(text, &part);
            }
            Event::Code(code) => text.push(Inline::Code(self.restored(&code, range).into())),
            Event::InlineMath(math) | Event::DisplayMath(math) => {
                text.push(Inline::Math(self.restored(&math, range).into()));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                push_text(text, &self.restored(&html, range));
            }
            Event::SoftBreak | Event::HardBreak => text.push(Inline::Break),
            Event::TaskListMarker(done) => self.task = Some(done),
            Event::FootnoteReference(label) => push_text(text, &format!("[^{label}]")),
            Event::Rule | Event::End(_) => {}
            Event::Start(tag) => {
                let inside = self.inlines(depth + 1, Some(()));
                match tag {
                    Tag::Strong => text.push(Inline::Strong(inside)),
                    Tag::Emphasis => text.push(Inline::Emphasis(inside)),
                    Tag::Strikethrough if self.starts_with(range, "~~") => {
                        text.push(Inline::Strikethrough(inside));
                    }
                    // A single tilde more often means "about" than strikethrough.
                    Tag::Strikethrough => {
                        push_text(text, "~");
                        text.extend(inside);
                        push_text(text, "~");
                    }
                    Tag::Link {
                        dest_url,
                        link_type,
                        ..
                    } => {
                        let mail = if link_type == LinkType::Email {
                            "mailto:"
                        } else {
                            ""
                        };
                        let url = self.restored(&dest_url, range);
                        text.push(Inline::Link {
                            url: format!("{mail}{url}"),
                            text: inside,
                        });
                    }
                    Tag::Image { dest_url, .. } => text.push(Inline::Link {
                        url: self.restored(&dest_url, range).into(),
                        text: inside,
                    }),
                    _ => text.extend(inside),
                }
            }
        }
    }

    /// Returns the text of an event as it was written.
    pub(super) fn restored<'part>(
        &self,
        part: &'part str,
        range: &Range<usize>,
    ) -> Cow<'part, str> {
        match self.masked {
            Some(masked) => masked.restore(part, range),
            None => Cow::Borrowed(part),
        }
    }

    fn starts_with(&self, range: &Range<usize>, start: &str) -> bool {
        self.source
            .get(range.clone())
            .is_some_and(|source| source.starts_with(start))
    }
}

fn push_text(text: &mut Vec<Inline>, part: &str) {
    match text.last_mut() {
        Some(Inline::Text(last)) => last.push_str(part),
        _ => text.push(Inline::Text(part.to_owned())),
    }
}

/// Whether a tag is inline.
pub(super) fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        TagEnd::from(tag.clone()),
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::Superscript
            | TagEnd::Subscript
    )
}
