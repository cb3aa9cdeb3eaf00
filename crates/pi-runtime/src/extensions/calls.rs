//! Synchronous calls of extensions.
//!
//! Everything here runs on the JavaScript thread and must not block; long work is started and
//! continues on the program's runtime.

use std::sync::Arc;

use pi_auth::KeySource;
use pi_ext::HostError;
use pi_protocol::{EntryId, ThinkingLevel, ToolOutput};
use pi_providers::{ProviderLayer, RefreshOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bridge::{
    ExtensionBridge, field, host_error, lock, read, result_to_json, to_json, unknown,
};
use super::front_end::{ExtensionFailure, ExtensionMode, ExtensionNotice};
use super::registration::{CommandData, ProviderData, ShortcutData, ToolData};
use super::screen::{ChosenCompletion, ExtensionCompletionRequest, ExtensionScreen, ScreenChange};
use super::send_message::{SendMessage, SendUserMessage};
use super::session_json;
use crate::session::{Persist, PromptError};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailureData {
    extension_path: Option<String>,
    event: String,
    error: String,
    stack: Option<String>,
}

#[derive(Deserialize)]
struct ExtensionScoped<Data> {
    extension: String,
    #[serde(
        alias = "tool",
        alias = "command",
        alias = "provider",
        alias = "shortcut"
    )]
    data: Data,
}

#[derive(Deserialize)]
struct SignalData {
    #[serde(rename = "signalId")]
    signal: u64,
    #[serde(alias = "partial", alias = "event")]
    data: Value,
}

