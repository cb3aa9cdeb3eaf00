//! Builds the `input` list of a request: a transcript as the Responses APIs accept it.
//!
//! [`crate::transform`] decides what another model's history may contain; here every message is
//! encoded as the items that OpenAI itself would have produced, so that prompt caches hit.

use std::borrow::Cow;

use pi_protocol::json::to_string;
use pi_protocol::tool_call_id::short_hash;
use pi_protocol::transcript::InPlaceTools;
use pi_protocol::{
    AssistantBlock, AssistantMessage, ImageContent, InputBlock, Message, MessageContent, Model,
    ProviderError, SystemMessage, TextContent, Tool, ToolCall, ToolResultMessage, transcript,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::call_ids::{self, CUSTOM_ITEM_PREFIX, FUNCTION_ITEM_PREFIX};
use super::compat::ResponsesCompat;
use super::signature::TextSignature;
use super::tools::{DeclaredIn, GrammarProperties, ToolDialect};
use crate::constrained_sampling::raw_input;
use crate::transform::tool_ids::responses;
use crate::transform::{hand_off, is_same_model};
use crate::wire::to_json_value;

/// Where the leading system message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeadingPrompt {
    /// In the first input item.
    Input,
    /// In a field of the request; the input starts with the conversation.
    RequestField,
}

/// Converts transcripts to input items.
#[derive(Debug)]
pub(crate) struct InputBuilder<'request> {
    /// The model that receives the request.
    pub model: &'request Model,
    pub compat: &'request ResponsesCompat,
    pub tools: ToolDialect,
    /// The grammar tools of the transcript.
    pub grammar_properties: &'request GrammarProperties,
    pub leading_prompt: LeadingPrompt,
    /// How many of the first system messages the request's tool list covers; later ones declare
    /// their tools in place.
    pub covered_system_messages: usize,
    /// The effort of this request, if efforts are sent as items.
    pub effort_updates: Option<&'request str>,
}

/// The tools that the items so far have declared and withdrawn.
#[derive(Default)]
struct DeclaredSoFar<'a> {
    has_tools: bool,
    /// Announced as removed, and not declared again since.
    unavailable: Vec<&'a str>,
}

/// An input item. Items without a `type` are plain messages.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message {
        role: &'static str,
        content: [OutputText<'a>; 1],
        status: &'static str,
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: &'a str,
        name: &'a str,
        arguments: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
    },
    CustomToolCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: &'a str,
        name: &'a str,
        input: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: CallOutput,
    },
    CustomToolCallOutput {
        call_id: &'a str,
        output: CallOutput,
    },
    AdditionalTools {
        role: &'static str,
        tools: Vec<Value>,
    },
    ConfigurationUpdate {
        reasoning: EffortUpdate<'a>,
    },
    ToolSearchCall {
        call_id: &'a str,
        execution: &'static str,
        status: &'static str,
        arguments: Value,
    },
    ToolSearchOutput {
        call_id: &'a str,
        execution: &'static str,
        status: &'static str,
        tools: Vec<Value>,
    },
    #[serde(untagged)]
    Instructions {
        role: &'static str,
        content: String,
    },
    #[serde(untagged)]
    User {
        role: &'static str,
        content: Vec<InputPart<'a>>,
    },
}

