//! `auth.json`: the user's credentials, shared with the TypeScript pi.

use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pi_auth::{
    AllCredentials, AuthError, Credential, CredentialInfo, CredentialStore, FilePosition,
    LockedCredential,
};
use pi_fs::LockTiming;
use pi_protocol::provider_id;
use serde_json::{Map, Value};

use crate::locked_file::{LockedEntry, LockedFile};

/// A credentials file with one entry per provider; cheap to clone.
#[derive(Debug, Clone)]
pub struct AuthFile(LockedFile);

impl AuthFile {
    /// Does not access the file yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with_timing(path, LockTiming::CREDENTIALS)
    }

    /// Like [`new`](Self::new), with custom lock timeouts.
    pub fn with_timing(path: impl Into<PathBuf>, timing: LockTiming) -> Self {
        Self(LockedFile::new(path, timing))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates the file as an empty object with mode 0600, unless it exists.
    pub async fn create_if_missing(&self) -> Result<(), AuthError> {
        self.0.create().await
    }
}

impl CredentialStore for AuthFile {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, AuthError>> {
        async move {
            let mut entries = self.0.entries().await?;
            let entry = entries.shift_remove(provider).or_else(|| {
                let former = provider_id::former(provider)?;
                entries.shift_remove(former)
            });
            read_entry(self.path(), provider, entry)
        }
        .boxed()
    }

    fn read_all(&self) -> BoxFuture<'_, Result<AllCredentials, AuthError>> {
        async move {
            let entries = with_current_ids(&self.0.entries().await?);
            let read = |(provider, entry): (String, Value)| {
                let credential = read_entry(self.path(), &provider, Some(entry)).transpose()?;
                Some((provider, credential))
            };
            Ok(entries.into_iter().filter_map(read).collect())
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<CredentialInfo>, AuthError>> {
        async move {
            let mut list = Vec::new();
            for (provider, entry) in with_current_ids(&self.0.entries().await?) {
                // A kind of credential stored by a newer version is not an error.
                match Credential::from_value(entry) {
                    Ok(credential) => list.push(CredentialInfo {
                        kind: credential.kind(),
                        provider,
                    }),
                    Err(error) => {
                        tracing::warn!(provider, %error, "ignoring invalid stored credential");
                    }
                }
            }
            Ok(list)
        }
        .boxed()
    }

    fn lock<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn LockedCredential>, AuthError>> {
        async move {
            let entry = self.0.lock(provider).await?;
            // An unreadable entry must not prevent signing in again.
            let current = entry
                .value()
                .cloned()
                .and_then(|value| Credential::from_value(value).ok());
            Ok(Box::new(LockedAuth { entry, current }) as Box<dyn LockedCredential>)
        }
        .boxed()
    }

    fn delete<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        async move {
            self.0.lock(provider).await?.replace(None).await?;
            match provider_id::former(provider) {
                Some(former) => self.0.lock(former).await?.replace(None).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// Renames the entries stored under a former provider ID, unless the current one has an entry too.
fn with_current_ids(entries: &Map<String, Value>) -> Map<String, Value> {
    let is_shadowed = |provider: &str| {
        let current = provider_id::current(provider);
        current != provider && entries.contains_key(current)
    };
    let kept = entries
        .iter()
        .filter(|(provider, _)| !is_shadowed(provider));
    kept.map(|(provider, entry)| (provider_id::current(provider).to_owned(), entry.clone()))
        .collect()
}

struct LockedAuth {
    entry: LockedEntry,
    current: Option<Credential>,
}

impl LockedCredential for LockedAuth {
    fn current(&self) -> Option<&Credential> {
        self.current.as_ref()
    }

    fn save(&mut self, credential: Option<Credential>) -> BoxFuture<'_, Result<(), AuthError>> {
        async move {
            let value = credential
                .as_ref()
                .map(serde_json::to_value)
                .transpose()
                .map_err(|error| {
                    AuthError::file("write", self.entry.path(), std::io::Error::other(error))
                })?;
            self.entry.replace(value).await?;
            self.current = credential;
            Ok(())
        }
        .boxed()
    }
}

fn read_entry(
    file: &Path,
    provider: &str,
    entry: Option<Value>,
) -> Result<Option<Credential>, AuthError> {
    entry
        .map(|entry| {
            Credential::from_value(entry).map_err(|error| AuthError::Malformed {
                file: file.to_owned(),
                position: FilePosition::default(),
                field: Some(if error.field.is_empty() {
                    provider.to_owned()
                } else {
                    format!("{provider}.{}", error.field)
                }),
                problem: error.problem.to_owned(),
            })
        })
        .transpose()
}
