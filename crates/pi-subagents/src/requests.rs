//! Questions of a sub-agent reach the user of the session that started it.
//!
//! Clients that are attached to the sub-agent see them, too; the first answer wins.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::{AgentSession, DialogPrompt, ExtensionDialog, ExtensionUi};
use pi_protocol::{Answer, Request, RequestId, RequestKind};
use tokio::task::{AbortHandle, JoinSet};

/// Forwards the questions of a sub-agent.
pub(crate) struct RequestForwarder {
    parent: AgentSession,
    ui: Arc<dyn ExtensionUi>,
    child: AgentSession,
    /// Name and ID of the sub-agent, as the user knows them.
    label: String,
    waiting: HashMap<RequestId, AbortHandle>,
    asking: JoinSet<(RequestId, Answer)>,
}

impl RequestForwarder {
    pub(crate) fn new(
        parent: AgentSession,
        ui: Arc<dyn ExtensionUi>,
        child: AgentSession,
        label: String,
    ) -> Self {
        Self {
            parent,
            ui,
            child,
            label,
            waiting: HashMap::new(),
            asking: JoinSet::new(),
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Asks the user.
    pub(crate) fn forward(&mut self, request: &Request) {
        let id = request.id.clone();
        let (parent, ui) = (self.parent.clone(), Arc::clone(&self.ui));
        let asked = labeled(request.clone(), &self.label);
        let answered = id.clone();
        let asking = self.asking.spawn(async move {
            let answer = ask(parent, ui, asked).await;
            (answered, answer)
        });
        self.waiting.insert(id, asking);
    }

    /// Withdraws a question that was answered elsewhere.
    pub(crate) fn withdraw(&mut self, request: &RequestId) {
        if let Some(asking) = self.waiting.remove(request) {
            asking.abort();
        }
    }

    /// Passes on the next answer. Never resolves while there is no question.
    pub(crate) async fn answer_next(&mut self) {
        let Some(joined) = self.asking.join_next().await else {
            return std::future::pending().await;
        };
        // A question that was withdrawn has no answer.
        if let Ok((request, answer)) = joined {
            self.waiting.remove(&request);
            let answered = self.child.requests().answer(request, answer).await;
            if let Err(error) = answered {
                tracing::debug!(%error, "a question of a sub-agent was answered elsewhere");
            }
        }
    }
}

/// Returns a request that names the sub-agent, with an ID that is unique in the session of the user.
fn labeled(mut request: Request, label: &str) -> Request {
    request.id = RequestId(format!("{label} {}", request.id));
    request.call = None;
    match &mut request.kind {
        RequestKind::Approval { reason, .. } => {
            let text = reason.take().unwrap_or_default();
            *reason = Some(format!("Sub-agent {label}. {text}").trim_end().to_owned());
        }
        RequestKind::Select { title, .. }
        | RequestKind::Confirm { title, .. }
        | RequestKind::Input { title, .. }
        | RequestKind::Editor { title, .. } => *title = format!("{label}: {title}"),
        _ => {}
    }
    request
}

fn ask(
    parent: AgentSession,
    ui: Arc<dyn ExtensionUi>,
    request: Request,
) -> BoxFuture<'static, Answer> {
    let prompt = match request.kind.clone() {
        RequestKind::Select { title, options, .. } => DialogPrompt::Select { title, options },
        RequestKind::Confirm { title, message, .. } => DialogPrompt::Confirm { title, message },
        RequestKind::Input {
            title, placeholder, ..
        } => DialogPrompt::Input { title, placeholder },
        RequestKind::Editor { title, prefill } => DialogPrompt::Editor { title, prefill },
        _ => {
            return async move {
                match parent.requests().ask_approval(request).await {
                    // The session of the user has closed.
                    Answer::Cancelled => Answer::Deny { reason: None },
                    answer => answer,
                }
            }
            .boxed();
        }
    };
    // The dialog of the sub-agent has the time limit, which withdraws this one.
    let dialog = ExtensionDialog {
        id: request.id.to_string(),
        prompt,
        timeout: None,
    };
    let show = Box::new(move || ui.show_dialog(dialog).map(Answer::from).boxed());
    parent.requests().ask(request, show)
}

#[cfg(test)]
mod tests {
    use pi_protocol::json::JsonObject;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn requests_name_the_sub_agent() {
        let request = |kind| Request {
            id: RequestId("approval-1".to_owned()),
            call: Some("call_1".to_owned()),
            kind,
        };
        let approval = |reason: Option<&str>| RequestKind::Approval {
            tool_name: "bash".to_owned(),
            args: JsonObject::new(),
            reason: reason.map(str::to_owned),
        };
        let asked = labeled(request(approval(Some("A rule."))), "general task-1");
        assert_eq!(asked.id.to_string(), "general task-1 approval-1");
        assert_eq!(asked.call, None);
        assert_eq!(
            asked.kind,
            approval(Some("Sub-agent general task-1. A rule."))
        );
        let asked = labeled(request(approval(None)), "general task-1");
        assert_eq!(asked.kind, approval(Some("Sub-agent general task-1.")));
    }
}
