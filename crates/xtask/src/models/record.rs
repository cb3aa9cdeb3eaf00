//! A catalog record and its serialized form.

use anyhow::{Context as _, Result, ensure};
use pi_protocol::json::JsonObject;
use pi_protocol::{Model, ModelKind};
use serde_json::Value;

/// Returns what a source record is for, according to its `type`.
pub(super) fn kind_of(record: &Value) -> Result<ModelKind> {
    let name = record.get("type").and_then(Value::as_str);
    ModelKind::ALL
        .into_iter()
        .find(|kind| Some(kind.name()) == name)
        .with_context(|| format!("unknown type {}", name.unwrap_or("(none)")))
}

/// Returns the directory of a kind's files. pi-providers embeds the one of chat models.
pub(super) fn directory(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Chat => "models",
        ModelKind::Image => "image-models",
        ModelKind::Classifier => "classifier-models",
    }
}

/// The fields of one model, without its provider, which is the file name, and its type, which is
/// the directory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelRecord(JsonObject);

impl ModelRecord {
    pub(super) fn new(value: Value) -> Result<Self> {
        let Value::Object(mut fields) = value else {
            anyhow::bail!("a model is not an object: {value}");
        };
        fields.shift_remove("provider");
        fields.shift_remove("type");
        drop_vendor_identity(&mut fields);
        fields.sort_keys();
        for value in fields.values_mut() {
            value.sort_all_objects();
        }
        Ok(Self(fields))
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.0
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(super) fn fields(&self) -> &JsonObject {
        &self.0
    }

    pub(super) fn sort_key(&self) -> (&str, &str) {
        (self.text("api"), self.text("id"))
    }

    /// Rejects chat models that pi-providers cannot parse or reach.
    fn validate(&self, provider: &str) -> Result<()> {
        let mut fields = self.0.clone();
        fields.insert("provider".to_owned(), provider.into());
        let model: Model = serde_json::from_value(Value::Object(fields))?;
        ensure!(!model.id.is_empty(), "the ID is empty");
        ensure!(
            pi_protocol::api::ALL.contains(&model.api.as_str()),
            "unknown API `{}`",
            model.api
        );
        // Azure's base URL is set by the user.
        ensure!(
            model.base_url.is_empty() || model.base_url.starts_with("https://"),
            "`{}` is not a base URL",
            model.base_url
        );
        Ok(())
    }
}

/// Drops headers that would impersonate another vendor's client.
fn drop_vendor_identity(fields: &mut JsonObject) {
    let Some(Value::Object(headers)) = fields.get_mut("headers") else {
        return;
    };
    headers.retain(|name, _| !pi_providers::is_client_identity_header(name));
    if headers.is_empty() {
        fields.shift_remove("headers");
    }
}

/// Serializes the records of a provider, one per line.
pub(super) fn render(kind: ModelKind, provider: &str, records: &[ModelRecord]) -> Result<String> {
    let mut lines = Vec::with_capacity(records.len());
    for record in records {
        if kind == ModelKind::Chat {
            record
                .validate(provider)
                .with_context(|| format!("{provider}/{}", record.text("id")))?;
        }
        lines.push(pi_protocol::json::to_string(record.fields())?);
    }
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}
