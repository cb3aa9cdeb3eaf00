//! Questions of a session of another process, shown in this one.

use std::sync::Arc;

use pi_extensions::{DialogPrompt, ExtensionDialog};
use pi_protocol::{Answer, Command, Request, RequestId, RequestKind, SessionEvent};
use tokio_util::sync::CancellationToken;

use super::RemoteInner;
use crate::session::Follower;

impl RemoteInner {
    pub(super) async fn ask_pending(self: &Arc<Self>) {
        let pending = self.state().pending.clone();
        for request in pending {
            self.ask(request).await;
        }
    }

    /// Asks the user here. The answer of another client closes the question.
    pub(super) async fn ask(self: &Arc<Self>, request: Request) {
        if self.is_read_only {
            return;
        }
        let Some(dialog) = dialog_of(&request) else {
            let event = SessionEvent::ApprovalRequested { request };
            Follower::of(&self.session()).publish(event).await;
            return;
        };
        let closed = CancellationToken::new();
        let mut dialogs = self.dialogs.lock();
        if dialogs.insert(request.id.clone(), closed.clone()).is_some() {
            return;
        }
        drop(dialogs);
        let shown = self.ui.show_dialog(dialog);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let Some(response) = closed.run_until_cancelled(shown).await else {
                return;
            };
            let answer = Command::Answer {
                request: request.id,
                answer: Answer::from(response),
            };
            if let Err(error) = shared.commands().request(&answer).await {
                tracing::debug!(%error, "the answer was not used");
            }
        });
    }

    pub(super) fn resolved(&self, request: &RequestId) {
        let mut dialogs = self.dialogs.lock();
        if let Some(dialog) = dialogs.remove(request) {
            dialog.cancel();
        }
    }

    pub(super) fn close_dialogs(&self) {
        let mut dialogs = self.dialogs.lock();
        for (_, dialog) in dialogs.drain() {
            dialog.cancel();
        }
    }
}

/// Returns the dialog of a request; `None` for an approval.
fn dialog_of(request: &Request) -> Option<ExtensionDialog> {
    let prompt = match request.kind.clone() {
        RequestKind::Select { title, options, .. } => DialogPrompt::Select { title, options },
        RequestKind::Confirm { title, message, .. } => DialogPrompt::Confirm { title, message },
        RequestKind::Input {
            title, placeholder, ..
        } => DialogPrompt::Input { title, placeholder },
        RequestKind::Editor { title, prefill } => DialogPrompt::Editor { title, prefill },
        _ => return None,
    };
    Some(ExtensionDialog {
        id: request.id.0.clone(),
        prompt,
        // The process that asks ends it.
        timeout: None,
    })
}
