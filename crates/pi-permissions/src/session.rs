//! The rules of a session, with the calls that its user has approved.

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::json::JsonObject;
use pi_protocol::{Answer, RequestId};

use crate::rules::{Effect, PermissionRules, Reason, ToolUse};

/// What to do with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    Allow,
    /// Run the command so that its changes can be discarded.
    Try,
    /// The text is for the model.
    Deny(String),
    /// The text is for the user.
    Ask(String),
}

/// Decides about the calls of a session.
#[derive(Debug)]
pub struct SessionPermissions {
    rules: PermissionRules,
    /// Whether there is a user who can answer.
    can_ask: bool,
    approvals: Mutex<Approvals>,
}

/// Calls that the user was asked about.
#[derive(Debug, Default)]
struct Approvals {
    asked: Vec<(RequestId, ApprovedCall)>,
    /// Run again without asking.
    for_session: Vec<ApprovedCall>,
}

/// Exactly this tool with these arguments.
#[derive(Debug, PartialEq)]
struct ApprovedCall {
    tool: String,
    arguments: JsonObject,
}

impl SessionPermissions {
    pub fn new(rules: PermissionRules, can_ask: bool) -> Self {
        Self {
            rules,
            can_ask,
            approvals: Mutex::default(),
        }
    }

    pub fn review(&self, call: ToolUse<'_>) -> Review {
        let verdict = self.rules.decide(call);
        let reason = verdict.reason.text();
        match verdict.effect {
            Effect::Allow => Review::Allow,
            Effect::Try => Review::Try,
            Effect::Deny => Review::Deny(format!("Denied by the permission settings: {reason}.")),
            Effect::Ask if self.is_approved(call) => Review::Allow,
            Effect::Ask if self.can_ask => Review::Ask(match verdict.reason {
                Reason::Rule(rule) => format!("Approval is required by the rule {rule}."),
                _ => format!("Approval is required: {reason}."),
            }),
            Effect::Ask => Review::Deny(format!(
                "The permission settings require approval ({reason}), and there is no user to ask. A rule in permissions.allow can allow the call."
            )),
        }
    }

    fn is_approved(&self, call: ToolUse<'_>) -> bool {
        self.lock().for_session.contains(&ApprovedCall::new(call))
    }

    /// Notes that the user is asked about a call.
    pub fn asked(&self, request: &RequestId, call: ToolUse<'_>) {
        let asked = (request.clone(), ApprovedCall::new(call));
        self.lock().asked.push(asked);
    }

    /// Remembers a call if it was approved for the session.
    pub fn resolved(&self, request: &RequestId, answer: &Answer) {
        let mut approvals = self.lock();
        if let Some(index) = approvals
            .asked
            .iter()
            .position(|(asked, _)| asked == request)
        {
            let (_, call) = approvals.asked.swap_remove(index);
            if *answer == Answer::AllowForSession {
                approvals.for_session.push(call);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Approvals> {
        self.approvals.lock()
    }
}

impl ApprovedCall {
    fn new(call: ToolUse<'_>) -> Self {
        Self {
            tool: call.tool.to_owned(),
            arguments: call.arguments.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pi_protocol::settings::PermissionSettings;
    use serde_json::json;

    use super::*;

    fn permissions(can_ask: bool) -> SessionPermissions {
        let settings = PermissionSettings {
            ask: Some(vec!["bash(make *)".into()]),
            ..PermissionSettings::default()
        };
        let rules = PermissionRules::parse(&settings, Path::new("/"), None).unwrap();
        SessionPermissions::new(rules, can_ask)
    }

    fn arguments(command: &str) -> JsonObject {
        JsonObject::from_iter([("command".to_owned(), json!(command))])
    }

    fn call(arguments: &JsonObject) -> ToolUse<'_> {
        ToolUse {
            tool: "bash",
            arguments,
        }
    }

    #[test]
    fn only_the_approved_call_runs_again() {
        let permissions = permissions(true);
        let (build, install) = (arguments("make build"), arguments("make install"));
        let (first, second) = (RequestId("1".to_owned()), RequestId("2".to_owned()));
        permissions.asked(&first, call(&build));
        permissions.asked(&second, call(&install));
        permissions.resolved(&first, &Answer::AllowForSession);
        permissions.resolved(&second, &Answer::Allow);
        assert_eq!(permissions.review(call(&build)), Review::Allow);
        let asked = permissions.review(call(&install));
        let Review::Ask(text) = asked else {
            panic!("{asked:?}")
        };
        assert_eq!(text, "Approval is required by the rule bash(make *).");
    }

    #[test]
    fn without_a_user_calls_are_denied() {
        let review = permissions(false).review(call(&arguments("make")));
        assert!(matches!(review, Review::Deny(text) if text.contains("no user to ask")));
    }
}
