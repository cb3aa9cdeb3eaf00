//! Reads and writes files through the client, which may have unsaved changes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_host::OpenBuffers;
use pi_protocol::settings::ClientFileAccess;
use serde_json::{Value, json};

use crate::capabilities::ClientCapabilities;
use crate::connection::Connection;

/// A client that does not answer in time is ignored.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// A client may format a file before it saves it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The buffers of the client for one session. Created before the session; cheap to clone.
#[derive(Clone)]
pub(crate) struct ClientFiles(Arc<ClientFilesState>);

struct ClientFilesState {
    connection: Connection,
    reads: bool,
    writes: bool,
    /// The directories of the session; other files are on disk only.
    roots: Vec<PathBuf>,
    /// Set once the client knows the session.
    session_id: Mutex<Option<String>>,
    /// What the client has written for calls that have not ended yet.
    written: Mutex<HashMap<PathBuf, String>>,
}

impl ClientFiles {
    /// Returns the buffers of a client; `None` if it has none, or the user does not want to use them.
    pub(crate) fn new(
        connection: Connection,
        client: ClientCapabilities,
        access: ClientFileAccess,
        roots: Vec<PathBuf>,
    ) -> Option<Self> {
        let reads = client.reads_files && access != ClientFileAccess::Off;
        let writes = client.writes_files && access == ClientFileAccess::Write;
        (reads || writes).then(|| {
            Self(Arc::new(ClientFilesState {
                connection,
                reads,
                writes,
                roots,
                session_id: Mutex::default(),
                written: Mutex::default(),
            }))
        })
    }

    pub(crate) fn set_session(&self, id: &str) {
        *self.0.session_id.lock() = Some(id.to_owned());
    }

    /// Returns the text that the client has written to a file since the last call.
    pub(crate) fn take_written(&self, path: &Path) -> Option<String> {
        let mut written = self.0.written.lock();
        if written.is_empty() {
            return None;
        }
        let text = written.remove(path);
        text.or_else(|| written.remove(&std::fs::canonicalize(path).ok()?))
    }

    /// Returns the parameters of a request about a file of the session.
    fn params(&self, path: &Path) -> Option<Value> {
        let state = &*self.0;
        if !state.roots.iter().any(|root| path.starts_with(root)) {
            return None;
        }
        let session_id = state.session_id.lock().clone()?;
        Some(json!({"sessionId": session_id, "path": path.to_str()?}))
    }

    async fn request(&self, method: &str, params: Value, limit: Duration) -> Option<Value> {
        let asking = self.0.connection.request(method, params);
        let answer = tokio::time::timeout(limit, asking).await.ok()?;
        if let Err(error) = &answer {
            tracing::debug!(error = error.message, method, "the client refused a file");
        }
        answer.ok()
    }

    async fn read(&self, path: &Path) -> Option<String> {
        let params = self.0.reads.then(|| self.params(path))??;
        let reading = self.request("fs/read_text_file", params, READ_TIMEOUT);
        let content = reading.await?;
        let text = content.get("content").and_then(Value::as_str);
        text.map(str::to_owned)
    }

    async fn write(&self, path: &Path, text: &str) -> bool {
        let Some(mut params) = self.0.writes.then(|| self.params(path)).flatten() else {
            return false;
        };
        if let Some(params) = params.as_object_mut() {
            params.insert("content".to_owned(), text.into());
        }
        let writing = self.request("fs/write_text_file", params, WRITE_TIMEOUT);
        let is_written = writing.await.is_some();
        let mut written = self.0.written.lock();
        if is_written {
            written.insert(path.to_owned(), text.to_owned());
        } else {
            written.remove(path);
        }
        drop(written);
        is_written
    }
}

impl OpenBuffers for ClientFiles {
    fn text<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.read(path))
    }

    fn replace<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(self.write(path, text))
    }
}
