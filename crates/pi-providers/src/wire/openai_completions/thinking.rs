//! The thinking fields of each service: eleven formats for one thinking level.
//!
//! The model defines whether it supports thinking and how its levels are named; this file only
//! knows the request fields.

use pi_protocol::json::JsonObject;
use pi_protocol::{Model, ThinkingLevel};
use serde::Deserialize;
use serde_json::{Value, json};

use super::compat::CompletionsCompat;
use crate::options::{ModelRequest, StreamOptions};
use crate::token_limits;

/// The request fields that control thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ThinkingFormat {
    /// `reasoning_effort`.
    Openai,
    /// `reasoning.effort`.
    Openrouter,
    /// `thinking.type`, and `reasoning_effort` if supported.
    Deepseek,
    /// `thinking.type` that keeps earlier thinking, and `reasoning_effort` if supported.
    Zai,
    /// `reasoning.enabled`, and `reasoning_effort` if supported.
    Together,
    /// `chat_template_args` from the model's settings, and `reasoning_effort` if supported.
    Baseten,
    /// `enable_thinking`, and `reasoning_effort` if supported.
    Qwen,
    /// `chat_template_kwargs` of Qwen's own template.
    QwenChatTemplate,
    /// `chat_template_kwargs` from the model's settings.
    ChatTemplate,
    /// `thinking` as a string.
    StringThinking,
    /// `reasoning.effort`, for levels that the model maps.
    AntLing,
}

/// The thinking configuration of a request.
pub(super) struct ThinkingFields<'request> {
    model: &'request Model,
    /// The level; `None` if thinking is off.
    level: Option<ThinkingLevel>,
    /// The model's name for the level, including off.
    mapped: MappedLevel<'request>,
    /// Tokens for thinking, within the output limit.
    budget: Option<u64>,
}

/// A level in the model's level map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MappedLevel<'model> {
    /// Not in the map: the level keeps its own name.
    Unmapped,
    /// Null: the model does not support the level.
    Missing,
    Named(&'model str),
}

impl<'model> MappedLevel<'model> {
    fn lookup(level: ThinkingLevel, model: &'model Model) -> Self {
        match model.mapped_thinking_level(level) {
            None => Self::Unmapped,
            Some(None) => Self::Missing,
            Some(Some(mapped)) => Self::Named(mapped),
        }
    }
}

impl<'request> ThinkingFields<'request> {
    /// Resolves the configuration of a request with the given output limit.
    pub(super) fn for_request(request: &'request ModelRequest, output_limit: u64) -> Self {
        let model = &*request.model;
        let level = requested_level(model, &request.options);
        let budget = level.map(|level| {
            let requested = request.options.thinking_budgets.for_level(level);
            token_limits::cap_thinking_budget(requested, output_limit)
        });
        Self {
            model,
            level,
            mapped: MappedLevel::lookup(level.unwrap_or(ThinkingLevel::Off), model),
            budget: budget.filter(|budget| *budget > 0),
        }
    }

    /// Adds the fields of the service's format.
    pub(super) fn write(&self, body: &mut JsonObject, compat: &CompletionsCompat) {
        if !self.model.reasoning {
            return;
        }
        self.write_format(body, compat);
        if let (Some(field), Some(budget)) = (&compat.thinking_token_budget_field, self.budget) {
            body.insert(field.clone(), budget.into());
        }
    }

