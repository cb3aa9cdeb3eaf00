//! Sessions, tools and messages as JSON for extensions, built on demand.

use pi_context::{serialize_conversation, to_model_messages};
use pi_core::ToolOrigin;
use pi_ext::HostError;
use pi_protocol::overflow::{is_context_overflow, is_recoverable_length};
use pi_protocol::transcript::{current_system_message, system_text};
use pi_protocol::{AgentMessage, AssistantMessage, Message, Model};
use pi_session::{EntryId, Projection, Session};
use serde_json::{Value, json};

use super::bridge::{field, host_error, result_to_json, to_json, unknown};
use crate::session::AgentSession;

/// Handles calls that only concern messages.
pub(super) fn call(method: &str, arguments: &Value) -> Result<Value, HostError> {
    match method {
        "messages.toModel" => {
            let messages: Vec<AgentMessage> = field(arguments, "messages")?;
            to_json(to_model_messages(&messages))
        }
        "messages.serialize" => {
            let messages: Vec<Message> = field(arguments, "messages")?;
            Ok(serialize_conversation(&messages).into())
        }
        "messages.overflows" => {
            let message: AssistantMessage = field(arguments, "message")?;
            let window = field(arguments, "contextWindow")?;
            Ok(is_context_overflow(&message, window).into())
        }
        "messages.recovers" => {
            let message: AssistantMessage = field(arguments, "message")?;
            let model: Model = field(arguments, "model")?;
            Ok(is_recoverable_length(&message, &model).into())
        }
        "messages.partialJson" => {
            let text: String = field(arguments, "text")?;
            Ok(Value::Object(pi_protocol::partial_json::parse_object(
                &text,
            )))
        }
        "messages.system" => {
            let messages: Vec<Message> = field(arguments, "messages")?;
            to_json(current_system_message(&messages).map(Message::from))
        }
        "messages.systemText" => {
            let messages: Vec<Message> = field(arguments, "messages")?;
            let system = current_system_message(&messages);
            Ok(system.map(|system| system_text(&system)).into())
        }
        _ => Err(unknown(method)),
    }
}

/// Handles calls on the current session.
pub(super) fn session(
    session: &AgentSession,
    method: &str,
    arguments: &Value,
) -> Result<Value, HostError> {
    match method {
        "session.context" => {
            let messages = session.messages().map_err(host_error)?;
            Ok(json!({
                "messages": messages,
                "thinkingLevel": session.thinking_level().as_str(),
                "model": session.model().map(|model| json!({
                    "provider": model.provider, "modelId": model.id,
                })),
            }))
        }
        _ => session.with_session(|session| stored_session(session, method, arguments)),
    }
}

/// Handles calls on any session.
pub(super) fn stored_session(
    session: &Session,
    method: &str,
    arguments: &Value,
) -> Result<Value, HostError> {
    let id = |name: &str| field::<Option<String>>(arguments, name);
    match method {
        "session.info" => Ok(json!({
            "id": session.id(),
            "file": session.path(),
            "directory": session.directory(),
            "leafId": session.leaf_id().map(ToString::to_string),
        })),
        "session.header" => to_json(session.header()),
        "session.entry" => match id("id")? {
            Some(id) if session.contains(&id) => result_to_json(session.entry(&id)),
            _ => Ok(Value::Null),
        },
        "session.entries" => result_to_json(session.entries().collect::<Result<Vec<_>, _>>()),
        "session.branch" => {
            let from = id("fromId")?.map(EntryId::from);
            result_to_json(branch(session, from.as_ref()))
        }
        "session.label" => {
            let id = EntryId::from(id("id")?.unwrap_or_default());
            Ok(session.label(&id).map(str::to_owned).into())
        }
        "session.projection" => Ok(projected_entries(
            &session.projection().map_err(host_error)?,
        )),
        _ => Err(unknown(method)),
    }
}

/// Serializes the model's context, entry by entry.
pub(super) fn projected_entries(projection: &Projection) -> Value {
    let entries = projection.entries().iter().map(
        |projected| json!({ "sourceEntry": projected.entry(), "messages": projected.messages() }),
    );
    entries.collect()
}

fn branch(
    session: &Session,
    from: Option<&EntryId>,
) -> Result<Vec<std::sync::Arc<pi_session::Entry>>, pi_session::SessionError> {
    match from {
        Some(from) => session.path_entries(from),
        None => session.branch_entries(),
    }
}

pub(super) fn tools(session: &AgentSession) -> Value {
    let tools = session.all_tools().into_iter().map(|tool| {
        let source = match tool.origin {
            ToolOrigin::Builtin => "builtin",
            ToolOrigin::Program => "sdk",
            ToolOrigin::Extension => "extension",
        };
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "promptGuidelines": tool.guidelines,
            "sourceInfo": { "source": source, "path": format!("<{source}:{}>", tool.name), "scope": "temporary", "origin": "top-level" },
        })
    });
    Value::Array(tools.collect())
}

pub(super) fn scoped_models(session: &AgentSession) -> Value {
    let models = session.scoped_models().into_iter().map(|scoped| {
        json!({
            "model": scoped.model,
            "thinkingLevel": scoped.thinking.map(pi_protocol::ThinkingLevel::as_str),
        })
    });
    Value::Array(models.collect())
}
