//! The contents of files, by their SHA-256, compressed. A content is verified when it is read, so writing it needs no
//! sync: after a power failure it is missing, not wrong.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use pi_fs::atomic_file::{Durability, FileReplacement};
use pi_fs::{NewFileMode, TemporaryNames};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Subdirectory with one file per content.
const CONTENTS: &str = "contents";

/// The SHA-256 of a content in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ContentId(String);

impl ContentId {
    pub(crate) fn of(contents: &[u8]) -> Self {
        Self(pi_protocol::hex(&Sha256::digest(contents)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ContentId {
    type Error = String;

    /// Accepts only hashes: the ID becomes the name of a file.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err(format!("not a SHA-256: {text}"))
        }
    }
}

#[derive(Debug)]
pub(crate) struct ContentStore {
    directory: PathBuf,
    max_bytes: u64,
    /// Bytes on disk; `None` until something is stored.
    used: Option<u64>,
}

impl ContentStore {
    pub(crate) fn new(history: &Path, max_bytes: u64) -> Self {
        Self {
            directory: history.join(CONTENTS),
            max_bytes,
            used: None,
        }
    }

    fn path(&self, id: &ContentId) -> PathBuf {
        self.directory.join(&id.0)
    }

    pub(crate) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    pub(crate) fn contains(&self, id: &ContentId) -> bool {
        self.path(id).is_file()
    }

    /// Stores a content, unless it is larger than the store may become.
    pub(crate) fn put(&mut self, contents: &[u8]) -> io::Result<()> {
        let id = ContentId::of(contents);
        if self.contains(&id) {
            return Ok(());
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(contents)?;
        let packed = encoder.finish()?;
        let size = packed.len() as u64;
        if size > self.max_bytes {
            return Ok(());
        }
        pi_fs::private::create_directory(&self.directory)?;
        let used = self.used()?;
        let replacement = FileReplacement {
            new_file: NewFileMode::Private,
            names: TemporaryNames::OfTarget,
            durability: Durability::Cache,
        };
        let fill = |file: &mut dyn io::Write| file.write_all(&packed);
        replacement.run(&self.path(&id), fill, |_| Ok::<(), io::Error>(()))?;
        self.used = Some(used + size);
        Ok(())
    }

    /// Returns a content; `None` if it is not stored or damaged.
    pub(crate) fn get(&self, id: &ContentId) -> io::Result<Option<Vec<u8>>> {
        let packed = match fs::File::open(self.path(id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut contents = Vec::new();
        let unpacked = DeflateDecoder::new(io::BufReader::new(packed)).read_to_end(&mut contents);
        let is_sound = unpacked.is_ok() && ContentId::of(&contents) == *id;
        Ok(is_sound.then_some(contents))
    }

    fn used(&mut self) -> io::Result<u64> {
        if let Some(used) = self.used {
            return Ok(used);
        }
        let sizes = self.sizes()?;
        let used = sizes.values().sum();
        self.used = Some(used);
        Ok(used)
    }

    pub(crate) fn is_over_limit(&mut self) -> io::Result<bool> {
        Ok(self.used()? > self.max_bytes)
    }

    /// Removes contents in the given order until the store fits its limit.
    pub(crate) fn prune(&mut self, order: impl IntoIterator<Item = ContentId>) -> io::Result<()> {
        let sizes = self.sizes()?;
        let mut used: u64 = sizes.values().sum();
        for id in order {
            if used <= self.max_bytes {
                break;
            }
            if let Some(size) = sizes.get(&id) {
                fs::remove_file(self.path(&id))?;
                used = used.saturating_sub(*size);
            }
        }
        self.used = Some(used);
        Ok(())
    }

    pub(crate) fn remove(&mut self, id: &ContentId) -> io::Result<()> {
        self.used = None;
        fs::remove_file(self.path(id))
    }

    /// Returns the stored contents with their sizes on disk.
    pub(crate) fn sizes(&self) -> io::Result<HashMap<ContentId, u64>> {
        let listing = match fs::read_dir(&self.directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
            Err(error) => return Err(error),
        };
        let mut sizes = HashMap::new();
        for file in listing {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            // Others are temporary files of a writer.
            if let (Ok(id), Ok(metadata)) = (ContentId::try_from(name), file.metadata()) {
                sizes.insert(id, metadata.len());
            }
        }
        Ok(sizes)
    }
}
