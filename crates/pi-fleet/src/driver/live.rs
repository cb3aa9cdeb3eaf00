//! Serves the clients that are attached to a run.

use std::sync::Arc;

use pi_protocol::{Command, ExtensionUiResponse};
use pi_rpc_client::{RpcClient, RpcClientError};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::live::{LiveHost, LiveRequest, response_line};

/// What clients may send besides questions (`get_…`). Other commands would replace the session or change it past its
/// barriers.
const PERMITTED: [&str; 12] = [
    "steer",
    "follow_up",
    "abort",
    "abort_retry",
    "clear_queue",
    "answer",
    ExtensionUiResponse::TYPE,
    "set_model",
    "set_thinking_level",
    "set_steering_mode",
    "set_follow_up_mode",
    "set_auto_retry",
];

/// Performs the commands of clients until the set is dropped.
pub(super) fn serve(mut host: LiveHost, agent: Arc<RpcClient>) -> JoinSet<()> {
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        // Dropped with this task.
        let mut waiting = JoinSet::new();
        while let Some(LiveRequest { command, reply }) = host.next_request().await {
            if command.get("type").and_then(Value::as_str) == Some("abort") {
                // Its response comes when the agent has settled, which may need other commands.
                let agent = Arc::clone(&agent);
                waiting.spawn(async move { agent.abort().await.map(drop).ok() });
                reply.send(response_line(&command, Ok(Value::Null))).ok();
                continue;
            }
            let result = perform(&agent, &command).await;
            // The client may have left.
            reply.send(response_line(&command, result)).ok();
        }
    });
    serving
}

async fn perform(agent: &RpcClient, command: &Value) -> Result<Value, String> {
    let kind = command.get("type").and_then(Value::as_str);
    let kind = kind.ok_or("a command needs a `type`")?;
    if !kind.starts_with("get_") && !PERMITTED.contains(&kind) {
        return Err(format!("`{kind}` is not possible in a run of a fleet"));
    }
    if kind == ExtensionUiResponse::TYPE {
        let response = command
            .as_object()
            .and_then(ExtensionUiResponse::from_object);
        let response = response.ok_or("the response has no `id`")?;
        let replied = agent.reply(&response).await;
        return replied
            .map(|()| Value::Null)
            .map_err(|error| error.to_string());
    }
    let command: Command = serde_json::from_value(command.clone())
        .map_err(|error| format!("invalid command: {error}"))?;
    match agent.request(&command).await {
        Ok(data) => Ok(data),
        Err(RpcClientError::Rejected { error, .. }) => Err(error),
        Err(error) => Err(error.to_string()),
    }
}
