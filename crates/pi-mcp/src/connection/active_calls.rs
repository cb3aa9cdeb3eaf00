//! The calls in progress, which requests of a server belong to.
//!
//! A server does not state for which call it asks. Once it has asked, its calls are made one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::{ConnectionState, McpConnection};
use crate::client::ServerRequestAnswer;
use crate::elicitation;
use crate::sampling;
use crate::servers::McpSession;

#[derive(Default)]
pub(super) struct ActiveCalls {
    calls: Mutex<Vec<ActiveCall>>,
    next: AtomicU64,
    /// Whether the server has asked something.
    asks: AtomicBool,
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone)]
struct ActiveCall {
    number: u64,
    session: Arc<dyn McpSession>,
    ended: CancellationToken,
}

/// A call in progress; it ends when this is dropped.
pub(crate) struct CallGuard {
    state: Arc<ConnectionState>,
    number: u64,
    _turn: Option<OwnedMutexGuard<()>>,
}

impl ActiveCalls {
    fn calls(&self) -> MutexGuard<'_, Vec<ActiveCall>> {
        self.calls.lock()
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut calls = self.state.active.calls();
        let position = calls.iter().position(|call| call.number == self.number);
        if let Some(position) = position {
            calls.remove(position).ended.cancel();
        }
    }
}

impl McpConnection {
    /// Starts a call during which the server may ask the user of a session.
    pub(crate) async fn begin_call(&self, session: Arc<dyn McpSession>) -> CallGuard {
        let active = &self.0.active;
        let turn = if active.asks.load(Ordering::Acquire) {
            Some(Arc::clone(&active.turn).lock_owned().await)
        } else {
            None
        };
        let number = active.next.fetch_add(1, Ordering::Relaxed);
        active.calls().push(ActiveCall {
            number,
            session,
            ended: CancellationToken::new(),
        });
        CallGuard {
            state: Arc::clone(&self.0),
            number,
            _turn: turn,
        }
    }
}

impl ConnectionState {
    /// Answers a request of the server; `None` if it is not supported.
    pub(super) fn answer_request(
        &self,
        method: &str,
        params: Value,
    ) -> Option<ServerRequestAnswer> {
        let is_question = method == "elicitation/create" && self.options.has_elicitation;
        let is_sampling = method == "sampling/createMessage" && self.options.has_sampling;
        if !is_question && !is_sampling {
            return None;
        }
        self.active.asks.store(true, Ordering::Release);
        // The last call is the likeliest to have caused the question.
        let call = self.active.calls().last().cloned();
        let server = self.options.spec.name.clone();
        let answer = async move {
            let Some(call) = call else {
                return if is_sampling {
                    Err(sampling::refused())
                } else {
                    Ok(elicitation::canceled())
                };
            };
            if is_sampling {
                let sampling = sampling::sample(&*call.session, &server, &params);
                let sampled = call.ended.run_until_cancelled(sampling).await;
                return sampled.unwrap_or_else(|| Err(sampling::refused()));
            }
            let asking = elicitation::elicit(&*call.session, &server, &params);
            let answered = call.ended.run_until_cancelled(asking).await;
            answered.unwrap_or_else(|| Ok(elicitation::canceled()))
        };
        Some(answer.boxed())
    }
}
