//! How each service is asked to think: eleven formats for one thinking level.
//!
//! Whether a model thinks at all and what its levels are called is in the model; this file knows
//! only the request fields.

use serde::Deserialize;
use serde_json::{Value, json};

use super::compat::CompletionsCompat;
use crate::json::JsonObject;
use crate::model::Model;
use crate::options::{ModelRequest, StreamOptions};
use crate::thinking::ThinkingLevel;
use crate::token_limits;

/// The request fields of a service that switch thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ThinkingFormat {
    /// `reasoning_effort`.
    Openai,
    /// `reasoning.effort`.
    Openrouter,
    /// `thinking.type`, and `reasoning_effort` where the model takes it.
    Deepseek,
    /// `thinking.type` that keeps earlier thinking, and `reasoning_effort` likewise.
    Zai,
    /// `reasoning.enabled`, and `reasoning_effort` likewise.
    Together,
    /// `chat_template_args` of the model's choice, and `reasoning_effort` likewise.
    Baseten,
    /// `enable_thinking`, and `reasoning_effort` likewise.
    Qwen,
    /// `chat_template_kwargs` of Qwen's own template.
    QwenChatTemplate,
    /// `chat_template_kwargs` of the model's choice.
    ChatTemplate,
    /// `thinking` as a word.
    StringThinking,
    /// `reasoning.effort`, for levels the model names.
    AntLing,
}

/// What a request asks for.
pub(super) struct Thinking<'request> {
    model: &'request Model,
    /// The level; nothing when thinking is off.
    level: Option<ThinkingLevel>,
    /// The model's word for the level, off included.
    word: Word<'request>,
    /// Tokens for thinking, within the output limit.
    budget: Option<u64>,
}

/// What the model's map says of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'model> {
    /// Nothing: the level goes by its own name.
    Unmapped,
    /// Null: the model does not have the level.
    Missing,
    Named(&'model str),
}

impl<'model> Word<'model> {
    fn of(level: ThinkingLevel, model: &'model Model) -> Self {
        match model.mapped_thinking_level(level) {
            None => Self::Unmapped,
            Some(None) => Self::Missing,
            Some(Some(word)) => Self::Named(word),
        }
    }
}

impl<'request> Thinking<'request> {
    /// Reads what a request asks for, given its output limit.
    pub(super) fn of(request: &'request ModelRequest, output_limit: u64) -> Self {
        let model = &*request.model;
        let level = requested_level(model, &request.options);
        let budget = level.map(|level| {
            let wanted = request.options.thinking_budgets.for_level(level);
            token_limits::cap_thinking_budget(wanted, output_limit)
        });
        Self {
            model,
            level,
            word: Word::of(level.unwrap_or(ThinkingLevel::Off), model),
            budget: budget.filter(|budget| *budget > 0),
        }
    }

    /// Writes the fields of the service's format.
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
                let reasoning = self.effort_or_none().map(|word| json!({"effort": word}));
                set(body, "reasoning", reasoning);
            }
            ThinkingFormat::Deepseek => {
                // A model that cannot stop thinking is not asked to.
                if on || self.word != Word::Missing {
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
                if let (true, Word::Named(word)) = (on, self.word) {
                    set(body, "reasoning", Some(json!({"effort": word})));
                }
            }
        }
    }

    /// The word for the effort: the mapped one, else the level's own name. Off has no name of its
    /// own, and a level the model does not have has none at all.
    fn effort(&self) -> Option<&'request str> {
        match self.word {
            Word::Named(word) => Some(word),
            Word::Missing => None,
            Word::Unmapped => self.level.map(ThinkingLevel::as_str),
        }
    }

    /// The same for services that call off `none`.
    fn effort_or_none(&self) -> Option<&'request str> {
        match (self.word, self.level) {
            (Word::Unmapped, None) => Some("none"),
            _ => self.effort(),
        }
    }

    /// Fills in the variables of a template; nothing when no value is left.
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

/// Returns the level to ask for: the API's own option, else the common one as far as the model
/// offers it. Off stays off, even for a model that does not list it.
fn requested_level(model: &Model, options: &StreamOptions) -> Option<ThinkingLevel> {
    let own = options
        .provider_option("reasoningEffort")
        .and_then(Value::as_str)
        .and_then(ThinkingLevel::from_name);
    let level = match (own, options.reasoning) {
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
