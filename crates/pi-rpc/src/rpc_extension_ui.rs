//! Extension UI in RPC mode: notices and dialogs of extensions are sent to the client as lines.
//!
//! It is created before a client is attached, since extensions load before the server starts; lines
//! are buffered until then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_host::{
    ClientScreen, DialogReply, DialogResponse, ExtensionDialog, ExtensionErrorLine,
    ExtensionFailure, ExtensionMode, ExtensionNotice, ExtensionUi, ExtensionUiMethod,
    ExtensionUiRequest, ExtensionUiResponse, LineSink,
};
use pi_protocol::ClientHello;
use tokio_util::sync::CancellationToken;

use crate::pending_dialogs::PendingDialogs;

/// Sends notices and dialogs of extensions to the client; cheap to clone.
#[derive(Clone, Default)]
pub struct RpcExtensionUi(Arc<ExtensionUiInner>);

#[derive(Default)]
struct ExtensionUiInner {
    screen: Option<Box<dyn ClientScreen>>,
    /// Whether the client has introduced itself. One of the TypeScript pi does not, and knows no screens.
    is_greeted: AtomicBool,
    /// Whether the client receives the lines of the screen.
    is_fed: AtomicBool,
    sink: OnceLock<LineSink>,
    buffered: Mutex<Vec<String>>,
    dialogs: PendingDialogs,
    shutdown: CancellationToken,
}

impl std::fmt::Debug for RpcExtensionUi {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("RpcExtensionUi")
    }
}

impl RpcExtensionUi {
    /// Creates one whose client may also show components of extensions.
    pub fn with_screen(screen: Box<dyn ClientScreen>) -> Self {
        Self(Arc::new(ExtensionUiInner {
            screen: Some(screen),
            ..ExtensionUiInner::default()
        }))
    }

    /// Applies what the client has introduced itself with.
    pub(crate) fn greet(&self, hello: &ClientHello) {
        self.0.is_greeted.store(true, Ordering::Relaxed);
        let (Some(size), Some(screen), Some(sink)) =
            (hello.screen, &self.0.screen, self.0.sink.get())
        else {
            return;
        };
        if self.0.is_fed.swap(true, Ordering::Relaxed) {
            return screen.resize(size);
        }
        let mut lines = screen.open(size);
        let sink = sink.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    line = lines.next() => if sink.send(line).await.is_err() {
                        return;
                    },
                    () = sink.closed() => return,
                }
            }
        });
    }

    /// Attaches the client: sends it the buffered lines and all following ones.
    pub(crate) async fn attach(&self, sink: LineSink) {
        let buffered = {
            let mut buffered = self.0.buffered.lock();
            // Attached once; a second client would have its own runtime.
            self.0.sink.set(sink.clone()).ok();
            std::mem::take(&mut *buffered)
        };
        for line in buffered {
            if sink.send(line).await.is_err() {
                return;
            }
        }
    }

    /// Passes a client's reply to the waiting dialog.
    pub(crate) fn reply(&self, response: ExtensionUiResponse) {
        self.0.dialogs.reply(response);
    }

    /// Waits until an extension requests shutdown.
    pub(crate) async fn shutdown_requested(&self) {
        self.0.shutdown.cancelled().await;
    }

    fn send(&self, line: serde_json::Result<String>) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    tracing::error!(%error, "cannot serialize extension line");
                    return;
                }
            };
            let sink = {
                let mut buffered = shared.buffered.lock();
                match shared.sink.get() {
                    Some(sink) => sink.clone(),
                    None => return buffered.push(line),
                }
            };
            if let Err(error) = sink.send(line).await {
                tracing::debug!(%error, "extension line dropped: output is closed");
            }
        })
    }

    fn request(&self, id: String, method: ExtensionUiMethod) -> BoxFuture<'static, ()> {
        self.send(pi_protocol::json::to_string(&ExtensionUiRequest {
            id,
            method,
        }))
    }
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl ExtensionUi for RpcExtensionUi {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Rpc
    }

    fn client_screen(&self) -> Option<&dyn ClientScreen> {
        self.0.screen.as_deref()
    }

    fn reports_missing_screen(&self) -> bool {
        self.0.screen.is_some() && self.0.is_greeted.load(Ordering::Relaxed)
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        if let Some(screen) = &self.0.screen {
            screen.observe(&notice);
        }
        match ExtensionUiMethod::of_notice(notice) {
            Some(method) => self.request(new_id(), method),
            None => Box::pin(std::future::ready(())),
        }
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        let (timeout, milliseconds) = (dialog.timeout, dialog.timeout_milliseconds());
        let method = ExtensionUiMethod::of_dialog(dialog.prompt, milliseconds);
        let sending = self.request(dialog.id.clone(), method);
        let waiting = self.0.dialogs.open(dialog.id);
        Box::pin(async move {
            sending.await;
            let reply = match timeout {
                Some(timeout) => tokio::time::timeout(timeout, waiting.reply())
                    .await
                    .unwrap_or(DialogReply::Cancelled),
                None => waiting.reply().await,
            };
            match reply {
                DialogReply::Value(text) => DialogResponse::Text(text),
                DialogReply::Confirmed(confirmed) => DialogResponse::Confirmed(confirmed),
                DialogReply::Cancelled => DialogResponse::Cancelled,
            }
        })
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.send(pi_protocol::json::to_string(&ExtensionErrorLine::from(
            failure,
        )))
    }

    fn request_shutdown(&self) {
        self.0.shutdown.cancel();
    }
}
