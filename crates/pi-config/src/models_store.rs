//! `models-store.json`: cached model catalogs of providers.
//!
//! An unreadable cache is treated as empty. It is still changed under the lock, because the
//! TypeScript pi stores its own entries in the same file. `pi-providers` defines the format of an entry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::{BoxFuture, FutureExt};
use pi_auth::AuthError;
use pi_fs::LockTiming;
use pi_providers::{ModelsStore, ModelsStoreError, StoredModels};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::locked_file::LockedFile;

/// The cached catalogs, one entry per provider; cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelsStoreFile(LockedFile);

impl ModelsStoreFile {
    /// Does not access the file yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(LockedFile::new(path, LockTiming::CREDENTIALS))
    }

    /// Returns the cached catalog of a provider.
    pub async fn read<C: DeserializeOwned>(&self, provider: &str) -> Option<C> {
        let entry = match self.0.entries().await {
            Ok(mut entries) => entries.shift_remove(provider)?,
            Err(error) => {
                tracing::warn!(%error, "cannot read cached model catalogs");
                return None;
            }
        };
        read_entry(provider, &entry)
    }

    pub async fn write<C: Serialize>(&self, provider: &str, catalog: &C) -> Result<(), AuthError> {
        let value = serde_json::to_value(catalog).map_err(|error| {
            AuthError::file("write", self.0.path(), std::io::Error::other(error))
        })?;
        self.0.lock(provider).await?.replace(Some(value)).await
    }

    pub async fn delete(&self, provider: &str) -> Result<(), AuthError> {
        self.0.lock(provider).await?.replace(None).await
    }
}

impl ModelsStore for ModelsStoreFile {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>> {
        self.read(provider).map(Ok).boxed()
    }

    fn read_all(&self) -> BoxFuture<'_, Option<BTreeMap<String, StoredModels>>> {
        async move {
            let entries = self.0.entries().await.ok()?;
            let read = |(provider, entry): (String, Value)| {
                let models = read_entry(&provider, &entry)?;
                Some((provider, models))
            };
            Some(entries.into_iter().filter_map(read).collect())
        }
        .boxed()
    }

    fn write<'a>(
        &'a self,
        provider: &'a str,
        entry: StoredModels,
    ) -> BoxFuture<'a, Result<(), ModelsStoreError>> {
        async move {
            let written = self.write(provider, &entry).await;
            written.map_err(|error| ModelsStoreError(error.to_string()))
        }
        .boxed()
    }
}

fn read_entry<C: DeserializeOwned>(provider: &str, entry: &Value) -> Option<C> {
    pi_protocol::json::from_value(entry)
        .inspect_err(
            |error| tracing::warn!(provider, %error, "ignoring invalid cached model catalog"),
        )
        .ok()
}
