//! A call of a tool: its arguments while they arrive, its output while it runs, its result.
//!
//! What the tools show differs and is told in `tools`; this keeps the state they show.

use std::time::{Duration, Instant};

use pi_ai::InputBlock;
use pi_ai::json::JsonObject;
use pi_ai::partial_json::GrowingObject;
use pi_runtime::{ComponentId, DrawnCall};
use pi_tui::{ColorToken, Line, Lines, MouseEvent, MouseOutcome};
use serde_json::Value;

use super::canvas::{BlockCanvas, PANEL_PADDING, PanelCache, clean, is_click};
use super::extension_renderer::{CallRenderer, CallState};
use super::image::ImagePreview;
use super::streaming_code::StreamingCode;
use super::tools::{self, EditPreviews};
use crate::block::Block;
use crate::ui_theme::RenderContext;

/// How often the running time is shown anew.
const CLOCK: Duration = Duration::from_secs(1);

/// What is known of the arguments.
#[derive(Debug)]
enum CallArguments {
    /// Their text is not complete.
    Arriving(GrowingObject),
    Complete(JsonObject),
}

impl CallArguments {
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
pub(super) enum CallProgress {
    /// The arguments arrive, or the call waits for its turn.
    Waiting,
    /// It runs since then.
    Running(Instant),
    /// It is over; how long it took, where we were there.
    Done(Option<Duration>),
}

/// What a tool returned, or has so far.
#[derive(Debug, Default)]
pub(super) struct CallOutput {
    pub(super) text: String,
    pub(super) images: Vec<ImagePreview>,
    /// Data about the result, by the tool.
    pub(super) details: Option<Value>,
}

impl CallOutput {
    fn new(content: &[InputBlock], details: Option<&Value>) -> Self {
        let mut output = Self {
            details: details.cloned(),
            ..Self::default()
        };
        let mut texts = Vec::new();
        for block in content {
            match block {
                InputBlock::Text(text) => texts.push(clean(&text.text)),
                InputBlock::Image(image) => output.images.push(ImagePreview::new(image.clone())),
                InputBlock::Unknown(_) => {}
            }
        }
        output.text = texts.join("\n");
        output
    }
}

/// What a tool shows of a call.
#[derive(Debug)]
pub(super) struct CallView<'block> {
    pub(super) name: &'block str,
    /// The arguments as far as they are known.
    pub(super) arguments: &'block JsonObject,
    /// The output as far as it is known.
    pub(super) output: Option<&'block CallOutput>,
    pub(super) failed: bool,
    /// Where it is on its way.
    pub(super) progress: CallProgress,
    /// The present, for running times.
    pub(super) now: Option<Instant>,
    /// Colors of code in the arguments.
    pub(super) code: &'block mut StreamingCode,
    /// Changes in the arguments.
    pub(super) previews: &'block mut EditPreviews,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct ToolCallBlock {
    name: String,
    arguments: CallArguments,
    progress: CallProgress,
    output: Option<CallOutput>,
    failed: bool,
    now: Option<Instant>,
    code: StreamingCode,
    previews: EditPreviews,
    panel: PanelCache,
    expanded: bool,
    generation: u64,
    /// Counts what an extension that draws the call must see.
    revision: u64,
    renderer: Option<CallRenderer>,
}

