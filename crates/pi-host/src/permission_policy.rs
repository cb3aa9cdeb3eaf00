//! Applies the permission rules of the settings to tool calls.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_config::BuiltinExtension;
use pi_core::{Decision, DenialReason, HookError, PendingToolCall, ReviewedToolCall};
use pi_permissions::{PermissionRules, Review, SessionPermissions, ToolUse};
use pi_protocol::SessionEvent;
use tokio_util::sync::CancellationToken;

use crate::participants::{EventHook, Participants, ToolPolicy};
use crate::runtime::StartError;
use crate::workspace::Workspace;

/// Returns the participant that applies the rules; none if there are no rules.
///
/// `can_ask` is whether the session has a user who can answer.
pub(crate) fn participants(
    workspace: &Workspace,
    can_ask: bool,
) -> Result<Participants, StartError> {
    let settings = workspace.settings.settings();
    let home = workspace.env.home_dir();
    let rules = PermissionRules::parse(&settings.permissions, &workspace.cwd, home.as_deref())?;
    if rules.is_empty() {
        return Ok(Participants::default());
    }
    let extensions = &workspace.resources.builtin_extensions;
    let policy = Arc::new(PermissionPolicy {
        permissions: SessionPermissions::new(rules, can_ask),
        can_try: extensions.contains(BuiltinExtension::Sandbox),
    });
    let builder = Participants::builder().tool_policy(Arc::clone(&policy));
    Ok(builder.events(policy).build())
}

struct PermissionPolicy {
    permissions: SessionPermissions,
    /// Whether commands can be tried.
    can_try: bool,
}

impl ToolPolicy for PermissionPolicy {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        let tool_use = ToolUse {
            tool: &call.call.name,
            arguments: &call.arguments,
        };
        let decision = match self.permissions.review(tool_use) {
            // The extension that tries the command reviews it, too.
            Review::Allow => Decision::Allow,
            Review::Try if self.can_try => Decision::Allow,
            Review::Try => Decision::Deny(DenialReason {
                text: Some("Denied by the permission settings: the command must be tried, but builtin:sandbox is off.".to_owned()),
                terminate: false,
            }),
            Review::Deny(text) => Decision::Deny(DenialReason {
                text: Some(text),
                terminate: false,
            }),
            Review::Ask(reason) => {
                let request = call.approval_request(Some(reason));
                self.permissions.asked(&request.id, tool_use);
                Decision::Ask(request)
            }
        };
        let arguments = call.arguments;
        Box::pin(std::future::ready(Ok(ReviewedToolCall {
            decision,
            arguments,
        })))
    }
}

impl EventHook for PermissionPolicy {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let SessionEvent::ApprovalResolved { request, answer } = event {
            self.permissions.resolved(request, answer);
        }
        Box::pin(std::future::ready(()))
    }
}
