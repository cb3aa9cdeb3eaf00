//! What each service demands of a request's history, written down as checks of the body.
//!
//! A check returns the first breach it finds. Every rule here is one that a service answers with a
//! refusal, so a history that breaks it cannot be continued.

use std::collections::HashSet;

use serde_json::Value;

use crate::message::Message;

/// The first rule a body breaks, with the place.
pub(super) type Verdict = Result<(), String>;

fn list<'body>(value: &'body Value, key: &str) -> &'body [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'body>(value: &'body Value, key: &str) -> &'body str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn demand(holds: bool, rule: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(rule()) }
}

fn required(body: &Value, keys: &[&str]) -> Verdict {
    for key in keys {
        let present = body.get(key).is_some_and(|value| !value.is_null());
        demand(present, || format!("{key} is missing"))?;
    }
    Ok(())
}

fn is_word(id: &str, limit: usize) -> bool {
    (1..=limit).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// A text that says something; services refuse empty and blank ones.
fn says_something(value: &Value, what: &str) -> Verdict {
    let said = value.as_str().is_some_and(|text| !text.trim().is_empty());
    demand(said, || format!("{what} is blank: {value}"))
}

/// Calls and results of one history: every id once, every call answered before the next turn.
#[derive(Default)]
struct Pairing {
    seen: HashSet<String>,
    open: Vec<String>,
}

impl Pairing {
    fn call(&mut self, id: &str) -> Verdict {
        demand(self.seen.insert(id.to_owned()), || {
            format!("two calls have the id {id}")
        })?;
        self.open.push(id.to_owned());
        Ok(())
    }

    fn result(&mut self, id: &str) -> Verdict {
        let position = self.open.iter().position(|open| open == id);
        let position = position.ok_or_else(|| format!("the result {id} answers no open call"))?;
        self.open.remove(position);
        Ok(())
    }

    fn all_answered(&self) -> Verdict {
        demand(self.open.is_empty(), || {
            format!("calls without a result: {:?}", self.open)
        })
    }
}

/// Anthropic: results lead the message after their calls; thinking is signed; no blank text.
pub(super) fn anthropic(body: &Value) -> Verdict {
    required(body, &["model", "messages", "max_tokens"])?;
    let messages = list(body, "messages");
    let turns: Vec<&Value> = messages
        .iter()
        .filter(|message| text(message, "role") != "system")
        .collect();
    demand(
        turns
            .first()
            .is_some_and(|turn| text(turn, "role") == "user"),
        || "the first message is not the user's".to_owned(),
    )?;
    demand(
        turns
            .last()
            .is_some_and(|turn| text(turn, "role") == "user"),
        || "the last message is not the user's".to_owned(),
    )?;
    let mut pairing = Pairing::default();
    for turn in turns {
        let is_assistant = text(turn, "role") == "assistant";
        if is_assistant {
            pairing.all_answered()?;
        }
        let content = turn.get("content").unwrap_or(&Value::Null);
        if content.is_string() {
            says_something(content, "a message")?;
            pairing.all_answered()?;
            continue;
        }
        demand(!list(turn, "content").is_empty(), || {
            format!("a message without content: {turn}")
        })?;
        for block in list(turn, "content") {
            anthropic_block(block, is_assistant, &mut pairing)?;
        }
    }
    pairing.all_answered()
}

fn anthropic_block(block: &Value, is_assistant: bool, pairing: &mut Pairing) -> Verdict {
    match (text(block, "type"), is_assistant) {
        ("text", true) => says_something(&block["text"], "a text block"),
        ("text", false) => {
            pairing.all_answered()?;
            says_something(&block["text"], "a text block")
        }
        ("image", false) => {
            pairing.all_answered()?;
            says_something(&block["source"]["data"], "an image")
        }
        ("thinking", true) => says_something(&block["signature"], "a thinking signature"),
        ("redacted_thinking", true) => says_something(&block["data"], "redacted thinking"),
        ("tool_use", true) => {
            let id = text(block, "id");
            demand(is_word(id, 64), || format!("bad call id {id:?}"))?;
            demand(block["input"].is_object(), || {
                format!("input is no object: {block}")
            })?;
            pairing.call(id)
        }
        ("tool_result", false) => {
            for part in list(block, "content") {
                if text(part, "type") == "text" {
                    says_something(&part["text"], "a text block of a result")?;
                }
            }
            pairing.result(text(block, "tool_use_id"))
        }
        (kind, _) => Err(format!("a {kind:?} block is out of place: {block}")),
    }
}

/// Chat Completions: tool messages follow their calls at once and hold text only.
pub(super) fn completions(body: &Value) -> Verdict {
    chat(body, Images::Refused, &|id| (1..=40).contains(&id.len()))
}

/// Mistral: as Chat Completions, with ids of nine letters and digits, and images in tool messages.
pub(super) fn mistral(body: &Value) -> Verdict {
    chat(body, Images::Allowed, &|id| {
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn chat(body: &Value, of_tools: Images, is_call_id: &dyn Fn(&str) -> bool) -> Verdict {
    required(body, &["model", "messages"])?;
    let mut pairing = Pairing::default();
    for message in list(body, "messages") {
        let role = text(message, "role");
        if role != "tool" {
            pairing.all_answered()?;
        }
        match role {
            "system" | "developer" => says_something(&message["content"], "an instruction")?,
            "user" => chat_parts(&message["content"], Images::Allowed)?,
            "assistant" => chat_answer(message, is_call_id, &mut pairing)?,
            "tool" => {
                chat_parts(&message["content"], of_tools)?;
                pairing.result(text(message, "tool_call_id"))?;
            }
            other => return Err(format!("unknown role {other:?}")),
        }
    }
    pairing.all_answered()
}

fn chat_answer(
    message: &Value,
    is_call_id: &dyn Fn(&str) -> bool,
    pairing: &mut Pairing,
) -> Verdict {
    let calls = list(message, "tool_calls");
    let content = message.get("content").unwrap_or(&Value::Null);
    let is_empty = content.is_null() || content.as_str() == Some("");
    if calls.is_empty() || !is_empty {
        chat_parts(content, Images::Refused)?;
    }
    for call in calls {
        let id = text(call, "id");
        demand(is_call_id(id), || format!("bad call id {id:?}"))?;
        if text(call, "type") != "custom" {
            let arguments = text(&call["function"], "arguments");
            let parsed: Result<Value, _> = serde_json::from_str(arguments);
            demand(parsed.is_ok_and(|value| value.is_object()), || {
                format!("arguments are no object: {call}")
            })?;
        }
        pairing.call(id)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Images {
    Allowed,
    Refused,
}

fn chat_parts(content: &Value, images: Images) -> Verdict {
    let Some(parts) = content.as_array() else {
        return says_something(content, "a message");
    };
    demand(!parts.is_empty(), || "a message without parts".to_owned())?;
    for part in parts {
        match text(part, "type") {
            "text" => says_something(&part["text"], "a text part")?,
            "image_url" if images == Images::Allowed => {}
            "thinking" => {}
            other => return Err(format!("a {other:?} part is out of place: {part}")),
        }
    }
    Ok(())
}

/// The Responses APIs: outputs match their calls in id and kind; item ids carry their prefix.
pub(super) fn responses(body: &Value) -> Verdict {
    required(body, &["model", "input"])?;
    let mut pairing = Pairing::default();
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
                demand(is_word(call_id, 64), || format!("bad call id {call_id:?}"))?;
                pairing.call(&format!("{kind} {call_id}"))?;
            }
            "function_call_output" => pairing.result(&format!("function_call {call_id}"))?,
            "custom_tool_call_output" => pairing.result(&format!("custom_tool_call {call_id}"))?,
            "reasoning" => {
                // The service refuses reasoning that nothing follows.
                let followed = items.get(index + 1).is_some_and(|next| {
                    matches!(
                        text(next, "type"),
                        "reasoning" | "message" | "function_call" | "custom_tool_call"
                    )
                });
                demand(followed, || {
                    format!("reasoning without what it led to: {item}")
                })?;
            }
            "message" | "" => responses_message(item, &pairing)?,
            "additional_tools" | "tool_search_call" | "tool_search_output" => {}
            other => return Err(format!("unknown item {other:?}")),
        }
    }
    pairing.all_answered()
}

fn item_id(item: &Value, prefix: &str) -> Verdict {
    match item.get("id").and_then(Value::as_str) {
        None => Ok(()),
        Some(id) => demand(id.starts_with(prefix) && is_word(id, 64), || {
            format!("bad item id {id:?}")
        }),
    }
}

fn responses_message(item: &Value, pairing: &Pairing) -> Verdict {
    if text(item, "role") == "assistant" {
        item_id(item, "msg_")?;
    } else {
        pairing.all_answered()?;
    }
    let Some(parts) = item["content"].as_array() else {
        return says_something(&item["content"], "a message");
    };
    demand(!parts.is_empty(), || "a message without parts".to_owned())?;
    for part in parts {
        if text(part, "type") != "input_image" {
            says_something(&part["text"], "a text part")?;
        }
    }
    Ok(())
}

/// Google: turns alternate from the user on, and a turn of calls is answered call by call.
pub(super) fn google(body: &Value) -> Verdict {
    required(body, &["contents"])?;
    let contents = list(body, "contents");
    demand(
        contents
            .first()
            .is_some_and(|first| text(first, "role") == "user"),
        || "the first turn is not the user's".to_owned(),
    )?;
    let mut open: Vec<(String, String)> = Vec::new();
    for content in contents {
        let parts = list(content, "parts");
        demand(!parts.is_empty(), || {
            format!("a turn without parts: {content}")
        })?;
        if text(content, "role") == "model" {
            demand(open.is_empty(), || {
                format!("calls without a result: {open:?}")
            })?;
        }
        for part in parts {
            if let Some(call) = part.get("functionCall") {
                demand(text(content, "role") == "model", || {
                    "a call of the user".to_owned()
                })?;
                open.push((text(call, "name").to_owned(), text(call, "id").to_owned()));
            } else if let Some(result) = part.get("functionResponse") {
                let answer = (
                    text(result, "name").to_owned(),
                    text(result, "id").to_owned(),
                );
                let position = open.iter().position(|call| *call == answer);
                let position =
                    position.ok_or_else(|| format!("{answer:?} answers no open call"))?;
                open.remove(position);
            } else if let Some(said) = part.get("text") {
                says_something(said, "a text part")?;
            } else {
                demand(part.get("inlineData").is_some(), || {
                    format!("unknown part {part}")
                })?;
            }
        }
    }
    demand(open.is_empty(), || {
        format!("calls without a result: {open:?}")
    })
}

/// Bedrock: results stand in the turn after their calls, the user speaks last, no blank text.
pub(super) fn bedrock(body: &Value) -> Verdict {
    required(body, &["messages"])?;
    let messages = list(body, "messages");
    let mut pairing = Pairing::default();
    for message in messages {
        let role = text(message, "role");
        let blocks = list(message, "content");
        demand(!blocks.is_empty(), || {
            format!("a message without content: {message}")
        })?;
        for block in blocks {
            if let Some(call) = block.get("toolUse") {
                let id = text(call, "toolUseId");
                demand(is_word(id, 64), || format!("bad call id {id:?}"))?;
                demand(call["input"].is_object(), || {
                    format!("input is no object: {call}")
                })?;
                pairing.call(id)?;
            } else if let Some(result) = block.get("toolResult") {
                demand(!list(result, "content").is_empty(), || {
                    format!("a result without content: {result}")
                })?;
                pairing.result(text(result, "toolUseId"))?;
            } else if let Some(said) = block.get("text") {
                says_something(said, "a text block")?;
            }
        }
        if role == "user" {
            pairing.all_answered()?;
        }
    }
    let last = messages.last().map(|message| text(message, "role"));
    demand(last == Some("user"), || {
        "the last message is not the user's".to_owned()
    })
}

/// Bedrock: user and assistant take turns; two messages of one role in a row are refused.
pub(super) fn bedrock_turns(body: &Value) -> Verdict {
    let roles: Vec<&str> = list(body, "messages")
        .iter()
        .map(|message| text(message, "role"))
        .collect();
    let repeated = roles.windows(2).find(|pair| pair[0] == pair[1]);
    demand(repeated.is_none(), || {
        format!("roles do not alternate: {roles:?}")
    })
}

/// pi's own gateway takes messages as they are and hands them over itself.
pub(super) fn pi(body: &Value) -> Verdict {
    let context = body.get("context").unwrap_or(body);
    let messages = list(context, "messages");
    demand(!messages.is_empty(), || "there are no messages".to_owned())?;
    for message in messages {
        serde_json::from_value::<Message>(message.clone())
            .map_err(|error| format!("{error}: {message}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
