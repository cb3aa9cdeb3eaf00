//! JSON files as TypeScript pi writes them: two spaces, no newline at the end.

use pi_ai::{AuthError, FilePosition};
use serde_json::{Map, Value};

use std::path::Path;

/// Why a text is not the object it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {problem}", position.line, position.column)]
pub(crate) struct NotAnObject {
    /// Where the parser stopped.
    pub(crate) position: FilePosition,
    pub(crate) problem: String,
}

/// Parses a file that must hold an object. An empty file counts as an empty object.
pub(crate) fn parse_object(file: &Path, text: &str) -> Result<Map<String, Value>, AuthError> {
    parse(text).map_err(|error| AuthError::Malformed {
        file: file.to_owned(),
        position: error.position,
        field: None,
        problem: error.problem,
    })
}

/// Parses a text that must hold an object. An empty text counts as an empty object.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, NotAnObject> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(NotAnObject {
            position: FilePosition { line: 1, column: 1 },
            problem: "must be an object".to_owned(),
        }),
        Err(error) => Err(NotAnObject {
            position: FilePosition {
                line: error.line(),
                column: error.column(),
            },
            problem: parser_words(&error),
        }),
    }
}

/// Returns what the parser says, without the position it repeats.
fn parser_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

/// Writes an object.
pub(crate) fn to_text(object: &Map<String, Value>) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec_pretty(object)
}
