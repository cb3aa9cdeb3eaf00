//! Storage of fetched model catalogs between runs: the entries of `models-store.json`. `pi-config`
//! implements the file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::Model;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A provider's fetched catalog.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredModels {
    #[serde(deserialize_with = "readable_models")]
    pub models: Vec<Model>,
    /// When the service was last queried, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<i64>,
    /// When the service last changed the catalog; 0 if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<i64>,
    /// The service's `ETag`, including quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// Why a catalog could not be read or stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelsStoreError(pub String);

/// Stores fetched catalogs by provider.
pub trait ModelsStore: Send + Sync {
    /// Returns a provider's stored catalog.
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>>;

    /// Returns all stored catalogs; `None` if a bulk read is not cheaper than single reads.
    fn read_all(&self) -> BoxFuture<'_, Option<BTreeMap<String, StoredModels>>> {
        std::future::ready(None).boxed()
    }

    /// Stores a catalog, replacing any existing one.
    fn write<'a>(
        &'a self,
        provider: &'a str,
        entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>>;
}

/// A store with prefetched entries.
pub(super) struct PrefetchedStore {
    entries: InMemoryModelsStore,
    store: Arc<dyn ModelsStore>,
}

impl PrefetchedStore {
    pub(super) fn new(
        entries: BTreeMap<String, StoredModels>,
        store: Arc<dyn ModelsStore>,
    ) -> Self {
        let entries = InMemoryModelsStore(Mutex::new(entries));
        Self { entries, store }
    }
}

impl ModelsStore for PrefetchedStore {
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

/// Catalogs kept in memory for the lifetime of the process.
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

/// Reads models, skipping those that this version cannot parse.
fn readable_models<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Model>, D::Error> {
    let records = Vec::<Value>::deserialize(deserializer)?;
    Ok(records
        .into_iter()
        .filter_map(|record| serde_json::from_value(record).ok())
        .collect())
}
