//! What the model said and thought, while it arrives and afterwards.
//!
//! While an answer arrives its parts are laid out piece by piece; afterwards only their text is
//! kept, and the lines with whoever shows the block. Tool calls are blocks of their own.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use pi_ai::{AssistantBlock, AssistantMessage, StopReason};
use pi_runtime::ComponentId;
use pi_tui::{
    ColorToken, Component, Line, Lines, Markdown, MarkdownOptions, MermaidRendering, MouseEvent,
    MouseOutcome, Style, Theme,
};

use super::drawer::Wording;
use super::page::{Page, is_click, mark_zone, markdown_theme};
use crate::block::Block;
use crate::look::Appearance;

/// What a part of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    Text,
    Thinking,
}

/// A text or a thought.
#[derive(Debug)]
struct Part {
    /// Its place in the message.
    index: usize,
    kind: PartKind,
    text: String,
    /// The layout so far, while the text grows.
    growing: Option<Markdown>,
}

impl Part {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn message_type(&self) -> &'static str {
        match self.kind {
            PartKind::Text => "assistant",
            PartKind::Thinking => "assistant-thinking",
        }
    }

    /// Lays the part out; `wording` is what extensions put in place of its text.
    fn lines(
        &mut self,
        width: usize,
        is_growing: bool,
        wording: Option<&str>,
        appearance: &Appearance,
    ) -> Lines {
        let theme = markdown_theme(appearance);
        let style = match self.kind {
            PartKind::Text => Style::plain(),
            PartKind::Thinking => appearance.style(ColorToken::ThinkingText).italic(),
        };
        let text = self.text.trim();
        let fresh = |text: &str| {
            Markdown::new(text, theme.clone())
                .style(style)
                .options(MarkdownOptions {
                    mermaid: appearance.mermaid,
                    ..MarkdownOptions::default()
                })
                .padding(appearance.output_padding, 0)
        };
        if let Some(wording) = wording {
            return fresh(wording.trim()).render(width);
        }
        if !is_growing {
            return fresh(text).render(width);
        }
        let growing = self.growing.get_or_insert_with(|| fresh(""));
        growing.set_text(text);
        growing.render(width)
    }
}

/// How an answer ended, where that is worth a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    Aborted,
    Failed(String),
    CutOff,
}

/// An answer of the model.
#[derive(Debug, Default)]
pub(crate) struct AnswerBlock {
    parts: Vec<Part>,
    ending: Option<Ending>,
    is_finished: bool,
    calls_tools: bool,
    generation: u64,
    /// Runs of thoughts that were clicked, and whether they are hidden now.
    clicked: HashMap<usize, bool>,
    /// Whether thinking was hidden in the last layout.
    hidden: bool,
    /// The rows of each run of thoughts in the last layout.
    thinking_rows: Vec<Range<usize>>,
    /// What the parts that grow were laid out with.
    laid_out_for: Option<(Arc<Theme>, usize, MermaidRendering)>,
    /// Counts what extensions that have a say in the wording must see.
    revision: u64,
    wording: Option<Wording>,
}

impl AnswerBlock {
    /// Begins with an answer that has not said anything.
    pub(crate) fn arriving() -> Self {
        Self::default()
    }

    /// Makes a block of a whole answer.
    pub(crate) fn of(message: &AssistantMessage) -> Self {
        let mut block = Self::default();
        block.finish(message);
        block
    }

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

    /// Takes over what has arrived since; work follows what is new.
    pub(crate) fn grow(&mut self, message: &AssistantMessage) {
        for (index, block) in message.content.iter().enumerate() {
            let (kind, text) = match block {
                AssistantBlock::Text(text) => (PartKind::Text, &text.text),
                AssistantBlock::Thinking(thinking) => (PartKind::Thinking, &thinking.thinking),
                AssistantBlock::ToolCall(_) => {
                    self.calls_tools = true;
                    continue;
                }
                AssistantBlock::Unknown(_) => continue,
            };
            self.grow_part(index, kind, text);
        }
    }

