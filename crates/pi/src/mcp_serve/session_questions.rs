//! The questions of a session during a call: the user of the client that made the call answers them.

use std::collections::HashMap;
use std::convert::Infallible;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pi_host::{
    AgentSession, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionUi,
    Observed, Observer,
};
use pi_protocol::{Answer, FormAnswer, QuestionForm, Request, RequestId, SessionEvent};
use tokio_util::sync::CancellationToken;

use super::questions::AskUser;
use crate::extension_failures::PrintedFailures;

/// The extension UI of sessions whose client shows forms.
pub(super) struct ClientForms;

impl ExtensionUi for ClientForms {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Rpc
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        // The dialog is a request of the session, which is answered there.
        Box::pin(async move {
            match dialog.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
            DialogResponse::Cancelled
        })
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        PrintedFailures(self.mode()).report_failure(failure)
    }
}

/// Asks what the session asks, also what it has asked before. A question that another client answers is withdrawn.
pub(super) async fn ask_user(session: &AgentSession, asker: &dyn AskUser) -> Infallible {
    let mut changes = session.observe(None);
    let mut open: HashMap<RequestId, CancellationToken> = HashMap::new();
    let mut asking = FuturesUnordered::new();
    loop {
        let pending = session.requests().pending();
        open.retain(|id, withdrawn| {
            let is_pending = pending.iter().any(|request| request.id == *id);
            if !is_pending {
                withdrawn.cancel();
            }
            is_pending
        });
        for request in pending {
            if !open.contains_key(&request.id) {
                let withdrawn = CancellationToken::new();
                open.insert(request.id.clone(), withdrawn.clone());
                asking.push(ask(asker, request, withdrawn));
            }
        }
        tokio::select! {
            () = next_change(&mut changes) => {}
            Some((id, answer)) = asking.next() => if let Some(answer) = answer {
                // Another client may have answered first.
                session.requests().answer(id, answer).await.ok();
            },
        }
    }
}

async fn ask(
    asker: &dyn AskUser,
    request: Request,
    withdrawn: CancellationToken,
) -> (RequestId, Option<Answer>) {
    let answering = asker.ask(request.kind.form());
    let form = withdrawn.run_until_cancelled(answering).await;
    (request.id, form.map(|form| request.kind.answer_of(form)))
}

/// Waits until the session may have other questions than before.
async fn next_change(changes: &mut Observer) {
    loop {
        match changes.next().await {
            Some(Observed::Event(envelope)) => match &envelope.event {
                SessionEvent::ApprovalRequested { .. }
                | SessionEvent::ApprovalResolved { .. }
                | SessionEvent::DialogRequested { .. }
                | SessionEvent::DialogResolved { .. } => return,
                _ => {}
            },
            Some(Observed::Lagged) => return,
            // The session was closed.
            None => return std::future::pending().await,
        }
    }
}

/// Answers what the session asks for a user who does not answer.
pub(super) async fn dismiss(session: &AgentSession) {
    for request in session.requests().pending() {
        let answer = request.kind.answer_of(FormAnswer::Cancelled);
        session.requests().answer(request.id, answer).await.ok();
    }
}

/// Dismisses what the session asks for clients that show no forms.
pub(super) struct NoForms;

impl AskUser for NoForms {
    fn ask(&self, _form: QuestionForm) -> BoxFuture<'static, FormAnswer> {
        Box::pin(std::future::ready(FormAnswer::Cancelled))
    }
}
