//! `models-store.json`: the catalogs providers were last asked for.
//!
//! A cache: when it cannot be read, it is empty. It is still changed under the lock, because the
//! TypeScript pi keeps its own providers' entries in it. What an entry looks like is `pi-ai`'s matter.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::{BoxFuture, FutureExt};
use pi_ai::{AuthError, ModelsStore, ModelsStoreError, StoredModels};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lock_dir::LockTiming;
use crate::locked_file::LockedFile;

/// The stored catalogs, one entry per provider; cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelsStoreFile(LockedFile);

impl ModelsStoreFile {
    /// Uses this file. Nothing is read or created yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(LockedFile::new(path, LockTiming::CREDENTIALS))
    }

    /// Returns what is stored for a provider.
    pub async fn read<C: DeserializeOwned>(&self, provider: &str) -> Option<C> {
        let entry = match self.0.entries().await {
            Ok(mut entries) => entries.shift_remove(provider)?,
            Err(error) => {
                tracing::warn!(%error, "the stored catalogs are unusable");
                return None;
            }
        };
        read_entry(provider, entry)
    }

    /// Stores what a provider said.
    pub async fn write<C: Serialize>(&self, provider: &str, catalog: &C) -> Result<(), AuthError> {
        let value = serde_json::to_value(catalog).map_err(|error| {
            AuthError::file("write", self.0.path(), std::io::Error::other(error))
        })?;
        self.0.lock(provider).await?.replace(Some(value)).await
    }

    /// Forgets what a provider said.
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
                let models = read_entry(&provider, entry)?;
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

fn read_entry<C: DeserializeOwned>(provider: &str, entry: Value) -> Option<C> {
    serde_json::from_value(entry)
        .inspect_err(|error| tracing::warn!(provider, %error, "a stored catalog is unusable"))
        .ok()
}
