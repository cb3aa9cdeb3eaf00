//! Protocol types for dialogs and notices of extensions.
//!
//! A request is sent as a line. Dialogs wait for a reply with the same ID, notices do not. A reply
//! that matches no pending dialog is ignored and gets no response.

use serde::{Deserialize, Serialize};

use crate::front_end::{DialogPrompt, ExtensionFailure, ExtensionNotice};

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

impl ExtensionUiMethod {
    /// Returns the request for a notice; `None` if the notice only makes sense in a terminal.
    pub fn of_notice(notice: ExtensionNotice) -> Option<Self> {
        Some(match notice {
            ExtensionNotice::Notify {
                message,
                notify_type,
            } => Self::Notify {
                message,
                notify_type,
            },
            ExtensionNotice::Status { key, text } => Self::SetStatus {
                status_key: key,
                status_text: text,
            },
            ExtensionNotice::Widget {
                key,
                lines,
                placement,
            } => Self::SetWidget {
                widget_key: key,
                widget_lines: lines,
                widget_placement: placement,
            },
            ExtensionNotice::Title { title } => Self::SetTitle { title },
            ExtensionNotice::EditorText { text } | ExtensionNotice::EditorPaste { text } => {
                Self::SetEditorText { text }
            }
            _ => return None,
        })
    }

    /// Returns the notice of a request; `None` for a dialog.
    pub fn into_notice(self) -> Option<ExtensionNotice> {
        Some(match self {
            Self::Notify {
                message,
                notify_type,
            } => ExtensionNotice::Notify {
                message,
                notify_type,
            },
            Self::SetStatus {
                status_key: key,
                status_text: text,
            } => ExtensionNotice::Status { key, text },
            Self::SetWidget {
                widget_key: key,
                widget_lines: lines,
                widget_placement: placement,
            } => ExtensionNotice::Widget {
                key,
                lines,
                placement,
            },
            Self::SetTitle { title } => ExtensionNotice::Title { title },
            Self::SetEditorText { text } => ExtensionNotice::EditorText { text },
            Self::Select { .. }
            | Self::Confirm { .. }
            | Self::Input { .. }
            | Self::Editor { .. } => {
                return None;
            }
        })
    }

    /// Returns the request for a dialog; `timeout` is in milliseconds.
    pub fn of_dialog(prompt: DialogPrompt, timeout: Option<u64>) -> Self {
        match prompt {
            DialogPrompt::Select { title, options } => Self::Select {
                title,
                options,
                timeout,
            },
            DialogPrompt::Confirm { title, message } => Self::Confirm {
                title,
                message,
                timeout,
            },
            DialogPrompt::Input { title, placeholder } => Self::Input {
                title,
                placeholder,
                timeout,
            },
            DialogPrompt::Editor { title, prefill } => Self::Editor { title, prefill },
        }
    }
}

/// An extension failure in the wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "extension_error", rename_all = "camelCase")]
pub struct ExtensionErrorLine {
    pub extension_path: String,
    pub event: String,
    pub error: String,
}

impl From<ExtensionFailure> for ExtensionErrorLine {
    fn from(failure: ExtensionFailure) -> Self {
        Self {
            extension_path: failure.extension.unwrap_or_default(),
            event: failure.event,
            error: failure.error,
        }
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::{DialogReply, ExtensionUiResponse};
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

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
}
