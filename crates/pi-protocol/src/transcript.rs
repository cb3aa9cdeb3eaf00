//! Evaluates the system messages of a transcript.
//!
//! A transcript declares its prompt and tools in system messages: the first is the system prompt,
//! later ones change it. APIs that accept system messages in mid-conversation receive them in
//! place; for others, the resulting state is sent as the leading system message and the rest are
//! dropped.

use std::borrow::Cow;

use serde_json::Value;

use crate::content::MessageContent;
use crate::json::JsonObject;
use crate::message::{Message, SystemMessage};
use crate::tool_schema::{Tool, ToolReference};

/// Builds the leading system message; `None` if both prompt and tools are empty.
pub fn initial_system_message(system_prompt: &str, tools: Vec<Tool>) -> Option<SystemMessage> {
    if system_prompt.is_empty() && tools.is_empty() {
        return None;
    }
    Some(SystemMessage {
        content: system_prompt.into(),
        tools_added: (!tools.is_empty()).then_some(tools),
        ..SystemMessage::default()
    })
}

pub fn leading_system_message(messages: &[Message]) -> Option<&SystemMessage> {
    messages.first()?.as_system()
}

fn system_messages(messages: &[Message]) -> impl Iterator<Item = &SystemMessage> {
    messages.iter().filter_map(Message::as_system)
}

/// Returns the active tools after all changes, in declaration order.
pub fn current_tools(messages: &[Message]) -> Vec<Tool> {
    let tools = active_tools(system_messages(messages));
    tools.into_iter().cloned().collect()
}

/// Like [`current_tools`], without cloning.
pub fn active_tools<'transcript>(
    systems: impl IntoIterator<Item = &'transcript SystemMessage>,
) -> Vec<&'transcript Tool> {
    let mut tools = Vec::new();
    for message in systems {
        for removed in message.tools_removed.iter().flatten() {
            tools.retain(|tool: &&Tool| tool.name != removed.name);
        }
        for added in message.tools_added.iter().flatten() {
            upsert_tool(&mut tools, added);
        }
    }
    tools
}

/// Returns the latest definition of every tool ever declared, in order of first declaration.
pub fn declared_tools(messages: &[Message]) -> Vec<Tool> {
    let mut tools = Vec::new();
    for tool in system_messages(messages).flat_map(|message| message.tools_added.iter().flatten()) {
        upsert_tool(&mut tools, tool);
    }
    tools.into_iter().cloned().collect()
}

fn upsert_tool<'transcript>(tools: &mut Vec<&'transcript Tool>, added: &'transcript Tool) {
    match tools.iter_mut().find(|tool| tool.name == added.name) {
        Some(known) => *known = added,
        None => tools.push(added),
    }
}

/// Returns the active sections after all changes.
pub fn active_sections<'transcript>(
    systems: impl IntoIterator<Item = &'transcript SystemMessage>,
) -> JsonObject {
    let mut sections = JsonObject::new();
    for message in systems {
        for (name, value) in message.sections.iter().flatten() {
            if value.is_null() {
                sections.shift_remove(name);
            } else {
                sections.insert(name.clone(), value.clone());
            }
        }
    }
    sections
}

/// Replays all system messages into one; `None` if there are none.
pub fn current_system_message(messages: &[Message]) -> Option<SystemMessage> {
    let timestamp = system_messages(messages).next()?.timestamp;
    let texts: Vec<String> = system_messages(messages)
        .map(|message| message.content.joined_text())
        .filter(|text| !text.is_empty())
        .collect();
    let sections = active_sections(system_messages(messages));
    let tools = current_tools(messages);
    Some(SystemMessage {
        content: MessageContent::Text(texts.join("\n\n")),
        sections: (!sections.is_empty()).then_some(sections),
        tools_added: (!tools.is_empty()).then_some(tools),
        timestamp,
        ..SystemMessage::default()
    })
}

