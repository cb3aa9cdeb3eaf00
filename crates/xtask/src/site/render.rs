//! Renders a Markdown page as HTML: anchors, links between pages, colored code, scrolling tables, screenshots in both
//! color schemes.

use anyhow::{Result, bail};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::highlight::highlighted;
use super::html::{attribute, escape, push, slug};
use super::images::ImageSizes;

const FIGURE_END: &str = "</figure>\n";

/// A heading of a page below its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageHeading {
    pub(super) level: u8,
    pub(super) anchor: String,
    pub(super) text: String,
}

/// The text below one heading, for the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageSection {
    /// Empty for the text below the title.
    pub(super) anchor: String,
    pub(super) heading: String,
    pub(super) text: String,
}

/// A rendered page.
#[derive(Debug, Clone, Default)]
pub(super) struct RenderedPage {
    pub(super) title: String,
    /// The first paragraph as text.
    pub(super) lead: String,
    /// Everything below the title.
    pub(super) html: String,
    pub(super) headings: Vec<PageHeading>,
    pub(super) sections: Vec<PageSection>,
}

/// Whether code is colored by syntax; the grammars take most of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeColors {
    Syntax,
    #[cfg(test)]
    None,
}

/// Renders `source`. `link` maps the target of a link or an image to an address of the site.
pub(super) fn render(
    source: &str,
    link: &dyn Fn(&str) -> String,
    images: &ImageSizes,
    colors: CodeColors,
) -> Result<RenderedPage> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = PageWriter {
        link,
        images,
        colors,
        page: RenderedPage::default(),
        heading: None,
        code: None,
        columns: Vec::new(),
        column: 0,
        in_table_head: false,
        raw_html: String::new(),
        in_image: false,
        lead_is_complete: false,
    };
    writer.page.sections.push(PageSection {
        anchor: String::new(),
        heading: String::new(),
        text: String::new(),
    });
    for event in Parser::new_ext(source, options) {
        writer.event(event)?;
    }
    Ok(writer.page)
}

struct PageWriter<'a> {
    link: &'a dyn Fn(&str) -> String,
    images: &'a ImageSizes,
    colors: CodeColors,
    page: RenderedPage,
    /// Level, HTML and text of the heading that is open.
    heading: Option<(u8, String, String)>,
    /// Language and text of the code block that is open.
    code: Option<(String, String)>,
    columns: Vec<Alignment>,
    column: usize,
    in_table_head: bool,
    raw_html: String,
    /// Whether text is the description of an image.
    in_image: bool,
    lead_is_complete: bool,
}

