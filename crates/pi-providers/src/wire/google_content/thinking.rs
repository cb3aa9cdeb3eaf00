//! The thinking configuration of a request: a level by name or a budget in tokens, and how to disable it.

use pi_protocol::{Model, ProviderError, ThinkingBudgets, ThinkingLevel};
use serde::{Deserialize, Serialize};

use super::family::{BudgetTable, supports_thinking_level, thinking_budgets};
use crate::options::ModelRequest;

/// The budget that leaves the amount to the model.
const DYNAMIC_BUDGET: i64 = -1;

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
}

/// The API's own `thinking` option, which overrides the thinking level.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingOption {
    enabled: bool,
    #[serde(default)]
    budget_tokens: Option<i64>,
    #[serde(default)]
    level: Option<String>,
}

/// Returns the thinking configuration, `None` for a model without thinking.
pub(super) fn thinking_config(
    request: &ModelRequest,
) -> Result<Option<ThinkingConfig>, ProviderError> {
    let model = &request.model;
    if !model.reasoning {
        return Ok(None);
    }
    if let Some(option) = request.options.provider_option("thinking") {
        let option = ThinkingOption::deserialize(option).map_err(|error| {
            ProviderError::invalid(format!("Invalid option \"thinking\": {error}"))
        })?;
        return option.config(model).map(Some);
    }
    let requested = request.options.reasoning;
    let level = match requested {
        ThinkingLevel::Off => ThinkingLevel::Off,
        _ => model.clamp_thinking_level(requested),
    };
    if level == ThinkingLevel::Off {
        return without_thinking(model).map(Some);
    }
    let level = api_level(model, level)?;
    let mut config = ThinkingConfig {
        include_thoughts: Some(true),
        ..ThinkingConfig::default()
    };
    if supports_thinking_level(model) {
        config.thinking_level = Some(level_name(level));
    } else {
        config.thinking_budget = Some(budget(model, level, &request.options.thinking_budgets));
    }
    Ok(Some(config))
}

impl ThinkingOption {
    fn config(self, model: &Model) -> Result<ThinkingConfig, ProviderError> {
        if !self.enabled {
            return without_thinking(model);
        }
        Ok(ThinkingConfig {
            include_thoughts: Some(true),
            thinking_budget: self.budget_tokens.filter(|_| self.level.is_none()),
            thinking_level: self.level,
        })
    }
}

/// Disables thinking, or uses the lowest level of a model that cannot disable it.
fn without_thinking(model: &Model) -> Result<ThinkingConfig, ProviderError> {
    let lowest = model.clamp_thinking_level(ThinkingLevel::Off);
    if supports_thinking_level(model) && lowest != ThinkingLevel::Off {
        return Ok(ThinkingConfig {
            thinking_level: Some(level_name(api_level(model, lowest)?)),
            ..ThinkingConfig::default()
        });
    }
    Ok(ThinkingConfig {
        thinking_budget: Some(0),
        ..ThinkingConfig::default()
    })
}

/// Returns the API's level for ours, as mapped by the model's record.
fn api_level(model: &Model, level: ThinkingLevel) -> Result<ThinkingLevel, ProviderError> {
    let mapped = model.mapped_thinking_level(level).flatten();
    let resolved = match mapped {
        Some(name) => ThinkingLevel::from_name(&name.to_ascii_lowercase()),
        None => Some(level),
    };
    resolved
        .filter(|level| (ThinkingLevel::Minimal..=ThinkingLevel::High).contains(level))
        .ok_or_else(|| {
            ProviderError::invalid(format!(
                "The thinking level {} of {}/{} is mapped to \"{}\"; Google supports minimal, low, medium and high",
                level.as_str(),
                model.provider,
                model.id,
                mapped.unwrap_or_default()
            ))
        })
}

fn level_name(level: ThinkingLevel) -> String {
    level.as_str().to_ascii_uppercase()
}

fn budget(model: &Model, level: ThinkingLevel, budgets: &ThinkingBudgets) -> i64 {
    let tokens = budgets
        .custom(level)
        .or_else(|| Some(thinking_budgets(&model.id)?.tokens(level)));
    tokens.map_or(DYNAMIC_BUDGET, |tokens| {
        i64::try_from(tokens).unwrap_or(i64::MAX)
    })
}

impl BudgetTable {
    fn tokens(&self, level: ThinkingLevel) -> u64 {
        match level {
            ThinkingLevel::Off => 0,
            ThinkingLevel::Minimal => self.minimal,
            ThinkingLevel::Low => self.low,
            ThinkingLevel::Medium => self.medium,
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => self.high,
        }
    }
}
