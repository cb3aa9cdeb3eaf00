//! Requests of the server that wait for an answer.

use std::collections::HashMap;

use parking_lot::MutexGuard;
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{ClientState, ServerRequestAnswer};

impl ClientState {
    pub(super) fn asked(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.asked.lock()
    }

    pub(super) fn is_asked(&self) -> bool {
        !self.asked().is_empty()
    }

    /// Answers a request of the server when its answer is known, unless the server withdraws it.
    pub(super) fn answer_later(&self, id: &Value, answer: ServerRequestAnswer) {
        let (key, id) = (id.to_string(), id.clone());
        let withdrawn = CancellationToken::new();
        self.asked().insert(key.clone(), withdrawn.clone());
        let state = self.own.clone();
        tokio::spawn(async move {
            let answered = withdrawn.run_until_cancelled(answer).await;
            let Some(state) = state.upgrade() else {
                return;
            };
            state.asked().remove(&key);
            // The timeouts of what waited for the answer start again.
            for request in state.pending().values() {
                request.renewed.notify_one();
            }
            if let Some(outcome) = answered {
                let outcome = outcome.map_err(JsonRpcError::from);
                state.notify(JsonRpcMessage::response(&id, outcome));
            }
        });
    }

    /// The server no longer waits for the answer to a request.
    pub(super) fn withdraw(&self, params: &Value) {
        let id = params.get("requestId").map(Value::to_string);
        if let Some(asked) = id.and_then(|id| self.asked().remove(&id)) {
            asked.cancel();
        }
    }
}
