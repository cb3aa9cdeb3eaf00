//! The part of a block that an extension draws: asked for when it is out of date, kept until then.

use std::sync::Arc;

use pi_runtime::{ComponentId, DrawnCall, ToolRenderer};
use pi_tui::{Line, Theme};
use serde_json::{Value, json};

use crate::extension_ui::{DrawSubject, ExtensionUiBridge};
use crate::ui_theme::RenderContext;
use crate::untrusted_text::fitted_line;

/// What lines were asked for: the width, the colors, the state of the block.
type RequestKey = (usize, Arc<Theme>, u64);

/// Asks an extension for lines.
#[derive(Debug)]
pub(crate) struct ExtensionRenderer {
    id: ComponentId,
    bridge: ExtensionUiBridge,
    requested: Option<RequestKey>,
}

impl ExtensionRenderer {
    /// Makes a drawer with a number of its own.
    pub(crate) fn new(bridge: ExtensionUiBridge) -> Self {
        Self {
            id: bridge.new_row(),
            bridge,
            requested: None,
        }
    }

    /// Returns its number.
    pub(crate) fn id(&self) -> ComponentId {
        self.id
    }

    /// Asks for lines, unless those that were asked for are of this width, these colors and this
    /// state.
    fn ask(
        &mut self,
        width: usize,
        ctx: &RenderContext,
        state: u64,
        subject: impl FnOnce() -> DrawSubject,
    ) {
        let is_asked = self
            .requested
            .as_ref()
            .is_some_and(|(for_width, theme, of)| {
                *for_width == width && *of == state && Arc::ptr_eq(theme, &ctx.theme)
            });
        if !is_asked {
            self.requested = Some((width, Arc::clone(&ctx.theme), state));
            self.bridge.want(self.id, width, subject());
        }
    }
}

/// Returns lines of an extension at a width.
fn fitted(lines: &[String], width: usize) -> Vec<Line> {
    lines
        .iter()
        .map(|line| fitted_line(line, width).0.into())
        .collect()
}

/// How an extension draws a call of its tool.
#[derive(Debug)]
pub(crate) struct CallRenderer {
    renderer: ExtensionRenderer,
    tool_renderer: ToolRenderer,
    call_id: String,
    /// The result as the extension gave it.
    result: Option<Value>,
    drawn: DrawnCall,
}

/// What an extension must know of a call to draw it.
#[derive(Debug)]
pub(super) struct CallState<'block> {
    pub(super) tool: &'block str,
    pub(super) arguments: Value,
    pub(super) is_complete: bool,
    pub(super) is_running: bool,
    pub(super) is_done: bool,
    pub(super) failed: bool,
    pub(super) expanded: bool,
    pub(super) revision: u64,
}

impl CallRenderer {
    /// Has an extension draw a call.
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
            drawn: DrawnCall::default(),
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.renderer.id()
    }

    pub(super) fn draws_frame(&self) -> bool {
        self.tool_renderer.draws_frame
    }

    /// Takes the result so far.
    pub(super) fn set_result(&mut self, content: &[pi_ai::InputBlock], details: Option<&Value>) {
        self.result = Some(json!({ "content": content, "details": details }));
    }

    /// Takes lines; nothing where drawing failed, which leaves what was there.
    pub(super) fn accept(&mut self, drawn: Option<DrawnCall>) {
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
        self.renderer.ask(width, ctx, state.revision, || {
            DrawSubject::Call(json!({
                "extension": tool_renderer.extension,
                "tool": state.tool,
                "toolCallId": call_id,
                "args": state.arguments,
                "cwd": ctx.cwd,
                "executionStarted": state.is_running || state.is_done,
                "argsComplete": state.is_complete,
                "isPartial": !state.is_done,
                "expanded": state.expanded,
                "showImages": ctx.show_images,
                "isError": state.failed,
                "result": result,
            }))
        });
        let part = |lines: &Option<Vec<String>>| lines.as_ref().map(|lines| fitted(lines, width));
        (part(&self.drawn.call), part(&self.drawn.result))
    }
}

/// How an extension draws a message or an entry.
#[derive(Debug)]
pub(crate) struct CustomRenderer {
    renderer: ExtensionRenderer,
    kind: &'static str,
    custom_type: String,
    value: Value,
    drawn: Option<Vec<String>>,
}

impl CustomRenderer {
    /// Has an extension draw a message.
    pub(crate) fn message(bridge: ExtensionUiBridge, custom_type: &str, value: Value) -> Self {
        Self::new(bridge, "message", custom_type, value)
    }

    /// Has an extension draw an entry.
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
        self.renderer.ask(width, ctx, state, || {
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

/// How extensions want the texts of a block to be shown.
#[derive(Debug)]
pub(crate) struct TextTransform {
    renderer: ExtensionRenderer,
    texts: Vec<String>,
}

impl TextTransform {
    /// Asks extensions about the texts of a block.
    pub(crate) fn new(bridge: ExtensionUiBridge) -> Self {
        Self {
            renderer: ExtensionRenderer::new(bridge),
            texts: Vec::new(),
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.renderer.id()
    }

    /// Takes the texts; none leave those there were.
    pub(super) fn accept(&mut self, texts: Option<Vec<String>>) {
        if let Some(texts) = texts {
            self.texts = texts
                .iter()
                .map(|text| super::canvas::clean(text).into_owned())
                .collect();
        }
    }

    /// Asks for the texts of these parts, each with its kind.
    pub(super) fn ask<'part>(
        &mut self,
        width: usize,
        ctx: &RenderContext,
        (revision, is_streaming): (u64, bool),
        parts: impl Iterator<Item = (&'static str, &'part str)>,
    ) {
        self.renderer.ask(width, ctx, revision, || {
            let parts = parts.map(|(kind, text)| json!({ "messageType": kind, "text": text }));
            DrawSubject::TextTransform {
                parts: Value::Array(parts.collect()),
                shared: json!({ "isStreaming": is_streaming, "availableWidth": width }),
            }
        });
    }

    /// Returns the text of a part, if extensions have had their say.
    pub(super) fn text(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(String::as_str)
    }
}
