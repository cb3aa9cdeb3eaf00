//! Reads a record: a session file, or the one in the archive of a bug report.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use pi_env::Env;
use pi_fs::private::PrivateTempDir;
use pi_protocol::{AgentMessage, EntryBody};
use pi_session::{AccessMode, OpenSession, Session, SessionError};
use thiserror::Error;

use super::comparison::message_of;
use crate::bug_report::REPLAY_FILE;

/// Maximum size of an unpacked record.
const MAX_RECORD_SIZE: u64 = 256 << 20;

/// Maximum number of archive members to inspect; a report has only a few.
const MAX_FILES: usize = 64;

/// Magic number of gzip files.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} contains no {REPLAY_FILE}: the report does not include the conversation", .0.display())]
    NotThere(PathBuf),
    #[error("the record in {} is larger than 256 MiB", .0.display())]
    TooLarge(PathBuf),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A recorded conversation: prompts, responses and results, in order.
#[derive(Debug)]
pub(super) struct RecordedConversation {
    pub(super) messages: Vec<AgentMessage>,
    /// Indexes of messages that follow an extension message.
    pub(super) after_extension: Vec<usize>,
}

impl RecordedConversation {
    pub(super) fn read(path: &Path, env: &Env) -> Result<Self, RecordError> {
        let unreadable = |source| RecordError::Unreadable {
            path: path.to_owned(),
            source,
        };
        if !path.is_file() {
            let kind = if path.exists() {
                io::Error::other("not a regular file")
            } else {
                io::Error::new(io::ErrorKind::NotFound, "file not found")
            };
            return Err(unreadable(kind));
        }
        let mut file = File::open(path).map_err(unreadable)?;
        let mut beginning = [0; 2];
        let is_archive = file.read_exact(&mut beginning).is_ok() && beginning == GZIP_MAGIC;
        if !is_archive {
            return Self::of_session(path, env);
        }
        let directory = PrivateTempDir::create("pi-replay").map_err(unreadable)?;
        let unpacked = directory.path().join(REPLAY_FILE);
        unpack(path, &unpacked)?;
        Self::of_session(&unpacked, env)
    }

    fn of_session(path: &Path, env: &Env) -> Result<Self, RecordError> {
        let session = Session::open(
            path,
            OpenSession {
                access: AccessMode::Read,
                env: env.clone(),
                ..OpenSession::default()
            },
        )?;
        let entries = session.current_branch().entries()?;
        let mut record = Self {
            messages: Vec::new(),
            after_extension: Vec::new(),
        };
        for entry in &entries {
            match (message_of(entry), &entry.body) {
                (Some(message), _) => record.messages.push(message.clone()),
                (None, EntryBody::CustomMessage(_)) => {
                    record.after_extension.push(record.messages.len());
                }
                (None, _) => {}
            }
        }
        Ok(record)
    }
}

/// Extracts the record from an archive; nothing else is unpacked.
fn unpack(archive: &Path, to: &Path) -> Result<(), RecordError> {
    let unreadable = |source| RecordError::Unreadable {
        path: archive.to_owned(),
        source,
    };
    let file = File::open(archive).map_err(unreadable)?;
    let mut archive_reader = tar::Archive::new(GzDecoder::new(file).take(2 * MAX_RECORD_SIZE));
    let entries = archive_reader.entries().map_err(unreadable)?;
    for entry in entries.take(MAX_FILES) {
        let entry = entry.map_err(unreadable)?;
        let is_record = entry
            .path()
            .is_ok_and(|path| path.file_name().is_some_and(|name| name == REPLAY_FILE));
        if !is_record || !entry.header().entry_type().is_file() {
            continue;
        }
        if entry.size() > MAX_RECORD_SIZE {
            return Err(RecordError::TooLarge(archive.to_owned()));
        }
        let mut out = File::create_new(to).map_err(unreadable)?;
        io::copy(&mut entry.take(MAX_RECORD_SIZE), &mut out).map_err(unreadable)?;
        return out.flush().map_err(unreadable);
    }
    Err(RecordError::NotThere(archive.to_owned()))
}
