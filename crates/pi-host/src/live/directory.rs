//! The directory of sockets: where a session listens, and which sessions do.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_session::check_session_id;
use thiserror::Error;

/// Maximum length of a socket path in bytes: 104 on macOS, with the terminating zero, and 108 on Linux.
const MAX_SOCKET_PATH: usize = 103;

/// Why there is no socket for a session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LiveSocketError {
    #[error("cannot use the socket directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot use the socket {}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("the path of the socket is too long: {}; set XDG_RUNTIME_DIR", .0.display())]
    TooLong(PathBuf),
    #[error("session {0} is not running in another pi")]
    NotLive(String),
    #[error("session {0} has an ID that cannot be part of a file name")]
    InvalidId(String),
}

/// The directory in which sessions listen: `live` in the agent directory.
#[derive(Debug, Clone)]
pub struct LiveDirectory {
    path: PathBuf,
    /// For sockets whose path would be too long.
    runtime_dir: Option<PathBuf>,
}

impl LiveDirectory {
    pub fn new(agent_dir: &Path, env: &Env) -> Self {
        let runtime_dir = env.var("XDG_RUNTIME_DIR").map(PathBuf::from);
        Self {
            path: agent_dir.join("live"),
            runtime_dir: runtime_dir.filter(|path| path.is_absolute()),
        }
    }

    /// Returns the agent directory.
    pub(super) fn agent_dir(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Returns the IDs of the sessions that have a socket; one of a killed process may be among them.
    pub fn ids(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let mut ids: Vec<String> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let id = name
                    .strip_suffix(".sock")
                    .or_else(|| name.strip_suffix(".path"))?;
                check_session_id(id).is_ok().then(|| id.to_owned())
            })
            .collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Returns the socket of a session, for a client. The directory is checked, so that it leads to no other user.
    pub fn find(&self, id: &str) -> Result<PathBuf, LiveSocketError> {
        let id_in_name = check_session_id(id);
        id_in_name.map_err(|_invalid| LiveSocketError::InvalidId(id.to_owned()))?;
        if !self.path.exists() {
            return Err(LiveSocketError::NotLive(id.to_owned()));
        }
        claim(&self.path)?;
        let socket = self.socket_path(id);
        if is_short(&socket) {
            return Ok(socket);
        }
        let recorded = fs::read_to_string(self.record_path(id));
        let recorded = recorded.map_err(|_missing| LiveSocketError::NotLive(id.to_owned()))?;
        let socket = PathBuf::from(recorded.trim_end());
        let parent = socket.parent().filter(|parent| parent.is_absolute());
        claim(parent.unwrap_or(Path::new("/")))?;
        Ok(socket)
    }

    /// Prepares the directory and returns the path at which a session can listen.
    pub(super) fn prepare(&self, id: &str) -> Result<PathBuf, LiveSocketError> {
        let id_in_name = check_session_id(id);
        id_in_name.map_err(|_invalid| LiveSocketError::InvalidId(id.to_owned()))?;
        claim(&self.path)?;
        let socket = self.socket_path(id);
        if is_short(&socket) {
            return Ok(socket);
        }
        let directory = self.runtime_dir.as_ref().map(|path| path.join("pi"));
        let directory = directory.ok_or_else(|| LiveSocketError::TooLong(socket.clone()))?;
        claim(&directory)?;
        let mut hasher = DefaultHasher::new();
        socket.hash(&mut hasher);
        let short = directory.join(format!("{:016x}.sock", hasher.finish()));
        if !is_short(&short) {
            return Err(LiveSocketError::TooLong(short));
        }
        let record = self.record_path(id);
        let text = short.to_string_lossy().into_owned() + "\n";
        let mode = pi_fs::NewFileMode::Private;
        let written = pi_fs::atomic_file::write(&record, text.as_bytes(), mode);
        written.map_err(|source| LiveSocketError::Directory {
            path: record,
            source,
        })?;
        Ok(short)
    }

    /// Removes the socket of a session that no longer listens.
    pub(super) fn remove(&self, id: &str, socket: &Path) {
        for path in [socket, &self.record_path(id)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::debug!(%error, path = %path.display(), "cannot remove socket");
                }
                _ => {}
            }
        }
    }

    fn socket_path(&self, id: &str) -> PathBuf {
        self.path.join(format!("{id}.sock"))
    }

    /// The file that has the path of a socket elsewhere.
    fn record_path(&self, id: &str) -> PathBuf {
        self.path.join(format!("{id}.path"))
    }
}

fn is_short(socket: &Path) -> bool {
    socket.as_os_str().len() <= MAX_SOCKET_PATH
}

fn claim(directory: &Path) -> Result<(), LiveSocketError> {
    pi_fs::private::claim_directory(directory).map_err(|source| LiveSocketError::Directory {
        path: directory.to_owned(),
        source,
    })
}
