//! Sessions, tools and messages as extensions see them: JSON, made when it is asked for.

use pi_ai::transcript::{current_system_message, system_text};
use pi_ai::{AgentMessage, Message};
use pi_ext::HostError;
use pi_session::{EntryId, Session, serialize_conversation, to_model_messages};
use serde_json::{Value, json};

use super::bridge::{field, spell, told, unknown};
use crate::session::AgentSession;
use crate::toolset::ToolOrigin;

/// Answers what is asked about messages alone.
pub(super) fn call(method: &str, arguments: &Value) -> Result<Value, HostError> {
    match method {
        "messages.toModel" => {
            let messages: Vec<AgentMessage> = field(arguments, "messages")?;
            spell(Ok::<_, HostError>(to_model_messages(&messages)))
        }
        "messages.serialize" => {
            let messages: Vec<Message> = field(arguments, "messages")?;
            Ok(serialize_conversation(&messages).into())
        }
        "messages.system" => {
            let messages: Vec<Message> = field(arguments, "messages")?;
            spell(Ok::<_, HostError>(
                current_system_message(&messages).map(Message::from),
            ))
        }
        "messages.systemText" => {
            let messages: Vec<Message> = field(arguments, "messages")?;
            let system = current_system_message(&messages);
            Ok(system.map(|system| system_text(&system)).into())
        }
        _ => Err(unknown(method)),
    }
}

/// Answers what is asked about the session.
pub(super) fn session(
    session: &AgentSession,
    method: &str,
    arguments: &Value,
) -> Result<Value, HostError> {
    let id = |name: &str| field::<Option<String>>(arguments, name);
    match method {
        "session.info" => Ok(session.with_session(|session| {
            json!({
                "id": session.id(),
                "file": session.path(),
                "directory": session.directory(),
                "leafId": session.leaf_id().map(ToString::to_string),
            })
        })),
        "session.header" => {
            session.with_session(|session| spell(Ok::<_, HostError>(session.header())))
        }
        "session.entry" => {
            let Some(id) = id("id")? else {
                return Ok(Value::Null);
            };
            session.with_session(|session| {
                if !session.contains(&id) {
                    return Ok(Value::Null);
                }
                spell(session.entry(&id))
            })
        }
        "session.entries" => {
            session.with_session(|session| spell(session.entries().collect::<Result<Vec<_>, _>>()))
        }
        "session.branch" => {
            let from = id("fromId")?.map(EntryId::from);
            session.with_session(|session| spell(branch(session, from.as_ref())))
        }
        "session.label" => {
            let id = EntryId::from(id("id")?.unwrap_or_default());
            Ok(session.with_session(|session| session.label(&id).map(str::to_owned).into()))
        }
        "session.context" => {
            let messages = session.messages().map_err(told)?;
            Ok(json!({
                "messages": messages,
                "thinkingLevel": session.thinking_level().as_str(),
                "model": session.model().map(|model| json!({
                    "provider": model.provider, "modelId": model.id,
                })),
            }))
        }
        _ => Err(unknown(method)),
    }
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

/// Lists the tools.
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

/// Lists the models to cycle through.
pub(super) fn scoped_models(session: &AgentSession) -> Value {
    let models = session.scoped_models().into_iter().map(|scoped| {
        json!({
            "model": scoped.model,
            "thinkingLevel": scoped.thinking.map(pi_ai::ThinkingLevel::as_str),
        })
    });
    Value::Array(models.collect())
}
