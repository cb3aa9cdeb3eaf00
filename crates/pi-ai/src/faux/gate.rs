//! A gate in a scripted answer, so that tests decide what happens first instead of sleeping.

use tokio_util::sync::CancellationToken;

/// A gate that an answer waits at until the test opens it. Clones are the same gate.
///
/// A stream plays its answer only while it is polled: await [`FauxGate::reached`] in another task, or
/// beside the stream.
#[derive(Debug, Clone, Default)]
pub struct FauxGate {
    reached: CancellationToken,
    opened: CancellationToken,
}

impl FauxGate {
    /// Creates a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.opened.cancel();
    }

    /// Waits until an answer has arrived at the gate.
    pub async fn reached(&self) {
        self.reached.cancelled().await;
    }

    /// Returns whether an answer has arrived at the gate.
    pub fn is_reached(&self) -> bool {
        self.reached.is_cancelled()
    }

    /// Arrives at the gate and waits until it is open.
    pub(super) async fn pass(&self) {
        self.reached.cancel();
        self.opened.cancelled().await;
    }
}
