//! Asynchronous calls of extensions: dialogs, session control, compaction, credentials.

use std::path::PathBuf;
use std::time::Duration;

use pi_ext::{HostError, HostFuture};
use pi_protocol::EntryId;
use pi_providers::RefreshOptions;
use pi_session::ForkPosition;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bridge::{ExtensionBridge, field, host_error, read, result_to_json, to_json, unknown};
use super::conversions::{convert_to_png, resize_image};
use super::front_end::{DialogPrompt, DialogResponse, ExtensionDialog};
use super::open_dialogs::DialogGuard;
use super::screen::ExtensionCompletionRequest;
use super::send_message::{SendMessage, SendUserMessage};
use crate::runtime::ReplaceOutcome;
use crate::session::{NavigateOptions, Persist};

#[derive(Deserialize)]
struct DialogRequest {
    #[serde(flatten)]
    question: DialogPrompt,
    timeout: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigation {
    target_id: String,
    #[serde(default)]
    summarize: bool,
    custom_instructions: Option<String>,
    #[serde(default)]
    replace_instructions: bool,
    label: Option<String>,
}

impl ExtensionBridge {
    pub(super) fn handle_request(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> HostFuture {
        let future = match method {
            "builtin.run" => self.run_builtin(extension, arguments),
            "builtin.shell" => self.run_shell(extension, arguments),
            "models.stream" => self.call_model(extension, arguments),
            "models.auth" => self.model_auth(&arguments),
            "shelf.list" => self.list_sessions(&arguments),
            "convert.image" => resize_image(arguments),
            "convert.png" => convert_to_png(&arguments),
            "summary.compact" | "summary.branch" => self.summarize(method, arguments),
            "signIn.ask" => self.ask_sign_in(&arguments),
            "agent.create" => self.create_agent(extension, arguments),
            _ if method.starts_with("agent.") => self.request_agent(method, arguments),
            "ui.ask" => self.show_dialog(arguments),
            "ui.complete" => self.complete(arguments),
            "ui.hold" => Ok(self.hold_dialog()),
            "idle" => self.wait_for_idle(),
            "compact" => self.compact(&arguments),
            "model.set" => self.set_model(&arguments),
            "models.refresh" => Ok(self.refresh_models()),
            "message.send" => self.send(arguments),
            "message.sendUser" => self.send_user(arguments),
            "session.navigate" => self.navigate(arguments),
            _ => self.replace_session(method, &arguments),
        };
        future.unwrap_or_else(|error| Box::pin(std::future::ready(Err(error))))
    }

    fn show_dialog(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let DialogRequest { question, timeout } = read(arguments)?;
        let timeout = timeout
            .filter(|milliseconds| *milliseconds > 0.0)
            .and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
        let (kind, title) = named(&question);
        let guard = DialogGuard::begin(self, kind, title);
        let response = self.ui.show_dialog(ExtensionDialog {
            prompt: question,
            timeout,
        });
        // Not spawned on the runtime: dropping this future closes the dialog.
        Ok(Box::pin(async move {
            let _guard = guard;
            Ok(match response.await {
                DialogResponse::Text(text) => text.into(),
                DialogResponse::Confirmed(confirmed) => confirmed.into(),
                DialogResponse::Cancelled => Value::Null,
            })
        }))
    }

    /// Counts as an open dialog while a component of an extension has focus, until the request is
    /// dropped.
    fn hold_dialog(&self) -> HostFuture {
        let guard = DialogGuard::begin(self, "custom", "");
        Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        })
    }

    fn complete(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let request: ExtensionCompletionRequest = read(arguments)?;
        let Some(screen) = self.ui.screen() else {
            return Ok(Box::pin(std::future::ready(Ok(Value::Null))));
        };
        let completing = screen.complete(request);
        Ok(self.spawn_on_runtime(async move { to_json(completing.await) }))
    }

