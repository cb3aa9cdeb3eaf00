//! `mcp-auth.json`: the OAuth state of MCP servers, shared with other processes and the TypeScript pi.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file, private};
use pi_protocol::json::JsonObject;
use pi_protocol::{hex, mcp_namespace};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::json_text;
use crate::locked_file::acquire_lock;
use crate::regular_file::{MAX_STORED_BYTES, read_bytes};

/// A refresh waits for the network; a lock whose holder was killed is taken over.
const REFRESH_LOCK: LockTiming = LockTiming {
    stale: Duration::from_secs(20),
    patience: Duration::from_secs(25),
    max_delay: Duration::from_millis(100),
    renewal: Some(Duration::from_secs(4)),
};

#[derive(Debug, Clone, thiserror::Error)]
pub enum McpAuthFileError {
    #[error("cannot read {}: {problem}\nFix the file or remove it.", file.display())]
    Unreadable { file: PathBuf, problem: String },
    #[error("cannot use {}: {problem}", file.display())]
    Io { file: PathBuf, problem: String },
    #[error("{} is locked by another process; try again", file.display())]
    Locked { file: PathBuf },
}

/// The stored state of one server. Clones refer to the same entry.
#[derive(Debug, Clone)]
pub struct McpAuthEntry {
    file: Arc<Path>,
    key: String,
    /// The key that older versions used; the first server with its URL takes it over.
    older_key: String,
}

impl McpAuthEntry {
    /// Returns the entry of a server with a normalized URL.
    pub fn new(file: &Path, server: &str, url: &str) -> Self {
        Self {
            file: file.into(),
            key: format!("{}|{url}", mcp_namespace(server)),
            older_key: url.to_owned(),
        }
    }

    /// Returns the stored state.
    pub async fn load(&self) -> Result<Option<JsonObject>, McpAuthFileError> {
        let states = self.read().await?;
        if states.contains_key(&self.key) || !states.contains_key(&self.older_key) {
            return Ok(states.get(&self.key).and_then(Value::as_object).cloned());
        }
        self.change(|state| state.clone()).await
    }

    /// Returns the stored tokens without taking over an older entry.
    pub fn tokens(&self) -> Option<Value> {
        let states = read_states(&self.file).ok()?;
        let state = states
            .get(&self.key)
            .or_else(|| states.get(&self.older_key))?;
        state.get("tokens").cloned()
    }

    /// Changes the state under the lock; `None` removes it.
    pub async fn change<Outcome: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Option<JsonObject>) -> Outcome + Send + 'static,
    ) -> Result<Outcome, McpAuthFileError> {
        self.create_directory().await?;
        let lock = self.lock(&self.file, LockTiming::CREDENTIALS).await?;
        let entry = self.clone();
        self.blocking(move || {
            let _lock = lock;
            let mut states = read_states(&entry.file)?;
            let older = states.shift_remove(&entry.older_key);
            let known = states.get(&entry.key).cloned().or(older);
            let mut state = match known {
                Some(Value::Object(state)) => Some(state),
                _ => None,
            };
            let outcome = change(&mut state);
            match state {
                Some(state) => drop(states.insert(entry.key.clone(), Value::Object(state))),
                None => drop(states.shift_remove(&entry.key)),
            }
            entry.write(&states)?;
            Ok(outcome)
        })
        .await
    }

    /// Acquires the lock for a refresh, which one process makes at a time.
    pub async fn lock_refresh(&self) -> Result<LockDir, McpAuthFileError> {
        self.create_directory().await?;
        let hash = Sha256::digest(self.key.as_bytes());
        let name = format!("mcp-auth-refresh-{}", hex(hash.get(..8).unwrap_or(&hash)));
        let file = self.file.with_file_name(name);
        self.lock(&file, REFRESH_LOCK).await
    }

    async fn lock(&self, file: &Path, timing: LockTiming) -> Result<LockDir, McpAuthFileError> {
        let locked = acquire_lock(file, timing).await;
        locked.map_err(|error| match error {
            LockError::Held => McpAuthFileError::Locked {
                file: self.file.to_path_buf(),
            },
            LockError::Io(error) => self.io_error(&error),
        })
    }

    async fn read(&self) -> Result<JsonObject, McpAuthFileError> {
        let file = Arc::clone(&self.file);
        self.blocking(move || read_states(&file)).await
    }

    fn write(&self, states: &JsonObject) -> Result<(), McpAuthFileError> {
        let text = json_text::to_text(states).map_err(io::Error::other);
        let written = text.and_then(|mut text| {
            text.push(b'\n');
            atomic_file::write(&self.file, &text, NewFileMode::Private)
        });
        written.map_err(|error| self.io_error(&error))
    }

    async fn create_directory(&self) -> Result<(), McpAuthFileError> {
        let entry = self.clone();
        self.blocking(move || match entry.file.parent() {
            Some(directory) => {
                private::create_directory(directory).map_err(|error| entry.io_error(&error))
            }
            None => Ok(()),
        })
        .await
    }

    fn io_error(&self, error: &io::Error) -> McpAuthFileError {
        McpAuthFileError::Io {
            file: self.file.to_path_buf(),
            problem: error.to_string(),
        }
    }

    async fn blocking<Outcome: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<Outcome, McpAuthFileError> + Send + 'static,
    ) -> Result<Outcome, McpAuthFileError> {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(self.io_error(&io::Error::other(error))))
    }
}

fn read_states(file: &Path) -> Result<JsonObject, McpAuthFileError> {
    let unreadable = |problem: String| McpAuthFileError::Unreadable {
        file: file.to_owned(),
        problem,
    };
    let bytes =
        read_bytes(file, MAX_STORED_BYTES).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes.unwrap_or_default())
        .map_err(|_invalid| unreadable("not valid UTF-8".to_owned()))?;
    json_text::parse(text.trim()).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn store(path: &Path, text: &str) {
        let mut file = std::fs::File::create(path).unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }

    #[tokio::test]
    async fn servers_with_the_same_url_have_separate_entries() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mcp-auth.json");
        let entry = |name| McpAuthEntry::new(&file, name, "https://h/");
        let put = |name: &'static str| async move {
            let state = json!({"tokens": name}).as_object().cloned();
            entry(name)
                .change(move |known| *known = state)
                .await
                .unwrap();
        };
        put("a").await;
        put("b").await;
        assert_eq!(entry("a").tokens(), Some(json!("a")));
        assert_eq!(entry("b").tokens(), Some(json!("b")));
        entry("a").change(|known| *known = None).await.unwrap();
        assert_eq!(entry("a").load().await.unwrap(), None);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.ends_with("}\n"), "{text}");
    }

    #[tokio::test]
    async fn the_first_user_takes_over_an_older_entry() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mcp-auth.json");
        store(&file, r#"{"https://h/": {"tokens": 1}}"#);
        let entry = |name| McpAuthEntry::new(&file, name, "https://h/");
        assert_eq!(entry("a").tokens(), Some(json!(1)));
        assert!(entry("a").load().await.unwrap().is_some());
        assert_eq!(entry("b").load().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_malformed_file_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mcp-auth.json");
        store(&file, "{oops");
        let entry = McpAuthEntry::new(&file, "a", "https://h/");
        entry.load().await.unwrap_err();
        entry.change(|known| *known = None).await.unwrap_err();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{oops");
    }
}
