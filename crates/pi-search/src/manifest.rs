//! What an index contains: its segments, and how far every session file was read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::directory::IndexDirectory;
use crate::error::SearchError;

/// Changes when the format, the words or the searched text change; other versions are rebuilt.
const VERSION: u32 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    version: u32,
    /// The number of the next session file. Numbers are not reused.
    next_file: u32,
    next_segment: u32,
    pub(crate) segments: Vec<SegmentRecord>,
    /// By path.
    pub(crate) files: BTreeMap<PathBuf, FileRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentRecord {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) documents: u32,
}

/// The state of a session file when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    /// Documents belong to this number; a file that was rewritten gets another one.
    pub(crate) number: u32,
    pub(crate) length: u64,
    pub(crate) modified_ns: u64,
    /// Where the next line starts.
    pub(crate) indexed: u64,
    /// Checksum of the start of the file and of what precedes `indexed`.
    pub(crate) sample: u32,
    /// Of the session.
    pub(crate) id: String,
    pub(crate) cwd: String,
    /// The name of the session, otherwise the start of its first prompt.
    pub(crate) title: Option<String>,
    pub(crate) is_named: bool,
    /// Whether the settings leave it out.
    pub(crate) is_excluded: bool,
    /// Documents in all segments.
    pub(crate) documents: u32,
}

impl Manifest {
    fn new() -> Self {
        Self {
            version: VERSION,
            ..Self::default()
        }
    }

    /// Reads the manifest; without one, the index is empty.
    pub(crate) fn read(directory: &IndexDirectory) -> Result<Self, SearchError> {
        let Some(content) = directory.read_manifest()? else {
            return Ok(Self::new());
        };
        let damaged = SearchError::damaged("the manifest");
        let Some((checksum, content)) = content.split_first_chunk::<4>() else {
            return Err(damaged);
        };
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(damaged);
        }
        match serde_json::from_slice::<Self>(content) {
            Ok(manifest) if manifest.version == VERSION => Ok(manifest),
            _ => Err(SearchError::damaged("the version")),
        }
    }

    pub(crate) fn write(&self, directory: &IndexDirectory) -> Result<(), SearchError> {
        let json = serde_json::to_vec(self)
            .map_err(|error| directory.error(std::io::Error::other(error)))?;
        let mut content = crc32fast::hash(&json).to_le_bytes().to_vec();
        content.extend(json);
        directory.write_manifest(&content)
    }

    pub(crate) fn take_file_number(&mut self) -> u32 {
        let number = self.next_file;
        self.next_file = self.next_file.saturating_add(1);
        number
    }

    /// Returns a name for a segment. The process ID keeps two processes apart that update without locks.
    pub(crate) fn take_segment_name(&mut self) -> String {
        let number = self.next_segment;
        self.next_segment = self.next_segment.saturating_add(1);
        format!("{number}-{}", std::process::id())
    }
}
