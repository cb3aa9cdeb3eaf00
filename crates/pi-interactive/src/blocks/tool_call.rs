//! Tool calls: streaming arguments, running output, result.
//!
//! `pi_views::tool_calls` renders each tool; this block holds the state.

use std::time::{Duration, Instant};

use pi_host::{ComponentId, RenderedToolCall};
use pi_protocol::InputBlock;
use pi_protocol::json::JsonObject;
use pi_protocol::partial_json::IncrementalObject;
use pi_tui::{ColorToken, Line, Lines, MouseEvent, MouseOutcome};
use pi_views::theme::ui_theme::RenderContext;
use serde_json::Value;

use super::extension_renderer::{CallRenderer, CallState};
use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::{BlockCanvas, PanelCache, is_click};
use pi_views::tool_calls::{self, CallOutput, CallProgress, CallView, EditPreviews, StreamingCode};

/// How often the elapsed time is updated.
const CLOCK: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum CallArguments {
    /// The JSON text is incomplete.
    Arriving(IncrementalObject),
    Complete(JsonObject),
}

impl CallArguments {
    /// Parses what has arrived since the last call.
    fn read(&mut self) {
        if let Self::Arriving(growing) = self {
            growing.read();
        }
    }

    /// Returns what has been parsed.
    fn known(&self) -> &JsonObject {
        match self {
            Self::Arriving(growing) => growing.object(),
            Self::Complete(arguments) => arguments,
        }
    }
}

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
    /// Incremented on changes that an extension renderer must see.
    revision: u64,
    renderer: Option<CallRenderer>,
    /// Whether another call is directly above; rows of calls form a group.
    follows_call: bool,
}

impl ToolCallBlock {
    /// Starts with only the tool's name.
    pub(crate) fn arriving(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            arguments: CallArguments::Arriving(IncrementalObject::default()),
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
            follows_call: false,
        }
    }

    /// Sets whether another call is directly above.
    pub(crate) fn set_follows_call(&mut self, follows: bool) {
        self.follows_call = follows;
    }

    /// Lets an extension draw the call.
    #[must_use]
    pub(crate) fn rendered_by(mut self, renderer: Option<CallRenderer>) -> Self {
        self.renderer = renderer;
        self
    }

    /// Accepts lines of the extension.
    pub(crate) fn accept(&mut self, drawn: Option<RenderedToolCall>) {
        if let Some(renderer) = &mut self.renderer {
            renderer.accept(drawn);
            self.generation += 1;
        }
    }

    fn changed(&mut self) {
        self.generation += 1;
        self.revision += 1;
    }

    /// Creates a call with complete arguments.
    pub(crate) fn new(name: &str, arguments: &JsonObject) -> Self {
        let mut block = Self::arriving(name);
        block.arguments = CallArguments::Complete(arguments.clone());
        block
    }

    /// Appends a piece of the arguments' JSON text. It is parsed when it is shown.
    pub(crate) fn arguments_arrived(&mut self, piece: &str) {
        if let CallArguments::Arriving(growing) = &mut self.arguments {
            growing.push(piece);
            self.changed();
        }
    }

    /// Sets the complete arguments.
    pub(crate) fn set_arguments(&mut self, arguments: &JsonObject) {
        self.arguments = CallArguments::Complete(arguments.clone());
        self.changed();
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        if self.progress == CallProgress::Waiting {
            self.progress = CallProgress::Running(now);
            self.now = Some(now);
            self.changed();
        }
    }

    /// Updates the partial output.
    pub(crate) fn update(&mut self, content: &[InputBlock], details: Option<&Value>) {
        if !self.is_finished() {
            self.output = Some(CallOutput::new(content, details));
            if let Some(renderer) = &mut self.renderer {
                renderer.set_result(content, details);
            }
            self.changed();
        }
    }

    /// Finishes the call.
    pub(crate) fn end(&mut self, content: &[InputBlock], details: Option<&Value>, failed: bool) {
        let took = match self.progress {
            CallProgress::Done(took) => took,
            CallProgress::Waiting | CallProgress::Running(_) => None,
        };
        self.output = Some(CallOutput::new(content, details));
        if let Some(renderer) = &mut self.renderer {
            renderer.set_result(content, details);
        }
        self.failed = failed;
        self.progress = CallProgress::Done(took);
        self.changed();
    }

    /// Sets how long a finished call took, as measured by the session. Calls that did not run have no duration.
    pub(crate) fn set_duration(&mut self, milliseconds: Option<u64>) {
        if let (CallProgress::Done(took), Some(milliseconds)) = (&mut self.progress, milliseconds) {
            *took = Some(Duration::from_millis(milliseconds));
            self.changed();
        }
    }

    /// Marks a call that will never run, because its message failed or was interrupted.
    pub(crate) fn cancel(&mut self, why: &str) {
        if !self.is_finished() {
            self.end(&[InputBlock::text(why)], None, true);
        }
    }

    /// Frees what only a growing call needs.
    fn drop_caches(&mut self) {
        if self.is_finished() {
            self.code = StreamingCode::default();
            self.previews = EditPreviews::default();
            self.panel = PanelCache::default();
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
    /// Returns the lines an extension has drawn for the call and its result.
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
            duration_ms: match self.progress {
                CallProgress::Done(Some(took)) => u64::try_from(took.as_millis()).ok(),
                _ => None,
            },
            failed: self.failed,
            expanded: self.expanded,
            revision: self.revision,
        };
        let renders_frame = renderer.renders_frame();
        let room = if renders_frame {
            width
        } else {
            BlockCanvas::new(width, ctx.output_padding, ctx).width()
        };
        let (call, result) = renderer.lines(room, ctx, &state);
        ExtensionLines {
            call,
            result,
            renders_frame,
        }
    }
}

/// Lines of a call drawn by an extension.
#[derive(Debug, Default)]
struct ExtensionLines {
    call: Option<Vec<Line>>,
    result: Option<Vec<Line>>,
    /// Whether it also draws the frame.
    renders_frame: bool,
}

impl TranscriptBlock for ToolCallBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        self.arguments.read();
        let extension = self.extension_lines(width, ctx);
        if extension.renders_frame {
            let parts = extension.call.into_iter().chain(extension.result).flatten();
            let mut lines: Vec<Line> = parts.collect();
            if !lines.is_empty() {
                lines.insert(0, Line::default());
            }
            lines.extend(self.images(width, ctx));
            return lines.into();
        }
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx).expanded(self.expanded);
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
        if self.renderer.is_none() && tool_calls::is_row(self.expanded, ctx.tool_rows) {
            tool_calls::draw_row(&mut call, &mut canvas);
            let mut lines = canvas.plain();
            if self.follows_call {
                lines.remove(0);
            }
            lines.extend(self.images(width, ctx));
            self.drop_caches();
            return lines.into();
        }
        tool_calls::draw_with(&mut call, &mut canvas, extension.call, extension.result);
        let background = match self.progress {
            CallProgress::Waiting | CallProgress::Running(_) => ColorToken::ToolPendingBg,
            CallProgress::Done(_) if self.failed => ColorToken::ToolErrorBg,
            CallProgress::Done(_) => ColorToken::ToolSuccessBg,
        };
        let mut lines = canvas.panel_cached(background, &mut self.panel);
        lines.extend(self.images(width, ctx));
        self.drop_caches();
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
            (CallProgress::Running(_), Some(now)) if tool_calls::shows_time(&self.name) => {
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

    fn links_files(&self) -> bool {
        true
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) || self.output.is_none() {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }
}
