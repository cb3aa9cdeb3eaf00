//! Whether the connection works: requests fail at once instead of waiting for a response that cannot come.

use async_nats::{Event, ServerError};
use tokio::sync::watch;

use crate::engine::EngineError;

/// The state of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LinkState {
    is_connected: bool,
    /// The first request that the server refused. It does not respond to such a request.
    denied: Option<String>,
    /// The last one.
    last_denied: Option<String>,
}

pub(super) struct Link(watch::Sender<LinkState>);

impl Link {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(LinkState {
            is_connected: true,
            denied: None,
            last_denied: None,
        }))
    }

    /// Follows an event of the connection.
    pub(super) fn observe(&self, event: Event) {
        let is_denial = |reason: &str| {
            let reason = reason.to_ascii_lowercase();
            reason.contains("permissions violation")
        };
        self.0.send_if_modified(|state| {
            let before = state.clone();
            match event {
                Event::Connected => state.is_connected = true,
                Event::Disconnected => state.is_connected = false,
                Event::ServerError(ServerError::Other(reason)) if is_denial(&reason) => {
                    state.last_denied = Some(reason.clone());
                    state.denied.get_or_insert(reason);
                }
                _ => {}
            }
            *state != before
        });
    }

    /// Waits for a request with a subject that no other request has; returns `None` if the server refuses it.
    pub(super) async fn try_request<T>(
        &self,
        subject: &str,
        request: impl Future<Output = T>,
    ) -> Option<T> {
        let mut states = self.0.subscribe();
        let is_refused = |state: &LinkState| {
            let reason = state.last_denied.as_deref();
            reason.is_some_and(|reason| reason.contains(subject))
        };
        tokio::select! {
            biased;
            done = request => Some(done),
            _refused = states.wait_for(is_refused) => None,
        }
    }

    /// Waits for a request, unless the server refuses it or the connection breaks.
    pub(super) async fn guard<T>(
        &self,
        action: &'static str,
        request: impl Future<Output = T>,
    ) -> Result<T, EngineError> {
        let mut states = self.0.subscribe();
        let lost = async {
            let is_lost = |state: &LinkState| !state.is_connected || state.denied.is_some();
            match states.wait_for(is_lost).await {
                Ok(state) => state.denied.clone(),
                Err(_closed) => None,
            }
        };
        tokio::select! {
            biased;
            done = request => Ok(done),
            denied = lost => Err(match denied {
                Some(reason) => EngineError::Denied(reason),
                None => EngineError::Server { action, reason: "not connected".to_owned() },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_end_with_their_connection() {
        let link = Link::new();
        assert_eq!(link.guard("x", std::future::ready(1)).await.unwrap(), 1);
        link.observe(Event::Disconnected);
        let waiting = link.guard("x", std::future::pending::<()>());
        let error = waiting.await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        link.observe(Event::Connected);
        let refused = link.try_request("y", std::future::pending::<()>());
        let mut refused = std::pin::pin!(refused);
        assert!(futures_util::poll!(&mut refused).is_pending());
        let mut waiting = std::pin::pin!(link.guard("x", std::future::pending::<()>()));
        let is_waiting = futures_util::poll!(&mut waiting).is_pending();
        assert!(is_waiting);
        let reason = "Permissions Violation for Publish to \"x\"".to_owned();
        link.observe(Event::ServerError(ServerError::Other(reason)));
        let error = waiting.await.unwrap_err();
        assert!(matches!(error, EngineError::Denied(_)), "{error}");
        assert!(futures_util::poll!(&mut refused).is_pending());
        let reason = "Permissions Violation for Publish to \"y\"".to_owned();
        link.observe(Event::ServerError(ServerError::Other(reason)));
        assert_eq!(refused.await, None);
    }
}
