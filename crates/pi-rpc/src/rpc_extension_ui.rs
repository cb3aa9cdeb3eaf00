//! The front end of extensions in RPC mode: what they show and ask goes to the client as lines.
//!
//! It exists before there is a client, since extensions load before the serving begins: lines wait until then.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use pi_runtime::{
    DialogResponse, DialogPrompt, ExtensionDialog, ExtensionFailure, ExtensionMode,
    ExtensionNotice, ExtensionUi,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::extension_ui::{
    DialogReply, PendingDialogs, ExtensionUiMethod, ExtensionUiRequest, ExtensionUiResponse,
};
use crate::line_sink::LineSink;

/// Carries what extensions show and ask; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RpcExtensionUi(Arc<ExtensionUiInner>);

#[derive(Debug, Default)]
struct ExtensionUiInner {
    sink: OnceLock<LineSink>,
    early: Mutex<Vec<String>>,
    dialogs: PendingDialogs,
    shutdown: CancellationToken,
}

/// A failure in an extension, as clients know it.
#[derive(Serialize)]
#[serde(tag = "type", rename = "extension_error", rename_all = "camelCase")]
struct ExtensionErrorLine {
    extension_path: String,
    event: String,
    error: String,
}

impl RpcExtensionUi {
    /// Sends the lines that waited, and all others, to a client.
    pub(crate) async fn attach(&self, sink: LineSink) {
        let early = {
            let mut early = self.0.early.lock().unwrap_or_else(PoisonError::into_inner);
            // Attached once; a second client would have a runtime of its own.
            self.0.sink.set(sink.clone()).ok();
            std::mem::take(&mut *early)
        };
        for line in early {
            if sink.send(line).await.is_err() {
                return;
            }
        }
    }

    /// Hands a client's reply to the dialog that waits for it.
    pub(crate) fn reply(&self, response: ExtensionUiResponse) {
        self.0.dialogs.reply(response);
    }

    /// Waits until an extension wants the program to end.
    pub(crate) async fn shutdown_requested(&self) {
        self.0.shutdown.cancelled().await;
    }

    fn send(&self, line: serde_json::Result<String>) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    tracing::error!(%error, "a line of an extension cannot be spelled");
                    return;
                }
            };
            let sink = {
                let mut early = shared.early.lock().unwrap_or_else(PoisonError::into_inner);
                match shared.sink.get() {
                    Some(sink) => sink.clone(),
                    None => return early.push(line),
                }
            };
            if let Err(error) = sink.send(line).await {
                tracing::debug!(%error, "a line of an extension has no reader");
            }
        })
    }

    fn request(&self, id: String, method: ExtensionUiMethod) -> BoxFuture<'static, ()> {
        self.send(pi_ai::json::to_string(&ExtensionUiRequest { id, method }))
    }
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl ExtensionUi for RpcExtensionUi {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Rpc
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        match method_of(notice) {
            Some(method) => self.request(new_id(), method),
            None => Box::pin(std::future::ready(())),
        }
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        let id = new_id();
        let timeout = dialog.timeout;
        let milliseconds =
            timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let asking = self.request(id.clone(), dialog_method(dialog.prompt, milliseconds));
        let waiting = self.0.dialogs.open(id);
        Box::pin(async move {
            asking.await;
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
        self.send(pi_ai::json::to_string(&ExtensionErrorLine {
            extension_path: failure.extension.unwrap_or_default(),
            event: failure.event,
            error: failure.error,
        }))
    }

    fn request_shutdown(&self) {
        self.0.shutdown.cancel();
    }
}

/// Returns how a notice is told; some have no meaning without a terminal.
fn method_of(notice: ExtensionNotice) -> Option<ExtensionUiMethod> {
    Some(match notice {
        ExtensionNotice::Notify {
            message,
            notify_type,
        } => ExtensionUiMethod::Notify {
            message,
            notify_type,
        },
        ExtensionNotice::Status { key, text } => ExtensionUiMethod::SetStatus {
            status_key: key,
            status_text: text,
        },
        ExtensionNotice::Widget {
            key,
            lines,
            placement,
        } => ExtensionUiMethod::SetWidget {
            widget_key: key,
            widget_lines: lines,
            widget_placement: placement,
        },
        ExtensionNotice::Title { title } => ExtensionUiMethod::SetTitle { title },
        ExtensionNotice::EditorText { text } | ExtensionNotice::EditorPaste { text } => {
            ExtensionUiMethod::SetEditorText { text }
        }
        _ => return None,
    })
}

fn dialog_method(question: DialogPrompt, timeout: Option<u64>) -> ExtensionUiMethod {
    match question {
        DialogPrompt::Select { title, options } => ExtensionUiMethod::Select {
            title,
            options,
            timeout,
        },
        DialogPrompt::Confirm { title, message } => ExtensionUiMethod::Confirm {
            title,
            message,
            timeout,
        },
        DialogPrompt::Input { title, placeholder } => ExtensionUiMethod::Input {
            title,
            placeholder,
            timeout,
        },
        DialogPrompt::Editor { title, prefill } => ExtensionUiMethod::Editor { title, prefill },
    }
}
