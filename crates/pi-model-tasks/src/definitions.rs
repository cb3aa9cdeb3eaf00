//! `image-models.json`: image models that the user adds. `models.json` is shared with the TypeScript pi and has only chat
//! models.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use pi_protocol::json::JsonObject;
use pi_protocol::{Modality, ModelKind};
use pi_providers::Models;
use serde::Deserialize;
use serde_json::Value;

use crate::catalog::TaskModel;
use crate::images::OPENAI_IMAGES;

/// A larger file is an error.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why the definitions cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read image models: {}: {problem}", file.display())]
pub(crate) struct DefinitionError {
    file: PathBuf,
    problem: String,
}

#[derive(Deserialize)]
struct Definitions {
    providers: std::collections::BTreeMap<String, ProviderDefinition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProviderDefinition {
    api: Option<String>,
    base_url: Option<String>,
    models: Vec<JsonObject>,
}

/// Reads the definitions; none if there is no file.
pub(crate) fn read(models: &Models) -> Result<Vec<TaskModel>, DefinitionError> {
    let Some(file) = models.image_models_file() else {
        return Ok(Vec::new());
    };
    let failed = |problem: String| DefinitionError {
        file: file.to_owned(),
        problem,
    };
    let Some(text) = read_text(file).map_err(|error| failed(error.to_string()))? else {
        return Ok(Vec::new());
    };
    let text = text.trim_start_matches('\u{feff}');
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        .map_err(|error| failed(error.to_string()))?;
    let value: Value = parsed.value.map(Value::from).unwrap_or_default();
    let definitions: Definitions =
        pi_protocol::json::from_value(&value).map_err(|error| failed(error.to_string()))?;
    let mut defined = Vec::new();
    for (provider, definition) in definitions.providers {
        for record in &definition.models {
            let model = model(models, &provider, &definition, record)
                .map_err(|problem| failed(format!("providers.{provider}.models: {problem}")))?;
            defined.push(model);
        }
    }
    Ok(defined)
}

fn read_text(file: &Path) -> io::Result<Option<String>> {
    let opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    opened.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(text))
}

fn model(
    models: &Models,
    provider: &str,
    definition: &ProviderDefinition,
    record: &JsonObject,
) -> Result<TaskModel, String> {
    let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() {
        return Err("an entry has no id".to_owned());
    }
    let mut record = record.clone();
    record.insert("type".to_owned(), ModelKind::Image.name().into());
    record.insert("provider".to_owned(), provider.into());
    let api = definition.api.as_deref().unwrap_or(OPENAI_IMAGES);
    let mut default = |name: &str, value: Value| {
        record.entry(name).or_insert(value);
    };
    default("name", id.into());
    default("api", api.into());
    default("input", serde_json::json!([Modality::Text]));
    default("output", serde_json::json!([Modality::Image]));
    if !record.contains_key("baseUrl") {
        let base_url = definition.base_url.clone();
        let base_url = base_url.or_else(|| base_url_of(models, provider));
        let base_url = base_url.ok_or_else(|| {
            format!("\"{id}\" has no baseUrl; set it on the model or the provider")
        })?;
        record.insert("baseUrl".to_owned(), base_url.into());
    }
    pi_protocol::json::from_value(&Value::Object(record))
        .map_err(|error| format!("\"{id}\": {error}"))
}

/// Returns the base URL of a provider for chats.
fn base_url_of(models: &Models, provider: &str) -> Option<String> {
    let configured = models.file_config(provider);
    let configured = configured.and_then(|config| config.base_url.clone());
    configured.or_else(|| {
        let listed = models.provider(provider)?.models().ok()?;
        let mut listed = listed.iter();
        listed.next().map(|model| model.base_url.clone())
    })
}