/// Renders a system message as a full prompt: its content, then its sections, separated by blank
/// lines.
pub fn system_text(message: &SystemMessage) -> String {
    let mut parts = vec![message.content.joined_text()];
    parts.extend(
        message
            .sections
            .iter()
            .flatten()
            .filter_map(|(_, value)| value.as_str().map(str::to_owned)),
    );
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// Renders a later system message for APIs that accept it in place. Each changed section is
/// introduced with its name, so the model can relate it to the prompt.
pub fn system_update_text(message: &SystemMessage) -> String {
    let mut parts = vec![message.content.joined_text()];
    for (name, value) in message.sections.iter().flatten() {
        parts.push(match value {
            Value::String(text) => {
                format!("The system prompt section \"{name}\" is replaced by:\n\n{text}")
            }
            _ => format!("The system prompt section \"{name}\" no longer applies."),
        });
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// Returns the transcript for an API: unchanged if it accepts later system messages, otherwise with
/// a single leading system message.
pub fn resolve(messages: &[Message], accepts_later_system_messages: bool) -> Vec<Cow<'_, Message>> {
    let is_replayed = messages
        .iter()
        .skip(1)
        .all(|message| message.as_system().is_none());
    if accepts_later_system_messages || is_replayed {
        return messages.iter().map(Cow::Borrowed).collect();
    }
    let head = current_system_message(messages).map(|message| Cow::Owned(message.into()));
    let rest = messages
        .iter()
        .filter(|message| message.as_system().is_none())
        .map(Cow::Borrowed);
    head.into_iter().chain(rest).collect()
}

/// Returns whether two tools declare the same interface to the model.
pub fn same_declaration(left: &Tool, right: &Tool) -> bool {
    left.name == right.name
        && left.description == right.description
        && left.constrained_sampling == right.constrained_sampling
        && serialize_identically(&left.parameters, &right.parameters)
}

/// Compares two values including key order, which the model sees.
fn serialize_identically(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| {
                    left.0 == right.0 && serialize_identically(left.1, right.1)
                })
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| serialize_identically(left, right))
        }
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64().map(f64::to_bits) == right.as_f64().map(f64::to_bits)
        }
        (left, right) => left == right,
    }
}

/// Difference between two tool sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolChanges {
    /// Tools that are new or redefined.
    pub added: Vec<Tool>,
    /// Tools that were removed or redefined.
    pub removed: Vec<ToolReference>,
}

