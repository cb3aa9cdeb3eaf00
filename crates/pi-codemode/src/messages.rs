//! The messages that a script and the program exchange.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::store::StoreWrite;

/// A message of the prelude.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum PreludeMessage {
    Text {
        text: String,
    },
    Console {
        text: String,
    },
    Image {
        text: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    Call {
        id: u64,
        name: String,
        arguments: Option<Value>,
    },
    Ask {
        id: u64,
        name: String,
        #[serde(default)]
        arguments: Vec<Value>,
    },
    Succeeded {
        value: Option<String>,
        #[serde(default)]
        writes: Vec<StoreWrite>,
    },
    Failed {
        error: String,
    },
}

/// Returns the message that resolves a promise.
pub(crate) fn resolved(id: u64, value: &Value) -> String {
    json!({ "id": id, "value": value }).to_string()
}

/// Returns the message that rejects a promise.
pub(crate) fn rejected(id: u64, error: &str) -> String {
    json!({ "id": id, "error": error }).to_string()
}

/// Returns the message that resolves a promise to `undefined`.
pub(crate) fn undefined(id: u64) -> String {
    json!({ "id": id }).to_string()
}
