//! Requests of MCP servers to the session's model. They see nothing of the conversation.

use std::sync::Arc;

use pi_mcp::{SamplingAnswer, SamplingRequest};
use pi_protocol::{
    AssistantBlock, AssistantMessage, InputBlock, Message, MessageContent, StopReason,
    SystemMessage, TextContent, ThinkingLevel, UsageEntry, UserMessage,
};
use pi_providers::StreamOptions;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use super::{AgentSession, preferences};

/// What the usage of such requests is stored as.
const USAGE_KIND: &str = "mcp_sampling";

/// Sends messages of a server to the model. The tokens are added to those of the session. Dropping the result cancels the
/// request; an error is a message for the server.
pub(crate) async fn sample_for_server(
    session: AgentSession,
    server: String,
    request: SamplingRequest,
) -> Result<SamplingAnswer, String> {
    let model = session.selection().model();
    let model = model.ok_or_else(|| "no model is selected".to_owned())?;
    let cancel = CancellationToken::new();
    let _canceled: DropGuard = cancel.clone().drop_guard();
    let options = StreamOptions {
        cancel,
        max_tokens: Some(request.max_tokens.min(model.max_tokens)),
        // A separate ID keeps the request out of the session's routing and prompt cache.
        session_id: Some(Uuid::now_v7().to_string()),
        reasoning: ThinkingLevel::Off,
        hooks: session.0.participants.request_hooks(),
        ..preferences::stream_options(&session.0.settings.settings())
    };
    let stream = session.0.models.stream(&model, messages(request), options);
    let response = stream.result().await;
    record_usage(&session, &server, &response).await;
    match response.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            let problem = response.error_message.clone();
            Err(problem.unwrap_or_else(|| "the model did not respond".to_owned()))
        }
        reason => Ok(SamplingAnswer {
            text: response.text(),
            model: response.model.clone(),
            is_cut: reason == StopReason::Length,
        }),
    }
}

fn messages(request: SamplingRequest) -> Vec<Message> {
    let system = request.system_prompt.map(|text| {
        Message::System(Arc::new(SystemMessage {
            content: MessageContent::Text(text),
            ..SystemMessage::default()
        }))
    });
    let messages = request.messages.into_iter().map(|message| {
        if message.is_assistant {
            Message::Assistant(Arc::new(AssistantMessage {
                content: vec![AssistantBlock::Text(TextContent::new(message.text))],
                stop_reason: StopReason::Stop,
                ..AssistantMessage::default()
            }))
        } else {
            Message::User(Arc::new(UserMessage {
                content: MessageContent::Blocks(vec![InputBlock::text(message.text)]),
                ..UserMessage::default()
            }))
        }
    });
    system.into_iter().chain(messages).collect()
}

async fn record_usage(session: &AgentSession, server: &str, response: &AssistantMessage) {
    let entry = UsageEntry {
        kind: USAGE_KIND.to_owned(),
        provider: response.provider.clone(),
        model: response.model.clone(),
        usage: response.usage.clone(),
        note: Some(format!("MCP server \"{server}\"")),
    };
    if let Err(error) = session.history().append_usage(entry).await {
        tracing::warn!(%error, "cannot store the usage of an MCP server");
    }
}
