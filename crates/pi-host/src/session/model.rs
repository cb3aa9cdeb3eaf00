//! Selection of the model and its thinking level.
//!
//! A selection is stored as an entry of the session, and becomes the user's default only on
//! request.

use std::sync::Arc;

use pi_config::SettingsError;
use pi_protocol::{
    ConfigScope, Model, ModelChangeEntry, ScopedModel, SessionEvent, ThinkingLevel,
    ThinkingLevelChangeEntry, describe_error,
};
use pi_session::SessionError;
use serde::{Serialize, Serializer};
use thiserror::Error;

use super::AgentSession;
use super::prompt::PromptError;
use crate::participants::{ModelSelected, ModelSource};

/// Where a selection is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Persist {
    #[default]
    Session,
    /// Also as the default for new sessions.
    Default,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CycleDirection {
    #[default]
    Forward,
    Backward,
}

/// The model selected by cycling.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCycle {
    #[serde(serialize_with = "model_for_clients")]
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Whether it was chosen from the scoped models.
    pub is_scoped: bool,
}

fn model_for_clients<S: Serializer>(model: &Arc<Model>, serializer: S) -> Result<S::Ok, S::Error> {
    model.without_password().serialize(serializer)
}

/// Why a model or thinking level was not selected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetModelError {
    /// The provider's credentials are missing or invalid.
    #[error("cannot use {}/{}: {source}", model.provider, model.id)]
    Unavailable {
        model: Arc<Model>,
        source: Box<PromptError>,
    },
    /// The selection could not be written to the session file.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The selection applies to this run but was not saved as the default.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl SetModelError {
    /// Formats the error and its causes on one line.
    pub fn describe(&self) -> String {
        describe_error(self)
    }
}

/// Model and thinking level of a session.
#[derive(Clone, Copy)]
pub struct ModelSelection<'session> {
    pub(super) session: &'session AgentSession,
}

impl AgentSession {
    pub fn selection(&self) -> ModelSelection<'_> {
        ModelSelection { session: self }
    }
}

