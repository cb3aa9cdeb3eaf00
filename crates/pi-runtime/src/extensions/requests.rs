//! What extensions ask and wait for: dialogs, session control, compaction, credentials.

use std::path::PathBuf;
use std::time::Duration;

use pi_ai::RefreshOptions;
use pi_ext::{HostError, HostFuture};
use pi_session::{EntryId, ForkPosition};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bridge::{Bridge, field, read, spell, spell_outcome, told, unknown};
use super::conversions::{convert_to_png, resize_image};
use super::front_end::{DialogAnswer, DialogQuestion, ExtensionDialog};
use super::prompts::Waiting;
use super::screen::CompletionQuestion;
use super::sending::{SendMessage, SendUserMessage};
use crate::runtime::Replacement;
use crate::session::{NavigateOptions, Persist};

#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    question: DialogQuestion,
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

impl Bridge {
    /// Answers a request.
    pub(super) fn answer(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> HostFuture {
        let answer = match method {
            "builtin.run" => self.run_builtin(extension, arguments),
            "builtin.shell" => self.run_shell(extension, arguments),
            "models.stream" => self.ask_model(extension, arguments),
            "models.auth" => self.model_auth(&arguments),
            "shelf.list" => self.list_sessions(&arguments),
            "convert.image" => resize_image(arguments),
            "convert.png" => convert_to_png(&arguments),
            "summary.compact" | "summary.branch" => self.summarize(method, arguments),
            "signIn.ask" => self.ask_sign_in(&arguments),
            "agent.create" => self.create_agent(extension, arguments),
            _ if method.starts_with("agent.") => self.drive_agent(method, arguments),
            "ui.ask" => self.ask(arguments),
            "ui.complete" => self.complete(arguments),
            "ui.hold" => Ok(self.hold()),
            "idle" => self.wait_for_idle(),
            "compact" => self.compact(&arguments),
            "model.set" => self.set_model(&arguments),
            "models.refresh" => Ok(self.refresh_models()),
            "message.send" => self.send(arguments),
            "message.sendUser" => self.send_user(arguments),
            "session.navigate" => self.navigate(arguments),
            _ => self.replace_session(method, &arguments),
        };
        answer.unwrap_or_else(|error| Box::pin(std::future::ready(Err(error))))
    }

    fn ask(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let Asked { question, timeout } = read(arguments)?;
        let timeout = timeout
            .filter(|milliseconds| *milliseconds > 0.0)
            .and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
        let (kind, title) = named(&question);
        let waiting = Waiting::begin(self, kind, title);
        let asking = self.ui.ask(ExtensionDialog { question, timeout });
        // Not on the program's runtime: who withdraws the question drops this future.
        Ok(Box::pin(async move {
            let _waiting = waiting;
            Ok(match asking.await {
                DialogAnswer::Text(text) => text.into(),
                DialogAnswer::Confirmed(confirmed) => confirmed.into(),
                DialogAnswer::Cancelled => Value::Null,
            })
        }))
    }

    /// Counts as a dialog for as long as a component of an extension has the keyboard: until the request is withdrawn.
    fn hold(&self) -> HostFuture {
        let waiting = Waiting::begin(self, "custom", "");
        Box::pin(async move {
            let _waiting = waiting;
            std::future::pending().await
        })
    }

    fn complete(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let question: CompletionQuestion = read(arguments)?;
        let Some(screen) = self.ui.screen() else {
            return Ok(Box::pin(std::future::ready(Ok(Value::Null))));
        };
        let completing = screen.complete(question);
        Ok(self.on_program(async move { spell(completing.await) }))
    }

    fn wait_for_idle(&self) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        Ok(self.on_program(async move {
            session.wait_for_idle().await;
            Ok(Value::Null)
        }))
    }

    fn compact(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let instructions = field(arguments, "customInstructions")?;
        Ok(self.on_program(async move { spell_outcome(session.compact(instructions).await) }))
    }

    fn set_model(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let (provider, id): (String, String) =
            (field(arguments, "provider")?, field(arguments, "id")?);
        let model = self.models.model(&provider, &id);
        Ok(self.on_program(async move {
            let Some(model) = model else {
                return Ok(false.into());
            };
            let set = session.set_model(model, Persist::Session).await;
            Ok(set.is_ok().into())
        }))
    }

    fn refresh_models(&self) -> HostFuture {
        let models = self.models.clone();
        self.on_program(async move {
            models.refresh(RefreshOptions::default()).await;
            Ok(Value::Null)
        })
    }

    fn send(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let (draft, sending) = read::<SendMessage>(arguments)?.into_parts();
        Ok(self.on_program(async move {
            let sent = session.send_custom_message(draft, sending).await;
            sent.map(|_| Value::Null).map_err(told)
        }))
    }

    fn send_user(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let (content, delivery, expand) = read::<SendUserMessage>(arguments)?.into_parts();
        Ok(self.on_program(async move {
            let sent = session.send_user_message(content, delivery, expand).await;
            sent.map(|_| Value::Null).map_err(told)
        }))
    }

    fn navigate(&self, arguments: Value) -> Result<HostFuture, HostError> {
        let session = self.session()?;
        let wanted: Navigation = read(arguments)?;
        Ok(self.on_program(async move {
            let target = EntryId::from(wanted.target_id);
            let options = NavigateOptions {
                summarize: wanted.summarize,
                instructions: wanted.custom_instructions,
                replace_instructions: wanted.replace_instructions,
                label: wanted.label,
            };
            let moved = session.navigate_tree(&target, options).await;
            let moved = moved.map_err(told)?;
            Ok(json!({ "cancelled": moved.cancelled }))
        }))
    }

    fn replace_session(&self, method: &str, arguments: &Value) -> Result<HostFuture, HostError> {
        let runtime = self.runtime()?;
        match method {
            "session.new" => {
                let parent: Option<PathBuf> = field(arguments, "parentSession")?;
                Ok(self.on_program(async move { replaced(runtime.new_session(parent).await) }))
            }
            "session.switch" => {
                let path: PathBuf = field(arguments, "path")?;
                Ok(self.on_program(async move { replaced(runtime.switch_session(&path).await) }))
            }
            "session.fork" => {
                let entry = EntryId::from(field::<String>(arguments, "entryId")?);
                let position = match field::<Option<String>>(arguments, "position")?.as_deref() {
                    Some("at") => ForkPosition::At,
                    _ => ForkPosition::Before,
                };
                Ok(self.on_program(async move { replaced(runtime.fork(&entry, position).await) }))
            }
            "session.reload" => Ok(self.on_program(async move {
                runtime.reload().await.map_err(told)?;
                Ok(Value::Null)
            })),
            _ => Err(unknown(method)),
        }
    }
}

fn named(question: &DialogQuestion) -> (&'static str, &str) {
    match question {
        DialogQuestion::Select { title, .. } => ("select", title),
        DialogQuestion::Confirm { title, .. } => ("confirm", title),
        DialogQuestion::Input { title, .. } => ("input", title),
        DialogQuestion::Editor { title, .. } => ("editor", title),
    }
}

fn replaced<Failure: std::fmt::Display>(
    result: Result<Replacement, Failure>,
) -> Result<Value, HostError> {
    let replacement = result.map_err(told)?;
    Ok(json!({ "cancelled": replacement.cancelled }))
}
