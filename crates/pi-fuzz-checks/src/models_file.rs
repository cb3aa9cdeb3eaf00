//! `models.json`: JSON with comments.

use std::path::Path;

use pi_config::{ModelsFileError, ModelsFileProblem, parse_models_file};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value};

/// Checks that plain JSON is parsed unchanged, that comments and whitespace are ignored, and that every
/// error has a position in the file.
pub fn models_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let text = text.trim_start_matches('\u{feff}');
    let read = parse(text);
    match &read {
        Ok(providers) => {
            if let Ok(Value::Object(strict)) = serde_json::from_str(text) {
                let listed = strict.get("providers").and_then(Value::as_object);
                let listed = listed.cloned().unwrap_or_default();
                let read: Map<String, Value> = providers.iter().cloned().collect();
                assert_eq!(read, listed);
            }
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "no errors reported");
            for problem in problems {
                let lines = text.split('\n').count();
                assert!((1..=lines).contains(&problem.position.line), "{problem}");
                assert!(!problem.message.is_empty());
            }
        }
    }
    if let Ok(providers) = read {
        assert_eq!(parse(&format!("// more\n{text}\n// more\n")), Ok(providers));
    }
}

fn parse(text: &str) -> Result<Vec<(String, Value)>, Vec<ModelsFileProblem>> {
    match parse_models_file(Path::new("models.json"), text) {
        Ok(providers) => Ok(providers),
        Err(ModelsFileError::Invalid { problems, .. }) => Err(problems),
        Err(error @ ModelsFileError::Io { .. }) => unreachable!("no file was read: {error}"),
    }
}