    fn write_format(&self, body: &mut JsonObject, compat: &CompletionsCompat) {
        let on = self.level.is_some();
        let effort = self.effort().filter(|_| compat.supports_reasoning_effort);
        match compat.thinking_format {
            ThinkingFormat::Openai => set(body, "reasoning_effort", effort),
            ThinkingFormat::Openrouter => {
                let reasoning = self
                    .effort_or_none()
                    .map(|effort| json!({"effort": effort}));
                set(body, "reasoning", reasoning);
            }
            ThinkingFormat::Deepseek => {
                // A model that cannot disable thinking does not receive the field.
                if on || self.mapped != MappedLevel::Missing {
                    set(body, "thinking", Some(json!({"type": switch(on)})));
                }
                set(body, "reasoning_effort", effort.filter(|_| on));
            }
            ThinkingFormat::Zai => {
                let thinking = if on {
                    json!({"type": switch(on), "clear_thinking": false})
                } else {
                    json!({"type": switch(on)})
                };
                set(body, "thinking", Some(thinking));
                set(body, "reasoning_effort", effort.filter(|_| on));
            }
            ThinkingFormat::Together => {
                set(body, "reasoning", Some(json!({"enabled": on})));
                set(body, "reasoning_effort", effort.filter(|_| on));
            }
            ThinkingFormat::Baseten => {
                let values = self.template_values(&compat.chat_template_args);
                set(body, "chat_template_args", values);
                set(body, "reasoning_effort", effort);
            }
            ThinkingFormat::Qwen => {
                set(body, "enable_thinking", Some(on));
                set(body, "reasoning_effort", effort.filter(|_| on));
            }
            ThinkingFormat::QwenChatTemplate => {
                let values = json!({"enable_thinking": on, "preserve_thinking": true});
                set(body, "chat_template_kwargs", Some(values));
            }
            ThinkingFormat::ChatTemplate => {
                let values = self.template_values(&compat.chat_template_kwargs);
                set(body, "chat_template_kwargs", values);
            }
            ThinkingFormat::StringThinking => set(body, "thinking", self.effort_or_none()),
            ThinkingFormat::AntLing => {
                if let (true, MappedLevel::Named(mapped)) = (on, self.mapped) {
                    set(body, "reasoning", Some(json!({"effort": mapped})));
                }
            }
        }
    }

    /// Returns the effort: the mapped name, else the level's own name. Off has no own name, and a
    /// level that the model does not support has none.
    fn effort(&self) -> Option<&'request str> {
        match self.mapped {
            MappedLevel::Named(mapped) => Some(mapped),
            MappedLevel::Missing => None,
            MappedLevel::Unmapped => self.level.map(ThinkingLevel::as_str),
        }
    }

    /// Like `effort`, for services that call off `none`.
    fn effort_or_none(&self) -> Option<&'request str> {
        match (self.mapped, self.level) {
            (MappedLevel::Unmapped, None) => Some("none"),
            _ => self.effort(),
        }
    }

    /// Fills in the variables of a template; `None` if no value is left.
    fn template_values(&self, template: &JsonObject) -> Option<Value> {
        let values: JsonObject = template
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), self.template_value(value)?)))
            .collect();
        (!values.is_empty()).then_some(Value::Object(values))
    }

    fn template_value(&self, value: &Value) -> Option<Value> {
        let Some(variable) = value.get("$var").and_then(Value::as_str) else {
            return Some(value.clone());
        };
        let omitted_when_off = value.get("omitWhenOff").and_then(Value::as_bool) == Some(true);
        if self.level.is_none() && omitted_when_off {
            return None;
        }
        match variable {
            "thinking.enabled" => Some(self.level.is_some().into()),
            "thinking.effort" => self.effort().map(Value::from),
            "thinking.budget" => self.budget.map(Value::from),
            _ => None,
        }
    }
}

/// Returns the level to request: the API's own option, else the common one clamped to the model's
/// levels. Off stays off, even for a model that does not list it.
fn requested_level(model: &Model, options: &StreamOptions) -> Option<ThinkingLevel> {
    let option_level = options
        .provider_option("reasoningEffort")
        .and_then(Value::as_str)
        .and_then(ThinkingLevel::from_name);
    let level = match (option_level, options.reasoning) {
        (Some(level), _) => level,
        (None, ThinkingLevel::Off) => ThinkingLevel::Off,
        (None, level) => model.clamp_thinking_level(level),
    };
    Some(level).filter(|level| model.reasoning && *level != ThinkingLevel::Off)
}

fn switch(on: bool) -> &'static str {
    if on { "enabled" } else { "disabled" }
}

fn set(body: &mut JsonObject, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(field.to_owned(), value.into());
    }
}
