//! What extensions want, on its way to the application.

use std::collections::VecDeque;

use pi_runtime::{
    ComponentId, DialogAnswer, DrawError, Drawn, DrawnCall, ExtensionDialog, ExtensionFailure,
    ExtensionNotice, ScreenChange,
};
use pi_tui::InputEvent;
use tokio::sync::oneshot;

use super::ExtensionUiBridge;

/// News kept at most; an extension that says more in one breath is not heard any more.
const MAX_EVENTS: usize = 4_096;

/// Names a dialog of an extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DialogId(u64);

impl DialogId {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The lines of something an extension draws.
#[derive(Debug)]
pub(crate) enum DrawOutcome {
    Component(Result<Drawn, DrawError>),
    /// A call of a tool in the transcript.
    Call(Result<DrawnCall, DrawError>),
    /// A message or an entry in the transcript; nothing where it is shown as usual.
    Custom(Result<Option<Vec<String>>, DrawError>),
    /// Texts as extensions want them shown.
    TextTransform(Result<Vec<String>, DrawError>),
}

/// Something the application must see to.
#[derive(Debug)]
pub(crate) enum ExtensionEvent {
    /// Other extensions are at work, or none; what the ones before showed is gone.
    Connected,
    /// An extension shows something.
    Notice(ExtensionNotice),
    /// An extension asks something.
    DialogRequested {
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogAnswer>,
    },
    /// An extension needs no answer any more.
    Withdrawn(DialogId),
    Failed(ExtensionFailure),
    /// An extension changes the screen.
    Changed(ScreenChange),
    Drawn {
        id: ComponentId,
        width: usize,
        extension_rendering: DrawOutcome,
    },
    /// An extension puts a theme into use.
    ThemeWanted(String),
    /// Something typed goes on after extensions have seen it.
    Typed(InputEvent),
    /// Extensions put something in the place of what was typed.
    TypedInstead(String),
    /// An extension wants the program to end.
    ShutDown,
}

/// News in their order.
#[derive(Default)]
pub(super) struct ExtensionEventQueue {
    waiting: VecDeque<ExtensionEvent>,
    dropped: bool,
}

impl ExtensionEventQueue {
    pub(super) fn push(&mut self, events: ExtensionEvent) {
        let is_talk = matches!(
            events,
            ExtensionEvent::Notice(_)
                | ExtensionEvent::Failed(_)
                | ExtensionEvent::Changed(ScreenChange::Write { .. })
        );
        if is_talk && self.waiting.len() >= MAX_EVENTS {
            if !std::mem::replace(&mut self.dropped, true) {
                tracing::warn!("an extension says more than can be shown; the rest is left out");
            }
            return;
        }
        self.waiting.push_back(events);
    }

    pub(super) fn take(&mut self) -> Vec<ExtensionEvent> {
        self.dropped = false;
        self.waiting.drain(..).collect()
    }
}

/// A question that is withdrawn when nobody waits for its answer.
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
            self.bridge.emit(ExtensionEvent::Withdrawn(self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_is_limited_and_changes_are_not() {
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
