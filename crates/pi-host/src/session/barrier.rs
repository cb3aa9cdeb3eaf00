//! Barriers of a session: its supervisor decides whether runs proceed.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{Backend as _, BarrierPoint, OpenCall, OpenTurn};
use pi_protocol::{
    AgentMessage, BarrierStop, ReplayPolicy, RequestEstimate, SessionUsage, SharedMessage,
    SupervisedCall, SupervisedPoint, ToolCall,
};
use pi_session::SessionError;

use super::AgentSession;
use super::Handover;

/// Supervises the runs of a session.
pub trait Barrier: Send + Sync {
    /// Waits until a run may proceed. The session file is complete up to `length` bytes. The result has no effect on a
    /// run that is over.
    fn wait(&self, point: SupervisedPoint, length: u64) -> BoxFuture<'_, Result<(), BarrierStop>>;
}

/// Waits at a barrier; returns whether the run proceeds.
pub(super) async fn wait(session: &AgentSession, point: BarrierPoint) -> bool {
    let Some(barrier) = &session.0.barrier else {
        return true;
    };
    let arrived = arrive(session, point);
    let (point, length) = match arrived {
        Ok(arrived) => arrived,
        Err(error) => {
            session.0.report("barrier", None, &error);
            return false;
        }
    };
    match barrier.wait(point, length).await {
        Ok(()) => true,
        Err(stop) => {
            if stop == BarrierStop::Fenced {
                Handover::of(session).fence();
            }
            false
        }
    }
}

/// Returns what the supervisor needs to know, and the size of the session file.
fn arrive(
    session: &AgentSession,
    point: BarrierPoint,
) -> Result<(SupervisedPoint, u64), SessionError> {
    let point = match point {
        BarrierPoint::Request => {
            let mut transcript = session.0.transcript();
            let totals = transcript.totals()?;
            let usage = SessionUsage {
                cost: totals.cost,
                turns: totals.assistant_messages,
                tokens: totals.tokens.total,
            };
            drop(transcript);
            let context = session.history().context_usage()?;
            let estimate = RequestEstimate {
                input_tokens: context.and_then(|usage| usage.tokens).unwrap_or_default(),
            };
            let route = session
                .0
                .state()
                .route
                .as_ref()
                .map(|one| Arc::clone(&one.model));
            let model = route.or_else(|| session.selection().model());
            SupervisedPoint::Request {
                model: model.map(|model| format!("{}/{}", model.provider, model.id)),
                estimate,
                usage,
            }
        }
        BarrierPoint::Tools(calls) => SupervisedPoint::Tools {
            calls: calls
                .into_iter()
                .map(|call| SupervisedCall {
                    replay: replay(session, &call),
                    id: call.id,
                    name: call.name,
                })
                .collect(),
        },
        BarrierPoint::Settled => SupervisedPoint::Settled,
    };
    let transcript = session.0.transcript();
    let stored = transcript.session();
    let length = if stored.is_saved() {
        stored.entries().byte_length()
    } else {
        0
    };
    Ok((point, length))
}

fn replay(session: &AgentSession, call: &ToolCall) -> ReplayPolicy {
    let tool = session.tool(&call.name);
    tool.map_or(ReplayPolicy::Never, |tool| tool.replay())
}

/// Returns the last turn of a conversation, unless other messages follow it.
pub(super) fn read_open_turn(
    session: &AgentSession,
    messages: &[SharedMessage],
    begun: &[String],
) -> Option<OpenTurn> {
    let mut answered: Vec<&str> = Vec::new();
    for message in messages.iter().rev() {
        let response = match &**message {
            AgentMessage::System(_) => continue,
            AgentMessage::ToolResult(result) => {
                answered.push(&result.tool_call_id);
                continue;
            }
            AgentMessage::Assistant(response) => response,
            _ => return None,
        };
        let open = response
            .tool_calls()
            .filter(|call| !answered.contains(&&*call.id));
        let calls = open.map(|call| OpenCall {
            is_interrupted: begun.contains(&call.id)
                && replay(session, call) == ReplayPolicy::Never,
            call: call.clone(),
        });
        return Some(OpenTurn {
            response: Arc::clone(message),
            has_results: !answered.is_empty(),
            calls: calls.collect(),
        });
    }
    None
}
