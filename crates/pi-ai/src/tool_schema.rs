//! Tools as the model sees them: a name, a description and a JSON schema.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::json::JsonObject;

/// A tool declaration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name the model calls.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// The JSON schema of the arguments.
    pub parameters: Value,
    /// How the provider should constrain the arguments while sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained_sampling: Option<ConstrainedSampling>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// A tool named, not declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReference {
    pub name: String,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ToolReference {
    /// Names a tool.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            extra: JsonObject::new(),
        }
    }
}

/// What a tool asks of the provider's constrained sampling.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstrainedSampling {
    /// `false`: never constrain this tool.
    Off,
    /// Constrain by the schema ("strict" in vendors' words).
    JsonSchema(Strictness),
    /// Constrain by a grammar, where the provider has custom tools.
    Grammar(GrammarVariants),
}

/// How much a tool insists on a strict schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// Strict when the schema allows it.
    Prefer,
    /// An error when the schema cannot be made strict.
    Require,
}

/// One language written in the formats providers understand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GrammarVariants {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_lark: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_regex: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TaggedSampling {
    JsonSchema { strict: Strictness },
    Grammar { variants: GrammarVariants },
}

impl Serialize for ConstrainedSampling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::JsonSchema(strict) => {
                TaggedSampling::JsonSchema { strict: *strict }.serialize(serializer)
            }
            Self::Grammar(variants) => TaggedSampling::Grammar {
                variants: variants.clone(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ConstrainedSampling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Flag(bool),
            Tagged(TaggedSampling),
        }
        match Either::deserialize(deserializer)? {
            Either::Flag(false) => Ok(Self::Off),
            Either::Flag(true) => Err(serde::de::Error::custom(
                "constrainedSampling is false or an object",
            )),
            Either::Tagged(TaggedSampling::JsonSchema { strict }) => Ok(Self::JsonSchema(strict)),
            Either::Tagged(TaggedSampling::Grammar { variants }) => Ok(Self::Grammar(variants)),
        }
    }
}