impl PageWriter<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Start(tag) => self.start(tag)?,
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.push(&format!("<code>{}</code>", escape(&text)));
                self.record(&text);
            }
            Event::SoftBreak => {
                self.push("\n");
                self.record(" ");
            }
            Event::HardBreak => self.push("<br>"),
            Event::Rule => self.push("<hr>"),
            Event::TaskListMarker(is_done) => self.push(if is_done { "☑ " } else { "☐ " }),
            Event::Html(html) => self.raw_html.push_str(&html),
            Event::InlineHtml(html) => {
                self.raw_html.push_str(&html);
                self.screenshot();
            }
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {
                bail!("formulas and footnotes are not enabled")
            }
        }
        Ok(())
    }

    fn start(&mut self, tag: Tag<'_>) -> Result<()> {
        match tag {
            Tag::Paragraph => self.push("<p>"),
            Tag::Heading { level, .. } => {
                self.heading = Some((number(level), String::new(), String::new()));
            }
            Tag::BlockQuote(_) => self.push("<blockquote>"),
            Tag::CodeBlock(kind) => {
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                // The words after the language are for the tests.
                let language = info.split([' ', ',']).next().unwrap_or_default();
                self.code = Some((language.to_owned(), String::new()));
            }
            Tag::List(None) => self.push("<ul>"),
            Tag::List(Some(1)) => self.push("<ol>"),
            Tag::List(Some(first)) => self.push(&format!("<ol start=\"{first}\">")),
            Tag::Item => self.push("<li>"),
            Tag::Table(columns) => {
                self.columns = columns;
                self.push("<div class=\"table\" tabindex=\"0\"><table>");
            }
            Tag::TableHead => {
                self.in_table_head = true;
                self.column = 0;
                self.push("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.push("<tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.push("<em>"),
            Tag::Strong => self.push("<strong>"),
            Tag::Strikethrough => self.push("<s>"),
            Tag::Link { dest_url, .. } => {
                let target = (self.link)(&dest_url);
                let opening = if target.contains("://") {
                    format!("<a href=\"{}\" rel=\"noopener\">", escape(&target))
                } else {
                    format!("<a href=\"{}\">", escape(&target))
                };
                self.push(&opening);
            }
            Tag::Image { dest_url, .. } => {
                let image = self.image(&dest_url, "", None);
                // The description follows as text.
                self.push(image.trim_end_matches("\">"));
                self.in_image = true;
            }
            Tag::HtmlBlock => self.raw_html.clear(),
            other => bail!("unsupported Markdown: {other:?}"),
        }
        Ok(())
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_paragraph();
                self.lead_is_complete |= !self.page.lead.is_empty();
                self.record(" ");
            }
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::BlockQuote(_) => self.push("</blockquote>\n"),
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    self.push(&code_block(&language, &code, self.colors));
                    self.record(&code);
                }
            }
            TagEnd::List(false) => self.push("</ul>\n"),
            TagEnd::List(true) => self.push("</ol>\n"),
            TagEnd::Item => {
                self.push("</li>\n");
                self.record(" ");
            }
            TagEnd::Table => self.push("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.in_table_head = false;
                self.push("</tr></thead><tbody>\n");
            }
            TagEnd::TableRow => self.push("</tr>\n"),
            TagEnd::TableCell => {
                self.push(if self.in_table_head { "</th>" } else { "</td>" });
                self.column += 1;
                self.record(" ");
            }
            TagEnd::Emphasis => self.push("</em>"),
            TagEnd::Strong => self.push("</strong>"),
            TagEnd::Strikethrough => self.push("</s>"),
            TagEnd::Link => self.push("</a>"),
            TagEnd::Image => {
                self.in_image = false;
                self.push("\">");
            }
            TagEnd::HtmlBlock => self.screenshot(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        self.push(&escape(text));
        if !self.in_image {
            self.record(text);
        }
    }

    fn push(&mut self, html: &str) {
        match &mut self.heading {
            Some((_, heading, _)) => heading.push_str(html),
            None => self.page.html.push_str(html),
        }
    }

    /// Adds text to the search, and to the open heading or the lead.
    fn record(&mut self, text: &str) {
        if let Some((_, _, heading)) = &mut self.heading {
            heading.push_str(text);
            return;
        }
        if !self.lead_is_complete {
            self.page.lead.push_str(text);
        }
        if let Some(section) = self.page.sections.last_mut() {
            section.text.push_str(text);
        }
    }

    /// Closes a paragraph; one that is a screenshot is none.
    fn end_paragraph(&mut self) {
        const OPENING: &str = "<p><figure>";
        let html = &mut self.page.html;
        match html.rfind(OPENING).filter(|_| html.ends_with(FIGURE_END)) {
            Some(start) => html.replace_range(start..start + "<p>".len(), ""),
            None => self.push("</p>\n"),
        }
    }

    fn start_cell(&mut self) {
        let name = if self.in_table_head { "th" } else { "td" };
        let class = match self.columns.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        self.push(&format!("<{name}{class}>"));
    }

    fn end_heading(&mut self) {
        let Some((level, html, text)) = self.heading.take() else {
            return;
        };
        if level == 1 {
            self.page.title = text;
            return;
        }
        let anchor = self.unused_anchor(&text);
        push(
            &mut self.page.html,
            format_args!(
                "<h{level} id=\"{anchor}\">{html}<a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to this section\">#</a></h{level}>\n"
            ),
        );
        self.lead_is_complete = true;
        self.page.sections.push(PageSection {
            anchor: anchor.clone(),
            heading: text.clone(),
            text: String::new(),
        });
        self.page.headings.push(PageHeading {
            level,
            anchor,
            text,
        });
    }

    /// Returns the anchor of a heading; a heading that repeats gets a number.
    fn unused_anchor(&self, text: &str) -> String {
        let anchor = slug(text);
        let is_used = |anchor: &str| self.page.headings.iter().any(|it| it.anchor == anchor);
        if !is_used(&anchor) {
            return anchor;
        }
        let mut numbered = (1..).map(|number| format!("{anchor}-{number}"));
        numbered.find(|it| !is_used(it)).unwrap_or_default()
    }

    /// Writes the screenshot that the collected HTML contains. Comments are dropped; other tags are text, such as
    /// `<package>` in a command.
    fn screenshot(&mut self) {
        let html = std::mem::take(&mut self.raw_html);
        let trimmed = html.trim();
        if trimmed.is_empty() || trimmed.starts_with("<!--") {
            return;
        }
        if trimmed.starts_with("<picture>") && !trimmed.ends_with("</picture>") {
            // Inline tags arrive one by one.
            self.raw_html = html;
            return;
        }
        let image = trimmed.split_once("<img").map(|(_, image)| image);
        let Some((image, source)) = image.and_then(|image| Some((image, attribute(image, "src")?)))
        else {
            self.push(&escape(&html));
            self.record(&html);
            return;
        };
        let html = trimmed;
        let description = attribute(image, "alt").unwrap_or_default();
        let width = attribute(image, "width");
        let mut figure = "<figure>".to_owned();
        match attribute(html, "srcset") {
            Some(dark) => {
                for (class, source) in [("in-light", source), ("in-dark", dark)] {
                    let image = self.image(source, description, width);
                    figure.push_str(&image.replace("<img ", &format!("<img class=\"{class}\" ")));
                }
            }
            None => figure.push_str(&self.image(source, description, width)),
        }
        figure.push_str(FIGURE_END);
        self.push(&figure);
    }

    /// Returns an image with the size of its file, so that the page does not move while it loads.
    fn image(&self, source: &str, description: &str, width: Option<&str>) -> String {
        let size = self.images.size(source);
        let shown = width
            .and_then(|width| width.parse().ok())
            .or_else(|| size.map(|(width, _)| width));
        let mut attributes = String::new();
        if let (Some((width, height)), Some(shown)) = (size, shown) {
            let height = (u64::from(height) * u64::from(shown)).div_ceil(u64::from(width.max(1)));
            attributes = format!("width=\"{shown}\" height=\"{height}\" ");
        }
        format!(
            "<img src=\"{}\" loading=\"lazy\" {attributes}alt=\"{}\">",
            escape(&(self.link)(source)),
            escape(description)
        )
    }
}

fn code_block(language: &str, code: &str, colors: CodeColors) -> String {
    let code = match colors {
        CodeColors::Syntax => highlighted(code, language),
        #[cfg(test)]
        CodeColors::None => escape(code),
    };
    let label = if language.is_empty() {
        "text"
    } else {
        language
    };
    format!(
        "<div class=\"code\" data-language=\"{}\"><pre tabindex=\"0\"><code>{code}</code></pre></div>\n",
        escape(label)
    )
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
