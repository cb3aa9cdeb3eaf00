//! Markdown and code rendering for extension components.

use pi_host::{HostError, NativeWidget};
use pi_markdown::{Markdown, MarkdownOptions, MarkdownTheme, SyntaxStyles};
use pi_tui::{Component as _, Style};
use serde::Deserialize;
use serde_json::{Value, json};

use super::styles::Paint;
use super::{member, unknown};

/// Colors of syntax elements.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SyntaxPaint {
    comment: Paint,
    keyword: Paint,
    function: Paint,
    variable: Paint,
    string: Paint,
    number: Paint,
    r#type: Paint,
    operator: Paint,
    punctuation: Paint,
}

impl SyntaxPaint {
    fn styles(&self) -> SyntaxStyles {
        SyntaxStyles {
            comment: self.comment.style(),
            keyword: self.keyword.style(),
            function: self.function.style(),
            variable: self.variable.style(),
            string: self.string.style(),
            number: self.number.style(),
            type_name: self.r#type.style(),
            operator: self.operator.style(),
            punctuation: self.punctuation.style(),
        }
    }
}

/// Markdown styles given by a component.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MarkdownPaint {
    heading: Paint,
    link: Paint,
    link_url: Paint,
    code: Paint,
    code_block: Paint,
    code_block_border: Paint,
    quote: Paint,
    quote_border: Paint,
    hr: Paint,
    list_bullet: Paint,
    syntax: Option<SyntaxPaint>,
    code_block_indent: Option<String>,
    hyperlinks: bool,
}

impl MarkdownPaint {
    fn theme(&self) -> MarkdownTheme {
        let defaults = MarkdownTheme::default();
        let code_block = self.code_block.style();
        let plain_code = SyntaxStyles {
            comment: code_block,
            keyword: code_block,
            function: code_block,
            variable: code_block,
            string: code_block,
            number: code_block,
            type_name: code_block,
            operator: code_block,
            punctuation: code_block,
        };
        MarkdownTheme {
            heading: self.heading.style(),
            link: self.link.style(),
            link_url: self.link_url.style(),
            code: self.code.style(),
            code_block,
            code_block_border: self.code_block_border.style(),
            quote: self.quote.style(),
            quote_border: self.quote_border.style(),
            rule: self.hr.style(),
            list_bullet: self.list_bullet.style(),
            syntax: self.syntax.as_ref().map_or(plain_code, SyntaxPaint::styles),
            code_indent: self
                .code_block_indent
                .clone()
                .unwrap_or(defaults.code_indent),
            hyperlinks: self.hyperlinks,
        }
    }
}

/// The default text style.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BaseStyle {
    color: Paint,
    bold: bool,
    italic: bool,
    strikethrough: bool,
    underline: bool,
}

impl BaseStyle {
    fn style(&self) -> Style {
        let style = self.color.style();
        Style {
            bold: style.bold || self.bold,
            italic: style.italic || self.italic,
            strikethrough: style.strikethrough || self.strikethrough,
            underline: style.underline || self.underline,
            ..style
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MarkdownWidgetOptions {
    text: String,
    padding_x: usize,
    padding_y: usize,
    paint: MarkdownPaint,
    base: BaseStyle,
    background: Option<Paint>,
    preserve_ordered_list_markers: bool,
    preserve_backslash_escapes: bool,
    render_latex: Option<bool>,
}

pub(super) struct MarkdownWidget(Markdown);

impl MarkdownWidget {
    pub(super) fn new(options: &MarkdownWidgetOptions) -> Self {
        let defaults = MarkdownOptions::default();
        let markdown = Markdown::new(&options.text, options.paint.theme())
            .padding(options.padding_x, options.padding_y)
            .style(options.base.style())
            .options(MarkdownOptions {
                keep_list_markers: options.preserve_ordered_list_markers,
                keep_escapes: options.preserve_backslash_escapes,
                latex: options.render_latex.unwrap_or(defaults.latex),
                ..defaults
            });
        Self(match &options.background {
            Some(background) => markdown.background(background.painter()),
            None => markdown,
        })
    }
}

impl NativeWidget for MarkdownWidget {
    fn call(&mut self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "render" => {
                let lines = self.0.render(member(&arguments, "width")?);
                let lines = lines.iter().map(|line| Value::from(line.as_str()));
                Ok(lines.collect())
            }
            "setText" => {
                self.0.set_text(&member::<String>(&arguments, "text")?);
                Ok(Value::Null)
            }
            _ => Err(unknown(method)),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct HighlightRequest {
    #[serde(rename = "code")]
    text: String,
    language: Option<String>,
    #[serde(default)]
    syntax: SyntaxPaint,
    #[serde(default)]
    plain: Paint,
}

/// Highlights code, line by line.
pub(super) fn highlight(code: &HighlightRequest) -> Value {
    let language = code.language.as_deref().unwrap_or_default();
    let lines = pi_markdown::highlight_code(
        &code.text,
        language,
        &code.syntax.styles(),
        code.plain.style(),
    );
    json!(lines)
}
