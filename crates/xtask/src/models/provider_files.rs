//! Reads a directory with one file per provider (API -> ID -> record); `.manifest.json` has the generation time.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::record::ModelRecord;
use super::{Catalog, CatalogSource, json_files, read_json};

const MANIFEST: &str = ".manifest.json";

pub(super) fn read(directory: &Path) -> Result<CatalogSource> {
    let mut catalog = Catalog::new();
    for (provider, path) in json_files(directory)? {
        let records = read_provider(&provider, read_json(&path)?)
            .with_context(|| format!("in {}", path.display()))?;
        catalog.insert(provider, records);
    }
    ensure!(
        !catalog.is_empty(),
        "{} has no provider files",
        directory.display()
    );
    Ok(CatalogSource {
        catalog,
        generated_at: read_date(directory)?,
    })
}

fn read_date(directory: &Path) -> Result<Option<String>> {
    let path = directory.join(MANIFEST);
    if !path.is_file() {
        return Ok(None);
    }
    let date = read_json(&path)?;
    Ok(date
        .get("generatedAt")
        .and_then(Value::as_str)
        .map(str::to_owned))
}

fn read_provider(provider: &str, document: Value) -> Result<Vec<ModelRecord>> {
    let Value::Object(apis) = document else {
        bail!("the file is not an object of APIs");
    };
    let mut records = Vec::new();
    for (api, models) in apis {
        let Value::Object(models) = models else {
            bail!("`{api}` is not an object of models");
        };
        for (id, model) in models {
            let claimed = model.get("provider").and_then(Value::as_str);
            ensure!(
                claimed == Some(provider),
                "the provider of `{id}` does not match its file"
            );
            let record = ModelRecord::new(model)?;
            ensure!(
                record.sort_key() == (api.as_str(), id.as_str()),
                "the API or ID of `{api}` / `{id}` does not match its key"
            );
            records.push(record);
        }
    }
    records.sort_by(|left, right| left.sort_key().cmp(&right.sort_key()));
    Ok(records)
}
