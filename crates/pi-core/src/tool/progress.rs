//! Partial results of a running tool call.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_protocol::ToolOutput;
use tokio::sync::Notify;

/// More updates than any tool has in flight while listeners keep up. Beyond this, the newest update
/// replaces the previous one: only the latest state matters, and memory stays bounded.
const UPDATES_IN_FLIGHT: usize = 64;

/// Receives the partial results of one running call. Clones refer to the same call.
#[derive(Clone, Default)]
pub struct Progress(Arc<UpdateQueue>);

#[derive(Default)]
struct UpdateQueue {
    state: Mutex<UpdateState>,
    changed: Notify,
}

#[derive(Default)]
struct UpdateState {
    updates: VecDeque<ToolOutput>,
    closed: bool,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Progress")
    }
}

impl Progress {
    /// Sends a partial result; ignored once the call has ended.
    pub fn send(&self, partial: ToolOutput) {
        {
            let mut state = self.0.state.lock();
            if state.closed {
                return;
            }
            if state.updates.len() >= UPDATES_IN_FLIGHT {
                state.updates.pop_back();
            }
            state.updates.push_back(partial);
        }
        self.0.changed.notify_one();
    }

    pub async fn next(&self) -> ToolOutput {
        loop {
            if let Some(partial) = self.take() {
                return partial;
            }
            self.0.changed.notified().await;
        }
    }

    /// Takes a pending partial result without waiting, for callers that run a tool without an
    /// agent.
    pub fn take(&self) -> Option<ToolOutput> {
        self.0.state.lock().updates.pop_front()
    }

    /// Ignores everything sent from now on.
    pub(crate) fn close(&self) {
        self.0.state.lock().closed = true;
    }
}
