//! Reports to extensions whether the user is being prompted: `ui_prompt_start` describes the first
//! open dialog, and `ui_prompt_end` follows when the last one is closed.

use std::sync::{Arc, Weak};

use crate::ExtensionsInner;
use crate::bridge::{ExtensionBridge, lock};
use crate::events::{ExtensionEvent, UiPrompt, UiPromptEnd, UiPromptStart};

#[derive(Debug, Default)]
pub(crate) struct OpenDialogs {
    count: usize,
    first: UiPrompt,
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
            let mut open = lock(&bridge.open_dialogs);
            open.count += 1;
            if open.count == 1 {
                open.first = prompt.clone();
            }
            open.count == 1
        };
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
        let mut open = lock(&shared.bridge.open_dialogs);
        open.count = open.count.saturating_sub(1);
        (open.count == 0).then(|| std::mem::take(&mut open.first))
    }
}

impl Drop for DialogGuard {
    fn drop(&mut self) {
        if let Some(prompt) = self.end() {
            self.emit(UiPromptEnd(prompt));
        }
    }
}
