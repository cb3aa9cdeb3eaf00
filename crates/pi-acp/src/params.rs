//! Reads fields of parameters; errors name the field.

use std::path::{Path, PathBuf};

use pi_protocol::JsonRpcError;
use serde_json::Value;

/// Returns a required text.
pub(crate) fn text<'params>(
    params: &'params Value,
    field: &str,
) -> Result<&'params str, JsonRpcError> {
    let value = params.get(field).and_then(Value::as_str);
    value.ok_or_else(|| JsonRpcError::invalid_params(field, "must be a string"))
}

/// Returns an optional text; null is absent.
pub(crate) fn optional_text<'params>(
    params: &'params Value,
    field: &str,
) -> Result<Option<&'params str>, JsonRpcError> {
    match params.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(params, field).map(Some),
    }
}

/// Returns an optional list; null and absent are empty.
pub(crate) fn list<'params>(
    params: &'params Value,
    field: &str,
) -> Result<&'params [Value], JsonRpcError> {
    match params.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(JsonRpcError::invalid_params(field, "must be a list")),
    }
}

/// Returns a required absolute path.
pub(crate) fn absolute_path(params: &Value, field: &str) -> Result<PathBuf, JsonRpcError> {
    checked_path(text(params, field)?, field)
}

/// Returns an optional list of absolute paths.
pub(crate) fn absolute_paths(params: &Value, field: &str) -> Result<Vec<PathBuf>, JsonRpcError> {
    let items = list(params, field)?.iter();
    let paths = items.map(|item| {
        let path = item.as_str();
        let path =
            path.ok_or_else(|| JsonRpcError::invalid_params(field, "must be a list of paths"))?;
        checked_path(path, field)
    });
    paths.collect()
}

fn checked_path(path: &str, field: &str) -> Result<PathBuf, JsonRpcError> {
    if path.contains('\0') || !Path::new(path).is_absolute() {
        let problem = format!("must be an absolute path, not {path:?}");
        return Err(JsonRpcError::invalid_params(field, problem));
    }
    Ok(PathBuf::from(path))
}

/// Whether a capability is advertised: `true`, or an object.
pub(crate) fn is_advertised(capabilities: &Value, path: &str) -> bool {
    let found = capabilities.pointer(path);
    found.is_some_and(|value| value.is_object() || value.as_bool() == Some(true))
}
