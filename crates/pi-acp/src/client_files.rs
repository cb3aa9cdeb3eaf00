//! Reads files through the client, which may have unsaved changes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_host::OpenBuffers;
use serde_json::{Value, json};

use crate::connection::Connection;

/// A client that does not answer in time is ignored.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// The buffers of the client for one session. Created before the session; cheap to clone.
#[derive(Clone)]
pub(crate) struct ClientFiles {
    connection: Connection,
    /// The directories of the session; other files are read from disk.
    roots: Arc<[PathBuf]>,
    /// Set once the client knows the session.
    session_id: Arc<Mutex<Option<String>>>,
}

impl ClientFiles {
    pub(crate) fn new(connection: Connection, roots: Vec<PathBuf>) -> Self {
        Self {
            connection,
            roots: roots.into(),
            session_id: Arc::default(),
        }
    }

    pub(crate) fn set_session(&self, id: &str) {
        let mut session_id = self
            .session_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *session_id = Some(id.to_owned());
    }

    async fn read(&self, path: &Path) -> Option<String> {
        if !self.roots.iter().any(|root| path.starts_with(root)) {
            return None;
        }
        let session_id = {
            let session_id = self
                .session_id
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            session_id.clone()?
        };
        let params = json!({"sessionId": session_id, "path": path.to_str()?});
        let reading = self.connection.request("fs/read_text_file", params);
        let read = tokio::time::timeout(READ_TIMEOUT, reading).await;
        let content = read.ok()?.ok()?;
        content
            .get("content")
            .and_then(Value::as_str)
            .map(str::to_owned)
    }
}

impl OpenBuffers for ClientFiles {
    fn text<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.read(path))
    }
}
