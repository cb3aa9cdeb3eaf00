//! Named gates: a scripted reply pauses at a gate until the test opens it, and the test can wait for the pause.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// All gates of a server; a gate is created when either side first uses its name.
#[derive(Debug, Default)]
pub(crate) struct Gates(Mutex<HashMap<String, watch::Sender<GateState>>>);

#[derive(Debug, Clone, Copy, Default)]
struct GateState {
    reached: bool,
    open: bool,
}

impl Gates {
    fn gate(&self, name: &str) -> watch::Sender<GateState> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(name.to_owned()).or_default().clone()
    }

    /// Opens a gate permanently.
    pub(crate) fn open(&self, name: &str) {
        self.gate(name).send_modify(|gate| gate.open = true);
    }

    /// Waits until a reply reaches the gate.
    pub(crate) async fn wait_until_reached(&self, name: &str) {
        let mut gate = self.gate(name).subscribe();
        gate.wait_for(|gate| gate.reached)
            .await
            .expect("the gate's sender outlives its waiters");
    }

    /// Marks the gate as reached and waits until it is open.
    pub(crate) async fn pass(&self, name: &str) {
        let sender = self.gate(name);
        sender.send_modify(|gate| gate.reached = true);
        let mut gate = sender.subscribe();
        gate.wait_for(|gate| gate.open)
            .await
            .expect("the gate's sender outlives its waiters");
    }
}
