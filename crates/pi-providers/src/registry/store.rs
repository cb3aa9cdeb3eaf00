//! Storage of fetched model catalogs between runs: the entries of `models-store.json`. `pi-config`
//! implements the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::Mutex;
use pi_protocol::Model;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A provider's fetched catalog.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "StoredEntry", into = "StoredEntry")]
pub struct StoredModels {
    /// The chat models that this version can parse.
    pub models: Vec<Model>,
    /// The other records, kept for programs that share the store.
    pub other_models: Vec<Value>,
    /// When the service was last queried, in milliseconds since the Unix epoch.
    pub checked_at: Option<i64>,
    /// When the service last changed the catalog; 0 if it does not say.
    pub last_modified: Option<i64>,
    /// The service's `ETag`, including quotes.
    pub etag: Option<String>,
}

impl StoredModels {
    /// Separates the chat models from records of other kinds.
    pub(super) fn from_records(records: Vec<Value>) -> Self {
        let mut stored = Self::default();
        for record in records {
            match Model::deserialize(&record) {
                Ok(model) if model.is_chat() => stored.models.push(model),
                Ok(_) | Err(_) => stored.other_models.push(record),
            }
        }
        stored
    }
}

/// The JSON form of [`StoredModels`].
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StoredEntry {
    models: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

impl From<StoredEntry> for StoredModels {
    fn from(entry: StoredEntry) -> Self {
        Self {
            checked_at: entry.checked_at,
            last_modified: entry.last_modified,
            etag: entry.etag,
            ..Self::from_records(entry.models)
        }
    }
}

impl From<StoredModels> for StoredEntry {
    fn from(stored: StoredModels) -> Self {
        let chat = stored.models.iter().filter_map(|model| {
            serde_json::to_value(model)
                .inspect_err(
                    |error| tracing::warn!(model = model.id, %error, "cannot store a model"),
                )
                .ok()
        });
        Self {
            models: chat.chain(stored.other_models).collect(),
            checked_at: stored.checked_at,
            last_modified: stored.last_modified,
            etag: stored.etag,
        }
    }
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
        let entries = self.0.lock();
        std::future::ready(Ok(entries.get(provider).cloned())).boxed()
    }

    fn write<'a>(
        &'a self,
        provider: &'a str,
        entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>> {
        let mut entries = self.0.lock();
        entries.insert(provider.to_owned(), entry);
        std::future::ready(Ok(())).boxed()
    }
}
