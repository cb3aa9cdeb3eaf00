//! What waits for the user, as far as extensions hear of it: where several dialogs are open, the first one is told,
//! and its end when the last is closed.

use std::sync::{Arc, Weak};

use serde_json::{Value, json};

use super::bridge::{ExtensionBridge, lock};
use super::{ExtensionsInner, hooks};

/// The dialogs that are open.
#[derive(Debug, Default)]
pub(super) struct OpenDialogs {
    count: usize,
    /// What was told of the first.
    first: Value,
}

/// A dialog that waits for the user, until it is dropped.
pub(super) struct DialogGuard {
    shared: Weak<ExtensionsInner>,
}

impl DialogGuard {
    /// Counts a dialog; none where nobody can answer it.
    pub(super) fn begin(bridge: &ExtensionBridge, kind: &str, title: &str) -> Option<Self> {
        let shared = bridge.shared().ok()?;
        if !bridge.ui.mode().has_ui() {
            return None;
        }
        let mut host_error = json!({ "reason": "ui_prompt", "kind": kind });
        if let (false, Some(host_error)) = (title.is_empty(), host_error.as_object_mut()) {
            host_error.insert("title".to_owned(), title.into());
        }
        let is_first = {
            let mut open = lock(&bridge.open_dialogs);
            open.count += 1;
            if open.count == 1 {
                open.first = host_error.clone();
            }
            open.count == 1
        };
        let waiting = Self { shared };
        if is_first {
            waiting.tell("ui_prompt_start", host_error);
        }
        Some(waiting)
    }

    fn tell(&self, name: &'static str, host_error: Value) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if shared.bridge.has_handler(name) {
            let telling = Arc::clone(&shared);
            shared.bridge.begin(async move {
                telling.emit(hooks::typed(name, host_error), None).await;
            });
        }
    }

    /// Counts the dialog no more; returns what was told of the first when it was the last.
    fn end(&self) -> Option<Value> {
        let shared = self.shared.upgrade()?;
        let mut open = lock(&shared.bridge.open_dialogs);
        open.count = open.count.saturating_sub(1);
        (open.count == 0).then(|| open.first.take())
    }
}

impl Drop for DialogGuard {
    fn drop(&mut self) {
        if let Some(host_error) = self.end() {
            self.tell("ui_prompt_end", host_error);
        }
    }
}
