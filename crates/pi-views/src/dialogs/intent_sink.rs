//! Collects the intents of a dialog, and whether it is done.

use crate::dialogs::intent::Intent;

/// Passed to a body while it handles an event.
#[derive(Debug, Default)]
pub(crate) struct IntentSink {
    intents: Vec<Intent>,
    closed: bool,
}

impl IntentSink {
    /// Requests something; the dialog stays open.
    pub(super) fn send(&mut self, intent: Intent) {
        self.intents.push(intent);
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Requests something and closes the dialog.
    pub(super) fn finish(&mut self, intent: Intent) {
        self.send(intent);
        self.close();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes the intents since the last call.
    pub(super) fn take(&mut self) -> Vec<Intent> {
        std::mem::take(&mut self.intents)
    }
}