#[derive(Serialize)]
struct EffortUpdate<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "output_text")]
struct OutputText<'a> {
    text: &'a str,
    annotations: [(); 0],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        detail: &'static str,
        image_url: String,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum CallOutput {
    Text(String),
    Parts(Vec<InputPart<'static>>),
}

impl InputBuilder<'_> {
    /// Converts a transcript to the input list.
    pub(crate) fn items(
        &self,
        messages: &[Message],
        now_ms: i64,
    ) -> Result<Vec<Value>, ProviderError> {
        let resolved = transcript::resolve(messages, self.compat.later_system_messages);
        let rule = |id: &str, source: &AssistantMessage| responses(id, source, self.model);
        let messages = hand_off(resolved, self.model, &rule, now_ms);
        let mut items = Vec::with_capacity(messages.len());
        // Generated IDs count the sent messages, without the leading system message.
        let mut number = 0;
        let mut systems = 0;
        let mut declared = DeclaredSoFar::default();
        for (index, message) in messages.iter().enumerate() {
            let items_before = items.len();
            match message.as_ref() {
                Message::System(system) => {
                    let in_place = systems >= self.covered_system_messages;
                    systems += 1;
                    let changes = in_place.then_some(&mut declared);
                    if index == 0 {
                        self.push_prompt(system, changes, &mut items)?;
                        continue;
                    }
                    self.push_update(system, number, changes, &mut items)?;
                }
                Message::User(user) => push_user(&user.content, &mut items)?,
                Message::Assistant(message) => {
                    let replayed = self.assistant_items(message, number)?;
                    if !replayed.is_empty() {
                        self.push_effort_of(message, &mut items)?;
                    }
                    items.extend(replayed);
                }
                Message::ToolResult(result) => items.push(self.tool_output(result)?),
            }
            if items.len() > items_before || message.as_system().is_some() {
                number += 1;
            }
        }
        if let Some(effort) = self.effort_updates {
            items.push(effort_item(effort)?);
        }
        Ok(items)
    }

    /// Pushes the effort that a message was created with.
    fn push_effort_of(
        &self,
        message: &AssistantMessage,
        items: &mut Vec<Value>,
    ) -> Result<(), ProviderError> {
        if self.effort_updates.is_some()
            && is_same_model(message, self.model)
            && let Some(effort) = message.provider_thinking_level.as_deref()
        {
            items.push(effort_item(effort)?);
        }
        Ok(())
    }

    /// Converts an assistant message to the items that replay it.
    pub(crate) fn assistant_items(
        &self,
        message: &AssistantMessage,
        number: usize,
    ) -> Result<Vec<Value>, ProviderError> {
        let mut items = Vec::new();
        let mut texts = 0;
        for block in &message.content {
            match block {
                AssistantBlock::Thinking(thinking) => {
                    let signature = thinking.thinking_signature.as_deref();
                    items.extend(signature.and_then(reasoning_item));
                }
                AssistantBlock::Text(text) => {
                    items.push(to_json_value(&message_item(text, number, texts))?);
                    texts += 1;
                }
                AssistantBlock::ToolCall(call) => {
                    items.push(to_json_value(&self.call_item(call, message))?);
                }
                AssistantBlock::Unknown(_) => {}
            }
        }
        Ok(items)
    }

    fn instruction_role(&self) -> &'static str {
        if self.model.reasoning && self.compat.developer_role {
            "developer"
        } else {
            "system"
        }
    }

    fn push_prompt<'a>(
        &self,
        system: &'a SystemMessage,
        changes: Option<&mut DeclaredSoFar<'a>>,
        items: &mut Vec<Value>,
    ) -> Result<(), ProviderError> {
        if let Some(declared) = changes {
            self.push_added_tools(system, 0, declared, items)?;
        }
        match self.leading_prompt {
            LeadingPrompt::Input => self.push_instructions(transcript::system_text(system), items),
            LeadingPrompt::RequestField => Ok(()),
        }
    }

    fn push_update<'a>(
        &self,
        system: &'a SystemMessage,
        number: usize,
        changes: Option<&mut DeclaredSoFar<'a>>,
        items: &mut Vec<Value>,
    ) -> Result<(), ProviderError> {
        let mut parts = vec![transcript::system_update_text(system)];
        if let Some(declared) = changes {
            self.push_added_tools(system, number, declared, items)?;
            let removed = removed_tools(system);
            if !removed.is_empty() {
                parts.push(removal_notice(&removed));
            }
            // After this message's additions, whose notice precedes the one of the removal.
            declared.unavailable.extend(removed);
        }
        parts.retain(|part| !part.is_empty());
        self.push_instructions(parts.join("\n\n"), items)
    }

    fn push_instructions(&self, text: String, items: &mut Vec<Value>) -> Result<(), ProviderError> {
        if !text.is_empty() {
            items.push(to_json_value(&InputItem::Instructions {
                role: self.instruction_role(),
                content: text,
            })?);
        }
        Ok(())
    }

    fn push_added_tools<'a>(
        &self,
        system: &'a SystemMessage,
        number: usize,
        declared: &mut DeclaredSoFar<'a>,
        items: &mut Vec<Value>,
    ) -> Result<(), ProviderError> {
        let tools: &[Tool] = system.tools_added.as_deref().unwrap_or_default();
        let is_added = |name: &str| tools.iter().any(|tool| tool.name == name);
        declared.unavailable.retain(|name| !is_added(name));
        if tools.is_empty() {
            return Ok(());
        }
        if self.compat.in_place_tools() == InPlaceTools::Changes {
            if declared.has_tools {
                self.push_instructions(incremental_notice(&declared.unavailable), items)?;
            }
            declared.has_tools = true;
            items.push(to_json_value(&InputItem::AdditionalTools {
                role: "developer",
                tools: self.tools.declare(tools, DeclaredIn::List)?,
            })?);
            return Ok(());
        }
        // Otherwise, the addition is sent as a tool search by the model with our result. Its ID must
        // stay the same whenever the conversation is sent again.
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let seed = format!("system:{number}:{}", names.join(","));
        let call_id = format!("pi_tool_load_{}", short_hash(&seed));
        items.push(to_json_value(&InputItem::ToolSearchCall {
            call_id: &call_id,
            execution: "client",
            status: "completed",
            arguments: json!({"query": names.join(" "), "limit": names.len()}),
        })?);
        items.push(to_json_value(&InputItem::ToolSearchOutput {
            call_id: &call_id,
            execution: "client",
            status: "completed",
            tools: self.tools.declare(tools, DeclaredIn::SearchResult)?,
        })?);
        Ok(())
    }

    fn call_item<'a>(&self, call: &'a ToolCall, message: &AssistantMessage) -> InputItem<'a> {
        let (call_id, item_id) = call_ids::split(&call.id);
        let same_service = message.provider == self.model.provider && message.api == self.model.api;
        let same_model = is_same_model(message, self.model);
        let namespace = call.namespace.as_deref().filter(|_| same_model);
        // The service pairs item IDs with the reasoning of the model that created them. Another model
        // of the same service has no such reasoning, so its calls are sent without item ID.
        let from_other_model = same_service && !same_model;
        if let Some(property) = self.grammar_properties.get(&call.name) {
            return InputItem::CustomToolCall {
                id: item_id.filter(|id| id.starts_with(CUSTOM_ITEM_PREFIX) && !from_other_model),
                call_id,
                name: &call.name,
                input: raw_input(call, property),
                namespace,
            };
        }
        InputItem::FunctionCall {
            id: item_id.filter(|id| id.starts_with(FUNCTION_ITEM_PREFIX) && !from_other_model),
            call_id,
            name: &call.name,
            arguments: to_string(&call.arguments).unwrap_or_default(),
            namespace,
        }
    }

    fn tool_output(&self, result: &ToolResultMessage) -> Result<Value, ProviderError> {
        let (call_id, _) = call_ids::split(&result.tool_call_id);
        let output = self.call_output(&result.content);
        to_json_value(
            &if self.grammar_properties.contains_key(&result.tool_name) {
                InputItem::CustomToolCallOutput { call_id, output }
            } else {
                InputItem::FunctionCallOutput { call_id, output }
            },
        )
    }

    fn call_output(&self, content: &[InputBlock]) -> CallOutput {
        let text = pi_protocol::join_text(content).into_owned();
        let images: Vec<&ImageContent> = content.iter().filter_map(as_image).collect();
        if images.is_empty() || !self.model.accepts_images() {
            return CallOutput::Text(match (text.trim().is_empty(), images.is_empty()) {
                (false, _) => text,
                (true, false) => "(see attached image)".to_owned(),
                (true, true) => "(no tool output)".to_owned(),
            });
        }
        let text = (!text.trim().is_empty()).then_some(InputPart::InputText { text: text.into() });
        CallOutput::Parts(
            text.into_iter()
                .chain(images.into_iter().map(image_part))
                .collect(),
        )
    }
}

