//! Assistant messages, while they stream and afterwards.
//!
//! While a message streams, its parts are laid out incrementally; afterwards only their text is kept, and the
//! lines are cached by the view. Tool calls are separate blocks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use pi_host::ComponentId;
use pi_markdown::{Markdown, MarkdownOptions, MermaidRendering};
use pi_protocol::{AssistantBlock, AssistantMessage, StopReason};
use pi_tui::{ColorToken, Component, Line, Lines, MouseEvent, MouseOutcome, Style, Theme};
use pi_views::text::provider_error::{has_more, readable_error};
use pi_views::theme::ui_theme::RenderContext;

use super::extension_renderer::TextTransform;
use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::{BlockCanvas, is_click, mark_zone, markdown_theme};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerPartKind {
    Text,
    Thinking,
}

/// A text or thinking part.
#[derive(Debug)]
struct AnswerPart {
    /// Content index in the message.
    index: usize,
    kind: AnswerPartKind,
    text: String,
    /// The incremental layout while the text grows.
    growing: Option<Markdown>,
}

impl AnswerPart {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn message_type(&self) -> &'static str {
        match self.kind {
            AnswerPartKind::Text => "assistant",
            AnswerPartKind::Thinking => "assistant-thinking",
        }
    }

    /// Lays the part out; `transform` is the text that extensions show instead.
    fn lines(
        &mut self,
        width: usize,
        is_growing: bool,
        transform: Option<&str>,
        ctx: &RenderContext,
    ) -> Lines {
        let theme = markdown_theme(ctx);
        let style = match self.kind {
            AnswerPartKind::Text => Style::plain(),
            AnswerPartKind::Thinking => ctx.style(ColorToken::ThinkingText).italic(),
        };
        let text = self.text.trim();
        let fresh = |text: &str| {
            Markdown::new(text, theme.clone())
                .style(style)
                .options(MarkdownOptions {
                    mermaid: ctx.mermaid,
                    ..MarkdownOptions::default()
                })
                .padding(ctx.output_padding, 0)
        };
        if let Some(transform) = transform {
            return fresh(transform.trim()).render(width);
        }
        if !is_growing {
            return fresh(text).render(width);
        }
        let growing = self.growing.get_or_insert_with(|| fresh(""));
        growing.set_text(text);
        growing.render(width)
    }
}

/// How a message ended, if that is worth a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AnswerOutcome {
    Aborted,
    Failed(String),
    CutOff,
}

#[derive(Debug, Default)]
pub(crate) struct AssistantMessageBlock {
    parts: Vec<AnswerPart>,
    outcome: Option<AnswerOutcome>,
    is_finished: bool,
    /// Whether errors are shown as the provider sent them.
    expanded: bool,
    calls_tools: bool,
    generation: u64,
    /// Thinking runs that were clicked, and whether they are hidden now.
    clicked: HashMap<usize, bool>,
    /// Whether thinking was hidden in the last layout.
    hidden: bool,
    /// The rows of each thinking run in the last layout.
    thinking_rows: Vec<Range<usize>>,
    /// Theme, padding and diagram mode of the incremental layouts.
    layout_key: Option<(Arc<Theme>, usize, MermaidRendering)>,
    /// Incremented on changes that extensions with a text transform must see.
    revision: u64,
    transform: Option<TextTransform>,
}

impl AssistantMessageBlock {
    /// Starts with an empty message.
    pub(crate) fn arriving() -> Self {
        Self::default()
    }

    /// Creates a block for a complete message.
    pub(crate) fn of(message: &AssistantMessage) -> Self {
        let mut block = Self::default();
        block.finish(message);
        block
    }

    /// Lets extensions transform the texts.
    #[must_use]
    pub(crate) fn transformed_by(mut self, transform: Option<TextTransform>) -> Self {
        self.transform = transform;
        self
    }

    /// Accepts transformed texts.
    pub(crate) fn accept(&mut self, texts: Option<Vec<String>>) {
        if let Some(transform) = &mut self.transform {
            transform.accept(texts);
            self.generation += 1;
        }
    }

    /// Adds what has arrived since; the cost is proportional to the new text.
    pub(crate) fn grow(&mut self, message: &AssistantMessage) {
        for (index, block) in message.content.iter().enumerate() {
            let (kind, text) = match block {
                AssistantBlock::Text(text) => (AnswerPartKind::Text, &text.text),
                AssistantBlock::Thinking(thinking) => {
                    (AnswerPartKind::Thinking, &thinking.thinking)
                }
                AssistantBlock::ToolCall(_) => {
                    self.calls_tools = true;
                    continue;
                }
                AssistantBlock::Unknown(_) => continue,
            };
            self.grow_part(index, kind, text);
        }
    }

    fn grow_part(&mut self, index: usize, kind: AnswerPartKind, text: &str) {
        let position = self.parts.iter().position(|part| part.index == index);
        let part = match position.and_then(|position| self.parts.get_mut(position)) {
            Some(part) => part,
            None => {
                self.parts.push(AnswerPart {
                    index,
                    kind,
                    text: String::new(),
                    growing: None,
                });
                match self.parts.last_mut() {
                    Some(part) => part,
                    None => return,
                }
            }
        };
        if let Some(added) = text.get(part.text.len()..)
            && !added.is_empty()
        {
            part.text.push_str(added);
            self.generation += 1;
            self.revision += 1;
        }
    }

