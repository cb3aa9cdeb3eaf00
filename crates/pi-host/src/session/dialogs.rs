//! Dialogs of extensions as requests of the session: any client may answer, and so may the front end that shows them.
//!
//! The first answer wins. Approvals of calls that a model makes belong to the machine; those of calls that tools make
//! are answered here.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_core::AnswerError;
use pi_extensions::{DialogPrompt, ExtensionDialog, ExtensionUi, ShowRequest};
use pi_protocol::{Answer, Request, RequestId, RequestKind, SessionEvent};
use tokio::sync::oneshot;

use super::{PendingRequests, SessionCore};

/// Number of answered dialogs whose IDs are kept, to tell late answers from unknown ones.
const REMEMBERED_ANSWERS: usize = 64;

#[derive(Default)]
pub(super) struct DialogRequests(Mutex<DialogTable>);

#[derive(Default)]
struct DialogTable {
    /// Oldest first.
    open: Vec<(Request, oneshot::Sender<Answer>)>,
    /// Oldest first.
    answered: VecDeque<RequestId>,
}

impl DialogTable {
    fn take(&mut self, id: &RequestId) -> Option<(Request, oneshot::Sender<Answer>)> {
        let position = self.open.iter().position(|(open, _)| open.id == *id)?;
        Some(self.open.remove(position))
    }

    fn remember(&mut self, id: RequestId) {
        if self.answered.len() == REMEMBERED_ANSWERS {
            self.answered.pop_front();
        }
        self.answered.push_back(id);
    }
}

/// A dialog that waits for an answer; canceled when dropped.
struct OpenDialog {
    core: Weak<SessionCore>,
    id: RequestId,
    client_answer: oneshot::Receiver<Answer>,
}

impl OpenDialog {
    /// Returns the answer of a client or of the front end, whichever is first.
    async fn answer(mut self, shown: BoxFuture<'static, Answer>) -> Answer {
        tokio::select! {
            biased;
            // Fails if the session was closed: then only the front end can answer.
            Ok(answer) = &mut self.client_answer => answer,
            answer = shown => {
                let core = self.core.upgrade();
                if core.is_some_and(|core| core.resolve_dialog(&self.id, &answer)) {
                    return answer;
                }
                // A client may have answered in between.
                self.client_answer.try_recv().unwrap_or(answer)
            }
        }
    }
}

impl Drop for OpenDialog {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            let open = core.dialogs.0.lock().take(&self.id);
            if let Some((request, _)) = open {
                core.log_dialog_end(request, Answer::Cancelled);
            }
        }
    }
}

impl PendingRequests<'_> {
    /// Asks the user. `show` starts to show the request in the front end, which closes it when the future is dropped.
    /// Dropping the result cancels the request.
    pub fn ask(self, request: Request, show: Box<ShowRequest>) -> BoxFuture<'static, Answer> {
        let (sender, client_answer) = oneshot::channel();
        let dialog = OpenDialog {
            core: Arc::downgrade(&self.session.0),
            id: request.id.clone(),
            client_answer,
        };
        let core = &self.session.0;
        core.dialogs.0.lock().open.push((request.clone(), sender));
        core.log_change(SessionEvent::DialogRequested { request });
        // A client that sees the dialog in the front end can answer the request.
        Box::pin(dialog.answer(show()))
    }

    /// Shows a dialog in the front end and to all clients; `None` if the user gives no text.
    pub fn ask_dialog(
        self,
        ui: &Arc<dyn ExtensionUi>,
        prompt: DialogPrompt,
    ) -> BoxFuture<'static, Option<String>> {
        let dialog = ExtensionDialog {
            id: uuid::Uuid::new_v4().to_string(),
            prompt,
            timeout: None,
        };
        let (request, ui) = (dialog.to_request(), Arc::clone(ui));
        let show = Box::new(move || ui.show_dialog(dialog).map(Answer::from).boxed());
        let answer = self.ask(request, show);
        async move {
            match answer.await {
                Answer::Value { value } => Some(value),
                _ => None,
            }
        }
        .boxed()
    }

    /// Asks the clients whether a tool call may run that no run of the machine waits for.
    pub async fn ask_approval(self, request: Request) -> Answer {
        let (sender, client_answer) = oneshot::channel();
        let core = &self.session.0;
        let dialog = OpenDialog {
            core: Arc::downgrade(core),
            id: request.id.clone(),
            client_answer,
        };
        core.dialogs.0.lock().open.push((request.clone(), sender));
        core.publish(SessionEvent::ApprovalRequested { request })
            .await;
        let request = dialog.id.clone();
        let answer = dialog.answer(Box::pin(std::future::pending())).await;
        let resolved = SessionEvent::ApprovalResolved { request, answer };
        core.participants.on_event(&resolved).await;
        match resolved {
            SessionEvent::ApprovalResolved { answer, .. } => answer,
            _ => Answer::Cancelled,
        }
    }
}

impl SessionCore {
    pub(super) fn open_dialogs(&self) -> Vec<Request> {
        let table = self.dialogs.0.lock();
        table.open.iter().map(|(open, _)| open.clone()).collect()
    }

    /// Passes the answer of a client to the dialog; `None` if there is no dialog with this ID.
    pub(super) fn answer_dialog(
        &self,
        id: &RequestId,
        answer: &Answer,
    ) -> Option<Result<(), AnswerError>> {
        let (request, waiting) = {
            let mut table = self.dialogs.0.lock();
            if table.answered.contains(id) {
                return Some(Err(AnswerError::AlreadyAnswered));
            }
            let (request, _) = table.open.iter().find(|(open, _)| open.id == *id)?;
            if let Some(expected) = request.kind.expects_other_than(answer) {
                return Some(Err(AnswerError::Invalid { expected }));
            }
            table.remember(id.clone());
            table.take(id)?
        };
        self.log_dialog_end(request, answer.clone());
        // The dialog may be canceled at this moment.
        waiting.send(answer.clone()).ok();
        Some(Ok(()))
    }

    /// Records the answer of the front end; returns whether it was the first.
    fn resolve_dialog(&self, id: &RequestId, answer: &Answer) -> bool {
        let request = {
            let mut table = self.dialogs.0.lock();
            let Some((request, _)) = table.take(id) else {
                return false;
            };
            table.remember(id.clone());
            request
        };
        self.log_dialog_end(request, answer.clone());
        true
    }

    /// Ends the requests of a session that is closed. Extensions may still wait for the front end.
    pub(super) fn close_dialogs(&self) {
        let open = std::mem::take(&mut self.dialogs.0.lock().open);
        for (request, _) in open {
            self.log_dialog_end(request, Answer::Cancelled);
        }
    }

    fn log_dialog_end(&self, request: Request, answer: Answer) {
        let id = request.id;
        self.log_change(match request.kind {
            RequestKind::Approval { .. } => SessionEvent::ApprovalResolved {
                request: id,
                answer,
            },
            _ => SessionEvent::DialogResolved {
                request: id,
                answer,
            },
        });
    }
}
