//! Extension UI of a session without a dedicated front end: clients come and go, and each sees notices and dialogs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use pi_extensions::{
    DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionNotice, ExtensionUi,
};
use serde::Serialize;
use tokio::sync::broadcast;

use super::extension_ui::{ExtensionErrorLine, ExtensionUiMethod, ExtensionUiRequest};

/// Notices that a slow client may be behind.
const CAPACITY: usize = 64;

/// Notices from before the first client that are kept.
const MAX_EARLY: usize = 64;

/// Status lines, widgets and titles that are kept for later clients.
const MAX_SHOWN: usize = 256;

/// Sends the notices of extensions to every connected client; cheap to clone. Dialogs are requests of the session, which
/// any client may answer.
#[derive(Debug, Clone)]
pub struct ClientUi(Arc<ClientUiInner>);

#[derive(Debug)]
struct ClientUiInner {
    notices: broadcast::Sender<String>,
    shown: Mutex<ShownNotices>,
}

#[derive(Debug, Default)]
struct ShownNotices {
    /// What stays on the screen: the line by its kind and key.
    lasting: BTreeMap<(&'static str, String), String>,
    /// Lines from before the first client.
    early: Vec<String>,
}

impl Default for ClientUi {
    fn default() -> Self {
        Self(Arc::new(ClientUiInner {
            notices: broadcast::Sender::new(CAPACITY),
            shown: Mutex::default(),
        }))
    }
}

impl ClientUi {
    /// Returns the lines that a new client shows, and those that follow.
    pub(super) fn subscribe(&self) -> (Vec<String>, broadcast::Receiver<String>) {
        let mut shown = self.shown();
        let mut lines = std::mem::take(&mut shown.early);
        lines.extend(shown.lasting.values().cloned());
        (lines, self.0.notices.subscribe())
    }

    fn shown(&self) -> MutexGuard<'_, ShownNotices> {
        self.0.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, kept: Option<((&'static str, String), bool)>, line: &impl Serialize) {
        let line = match pi_protocol::json::to_string(line) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "cannot serialize extension line");
                return;
            }
        };
        let mut shown = self.shown();
        match kept {
            Some((key, true)) if shown.lasting.len() < MAX_SHOWN => {
                shown.lasting.insert(key, line.clone());
            }
            Some((_, true)) => {}
            Some((key, false)) => {
                shown.lasting.remove(&key);
            }
            None if self.0.notices.receiver_count() == 0 && shown.early.len() < MAX_EARLY => {
                shown.early.push(line.clone());
            }
            None => {}
        }
        // Without a client it is kept above, or it has no effect.
        self.0.notices.send(line).ok();
    }
}

/// Returns the key of a notice that stays on the screen, and whether it is shown or removed.
fn lasting_key(method: &ExtensionUiMethod) -> Option<((&'static str, String), bool)> {
    match method {
        ExtensionUiMethod::SetStatus {
            status_key,
            status_text,
        } => Some((("status", status_key.clone()), status_text.is_some())),
        ExtensionUiMethod::SetWidget {
            widget_key,
            widget_lines,
            ..
        } => Some((("widget", widget_key.clone()), widget_lines.is_some())),
        ExtensionUiMethod::SetTitle { .. } => Some((("title", String::new()), true)),
        _ => None,
    }
}

impl ExtensionUi for ClientUi {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Rpc
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        if let Some(method) = ExtensionUiMethod::of_notice(notice) {
            let kept = lasting_key(&method);
            let id = uuid::Uuid::new_v4().to_string();
            self.send(kept, &ExtensionUiRequest { id, method });
        }
        Box::pin(std::future::ready(()))
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        // Clients see the request of the session, also those that connect later.
        Box::pin(async move {
            match dialog.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
            DialogResponse::Cancelled
        })
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.send(None, &ExtensionErrorLine::from(failure));
        Box::pin(std::future::ready(()))
    }
}
