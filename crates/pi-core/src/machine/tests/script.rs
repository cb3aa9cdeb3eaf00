//! Outcomes of the effects of a simulation.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageEvent, CompactionDecision,
    CompactionReason, ProviderError, Request, RequestId, RequestKind, StopReason, ToolCall,
    ToolOutput,
};

use crate::machine::{CallOutcome, ContextCheck, PreflightOutcome};
use crate::turn::TurnDecision;

/// The outcomes in order of use. A list that is used up continues with the outcome of a session where nothing special
/// happens, so that every simulation ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub responses: VecDeque<ScriptedResponse>,
    /// Whether the model of a prompt can be used.
    pub checks: VecDeque<bool>,
    /// Messages that start hooks add.
    pub added: VecDeque<Vec<AgentMessage>>,
    pub compositions: VecDeque<Result<Option<AgentMessage>, String>>,
    /// Whether a message can be stored.
    pub records: VecDeque<bool>,
    pub decisions: VecDeque<TurnDecision>,
    pub before_prompt: VecDeque<CompactionDecision>,
    pub between_turns: VecDeque<CompactionDecision>,
    /// Whether the model is virtual: each of its requests needs a route.
    pub is_virtual: bool,
    /// Whether the requests of a virtual model have a route.
    pub routes: VecDeque<Result<(), String>>,
    pub after_routing: VecDeque<CompactionDecision>,
    pub after_run: VecDeque<CompactionDecision>,
    pub omissions: VecDeque<bool>,
    pub plans: VecDeque<bool>,
    pub compactions: VecDeque<bool>,
    /// Whether a hook wants another turn.
    pub settles: VecDeque<bool>,
    /// Whether a command or hook completes a deferred prompt.
    pub handled: VecDeque<bool>,
    /// Whether the machine has barriers.
    pub has_barrier: bool,
    /// Whether a run proceeds at a barrier.
    pub barriers: VecDeque<bool>,
    /// Whether an effect panics.
    pub panics: VecDeque<bool>,
}

impl Script {
    pub(super) fn responses(responses: impl IntoIterator<Item = ScriptedResponse>) -> Self {
        Self {
            responses: responses.into_iter().collect(),
            ..Self::default()
        }
    }

    pub(super) fn context_decision(&mut self, check: &ContextCheck) -> CompactionDecision {
        let decisions = match check {
            ContextCheck::BeforePrompt { .. } => &mut self.before_prompt,
            ContextCheck::BetweenTurns => &mut self.between_turns,
            ContextCheck::Routed => &mut self.after_routing,
            ContextCheck::AfterRun { .. } => &mut self.after_run,
        };
        decisions.pop_front().unwrap_or(CompactionDecision::Skip)
    }
}

/// The decision to compact a context that is nearly full.
pub(super) fn compact() -> CompactionDecision {
    CompactionDecision::Compact {
        reason: CompactionReason::Threshold,
        omit: Vec::new(),
        retry: false,
    }
}

/// The decision to compact a context that was too large, and to send the request again.
pub(super) fn recover() -> CompactionDecision {
    CompactionDecision::Compact {
        reason: CompactionReason::Overflow,
        omit: vec!["response".into()],
        retry: true,
    }
}

#[derive(Debug, Clone)]
pub(super) enum ScriptedResponse {
    Message {
        calls: Vec<&'static str>,
        stop: StopReason,
        error: Option<&'static str>,
        /// Whether the response grows before it is complete.
        streams: bool,
    },
    /// A hook fails before the request is sent.
    HookFails,
}

impl ScriptedResponse {
    pub(super) fn text() -> Self {
        Self::calls(&[]).stop(StopReason::Stop)
    }

    pub(super) fn calls(calls: &[&'static str]) -> Self {
        Self::Message {
            calls: calls.to_vec(),
            stop: StopReason::ToolUse,
            error: None,
            streams: false,
        }
    }

    /// A failure that is not retried.
    pub(super) fn fails() -> Self {
        Self::text().stop(StopReason::Error).error("broke")
    }

    /// A failure that is retried.
    pub(super) fn overloaded() -> Self {
        Self::text().stop(StopReason::Error).error("overloaded")
    }

    /// The request does not fit into the context window.
    pub(super) fn overflows() -> Self {
        let failure = Self::text().stop(StopReason::Error);
        failure.error("prompt is too long")
    }

    pub(super) fn aborted() -> Self {
        Self::text().stop(StopReason::Aborted).error("aborted")
    }

    pub(super) fn stop(mut self, reason: StopReason) -> Self {
        if let Self::Message { stop, .. } = &mut self {
            *stop = reason;
        }
        self
    }

    pub(super) fn error(mut self, text: &'static str) -> Self {
        if let Self::Message { error, .. } = &mut self {
            *error = Some(text);
        }
        self
    }

    pub(super) fn streamed(mut self) -> Self {
        if let Self::Message { streams, .. } = &mut self {
            *streams = true;
        }
        self
    }

    /// Returns the last event of the response; `None` if the request is not sent.
    pub(super) fn last_event(&self) -> Option<AssistantMessageEvent> {
        let Self::Message {
            calls, stop, error, ..
        } = self
        else {
            return None;
        };
        let calls = calls.iter().enumerate().map(|(index, name)| {
            AssistantBlock::ToolCall(ToolCall {
                id: format!("{name}-{index}"),
                name: (*name).to_owned(),
                ..ToolCall::default()
            })
        });
        let message = Arc::new(AssistantMessage {
            content: calls.collect(),
            stop_reason: *stop,
            error_message: error.map(str::to_owned),
            ..AssistantMessage::default()
        });
        Some(if stop.is_failure() {
            AssistantMessageEvent::Error {
                reason: *stop,
                error: message,
                cause: Some(ProviderError::network("broke")),
            }
        } else {
            AssistantMessageEvent::Done {
                reason: *stop,
                message,
            }
        })
    }
}

/// Decides about a call by the name of its tool.
pub(super) fn preflight(call: ToolCall, is_canceled: bool) -> PreflightOutcome {
    match call.name.as_str() {
        _ if is_canceled => PreflightOutcome::Refused(ToolOutput::aborted()),
        "unknown" => PreflightOutcome::Refused(ToolOutput::failure("unknown tool")),
        "blocked-last" => PreflightOutcome::Refused(ToolOutput {
            terminate: Some(true),
            ..ToolOutput::failure("blocked")
        }),
        "asks" => PreflightOutcome::Asks {
            request: Request {
                id: RequestId(call.id.clone()),
                call: Some(call.id),
                kind: RequestKind::Approval {
                    tool_name: call.name,
                    args: call.arguments.clone(),
                    reason: None,
                },
            },
            arguments: call.arguments,
        },
        _ => PreflightOutcome::Ready(call.arguments),
    }
}

/// Runs a call by the name of its tool.
pub(super) fn execute(call: &ToolCall, is_canceled: bool) -> CallOutcome {
    let output = ToolOutput {
        terminate: call.name.starts_with("last").then_some(true),
        ..ToolOutput::text(call.name.clone())
    };
    CallOutcome {
        nested: crate::tool::NestedSummary::default(),
        duration_ms: None,
        output,
        is_error: is_canceled || call.name == "fails",
    }
}
