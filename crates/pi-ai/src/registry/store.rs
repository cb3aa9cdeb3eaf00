//! Where fetched model catalogs are kept between runs: the entries of `models-store.json`. The
//! file itself is `pi-config`'s.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::model::Model;

/// A fetched catalog of one provider.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredModels {
    #[serde(deserialize_with = "readable_models")]
    pub models: Vec<Model>,
    /// When the service was last asked, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<i64>,
    /// When the service last changed the catalog; zero where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<i64>,
    /// The service's own mark of this version, quotes included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// Why a catalog could not be kept or found again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelsStoreError(pub String);

/// A place for fetched catalogs, one per provider.
pub trait ModelsStore: Send + Sync {
    /// Returns what is kept for a provider.
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>>;

    /// Returns what is kept for all providers, where that is less work than asking one by one.
    fn read_all(&self) -> BoxFuture<'_, Option<BTreeMap<String, StoredModels>>> {
        std::future::ready(None).boxed()
    }

    /// Keeps a catalog in place of the one that was there.
    fn write<'a>(
        &'a self,
        provider: &'a str,
        entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>>;
}

/// A store whose content was read beforehand.
pub(super) struct ReadAhead {
    entries: InMemoryModelsStore,
    store: Arc<dyn ModelsStore>,
}

impl ReadAhead {
    pub(super) fn new(
        entries: BTreeMap<String, StoredModels>,
        store: Arc<dyn ModelsStore>,
    ) -> Self {
        let entries = InMemoryModelsStore(Mutex::new(entries));
        Self { entries, store }
    }
}

impl ModelsStore for ReadAhead {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>> {
        self.entries.read(provider)
    }

    fn write<'a>(
        &'a self,
        provider: &'a str,
        entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>> {
        async move {
            self.entries.write(provider, entry.clone()).await?;
            self.store.write(provider, entry).await
        }
        .boxed()
    }
}

/// Catalogs that live as long as the process.
#[derive(Debug, Default)]
pub struct InMemoryModelsStore(Mutex<BTreeMap<String, StoredModels>>);

impl ModelsStore for InMemoryModelsStore {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::future::ready(Ok(entries.get(provider).cloned())).boxed()
    }

    fn write<'a>(
        &'a self,
        provider: &'a str,
        entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(provider.to_owned(), entry);
        std::future::ready(Ok(())).boxed()
    }
}

/// Reads models, passing over those of a shape this version does not understand.
fn readable_models<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Model>, D::Error> {
    let records = Vec::<Value>::deserialize(deserializer)?;
    Ok(records
        .into_iter()
        .filter_map(|record| serde_json::from_value(record).ok())
        .collect())
}