impl ExtensionBridge {
    pub(super) fn call_program(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "error" => {
                let failure: FailureData = read(arguments)?;
                self.report_failure(ExtensionFailure {
                    extension: failure.extension_path,
                    event: failure.event,
                    error: failure.error,
                    stack: failure.stack,
                });
            }
            "context" => return self.context(),
            "idle" => return Ok(self.session()?.is_idle().into()),
            "pending" => return Ok((self.session()?.pending_message_count() > 0).into()),
            "usage" => return result_to_json(self.session()?.context_usage()),
            "systemPrompt" => return Ok(self.session()?.system_prompt().into()),
            "systemPrompt.options" => return Ok(self.prompt_options(&self.session()?)),
            "tools.active" => return Ok(self.session()?.active_tool_names().into()),
            "tools.all" => return Ok(session_json::tools(&self.session()?)),
            "tools.setActive" => {
                let names: Vec<String> = field(&arguments, "names")?;
                self.session()?.set_active_tools(&names);
            }
            "commands" => return self.commands(),
            "abort" => {
                let session = self.session()?;
                self.begin(async move { session.abort().await });
            }
            "shutdown" => {
                self.session()?;
                self.ui.request_shutdown();
            }
            "replacement.adopt" => self.rebind()?,
            "replacement.release" => self.mark_stale(),
            "message.send" => self.send_message(arguments)?,
            "message.sendUser" => self.send_user_message(arguments)?,
            _ => return Err(unknown(method)),
        }
        Ok(Value::Null)
    }

    fn context(&self) -> Result<Value, HostError> {
        self.check_not_stale()?;
        let mode = self.ui.mode();
        Ok(json!({
            "mode": mode.name(),
            "hasUI": mode.has_ui(),
            "cwd": self.cwd,
            "trusted": self.is_trusted,
        }))
    }

    fn commands(&self) -> Result<Value, HostError> {
        let mut commands = self.extensions()?.commands();
        if let Ok(runtime) = self.runtime() {
            commands.extend(runtime.resource_commands());
        }
        to_json(commands)
    }

    fn send_message(&self, arguments: Value) -> Result<(), HostError> {
        let session = self.session()?;
        let (draft, send_message) = read::<SendMessage>(arguments)?.into_parts();
        let ui = Arc::clone(&self.ui);
        self.begin(async move {
            if let Err(error) = session.send_custom_message(draft, send_message).await {
                ui.report_failure(prompt_failure("sendMessage", &error))
                    .await;
            }
        });
        Ok(())
    }

    fn send_user_message(&self, arguments: Value) -> Result<(), HostError> {
        let session = self.session()?;
        let (content, delivery, expand) = read::<SendUserMessage>(arguments)?.into_parts();
        let ui = Arc::clone(&self.ui);
        self.begin(async move {
            let sent = session.send_user_message(content, delivery, expand).await;
            if let Err(error) = sent {
                ui.report_failure(prompt_failure("sendUserMessage", &error))
                    .await;
            }
        });
        Ok(())
    }

    pub(super) fn call_session(&self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let session = self.session()?;
        match method {
            "session.name" => Ok(session.session_name().into()),
            "session.setName" => {
                let name: String = field(arguments, "name")?;
                self.begin(async move {
                    if let Err(error) = session.set_session_name(&name).await {
                        tracing::warn!(%error, "cannot set session name for extension");
                    }
                });
                Ok(Value::Null)
            }
            "entry.append" => {
                let custom_type: String = field(arguments, "customType")?;
                let data = arguments.get("data").cloned();
                self.begin(async move {
                    let appended = session.append_custom_entry(&custom_type, data).await;
                    if let Err(error) = appended {
                        tracing::warn!(%error, "cannot append entry for extension");
                    }
                });
                Ok(Value::Null)
            }
            "entry.label" => {
                let id = EntryId::from(field::<String>(arguments, "entryId")?);
                let label: Option<String> = field(arguments, "label")?;
                session
                    .set_label(&id, label.as_deref())
                    .map_err(host_error)?;
                Ok(Value::Null)
            }
            _ => session_json::session(&session, method, arguments),
        }
    }

    pub(super) fn call_ui(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match method {
            // Components may briefly outlive their session; their changes no longer matter.
            "ui.change" if self.check_not_stale().is_err() => Ok(Value::Null),
            "ui.tell" => {
                let notice: ExtensionNotice = read(arguments)?;
                self.begin(self.ui.notify(notice));
                Ok(Value::Null)
            }
            "ui.editorText" => Ok(self.ui.editor_text().into()),
            _ => match self.ui.screen() {
                Some(screen) => call_screen(screen, extension, method, arguments),
                None => self.call_no_screen(method),
            },
        }
    }

    /// Handles terminal calls without a terminal.
    fn call_no_screen(&self, method: &str) -> Result<Value, HostError> {
        match method {
            "ui.themes" => Ok(json!([])),
            "ui.setTheme" => Ok(json!({
                "success": false,
                "error": match self.ui.mode() {
                    ExtensionMode::Rpc => "Theme switching not supported in RPC mode",
                    _ => "UI not available",
                },
            })),
            "ui.theme" | "ui.screen" | "ui.change" => Ok(Value::Null),
            _ => Err(unknown(method)),
        }
    }

    pub(super) fn call_models(&self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let provider = || field::<String>(arguments, "provider");
        match method {
            "model" => to_json(self.session()?.model()),
            "model.scoped" => Ok(session_json::scoped_models(&self.session()?)),
            "thinking.level" => Ok(self.session()?.thinking_level().as_str().into()),
            "thinking.set" => {
                let level: ThinkingLevel = field(arguments, "level")?;
                let session = self.session()?;
                self.begin(async move {
                    let set = session.set_thinking_level(level, Persist::Session).await;
                    if let Err(error) = set {
                        tracing::warn!(%error, "cannot set thinking level for extension");
                    }
                });
                Ok(Value::Null)
            }
            "models.all" => to_json(self.models.all()),
            "models.available" => to_json(self.models.available()),
            "models.find" => {
                let id: String = field(arguments, "id")?;
                to_json(self.models.model(&provider()?, &id))
            }
            "models.hasAuth" => Ok(self.models.is_authenticated(&provider()?).into()),
            "models.providerName" => {
                let id = provider()?;
                let known = self.models.provider(&id);
                Ok(known.map_or(id, |known| known.name().to_owned()).into())
            }
            "models.status" => Ok(self.auth_status(&provider()?)),
            "models.envKeys" => Ok(env_keys(&provider()?)),
            "models.providers" => {
                let providers = self.models.providers();
                Ok(providers.iter().map(|provider| provider.id()).collect())
            }
            _ => Err(unknown(method)),
        }
    }

    pub(super) fn call_job(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "work.cancel" => self.cancel_job(field(&arguments, "number")?),
            "work.output" => {
                let SignalData { signal, data } = read(arguments)?;
                if let Some(stream) = lock(&self.streams).get(&signal) {
                    // The reader may have been dropped.
                    stream.send(data).ok();
                }
            }
            _ => return Err(unknown(method)),
        }
        Ok(Value::Null)
    }

    pub(super) fn call_registry(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "subscriptions" => {
                let events: Vec<String> = read(arguments)?;
                self.registry().events = events.into_iter().collect();
            }
            "tool.update" => {
                let SignalData { signal, data } = read(arguments)?;
                let partial: ToolOutput = read(data)?;
                if let Some(updates) = lock(&self.updates).get(&signal) {
                    updates.send(partial);
                }
            }
            "provider.event" => {
                let SignalData { signal, data } = read(arguments)?;
                if let Some(stream) = lock(&self.streams).get(&signal) {
                    // The reader may have been dropped.
                    stream.send(data).ok();
                }
            }
            "tool.register" => {
                let ExtensionScoped { extension, data } =
                    read::<ExtensionScoped<ToolData>>(arguments)?;
                let (session, extensions) = (self.session()?, self.extensions()?);
                session.register_tool(extensions.tool(&extension, &data));
                let tools = &mut self.registry().tools;
                tools.retain(|(_, known)| known.name != data.name);
                tools.push((extension, data));
            }
            "command.register" => {
                let ExtensionScoped { extension, data } =
                    read::<ExtensionScoped<CommandData>>(arguments)?;
                let mut registry = self.registry();
                if let Some(source_info) = registry.sources.get(&extension).cloned() {
                    registry.add_command(&extension, &source_info, data);
                }
            }
            "provider.register" => {
                let ExtensionScoped { extension, data } =
                    read::<ExtensionScoped<ProviderData>>(arguments)?;
                let extensions = self.extensions()?;
                let refresh = RefreshOptions {
                    providers: Some(vec![data.name.clone()]),
                    ..RefreshOptions::default()
                };
                extensions
                    .register_provider(&self.models, extension, data)
                    .map_err(host_error)?;
                let models = self.models.clone();
                self.begin(async move { drop(models.refresh(refresh).await) });
            }
            "shortcut.register" => {
                let ExtensionScoped { extension, data } =
                    read::<ExtensionScoped<ShortcutData>>(arguments)?;
                self.registry().add_shortcut(&extension, data);
            }
            "renderer.register" => {
                let custom_type: String = field(&arguments, "type")?;
                let mut registry = self.registry();
                match field::<String>(&arguments, "kind")?.as_str() {
                    "markdown" => registry.transforms_markdown = true,
                    "entry" => {
                        registry.entry_renderers.insert(custom_type);
                    }
                    _ => {
                        registry.message_renderers.insert(custom_type);
                    }
                }
            }
            "provider.unregister" => {
                let name: String = field(&arguments, "name")?;
                self.models.unregister(&name, ProviderLayer::Extension);
            }
            _ => return Err(unknown(method)),
        }
        Ok(Value::Null)
    }
}

