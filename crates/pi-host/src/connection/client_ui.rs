//! Extension UI of a session without a dedicated front end: clients come and go, and each sees notices and dialogs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_extensions::{
    ClientScreen, DialogResponse, ExtensionDialog, ExtensionErrorLine, ExtensionFailure,
    ExtensionMode, ExtensionNotice, ExtensionUi, ExtensionUiMethod, ExtensionUiRequest, ThemeData,
};
use pi_protocol::settings::Settings;
use serde::Serialize;
use tokio::sync::broadcast;

/// Notices that a slow client may be behind.
const CAPACITY: usize = 64;

/// Notices from before the first client that are kept.
const MAX_EARLY: usize = 64;

/// Status lines, widgets and titles that are kept for later clients.
const MAX_SHOWN: usize = 256;

/// Sends the notices of extensions to every connected client; cheap to clone. Dialogs are requests of the session, which
/// any client may answer.
#[derive(Clone)]
pub struct ClientUi(Arc<ClientUiInner>);

struct ClientUiInner {
    notices: broadcast::Sender<String>,
    screen: Option<Box<dyn ClientScreen>>,
    shown: Mutex<ShownNotices>,
    /// Whether lines from before the first client are kept.
    keeps_early: bool,
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
        Self::new(None, true)
    }
}

impl std::fmt::Debug for ClientUi {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ClientUi")
    }
}

impl ClientUi {
    /// Creates one whose clients may also show components of extensions.
    pub fn with_screen(screen: Box<dyn ClientScreen>) -> Self {
        Self::new(Some(screen), true)
    }

    /// Creates one for the clients of a session that has its own front end, which shows what no client sees.
    pub fn mirror() -> Self {
        Self::new(None, false)
    }

    fn new(screen: Option<Box<dyn ClientScreen>>, keeps_early: bool) -> Self {
        Self(Arc::new(ClientUiInner {
            notices: broadcast::Sender::new(CAPACITY),
            screen,
            shown: Mutex::default(),
            keeps_early,
        }))
    }

    /// Returns the lines that a new client shows, and those that follow.
    pub(super) fn subscribe(&self) -> (Vec<String>, broadcast::Receiver<String>) {
        let mut shown = self.shown();
        let mut lines = std::mem::take(&mut shown.early);
        lines.extend(shown.lasting.values().cloned());
        (lines, self.0.notices.subscribe())
    }

    fn shown(&self) -> MutexGuard<'_, ShownNotices> {
        self.0.shown.lock()
    }

    /// Whether a line has to be kept for the first client.
    fn keeps(&self, shown: &ShownNotices) -> bool {
        self.0.keeps_early && self.0.notices.receiver_count() == 0 && shown.early.len() < MAX_EARLY
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
            Some((key, false)) => {
                shown.lasting.remove(&key);
            }
            None if self.keeps(&shown) => {
                shown.early.push(line.clone());
            }
            Some((_, true)) | None => {}
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

    fn client_screen(&self) -> Option<&dyn ClientScreen> {
        self.0.screen.as_deref()
    }

    fn reports_missing_screen(&self) -> bool {
        self.0.screen.is_some()
    }

    fn theme(&self, settings: &Settings, agent_dir: &Path) -> Option<ThemeData> {
        let screen = self.0.screen.as_ref()?;
        screen.opened()?;
        Some(screen.theme(settings, agent_dir))
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        if let Some(screen) = &self.0.screen {
            screen.observe(&notice);
        }
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
