//! JSON files as TypeScript pi writes them: two spaces, no newline at the end.

use pi_ai::{AuthError, FilePosition};
use serde_json::{Map, Value};

use std::path::Path;

/// Parses a file that must hold an object. An empty file counts as an empty object.
pub(crate) fn parse_object(file: &Path, text: &str) -> Result<Map<String, Value>, AuthError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.is_empty() {
        return Ok(Map::new());
    }
    let malformed = |position, problem: String| AuthError::Malformed {
        file: file.to_owned(),
        position,
        field: None,
        problem,
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(malformed(
            FilePosition { line: 1, column: 1 },
            "must be an object".to_owned(),
        )),
        Err(error) => Err(malformed(
            FilePosition {
                line: error.line(),
                column: error.column(),
            },
            parser_words(&error),
        )),
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