impl ToolChanges {
    /// Compares two tool sets; a redefinition counts as removal and addition.
    pub fn between(previous: &[&Tool], current: &[&Tool]) -> Self {
        let is_declared = |tool: &Tool, others: &[&Tool]| {
            others
                .iter()
                .any(|other| other.name == tool.name && same_declaration(other, tool))
        };
        Self {
            added: current
                .iter()
                .filter(|tool| !is_declared(tool, previous))
                .map(|tool| (*tool).clone())
                .collect(),
            removed: previous
                .iter()
                .filter(|tool| !is_declared(tool, current))
                .map(|tool| ToolReference::new(&tool.name))
                .collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// What an API can express about tools within a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlaceTools {
    /// Nothing: the request's list has the current tools.
    Unsupported,
    /// Only new tools. The request's list has the tools up to the last change of another kind.
    Additions,
    /// Any change. All tools are declared in place, the first ones included.
    Changes,
}

/// How a transcript's tools are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTools {
    /// Tools for the request's tool list.
    pub tools: Vec<Tool>,
    /// How many of the first system messages the list covers. Later ones declare their tools in
    /// place.
    pub covered_system_messages: usize,
}

impl RequestTools {
    /// Splits the tools between the request's list and in-place declarations.
    pub fn resolve(messages: &[Message], in_place: InPlaceTools) -> Self {
        let systems: Vec<&SystemMessage> = system_messages(messages).collect();
        let covered_system_messages = match in_place {
            InPlaceTools::Unsupported => systems.len(),
            InPlaceTools::Changes => 0,
            InPlaceTools::Additions => {
                let leading = usize::from(leading_system_message(messages).is_some());
                leading.max(last_non_additive_change(&systems).map_or(0, |index| index + 1))
            }
        };
        let covered = systems.into_iter().take(covered_system_messages);
        let tools = match in_place {
            InPlaceTools::Changes => Vec::new(),
            InPlaceTools::Unsupported | InPlaceTools::Additions => active_tools(covered),
        };
        Self {
            tools: tools.into_iter().cloned().collect(),
            covered_system_messages,
        }
    }
}

/// Returns the index of the last system message that removes a tool or declares a name again. A
/// name counts as declared even after its removal.
fn last_non_additive_change(systems: &[&SystemMessage]) -> Option<usize> {
    let mut declared: Vec<&str> = Vec::new();
    let mut last = None;
    for (index, message) in systems.iter().enumerate() {
        if message.tools_removed.iter().flatten().next().is_some() {
            last = Some(index);
        }
        for tool in message.tools_added.iter().flatten() {
            if declared.contains(&tool.name.as_str()) {
                last = Some(index);
            } else {
                declared.push(&tool.name);
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::message::UserMessage;

    fn tool(name: &str, description: &str) -> Tool {
        Tool {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object"}),
            constrained_sampling: None,
            extra: JsonObject::new(),
        }
    }

    fn system(value: Value) -> Message {
        serde_json::from_value::<SystemMessage>(value)
            .unwrap()
            .into()
    }

    #[test]
    fn later_system_messages_are_replayed_in_order() {
        let messages = [
            system(json!({"content": "base", "sections": {"a": "A", "b": "B"},
                "toolsAdded": [tool("x", "1"), tool("y", "1")], "timestamp": 5})),
            UserMessage::default().into(),
            system(
                json!({"content": "more", "sections": {"a": null, "b": "B2", "c": "C"},
                "toolsRemoved": [{"name": "x"}], "toolsAdded": [tool("y", "2"), tool("z", "1")]}),
            ),
        ];
        let current = current_system_message(&messages).unwrap();
        assert_eq!(system_text(&current), "base\n\nmore\n\nB2\n\nC");
        assert_eq!(
            current.tools_added.unwrap(),
            vec![tool("y", "2"), tool("z", "1")]
        );
        assert_eq!(current.timestamp, 5);
        assert_eq!(resolve(&messages, false).len(), 2);
        assert_eq!(resolve(&messages, true).len(), 3);
    }

    #[test]
    fn tools_are_split_between_the_list_and_their_messages() {
        let messages = [
            system(json!({"content": "base", "toolsAdded": [tool("x", "1"), tool("y", "1")]})),
            system(json!({"content": "", "toolsAdded": [tool("z", "1")]})),
            system(json!({"content": "", "toolsRemoved": [{"name": "x"}]})),
            system(json!({"content": "", "toolsAdded": [tool("late", "1")]})),
        ];
        let split = |count: usize, in_place| {
            let split = RequestTools::resolve(&messages[..count], in_place);
            let names: Vec<String> = split.tools.into_iter().map(|tool| tool.name).collect();
            (names.join(" "), split.covered_system_messages)
        };
        for (count, in_place, tools, covered) in [
            (4, InPlaceTools::Unsupported, "y z late", 4),
            (4, InPlaceTools::Changes, "", 0),
            (2, InPlaceTools::Additions, "x y", 1),
            (3, InPlaceTools::Additions, "y z", 3),
            (4, InPlaceTools::Additions, "y z", 3),
        ] {
            assert_eq!(
                split(count, in_place),
                (tools.to_owned(), covered),
                "{in_place:?} {count}"
            );
        }
    }

    #[test]
    fn redefined_tool_is_removed_and_added() {
        let changes = ToolChanges::between(
            &[
                &tool("same", "1"),
                &tool("changed", "1"),
                &tool("gone", "1"),
            ],
            &[&tool("same", "1"), &tool("changed", "2"), &tool("new", "1")],
        );
        assert_eq!(changes.added, vec![tool("changed", "2"), tool("new", "1")]);
        assert_eq!(
            changes.removed,
            vec![ToolReference::new("changed"), ToolReference::new("gone")]
        );
    }
}
