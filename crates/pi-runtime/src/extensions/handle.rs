//! The way from a screen to the extensions on it: their components, shortcuts and completions.
//!
//! A link keeps nothing alive. Once the extensions are gone, everything answers that there is
//! nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pi_ext::EngineError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ExtensionsInner;
use super::front_end::ExtensionFailure;
use super::registration::OwnedCommand;
use super::screen::{
    ExtensionCompletions, CompletionItem, ExtensionCompletionRequest, ComponentId, ExtensionShortcut,
};

/// How long a component may draw, or handle a key, before it is stopped.
const RENDER_TIMEOUT: Duration = Duration::from_millis(200);

/// Lines of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedComponent {
    pub lines: Vec<String>,
    /// Whether it hears of released keys.
    pub key_release: bool,
    /// Whether it hears of the mouse.
    pub mouse: bool,
    /// Whether it did something with the last turn of the wheel.
    pub wheel: bool,
}

/// Lines of a call of a tool; a part that the extension does not draw is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedToolCall {
    pub call: Option<Vec<String>>,
    pub result: Option<Vec<String>>,
}

/// Which part of the transcript extensions draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRenderer {
    pub extension: String,
    /// Whether it draws calls.
    pub renders_call: bool,
    /// Whether it draws results.
    pub renders_result: bool,
    /// Whether it draws the frame, too.
    pub renders_frame: bool,
}

/// Why a component has no lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionRenderError {
    /// It is not there any more, or its extension is not.
    #[error("the component is gone")]
    Gone,
    /// It took too long and was stopped.
    #[error("it takes longer than {} ms to draw", RENDER_TIMEOUT.as_millis())]
    TooSlow,
    #[error("{0}")]
    Failed(String),
}

/// The extensions of a session, as a screen reaches them. Clones reach the same.
#[derive(Clone)]
pub struct ExtensionHandle(Weak<ExtensionsInner>);

impl std::fmt::Debug for ExtensionHandle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ExtensionHandle")
    }
}

#[derive(Deserialize)]
struct RenderedToolCallData {
    call: Option<String>,
    result: Option<String>,
}

#[derive(Deserialize)]
struct RenderedRowData {
    lines: Option<String>,
}

impl ExtensionHandle {
    pub(super) fn new(shared: &Arc<ExtensionsInner>) -> Self {
        Self(Arc::downgrade(shared))
    }

    /// Returns the lines of a component.
    pub async fn render(&self, id: ComponentId, width: usize) -> Result<RenderedComponent, ExtensionRenderError> {
        let drawn = self
            .call("mount", "render", vec![json!(id), json!(width)])
            .await?;
        let Value::String(drawn) = drawn else {
            return Err(ExtensionRenderError::Gone);
        };
        let mut lines = drawn.split('\n');
        let marks: u8 = lines.next().and_then(|it| it.parse().ok()).unwrap_or(0);
        Ok(RenderedComponent {
            lines: lines.map(str::to_owned).collect(),
            key_release: marks & 1 != 0,
            mouse: marks & 2 != 0,
            wheel: marks & 4 != 0,
        })
    }

    /// Returns the lines of a call of a tool; `data` tells what is known of it.
    pub async fn render_tool_call(
        &self,
        id: ComponentId,
        width: usize,
        data: Value,
    ) -> Result<RenderedToolCall, ExtensionRenderError> {
        let drawn = self
            .call("rows", "renderTool", vec![json!(id), json!(width), data])
            .await?;
        let drawn: Option<RenderedToolCallData> = read(drawn)?;
        let drawn = drawn.ok_or(ExtensionRenderError::Gone)?;
        Ok(RenderedToolCall {
            call: drawn.call.as_deref().map(split_lines),
            result: drawn.result.as_deref().map(split_lines),
        })
    }

    /// Returns the lines of a message or an entry of an extension.
    pub async fn render_custom(
        &self,
        id: ComponentId,
        width: usize,
        data: Value,
    ) -> Result<Option<Vec<String>>, ExtensionRenderError> {
        let drawn = self
            .call("rows", "renderCustom", vec![json!(id), json!(width), data])
            .await?;
        let drawn: Option<RenderedRowData> = read(drawn)?;
        Ok(drawn
            .and_then(|drawn| drawn.lines)
            .as_deref()
            .map(split_lines))
    }

