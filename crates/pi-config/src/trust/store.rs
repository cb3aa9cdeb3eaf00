//! `trust.json`: directories the user has decided about. The nearest directory above a project counts.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{access_of, canonical};
use crate::atomic_file::NewFileMode;
use crate::object_file::{self, ChangeError, Ending, LockedObject};
use crate::regular_file::ReadFileError;
use crate::{AgentDir, ProjectAccess};

/// Why decisions cannot be read or saved.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read; it is not written either.
    #[error("{} cannot be read: {problem}; correct it or move it away", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        problem: ReadFileError,
    },
    /// Another program holds the file's lock.
    #[error("{} was not changed because another program is changing it; try again", file.display())]
    Locked { file: PathBuf },
    /// The file system refused.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    /// JSON has no way to write the directory's name.
    #[error("the name of {} is not UTF-8, so the decision cannot be saved", dir.display())]
    NonUtf8Path { dir: PathBuf },
}

/// A decision that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedTrust {
    /// The directory it was made about: the project's, or one above it.
    pub dir: PathBuf,
    pub access: ProjectAccess,
}

/// A decision to save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustUpdate {
    dir: PathBuf,
    decision: Option<bool>,
}

impl TrustUpdate {
    /// The user trusts the directory and all in it.
    pub fn trust(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            decision: Some(true),
        }
    }

    /// The user does not trust the directory.
    pub fn deny(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            decision: Some(false),
        }
    }

    /// Nothing is decided about the directory itself.
    pub fn forget(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            decision: None,
        }
    }
}

/// The decisions of a user.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
}

impl TrustStore {
    /// Uses the file of this agent directory. Nothing is read yet.
    pub fn new(agent_dir: &AgentDir) -> Self {
        Self {
            file: agent_dir.trust_file(),
        }
    }

    /// Returns the decision about a directory or the nearest one above it.
    pub fn nearest(&self, dir: &Path) -> Result<Option<SavedTrust>, TrustError> {
        let unreadable = |problem| TrustError::Unreadable {
            file: self.file.clone(),
            problem,
        };
        let decisions = object_file::read(&self.file)
            .and_then(|object| check(object.unwrap_or_default()))
            .map_err(unreadable)?;
        Ok(canonical(dir).ancestors().find_map(|dir| {
            // A name that is not UTF-8 is in no file, and must not match one that looks like it.
            let trusted = decisions.get(dir.to_str()?)?.as_bool()?;
            Some(SavedTrust {
                dir: dir.to_owned(),
                access: access_of(trusted),
            })
        }))
    }

    /// Saves decisions, all of them or none.
    pub fn save(&self, updates: &[TrustUpdate]) -> Result<(), TrustError> {
        if updates.is_empty() {
            return Ok(());
        }
        let mut changes = Vec::new();
        for update in updates {
            let dir = canonical(&update.dir);
            match dir.to_str() {
                Some(name) => changes.push((name.to_owned(), update.decision)),
                None => return Err(TrustError::NonUtf8Path { dir }),
            }
        }
        self.change(&changes).map_err(|error| {
            let file = self.file.clone();
            match error {
                ChangeError::Unreadable(problem) => TrustError::Unreadable { file, problem },
                ChangeError::Locked => TrustError::Locked { file },
                ChangeError::Io(source) => TrustError::Write { file, source },
            }
        })
    }

    fn change(&self, changes: &[(String, Option<bool>)]) -> Result<(), ChangeError> {
        let mut locked = LockedObject::open(&self.file, NewFileMode::Private)?;
        let mut decisions =
            check(std::mem::take(&mut locked.object)).map_err(ChangeError::Unreadable)?;
        for (dir, decision) in changes {
            match decision {
                Some(trusted) => decisions.insert(dir.clone(), Value::Bool(*trusted)),
                None => decisions.shift_remove(dir),
            };
        }
        let mut sorted: Vec<_> = decisions.into_iter().collect();
        // JavaScript's order, so that neither program reorders what the other wrote.
        sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
        locked.object = sorted.into_iter().collect();
        locked.write(Ending::Newline)
    }
}

/// Makes sure that every value is a decision.
fn check(decisions: Map<String, Value>) -> Result<Map<String, Value>, ReadFileError> {
    match decisions
        .iter()
        .find(|(_, value)| !matches!(value, Value::Bool(_) | Value::Null))
    {
        None => Ok(decisions),
        Some((dir, value)) => Err(ReadFileError::Malformed(format!(
            "{dir:?} must be true, false or null, not {}",
            kind(value)
        ))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
