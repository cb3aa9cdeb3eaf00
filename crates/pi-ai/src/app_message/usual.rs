//! Reads the messages conversations are made of in one pass.
//!
//! What `serde` derives for [`AgentMessage`] takes a message of any shape, and for that it holds all of
//! it before it looks for the role. Every pi writes the role first, so that nearly all messages can be
//! read as they come.

use std::fmt;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::AgentMessage;
use crate::json::JsonObject;
use crate::message::{AssistantMessage, SystemMessage, ToolResultMessage, UserMessage};

impl AgentMessage {
    /// Reads a message of a model's role that has the usual shape: the role first, every field of its
    /// type. An error says no more than that [`Deserialize`] has to read the message, which takes several
    /// times as long and gives the same where both can.
    pub fn deserialize_role_first<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RoleFirst)
    }
}

/// The key that must come first.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum FirstKey {
    Role,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Role {
    System,
    User,
    Assistant,
    ToolResult,
}

struct RoleFirst;

impl<'de> Visitor<'de> for RoleFirst {
    type Value = AgentMessage;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message whose role comes first")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<AgentMessage, A::Error> {
        let Some(FirstKey::Role) = fields.next_key()? else {
            return Err(Error::missing_field("role"));
        };
        Ok(match fields.next_value()? {
            Role::System => {
                AgentMessage::System(read(fields, |message: &SystemMessage| &message.extra)?)
            }
            Role::User => AgentMessage::User(read(fields, |message: &UserMessage| &message.extra)?),
            Role::Assistant => {
                AgentMessage::Assistant(read(fields, |message: &AssistantMessage| &message.extra)?)
            }
            Role::ToolResult => {
                AgentMessage::ToolResult(read(fields, |message: &ToolResultMessage| {
                    &message.extra
                })?)
            }
        })
    }
}

/// Reads the fields after the role. Of two roles the last would count, which is too late to hear of.
fn read<'de, A: MapAccess<'de>, Message: Deserialize<'de>>(
    fields: A,
    extra: impl FnOnce(&Message) -> &JsonObject,
) -> Result<Arc<Message>, A::Error> {
    let message = Message::deserialize(MapAccessDeserializer::new(fields))?;
    if extra(&message).contains_key("role") {
        return Err(Error::duplicate_field("role"));
    }
    Ok(Arc::new(message))
}
