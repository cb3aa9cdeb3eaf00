//! Fast path for deserializing transcript messages in one pass.
//!
//! The derived `Deserialize` for [`AgentMessage`] accepts the role in any position, so it has to
//! buffer the whole message first. pi always writes the role first, so nearly all messages can be
//! streamed.

use std::fmt;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::AgentMessage;
use crate::json::JsonObject;
use crate::message::{AssistantMessage, SystemMessage, ToolResultMessage, UserMessage};

impl AgentMessage {
    /// Deserializes a model message whose role is the first field and whose fields all have the
    /// expected types. An error only means that the message needs the slower [`Deserialize`]
    /// implementation, which gives the same result wherever both succeed.
    pub fn deserialize_role_first<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RoleFirstVisitor)
    }
}

/// Key that must come first.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum FirstKey {
    Role,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ModelRole {
    System,
    User,
    Assistant,
    ToolResult,
}

struct RoleFirstVisitor;

impl<'de> Visitor<'de> for RoleFirstVisitor {
    type Value = AgentMessage;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message that starts with its role")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<AgentMessage, A::Error> {
        let Some(FirstKey::Role) = fields.next_key()? else {
            return Err(Error::missing_field("role"));
        };
        Ok(match fields.next_value()? {
            ModelRole::System => {
                AgentMessage::System(read_fields(fields, |message: &SystemMessage| {
                    &message.extra
                })?)
            }
            ModelRole::User => {
                AgentMessage::User(read_fields(fields, |message: &UserMessage| &message.extra)?)
            }
            ModelRole::Assistant => {
                AgentMessage::Assistant(read_fields(fields, |message: &AssistantMessage| {
                    &message.extra
                })?)
            }
            ModelRole::ToolResult => {
                AgentMessage::ToolResult(read_fields(fields, |message: &ToolResultMessage| {
                    &message.extra
                })?)
            }
        })
    }
}

/// Reads the fields after the role. Rejects a second `role` field, because the last one would win.
fn read_fields<'de, A: MapAccess<'de>, Message: Deserialize<'de>>(
    fields: A,
    extra: impl FnOnce(&Message) -> &JsonObject,
) -> Result<Arc<Message>, A::Error> {
    let message = Message::deserialize(MapAccessDeserializer::new(fields))?;
    if extra(&message).contains_key("role") {
        return Err(Error::duplicate_field("role"));
    }
    Ok(Arc::new(message))
}
