//! `trust.json`: saved trust decisions by directory. The decision for the nearest ancestor applies.

use std::io;
use std::path::{Path, PathBuf};

use pi_fs::NewFileMode;
use pi_protocol::{SavedTrust, TrustChoice};
use serde_json::{Map, Value};

use super::{access_of, canonical};
use crate::AgentDir;
use crate::object_file::{self, ChangeError, FileEnding, LockedObject};
use crate::regular_file::ReadFileError;

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file is malformed; it is not overwritten either.
    #[error("cannot read trust decisions: {}: {problem}\nFix the file or remove it.", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        problem: ReadFileError,
    },
    #[error("cannot save trust decision: {}: locked by another process\nTry again.", file.display())]
    Locked { file: PathBuf },
    #[error("cannot save trust decision: {}: {source}", file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    /// JSON cannot represent the path.
    #[error("cannot save trust decision: {}: path is not valid UTF-8", dir.display())]
    NonUtf8Path { dir: PathBuf },
}

/// A change to the saved decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustUpdate {
    dir: PathBuf,
    decision: Option<bool>,
}

impl TrustUpdate {
    /// Returns the updates that save a choice; none for a choice that holds until the process exits.
    pub fn of_choice(choice: &TrustChoice) -> Vec<Self> {
        match choice {
            TrustChoice::Trust { dir } => vec![Self::trust(dir)],
            TrustChoice::TrustParent { parent, dir } => {
                vec![Self::trust(parent), Self::forget(dir)]
            }
            TrustChoice::Deny { dir } => vec![Self::deny(dir)],
            TrustChoice::TrustOnce | TrustChoice::DenyOnce => Vec::new(),
        }
    }

    /// Trusts the directory and everything below it.
    pub fn trust(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            decision: Some(true),
        }
    }

    pub fn deny(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            decision: Some(false),
        }
    }

    /// Removes the decision for the directory; an ancestor's may still apply.
    pub fn forget(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            decision: None,
        }
    }
}

/// The user's saved decisions.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
}

impl TrustStore {
    /// Does not access the file yet.
    pub fn new(agent_dir: &AgentDir) -> Self {
        Self {
            file: agent_dir.trust_file(),
        }
    }

    /// Returns the decision for a directory or its nearest ancestor with one.
    pub fn nearest(&self, dir: &Path) -> Result<Option<SavedTrust>, TrustError> {
        let unreadable = |problem| TrustError::Unreadable {
            file: self.file.clone(),
            problem,
        };
        let decisions = object_file::read(&self.file)
            .and_then(|object| validate(object.unwrap_or_default()))
            .map_err(unreadable)?;
        Ok(canonical(dir).ancestors().find_map(|dir| {
            // A path that is not UTF-8 is never saved, and must not match its lossy form.
            let trusted = decisions.get(dir.to_str()?)?.as_bool()?;
            Some(SavedTrust {
                dir: dir.to_owned(),
                access: access_of(trusted),
            })
        }))
    }

    /// Saves all updates, or none if one fails.
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
            validate(std::mem::take(&mut locked.object)).map_err(ChangeError::Unreadable)?;
        for (dir, decision) in changes {
            match decision {
                Some(trusted) => decisions.insert(dir.clone(), Value::Bool(*trusted)),
                None => decisions.shift_remove(dir),
            };
        }
        let mut sorted: Vec<_> = decisions.into_iter().collect();
        // JavaScript's sort order, so both programs write the same order.
        pi_protocol::sort_by(&mut sorted, |(one, _), (other, _)| {
            one.encode_utf16().cmp(other.encode_utf16())
        });
        locked.object = sorted.into_iter().collect();
        locked.write(FileEnding::Newline)
    }
}

/// Checks that every value is a decision.
fn validate(decisions: Map<String, Value>) -> Result<Map<String, Value>, ReadFileError> {
    match decisions
        .iter()
        .find(|(_, value)| !matches!(value, Value::Bool(_) | Value::Null))
    {
        None => Ok(decisions),
        Some((dir, value)) => Err(ReadFileError::Malformed(format!(
            "{dir:?} must be true, false or null, not {}",
            json_type(value)
        ))),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