impl ModelSelection<'_> {
    /// `None` until a model is selected.
    pub fn model(self) -> Option<Arc<Model>> {
        self.session.0.machine().selection().model.clone()
    }

    pub fn thinking_level(self) -> ThinkingLevel {
        self.session.0.machine().selection().thinking_level
    }

    pub fn scoped_models(self) -> Vec<ScopedModel> {
        self.session.0.machine().selection().scoped_models.clone()
    }

    pub fn set_scoped_models(self, models: Vec<ScopedModel>) {
        self.session.0.machine().selection_mut().scoped_models = models;
    }

    /// Selects a model after checking its credentials.
    pub async fn set_model(self, model: Arc<Model>, persist: Persist) -> Result<(), SetModelError> {
        if let Err(error) = self.session.intake().check_auth(&model).await {
            return Err(SetModelError::Unavailable {
                model,
                source: Box::new(error),
            });
        }
        let level = self.level_for(&model, None);
        self.use_model(model, level, persist, ModelSource::Set)
            .await
    }

    /// Selects the next model; `None` if there is no other.
    pub async fn cycle_model(
        self,
        direction: CycleDirection,
        persist: Persist,
    ) -> Result<Option<ModelCycle>, SetModelError> {
        let available = self.session.0.models.available();
        let scoped = self.scoped_models();
        let is_scoped = !scoped.is_empty();
        let choices: Vec<ScopedModel> = if is_scoped {
            let is_available =
                |scoped: &ScopedModel| available.iter().any(|model| model.is_same(&scoped.model));
            scoped.into_iter().filter(is_available).collect()
        } else {
            let unscoped = |model| ScopedModel {
                model,
                thinking: None,
            };
            available.into_iter().map(unscoped).collect()
        };
        if choices.len() < 2 {
            return Ok(None);
        }
        let current = self.model();
        let is_current = |choice: &ScopedModel| {
            current
                .as_ref()
                .is_some_and(|current| current.is_same(&choice.model))
        };
        let index = choices.iter().position(is_current).unwrap_or_default();
        let step = match direction {
            CycleDirection::Forward => 1,
            CycleDirection::Backward => choices.len() - 1,
        };
        let Some(next) = choices.get((index + step) % choices.len()) else {
            return Ok(None);
        };
        let model = Arc::clone(&next.model);
        let level = self.level_for(&model, next.thinking);
        self.use_model(Arc::clone(&model), level, persist, ModelSource::Cycle)
            .await?;
        Ok(Some(ModelCycle {
            model,
            thinking_level: self.thinking_level(),
            is_scoped,
        }))
    }

    /// Returns the thinking level to use when a model is selected.
    fn level_for(self, model: &Model, explicit: Option<ThinkingLevel>) -> ThinkingLevel {
        let settings = self.session.0.settings.settings();
        explicit
            .or_else(|| settings.model_thinking_level(&model.provider, &model.id))
            .or(settings.default_thinking_level)
            .unwrap_or_else(|| match self.model() {
                Some(_) => self.thinking_level(),
                // The first model starts as a new session does.
                None => settings.default_thinking_level(),
            })
    }

    async fn use_model(
        self,
        model: Arc<Model>,
        level: ThinkingLevel,
        persist: Persist,
        source: ModelSource,
    ) -> Result<(), SetModelError> {
        let change = ModelChangeEntry {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
        };
        let previous = {
            let mut writer = self.session.writer();
            writer.write(|transcript| transcript.append(change))?;
            let current = Some(Arc::clone(&model));
            std::mem::replace(&mut self.session.0.machine().selection_mut().model, current)
        };
        let saved = match persist {
            Persist::Session => Ok(()),
            Persist::Default => self.save_default_model(&model),
        };
        self.use_thinking_level(level).await?;
        self.session.tools().update_tool_context();
        let is_other = previous
            .as_ref()
            .is_none_or(|previous| !previous.is_same(&model));
        if is_other {
            self.session.0.log_change(SessionEvent::ModelChanged {
                provider: model.provider.clone(),
                model_id: model.id.clone(),
            });
            let selected = ModelSelected {
                model,
                previous,
                source,
            };
            self.session.0.participants.model_selected(selected).await;
        }
        Ok(saved?)
    }

    /// Saves a model as the default, and adds it to the scoped models if there are any.
    fn save_default_model(self, model: &Arc<Model>) -> Result<(), SettingsError> {
        let is_new_in_scope = {
            let mut machine = self.session.0.machine();
            let scoped_models = &mut machine.selection_mut().scoped_models;
            let is_new = !scoped_models.is_empty()
                && !scoped_models.iter().any(|one| one.model.is_same(model));
            if is_new {
                scoped_models.push(ScopedModel {
                    model: Arc::clone(model),
                    thinking: None,
                });
            }
            is_new
        };
        let reference = format!("{}/{}", model.provider, model.id);
        self.session
            .0
            .settings
            .update(ConfigScope::User, |settings| {
                settings.default_provider = Some(model.provider.clone());
                settings.default_model = Some(model.id.clone());
                if let Some(patterns) = &mut settings.enabled_models
                    && is_new_in_scope
                    && !patterns.is_empty()
                    && !patterns
                        .iter()
                        .any(|pattern| pattern.eq_ignore_ascii_case(&reference))
                {
                    patterns.push(reference);
                }
            })
    }

    /// Selects a thinking level, or the nearest one the model supports.
    pub async fn set_thinking_level(
        self,
        level: ThinkingLevel,
        persist: Persist,
    ) -> Result<(), SetModelError> {
        let saved = match persist {
            Persist::Session => Ok(()),
            Persist::Default => self
                .session
                .0
                .settings
                .update(ConfigScope::User, |settings| {
                    settings.default_thinking_level = Some(level);
                }),
        };
        self.use_thinking_level(level).await?;
        Ok(saved?)
    }

    async fn use_thinking_level(self, level: ThinkingLevel) -> Result<(), SessionError> {
        let model = self.model();
        let level = model.map_or(level, |model| model.clamp_thinking_level(level));
        let previous = self.thinking_level();
        if level == previous {
            return Ok(());
        }
        let change = ThinkingLevelChangeEntry {
            thinking_level: level.as_str().to_owned(),
        };
        {
            let mut writer = self.session.writer();
            writer.write(|transcript| transcript.append(change))?;
            self.session.0.machine().selection_mut().thinking_level = level;
        }
        self.session.tools().update_tool_context();
        self.session
            .0
            .publish(SessionEvent::ThinkingLevelChanged { level })
            .await;
        self.session
            .0
            .participants
            .thinking_level_selected(level, previous)
            .await;
        Ok(())
    }

    /// Selects the next thinking level; `None` if the model has no thinking levels.
    pub async fn cycle_thinking_level(
        self,
        persist: Persist,
    ) -> Result<Option<ThinkingLevel>, SetModelError> {
        if !self.supports_thinking() {
            return Ok(None);
        }
        let levels = self.available_thinking_levels();
        let current = self.thinking_level();
        let index = levels.iter().position(|level| *level == current);
        let next = index.map_or(0, |index| (index + 1) % levels.len().max(1));
        let Some(level) = levels.get(next).copied() else {
            return Ok(None);
        };
        self.set_thinking_level(level, persist).await?;
        Ok(Some(level))
    }

    /// Returns the levels the model supports; all of them without a model.
    pub fn available_thinking_levels(self) -> Vec<ThinkingLevel> {
        self.model().map_or_else(
            || ThinkingLevel::ALL.to_vec(),
            |model| model.thinking_levels(),
        )
    }

    pub fn supports_thinking(self) -> bool {
        self.model().is_some_and(|model| model.reasoning)
    }
}
