//! Stops a lazy child process that is not used; the next request starts it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use pi_protocol::{McpState, McpTransport};
use tokio::time::Instant;

use super::ConnectionState;
use crate::client::Client;

/// When a connection was used last.
#[derive(Default)]
pub(super) struct Usage {
    active: AtomicUsize,
    last: Mutex<Option<Instant>>,
}

/// A request in progress.
pub(super) struct UseGuard<'a>(&'a Usage);

impl Usage {
    pub(super) fn begin(&self) -> UseGuard<'_> {
        self.active.fetch_add(1, Ordering::AcqRel);
        UseGuard(self)
    }

    fn note(&self) {
        *self.last.lock() = Some(Instant::now());
    }

    /// Returns when it was used last; `None` while it is.
    fn idle_since(&self) -> Option<Instant> {
        let last = *self.last.lock();
        last.filter(|_| self.active.load(Ordering::Acquire) == 0)
    }
}

impl Drop for UseGuard<'_> {
    fn drop(&mut self) {
        self.0.note();
        self.0.active.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ConnectionState {
    /// Stops a lazy child process when it has not been used for long enough.
    pub(super) fn stop_when_idle(self: &Arc<Self>, client: &Client) {
        let lifecycle = &self.options.spec.lifecycle;
        let is_child = matches!(self.options.spec.transport, McpTransport::Stdio(_));
        let Some(idle) = lifecycle.idle.filter(|_| lifecycle.is_lazy && is_child) else {
            return;
        };
        self.usage.note();
        let (state, client) = (Arc::downgrade(self), client.clone());
        tokio::spawn(async move {
            let mut wake = Instant::now() + idle;
            loop {
                tokio::time::sleep_until(wake).await;
                let Some(state) = state.upgrade() else {
                    return;
                };
                if !client.is_connected() {
                    return;
                }
                let deadline = state.usage.idle_since().map(|since| since + idle);
                match deadline {
                    Some(deadline) if deadline <= Instant::now() => {
                        state.detach(&client);
                        client.close().await;
                        state.set_state(McpState::Disconnected, None);
                        return;
                    }
                    Some(deadline) => wake = deadline,
                    None => wake = Instant::now() + idle,
                }
            }
        });
    }
}
