//! What extensions want, on its way to the application.

use std::collections::VecDeque;

use pi_runtime::{
    ComponentId, DialogResponse, ExtensionRenderError, RenderedComponent, RenderedToolCall, ExtensionDialog, ExtensionFailure,
    ExtensionNotice, ScreenChange,
};
use pi_tui::InputEvent;
use tokio::sync::oneshot;

use super::ExtensionDesk;

/// News kept at most; an extension that says more in one breath is not heard any more.
const MOST: usize = 4_096;

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
pub(crate) enum Drawing {
    Component(Result<RenderedComponent, ExtensionRenderError>),
    /// A call of a tool in the transcript.
    Call(Result<RenderedToolCall, ExtensionRenderError>),
    /// A message or an entry in the transcript; nothing where it is shown as usual.
    Custom(Result<Option<Vec<String>>, ExtensionRenderError>),
    /// Texts as extensions want them shown.
    Wording(Result<Vec<String>, ExtensionRenderError>),
}

/// Something the application must see to.
#[derive(Debug)]
pub(crate) enum News {
    /// Other extensions are at work, or none; what the ones before showed is gone.
    Connected,
    /// An extension shows something.
    Notice(ExtensionNotice),
    /// An extension asks something.
    Asked {
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogResponse>,
    },
    /// An extension needs no answer any more.
    Withdrawn(DialogId),
    Failed(ExtensionFailure),
    /// An extension changes the screen.
    Changed(ScreenChange),
    Drawn {
        id: ComponentId,
        width: usize,
        drawing: Drawing,
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
pub(super) struct NewsQueue {
    waiting: VecDeque<News>,
    dropped: bool,
}

impl NewsQueue {
    pub(super) fn push(&mut self, news: News) {
        let is_talk = matches!(
            news,
            News::Notice(_) | News::Failed(_) | News::Changed(ScreenChange::Write { .. })
        );
        if is_talk && self.waiting.len() >= MOST {
            if !std::mem::replace(&mut self.dropped, true) {
                tracing::warn!("an extension says more than can be shown; the rest is left out");
            }
            return;
        }
        self.waiting.push_back(news);
    }

    pub(super) fn take(&mut self) -> Vec<News> {
        self.dropped = false;
        self.waiting.drain(..).collect()
    }
}

/// A question that is withdrawn when nobody waits for its answer.
pub(super) struct Asking {
    desk: ExtensionDesk,
    id: DialogId,
    is_answered: bool,
}

impl Asking {
    pub(super) fn new(desk: ExtensionDesk, id: DialogId) -> Self {
        Self {
            desk,
            id,
            is_answered: false,
        }
    }

    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_answered {
            self.desk.tell_news(News::Withdrawn(self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_is_limited_and_changes_are_not() {
        let mut queue = NewsQueue::default();
        for _ in 0..MOST + 10 {
            let notice = ExtensionNotice::Title {
                title: String::new(),
            };
            queue.push(News::Notice(notice));
        }
        queue.push(News::Changed(ScreenChange::Unmount { id: 1 }));
        assert_eq!(queue.take().len(), MOST + 1);
        assert!(queue.take().is_empty());
    }
}
