//! Reads a directory with one file per provider (API -> `type:ID` -> record); `.manifest.json` has the generation time.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use pi_protocol::ModelKind;
use serde_json::Value;

use super::record::{ModelRecord, kind_of};
use super::{CatalogSource, Catalogs, json_files, read_json};

const MANIFEST: &str = ".manifest.json";

pub(super) fn read(directory: &Path) -> Result<CatalogSource> {
    let mut catalogs = Catalogs::default();
    for (provider, path) in json_files(directory)? {
        read_provider(&provider, read_json(&path)?, &mut catalogs)
            .with_context(|| format!("in {}", path.display()))?;
    }
    ensure!(
        catalogs.contains_key(&ModelKind::Chat),
        "{} has no provider files",
        directory.display()
    );
    for records in catalogs.values_mut().flat_map(BTreeMap::values_mut) {
        records.sort_by(|left, right| left.sort_key().cmp(&right.sort_key()));
    }
    Ok(CatalogSource {
        catalogs,
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

fn read_provider(provider: &str, document: Value, catalogs: &mut Catalogs) -> Result<()> {
    let Value::Object(apis) = document else {
        bail!("the file is not an object of APIs");
    };
    for (api, models) in apis {
        let Value::Object(models) = models else {
            bail!("`{api}` is not an object of models");
        };
        for (key, model) in models {
            let claimed = model.get("provider").and_then(Value::as_str);
            ensure!(
                claimed == Some(provider),
                "the provider of `{key}` does not match its file"
            );
            let kind = kind_of(&model).with_context(|| format!("`{key}`"))?;
            let record = ModelRecord::new(model)?;
            ensure!(
                record.text("api") == api
                    && key == format!("{}:{}", kind.name(), record.text("id")),
                "the API, type or ID of `{api}` / `{key}` does not match its key"
            );
            let catalog = catalogs.entry(kind).or_default();
            catalog.entry(provider.to_owned()).or_default().push(record);
        }
    }
    Ok(())
}
