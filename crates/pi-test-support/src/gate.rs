//! Named gates: a script stops at one until the test opens it, and the test can wait for the stop.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// All gates of a server, made when first named by either side.
#[derive(Debug, Default)]
pub(crate) struct Gates(Mutex<HashMap<String, watch::Sender<Gate>>>);

#[derive(Debug, Clone, Copy, Default)]
struct Gate {
    reached: bool,
    open: bool,
}

impl Gates {
    fn gate(&self, name: &str) -> watch::Sender<Gate> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(name.to_owned()).or_default().clone()
    }

    /// Opens a gate, for good.
    pub(crate) fn open(&self, name: &str) {
        self.gate(name).send_modify(|gate| gate.open = true);
    }

    /// Waits until a script stops at the gate.
    pub(crate) async fn reached(&self, name: &str) {
        let mut gate = self.gate(name).subscribe();
        gate.wait_for(|gate| gate.reached)
            .await
            .expect("a gate outlives its waiters");
    }

    /// Stops at the gate until it is open.
    pub(crate) async fn pass(&self, name: &str) {
        let sender = self.gate(name);
        sender.send_modify(|gate| gate.reached = true);
        let mut gate = sender.subscribe();
        gate.wait_for(|gate| gate.open)
            .await
            .expect("a gate outlives its waiters");
    }
}
