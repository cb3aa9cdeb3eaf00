//! Front-end access to extensions: their components, shortcuts and completions.
//!
//! A handle keeps nothing alive. Once the extensions are unloaded, every call returns an empty
//! result.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pi_ext::{EngineError, UiCall};
use pi_protocol::Command;
use serde::Deserialize;
use serde_json::Value;

use crate::ExtensionsInner;
use crate::costs::BudgetOccasion;
use crate::front_end::ExtensionFailure;
use crate::registration::OwnedCommand;
use crate::remote_components::{RemoteComponents, RemoteDrawing};
use crate::screen::{
    CompletionItem, ComponentId, ExtensionCompletionRequest, ExtensionCompletions,
    ExtensionShortcut,
};

/// Time a component may take to render or to handle a key before it is stopped.
const RENDER_TIMEOUT: Duration = Duration::from_millis(200);

/// Rendered lines of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedComponent {
    pub lines: Vec<String>,
    /// Whether it receives key releases.
    pub key_release: bool,
    /// Whether it receives mouse events.
    pub mouse: bool,
    /// Whether it handled the last wheel event.
    pub wheel: bool,
    /// Set if another process has drawn it.
    pub remote: Option<RemoteDrawing>,
}

/// Rendered lines of a tool call; a part that the extension does not render is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedToolCall {
    pub call: Option<Vec<String>>,
    pub result: Option<Vec<String>>,
}

/// Which parts of a tool call an extension renders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRenderer {
    pub extension: String,
    pub renders_call: bool,
    pub renders_result: bool,
    pub renders_frame: bool,
}

/// Why a component was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionRenderError {
    /// The component or its extension no longer exists.
    #[error("component no longer exists")]
    Gone,
    #[error("rendering took longer than {} ms", RENDER_TIMEOUT.as_millis())]
    TooSlow,
    #[error("{0}")]
    Failed(String),
}

/// A handle to the extensions of a session. Clones refer to the same extensions.
#[derive(Clone)]
pub struct ExtensionHandle(ExtensionSource);

