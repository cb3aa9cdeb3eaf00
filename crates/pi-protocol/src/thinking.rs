//! Thinking levels: how much a model reasons before it responds.

use serde::{Deserialize, Serialize};

use crate::model::Model;

/// A thinking level, in ascending order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    /// The lowest level that a provider offers.
    Minimal,
    Low,
    Medium,
    High,
    /// More than most models offer.
    Xhigh,
    /// The model's maximum.
    Max,
}

impl ThinkingLevel {
    /// All levels in ascending order.
    pub const ALL: [Self; 7] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
        Self::Max,
    ];

    /// Returns the level's name in settings, flags and requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// Thinking budgets in tokens, for APIs that take a budget instead of an effort.
///
/// Unset levels use a default; some models have their own defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThinkingBudgets {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimal: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<u64>,
    /// Budget for `high` and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
}

impl ThinkingBudgets {
    /// Returns the budget of a level; 0 for `off`.
    pub fn for_level(&self, level: ThinkingLevel) -> u64 {
        let default = match level {
            ThinkingLevel::Off => 0,
            ThinkingLevel::Minimal => 1024,
            ThinkingLevel::Low => 2048,
            ThinkingLevel::Medium => 8192,
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => 16384,
        };
        self.custom(level).unwrap_or(default)
    }

    /// Returns the user-defined budget of a level.
    pub fn custom(&self, level: ThinkingLevel) -> Option<u64> {
        match level {
            ThinkingLevel::Off => None,
            ThinkingLevel::Minimal => self.minimal,
            ThinkingLevel::Low => self.low,
            ThinkingLevel::Medium => self.medium,
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => self.high,
        }
    }
}

impl Model {
    /// Returns the levels that the model supports: only `off` without reasoning; otherwise all
    /// except those mapped to null, with `xhigh` and `max` only if the map contains them.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            return vec![ThinkingLevel::Off];
        }
        ThinkingLevel::ALL
            .into_iter()
            .filter(|level| match self.mapped_thinking_level(*level) {
                Some(None) => false,
                Some(Some(_)) => true,
                None => *level < ThinkingLevel::Xhigh,
            })
            .collect()
    }

    /// Returns the nearest supported level: the next higher one, else the next lower one.
    pub fn clamp_thinking_level(&self, requested: ThinkingLevel) -> ThinkingLevel {
        let levels = self.thinking_levels();
        levels
            .iter()
            .find(|level| **level >= requested)
            .or_else(|| levels.last())
            .copied()
            .unwrap_or(ThinkingLevel::Off)
    }

    /// Returns the model's mapping of a level: `None` if unmapped, `Some(None)` if unsupported, or
    /// the provider's name.
    pub fn mapped_thinking_level(&self, level: ThinkingLevel) -> Option<Option<&str>> {
        self.thinking_level_map
            .as_ref()?
            .get(&level)
            .map(Option::as_deref)
    }
}
