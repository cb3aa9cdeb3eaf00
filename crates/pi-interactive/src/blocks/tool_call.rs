//! A call of a tool: its arguments while they arrive, its output while it runs, its result.
//!
//! What the tools show differs and is told in `tools`; this keeps the state they show.

use std::time::{Duration, Instant};

use pi_ai::InputBlock;
use pi_ai::json::JsonObject;
use pi_ai::partial_json::GrowingObject;
use pi_runtime::{ComponentId, RenderedToolCall};
use pi_tui::{ColorToken, Line, Lines, MouseEvent, MouseOutcome};
use serde_json::Value;

use super::drawer::{CallDrawer, CallState};
use super::growing_code::GrowingCode;
use super::page::{PANEL_PADDING, Page, Panel, clean, is_click};
use super::picture::Picture;
use super::tools::{self, EditPreviews};
use crate::block::Block;
use crate::look::Appearance;

/// How often the running time is shown anew.
const CLOCK: Duration = Duration::from_secs(1);

/// What is known of the arguments.
#[derive(Debug)]
enum Arguments {
    /// Their text is not complete.
    Arriving(GrowingObject),
    Complete(JsonObject),
}

impl Arguments {
    /// Reads what has arrived since the last time.
    fn read(&mut self) {
        if let Self::Arriving(growing) = self {
            growing.read();
        }
    }

    /// Returns what was read.
    fn known(&self) -> &JsonObject {
        match self {
            Self::Arriving(growing) => growing.object(),
            Self::Complete(arguments) => arguments,
        }
    }
}

/// Where a call is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The arguments arrive, or the call waits for its turn.
    Waiting,
    /// It runs since then.
    Running(Instant),
    /// It is over; how long it took, where we were there.
    Done(Option<Duration>),
}

/// What a tool returned, or has so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) pictures: Vec<Picture>,
    /// Data about the result, by the tool.
    pub(super) details: Option<Value>,
}

impl Output {
    fn new(content: &[InputBlock], details: Option<&Value>) -> Self {
        let mut output = Self {
            details: details.cloned(),
            ..Self::default()
        };
        let mut texts = Vec::new();
        for block in content {
            match block {
                InputBlock::Text(text) => texts.push(clean(&text.text)),
                InputBlock::Image(image) => output.pictures.push(Picture::new(image.clone())),
                InputBlock::Unknown(_) => {}
            }
        }
        output.text = texts.join("\n");
        output
    }
}

/// What a tool shows of a call.
#[derive(Debug)]
pub(super) struct Call<'block> {
    pub(super) name: &'block str,
    /// The arguments as far as they are known.
    pub(super) arguments: &'block JsonObject,
    /// The output as far as it is known.
    pub(super) output: Option<&'block Output>,
    pub(super) failed: bool,
    /// Where it is on its way.
    pub(super) progress: Progress,
    /// The present, for running times.
    pub(super) now: Option<Instant>,
    /// Colors of code in the arguments.
    pub(super) code: &'block mut GrowingCode,
    /// Changes in the arguments.
    pub(super) previews: &'block mut EditPreviews,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct ToolCallBlock {
    name: String,
    arguments: Arguments,
    progress: Progress,
    output: Option<Output>,
    failed: bool,
    now: Option<Instant>,
    code: GrowingCode,
    previews: EditPreviews,
    panel: Panel,
    expanded: bool,
    generation: u64,
    /// Counts what an extension that draws the call must see.
    revision: u64,
    drawer: Option<CallDrawer>,
}

