//! Tool declarations as sent to the model: a name, a description and a JSON schema.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::json::JsonObject;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: String,
    /// What the tool does; part of the prompt.
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

/// A reference to a tool by name, without its declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolReference {
    pub name: String,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ToolReference {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            extra: JsonObject::new(),
        }
    }
}

/// How a tool uses the provider's constrained sampling.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstrainedSampling {
    /// `false`: never constrain this tool.
    Off,
    /// Constrain by the schema (providers call this "strict").
    JsonSchema(Strictness),
    /// Constrain by a grammar, for providers with custom tools.
    Grammar(GrammarVariants),
}

/// Whether a strict schema is preferred or required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// Strict when the schema allows it.
    Prefer,
    /// An error when the schema cannot be made strict.
    Require,
}

/// The same grammar in the formats of different providers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrammarVariants {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_lark: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_regex: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
enum TaggedSampling {
    JsonSchema { strict: Strictness },
    Grammar { variants: GrammarVariants },
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ConstrainedSampling {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ConstrainedSampling".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let tagged = <TaggedSampling as schemars::JsonSchema>::json_schema(generator);
        schemars::json_schema!({
            "description": "How a tool uses the provider's constrained sampling; `false` never constrains it.",
            "anyOf": [{ "const": false }, tagged],
        })
    }
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
        enum FlagOrTagged {
            Flag(bool),
            Tagged(TaggedSampling),
        }
        match FlagOrTagged::deserialize(deserializer)? {
            FlagOrTagged::Flag(false) => Ok(Self::Off),
            FlagOrTagged::Flag(true) => Err(serde::de::Error::custom(
                "constrainedSampling must be `false` or an object",
            )),
            FlagOrTagged::Tagged(TaggedSampling::JsonSchema { strict }) => {
                Ok(Self::JsonSchema(strict))
            }
            FlagOrTagged::Tagged(TaggedSampling::Grammar { variants }) => {
                Ok(Self::Grammar(variants))
            }
        }
    }
}
