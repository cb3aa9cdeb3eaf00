//! Replies of clients to dialogs of extensions.

use serde::Serialize;
use serde_json::Value;

use crate::interaction::Answer;
use crate::json::JsonObject;

/// A reply to the dialog with the same ID.
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

impl From<DialogReply> for Answer {
    fn from(reply: DialogReply) -> Self {
        match reply {
            DialogReply::Value(value) => Self::Value { value },
            DialogReply::Confirmed(confirmed) => Self::Confirmed { confirmed },
            DialogReply::Cancelled => Self::Cancelled,
        }
    }
}

impl ExtensionUiResponse {
    pub const TYPE: &str = "extension_ui_response";

    /// Parses a reply; `None` if it has no request ID. A reply with neither a value nor a
    /// confirmation means canceled.
    pub fn from_object(object: &JsonObject) -> Option<Self> {
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
