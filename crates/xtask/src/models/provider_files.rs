//! Reads a folder with a file per provider: an object of APIs, each an object of ids, each a
//! record; `.manifest.json` beside them says when they were made.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::record::Record;
use super::{Catalog, Source, json_files, read_json};

const MANIFEST: &str = ".manifest.json";

pub(super) fn read(folder: &Path) -> Result<Source> {
    let mut catalog = Catalog::new();
    for (provider, path) in json_files(folder)? {
        let records = read_provider(&provider, read_json(&path)?)
            .with_context(|| format!("in {}", path.display()))?;
        catalog.insert(provider, records);
    }
    ensure!(
        !catalog.is_empty(),
        "{} has no provider files",
        folder.display()
    );
    Ok(Source {
        catalog,
        generated_at: read_date(folder)?,
    })
}

fn read_date(folder: &Path) -> Result<Option<String>> {
    let path = folder.join(MANIFEST);
    if !path.is_file() {
        return Ok(None);
    }
    let date = read_json(&path)?;
    Ok(date
        .get("generatedAt")
        .and_then(Value::as_str)
        .map(str::to_owned))
}

fn read_provider(provider: &str, document: Value) -> Result<Vec<Record>> {
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
                "`{id}` names another provider than its file"
            );
            let record = Record::new(model)?;
            ensure!(
                record.sort_key() == (api.as_str(), id.as_str()),
                "`{api}` / `{id}` is filed under another name than its own"
            );
            records.push(record);
        }
    }
    records.sort_by(|left, right| left.sort_key().cmp(&right.sort_key()));
    Ok(records)
}