impl ToolCallBlock {
    /// Begins with a call of which only the tool is known.
    pub(crate) fn arriving(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            arguments: Arguments::Arriving(GrowingObject::default()),
            progress: Progress::Waiting,
            output: None,
            failed: false,
            now: None,
            code: GrowingCode::default(),
            previews: EditPreviews::default(),
            panel: Panel::default(),
            expanded: false,
            generation: 0,
            revision: 0,
            drawer: None,
        }
    }

    /// Has an extension draw the call.
    #[must_use]
    pub(crate) fn drawn_by(mut self, drawer: Option<CallDrawer>) -> Self {
        self.drawer = drawer;
        self
    }

    /// Takes lines of the extension that draws the call.
    pub(crate) fn accept(&mut self, drawn: Option<RenderedToolCall>) {
        if let Some(drawer) = &mut self.drawer {
            drawer.accept(drawn);
            self.generation += 1;
        }
    }

    fn changed(&mut self) {
        self.generation += 1;
        self.revision += 1;
    }

    /// Begins with a call whose arguments are known.
    pub(crate) fn new(name: &str, arguments: &JsonObject) -> Self {
        let mut block = Self::arriving(name);
        block.arguments = Arguments::Complete(arguments.clone());
        block
    }

    /// Takes the next piece of the arguments' JSON text. It is read when it is shown, not before.
    pub(crate) fn arguments_arrived(&mut self, piece: &str) {
        if let Arguments::Arriving(growing) = &mut self.arguments {
            growing.push(piece);
            self.changed();
        }
    }

    /// Takes the whole arguments.
    pub(crate) fn set_arguments(&mut self, arguments: &JsonObject) {
        self.arguments = Arguments::Complete(arguments.clone());
        self.changed();
    }

    /// The tool begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        if self.progress == Progress::Waiting {
            self.progress = Progress::Running(now);
            self.now = Some(now);
            self.changed();
        }
    }

    /// The running tool has something to show.
    pub(crate) fn update(&mut self, content: &[InputBlock], details: Option<&Value>) {
        if !self.is_finished() {
            self.output = Some(Output::new(content, details));
            if let Some(drawer) = &mut self.drawer {
                drawer.set_result(content, details);
            }
            self.changed();
        }
    }

    /// The call is over. Without a time, its result was found in the session.
    pub(crate) fn end(
        &mut self,
        content: &[InputBlock],
        details: Option<&Value>,
        failed: bool,
        now: Option<Instant>,
    ) {
        let took = match (self.progress, now) {
            (Progress::Running(since), Some(now)) => Some(now.saturating_duration_since(since)),
            (Progress::Done(took), _) => took,
            (Progress::Waiting | Progress::Running(_), _) => None,
        };
        self.output = Some(Output::new(content, details));
        if let Some(drawer) = &mut self.drawer {
            drawer.set_result(content, details);
        }
        self.failed = failed;
        self.progress = Progress::Done(took);
        self.changed();
    }

    /// The call will never run: the answer it was part of failed or was stopped.
    pub(crate) fn give_up(&mut self, why: &str) {
        if !self.is_finished() {
            self.end(&[InputBlock::text(why)], None, true, None);
        }
    }

    fn pictures(&mut self, width: usize, appearance: &Appearance) -> Vec<Line> {
        let pictures = self
            .output
            .iter_mut()
            .flat_map(|output| &mut output.pictures);
        let mut lines = Vec::new();
        for picture in pictures {
            if let Some(rows) = picture.lines(width, appearance) {
                lines.push(Line::default());
                lines.extend(rows);
            }
        }
        lines
    }
}

impl ToolCallBlock {
    /// Returns the lines an extension has drawn of the call and of its result.
    fn foreign_lines(&mut self, width: usize, appearance: &Appearance) -> ForeignLines {
        let Some(drawer) = &mut self.drawer else {
            return ForeignLines::default();
        };
        let state = CallState {
            tool: &self.name,
            arguments: Value::Object(self.arguments.known().clone()),
            is_complete: matches!(self.arguments, Arguments::Complete(_)),
            is_running: matches!(self.progress, Progress::Running(_)),
            is_done: matches!(self.progress, Progress::Done(_)),
            failed: self.failed,
            expanded: self.expanded,
            revision: self.revision,
        };
        let renders_frame = drawer.renders_frame();
        let room = if renders_frame {
            width
        } else {
            Page::new(width, PANEL_PADDING, appearance).width()
        };
        let (call, result) = drawer.lines(room, appearance, &state);
        ForeignLines {
            call,
            result,
            renders_frame,
        }
    }
}

/// What an extension has drawn of a call.
#[derive(Debug, Default)]
struct ForeignLines {
    call: Option<Vec<Line>>,
    result: Option<Vec<Line>>,
    /// It draws the frame, too.
    renders_frame: bool,
}

impl Block for ToolCallBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        self.arguments.read();
        let foreign = self.foreign_lines(width, appearance);
        if foreign.renders_frame {
            let parts = foreign.call.into_iter().chain(foreign.result).flatten();
            let mut lines: Vec<Line> = parts.collect();
            if !lines.is_empty() {
                lines.insert(0, Line::default());
            }
            lines.extend(self.pictures(width, appearance));
            return lines.into();
        }
        let mut page = Page::new(width, PANEL_PADDING, appearance).expanded(self.expanded);
        let mut call = Call {
            name: &self.name,
            arguments: self.arguments.known(),
            output: self.output.as_ref(),
            failed: self.failed,
            progress: self.progress,
            now: self.now,
            code: &mut self.code,
            previews: &mut self.previews,
        };
        tools::draw_with(&mut call, &mut page, foreign.call, foreign.result);
        let background = match self.progress {
            Progress::Waiting | Progress::Running(_) => ColorToken::ToolPendingBg,
            Progress::Done(_) if self.failed => ColorToken::ToolErrorBg,
            Progress::Done(_) => ColorToken::ToolSuccessBg,
        };
        let mut lines = page.panel_again(background, &mut self.panel);
        lines.extend(self.pictures(width, appearance));
        if self.is_finished() {
            self.code = GrowingCode::default();
            self.previews = EditPreviews::default();
            self.panel = Panel::default();
        }
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            self.changed();
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self.progress, Progress::Done(_))
    }

    fn next_tick(&self) -> Option<Instant> {
        match (self.progress, self.now) {
            (Progress::Running(_), Some(now)) if tools::shows_time(&self.name) => Some(now + CLOCK),
            _ => None,
        }
    }

    fn tick(&mut self, now: Instant) {
        if self.next_tick().is_some_and(|tick| tick <= now) {
            self.now = Some(now);
            self.generation += 1;
        }
    }

    fn row(&self) -> Option<ComponentId> {
        self.drawer.as_ref().map(CallDrawer::id)
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) || self.output.is_none() {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }
}
