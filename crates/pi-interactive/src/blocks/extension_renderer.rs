//! Parts of a block drawn by an extension: requested when stale, cached until then.

use std::sync::Arc;

use pi_host::{ComponentId, RenderedToolCall, ToolRenderer};
use pi_tui::{Line, Theme};
use pi_views::text::untrusted_text::fitted_line;
use pi_views::theme::ui_theme::RenderContext;
use serde_json::{Value, json};

use crate::extensions::bridge::{DrawSubject, ExtensionUiBridge};

/// Key of a request: width, theme, and state of the block.
type RequestKey = (usize, Arc<Theme>, u64);

/// Requests lines from an extension.
#[derive(Debug)]
pub(crate) struct ExtensionRenderer {
    id: ComponentId,
    bridge: ExtensionUiBridge,
    requested: Option<RequestKey>,
}

impl ExtensionRenderer {
    /// Creates a renderer with a new component ID.
    pub(crate) fn new(bridge: ExtensionUiBridge) -> Self {
        Self {
            id: bridge.new_row(),
            bridge,
            requested: None,
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.id
    }

    /// Requests lines, unless they were already requested for this width, theme and state.
    fn request(
        &mut self,
        width: usize,
        ctx: &RenderContext,
        state: u64,
        subject: impl FnOnce() -> DrawSubject,
    ) {
        let is_requested = self
            .requested
            .as_ref()
            .is_some_and(|(for_width, theme, of)| {
                *for_width == width && *of == state && Arc::ptr_eq(theme, &ctx.theme)
            });
        if !is_requested {
            self.requested = Some((width, Arc::clone(&ctx.theme), state));
            self.bridge.request_draw(self.id, width, subject());
        }
    }
}

/// Truncates an extension's lines to a width.
fn fitted(lines: &[String], width: usize) -> Vec<Line> {
    lines
        .iter()
        .map(|line| fitted_line(line, width).0.into())
        .collect()
}

/// Draws a tool call by an extension.
#[derive(Debug)]
pub(crate) struct CallRenderer {
    renderer: ExtensionRenderer,
    tool_renderer: ToolRenderer,
    call_id: String,
    /// The result as returned by the extension's tool.
    result: Option<Value>,
    drawn: RenderedToolCall,
}

/// The state an extension needs to draw a call.
#[derive(Debug)]
pub(super) struct CallState<'block> {
    pub(super) tool: &'block str,
    pub(super) arguments: Value,
    pub(super) is_complete: bool,
    pub(super) is_running: bool,
    pub(super) is_done: bool,
    /// How long a finished call took, in milliseconds.
    pub(super) duration_ms: Option<u64>,
    pub(super) failed: bool,
    pub(super) expanded: bool,
    pub(super) revision: u64,
}

impl CallRenderer {
    pub(crate) fn new(
        bridge: ExtensionUiBridge,
        tool_renderer: ToolRenderer,
        call_id: &str,
    ) -> Self {
        Self {
            renderer: ExtensionRenderer::new(bridge),
            tool_renderer,
            call_id: call_id.to_owned(),
            result: None,
            drawn: RenderedToolCall::default(),
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.renderer.id()
    }

    pub(super) fn renders_frame(&self) -> bool {
        self.tool_renderer.renders_frame
    }

    /// Sets the result so far.
    pub(super) fn set_result(
        &mut self,
        content: &[pi_protocol::InputBlock],
        details: Option<&Value>,
    ) {
        self.result = Some(json!({ "content": content, "details": details }));
    }

    /// Accepts lines; `None` after a failed draw keeps the previous ones.
    pub(super) fn accept(&mut self, drawn: Option<RenderedToolCall>) {
        if let Some(drawn) = drawn {
            self.drawn = drawn;
        }
    }

    /// Returns the lines of the call and of its result, as far as the extension has drawn them.
    pub(super) fn lines(
        &mut self,
        width: usize,
        ctx: &RenderContext,
        state: &CallState<'_>,
    ) -> (Option<Vec<Line>>, Option<Vec<Line>>) {
        let (tool_renderer, call_id, result) = (&self.tool_renderer, &self.call_id, &self.result);
        self.renderer.request(width, ctx, state.revision, || {
            DrawSubject::Call(json!({
                "extension": tool_renderer.extension,
                "tool": state.tool,
                "toolCallId": call_id,
                "args": state.arguments,
                "cwd": ctx.cwd.to_string_lossy(),
                "executionStarted": state.is_running || state.is_done,
                "argsComplete": state.is_complete,
                "isPartial": !state.is_done,
                "expanded": state.expanded,
                "showImages": ctx.show_images,
                "isError": state.failed,
                "outputPad": ctx.output_padding,
                "durationMs": state.duration_ms,
                "result": result,
            }))
        });
        let part = |lines: &Option<Vec<String>>| lines.as_ref().map(|lines| fitted(lines, width));
        (part(&self.drawn.call), part(&self.drawn.result))
    }
}

/// Draws a message or entry by an extension.
#[derive(Debug)]
pub(crate) struct CustomRenderer {
    renderer: ExtensionRenderer,
    kind: &'static str,
    custom_type: String,
    value: Value,
    drawn: Option<Vec<String>>,
}

impl CustomRenderer {
    pub(crate) fn message(bridge: ExtensionUiBridge, custom_type: &str, value: Value) -> Self {
        Self::new(bridge, "message", custom_type, value)
    }

