//! Selection of the model, the thinking level, and the models to cycle through.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use pi_host::{CycleDirection, Persist};
use pi_protocol::settings::SettingChange;
use pi_protocol::{Model, ScopedModel, ThinkingLevel};
use pi_views::dialogs::dialog::DialogUpdate;

use super::dialogs::{DialogMsg, DialogRequest};
use super::sign_in::SignInMsg;
use super::status::StatusMsg;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::session::command::{SessionChange, SessionCommand};

#[derive(Debug)]
pub(crate) enum ModelMsg {
    /// Uses the model with exactly this reference, or opens the picker with it as the search.
    Select(String),
    Use {
        model: Arc<Model>,
        persist: Persist,
    },
    Set {
        name: String,
        persist: Persist,
        result: Result<(), String>,
    },
    Cycle(CycleDirection),
    Cycled(Result<Option<String>, String>),
    /// Uses the named thinking level, or opens the picker without one.
    SelectThinking(String),
    UseThinking {
        level: ThinkingLevel,
        persist: Persist,
    },
    ThinkingSet {
        persist: Persist,
        result: Result<(), String>,
    },
    CycleThinking,
    ThinkingCycled(Result<Option<ThinkingLevel>, String>),
    /// Sets the models to cycle through in this session; `None` means all.
    SetScope(Option<Vec<ScopedModel>>),
    SaveScope(Option<Vec<String>>),
    /// Catalogs were fetched, of one provider or all.
    Refreshed {
        provider: Option<String>,
        available: Vec<Arc<Model>>,
        /// The providers that failed.
        failed: Vec<String>,
    },
}

/// Selects models. The session has the selection.
#[derive(Debug)]
pub(crate) struct ModelController;

impl ModelController {
    #[expect(
        clippy::unused_self,
        reason = "all controllers have the same interface"
    )]
    pub(crate) fn update(&mut self, message: ModelMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            ModelMsg::Select(reference) => select(reference, ctx),
            ModelMsg::Use { model, persist } => {
                vec![AppCommand::Session(SessionCommand::SetModel {
                    model,
                    persist,
                })]
            }
            ModelMsg::Set {
                name,
                persist,
                result: Ok(()),
            } => vec![
                AppCommand::send(StatusMsg::ModelChanged),
                AppCommand::status(format!("Model: {name}{}", saved(persist))),
            ],
            ModelMsg::Cycle(direction) => {
                vec![AppCommand::Session(SessionCommand::CycleModel(direction))]
            }
            ModelMsg::Cycled(Ok(Some(name))) => vec![
                AppCommand::send(StatusMsg::ModelChanged),
                AppCommand::status(format!("Model: {name}")),
            ],
            ModelMsg::Cycled(Ok(None)) if ctx.session.scoped_models.is_empty() => {
                vec![AppCommand::status("No other model available")]
            }
            ModelMsg::Cycled(Ok(None)) => vec![AppCommand::status("No other scoped model")],
            ModelMsg::SelectThinking(name) => select_thinking(&name, ctx),
            ModelMsg::UseThinking { level, persist } => {
                vec![AppCommand::Session(SessionCommand::SetThinking {
                    level,
                    persist,
                })]
            }
            ModelMsg::ThinkingSet {
                persist,
                result: Ok(()),
            } => {
                let level = ctx.session.thinking.as_str();
                vec![AppCommand::status(format!(
                    "Thinking: {level}{}",
                    saved(persist)
                ))]
            }
            ModelMsg::CycleThinking => vec![AppCommand::Session(SessionCommand::CycleThinking)],
            ModelMsg::ThinkingCycled(Ok(Some(level))) => {
                vec![AppCommand::status(format!("Thinking: {}", level.as_str()))]
            }
            ModelMsg::ThinkingCycled(Ok(None)) => vec![no_levels()],
            ModelMsg::SetScope(scope) => vec![AppCommand::Change(SessionChange::SetScope(
                scope.unwrap_or_default(),
            ))],
            ModelMsg::SaveScope(patterns) => vec![
                AppCommand::Change(SessionChange::Setting(SettingChange::EnabledModels(
                    patterns,
                ))),
                AppCommand::status("Scoped models saved"),
            ],
            ModelMsg::Refreshed {
                provider: None,
                available,
                failed,
            } => {
                let mut commands = vec![AppCommand::UpdateDialog(DialogUpdate::Models(available))];
                if !failed.is_empty() {
                    let text = format!(
                        "Could not refresh the models of {}; showing cached ones.",
                        failed.join(", ")
                    );
                    commands.push(AppCommand::UpdateDialog(DialogUpdate::Failed(text)));
                }
                commands
            }
            ModelMsg::Refreshed {
                provider: Some(provider),
                available,
                ..
            } => vec![AppCommand::send(SignInMsg::ModelsRefreshed {
                provider,
                available,
            })],
            ModelMsg::Set {
                result: Err(message),
                ..
            }
            | ModelMsg::Cycled(Err(message))
            | ModelMsg::ThinkingSet {
                result: Err(message),
                ..
            }
            | ModelMsg::ThinkingCycled(Err(message)) => vec![AppCommand::error(message)],
        }
    }
}

fn saved(persist: Persist) -> &'static str {
    match persist {
        Persist::Session => "",
        Persist::Default => " (saved as default)",
    }
}

fn no_levels() -> AppCommand {
    AppCommand::status("This model has no thinking levels")
}

fn select(reference: String, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let exact = (!reference.is_empty())
        .then(|| exact_model(&reference, &(ctx.available_models)()))
        .flatten();
    vec![match exact {
        Some(model) => AppCommand::send(ModelMsg::Use {
            model,
            persist: Persist::Session,
        }),
        None => AppCommand::send(DialogMsg::Open(DialogRequest::Models { search: reference })),
    }]
}

/// Returns the model with exactly this reference: `provider/id`, or an ID that only one provider has.
fn exact_model(reference: &str, available: &[Arc<Model>]) -> Option<Arc<Model>> {
    let mut matching = available.iter().filter(|model| {
        model.id.eq_ignore_ascii_case(reference)
            || format!("{}/{}", model.provider, model.id).eq_ignore_ascii_case(reference)
    });
    let only = matching.next()?;
    matching.next().is_none().then(|| Arc::clone(only))
}

fn select_thinking(name: &str, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    if name.is_empty() {
        return vec![if ctx.session.supports_thinking {
            AppCommand::send(DialogMsg::Open(DialogRequest::Thinking))
        } else {
            no_levels()
        }];
    }
    let levels = &ctx.session.thinking_levels;
    match ThinkingLevel::from_name(name).filter(|level| levels.contains(level)) {
        Some(level) => vec![AppCommand::send(ModelMsg::UseThinking {
            level,
            persist: Persist::Session,
        })],
        None => {
            let names: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
            let names = names.join(", ");
            vec![AppCommand::error(format!(
                "Unknown thinking level \"{name}\" for this model; available: {names}"
            ))]
        }
    }
}
