//! Prompt caching: Anthropic-style cache markers in the body, and the session's cache key.

use pi_protocol::CacheRetention;
use pi_protocol::json::JsonObject;
use serde::Serialize;

use super::compat::{CacheControlFormat, CompletionsCompat};
use super::messages::{ChatContent, ChatMessage, ContentPart};
use super::tools::ChatTool;
use crate::options::ModelRequest;
use crate::wire::openai_responses::request::cache_key;

/// A cache marker: the prompt up to here may be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct ChatCacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// Marks the system prompt, the last tool and the last message with text.
pub(super) fn mark(
    messages: &mut [ChatMessage],
    tools: &mut [ChatTool],
    compat: &CompletionsCompat,
    retention: CacheRetention,
) {
    let Some(control) = control(compat, retention) else {
        return;
    };
    let instructions = messages.iter_mut().find_map(ChatMessage::instructions);
    if let Some(content) = instructions {
        mark_text(content, control);
    }
    if let Some(tool) = tools.last_mut() {
        tool.cache_control = Some(control);
    }
    for content in messages
        .iter_mut()
        .rev()
        .filter_map(ChatMessage::conversation)
    {
        if mark_text(content, control) {
            break;
        }
    }
}

fn control(compat: &CompletionsCompat, retention: CacheRetention) -> Option<ChatCacheControl> {
    let CacheControlFormat::Anthropic = compat.cache_control_format?;
    let ttl = match retention {
        CacheRetention::None => return None,
        CacheRetention::Short => None,
        CacheRetention::Long => compat.supports_long_cache_retention.then_some("1h"),
    };
    Some(ChatCacheControl {
        kind: "ephemeral",
        ttl,
    })
}

/// Marks the last text of a message; returns whether there was one.
fn mark_text(content: &mut ChatContent, control: ChatCacheControl) -> bool {
    if let ChatContent::Text(text) = content {
        if text.is_empty() {
            return false;
        }
        *content = ChatContent::Parts(vec![ContentPart::text(std::mem::take(text))]);
    }
    let ChatContent::Parts(parts) = content else {
        return false;
    };
    for part in parts.iter_mut().rev() {
        if let ContentPart::Text { cache_control, .. } = part {
            *cache_control = Some(control);
            return true;
        }
    }
    false
}

/// Adds the session's cache key and the retention. Services other than OpenAI only receive the key
/// with long retention, since many reject unknown fields.
pub(super) fn add_cache_key(
    body: &mut JsonObject,
    request: &ModelRequest,
    compat: &CompletionsCompat,
    retention: CacheRetention,
) {
    let is_long = retention == CacheRetention::Long && compat.supports_long_cache_retention;
    let is_openai = request.model.base_url.contains("api.openai.com");
    let sends_key = is_long || (is_openai && retention != CacheRetention::None);
    if let Some(session) = request.options.session_id.as_ref().filter(|_| sends_key) {
        body.insert("prompt_cache_key".into(), cache_key(session).into());
    }
    if is_long {
        body.insert("prompt_cache_retention".into(), "24h".into());
    }
}
