//! What the tools `edit` and `write` change: the path of a call, and the lines of its result.

use pi_protocol::json::JsonObject;
use serde_json::Value;

use crate::dialogs::ReviewHunk;
use crate::diff_view::DiffHunk;

/// A call that changes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCall {
    /// As the model wrote it.
    pub path: String,
    /// What `write` was called with.
    contents: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl FileCall {
    /// Returns `None` for tools that change no file.
    pub fn new(tool: &str, arguments: &JsonObject) -> Option<Self> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let contents = match tool {
            "edit" => None,
            "write" => text("content").map(str::to_owned),
            _ => return None,
        };
        let path = text("path").or_else(|| text("file_path"))?.to_owned();
        Some(Self { path, contents })
    }

    /// Returns what the call has changed, by the details of its result.
    pub(crate) fn change(self, details: Option<&Value>) -> FileChange {
        let (added, removed) = match diff_of(details) {
            Some(diff) => {
                let count = |sign| diff.lines().filter(|line| line.starts_with(sign)).count();
                (count('+'), count('-'))
            }
            None => (self.contents.map_or(0, |it| it.lines().count()), 0),
        };
        FileChange {
            path: self.path,
            added,
            removed,
        }
    }

    /// Returns the changes one by one, by the details of the call's result.
    pub fn hunks(&self, details: Option<&Value>, is_recent: bool) -> Vec<ReviewHunk> {
        let diff = diff_of(details);
        let hunks = match (diff, &self.contents) {
            (Some(diff), _) => DiffHunk::split(diff),
            (None, Some(contents)) => DiffHunk::written(contents).into_iter().collect(),
            (None, None) => Vec::new(),
        };
        let hunks = hunks.into_iter();
        hunks
            .map(|hunk| ReviewHunk {
                hunk,
                is_recent,
                is_whole_file: diff.is_none(),
                is_reverted: false,
            })
            .collect()
    }
}

fn diff_of(details: Option<&Value>) -> Option<&str> {
    details?.get("diff")?.as_str()
}