    /// Sets the complete message; nothing changes afterwards.
    pub(crate) fn finish(&mut self, message: &AssistantMessage) {
        self.parts.clear();
        self.grow(message);
        self.calls_tools = message.tool_calls().next().is_some();
        self.outcome = outcome_of(message, self.calls_tools);
        self.is_finished = true;
        self.generation += 1;
        self.revision += 1;
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.outcome.is_none() && self.parts.iter().all(AnswerPart::is_blank)
    }

    /// Drops incremental layouts of another theme or padding.
    fn drop_stale_layouts(&mut self, ctx: &RenderContext) {
        if self.hidden != ctx.hide_thinking {
            self.hidden = ctx.hide_thinking;
            self.clicked.clear();
        }
        let style_key = (Arc::clone(&ctx.theme), ctx.output_padding, ctx.mermaid);
        let same = self.layout_key.as_ref().is_some_and(|layout| {
            Arc::ptr_eq(&layout.0, &style_key.0)
                && (layout.1, layout.2) == (style_key.1, style_key.2)
        });
        if !same {
            self.layout_key = Some(style_key);
            for part in &mut self.parts {
                part.growing = None;
            }
        }
    }

    fn parts_lines(&mut self, width: usize, ctx: &RenderContext) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let is_growing = !self.is_finished;
        let mut previous: Option<AnswerPartKind> = None;
        if let Some(transform) = &mut self.transform {
            let parts = self.parts.iter();
            let parts = parts.map(|part| (part.message_type(), part.text.as_str()));
            transform.request(width, ctx, (self.revision, is_growing), parts);
        }
        let parts = self.parts.iter_mut().enumerate();
        for (position, part) in parts.filter(|(_, part)| !part.is_blank()) {
            let continues = previous == Some(part.kind) && part.kind == AnswerPartKind::Thinking;
            let run = self.thinking_rows.len();
            let run = if continues { run - 1 } else { run };
            let is_hidden = part.kind == AnswerPartKind::Thinking
                && self.clicked.get(&run).copied().unwrap_or(self.hidden);
            if continues && is_hidden {
                continue;
            }
            // Consecutive texts have no gap, as the model wrote them.
            if previous.is_some_and(|kind| kind == AnswerPartKind::Thinking)
                || continues
                || lines.is_empty()
            {
                lines.push(Line::default());
            }
            let start = if continues {
                self.thinking_rows
                    .pop()
                    .map_or(lines.len(), |rows| rows.start)
            } else {
                lines.len()
            };
            if is_hidden {
                let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
                let style = ctx.style(ColorToken::ThinkingText).italic();
                let label = ctx.thinking_label.as_deref();
                canvas.styled(&style.apply(label.unwrap_or("Thinking…")));
                lines.extend(canvas.plain().into_iter().skip(1));
            } else {
                let transform = self.transform.as_ref();
                let transform = transform.and_then(|transform| transform.text(position));
                let rendered = part.lines(width, is_growing, transform, ctx);
                lines.extend(rendered.iter().cloned());
            }
            if part.kind == AnswerPartKind::Thinking {
                self.thinking_rows.push(start..lines.len());
            }
            previous = Some(part.kind);
        }
        lines
    }
}

fn outcome_of(message: &AssistantMessage, calls_tools: bool) -> Option<AnswerOutcome> {
    match message.stop_reason {
        StopReason::Length => Some(AnswerOutcome::CutOff),
        // The tool calls show their own outcome.
        StopReason::Aborted | StopReason::Error if calls_tools => None,
        StopReason::Aborted => Some(AnswerOutcome::Aborted),
        StopReason::Error => {
            let error = message.error_message.as_deref();
            Some(AnswerOutcome::Failed(error.unwrap_or("unknown").to_owned()))
        }
        StopReason::Pending | StopReason::Stop | StopReason::ToolUse | StopReason::Deferred => None,
    }
}

impl TranscriptBlock for AssistantMessageBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let room = ctx
            .text_width
            .map(|columns| columns + 2 * ctx.output_padding);
        let width = room.map_or(width, |room| width.min(room));
        self.drop_stale_layouts(ctx);
        self.thinking_rows.clear();
        let mut lines = self.parts_lines(width, ctx);
        if let Some(outcome) = &self.outcome {
            let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
            match outcome {
                AnswerOutcome::Aborted => canvas.text(ColorToken::Error, "Interrupted."),
                AnswerOutcome::Failed(error) if self.expanded => {
                    canvas.untrusted(ColorToken::Error, &format!("Error: {error}"));
                }
                AnswerOutcome::Failed(error) => {
                    let error = readable_error(error);
                    canvas.untrusted(ColorToken::Error, &format!("Error: {error}"));
                }
                AnswerOutcome::CutOff => canvas.text(
                    ColorToken::Error,
                    "Output token limit reached; the response is incomplete.",
                ),
            }
            lines.extend(canvas.plain());
        }
        if !self.calls_tools {
            mark_zone(&mut lines);
        }
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn set_expanded(&mut self, expanded: bool) {
        let has_more =
            matches!(&self.outcome, Some(AnswerOutcome::Failed(error)) if has_more(error));
        if has_more && self.expanded != expanded {
            self.generation += 1;
        }
        self.expanded = expanded;
    }

    fn row(&self) -> Option<ComponentId> {
        self.transform.as_ref().map(TextTransform::id)
    }

    fn links_files(&self) -> bool {
        true
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) {
            return MouseOutcome::default();
        }
        let run = self
            .thinking_rows
            .iter()
            .position(|rows| rows.contains(&event.row));
        let Some(run) = run else {
            return MouseOutcome::default();
        };
        let is_hidden = self.clicked.get(&run).copied().unwrap_or(self.hidden);
        self.clicked.insert(run, !is_hidden);
        self.generation += 1;
        MouseOutcome::handled()
    }
}