#[derive(Clone)]
enum ExtensionSource {
    Session(Weak<ExtensionsInner>),
    /// Another process runs them; only their components are here.
    Remote(Arc<dyn RemoteComponents>),
}

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
    pub(crate) fn new(shared: &Arc<ExtensionsInner>) -> Self {
        Self(ExtensionSource::Session(Arc::downgrade(shared)))
    }

    /// Creates a handle to components that another process draws.
    pub fn remote(components: Arc<dyn RemoteComponents>) -> Self {
        Self(ExtensionSource::Remote(components))
    }

    /// Returns the extensions, if this process runs them.
    fn extensions(&self) -> Option<Arc<ExtensionsInner>> {
        match &self.0 {
            ExtensionSource::Session(extensions) => extensions.upgrade(),
            ExtensionSource::Remote(_) => None,
        }
    }

    pub async fn render(
        &self,
        id: ComponentId,
        width: usize,
    ) -> Result<RenderedComponent, ExtensionRenderError> {
        if let ExtensionSource::Remote(components) = &self.0 {
            return components.drawn(id).ok_or(ExtensionRenderError::Gone);
        }
        let drawn = self.call(UiCall::Render { id, width }).await?;
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
            remote: None,
        })
    }

    /// Renders a tool call; `data` describes it.
    pub async fn render_tool_call(
        &self,
        id: ComponentId,
        width: usize,
        data: Value,
    ) -> Result<RenderedToolCall, ExtensionRenderError> {
        let drawn = self.call(UiCall::RenderTool { id, width, data }).await?;
        let drawn: Option<RenderedToolCallData> = read(&drawn)?;
        let drawn = drawn.ok_or(ExtensionRenderError::Gone)?;
        Ok(RenderedToolCall {
            call: drawn.call.as_deref().map(split_lines),
            result: drawn.result.as_deref().map(split_lines),
        })
    }

    /// Renders a custom message or entry of an extension.
    pub async fn render_custom(
        &self,
        id: ComponentId,
        width: usize,
        data: Value,
    ) -> Result<Option<Vec<String>>, ExtensionRenderError> {
        let drawn = self.call(UiCall::RenderCustom { id, width, data }).await?;
        let drawn: Option<RenderedRowData> = read(&drawn)?;
        Ok(drawn
            .and_then(|drawn| drawn.lines)
            .as_deref()
            .map(split_lines))
    }

    /// Transforms Markdown through the extensions; `parts` and `shared` describe it.
    pub async fn transform_markdown(
        &self,
        parts: Value,
        shared: Value,
    ) -> Result<Vec<String>, ExtensionRenderError> {
        let call = UiCall::TransformMarkdown { parts, shared };
        read(&self.call(call).await?)
    }

    /// Returns whether any extension transforms Markdown.
    pub fn transforms_markdown(&self) -> bool {
        let shared = self.extensions();
        shared.is_some_and(|shared| shared.bridge.registry().transforms_markdown)
    }

    /// Drops the state of rows that left the screen.
    pub async fn forget_rows(&self, ids: &[ComponentId]) {
        let ids = ids.to_vec();
        self.notify(UiCall::ForgetRows { ids }).await;
    }

    /// Sends typed input to a component.
    pub async fn input(&self, id: ComponentId, data: &str) {
        let data = data.to_owned();
        match &self.0 {
            ExtensionSource::Session(_) => {
                self.notify(UiCall::Input { id, data }).await;
                self.report_input();
            }
            ExtensionSource::Remote(components) => components.input(id, data).await,
        }
    }

    /// Sends a mouse event inside a component, in the format of the extension API.
    pub async fn mouse(&self, id: ComponentId, event: Value) {
        self.notify(UiCall::Mouse { id, event }).await;
        self.report_input();
    }

    fn report_input(&self) {
        let extensions = self.extensions();
        if let Some(screen) = extensions.as_ref().and_then(|it| it.bridge.ui.screen()) {
            screen.input_handled();
        }
    }

    /// Notifies a component that it gained or lost focus.
    pub async fn focus(&self, id: ComponentId, focused: bool) {
        self.notify(UiCall::FocusChanged { id, focused }).await;
        self.report_input();
    }

    /// Passes raw input to the extensions; `None` if one of them consumed it.
    pub async fn raw_input(&self, data: &str) -> Option<String> {
        let call = UiCall::RawInput {
            data: data.to_owned(),
        };
        match self.call(call).await {
            Ok(Value::String(data)) => Some(data),
            Ok(_) => None,
            Err(_) => Some(data.to_owned()),
        }
    }

    /// Notifies extensions of a new screen size.
    pub async fn resized(&self) {
        match &self.0 {
            ExtensionSource::Session(_) => self.notify(UiCall::Resized).await,
            ExtensionSource::Remote(components) => components.resized().await,
        }
    }

    /// Mounts the components that extensions have set before there was a screen.
    pub async fn screen_opened(&self) {
        self.notify(UiCall::ScreenOpened).await;
    }

    /// Notifies extensions of a theme change.
    pub async fn theme_changed(&self, scheme: &str) {
        let scheme = scheme.to_owned();
        self.notify(UiCall::ThemeChanged { scheme }).await;
    }

    /// Notifies extensions of a Git branch change.
    pub async fn branch_changed(&self) {
        self.notify(UiCall::BranchChanged).await;
    }

    pub async fn set_editor_text(&self, text: &str) {
        let text = text.to_owned();
        self.notify(UiCall::SetEditorText { text }).await;
    }

    /// Inserts text at the cursor of an extension's editor.
    pub async fn insert_editor_text(&self, text: &str) {
        let text = text.to_owned();
        self.notify(UiCall::InsertEditorText { text }).await;
    }

    /// Adds a text to the history of an extension's editor.
    pub async fn add_editor_history(&self, text: &str) {
        let text = text.to_owned();
        self.notify(UiCall::AddEditorHistory { text }).await;
    }

    /// Returns completions of the extensions' providers.
    pub async fn suggest(
        &self,
        question: &ExtensionCompletionRequest,
    ) -> Option<ExtensionCompletions> {
        let call = UiCall::Suggest {
            lines: question.lines.clone(),
            line: question.line,
            column: question.column,
            force: question.force,
        };
        let shared = self.extensions()?;
        // Without the render timeout: a provider may perform lookups.
        let found = shared.engine.call_ui(call, None);
        match found.await {
            Ok(found) => pi_protocol::json::from_value(&found).ok().flatten(),
            Err(error) => {
                self.report("completion", &error);
                None
            }
        }
    }

    /// Lists the shortcuts of the extensions, in registration order.
    pub fn shortcuts(&self) -> Vec<ExtensionShortcut> {
        let shared = self.extensions();
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

    /// Runs a shortcut; returns the error message on failure.
    pub async fn run_shortcut(&self, extension: &str, key: &str) -> Result<(), String> {
        let Some(shared) = self.extensions() else {
            return Ok(());
        };
        let run = shared.engine.run_shortcut(extension, key).await;
        run.map_err(super::tool::error_message)
    }

    /// Executes a command of a user, such as a prompt from an extension's editor. Fails with the error message.
    pub async fn submit(&self, command: Command) -> Result<(), String> {
        let Some(shared) = self.extensions() else {
            return Ok(());
        };
        let runtime = shared.bridge.runtime();
        let runtime = runtime.map_err(|error| error.message)?;
        // A command may replace the session together with its extensions.
        drop(shared);
        let submitted = runtime.submit(command).await;
        submitted.map_err(|error| error.message)
    }

    /// Returns how extensions render calls of a tool, if one does.
    pub fn tool_renderer(&self, name: &str) -> Option<ToolRenderer> {
        let shared = self.extensions()?;
        let registry = shared.bridge.registry();
        let mut tools = registry.tools.iter();
        let known = tools.find(|(_, tool)| tool.name == name);
        if let Some(chooser) = &registry.tool_renderer {
            // Only JavaScript can find out what it chooses; parts that it does not draw look as without it.
            let shell = known.and_then(|(_, tool)| tool.render_shell.as_deref());
            return Some(ToolRenderer {
                extension: chooser.clone(),
                renders_call: true,
                renders_result: true,
                renders_frame: shell == Some("self"),
            });
        }
        let (extension, tool) = known?;
        let frame = tool.render_shell.as_deref() == Some("self");
        let draws = tool.renders_call || tool.renders_result || frame;
        draws.then(|| ToolRenderer {
            extension: extension.clone(),
            renders_call: tool.renders_call,
            renders_result: tool.renders_result,
            renders_frame: frame,
        })
    }

    pub fn renders_message(&self, custom_type: &str) -> bool {
        let shared = self.extensions();
        shared.is_some_and(|shared| {
            let registry = shared.bridge.registry();
            registry.message_renderers.contains(custom_type)
        })
    }

    pub fn renders_entry(&self, custom_type: &str) -> bool {
        let shared = self.extensions();
        shared.is_some_and(|shared| {
            let registry = shared.bridge.registry();
            registry.entry_renderers.contains(custom_type)
        })
    }

    /// Returns whether a command completes its arguments.
    pub fn completes(&self, command: &str) -> bool {
        let shared = self.extensions();
        shared.is_some_and(|shared| {
            let registry = shared.bridge.registry();
            let known = registry.command(command);
            known.is_some_and(|known| known.data.completes)
        })
    }

    /// Returns completions for the arguments of a command.
    pub async fn complete_command(&self, command: &str, prefix: &str) -> Vec<CompletionItem> {
        let Some(shared) = self.extensions() else {
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
                    pi_protocol::json::from_value(&items).unwrap_or_default();
                items.unwrap_or_default()
            }
            Err(error) => {
                self.report("completion", &error);
                Vec::new()
            }
        }
    }

    /// Reports a failure of an extension's UI to the user.
    pub fn report_failure(&self, extension: Option<String>, event: &str, error: String) {
        if let Some(shared) = self.extensions() {
            shared.bridge.report_failure(ExtensionFailure {
                extension,
                event: event.to_owned(),
                error,
                stack: None,
            });
        }
    }

    async fn notify(&self, call: UiCall) {
        if let Some(shared) = self.extensions() {
            let name = call.name();
            let called = shared.engine.call_ui(call, Some(RENDER_TIMEOUT));
            if let Err(error) = called.await {
                self.report(name, &error);
            }
        }
    }

    async fn call(&self, call: UiCall) -> Result<Value, ExtensionRenderError> {
        let shared = self.extensions().ok_or(ExtensionRenderError::Gone)?;
        let called = shared.engine.call_ui(call, Some(RENDER_TIMEOUT)).await;
        shared.check_budget(BudgetOccasion::Rendering).await;
        called.map_err(|error| match error {
            EngineError::Runaway(_) | EngineError::TimedOut(_) | EngineError::Stuck => {
                ExtensionRenderError::TooSlow
            }
            EngineError::Stopped => ExtensionRenderError::Gone,
            // Components may briefly outlive their session: their contexts throw then.
            _ if shared.bridge.check_not_stale().is_err() => ExtensionRenderError::Gone,
            other => ExtensionRenderError::Failed(super::tool::error_message(other)),
        })
    }

    /// Reports a failure, except for one of a component that outlives its session.
    fn report(&self, event: &str, error: &EngineError) {
        let shared = self.extensions();
        let is_bound = shared.is_some_and(|shared| shared.bridge.check_not_stale().is_ok());
        if is_bound && !matches!(error, EngineError::Stopped) {
            self.report_failure(None, event, error.to_string());
        }
    }
}

fn read<Data: serde::de::DeserializeOwned>(value: &Value) -> Result<Data, ExtensionRenderError> {
    pi_protocol::json::from_value(value)
        .map_err(|error| ExtensionRenderError::Failed(error.to_string()))
}

/// Splits joined lines; empty text has no lines.
fn split_lines(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split('\n').map(str::to_owned).collect()
}
