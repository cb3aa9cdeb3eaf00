//! Events from extensions to the application.

use std::collections::VecDeque;

use pi_host::{
    ComponentId, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionNotice,
    ExtensionRenderError, RenderedComponent, RenderedToolCall, ScreenChange,
};
use pi_tui::InputEvent;
use tokio::sync::oneshot;

use super::ExtensionUiBridge;

/// Maximum number of queued notices; further ones are dropped until the queue is drained.
const MAX_EVENTS: usize = 4_096;

/// Identifies a dialog of an extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DialogId(u64);

impl DialogId {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The outcome of drawing something.
#[derive(Debug)]
pub(crate) enum DrawOutcome {
    Component(Result<RenderedComponent, ExtensionRenderError>),
    /// A tool call in the transcript.
    Call(Result<RenderedToolCall, ExtensionRenderError>),
    /// A message or entry in the transcript; `None` for the default style.
    Custom(Result<Option<Vec<String>>, ExtensionRenderError>),
    /// Transformed texts.
    Texts(Result<Vec<String>, ExtensionRenderError>),
}

/// Something the application must handle.
#[derive(Debug)]
pub(crate) enum ExtensionEvent {
    /// Extensions were loaded or unloaded; what the previous ones showed is gone.
    Connected,
    Notice(ExtensionNotice),
    DialogRequested {
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogResponse>,
    },
    /// The dialog's answer is no longer needed.
    Withdrawn(DialogId),
    Failed(ExtensionFailure),
    Changed(ScreenChange),
    Drawn {
        id: ComponentId,
        width: usize,
        outcome: DrawOutcome,
    },
    /// An extension selected a theme.
    ThemeSelected(String),
    /// Input that extensions have seen and left unchanged.
    Typed(InputEvent),
    /// Input that extensions have replaced.
    TypedInstead(String),
    /// An extension requests to quit.
    ShutDown,
}

#[derive(Default)]
pub(super) struct ExtensionEventQueue {
    waiting: VecDeque<ExtensionEvent>,
    dropped: bool,
}

impl ExtensionEventQueue {
    pub(super) fn push(&mut self, event: ExtensionEvent) {
        let is_notice = matches!(
            event,
            ExtensionEvent::Notice(_)
                | ExtensionEvent::Failed(_)
                | ExtensionEvent::Changed(ScreenChange::Write { .. })
        );
        if is_notice && self.waiting.len() >= MAX_EVENTS {
            if !std::mem::replace(&mut self.dropped, true) {
                tracing::warn!("too many extension notices; dropping the rest");
            }
            return;
        }
        self.waiting.push_back(event);
    }

    pub(super) fn take(&mut self) -> Vec<ExtensionEvent> {
        self.dropped = false;
        self.waiting.drain(..).collect()
    }
}

/// Withdraws the dialog on drop, unless it has been answered.
pub(super) struct PendingDialog {
    bridge: ExtensionUiBridge,
    id: DialogId,
    is_answered: bool,
}

impl PendingDialog {
    pub(super) fn new(bridge: ExtensionUiBridge, id: DialogId) -> Self {
        Self {
            bridge,
            id,
            is_answered: false,
        }
    }

    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for PendingDialog {
    fn drop(&mut self) {
        if !self.is_answered {
            self.bridge.0.emit(ExtensionEvent::Withdrawn(self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_limited_and_changes_are_not() {
        let mut queue = ExtensionEventQueue::default();
        for _ in 0..MAX_EVENTS + 10 {
            let notice = ExtensionNotice::Title {
                title: String::new(),
            };
            queue.push(ExtensionEvent::Notice(notice));
        }
        queue.push(ExtensionEvent::Changed(ScreenChange::Unmount { id: 1 }));
        assert_eq!(queue.take().len(), MAX_EVENTS + 1);
        assert!(queue.take().is_empty());
    }
}
