//! Reports to extensions whether the user is being prompted: `ui_prompt_start` describes the first
//! open dialog, and `ui_prompt_end` follows when the last one is closed.

use std::sync::{Arc, Weak};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_protocol::Answer;
use tokio::sync::watch;

use crate::ExtensionsInner;
use crate::bridge::ExtensionBridge;
use crate::control::ExtensionSession;
use crate::events::{ExtensionEvent, UiPrompt, UiPromptEnd, UiPromptStart};
use crate::front_end::{DialogResponse, ExtensionDialog};

#[derive(Debug, Default)]
pub(crate) struct OpenDialogs {
    count: watch::Sender<usize>,
    first: UiPrompt,
}

impl OpenDialogs {
    /// Watches the number of open dialogs.
    pub(crate) fn subscribe(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Changes the number of open dialogs and returns it.
    fn count(&self, change: impl FnOnce(usize) -> usize) -> usize {
        self.count.send_modify(|count| *count = change(*count));
        *self.count.borrow()
    }
}

impl ExtensionBridge {
    /// Asks the user; any client of the session may answer.
    pub(crate) fn ask_user(
        &self,
        session: &dyn ExtensionSession,
        dialog: ExtensionDialog,
    ) -> BoxFuture<'static, DialogResponse> {
        let (request, ui) = (dialog.to_request(), Arc::clone(&self.ui));
        let show = Box::new(move || ui.show_dialog(dialog).map(Answer::from).boxed());
        session.ask(request, show).map(DialogResponse::from).boxed()
    }
}

/// An open dialog, until dropped.
pub(crate) struct DialogGuard {
    shared: Weak<ExtensionsInner>,
}

impl DialogGuard {
    /// Counts a dialog; `None` if there is no user to respond to it.
    pub(crate) fn begin(bridge: &ExtensionBridge, kind: &'static str, title: &str) -> Option<Self> {
        let shared = bridge.shared().ok()?;
        if !bridge.ui.mode().has_ui() {
            return None;
        }
        let prompt = UiPrompt {
            reason: "ui_prompt",
            kind,
            title: (!title.is_empty()).then(|| title.to_owned()),
        };
        let is_first = {
            let mut open = bridge.open_dialogs.lock();
            let is_first = open.count(|count| count + 1) == 1;
            if is_first {
                open.first = prompt.clone();
            }
            is_first
        };
        if let Some(shared) = shared.upgrade() {
            shared.engine.meter().dialog_opened();
        }
        let guard = Self { shared };
        if is_first {
            guard.emit(UiPromptStart(prompt));
        }
        Some(guard)
    }

    fn emit(&self, event: impl ExtensionEvent + Send + Sync + 'static) {
        if let Some(shared) = self.shared.upgrade() {
            let extensions = Arc::clone(&shared);
            shared.bridge.begin(async move {
                extensions.emit(None, || event).await;
            });
        }
    }

    /// Uncounts the dialog; returns the first one if this was the last.
    fn end(&self) -> Option<UiPrompt> {
        let shared = self.shared.upgrade()?;
        shared.engine.meter().dialog_closed();
        let mut open = shared.bridge.open_dialogs.lock();
        let count = open.count(|count| count.saturating_sub(1));
        (count == 0).then(|| std::mem::take(&mut open.first))
    }
}

impl Drop for DialogGuard {
    fn drop(&mut self) {
        if let Some(prompt) = self.end() {
            self.emit(UiPromptEnd(prompt));
        }
    }
}