/// Returns the tools that a message removes without declaring them again.
fn removed_tools(system: &SystemMessage) -> Vec<&str> {
    let added = system.tools_added.as_deref().unwrap_or_default();
    let removed = system.tools_removed.iter().flatten();
    removed
        .map(|tool| tool.name.as_str())
        .filter(|name| added.iter().all(|tool| tool.name != *name))
        .collect()
}

fn removal_notice(names: &[&str]) -> String {
    format!(
        "These tools have been removed and must not be called:\n- {}",
        names.join("\n- ")
    )
}

/// Explains that a declaration adds to the earlier ones: after a removal, models take the last one
/// for the complete list.
fn incremental_notice(unavailable: &[&str]) -> String {
    let notice = "The next tool list adds to the earlier ones. Tools declared before remain available, \
        except for those that were removed; a tool that is declared again replaces its earlier \
        definition and is available.";
    if unavailable.is_empty() {
        return notice.to_owned();
    }
    format!("{notice}\nNot available: {}", unavailable.join(", "))
}

fn effort_item(effort: &str) -> Result<Value, ProviderError> {
    to_json_value(&InputItem::ConfigurationUpdate {
        reasoning: EffortUpdate { effort },
    })
}

fn push_user(content: &MessageContent, items: &mut Vec<Value>) -> Result<(), ProviderError> {
    let parts: Vec<InputPart<'_>> = match content {
        MessageContent::Text(text) => vec![InputPart::InputText { text: text.into() }],
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(input_part).collect(),
    };
    if !parts.is_empty() {
        items.push(to_json_value(&InputItem::User {
            role: "user",
            content: parts,
        })?);
    }
    Ok(())
}