/// Handles terminal calls.
fn call_screen(
    screen: &dyn ExtensionScreen,
    extension: Option<&str>,
    method: &str,
    arguments: Value,
) -> Result<Value, HostError> {
    let ok = |value| Ok::<Value, HostError>(value);
    match method {
        "ui.change" => {
            let change: ScreenChange = read(arguments)?;
            screen.change(extension, change);
            ok(Value::Null)
        }
        "ui.screen" => to_json(screen.info()),
        "ui.editor" => to_json(screen.editor_info()),
        "ui.theme" => {
            let name: Option<String> = field(&arguments, "name")?;
            to_json(screen.theme(name.as_deref()))
        }
        "ui.themes" => to_json(screen.themes()),
        "ui.setTheme" => {
            let name: String = field(&arguments, "name")?;
            ok(match screen.set_theme(&name) {
                Ok(()) => json!({ "success": true }),
                Err(error) => json!({ "success": false, "error": error }),
            })
        }
        "ui.shortcuts" => to_json(screen.shortcuts()),
        "ui.overlayBounds" => {
            let bounds = screen.overlay_bounds(field(&arguments, "id")?);
            ok(bounds.map_or(Value::Null, |[row, col, width, height]| {
                json!({ "row": row, "col": col, "width": width, "height": height })
            }))
        }
        "ui.applyCompletion" => {
            let chosen: ChosenCompletion = read(arguments)?;
            let (line, column) = screen.apply_completion(&chosen);
            ok(json!({ "line": line, "column": column }))
        }
        "ui.completesPath" => {
            let question: ExtensionCompletionRequest = read(arguments)?;
            ok(screen.completes_path(&question).into())
        }
        _ => Err(unknown(method)),
    }
}

/// Returns the environment variables for the API key of a built-in provider.
fn env_keys(provider: &str) -> Value {
    let known = pi_providers::builtin_provider(provider).and_then(|info| info.key.as_ref());
    match known.map(|key| key.source) {
        Some(KeySource::Variables(names)) => names.iter().map(|name| Value::from(*name)).collect(),
        Some(KeySource::Anthropic) => json!(["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"]),
        Some(_) | None => json!([]),
    }
}

fn prompt_failure(event: &str, error: &PromptError) -> ExtensionFailure {
    ExtensionFailure {
        extension: None,
        event: event.to_owned(),
        error: error.to_string(),
        stack: None,
    }
}
