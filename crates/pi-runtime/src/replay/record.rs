//! Reading a record: a session file, or the one inside the archive of a report.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use pi_ai::{AgentMessage, Env};
use pi_session::{AccessMode, EntryBody, OpenSession, Session, SessionError};
use thiserror::Error;

use super::comparison::message_of;
use crate::bug_report::REPLAY_FILE;
use crate::private_directory::PrivateDirectory;

/// The largest record that is unpacked.
const LARGEST_RECORD: u64 = 256 << 20;

/// Files of an archive that are looked at; a report has a handful.
const MOST_FILES: usize = 64;

/// How a compressed file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a record cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The archive holds no record.
    #[error("{} holds no {REPLAY_FILE}: the report was written without the conversation", .0.display())]
    NotThere(PathBuf),
    /// The record in the archive is too large.
    #[error("the record in {} is larger than 256 MiB", .0.display())]
    TooLarge(PathBuf),
    /// The session file is no session.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A recorded conversation: what was said, answered and returned, in order.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) messages: Vec<AgentMessage>,
    /// The places of messages that follow one of an extension.
    pub(super) foreign: Vec<usize>,
}

impl Record {
    /// Reads a record.
    pub(super) fn read(path: &Path, env: &Env) -> Result<Self, RecordError> {
        let unreadable = |source| RecordError::Unreadable {
            path: path.to_owned(),
            source,
        };
        if !path.is_file() {
            let kind = if path.exists() {
                io::Error::other("it is no regular file")
            } else {
                io::Error::new(io::ErrorKind::NotFound, "there is no such file")
            };
            return Err(unreadable(kind));
        }
        let mut file = File::open(path).map_err(unreadable)?;
        let mut beginning = [0; 2];
        let is_archive = file.read_exact(&mut beginning).is_ok() && beginning == GZIP;
        if !is_archive {
            return Self::of_session(path, env);
        }
        let directory = PrivateDirectory::new("pi-replay").map_err(unreadable)?;
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
        let entries = session.branch_entries()?;
        let mut record = Self {
            messages: Vec::new(),
            foreign: Vec::new(),
        };
        for entry in &entries {
            match (message_of(entry), &entry.body) {
                (Some(message), _) => record.messages.push(message.clone()),
                (None, EntryBody::CustomMessage(_)) => record.foreign.push(record.messages.len()),
                (None, _) => {}
            }
        }
        Ok(record)
    }
}

/// Copies the record out of an archive; nothing else of it is unpacked.
fn unpack(archive: &Path, to: &Path) -> Result<(), RecordError> {
    let unreadable = |source| RecordError::Unreadable {
        path: archive.to_owned(),
        source,
    };
    let file = File::open(archive).map_err(unreadable)?;
    let mut archive_reader = tar::Archive::new(GzDecoder::new(file).take(2 * LARGEST_RECORD));
    let entries = archive_reader.entries().map_err(unreadable)?;
    for entry in entries.take(MOST_FILES) {
        let entry = entry.map_err(unreadable)?;
        let is_record = entry
            .path()
            .is_ok_and(|path| path.file_name().is_some_and(|name| name == REPLAY_FILE));
        if !is_record || !entry.header().entry_type().is_file() {
            continue;
        }
        if entry.size() > LARGEST_RECORD {
            return Err(RecordError::TooLarge(archive.to_owned()));
        }
        let mut out = File::create_new(to).map_err(unreadable)?;
        io::copy(&mut entry.take(LARGEST_RECORD), &mut out).map_err(unreadable)?;
        return out.flush().map_err(unreadable);
    }
    Err(RecordError::NotThere(archive.to_owned()))
}
