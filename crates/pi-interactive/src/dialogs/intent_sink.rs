//! What a dialog has to say: intents, and that it is over.

use crate::intent::Intent;

/// Collects what a pane wants while it handles an event.
#[derive(Debug, Default)]
pub(crate) struct IntentSink {
    intents: Vec<Intent>,
    closed: bool,
}

impl IntentSink {
    /// Asks for something; the dialog stays.
    pub(super) fn send(&mut self, intent: Intent) {
        self.intents.push(intent);
    }

    /// Ends the dialog.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Asks for something and ends the dialog.
    pub(super) fn finish(&mut self, intent: Intent) {
        self.send(intent);
        self.close();
    }

    /// Returns whether the dialog is over.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns what was asked for since the last call.
    pub(super) fn take(&mut self) -> Vec<Intent> {
        std::mem::take(&mut self.intents)
    }
}
