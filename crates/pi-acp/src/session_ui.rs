//! Notices and dialogs of extensions, for one session.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_host::{
    DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionNotice, ExtensionUi,
};

use crate::feed::Feed;
use crate::modes::PLAN;
use crate::permissions;

/// Notices that are kept until the client knows the session.
const MAX_WAITING: usize = 64;

/// Exists before its session, because extensions load first. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct SessionUi(Arc<Mutex<UiState>>);

#[derive(Default)]
struct UiState {
    /// Set once the client knows the session.
    feed: Option<Arc<Feed>>,
    /// Severities and messages of notices from before.
    waiting: Vec<(String, String)>,
    is_disconnected: bool,
}

impl SessionUi {
    fn state(&self) -> MutexGuard<'_, UiState> {
        self.0.lock()
    }

    /// Connects the client, and sends it what has waited.
    pub(crate) async fn connect(&self, feed: Arc<Feed>) {
        let waiting = {
            let mut state = self.state();
            if state.is_disconnected {
                return;
            }
            state.feed = Some(Arc::clone(&feed));
            std::mem::take(&mut state.waiting)
        };
        for (severity, message) in waiting {
            feed.notice(&severity, &message).await;
        }
    }

    /// Disconnects the client for good, which releases the session.
    pub(crate) fn disconnect(&self) {
        let feed = {
            let mut state = self.state();
            state.is_disconnected = true;
            state.feed.take()
        };
        drop(feed);
    }

    pub(crate) fn send(&self, severity: &str, message: String) -> BoxFuture<'static, ()> {
        let (ui, severity) = (self.clone(), severity.to_owned());
        Box::pin(async move {
            let feed = {
                let mut state = ui.state();
                let feed = state.feed.clone();
                if feed.is_none() && state.waiting.len() < MAX_WAITING {
                    state.waiting.push((severity.clone(), message.clone()));
                }
                feed
            };
            if let Some(feed) = feed {
                feed.notice(&severity, &message).await;
            }
        })
    }
}

impl ExtensionUi for SessionUi {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Rpc
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        match notice {
            ExtensionNotice::Notify {
                message,
                notify_type,
            } => self.send(notify_type.as_deref().unwrap_or("info"), message),
            ExtensionNotice::Status { key, text } if key == PLAN => {
                let feed = self.state().feed.clone();
                Box::pin(async move {
                    if let Some(feed) = feed {
                        feed.set_planning(text.is_some()).await;
                    }
                })
            }
            // Other status lines, widgets and titles belong to a terminal.
            _ => Box::pin(std::future::ready(())),
        }
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        let feed = self.state().feed.clone();
        Box::pin(async move {
            // The client does not know the session yet.
            let Some(feed) = feed else {
                return DialogResponse::Cancelled;
            };
            let (withdrawn, timeout) = (feed.dialogs(), dialog.timeout);
            let shown = permissions::show_dialog(&feed, dialog);
            let shown = async {
                let shown = withdrawn.run_until_cancelled(shown).await;
                shown.unwrap_or(DialogResponse::Cancelled)
            };
            match timeout {
                Some(timeout) => {
                    let shown = tokio::time::timeout(timeout, shown).await;
                    shown.unwrap_or(DialogResponse::Cancelled)
                }
                None => shown.await,
            }
        })
    }

    fn asks_for_text(&self) -> bool {
        self.state()
            .feed
            .as_ref()
            .is_some_and(|feed| feed.client.forms)
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let extension = failure.extension.as_deref().unwrap_or("an extension");
        let message = format!("{extension}: {}: {}", failure.event, failure.error);
        self.send("error", message)
    }
}
