//! The dialogs of extensions that wait for the reply of the client.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_host::{DialogReply, ExtensionUiResponse};
use tokio::sync::oneshot;

/// The dialogs waiting for a reply; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PendingDialogs(Arc<Mutex<HashMap<String, oneshot::Sender<DialogReply>>>>);

impl PendingDialogs {
    /// Registers a dialog. Dropping the result stops waiting.
    pub fn open(&self, id: impl Into<String>) -> PendingDialog {
        let id = id.into();
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(id.clone(), sender);
        PendingDialog {
            id,
            receiver,
            dialogs: self.clone(),
        }
    }

    /// Passes a reply to the waiting dialog, if there is one.
    pub fn reply(&self, response: ExtensionUiResponse) {
        if let Some(dialog) = self.waiting().remove(&response.id) {
            // The dialog may have been dropped since.
            dialog.send(response.reply).ok();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<DialogReply>>> {
        self.0.lock()
    }
}

/// A dialog waiting for its reply.
#[derive(Debug)]
pub struct PendingDialog {
    id: String,
    receiver: oneshot::Receiver<DialogReply>,
    dialogs: PendingDialogs,
}

impl PendingDialog {
    /// Waits for the reply; resolves to canceled if no reply can arrive anymore.
    pub async fn reply(mut self) -> DialogReply {
        (&mut self.receiver).await.unwrap_or(DialogReply::Cancelled)
    }
}

impl Drop for PendingDialog {
    fn drop(&mut self) {
        self.dialogs.waiting().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn a_reply_reaches_the_pending_dialog() {
        let dialogs = PendingDialogs::default();
        let (first, second) = (dialogs.open("1"), dialogs.open("2"));
        for (id, value) in [("2", "two"), ("3", "none"), ("1", "one"), ("1", "again")] {
            dialogs.reply(ExtensionUiResponse {
                id: id.to_owned(),
                reply: DialogReply::Value(value.to_owned()),
            });
        }
        assert_eq!(first.reply().await, DialogReply::Value("one".to_owned()));
        assert_eq!(second.reply().await, DialogReply::Value("two".to_owned()));
        drop(dialogs.open("4"));
        assert!(dialogs.waiting().is_empty());
    }
}
