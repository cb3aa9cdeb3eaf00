//! Servers that use the session's model, where the user allows it.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::error::McpError;
use crate::servers::{McpNoticeLevel, McpSession};

/// The parameters of a request are not valid.
const INVALID_PARAMS: i64 = -32602;

/// The user does not allow the request.
const REJECTED: i64 = -1;

/// Longer conversations are not sent.
const MAX_MESSAGES: usize = 100;

/// Without a limit of the server, in tokens.
const DEFAULT_MAX_TOKENS: u64 = 4_096;

/// How much of a request is shown to the user, in characters.
const SHOWN_CHARS: usize = 200;

/// What a server asks a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingRequest {
    pub system_prompt: Option<String>,
    pub messages: Vec<SampledMessage>,
    pub max_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledMessage {
    pub is_assistant: bool,
    pub text: String,
}

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingAnswer {
    pub text: String,
    pub model: String,
    /// Whether the limit of tokens ended the answer.
    pub is_cut: bool,
}

/// A model's answer, or a message for the server.
pub(crate) type SamplingFuture = BoxFuture<'static, Result<SamplingAnswer, String>>;

pub(crate) fn refused() -> McpError {
    rejected(REJECTED, "the user does not allow sampling here".to_owned())
}

fn rejected(code: i64, message: String) -> McpError {
    McpError::Rpc {
        code,
        message,
        data: Value::Null,
    }
}

/// Sends the messages of a server to the session's model and returns the result of `sampling/createMessage`.
pub(crate) async fn sample(
    session: &dyn McpSession,
    server: &str,
    params: &Value,
) -> Result<Value, McpError> {
    let request = SamplingRequest::parse(params).map_err(|it| rejected(INVALID_PARAMS, it))?;
    let last = request.messages.last().map(|it| it.text.as_str());
    let shown: String = last.unwrap_or_default().chars().take(SHOWN_CHARS).collect();
    let notice = format!("MCP server \"{server}\" asks the model: {shown}");
    session.notify(McpNoticeLevel::Info, notice).await;
    let answer = session.sample(server, request).await;
    let answer = answer.map_err(|problem| rejected(REJECTED, problem))?;
    Ok(json!({
        "role": "assistant",
        "content": {"type": "text", "text": answer.text},
        "model": answer.model,
        "stopReason": if answer.is_cut { "maxTokens" } else { "endTurn" },
    }))
}

impl SamplingRequest {
    fn parse(params: &Value) -> Result<Self, String> {
        let messages = params.get("messages").and_then(Value::as_array);
        let messages = messages.filter(|it| (1..=MAX_MESSAGES).contains(&it.len()));
        let messages = messages
            .ok_or_else(|| format!("messages must be a list of 1 to {MAX_MESSAGES} messages"))?;
        let messages = messages.iter().map(|message| {
            Some(SampledMessage {
                is_assistant: match message.get("role")?.as_str()? {
                    "assistant" => true,
                    "user" => false,
                    _ => return None,
                },
                text: message_text(message.get("content")?)?,
            })
        });
        let messages: Option<Vec<_>> = messages.collect();
        let system_prompt = params.get("systemPrompt").and_then(Value::as_str);
        let limit = params.get("maxTokens").and_then(Value::as_u64);
        Ok(Self {
            messages: messages.ok_or("only messages with text are supported")?,
            system_prompt: system_prompt.map(str::to_owned),
            max_tokens: limit
                .filter(|limit| *limit > 0)
                .unwrap_or(DEFAULT_MAX_TOKENS),
        })
    }
}

/// Returns the text of one block or of several; `None` for other content.
fn message_text(content: &Value) -> Option<String> {
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        block => std::slice::from_ref(block),
    };
    let texts = blocks
        .iter()
        .map(|block| match block.get("type")?.as_str()? {
            "text" => block.get("text")?.as_str(),
            _ => None,
        });
    let texts: Option<Vec<&str>> = texts.collect();
    texts.map(|texts| texts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn requests_are_parsed() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let request = SamplingRequest::parse(&json!({
            "systemPrompt": "Be brief.",
            "maxTokens": 7,
            "messages": [
                {"role": "user", "content": text("a")},
                {"role": "assistant", "content": [text("b"), text("c")]},
            ],
        }));
        let message = |is_assistant, text: &str| SampledMessage {
            is_assistant,
            text: text.to_owned(),
        };
        let expected = SamplingRequest {
            system_prompt: Some("Be brief.".to_owned()),
            messages: vec![message(false, "a"), message(true, "b\n\nc")],
            max_tokens: 7,
        };
        assert_eq!(request, Ok(expected));
        for params in [
            json!({}),
            json!({"messages": []}),
            json!({"messages": [{"role": "system", "content": text("a")}]}),
            json!({"messages": [{"role": "user", "content": {"type": "image"}}]}),
        ] {
            SamplingRequest::parse(&params).unwrap_err();
        }
    }
}
