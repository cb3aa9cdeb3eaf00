//! A gate in a scripted response, so tests control ordering without sleeping.

use tokio_util::sync::CancellationToken;

/// A gate at which a response waits until the test opens it. Clones share the same gate.
///
/// A stream makes progress only while it is polled: await [`FauxGate::reached`] in another task, or
/// concurrently with the stream.
#[derive(Debug, Clone, Default)]
pub struct FauxGate {
    reached: CancellationToken,
    opened: CancellationToken,
}

impl FauxGate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate permanently.
    pub fn open(&self) {
        self.opened.cancel();
    }

    /// Waits until a response has reached the gate.
    pub async fn reached(&self) {
        self.reached.cancelled().await;
    }

    /// Returns whether a response has reached the gate.
    pub fn is_reached(&self) -> bool {
        self.reached.is_cancelled()
    }

    /// Marks the gate as reached and waits until it is open.
    pub(super) async fn pass(&self) {
        self.reached.cancel();
        self.opened.cancelled().await;
    }
}