fn input_part(block: &InputBlock) -> Option<InputPart<'_>> {
    match block {
        InputBlock::Text(block) => Some(InputPart::InputText {
            text: Cow::Borrowed(&block.text),
        }),
        InputBlock::Image(image) => Some(image_part(image)),
        InputBlock::Unknown(_) => None,
    }
}

fn image_part(image: &ImageContent) -> InputPart<'static> {
    InputPart::InputImage {
        detail: "auto",
        image_url: format!("data:{};base64,{}", image.mime_type, image.data),
    }
}

fn as_image(block: &InputBlock) -> Option<&ImageContent> {
    match block {
        InputBlock::Image(image) => Some(image),
        InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    }
}

/// Reasoning is replayed as the item that arrived. A signature without such an item is from another
/// API and cannot be replayed.
fn reasoning_item(signature: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(signature).ok()?;
    (item.get("type")? == "reasoning").then_some(item)
}

fn message_item(text: &TextContent, number: usize, index: usize) -> InputItem<'_> {
    let signature = text
        .text_signature
        .as_deref()
        .filter(|signature| !signature.is_empty())
        .map(TextSignature::parse);
    let (id, phase) = match signature {
        Some(signature) if !signature.id.is_empty() => {
            (call_ids::message_item_id(&signature.id), signature.phase)
        }
        Some(_) | None if index == 0 => (format!("msg_pi_{number}"), None),
        Some(_) | None => (format!("msg_pi_{number}_{index}"), None),
    };
    InputItem::Message {
        role: "assistant",
        content: [OutputText {
            text: &text.text,
            annotations: [],
        }],
        status: "completed",
        id,
        phase,
    }
}
