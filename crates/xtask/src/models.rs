//! Generates the model catalog that pi-providers embeds: one file per provider, one record per line, sorted keys, so that an
//! update is a readable diff.
//!
//! Two sources are supported. Provider files (API -> `type:ID` -> record) are complete and replace the catalogs of all
//! types. A models.dev document has prices, context windows and capabilities of chat models, but not the API quirks of a
//! service; [`models_dev`] takes those from the existing catalog.

mod models_dev;
mod provider_files;
mod record;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use pi_fs::NewFileMode;
use pi_protocol::ModelKind;
use serde_json::{Value, json};

use record::ModelRecord;

/// Records by provider, each list sorted by API and ID.
type Catalog = BTreeMap<String, Vec<ModelRecord>>;

/// The catalogs of a source, by what their models are for.
type Catalogs = BTreeMap<ModelKind, Catalog>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModelsOptions {
    from: PathBuf,
    generated_at: Option<String>,
}

impl ModelsOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut from = None;
        let mut generated_at = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("`{argument}` needs a value"))
            };
            match *argument {
                "--from" => from = Some(PathBuf::from(value()?)),
                "--generated-at" => generated_at = Some((*value()?).to_owned()),
                other => bail!("`models` has no option `{other}`"),
            }
        }
        let from = from.context("`models` needs `--from PATH`")?;
        Ok(Self { from, generated_at })
    }
}

#[derive(Debug, PartialEq)]
struct CatalogSource {
    catalogs: Catalogs,
    generated_at: Option<String>,
}

pub(crate) fn run(options: &ModelsOptions) -> Result<String> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi-providers/data");
    generate(options, &data)
}

fn generate(options: &ModelsOptions, data: &Path) -> Result<String> {
    let current = read_catalog(&data.join("models"))?;
    let source = if options.from.is_dir() {
        provider_files::read(&options.from)?
    } else {
        let document = read_json(&options.from)?;
        let updated = models_dev::update(current, &document)
            .with_context(|| format!("in {}", options.from.display()))?;
        CatalogSource {
            catalogs: Catalogs::from([(ModelKind::Chat, updated)]),
            generated_at: None,
        }
    };
    let generated_at = options
        .generated_at
        .clone()
        .or(source.generated_at)
        .context("the source has no date: pass `--generated-at` with an RFC 3339 time")?;
    ensure!(
        generated_at.parse::<jiff::Timestamp>().is_ok(),
        "`{generated_at}` is not an RFC 3339 time"
    );
    write_catalogs(data, &source.catalogs, &generated_at)?;
    let counts: Vec<String> = source
        .catalogs
        .iter()
        .map(|(kind, catalog)| {
            let models = catalog.values().map(Vec::len).sum::<usize>();
            format!(
                "{models} {} models of {} providers",
                kind.name(),
                catalog.len()
            )
        })
        .collect();
    Ok(format!("{}, as of {generated_at}", counts.join(", ")))
}

fn read_json(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", path.display()))
}

/// Returns the `.json` files of a directory with their stems, sorted, without dot files.
fn json_files(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        match stem {
            Some(stem) if is_json && !stem.starts_with('.') => {
                files.push((stem.to_owned(), path.clone()));
            }
            _ => {}
        }
    }
    files.sort();
    Ok(files)
}

fn read_catalog(models: &Path) -> Result<Catalog> {
    if !models.is_dir() {
        return Ok(Catalog::new());
    }
    let mut catalog = Catalog::new();
    for (provider, path) in json_files(models)? {
        let Value::Array(records) = read_json(&path)? else {
            bail!("{} is not a list of models", path.display());
        };
        let records: Result<Vec<ModelRecord>> = records.into_iter().map(ModelRecord::new).collect();
        let records = records.with_context(|| format!("in {}", path.display()))?;
        catalog.insert(provider, records);
    }
    Ok(catalog)
}

fn write_catalogs(data: &Path, catalogs: &Catalogs, generated_at: &str) -> Result<()> {
    // Render, and so validate, everything before writing anything.
    let mut files = Vec::new();
    for (kind, catalog) in catalogs {
        for (provider, records) in catalog {
            let text = record::render(*kind, provider, records)?;
            files.push((record::directory(*kind), provider, text));
        }
    }
    for (kind, catalog) in catalogs {
        let directory = data.join(record::directory(*kind));
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        for (provider, path) in json_files(&directory)? {
            if !catalog.contains_key(&provider) {
                fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
    }
    for (directory, provider, text) in files {
        write_file(
            &data.join(directory).join(format!("{provider}.json")),
            &text,
        )?;
    }
    let about = json!({ "generatedAt": generated_at });
    write_file(
        &data.join("catalog.json"),
        &format!("{}\n", pi_protocol::json::value_to_string(&about)),
    )
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    pi_fs::atomic_file::write(path, text.as_bytes(), NewFileMode::Default)
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests;
