//! Requests of a session that any client may answer.

use pi_core::{AnswerError, Input, Reply};
use pi_protocol::{Answer, Request, RequestId};

use super::AgentSession;

/// Requests that wait for an answer.
#[derive(Clone, Copy)]
pub struct PendingRequests<'session> {
    pub(super) session: &'session AgentSession,
}

impl AgentSession {
    pub fn requests(&self) -> PendingRequests<'_> {
        PendingRequests { session: self }
    }
}

impl PendingRequests<'_> {
    /// Returns the approvals and then the dialogs, oldest first.
    pub fn pending(self) -> Vec<Request> {
        let mut pending = self.session.0.machine().pending_requests();
        pending.extend(self.session.0.open_dialogs());
        pending
    }

    /// Answers a request. The first answer wins.
    pub async fn answer(self, request: RequestId, answer: Answer) -> Result<(), AnswerError> {
        if let Some(answered) = self.session.0.answer_dialog(&request, &answer) {
            return answered;
        }
        let input = Input::Answer { request, answer };
        let reply = pi_core::submit(self.session, input).reply().await;
        match reply.reply {
            Reply::AnswerRejected(error) => Err(error),
            _ => Ok(()),
        }
    }
}
