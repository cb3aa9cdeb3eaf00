//! Reports to extensions whether the user is being prompted: `ui_prompt_start` describes the first
//! open dialog, and `ui_prompt_end` follows when the last one is closed.

use std::sync::{Arc, Weak};

use serde_json::{Value, json};

use super::bridge::{ExtensionBridge, lock};
use super::{ExtensionsInner, hooks};

#[derive(Debug, Default)]
pub(super) struct OpenDialogs {
    count: usize,
    /// The event data of the first one.
    first: Value,
}

/// An open dialog, until dropped.
pub(super) struct DialogGuard {
    shared: Weak<ExtensionsInner>,
}

impl DialogGuard {
    /// Counts a dialog; `None` if there is no user to respond to it.
    pub(super) fn begin(bridge: &ExtensionBridge, kind: &str, title: &str) -> Option<Self> {
        let shared = bridge.shared().ok()?;
        if !bridge.ui.mode().has_ui() {
            return None;
        }
        let mut event = json!({ "reason": "ui_prompt", "kind": kind });
        if let (false, Some(event)) = (title.is_empty(), event.as_object_mut()) {
            event.insert("title".to_owned(), title.into());
        }
        let is_first = {
            let mut open = lock(&bridge.open_dialogs);
            open.count += 1;
            if open.count == 1 {
                open.first = event.clone();
            }
            open.count == 1
        };
        let guard = Self { shared };
        if is_first {
            guard.emit("ui_prompt_start", event);
        }
        Some(guard)
    }

    fn emit(&self, name: &'static str, event: Value) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if shared.bridge.has_handler(name) {
            let extensions = Arc::clone(&shared);
            shared.bridge.begin(async move {
                extensions.emit(hooks::typed(name, event), None).await;
            });
        }
    }

    /// Uncounts the dialog; returns the event data of the first if this was the last.
    fn end(&self) -> Option<Value> {
        let shared = self.shared.upgrade()?;
        let mut open = lock(&shared.bridge.open_dialogs);
        open.count = open.count.saturating_sub(1);
        (open.count == 0).then(|| open.first.take())
    }
}

impl Drop for DialogGuard {
    fn drop(&mut self) {
        if let Some(event) = self.end() {
            self.emit("ui_prompt_end", event);
        }
    }
}