    fn wait_for_idle(&self) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        Ok(self.spawn_on_runtime(async move {
            session.wait_for_idle().await;
            Ok(Value::Null)
        }))
    }

    fn compact(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let instructions = field(arguments, "customInstructions")?;
        Ok(self
            .spawn_on_runtime(async move { result_to_json(session.compact(instructions).await) }))
    }

    fn set_model(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let (provider, id): (String, String) =
            (field(arguments, "provider")?, field(arguments, "id")?);
        let model = self.models.model(&provider, &id);
        Ok(self.spawn_on_runtime(async move {
            let Some(model) = model else {
                return Ok(false.into());
            };
            let set = session.set_model(model, Persist::Session).await;
            Ok(set.is_ok().into())
        }))
    }

    fn refresh_models(&self) -> HostFuture {
        let models = self.models.clone();
        self.spawn_on_runtime(async move {
            models.refresh(RefreshOptions::default()).await;
            Ok(Value::Null)
        })
    }

    fn send(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let (draft, send_message) = read::<SendMessage>(arguments)?.into_parts();
        Ok(self.spawn_on_runtime(async move {
            let sent = session.send_custom_message(draft, send_message).await;
            sent.map(|_| Value::Null).map_err(host_error)
        }))
    }

    fn send_user(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let (content, delivery, expand) = read::<SendUserMessage>(arguments)?.into_parts();
        Ok(self.spawn_on_runtime(async move {
            let sent = session.send_user_message(content, delivery, expand).await;
            sent.map(|_| Value::Null).map_err(host_error)
        }))
    }

    fn navigate(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let job: Navigation = read(arguments)?;
        Ok(self.spawn_on_runtime(async move {
            let target = EntryId::from(job.target_id);
            let options = NavigateOptions {
                summarize: job.summarize,
                instructions: job.custom_instructions,
                replace_instructions: job.replace_instructions,
                label: job.label,
            };
            let moved = session.navigate_tree(&target, options).await;
            let moved = moved.map_err(host_error)?;
            Ok(json!({ "cancelled": moved.cancelled }))
        }))
    }

    fn replace_session(&self, method: &str, arguments: &Value) -> Result<HostFuture, HostError> {
        let runtime = self.runtime()?;
        match method {
            "session.new" => {
                let parent: Option<PathBuf> = field(arguments, "parentSession")?;
                Ok(self
                    .spawn_on_runtime(async move { replaced(runtime.new_session(parent).await) }))
            }
            "session.switch" => {
                let path: PathBuf = field(arguments, "path")?;
                Ok(self
                    .spawn_on_runtime(async move { replaced(runtime.switch_session(&path).await) }))
            }
            "session.fork" => {
                let entry = EntryId::from(field::<String>(arguments, "entryId")?);
                let position = match field::<Option<String>>(arguments, "position")?.as_deref() {
                    Some("at") => ForkPosition::At,
                    _ => ForkPosition::Before,
                };
                Ok(self.spawn_on_runtime(
                    async move { replaced(runtime.fork(&entry, position).await) },
                ))
            }
            "session.reload" => Ok(self.spawn_on_runtime(async move {
                runtime.reload().await.map_err(host_error)?;
                Ok(Value::Null)
            })),
            _ => Err(unknown(method)),
        }
    }
}

fn named(question: &DialogPrompt) -> (&'static str, &str) {
    match question {
        DialogPrompt::Select { title, .. } => ("select", title),
        DialogPrompt::Confirm { title, .. } => ("confirm", title),
        DialogPrompt::Input { title, .. } => ("input", title),
        DialogPrompt::Editor { title, .. } => ("editor", title),
    }
}

fn replaced<Failure: std::fmt::Display>(
    result: Result<ReplaceOutcome, Failure>,
) -> Result<Value, HostError> {
    let replacement = result.map_err(host_error)?;
    Ok(json!({ "cancelled": replacement.cancelled }))
}
