//! Model and tools of a replay: they return recorded data and do nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use pi_core::{InputSource, Tool, ToolError, ToolOutput, UpdateSink};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, ErrorClass, ProviderError, StopReason,
    ToolResultMessage, join_text,
};
use pi_providers::{AssistantStream, FauxModel, FauxProvider, ModelList, ModelRequest, Provider};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::session::AgentSession;

use crate::toolset::{RegisteredTool, ToolOrigin};

pub(super) const PROVIDER: &str = "replay";

/// Error of the model when the record has no further response.
pub(super) const END_OF_RECORD: &str = "end of record";

/// A model that returns the recorded responses.
pub(super) struct RecordedModel {
    messages: Arc<[AgentMessage]>,
    models: ModelList,
    /// The first message that was not replayed yet.
    position: Mutex<usize>,
    session: OnceLock<AgentSession>,
}

/// A response, and the messages the user sent during it.
struct ScriptedTurn {
    response: Arc<AssistantMessage>,
    steering: Vec<AgentMessage>,
}

impl RecordedModel {
    pub(super) fn new(messages: Arc<[AgentMessage]>) -> Self {
        let faux = FauxProvider::new()
            .with_id(PROVIDER)
            .with_models([FauxModel::new("recorded")]);
        Self {
            messages,
            models: faux.models().into_iter().map(Arc::new).collect(),
            position: Mutex::new(0),
            session: OnceLock::new(),
        }
    }

    /// Sets the session that receives messages sent during a run.
    pub(super) fn use_session(&self, session: AgentSession) {
        self.session.get_or_init(|| session);
    }

    /// Returns the number of messages replayed so far.
    pub(super) fn position(&self) -> usize {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Skips the message at the current position.
    pub(super) fn advance(&self) {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    /// Takes the response at the current position, its results, and the messages sent before the
    /// next response.
    fn next(&self) -> Option<ScriptedTurn> {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(AgentMessage::Assistant(response)) = self.messages.get(*position) else {
            return None;
        };
        *position += 1;
        let results = |message: &AgentMessage| matches!(message, AgentMessage::ToolResult(_));
        let rest = |position: usize| self.messages.get(position..).unwrap_or_default();
        let count = rest(*position).iter().take_while(|it| results(it)).count();
        *position += count;
        let mut steering = Vec::new();
        if count > 0 {
            let user_messages = rest(*position).iter();
            let user_messages =
                user_messages.take_while(|message| matches!(message, AgentMessage::User(_)));
            steering.extend(user_messages.cloned());
            // Without a following response, they are separate prompts.
            let has_response = matches!(
                self.messages.get(*position + steering.len()),
                Some(AgentMessage::Assistant(_))
            );
            if has_response {
                *position += steering.len();
            } else {
                steering.clear();
            }
        }
        Some(ScriptedTurn {
            response: response.clone(),
            steering,
        })
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
        let Some(turn) = self.next() else {
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

async fn steer(session: &AgentSession, message: &AgentMessage) {
    let AgentMessage::User(message) = message else {
        return;
    };
    let (text, images) = super::message_parts(message);
    if let Err(error) = session.steer(&text, images, InputSource::Cli).await {
        tracing::warn!(%error, "a recorded steering message was rejected");
    }
}

/// Returns a tool for every tool name in the record.
pub(super) fn recorded_tools(messages: &[AgentMessage]) -> Vec<RegisteredTool> {
    let mut names = BTreeSet::new();
    let mut results: HashMap<String, Arc<ToolResultMessage>> = HashMap::new();
    for message in messages {
        match message {
            AgentMessage::Assistant(response) => {
                names.extend(response.content.iter().filter_map(|block| match block {
                    AssistantBlock::ToolCall(call) => Some(call.name.clone()),
                    _ => None,
                }));
            }
            AgentMessage::ToolResult(result) => {
                results.insert(result.tool_call_id.clone(), result.clone());
            }
            _ => {}
        }
    }
    let results = Arc::new(results);
    let tools = names.into_iter().map(|name| RegisteredTool {
        tool: Arc::new(RecordedTool {
            declaration: pi_protocol::Tool {
                name,
                description: "Returns the recorded result.".to_owned(),
                parameters: json!({"type": "object"}),
                constrained_sampling: None,
                extra: JsonObject::new(),
            },
            results: Arc::clone(&results),
        }),
        origin: ToolOrigin::Program,
        snippet: None,
        guidelines: Vec::new(),
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

    fn execute<'a>(
        &'a self,
        call_id: &'a str,
        _arguments: JsonObject,
        _updates: UpdateSink,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let outcome = match self.results.get(call_id) {
            Some(result) if result.is_error => Err(ToolError(join_text(&result.content))),
            Some(result) => Ok(ToolOutput {
                content: result.content.clone(),
                details: result.details.clone(),
                usage: result.usage.clone(),
                terminate: None,
            }),
            None => Err(ToolError("no recorded result for this call".to_owned())),
        };
        std::future::ready(outcome).boxed()
    }
}
