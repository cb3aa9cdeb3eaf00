//! The index of changes: one JSON line per change, appended after the contents it refers to are stored.
//!
//! A line that a killed process wrote in part is ignored, and the next writer starts a new line after it. Several
//! processes may append: each write is one line, and readers continue where they stopped.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use pi_protocol::EntryId;
use serde::{Deserialize, Serialize};

use crate::file_state::FileState;
use crate::path_text;

const INDEX: &str = "index.jsonl";

/// A change of one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The entry of the session after which the path is in the new state; `None` for a restored file, which belongs to
    /// no entry.
    pub entry: Option<EntryId>,
    /// The user message whose answer made the change.
    pub turn: Option<EntryId>,
    #[serde(with = "path_text")]
    pub path: PathBuf,
    pub before: FileState,
    pub after: FileState,
    #[serde(flatten)]
    pub source: ChangeSource,
}

/// What made a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum ChangeSource {
    /// A tool call; its result is the entry once the result is stored.
    Tool {
        call: String,
        /// Whether the entry is that of the result. Providers may use the ID of a call again in the next response.
        #[serde(skip)]
        is_bound: bool,
    },
    /// Something else between two changes of pi: the user, an editor, another program.
    Other,
    /// Nothing: the session moved in its tree and the files stayed as they were.
    Move,
    /// The files became what they were at an entry; `None` if only some of them were restored.
    Restore {
        #[serde(default)]
        to: Option<EntryId>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum IndexLine {
    /// The result of a tool call is stored.
    Bound {
        bound: String,
        turn: EntryId,
        to: EntryId,
    },
    Change(Box<Change>),
}

#[derive(Debug)]
pub(crate) struct ChangeIndex {
    path: PathBuf,
    changes: Vec<Change>,
    /// Offset after the last complete line.
    read_to: u64,
    /// The file ends with an incomplete line.
    is_torn: bool,
    invalid_lines: usize,
}

impl ChangeIndex {
    pub(crate) fn open(history: &Path) -> io::Result<Self> {
        let mut index = Self {
            path: history.join(INDEX),
            changes: Vec::new(),
            read_to: 0,
            is_torn: false,
            invalid_lines: 0,
        };
        index.refresh()?;
        Ok(index)
    }

    /// All changes, oldest first.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(crate) fn invalid_lines(&self) -> usize {
        self.invalid_lines + usize::from(self.is_torn)
    }

    /// Reads what was appended since the last call.
    pub(crate) fn refresh(&mut self) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.forget();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() < self.read_to {
            self.forget();
        }
        file.seek(SeekFrom::Start(self.read_to))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        self.is_torn = false;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if line.ends_with(b"\n") {
                self.read_to += line.len() as u64;
                self.apply(line);
            } else {
                self.is_torn = true;
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.changes.clear();
        self.read_to = 0;
        self.is_torn = false;
        self.invalid_lines = 0;
    }

    fn apply(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(IndexLine::Change(change)) => self.changes.push(*change),
            Ok(IndexLine::Bound { bound, turn, to }) => {
                for change in &mut self.changes {
                    if let ChangeSource::Tool { call, is_bound } = &mut change.source
                        && *call == bound
                        && change.turn.as_ref() == Some(&turn)
                        && !*is_bound
                    {
                        *is_bound = true;
                        change.entry = Some(to.clone());
                    }
                }
            }
            Err(_) => self.invalid_lines += 1,
        }
    }

    pub(crate) fn append(&mut self, change: Change) -> io::Result<()> {
        self.write(&IndexLine::Change(Box::new(change)))
    }

    /// Binds the changes of a tool call to the entry with its result.
    pub(crate) fn bind(&mut self, call: &str, turn: &EntryId, entry: &EntryId) -> io::Result<()> {
        self.write(&IndexLine::Bound {
            bound: call.to_owned(),
            turn: turn.clone(),
            to: entry.clone(),
        })
    }

    fn write(&mut self, line: &IndexLine) -> io::Result<()> {
        let mut text = Vec::new();
        if self.is_torn {
            text.push(b'\n');
        }
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
        if let Some(directory) = self.path.parent() {
            pi_fs::private::create_directory(directory)?;
        }
        pi_fs::private::open_for_append(&self.path)?.write_all(&text)?;
        self.refresh()
    }
}
