//! Adds and removes providers of `models.json`. Comments, formatting and other entries are kept.

use std::fs;
use std::io;
use std::path::Path;

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file, private};
use pi_protocol::json::JsonObject;
use serde_json::Value;

use super::{ModelsFileError, PARSE_OPTIONS, parse_models_file};
use crate::regular_file::{MAX_STORED_BYTES, read_bytes};

const PROVIDERS: &str = "providers";

const EMPTY_FILE: &str = "{\n  \"providers\": {}\n}\n";

#[derive(Debug, thiserror::Error)]
pub enum ModelsFileChangeError {
    /// A file with errors is never changed.
    #[error(transparent)]
    Unreadable(#[from] ModelsFileError),
    #[error("cannot write models: {file} is locked by another process")]
    Locked { file: String },
    #[error("cannot write models: {file}: {source}")]
    Io {
        file: String,
        #[source]
        source: io::Error,
    },
}

/// Adds a provider to the file, or replaces it. The file is created if it does not exist.
pub fn put_models_file_provider(
    file: &Path,
    id: &str,
    entry: &JsonObject,
) -> Result<(), ModelsFileChangeError> {
    change(file, |providers| {
        let entry = input_object(entry);
        match providers.get(id) {
            Some(known) => known.set_value(entry),
            None => drop(providers.append(id, entry)),
        }
    })
}

/// Removes a provider from the file, if it is there.
pub fn remove_models_file_provider(file: &Path, id: &str) -> Result<(), ModelsFileChangeError> {
    if !file.exists() {
        return Ok(());
    }
    change(file, |providers| {
        if let Some(known) = providers.get(id) {
            known.remove();
        }
    })
}

fn change(file: &Path, edit: impl FnOnce(&CstObject)) -> Result<(), ModelsFileChangeError> {
    let failed = |source| ModelsFileChangeError::Io {
        file: file.display().to_string(),
        source,
    };
    if let Some(directory) = file.parent() {
        private::create_directory(directory).map_err(failed)?;
    }
    let locked = || ModelsFileChangeError::Locked {
        file: file.display().to_string(),
    };
    let lock = LockDir::acquire(file, LockTiming::SETTINGS).map_err(|error| match error {
        LockError::Held => locked(),
        LockError::Io(error) => failed(error),
    })?;
    let text = read_bytes(file, MAX_STORED_BYTES).map_err(io::Error::from);
    let text = text.map_err(failed)?.map(String::from_utf8).transpose();
    let text = text.map_err(|error| failed(io::Error::other(error)))?;
    let before = text.unwrap_or_else(|| EMPTY_FILE.to_owned());
    let after = edited(file, &before, edit)?;
    if after == before {
        return Ok(());
    }
    if !lock.is_held() {
        return Err(locked());
    }
    // A rename ignores the file's permissions; respect a file that was made read-only.
    if fs::metadata(file).is_ok_and(|file| file.permissions().readonly()) {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    atomic_file::write(file, after.as_bytes(), NewFileMode::Private).map_err(failed)
}

/// Returns the edited text. Both texts are valid.
fn edited(
    file: &Path,
    text: &str,
    edit: impl FnOnce(&CstObject),
) -> Result<String, ModelsFileError> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    parse_models_file::<Value>(file, text)?;
    let not_edited = || ModelsFileError::Io {
        file: file.to_owned(),
        source: io::Error::other("the object \"providers\" cannot be edited"),
    };
    let root = CstRootNode::parse(text, &PARSE_OPTIONS).map_err(|error| ModelsFileError::Io {
        file: file.to_owned(),
        source: io::Error::other(error.to_string()),
    })?;
    let object = root.object_value().ok_or_else(not_edited)?;
    // The last of duplicate keys applies.
    let named = object.properties().into_iter().rev();
    let mut named = named.filter(|property| property.decoded_name().as_deref() == Some(PROVIDERS));
    let providers = named.next().and_then(|property| property.object_value());
    edit(&providers.ok_or_else(not_edited)?);
    let edited = root.to_string();
    parse_models_file::<Value>(file, &edited)?;
    Ok(format!("{mark}{edited}"))
}

fn input_object(object: &JsonObject) -> CstInputValue {
    let properties = object.iter();
    let properties = properties.map(|(name, value)| (name.clone(), input(value)));
    CstInputValue::Object(properties.collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(object) => input_object(object),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn comments_and_other_providers_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("models.json");
        let before = "{\n  // mine\n  \"providers\": {\n    \"local\": { \"baseUrl\": \"http://127.0.0.1:1/v1\" } // fast\n  },\n}\n";
        atomic_file::write(&file, before.as_bytes(), NewFileMode::Default).unwrap();
        let entry =
            object(&json!({"baseUrl": "http://127.0.0.1:2/v1", "models": [{"id": "a\"b"}]}));
        put_models_file_provider(&file, "pod-dc1", &entry).unwrap();
        insta::assert_snapshot!(fs::read_to_string(&file).unwrap(), @r#"
        {
          // mine
          "providers": {
            "local": { "baseUrl": "http://127.0.0.1:1/v1" }, // fast
            "pod-dc1": {
              "baseUrl": "http://127.0.0.1:2/v1",
              "models": [
                {
                  "id": "a\"b"
                }
              ]
            }
          },
        }
        "#);
        let mut entry = entry;
        entry.insert("models".to_owned(), json!([]));
        put_models_file_provider(&file, "pod-dc1", &entry).unwrap();
        let read: Vec<(String, Value)> = super::super::read_models_file(&file).unwrap();
        assert_eq!(read[1], ("pod-dc1".to_owned(), Value::Object(entry)));
        remove_models_file_provider(&file, "pod-dc1").unwrap();
        remove_models_file_provider(&file, "other").unwrap();
        let read: Vec<(String, Value)> = super::super::read_models_file(&file).unwrap();
        assert_eq!(read.len(), 1);
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("// mine") && text.contains("// fast"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_file_is_created_and_a_malformed_one_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("agent").join("models.json");
        remove_models_file_provider(&file, "pod-dc1").unwrap();
        assert!(!file.exists());
        let entry = object(&json!({"baseUrl": "http://127.0.0.1:2/v1"}));
        put_models_file_provider(&file, "pod-dc1", &entry).unwrap();
        let read: Vec<(String, Value)> = super::super::read_models_file(&file).unwrap();
        assert_eq!(read, [("pod-dc1".to_owned(), Value::Object(entry.clone()))]);
        for malformed in ["", "{", "{\"providers\": {\"a\": {\"baseUrl\": 1}}}", "[]"] {
            atomic_file::write(&file, malformed.as_bytes(), NewFileMode::Default).unwrap();
            let error = put_models_file_provider(&file, "pod-dc1", &entry).unwrap_err();
            assert!(error.to_string().contains("models.json"), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), malformed);
        }
    }
}
