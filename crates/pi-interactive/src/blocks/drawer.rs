//! The part of a block that an extension draws: asked for when it is out of date, kept until then.

use std::sync::Arc;

use pi_runtime::{ComponentId, RenderedToolCall, ToolRenderer};
use pi_tui::{Line, Theme};
use serde_json::{Value, json};

use crate::extension_desk::{ExtensionDesk, Subject};
use crate::foreign_text::fitted_line;
use crate::look::Appearance;

/// What lines were asked for: the width, the colors, the state of the block.
type Asked = (usize, Arc<Theme>, u64);

/// Asks an extension for lines.
#[derive(Debug)]
pub(crate) struct Drawer {
    id: ComponentId,
    desk: ExtensionDesk,
    asked: Option<Asked>,
}

impl Drawer {
    /// Makes a drawer with a number of its own.
    pub(crate) fn new(desk: ExtensionDesk) -> Self {
        Self {
            id: desk.new_row(),
            desk,
            asked: None,
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
        appearance: &Appearance,
        state: u64,
        subject: impl FnOnce() -> Subject,
    ) {
        let is_asked = self.asked.as_ref().is_some_and(|(for_width, theme, of)| {
            *for_width == width && *of == state && Arc::ptr_eq(theme, &appearance.theme)
        });
        if !is_asked {
            self.asked = Some((width, Arc::clone(&appearance.theme), state));
            self.desk.want(self.id, width, subject());
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
pub(crate) struct CallDrawer {
    drawer: Drawer,
    renderer: ToolRenderer,
    call_id: String,
    /// The result as the extension gave it.
    result: Option<Value>,
    drawn: RenderedToolCall,
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

impl CallDrawer {
    /// Has an extension draw a call.
    pub(crate) fn new(desk: ExtensionDesk, renderer: ToolRenderer, call_id: &str) -> Self {
        Self {
            drawer: Drawer::new(desk),
            renderer,
            call_id: call_id.to_owned(),
            result: None,
            drawn: RenderedToolCall::default(),
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.drawer.id()
    }

    pub(super) fn renders_frame(&self) -> bool {
        self.renderer.renders_frame
    }

    /// Takes the result so far.
    pub(super) fn set_result(&mut self, content: &[pi_ai::InputBlock], details: Option<&Value>) {
        self.result = Some(json!({ "content": content, "details": details }));
    }

    /// Takes lines; nothing where drawing failed, which leaves what was there.
    pub(super) fn accept(&mut self, drawn: Option<RenderedToolCall>) {
        if let Some(drawn) = drawn {
            self.drawn = drawn;
        }
    }

    /// Returns the lines of the call and of its result, as far as the extension has drawn them.
    pub(super) fn lines(
        &mut self,
        width: usize,
        appearance: &Appearance,
        state: &CallState<'_>,
    ) -> (Option<Vec<Line>>, Option<Vec<Line>>) {
        let (renderer, call_id, result) = (&self.renderer, &self.call_id, &self.result);
        self.drawer.ask(width, appearance, state.revision, || {
            Subject::Call(json!({
                "extension": renderer.extension,
                "tool": state.tool,
                "toolCallId": call_id,
                "args": state.arguments,
                "cwd": appearance.cwd,
                "executionStarted": state.is_running || state.is_done,
                "argsComplete": state.is_complete,
                "isPartial": !state.is_done,
                "expanded": state.expanded,
                "showImages": appearance.show_images,
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
pub(crate) struct CustomDrawer {
    drawer: Drawer,
    kind: &'static str,
    custom_type: String,
    value: Value,
    drawn: Option<Vec<String>>,
}

impl CustomDrawer {
    /// Has an extension draw a message.
    pub(crate) fn message(desk: ExtensionDesk, custom_type: &str, value: Value) -> Self {
        Self::new(desk, "message", custom_type, value)
    }

    /// Has an extension draw an entry.
    pub(crate) fn entry(desk: ExtensionDesk, custom_type: &str, value: Value) -> Self {
        Self::new(desk, "entry", custom_type, value)
    }

    fn new(desk: ExtensionDesk, kind: &'static str, custom_type: &str, value: Value) -> Self {
        Self {
            drawer: Drawer::new(desk),
            kind,
            custom_type: custom_type.to_owned(),
            value,
            drawn: None,
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.drawer.id()
    }

    pub(super) fn accept(&mut self, drawn: Option<Vec<String>>) {
        self.drawn = drawn;
    }

    /// Returns the lines, if the extension has drawn any.
    pub(super) fn lines(
        &mut self,
        width: usize,
        appearance: &Appearance,
        expanded: bool,
    ) -> Option<Vec<Line>> {
        let (kind, custom_type, value) = (self.kind, &self.custom_type, &self.value);
        let state = u64::from(expanded);
        self.drawer.ask(width, appearance, state, || {
            Subject::Custom(json!({
                "kind": kind,
                "type": custom_type,
                "value": value,
                "expanded": expanded,
                "outputPad": appearance.output_padding,
            }))
        });
        self.drawn.as_ref().map(|lines| fitted(lines, width))
    }
}

/// How extensions want the texts of a block to be shown.
#[derive(Debug)]
pub(crate) struct Wording {
    drawer: Drawer,
    texts: Vec<String>,
}

impl Wording {
    /// Asks extensions about the texts of a block.
    pub(crate) fn new(desk: ExtensionDesk) -> Self {
        Self {
            drawer: Drawer::new(desk),
            texts: Vec::new(),
        }
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.drawer.id()
    }

    /// Takes the texts; none leave those there were.
    pub(super) fn accept(&mut self, texts: Option<Vec<String>>) {
        if let Some(texts) = texts {
            self.texts = texts
                .iter()
                .map(|text| super::page::clean(text).into_owned())
                .collect();
        }
    }

    /// Asks for the texts of these parts, each with its kind.
    pub(super) fn ask<'part>(
        &mut self,
        width: usize,
        appearance: &Appearance,
        (revision, is_streaming): (u64, bool),
        parts: impl Iterator<Item = (&'static str, &'part str)>,
    ) {
        self.drawer.ask(width, appearance, revision, || {
            let parts = parts.map(|(kind, text)| json!({ "messageType": kind, "text": text }));
            Subject::Wording {
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
