//! Events as lines of text, so that stories read like a log.

use pi_protocol::{AgentEvent, AgentMessage, Answer, SessionEvent, SharedMessage};

pub(super) fn line(event: &SessionEvent) -> String {
    match event {
        SessionEvent::Agent(event) => agent_line(event),
        SessionEvent::AgentEnd {
            messages,
            will_retry,
        } => {
            let retry = if *will_retry { " retry" } else { "" };
            format!("agent_end {}{retry}", messages.len())
        }
        SessionEvent::AgentSettled { aborted: false } => "settled".to_owned(),
        SessionEvent::AgentSettled { aborted: true } => "settled after abort".to_owned(),
        SessionEvent::QueueUpdate {
            steering,
            follow_up,
        } => format!("queue {steering:?} {follow_up:?}"),
        SessionEvent::CompactionStart { reason } => format!("compaction_start {}", reason.as_str()),
        SessionEvent::AutoRetryStart { attempt, .. } => format!("retry_start {attempt}"),
        SessionEvent::AutoRetryEnd {
            success,
            attempt,
            final_error,
            canceled,
        } => {
            let end = match (success, canceled, final_error) {
                (true, false, None) => "success",
                (false, true, Some(_)) => "canceled",
                (false, false, Some(error)) => error,
                _ => "inconsistent",
            };
            format!("retry_end {attempt} {end}")
        }
        SessionEvent::ApprovalRequested { request } => format!("asked {}", request.id),
        SessionEvent::ApprovalResolved { request, answer } => {
            let answer = match answer {
                Answer::Allow => "allow",
                Answer::AllowForSession => "allow for session",
                Answer::Deny { .. } => "deny",
                Answer::Cancelled => "canceled",
                _ => "inconsistent",
            };
            format!("resolved {request} {answer}")
        }
        other => format!("{other:?}"),
    }
}

fn agent_line(event: &AgentEvent) -> String {
    match event {
        AgentEvent::AgentStart => "agent_start".to_owned(),
        AgentEvent::AgentEnd { .. } => "inconsistent agent_end".to_owned(),
        AgentEvent::TurnStart => "turn_start".to_owned(),
        AgentEvent::TurnEnd { tool_results, .. } => format!("turn_end {}", tool_results.len()),
        AgentEvent::MessageStart { message } => format!("start {}", describe(message)),
        AgentEvent::MessageUpdate { .. } => "update".to_owned(),
        AgentEvent::MessageEnd { message } => format!("end {}", describe(message)),
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => format!("tool {tool_call_id}"),
        AgentEvent::ToolExecutionUpdate { tool_call_id, .. } => {
            format!("tool_update {tool_call_id}")
        }
        AgentEvent::ToolExecutionEnd {
            tool_call_id,
            is_error,
            ..
        } => {
            let end = if *is_error { "tool_failed" } else { "tool_end" };
            format!("{end} {tool_call_id}")
        }
        other => format!("{other:?}"),
    }
}

pub(super) fn describe(message: &SharedMessage) -> String {
    match &**message {
        AgentMessage::System(_) => "system".to_owned(),
        AgentMessage::User(message) => format!("user {}", message.content.joined_text()),
        AgentMessage::Assistant(message) => format!("assistant {:?}", message.stop_reason),
        AgentMessage::ToolResult(message) => format!("result {}", message.tool_call_id),
        AgentMessage::Custom(message) => format!("custom {}", message.content.joined_text()),
        AgentMessage::BashExecution(message) => format!("bash {}", message.command),
        _ => "other".to_owned(),
    }
}