    fn grow_part(&mut self, index: usize, kind: PartKind, text: &str) {
        let known = self.parts.iter().position(|part| part.index == index);
        let part = match known.and_then(|position| self.parts.get_mut(position)) {
            Some(part) => part,
            None => {
                self.parts.push(Part {
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

    /// Takes the whole answer; nothing changes any more.
    pub(crate) fn finish(&mut self, message: &AssistantMessage) {
        self.parts.clear();
        self.grow(message);
        self.calls_tools = message.tool_calls().next().is_some();
        self.ending = ending(message, self.calls_tools);
        self.is_finished = true;
        self.generation += 1;
        self.revision += 1;
    }

    /// Returns whether there is nothing to show.
    pub(crate) fn is_blank(&self) -> bool {
        self.ending.is_none() && self.parts.iter().all(Part::is_blank)
    }

    /// Drops what belongs to another theme or padding.
    fn settle_looks(&mut self, appearance: &Appearance) {
        if self.hidden != appearance.hide_thinking {
            self.hidden = appearance.hide_thinking;
            self.clicked.clear();
        }
        let looks = (
            Arc::clone(&appearance.theme),
            appearance.output_padding,
            appearance.mermaid,
        );
        let same = self.laid_out_for.as_ref().is_some_and(|laid_out| {
            Arc::ptr_eq(&laid_out.0, &looks.0) && (laid_out.1, laid_out.2) == (looks.1, looks.2)
        });
        if !same {
            self.laid_out_for = Some(looks);
            for part in &mut self.parts {
                part.growing = None;
            }
        }
    }

    fn parts_lines(&mut self, width: usize, appearance: &Appearance) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let is_growing = !self.is_finished;
        let mut previous: Option<PartKind> = None;
        if let Some(wording) = &mut self.wording {
            let parts = self.parts.iter();
            let parts = parts.map(|part| (part.message_type(), part.text.as_str()));
            wording.ask(width, appearance, (self.revision, is_growing), parts);
        }
        let parts = self.parts.iter_mut().enumerate();
        for (position, part) in parts.filter(|(_, part)| !part.is_blank()) {
            let continues = previous == Some(part.kind) && part.kind == PartKind::Thinking;
            let run = self.thinking_rows.len();
            let run = if continues { run - 1 } else { run };
            let is_hidden = part.kind == PartKind::Thinking
                && self.clicked.get(&run).copied().unwrap_or(self.hidden);
            if continues && is_hidden {
                continue;
            }
            // Texts follow each other without a gap, as the model wrote them.
            if previous.is_some_and(|kind| kind == PartKind::Thinking)
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
                let mut page = Page::new(width, appearance.output_padding, appearance);
                let style = appearance.style(ColorToken::ThinkingText).italic();
                let label = appearance.thinking_label.as_deref();
                page.styled(&style.apply(label.unwrap_or("Thinking…")));
                lines.extend(page.plain().into_iter().skip(1));
            } else {
                let wording = self.wording.as_ref();
                let wording = wording.and_then(|wording| wording.text(position));
                let rendered = part.lines(width, is_growing, wording, appearance);
                lines.extend(rendered.iter().cloned());
            }
            if part.kind == PartKind::Thinking {
                self.thinking_rows.push(start..lines.len());
            }
            previous = Some(part.kind);
        }
        lines
    }
}

fn ending(message: &AssistantMessage, calls_tools: bool) -> Option<Ending> {
    match message.stop_reason {
        StopReason::Length => Some(Ending::CutOff),
        // The calls themselves say what happened to them.
        StopReason::Aborted | StopReason::Error if calls_tools => None,
        StopReason::Aborted => Some(Ending::Aborted),
        StopReason::Error => {
            let error = message.error_message.as_deref();
            Some(Ending::Failed(error.unwrap_or("unknown").to_owned()))
        }
        StopReason::Pending | StopReason::Stop | StopReason::ToolUse | StopReason::Deferred => None,
    }
}

impl Block for AnswerBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        self.settle_looks(appearance);
        self.thinking_rows.clear();
        let mut lines = self.parts_lines(width, appearance);
        if let Some(ending) = &self.ending {
            let mut page = Page::new(width, appearance.output_padding, appearance);
            match ending {
                Ending::Aborted => page.text(ColorToken::Error, "Stopped before the end."),
                Ending::Failed(error) => {
                    page.foreign(ColorToken::Error, &format!("Error: {error}"));
                }
                Ending::CutOff => page.text(
                    ColorToken::Error,
                    "The answer reached the limit of its length and was cut off.",
                ),
            }
            lines.extend(page.plain());
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

    fn row(&self) -> Option<ComponentId> {
        self.wording.as_ref().map(Wording::id)
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
