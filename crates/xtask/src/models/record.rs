//! One catalog record, and how records are written down.

use anyhow::{Context as _, Result, ensure};
use pi_ai::Model;
use pi_ai::json::JsonObject;
use serde_json::Value;

/// The facts of one model, without its provider, which the file names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record(JsonObject);

impl Record {
    /// Takes a record as a source gives it.
    pub(super) fn new(value: Value) -> Result<Self> {
        let Value::Object(mut fields) = value else {
            anyhow::bail!("a model is not an object: {value}");
        };
        fields.shift_remove("provider");
        drop_foreign_identity(&mut fields);
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

    /// Returns what records are sorted by.
    pub(super) fn sort_key(&self) -> (&str, &str) {
        (self.text("api"), self.text("id"))
    }

    /// Refuses what pi-ai could not read or reach.
    fn validate(&self, provider: &str) -> Result<()> {
        let mut fields = self.0.clone();
        fields.insert("provider".to_owned(), provider.into());
        let model: Model = serde_json::from_value(Value::Object(fields))?;
        ensure!(!model.id.is_empty(), "the id is empty");
        ensure!(
            pi_ai::api::ALL.contains(&model.api.as_str()),
            "no API is called `{}`",
            model.api
        );
        // Azure's address is the user's own.
        ensure!(
            model.base_url.is_empty() || model.base_url.starts_with("https://"),
            "`{}` is not a base URL",
            model.base_url
        );
        Ok(())
    }
}

/// Drops headers with which a request would pass for another vendor's client: we sign our own name.
fn drop_foreign_identity(fields: &mut JsonObject) {
    let Some(Value::Object(headers)) = fields.get_mut("headers") else {
        return;
    };
    headers.retain(|name, _| !pi_ai::is_client_identity_header(name));
    if headers.is_empty() {
        fields.shift_remove("headers");
    }
}

/// Writes the records of a provider, one a line.
pub(super) fn render(provider: &str, records: &[Record]) -> Result<String> {
    let mut lines = Vec::with_capacity(records.len());
    for record in records {
        record
            .validate(provider)
            .with_context(|| format!("{provider}/{}", record.text("id")))?;
        lines.push(pi_ai::json::to_string(record.fields())?);
    }
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}
