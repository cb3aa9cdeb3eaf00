//! The store of results: sessions, patches and artifacts of runs, below one URL.

use std::fmt::Write as _;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};

/// Where results are stored. Clones share connections.
#[derive(Clone)]
pub struct ArtifactStore {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
}

/// Why results cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the store {url}: {reason}")]
    Invalid { url: String, reason: String },
    #[error("cannot {action} {name} in the store {url}: {reason}")]
    Failed {
        action: &'static str,
        name: String,
        url: String,
        reason: String,
    },
}

impl ArtifactStore {
    /// Opens the store of a URL: `file://`, or `s3://`, `gs://` and `az://` if the program was built with them. Their
    /// credentials are in the usual environment variables.
    pub fn open(text: &str) -> Result<Self, StoreError> {
        let invalid = |reason: String| StoreError::Invalid {
            url: text.to_owned(),
            reason,
        };
        let url = url::Url::parse(text).map_err(|error| invalid(error.to_string()))?;
        if url.scheme() == "file" {
            let directory = url.to_file_path();
            let directory =
                directory.map_err(|()| invalid("it is not an absolute path".to_owned()))?;
            pi_fs::private::create_directory(&directory)
                .map_err(|error| invalid(error.to_string()))?;
        }
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?.to_ascii_lowercase();
            Some((name, value.into_string().ok()?))
        });
        let opened = object_store::parse_url_opts(&url, variables);
        let (store, prefix) = opened.map_err(|error| invalid(describe(&error)))?;
        Ok(Self {
            store: Arc::from(store),
            prefix,
            url: text.to_owned(),
        })
    }

    /// Stores a file of a batch; replaces the one before.
    pub async fn put(
        &self,
        batch: &str,
        name: &str,
        content: impl Into<bytes::Bytes>,
    ) -> Result<(), StoreError> {
        let path = self.path(batch, name);
        let stored = self
            .store
            .put(&path, PutPayload::from(content.into()))
            .await;
        stored
            .map(drop)
            .map_err(|error| self.failed("store", name, &error))
    }

    /// Returns the content of a file of a batch.
    pub async fn get(&self, batch: &str, name: &str) -> Result<Vec<u8>, StoreError> {
        let failed = |error: object_store::Error| self.failed("read", name, &error);
        let found = self.store.get(&self.path(batch, name)).await;
        let bytes = found.map_err(failed)?.bytes().await.map_err(failed)?;
        Ok(bytes.to_vec())
    }

    /// Checks that files can be stored; returns a description of the store.
    pub(crate) async fn check(&self) -> Result<String, String> {
        const NAME: &str = "check";
        let stored = self.put("pi-fleet", NAME, b"ok".to_vec()).await;
        stored.map_err(|error| error.to_string())?;
        let path = self.path("pi-fleet", NAME);
        let removed = self.store.delete(&path).await;
        removed.map_err(|error| self.failed("delete", NAME, &error).to_string())?;
        Ok(self.url.clone())
    }

    fn path(&self, batch: &str, name: &str) -> Path {
        Path::from(format!("{}/{batch}/{name}", self.prefix))
    }

    fn failed(&self, action: &'static str, name: &str, error: &object_store::Error) -> StoreError {
        StoreError::Failed {
            action,
            name: name.to_owned(),
            url: self.url.clone(),
            reason: describe(error),
        }
    }
}

/// Returns an error with its causes.
fn describe(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            let _infallible = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn files_are_stored_below_their_batch() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("new store");
        let url = url::Url::from_file_path(&root).unwrap();
        let store = ArtifactStore::open(url.as_str()).unwrap();
        store
            .put("b", "patches/a b.patch", b"one".to_vec())
            .await
            .unwrap();
        store
            .put("b", "patches/a b.patch", b"two".to_vec())
            .await
            .unwrap();
        assert_eq!(store.get("b", "patches/a b.patch").await.unwrap(), b"two");
        assert_eq!(
            std::fs::read(root.join("b/patches/a b.patch")).unwrap(),
            b"two"
        );
        let error = store.get("b", "missing").await.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot read missing in the store file:"),
            "{error}"
        );
        assert_eq!(store.check().await.unwrap(), url.as_str());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(root.metadata().unwrap().permissions().mode() & 0o077, 0);
        }
    }

    #[test]
    fn other_urls_are_errors() {
        for url in ["srv/pi", "file://host.example/x", "gopher://x"] {
            let error = ArtifactStore::open(url).err().unwrap();
            assert!(error.to_string().contains(url), "{error}");
        }
    }
}
