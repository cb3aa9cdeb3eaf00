//! Reads and writes JSON files in the TypeScript pi's format: indented by two spaces, no trailing newline.

use pi_auth::{AuthError, FilePosition};
use serde_json::{Map, Value};

use std::path::Path;

/// A parse error, or valid JSON that is not an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at line {} column {}", position.line, position.column)]
pub(crate) struct NotAnObject {
    pub(crate) position: FilePosition,
    pub(crate) problem: String,
}

/// Parses the text of a file that must contain an object. An empty file is an empty object.
pub(crate) fn parse_object(file: &Path, text: &str) -> Result<Map<String, Value>, AuthError> {
    parse(text).map_err(|error| AuthError::Malformed {
        file: file.to_owned(),
        position: error.position,
        field: None,
        problem: error.problem,
    })
}

/// Parses text that must contain an object. Empty text is an empty object.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, NotAnObject> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(NotAnObject {
            position: FilePosition { line: 1, column: 1 },
            problem: "expected an object".to_owned(),
        }),
        Err(error) => Err(NotAnObject {
            position: FilePosition {
                line: error.line(),
                column: error.column(),
            },
            problem: parser_message(&error),
        }),
    }
}

/// Returns the parser's message without its position suffix.
fn parser_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

pub(crate) fn to_text(object: &Map<String, Value>) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec_pretty(object)
}
