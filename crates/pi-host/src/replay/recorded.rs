//! Model and tools of a replay: they return recorded data and do nothing.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::{Mutex, MutexGuard};
use pi_core::{InputSource, RegisteredTool, Tool, ToolContext, ToolError};
use pi_export::{END_OF_RECORD, ReplayScript};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    ErrorClass, ProviderError, StopReason, ToolOutput, ToolResultMessage, UserMessage,
};
use pi_providers::{FauxModel, FauxProvider, ModelList, ModelRequest, Provider};
use pi_stream::AssistantStream;
use serde_json::json;

use crate::session::AgentSession;

pub(super) const PROVIDER: &str = "replay";

/// A model that returns the recorded responses.
pub(super) struct RecordedModel {
    script: Mutex<ReplayScript>,
    models: ModelList,
    session: OnceLock<AgentSession>,
}

impl RecordedModel {
    pub(super) fn new(script: ReplayScript) -> Self {
        let faux = FauxProvider::new()
            .with_id(PROVIDER)
            .with_models([FauxModel::new("recorded")]);
        Self {
            script: Mutex::new(script),
            models: faux.models().into_iter().map(Arc::new).collect(),
            session: OnceLock::new(),
        }
    }

    /// Sets the session that receives messages sent during a run.
    pub(super) fn use_session(&self, session: AgentSession) {
        self.session.get_or_init(|| session);
    }

    pub(super) fn script(&self) -> MutexGuard<'_, ReplayScript> {
        self.script.lock()
    }
}

impl Provider for RecordedModel {
    fn id(&self) -> &str {
        PROVIDER
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        Ok(Arc::clone(&self.models))
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        let now = request.env.now_ms();
        let Some(turn) = self.script().next_turn() else {
            let end = ProviderError::new(ErrorClass::Aborted, END_OF_RECORD);
            return AssistantStream::failed(&request.model, now, end);
        };
        let session = self.session.get().cloned();
        AssistantStream::produce(&request.model, now, |mut writer| async move {
            if let Some(session) = session {
                for message in &turn.steering {
                    steer(&session, message).await;
                }
            }
            writer.message().start();
            let response = turn.response;
            let (reason, failure) = (response.stop_reason, response.error_message.clone());
            let raw = response.raw_stop_reason.clone();
            writer
                .message()
                .update(|message| *message = Arc::unwrap_or_clone(response));
            let class = match reason {
                StopReason::Error => ErrorClass::Protocol,
                StopReason::Aborted => ErrorClass::Aborted,
                _ => {
                    writer.message().stop(reason, raw.as_deref());
                    writer.complete().await;
                    return;
                }
            };
            let cause = ProviderError::new(class, failure.unwrap_or_default());
            writer.fail(cause).await;
        })
    }
}

async fn steer(session: &AgentSession, message: &UserMessage) {
    let (text, images) = super::message_parts(message);
    if let Err(error) = session.queue().steer(&text, images, InputSource::Cli).await {
        tracing::warn!(%error, "a recorded steering message was rejected");
    }
}

/// Returns a tool for every tool name in the record.
pub(super) fn recorded_tools(script: &ReplayScript) -> Vec<RegisteredTool> {
    let results = Arc::new(script.tool_results());
    let tools = script.tool_names().into_iter().map(|name| {
        RegisteredTool::new(Arc::new(RecordedTool {
            declaration: pi_protocol::Tool {
                name,
                description: "Returns the recorded result.".to_owned(),
                parameters: json!({"type": "object"}),
                constrained_sampling: None,
                extra: JsonObject::new(),
            },
            results: Arc::clone(&results),
        }))
    });
    tools.collect()
}

/// A tool that returns recorded results and runs nothing.
struct RecordedTool {
    declaration: pi_protocol::Tool,
    results: Arc<HashMap<String, Arc<ToolResultMessage>>>,
}

impl Tool for RecordedTool {
    fn declaration(&self) -> &pi_protocol::Tool {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        _arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let outcome = match self.results.get(cx.call.as_str()) {
            Some(result) => Ok(ToolOutput {
                content: result.content.clone(),
                details: result.details.clone(),
                is_error: result.is_error.then_some(true),
                usage: result.usage.clone(),
                ..ToolOutput::default()
            }),
            None => Err(ToolError("no recorded result for this call".to_owned())),
        };
        std::future::ready(outcome).boxed()
    }
}
