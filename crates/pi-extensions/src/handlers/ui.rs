//! Handles dialogs and notices.

use std::time::Duration;

use pi_ext::HostError;
use serde_json::Value;

use super::Caller;
use crate::calls::{Pending, UiCalls};
use crate::front_end::{DialogPrompt, DialogResponse, ExtensionDialog, ExtensionNotice};
use crate::open_dialogs::DialogGuard;

impl UiCalls for Caller<'_> {
    fn notify(&self, notice: ExtensionNotice) -> Result<(), HostError> {
        self.bridge.begin(self.bridge.ui.notify(notice));
        Ok(())
    }

    fn editor_text(&self) -> Result<String, HostError> {
        Ok(self.bridge.ui.editor_text())
    }

    fn show_dialog(
        &self,
        timeout: Option<f64>,
        prompt: DialogPrompt,
    ) -> Result<Pending<Value>, HostError> {
        let timeout = timeout
            .filter(|milliseconds| *milliseconds > 0.0)
            .and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
        let (kind, title) = kind_and_title(&prompt);
        let guard = DialogGuard::begin(self.bridge, kind, title);
        let dialog = ExtensionDialog {
            id: uuid::Uuid::new_v4().to_string(),
            prompt,
            timeout,
        };
        let response = match self.bridge.session() {
            Ok(session) if guard.is_some() => self.bridge.ask_user(&*session, dialog),
            // Without a session or a user, no other client can answer.
            _ => self.bridge.ui.show_dialog(dialog),
        };
        // Not spawned on the runtime: dropping this future closes the dialog.
        Ok(Pending::new(async move {
            let _guard = guard;
            Ok(match response.await {
                DialogResponse::Text(text) => text.into(),
                DialogResponse::Confirmed(confirmed) => confirmed.into(),
                DialogResponse::Cancelled => Value::Null,
            })
        }))
    }

    fn hold_dialog(&self) -> Result<Pending<()>, HostError> {
        let guard = DialogGuard::begin(self.bridge, "custom", "");
        Ok(Pending::new(async move {
            let _guard = guard;
            std::future::pending().await
        }))
    }
}

fn kind_and_title(prompt: &DialogPrompt) -> (&'static str, &str) {
    match prompt {
        DialogPrompt::Select { title, .. } => ("select", title),
        DialogPrompt::Confirm { title, .. } => ("confirm", title),
        DialogPrompt::Input { title, .. } => ("input", title),
        DialogPrompt::Editor { title, .. } => ("editor", title),
    }
}
