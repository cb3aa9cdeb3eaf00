//! The calls of other tools that a tool made while it ran, as its result records them.

use serde::{Deserialize, Serialize};

use crate::json::{JsonObject, lenient_optional_u64};

/// The calls that a tool made itself. They are neither calls nor results of the transcript.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NestedCalls {
    pub calls: Vec<NestedCall>,
    /// Whether every call ended and is recorded with its arguments.
    pub complete: bool,
}

/// One call that a tool made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NestedCall {
    /// The ID of the call that made it, a slash, and its number.
    pub id: String,
    pub name: String,
    pub status: NestedCallStatus,
    /// Absent if they are too large to record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<JsonObject>,
    /// Size of the arguments that are not recorded, as JSON.
    #[serde(
        default,
        deserialize_with = "lenient_optional_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub arguments_bytes: Option<u64>,
    /// Absent if the call did not end.
    #[serde(
        default,
        deserialize_with = "lenient_optional_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub duration_ms: Option<u64>,
    /// The beginning of the error text of a failed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a nested call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NestedCallStatus {
    Ok,
    Error,
    /// The tool that made the call ended first.
    Unfinished,
}
