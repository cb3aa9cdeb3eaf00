//! Files that remember something about each MCP server: an object of objects, shared with other processes.

use std::path::{Path, PathBuf};

use pi_fs::NewFileMode;
use pi_protocol::json::JsonObject;
use serde_json::Value;

use crate::object_file::{self, ChangeError, FileEnding, LockedObject};

#[derive(Debug, thiserror::Error)]
pub enum McpRecordsError {
    #[error("cannot read {}: {problem}\nFix the file or remove it.", file.display())]
    Unreadable { file: PathBuf, problem: String },
    #[error("cannot write {}: {problem}\nTry again.", file.display())]
    Write { file: PathBuf, problem: String },
}

/// A file with a record per server.
#[derive(Debug, Clone)]
pub struct McpRecords(PathBuf);

impl McpRecords {
    pub fn new(file: PathBuf) -> Self {
        Self(file)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the record of a server.
    pub fn read(&self, key: &str) -> Result<Option<JsonObject>, McpRecordsError> {
        let records = object_file::read(&self.0).map_err(|error| self.unreadable(&error))?;
        match records.and_then(|mut records| records.shift_remove(key)) {
            None => Ok(None),
            Some(Value::Object(record)) => Ok(Some(record)),
            Some(_) => Err(self.unreadable(&format!("\"{key}\" must be an object"))),
        }
    }

    /// Changes the record of a server under the lock of the file. `change` returns whether to write it.
    pub fn change(
        &self,
        key: &str,
        change: impl FnOnce(&mut JsonObject) -> bool,
    ) -> Result<(), McpRecordsError> {
        let mut file = LockedObject::open(&self.0, NewFileMode::Private)
            .map_err(|error| self.change_failed(&error))?;
        let entry = file.object.entry(key);
        let entry = entry.or_insert_with(|| Value::Object(JsonObject::default()));
        let Value::Object(record) = entry else {
            return Err(self.unreadable(&format!("\"{key}\" must be an object")));
        };
        if !change(record) {
            return Ok(());
        }
        let written = file.write(FileEnding::Newline);
        written.map_err(|error| self.change_failed(&error))
    }

    fn unreadable(&self, problem: &dyn std::fmt::Display) -> McpRecordsError {
        McpRecordsError::Unreadable {
            file: self.0.clone(),
            problem: problem.to_string(),
        }
    }

    fn change_failed(&self, error: &ChangeError) -> McpRecordsError {
        match error {
            ChangeError::Unreadable(problem) => self.unreadable(problem),
            ChangeError::Locked | ChangeError::Io(_) => McpRecordsError::Write {
                file: self.0.clone(),
                problem: error.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn records_are_kept_apart() {
        let home = tempfile::tempdir().unwrap();
        let records = McpRecords::new(home.path().join("agent/records.json"));
        assert_eq!(records.read("a").unwrap(), None);
        let set = |value: u64| {
            move |record: &mut JsonObject| {
                record.insert("x".to_owned(), value.into());
                true
            }
        };
        records.change("a", set(1)).unwrap();
        records.change("b", set(2)).unwrap();
        records.change("b", |_| false).unwrap();
        let read = |key: &str| records.read(key).unwrap().map(Value::Object);
        assert_eq!(read("a"), Some(json!({"x": 1})));
        assert_eq!(read("b"), Some(json!({"x": 2})));
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("records.json");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let records = McpRecords::new(path.clone());
                scope.spawn(move || {
                    for number in 0..5 {
                        let add = |record: &mut JsonObject| {
                            record.insert(format!("{writer} {number}"), true.into());
                            true
                        };
                        // The lock is not waited for without end.
                        assert!((0..100).any(|_| records.change("shared", add).is_ok()));
                    }
                });
            }
        });
        let record = McpRecords::new(path).read("shared").unwrap().unwrap();
        assert_eq!(record.len(), 20);
    }

    #[test]
    fn a_malformed_file_is_reported_and_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("records.json");
        pi_fs::atomic_file::write(&path, b"{ nope", NewFileMode::Private).unwrap();
        let records = McpRecords::new(path.clone());
        assert!(records.read("a").is_err());
        assert!(records.change("a", |_| true).is_err());
        assert_eq!(std::fs::read(path).unwrap(), b"{ nope");
    }
}
