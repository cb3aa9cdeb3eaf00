//! What to send after a service has rejected a request because its strict tools exceed a limit.

use std::sync::Arc;

use pi_http::ResponseHead;
use pi_protocol::json::JsonObject;
use pi_protocol::{
    ConstrainedSampling, Diagnostic, DiagnosticError, Message, Strictness, SystemMessage, Tool,
};

use crate::options::ModelRequest;

/// Parts of the messages with which Anthropic's models reject strict tools.
const LIMIT_MESSAGES: [&str; 3] = [
    "The compiled grammar is too large",
    "Too many strict tools (",
    "Schemas contains too many parameters with union types (",
];

/// Returns the request without strictness where tools only prefer it, if the response rejects it for
/// the limits of strict tools, and a diagnostic of the given kind.
pub fn strict_tools_fallback(
    request: &ModelRequest,
    head: &ResponseHead,
    body: &str,
    kind: &str,
) -> Option<(ModelRequest, Diagnostic)> {
    let is_limit = head.status == 400 && LIMIT_MESSAGES.iter().any(|part| body.contains(part));
    let is_preferred = |message: &Message| matches!(message, Message::System(system) if added(system).any(prefers_strictness));
    if !is_limit || !request.messages.iter().any(is_preferred) {
        return None;
    }
    let mut messages = request.messages.to_vec();
    for message in &mut messages {
        if let Message::System(system) = message {
            relax(Arc::make_mut(system));
        }
    }
    let mut details = JsonObject::new();
    details.insert("reason".to_owned(), "strict_tool_limits_exceeded".into());
    let diagnostic = Diagnostic {
        kind: kind.to_owned(),
        timestamp: request.env.now_ms(),
        error: Some(DiagnosticError {
            message: format!("{} {body}", head.status),
            ..DiagnosticError::default()
        }),
        details: Some(details),
    };
    let relaxed = ModelRequest {
        messages: Arc::from(messages),
        ..request.clone()
    };
    Some((relaxed, diagnostic))
}

fn added(system: &SystemMessage) -> impl Iterator<Item = &Tool> {
    system.tools_added.iter().flatten()
}

fn prefers_strictness(tool: &Tool) -> bool {
    matches!(
        tool.constrained_sampling,
        Some(ConstrainedSampling::JsonSchema(Strictness::Prefer))
    )
}

fn relax(system: &mut SystemMessage) {
    for tool in system.tools_added.iter_mut().flatten() {
        if prefers_strictness(tool) {
            tool.constrained_sampling = None;
        }
    }
}
