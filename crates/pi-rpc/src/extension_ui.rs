//! Protocol types for dialogs and notices of extensions.
//!
//! A request is sent as a line. Dialogs wait for a reply with the same ID, notices do not. A reply
//! that matches no pending dialog is ignored and gets no response.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pi_protocol::json::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

/// A notice or dialog of an extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "extension_ui_request")]
pub struct ExtensionUiRequest {
    /// Identifies the request; a reply repeats it.
    pub id: String,
    #[serde(flatten)]
    pub method: ExtensionUiMethod,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "method",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ExtensionUiMethod {
    /// Choose one of several options.
    Select {
        title: String,
        options: Vec<String>,
        /// Timeout in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Yes or no.
    Confirm {
        title: String,
        message: String,
        /// Timeout in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A single line of text.
    Input {
        title: String,
        /// Shown while the input is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
        /// Timeout in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Multi-line text.
    Editor {
        title: String,
        /// The initial text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
    },
    /// Show a message to the user.
    Notify {
        message: String,
        /// `info`, `warning` or `error`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notify_type: Option<String>,
    },
    /// Set or clear a status line.
    SetStatus {
        status_key: String,
        /// The text; `None` clears it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status_text: Option<String>,
    },
    /// Set or clear lines around the editor.
    SetWidget {
        widget_key: String,
        /// The lines; `None` clears them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        widget_lines: Option<Vec<String>>,
        /// `aboveEditor` or `belowEditor`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        widget_placement: Option<String>,
    },
    /// Set the window title.
    SetTitle { title: String },
    /// Set the text in the editor.
    #[serde(rename = "set_editor_text")]
    SetEditorText { text: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionUiResponse {
    pub id: String,
    pub reply: DialogReply,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogReply {
    /// A text or the chosen option.
    Value(String),
    Confirmed(bool),
    Cancelled,
}

impl ExtensionUiResponse {
    pub const TYPE: &str = "extension_ui_response";

    /// Parses a reply; `None` if it has no request ID. A reply with neither a value nor a
    /// confirmation means canceled.
    pub(crate) fn from_object(object: &JsonObject) -> Option<Self> {
        let id = object.get("id")?.as_str()?.to_owned();
        let cancelled = object.get("cancelled").and_then(Value::as_bool) == Some(true);
        let value = object.get("value").and_then(Value::as_str);
        let confirmed = object.get("confirmed").and_then(Value::as_bool);
        let reply = match (cancelled, value, confirmed) {
            (false, Some(value), _) => DialogReply::Value(value.to_owned()),
            (false, None, Some(confirmed)) => DialogReply::Confirmed(confirmed),
            (true, _, _) | (false, None, None) => DialogReply::Cancelled,
        };
        Some(Self { id, reply })
    }
}

impl Serialize for ExtensionUiResponse {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = JsonObject::new();
        object.insert("type".to_owned(), Self::TYPE.into());
        object.insert("id".to_owned(), self.id.clone().into());
        match &self.reply {
            DialogReply::Value(value) => object.insert("value".to_owned(), value.clone().into()),
            DialogReply::Confirmed(confirmed) => {
                object.insert("confirmed".to_owned(), (*confirmed).into())
            }
            DialogReply::Cancelled => object.insert("cancelled".to_owned(), true.into()),
        };
        object.serialize(serializer)
    }
}

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

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<DialogReply>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    use serde_json::json;

    use super::*;

    fn response(value: &Value) -> Option<ExtensionUiResponse> {
        ExtensionUiResponse::from_object(value.as_object().unwrap())
    }

    #[test]
    fn requests_serialize_to_the_wire_format() {
        for (method, expected) in [
            (
                ExtensionUiMethod::Select {
                    title: "t".to_owned(),
                    options: vec!["a".to_owned()],
                    timeout: Some(5),
                },
                json!({"type": "extension_ui_request", "id": "1", "method": "select", "title": "t", "options": ["a"], "timeout": 5}),
            ),
            (
                ExtensionUiMethod::Notify {
                    message: "m".to_owned(),
                    notify_type: Some("info".to_owned()),
                },
                json!({"type": "extension_ui_request", "id": "1", "method": "notify", "message": "m", "notifyType": "info"}),
            ),
            (
                ExtensionUiMethod::SetWidget {
                    widget_key: "k".to_owned(),
                    widget_lines: None,
                    widget_placement: None,
                },
                json!({"type": "extension_ui_request", "id": "1", "method": "setWidget", "widgetKey": "k"}),
            ),
            (
                ExtensionUiMethod::SetEditorText {
                    text: "x".to_owned(),
                },
                json!({"type": "extension_ui_request", "id": "1", "method": "set_editor_text", "text": "x"}),
            ),
        ] {
            let request = ExtensionUiRequest {
                id: "1".to_owned(),
                method,
            };
            assert_eq!(serde_json::to_value(&request).unwrap(), expected);
            assert_eq!(
                serde_json::from_value::<ExtensionUiRequest>(expected).unwrap(),
                request
            );
        }
    }

    #[test]
    fn replies_are_parsed_leniently() {
        let reply = |value: Value| response(&value).map(|response| response.reply);
        assert_eq!(
            reply(json!({"id": "1", "value": "a"})),
            Some(DialogReply::Value("a".to_owned()))
        );
        assert_eq!(
            reply(json!({"id": "1", "confirmed": false})),
            Some(DialogReply::Confirmed(false))
        );
        for cancelled in [
            json!({"id": "1", "cancelled": true, "value": "a"}),
            json!({"id": "1", "value": 5}),
            json!({"id": "1"}),
        ] {
            assert_eq!(reply(cancelled), Some(DialogReply::Cancelled));
        }
        assert_eq!(reply(json!({"id": 1, "value": "a"})), None);
    }

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