    pub(crate) fn entry(bridge: ExtensionUiBridge, custom_type: &str, value: Value) -> Self {
        Self::new(bridge, "entry", custom_type, value)
    }

    fn new(bridge: ExtensionUiBridge, kind: &'static str, custom_type: &str, value: Value) -> Self {
        Self {
            renderer: ExtensionRenderer::new(bridge),
            kind,
            custom_type: custom_type.to_owned(),
            value,
            drawn: None,
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.renderer.id()
    }

    pub(super) fn accept(&mut self, drawn: Option<Vec<String>>) {
        self.drawn = drawn;
    }

    /// Returns the lines, if the extension has drawn any.
    pub(super) fn lines(
        &mut self,
        width: usize,
        ctx: &RenderContext,
        expanded: bool,
    ) -> Option<Vec<Line>> {
        let (kind, custom_type, value) = (self.kind, &self.custom_type, &self.value);
        let state = u64::from(expanded);
        self.renderer.request(width, ctx, state, || {
            DrawSubject::Custom(json!({
                "kind": kind,
                "type": custom_type,
                "value": value,
                "expanded": expanded,
                "outputPad": ctx.output_padding,
            }))
        });
        self.drawn.as_ref().map(|lines| fitted(lines, width))
    }
}

/// Texts of a block as transformed by extensions.
#[derive(Debug)]
pub(crate) struct TextTransform {
    renderer: ExtensionRenderer,
    /// The entry of a message that was read from the session file.
    stored: Option<StoredEntry>,
    texts: Vec<String>,
}

/// ID and timestamp of an entry in the session file.
#[derive(Clone, Debug)]
pub(crate) struct StoredEntry {
    pub(crate) id: String,
    pub(crate) timestamp: String,
}

impl TextTransform {
    pub(crate) fn new(bridge: ExtensionUiBridge, stored: Option<StoredEntry>) -> Self {
        Self {
            renderer: ExtensionRenderer::new(bridge),
            stored,
            texts: Vec::new(),
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.renderer.id()
    }

    /// Accepts texts; `None` keeps the previous ones.
    pub(super) fn accept(&mut self, texts: Option<Vec<String>>) {
        if let Some(texts) = texts {
            self.texts = texts
                .iter()
                .map(|text| pi_views::canvas::clean(text).into_owned())
                .collect();
        }
    }

    /// Requests the texts of these parts, each with its kind.
    pub(super) fn request<'part>(
        &mut self,
        width: usize,
        ctx: &RenderContext,
        (revision, is_streaming): (u64, bool),
        parts: impl Iterator<Item = (&'static str, &'part str)>,
    ) {
        let stored = self.stored.as_ref();
        self.renderer.request(width, ctx, revision, || {
            let parts = parts.map(|(kind, text)| json!({ "messageType": kind, "text": text }));
            DrawSubject::Texts {
                parts: Value::Array(parts.collect()),
                shared: json!({
                    "isStreaming": is_streaming,
                    "availableWidth": width,
                    "messageId": stored.map(|entry| &entry.id),
                    "timestamp": stored.map(|entry| &entry.timestamp),
                }),
            }
        });
    }

    /// Returns the transformed text of a part, if available.
    pub(super) fn text(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(String::as_str)
    }
}