    /// Returns texts as extensions want them shown; `parts` and `shared` tell what they are.
    pub async fn transform_markdown(
        &self,
        parts: Value,
        shared: Value,
    ) -> Result<Vec<String>, ExtensionRenderError> {
        let texts = self
            .call("rows", "transformMarkdown", vec![parts, shared])
            .await?;
        read(texts)
    }

    /// Returns whether extensions have a say in how Markdown is shown.
    pub fn transforms_markdown(&self) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| shared.bridge.registry().transforms_markdown)
    }

    /// Forgets rows that are gone from the screen.
    pub async fn forget_rows(&self, ids: &[ComponentId]) {
        self.notify("rows", "forgetRows", vec![json!(ids)]).await;
    }

    /// Hands a component what was typed.
    pub async fn input(&self, id: ComponentId, data: &str) {
        self.notify("mount", "input", vec![json!(id), json!(data)])
            .await;
    }

    /// Hands a component what the mouse did inside of it, as extensions know such events.
    pub async fn mouse(&self, id: ComponentId, event: Value) {
        self.notify("mount", "mouse", vec![json!(id), event]).await;
    }

    /// Tells a component that it has the keyboard, or has it no more.
    pub async fn focus(&self, id: ComponentId, focused: bool) {
        let values = vec![json!(id), json!(focused)];
        self.notify("mount", "focusChanged", values).await;
    }

    /// Asks the extensions what shall become of something typed; nothing where it goes no further.
    pub async fn raw_input(&self, data: &str) -> Option<String> {
        match self.call("screen", "rawInput", vec![json!(data)]).await {
            Ok(Value::String(data)) => Some(data),
            Ok(_) => None,
            Err(_) => Some(data.to_owned()),
        }
    }

    /// Tells that the screen has another size.
    pub async fn resized(&self) {
        self.notify("screen", "resized", Vec::new()).await;
    }

    /// Tells that other colors are in use.
    pub async fn theme_changed(&self, scheme: &str) {
        self.notify("screen", "themeChanged", vec![json!(scheme)])
            .await;
    }

    /// Tells that another branch is checked out.
    pub async fn branch_changed(&self) {
        self.notify("screen", "branchChanged", Vec::new()).await;
    }

    /// Replaces the text of an extension's editor.
    pub async fn set_editor_text(&self, text: &str) {
        self.notify("prompt_editor", "setText", vec![json!(text)])
            .await;
    }

    /// Puts text at the cursor of an extension's editor.
    pub async fn insert_editor_text(&self, text: &str) {
        self.notify("prompt_editor", "insertText", vec![json!(text)])
            .await;
    }

    /// Gives an extension's editor a text for its history.
    pub async fn add_editor_history(&self, text: &str) {
        self.notify("prompt_editor", "remember", vec![json!(text)])
            .await;
    }

    /// Returns what the extensions' completion offers.
    pub async fn suggest(&self, question: &ExtensionCompletionRequest) -> Option<ExtensionCompletions> {
        let values = vec![
            json!(question.lines),
            json!(question.line),
            json!(question.column),
            json!(question.force),
        ];
        let shared = self.0.upgrade()?;
        // Not within the time of a component: a provider may look things up.
        let found = shared.engine.screen("completion", "suggest", values, None);
        match found.await {
            Ok(found) => serde_json::from_value(found).ok().flatten(),
            Err(error) => {
                self.report("completion", &error);
                None
            }
        }
    }

    /// Lists the shortcuts of the extensions, in the order in which they were registered.
    pub fn shortcuts(&self) -> Vec<ExtensionShortcut> {
        let shared = self.0.upgrade();
        shared.map_or_else(Vec::new, |shared| {
            let registry = shared.bridge.registry();
            let shortcuts = registry.shortcuts.iter();
            shortcuts
                .map(|(extension, shortcut)| ExtensionShortcut {
                    extension: extension.clone(),
                    key: shortcut.key.clone(),
                    description: shortcut.description.clone(),
                })
                .collect()
        })
    }

    /// Runs a shortcut; a failure is returned in words.
    pub async fn run_shortcut(&self, extension: &str, key: &str) -> Result<(), String> {
        let Some(shared) = self.0.upgrade() else {
            return Ok(());
        };
        let run = shared.engine.run_shortcut(extension, key).await;
        run.map_err(super::tool::error_message)
    }

    /// Returns how extensions draw the calls of a tool, if one does.
    pub fn tool_renderer(&self, name: &str) -> Option<ToolRenderer> {
        let shared = self.0.upgrade()?;
        let registry = shared.bridge.registry();
        let (extension, tool) = registry.tools.iter().find(|(_, tool)| tool.name == name)?;
        let frame = tool.render_shell.as_deref() == Some("self");
        let draws = tool.renders_call || tool.renders_result || frame;
        draws.then(|| ToolRenderer {
            extension: extension.clone(),
            renders_call: tool.renders_call,
            renders_result: tool.renders_result,
            renders_frame: frame,
        })
    }

    /// Returns whether an extension draws messages of a type.
    pub fn renders_message(&self, custom_type: &str) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| {
            let registry = shared.bridge.registry();
            registry.message_renderers.contains(custom_type)
        })
    }

    /// Returns whether an extension draws entries of a type.
    pub fn renders_entry(&self, custom_type: &str) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| {
            let registry = shared.bridge.registry();
            registry.entry_renderers.contains(custom_type)
        })
    }

    /// Returns whether a command completes its arguments.
    pub fn completes(&self, command: &str) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| {
            let registry = shared.bridge.registry();
            let known = registry.command(command);
            known.is_some_and(|known| known.data.completes)
        })
    }

    /// Returns what may follow a command.
    pub async fn complete_command(&self, command: &str, prefix: &str) -> Vec<CompletionItem> {
        let Some(shared) = self.0.upgrade() else {
            return Vec::new();
        };
        let found = shared
            .bridge
            .registry()
            .command(command)
            .map(OwnedCommand::owner_and_name);
        let Some((extension, name)) = found else {
            return Vec::new();
        };
        let completed = shared.engine.complete_command(&extension, &name, prefix);
        match completed.await {
            Ok(items) => {
                let items: Option<Vec<CompletionItem>> =
                    serde_json::from_value(items).unwrap_or_default();
                items.unwrap_or_default()
            }
            Err(error) => {
                self.report("completion", &error);
                Vec::new()
            }
        }
    }

    /// Tells the user of something that went wrong with what an extension shows.
    pub fn report_failure(&self, extension: Option<String>, event: &str, error: String) {
        if let Some(shared) = self.0.upgrade() {
            shared.bridge.report_failure(ExtensionFailure {
                extension,
                event: event.to_owned(),
                error,
                stack: None,
            });
        }
    }

    async fn notify(&self, part: &str, function: &str, values: Vec<Value>) {
        if let Some(shared) = self.0.upgrade() {
            let host_error = shared.engine.screen(part, function, values, Some(RENDER_TIMEOUT));
            if let Err(error) = host_error.await {
                self.report(function, &error);
            }
        }
    }

    async fn call(
        &self,
        part: &str,
        function: &str,
        values: Vec<Value>,
    ) -> Result<Value, ExtensionRenderError> {
        let shared = self.0.upgrade().ok_or(ExtensionRenderError::Gone)?;
        let asked = shared.engine.screen(part, function, values, Some(RENDER_TIMEOUT));
        asked.await.map_err(|error| match error {
            EngineError::Runaway(_) | EngineError::TimedOut(_) | EngineError::Stuck => {
                ExtensionRenderError::TooSlow
            }
            EngineError::Stopped => ExtensionRenderError::Gone,
            other => ExtensionRenderError::Failed(super::tool::error_message(other)),
        })
    }

    fn report(&self, event: &str, error: &EngineError) {
        if !matches!(error, EngineError::Stopped) {
            self.report_failure(None, event, error.to_string());
        }
    }
}

fn read<Data: serde::de::DeserializeOwned>(value: Value) -> Result<Data, ExtensionRenderError> {
    serde_json::from_value(value).map_err(|error| ExtensionRenderError::Failed(error.to_string()))
}

/// Splits what was joined; no text is no line.
fn split_lines(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split('\n').map(str::to_owned).collect()
}
