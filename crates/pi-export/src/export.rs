//! Exports a session to a file: as an HTML page, or one branch as JSON lines.
//!
//! This file decides what is exported, where to and under which name. The contents of the page are
//! built in `export/page.rs`; its style and behavior are in `pi-web`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::Timestamp;
use pi_config::expand_home;
use pi_env::Env;
use pi_fs::{NewFileMode, atomic_file};
use pi_protocol::{EntryKind, MessageRole, Tool};
use pi_session::listing::is_locked;
use pi_session::{AccessMode, OpenSession, Session, SessionError};
use serde::Deserialize;
use thiserror::Error;

use crate::redaction::Redactor;
use page::PageError;

mod outline;
mod page;
mod script_json;
mod theme;

pub use theme::{ExportColor, ExportScheme, ExportTheme};

/// How much of an existing output file is read to recognize a session.
const HEADER_LIMIT: u64 = 1024 * 1024;

#[derive(Debug, Clone, Default)]
pub struct HtmlOptions {
    /// The output file; by default `pi-session-<name of the session file>.html` in the current
    /// directory. A leading `~` is the home directory.
    pub output: Option<PathBuf>,
    pub theme: ExportTheme,
    /// The current system prompt; if absent, the page shows the one in the transcript.
    pub system_prompt: Option<String>,
    /// The current tools; if empty, the page shows those declared in the transcript.
    pub tools: Vec<Tool>,
    /// Removes secrets from the output.
    pub redaction: Redactor,
    /// Provides the clock and the home directory.
    pub env: Env,
}

#[derive(Debug, Clone, Default)]
pub struct JsonlOptions {
    /// The output file; by default `session-<timestamp>.jsonl` in the current directory. A leading
    /// `~` is the home directory.
    pub output: Option<PathBuf>,
    /// Removes secrets from the output.
    pub redaction: Redactor,
    /// Provides the clock and the home directory.
    pub env: Env,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error("nothing to export: this session has no model response yet")]
    NothingYet,
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The output is a session file, such as the exported one, and no earlier export of it; it is unchanged.
    #[error(
        "cannot export to {}: it is a session file and would be overwritten; choose another output file",
        path.display()
    )]
    OverwritesSession { path: PathBuf },
    /// The file cannot be written; an existing file is unchanged.
    #[error("cannot write export to {}", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Writes a session with all its branches as a self-contained HTML page. Returns the path, relative
/// if it was given as relative.
pub fn export_html(session: &Session, options: &HtmlOptions) -> Result<PathBuf, ExportError> {
    if !session.is_saved() && !has_response(session) {
        return Err(ExportError::NothingYet);
    }
    write_html(session, options)
}

/// Writes a session file as an HTML page; the session file is only read.
pub fn export_html_file(input: &Path, options: &HtmlOptions) -> Result<PathBuf, ExportError> {
    let input = expand_home(&input.to_string_lossy(), &options.env);
    let session = Session::open(
        &input,
        OpenSession {
            access: AccessMode::Read,
            env: options.env.clone(),
            ..OpenSession::default()
        },
    )?;
    write_html(&session, options)
}

/// Writes the current branch as a new session file. Returns the absolute path.
pub fn export_jsonl(session: &Session, options: &JsonlOptions) -> Result<PathBuf, ExportError> {
    let given = match &options.output {
        Some(output) => expand_home(&output.to_string_lossy(), &options.env),
        None => PathBuf::from(format!("session-{}.jsonl", file_timestamp(&options.env))),
    };
    let path = std::path::absolute(&given).unwrap_or(given);
    if is_file_of(&path, session)
        || (is_session_file(&path) && !is_earlier_export(&path, session, &options.env))
    {
        return Err(ExportError::OverwritesSession { path });
    }
    let content = options.redaction.redact_lines(session.export_branch()?);
    let directory = path.parent().map_or(Ok(()), fs::create_dir_all);
    directory
        .and_then(|()| atomic_file::write(&path, &content, NewFileMode::Default))
        .map_err(|source| ExportError::Unwritable {
            path: path.clone(),
            source,
        })?;
    Ok(path)
}

fn write_html(session: &Session, options: &HtmlOptions) -> Result<PathBuf, ExportError> {
    let path = match &options.output {
        Some(output) => expand_home(&output.to_string_lossy(), &options.env),
        None => default_page_name(session),
    };
    if is_file_of(&path, session) || is_session_file(&path) {
        return Err(ExportError::OverwritesSession { path });
    }
    let written = atomic_file::write_with(&path, NewFileMode::Default, |file| {
        page::write(file, session, options)
    });
    match written {
        Ok(()) => Ok(path),
        Err(PageError::Session(error)) => Err(error.into()),
        Err(PageError::Write(source)) => Err(ExportError::Unwritable { path, source }),
    }
}

/// Returns whether a path is that of a session, whose file may not exist yet.
fn is_file_of(path: &Path, session: &Session) -> bool {
    session.path().is_some_and(|own| {
        path == own || canonical(path).is_some_and(|path| Some(path) == canonical(own))
    })
}

/// Returns whether a session file is one branch of a session, without entries that the session does not have, and no
/// process has it open: replacing it loses nothing.
fn is_earlier_export(path: &Path, session: &Session, env: &Env) -> bool {
    let options = OpenSession {
        access: AccessMode::Read,
        env: env.clone(),
        ..OpenSession::default()
    };
    let Ok(earlier) = Session::open(path, options) else {
        return false;
    };
    let branch = earlier.current_branch().ids();
    let report = earlier.open_report();
    earlier.id() == session.id()
        && report.skipped_lines == 0
        && !report.torn_tail
        && branch.len() == earlier.entries().len()
        && branch
            .iter()
            .all(|id| session.entries().contains(id.as_str()))
        && !is_locked(path)
}

/// Resolves links; the file need not exist.
fn canonical(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    fs::canonicalize(&path).ok().or_else(|| {
        let directory = fs::canonicalize(path.parent()?).ok()?;
        Some(directory.join(path.file_name()?))
    })
}

/// Returns whether a file begins with a session header.
fn is_session_file(path: &Path) -> bool {
    // Opening a pipe would block.
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER_LIMIT).read_to_end(&mut start));
    if read.is_err() {
        return false;
    }
    let start = start.trim_ascii_start();
    let line = start.split(|byte| *byte == b'\n').next();
    let line = line.unwrap_or_default();
    let header = serde_json::from_slice::<RecordType>(line);
    // A header that is longer than what was read is not complete.
    header.is_ok_and(|header| header.kind == "session") || line.starts_with(br#"{"type":"session""#)
}

#[derive(Deserialize)]
struct RecordType {
    #[serde(rename = "type")]
    kind: String,
}

fn default_page_name(session: &Session) -> PathBuf {
    let file = session.path().and_then(Path::file_name);
    let name = file.map_or_else(
        || session.id().into(),
        |name| name.to_string_lossy().into_owned(),
    );
    let stem: &str = name.strip_suffix(".jsonl").unwrap_or(&name);
    PathBuf::from(format!("pi-session-{stem}.html"))
}

fn has_response(session: &Session) -> bool {
    let response = EntryKind::Message(MessageRole::Assistant);
    session
        .entries()
        .tree()
        .nodes
        .iter()
        .any(|node| node.kind == response)
}

/// Formats the current time so that it is a valid file name on every platform.
fn file_timestamp(env: &Env) -> String {
    let now = Timestamp::from_millisecond(env.now_ms()).unwrap_or_default();
    now.strftime("%Y-%m-%dT%H-%M-%S-%3fZ").to_string()
}

#[cfg(test)]
mod tests;
