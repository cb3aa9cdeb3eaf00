//! Temporary files for tests, and messages for test sessions.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pi_protocol::{AgentMessage, AssistantBlock, AssistantMessage, StopReason, UserMessage};
use pi_session::{NewSession, OpenSession, Session, SessionError, SessionStore};
use tempfile::TempDir;

pub(crate) const HEADER: &str = r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}"#;

/// A temporary directory that is removed on drop.
pub(crate) struct TempFiles(TempDir);

impl TempFiles {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The default session directory of `cwd`, below the test's agent directory.
    pub(crate) fn sessions(&self, cwd: &str) -> SessionStore {
        SessionStore::default_for(&self.path().join("agent"), Path::new(cwd))
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(content.as_ref()).unwrap();
        path
    }

    /// Writes a file with these lines.
    pub(crate) fn lines(&self, name: &str, lines: &[&str]) -> PathBuf {
        self.write(name, lines.join("\n") + "\n")
    }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

pub(crate) fn append_bytes(path: &Path, bytes: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes.as_bytes()).unwrap();
}

pub(crate) fn open(path: &Path) -> Result<Session, SessionError> {
    Session::open(path, OpenSession::default())
}

pub(crate) fn create(directory: &SessionStore) -> Session {
    directory.create(NewSession::default()).unwrap()
}

pub(crate) fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage {
        content: text.into(),
        timestamp: 1_000,
        ..UserMessage::default()
    })
}

pub(crate) fn assistant(text: &str) -> AgentMessage {
    AgentMessage::from(AssistantMessage {
        content: vec![AssistantBlock::text(text)],
        stop_reason: StopReason::Stop,
        timestamp: 2_000,
        ..AssistantMessage::default()
    })
}

/// A session file line with a user message.
pub(crate) fn user_line(id: &str, parent: Option<&str>) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"from {id}","timestamp":1}}}}"#
    )
}

/// Returns the IDs from the root to the leaf.
pub(crate) fn branch(session: &Session) -> Vec<String> {
    let ids = session.current_branch().ids();
    ids.iter().map(ToString::to_string).collect()
}