impl ToolCallBlock {
    /// Begins with a call of which only the tool is known.
    pub(crate) fn arriving(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            arguments: CallArguments::Arriving(GrowingObject::default()),
            progress: CallProgress::Waiting,
            output: None,
            failed: false,
            now: None,
            code: StreamingCode::default(),
            previews: EditPreviews::default(),
            panel: PanelCache::default(),
            expanded: false,
            generation: 0,
            revision: 0,
            renderer: None,
        }
    }

    /// Has an extension draw the call.
    #[must_use]
    pub(crate) fn rendered_by(mut self, renderer: Option<CallRenderer>) -> Self {
        self.renderer = renderer;
        self
    }

    /// Takes lines of the extension that draws the call.
    pub(crate) fn accept(&mut self, drawn: Option<DrawnCall>) {
        if let Some(renderer) = &mut self.renderer {
            renderer.accept(drawn);
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
        block.arguments = CallArguments::Complete(arguments.clone());
        block
    }

    /// Takes the next piece of the arguments' JSON text. It is read when it is shown, not before.
    pub(crate) fn arguments_arrived(&mut self, piece: &str) {
        if let CallArguments::Arriving(growing) = &mut self.arguments {
            growing.push(piece);
            self.changed();
        }
    }

    /// Takes the whole arguments.
    pub(crate) fn set_arguments(&mut self, arguments: &JsonObject) {
        self.arguments = CallArguments::Complete(arguments.clone());
        self.changed();
    }

    /// The tool begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        if self.progress == CallProgress::Waiting {
            self.progress = CallProgress::Running(now);
            self.now = Some(now);
            self.changed();
        }
    }

    /// The running tool has something to show.
    pub(crate) fn update(&mut self, content: &[InputBlock], details: Option<&Value>) {
        if !self.is_finished() {
            self.output = Some(CallOutput::new(content, details));
            if let Some(renderer) = &mut self.renderer {
                renderer.set_result(content, details);
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
            (CallProgress::Running(since), Some(now)) => Some(now.saturating_duration_since(since)),
            (CallProgress::Done(took), _) => took,
            (CallProgress::Waiting | CallProgress::Running(_), _) => None,
        };
        self.output = Some(CallOutput::new(content, details));
        if let Some(renderer) = &mut self.renderer {
            renderer.set_result(content, details);
        }
        self.failed = failed;
        self.progress = CallProgress::Done(took);
        self.changed();
    }

    /// The call will never run: the answer it was part of failed or was stopped.
    pub(crate) fn cancel(&mut self, why: &str) {
        if !self.is_finished() {
            self.end(&[InputBlock::text(why)], None, true, None);
        }
    }

    fn images(&mut self, width: usize, ctx: &RenderContext) -> Vec<Line> {
        let images = self.output.iter_mut().flat_map(|output| &mut output.images);
        let mut lines = Vec::new();
        for image in images {
            if let Some(rows) = image.lines(width, ctx) {
                lines.push(Line::default());
                lines.extend(rows);
            }
        }
        lines
    }
}

impl ToolCallBlock {
    /// Returns the lines an extension has drawn of the call and of its result.
    fn extension_lines(&mut self, width: usize, ctx: &RenderContext) -> ExtensionLines {
        let Some(renderer) = &mut self.renderer else {
            return ExtensionLines::default();
        };
        let state = CallState {
            tool: &self.name,
            arguments: Value::Object(self.arguments.known().clone()),
            is_complete: matches!(self.arguments, CallArguments::Complete(_)),
            is_running: matches!(self.progress, CallProgress::Running(_)),
            is_done: matches!(self.progress, CallProgress::Done(_)),
            failed: self.failed,
            expanded: self.expanded,
            revision: self.revision,
        };
        let draws_frame = renderer.draws_frame();
        let room = if draws_frame {
            width
        } else {
            BlockCanvas::new(width, PANEL_PADDING, ctx).width()
        };
        let (call, result) = renderer.lines(room, ctx, &state);
        ExtensionLines {
            call,
            result,
            draws_frame,
        }
    }
}

/// What an extension has drawn of a call.
#[derive(Debug, Default)]
struct ExtensionLines {
    call: Option<Vec<Line>>,
    result: Option<Vec<Line>>,
    /// It draws the frame, too.
    draws_frame: bool,
}

impl Block for ToolCallBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        self.arguments.read();
        let extension = self.extension_lines(width, ctx);
        if extension.draws_frame {
            let parts = extension.call.into_iter().chain(extension.result).flatten();
            let mut lines: Vec<Line> = parts.collect();
            if !lines.is_empty() {
                lines.insert(0, Line::default());
            }
            lines.extend(self.images(width, ctx));
            return lines.into();
        }
        let mut canvas = BlockCanvas::new(width, PANEL_PADDING, ctx).expanded(self.expanded);
        let mut call = CallView {
            name: &self.name,
            arguments: self.arguments.known(),
            output: self.output.as_ref(),
            failed: self.failed,
            progress: self.progress,
            now: self.now,
            code: &mut self.code,
            previews: &mut self.previews,
        };
        tools::draw_with(&mut call, &mut canvas, extension.call, extension.result);
        let background = match self.progress {
            CallProgress::Waiting | CallProgress::Running(_) => ColorToken::ToolPendingBg,
            CallProgress::Done(_) if self.failed => ColorToken::ToolErrorBg,
            CallProgress::Done(_) => ColorToken::ToolSuccessBg,
        };
        let mut lines = canvas.panel_cached(background, &mut self.panel);
        lines.extend(self.images(width, ctx));
        if self.is_finished() {
            self.code = StreamingCode::default();
            self.previews = EditPreviews::default();
            self.panel = PanelCache::default();
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
        matches!(self.progress, CallProgress::Done(_))
    }

    fn next_tick(&self) -> Option<Instant> {
        match (self.progress, self.now) {
            (CallProgress::Running(_), Some(now)) if tools::shows_time(&self.name) => {
                Some(now + CLOCK)
            }
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
        self.renderer.as_ref().map(CallRenderer::id)
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) || self.output.is_none() {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }
}
