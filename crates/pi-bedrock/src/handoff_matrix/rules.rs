//! The constraints of each service on a request's history, as checks of the body.
//!
//! A check returns the first violation. Every rule here is one for which a service rejects the
//! request, so a history that violates it cannot be continued.

use std::collections::HashSet;

use pi_protocol::Message;
use serde_json::Value;

/// The error describes the first violated rule.
pub(super) type RuleResult = Result<(), String>;

fn list<'body>(value: &'body Value, key: &str) -> &'body [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'body>(value: &'body Value, key: &str) -> &'body str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn require(holds: bool, rule: impl FnOnce() -> String) -> RuleResult {
    if holds { Ok(()) } else { Err(rule()) }
}

fn required(body: &Value, keys: &[&str]) -> RuleResult {
    for key in keys {
        let present = body.get(key).is_some_and(|value| !value.is_null());
        require(present, || format!("{key} is missing"))?;
    }
    Ok(())
}

fn is_valid_id(id: &str, limit: usize) -> bool {
    (1..=limit).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Requires text that is not blank; services reject blank text.
fn require_text(value: &Value, what: &str) -> RuleResult {
    let text = value.as_str().is_some_and(|text| !text.trim().is_empty());
    require(text, || format!("{what} is blank: {value}"))
}

/// Calls and results of one history: IDs are unique, and every call has a result before the next turn.
#[derive(Default)]
struct CallPairing {
    with_image: HashSet<String>,
    open: Vec<String>,
}

impl CallPairing {
    fn call(&mut self, id: &str) -> RuleResult {
        require(self.with_image.insert(id.to_owned()), || {
            format!("duplicate call ID {id}")
        })?;
        self.open.push(id.to_owned());
        Ok(())
    }

    fn result(&mut self, id: &str) -> RuleResult {
        let position = self.open.iter().position(|open| open == id);
        let position = position.ok_or_else(|| format!("the result {id} has no open call"))?;
        self.open.remove(position);
        Ok(())
    }

    fn require_no_open(&self) -> RuleResult {
        require(self.open.is_empty(), || {
            format!("calls without a result: {:?}", self.open)
        })
    }
}

/// Anthropic: results come first in the message after their calls; thinking is signed; no blank text.
pub(super) fn anthropic(body: &Value) -> RuleResult {
    required(body, &["model", "messages", "max_tokens"])?;
    let messages = list(body, "messages");
    let turns: Vec<&Value> = messages
        .iter()
        .filter(|message| text(message, "role") != "system")
        .collect();
    require(
        turns
            .first()
            .is_some_and(|turn| text(turn, "role") == "user"),
        || "the first message is not from the user".to_owned(),
    )?;
    require(
        turns
            .last()
            .is_some_and(|turn| text(turn, "role") == "user"),
        || "the last message is not from the user".to_owned(),
    )?;
    let mut pairing = CallPairing::default();
    for turn in turns {
        let is_assistant = text(turn, "role") == "assistant";
        if is_assistant {
            pairing.require_no_open()?;
        }
        let content = turn.get("content").unwrap_or(&Value::Null);
        if content.is_string() {
            require_text(content, "a message")?;
            pairing.require_no_open()?;
            continue;
        }
        require(!list(turn, "content").is_empty(), || {
            format!("a message without content: {turn}")
        })?;
        for block in list(turn, "content") {
            anthropic_block(block, is_assistant, &mut pairing)?;
        }
    }
    pairing.require_no_open()
}

fn anthropic_block(block: &Value, is_assistant: bool, pairing: &mut CallPairing) -> RuleResult {
    match (text(block, "type"), is_assistant) {
        ("text", true) => require_text(&block["text"], "a text block"),
        ("text", false) => {
            pairing.require_no_open()?;
            require_text(&block["text"], "a text block")
        }
        ("image", false) => {
            pairing.require_no_open()?;
            require_text(&block["source"]["data"], "an image")
        }
        ("thinking", true) => require_text(&block["signature"], "a thinking signature"),
        ("redacted_thinking", true) => require_text(&block["data"], "redacted thinking"),
        ("tool_use", true) => {
            let id = text(block, "id");
            require(is_valid_id(id, 64), || format!("invalid call ID {id:?}"))?;
            require(block["input"].is_object(), || {
                format!("input is not an object: {block}")
            })?;
            pairing.call(id)
        }
        ("tool_result", false) => {
            for part in list(block, "content") {
                if text(part, "type") == "text" {
                    require_text(&part["text"], "a text block of a result")?;
                }
            }
            pairing.result(text(block, "tool_use_id"))
        }
        (kind, _) => Err(format!("unexpected {kind:?} block: {block}")),
    }
}

/// Chat Completions: tool messages directly follow their calls and contain only text.
pub(super) fn completions(body: &Value) -> RuleResult {
    chat(body, ImageSupport::Rejected, &|id| {
        (1..=40).contains(&id.len())
    })
}

/// Mistral: like Chat Completions, with IDs of nine letters and digits, and images in tool messages.
pub(super) fn mistral(body: &Value) -> RuleResult {
    chat(body, ImageSupport::Allowed, &|id| {
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn chat(body: &Value, tool_images: ImageSupport, is_call_id: &dyn Fn(&str) -> bool) -> RuleResult {
    required(body, &["model", "messages"])?;
    let mut pairing = CallPairing::default();
    for message in list(body, "messages") {
        let role = text(message, "role");
        if role != "tool" {
            pairing.require_no_open()?;
        }
        match role {
            "system" | "developer" => require_text(&message["content"], "an instruction")?,
            "user" => chat_parts(&message["content"], ImageSupport::Allowed)?,
            "assistant" => chat_assistant(message, is_call_id, &mut pairing)?,
            "tool" => {
                chat_parts(&message["content"], tool_images)?;
                pairing.result(text(message, "tool_call_id"))?;
            }
            other => return Err(format!("unknown role {other:?}")),
        }
    }
    pairing.require_no_open()
}

fn chat_assistant(
    message: &Value,
    is_call_id: &dyn Fn(&str) -> bool,
    pairing: &mut CallPairing,
) -> RuleResult {
    let calls = list(message, "tool_calls");
    let content = message.get("content").unwrap_or(&Value::Null);
    let is_empty = content.is_null() || content.as_str() == Some("");
    if calls.is_empty() || !is_empty {
        chat_parts(content, ImageSupport::Rejected)?;
    }
    for call in calls {
        let id = text(call, "id");
        require(is_call_id(id), || format!("invalid call ID {id:?}"))?;
        if text(call, "type") != "custom" {
            let arguments = text(&call["function"], "arguments");
            let parsed: Result<Value, _> = serde_json::from_str(arguments);
            require(parsed.is_ok_and(|value| value.is_object()), || {
                format!("arguments are not an object: {call}")
            })?;
        }
        pairing.call(id)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ImageSupport {
    Allowed,
    Rejected,
}

fn chat_parts(content: &Value, images: ImageSupport) -> RuleResult {
    let Some(parts) = content.as_array() else {
        return require_text(content, "a message");
    };
    require(!parts.is_empty(), || "a message without parts".to_owned())?;
    for part in parts {
        match text(part, "type") {
            "text" => require_text(&part["text"], "a text part")?,
            "image_url" if images == ImageSupport::Allowed => {}
            "thinking" => {}
            other => return Err(format!("unexpected {other:?} part: {part}")),
        }
    }
    Ok(())
}

/// The Responses APIs: outputs match their calls in ID and kind; item IDs have their prefix.
pub(super) fn responses(body: &Value) -> RuleResult {
    required(body, &["model", "input"])?;
    let mut pairing = CallPairing::default();
    let items = list(body, "input");
    for (index, item) in items.iter().enumerate() {
        let call_id = text(item, "call_id");
        match text(item, "type") {
            kind @ ("function_call" | "custom_tool_call") => {
                let prefix = if kind == "function_call" {
                    "fc_"
                } else {
                    "ctc_"
                };
                item_id(item, prefix)?;
                require(is_valid_id(call_id, 64), || {
                    format!("invalid call ID {call_id:?}")
                })?;
                pairing.call(&format!("{kind} {call_id}"))?;
            }
            "function_call_output" => pairing.result(&format!("function_call {call_id}"))?,
            "custom_tool_call_output" => pairing.result(&format!("custom_tool_call {call_id}"))?,
            "reasoning" => {
                // The service rejects reasoning without a following item.
                let followed = items.get(index + 1).is_some_and(|next| {
                    matches!(
                        text(next, "type"),
                        "reasoning" | "message" | "function_call" | "custom_tool_call"
                    )
                });
                require(followed, || {
                    format!("reasoning without a following item: {item}")
                })?;
            }
            "message" | "" => responses_message(item, &pairing)?,
            "additional_tools" | "tool_search_call" | "tool_search_output" => {}
            other => return Err(format!("unknown item {other:?}")),
        }
    }
    pairing.require_no_open()
}

fn item_id(item: &Value, prefix: &str) -> RuleResult {
    match item.get("id").and_then(Value::as_str) {
        None => Ok(()),
        Some(id) => require(id.starts_with(prefix) && is_valid_id(id, 64), || {
            format!("invalid item ID {id:?}")
        }),
    }
}

fn responses_message(item: &Value, pairing: &CallPairing) -> RuleResult {
    if text(item, "role") == "assistant" {
        item_id(item, "msg_")?;
    } else {
        pairing.require_no_open()?;
    }
    let Some(parts) = item["content"].as_array() else {
        return require_text(&item["content"], "a message");
    };
    require(!parts.is_empty(), || "a message without parts".to_owned())?;
    for part in parts {
        if text(part, "type") != "input_image" {
            require_text(&part["text"], "a text part")?;
        }
    }
    Ok(())
}

/// Google: turns alternate starting with the user, and every call of a turn has a result.
pub(super) fn google(body: &Value) -> RuleResult {
    required(body, &["contents"])?;
    let contents = list(body, "contents");
    require(
        contents
            .first()
            .is_some_and(|first| text(first, "role") == "user"),
        || "the first turn is not from the user".to_owned(),
    )?;
    let mut open: Vec<(String, String)> = Vec::new();
    for content in contents {
        let parts = list(content, "parts");
        require(!parts.is_empty(), || {
            format!("a turn without parts: {content}")
        })?;
        if text(content, "role") == "model" {
            require(open.is_empty(), || {
                format!("calls without a result: {open:?}")
            })?;
        }
        for part in parts {
            if let Some(call) = part.get("functionCall") {
                require(text(content, "role") == "model", || {
                    "a call in a user turn".to_owned()
                })?;
                open.push((text(call, "name").to_owned(), text(call, "id").to_owned()));
            } else if let Some(result) = part.get("functionResponse") {
                let result_key = (
                    text(result, "name").to_owned(),
                    text(result, "id").to_owned(),
                );
                let position = open.iter().position(|call| *call == result_key);
                let position = position
                    .ok_or_else(|| format!("the result {result_key:?} has no open call"))?;
                open.remove(position);
            } else if let Some(text) = part.get("text") {
                require_text(text, "a text part")?;
            } else {
                require(part.get("inlineData").is_some(), || {
                    format!("unknown part {part}")
                })?;
            }
        }
    }
    require(open.is_empty(), || {
        format!("calls without a result: {open:?}")
    })
}

/// Bedrock: results are in the turn after their calls, the last turn is the user's, no blank text.
pub(super) fn bedrock(body: &Value) -> RuleResult {
    required(body, &["messages"])?;
    let messages = list(body, "messages");
    let mut pairing = CallPairing::default();
    for message in messages {
        let role = text(message, "role");
        let blocks = list(message, "content");
        require(!blocks.is_empty(), || {
            format!("a message without content: {message}")
        })?;
        for block in blocks {
            if let Some(call) = block.get("toolUse") {
                let id = text(call, "toolUseId");
                require(is_valid_id(id, 64), || format!("invalid call ID {id:?}"))?;
                require(call["input"].is_object(), || {
                    format!("input is not an object: {call}")
                })?;
                pairing.call(id)?;
            } else if let Some(result) = block.get("toolResult") {
                require(!list(result, "content").is_empty(), || {
                    format!("a result without content: {result}")
                })?;
                pairing.result(text(result, "toolUseId"))?;
            } else if let Some(text) = block.get("text") {
                require_text(text, "a text block")?;
            }
        }
        if role == "user" {
            pairing.require_no_open()?;
        }
    }
    let last = messages.last().map(|message| text(message, "role"));
    require(last == Some("user"), || {
        "the last message is not from the user".to_owned()
    })
}

/// Bedrock: user and assistant alternate; consecutive messages of one role are rejected.
pub(super) fn bedrock_turns(body: &Value) -> RuleResult {
    let roles: Vec<&str> = list(body, "messages")
        .iter()
        .map(|message| text(message, "role"))
        .collect();
    let repeated = roles.windows(2).find(|pair| pair[0] == pair[1]);
    require(repeated.is_none(), || {
        format!("roles do not alternate: {roles:?}")
    })
}

/// pi's own gateway accepts messages unchanged and performs the hand-off itself.
pub(super) fn pi(body: &Value) -> RuleResult {
    let context = body.get("context").unwrap_or(body);
    let messages = list(context, "messages");
    require(!messages.is_empty(), || "no messages".to_owned())?;
    for message in messages {
        serde_json::from_value::<Message>(message.clone())
            .map_err(|error| format!("{error}: {message}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
