//! A session as a file to keep or to pass on: a web page, or one branch as JSON lines.
//!
//! This file says what is exported, where to and under which name. What the page holds is in
//! `export/page.rs`; how it looks and behaves is in the `viewer` files beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use pi_ai::{Env, Tool};
use pi_config::atomic_file::{self, NewFileMode};
use pi_config::expand_home;
use pi_session::{Access, EntryKind, MessageRole, OpenSession, Session, SessionError};
use thiserror::Error;

mod outline;
mod page;
mod script_json;
mod theme;

pub use theme::{ExportColor, ExportTheme, PageLook};

use crate::redaction::Redaction;
use page::PageError;

/// How to export a session as a web page.
#[derive(Debug, Clone, Default)]
pub struct HtmlOptions {
    /// The file to write; `pi-session-<name of the session file>.html` in the current directory if
    /// absent. A leading `~` is the home directory.
    pub output: Option<PathBuf>,
    /// Colors of the user's theme.
    pub theme: ExportTheme,
    /// The system prompt in force; if absent, the page shows what the transcript holds of it.
    pub system_prompt: Option<String>,
    /// The tools in force; if empty, the page shows what the transcript declares.
    pub tools: Vec<Tool>,
    /// What is never written.
    pub redaction: Redaction,
    /// The clock and the home directory.
    pub env: Env,
}

/// How to export a branch as JSON lines.
#[derive(Debug, Clone, Default)]
pub struct JsonlOptions {
    /// The file to write; `session-<moment>.jsonl` in the current directory if absent. A leading `~`
    /// is the home directory.
    pub output: Option<PathBuf>,
    /// What is never written.
    pub redaction: Redaction,
    /// The clock and the home directory.
    pub env: Env,
}

/// Why a session was not exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The conversation has not begun.
    #[error("there is nothing to export: no model has answered in this session yet")]
    NothingYet,
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The file cannot be written; what was there before is still there.
    #[error("the export could not be written to {}", path.display())]
    Unwritable {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Writes a session with all its branches as one web page that needs nothing else. Returns the path
/// it was written to, relative if it was given so.
pub fn export_html(session: &Session, options: &HtmlOptions) -> Result<PathBuf, ExportError> {
    if !session.is_saved() && !has_answer(session) {
        return Err(ExportError::NothingYet);
    }
    write_html(session, options)
}

/// Writes a session file as a web page; the file itself is only read.
pub fn export_html_file(input: &Path, options: &HtmlOptions) -> Result<PathBuf, ExportError> {
    let input = expand_home(&input.to_string_lossy(), &options.env);
    let session = Session::open(
        &input,
        OpenSession {
            access: Access::Read,
            env: options.env.clone(),
            ..OpenSession::default()
        },
    )?;
    write_html(&session, options)
}

/// Writes the current branch as a session file of its own. Returns the absolute path.
pub fn export_jsonl(session: &Session, options: &JsonlOptions) -> Result<PathBuf, ExportError> {
    let given = match &options.output {
        Some(output) => expand_home(&output.to_string_lossy(), &options.env),
        None => PathBuf::from(format!("session-{}.jsonl", moment(&options.env))),
    };
    let path = std::path::absolute(&given).unwrap_or(given);
    let content = options.redaction.clean_lines(session.export_branch()?);
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
    let written = atomic_file::write_with(&path, NewFileMode::Default, |file| {
        page::write(file, session, options)
    });
    match written {
        Ok(()) => Ok(path),
        Err(PageError::Session(error)) => Err(error.into()),
        Err(PageError::Write(source)) => Err(ExportError::Unwritable { path, source }),
    }
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

fn has_answer(session: &Session) -> bool {
    let answer = EntryKind::Message(MessageRole::Assistant);
    session.tree().nodes.iter().any(|node| node.kind == answer)
}

/// Spells the moment so that every file system takes it.
fn moment(env: &Env) -> String {
    let now = Timestamp::from_millisecond(env.now_ms()).unwrap_or_default();
    now.strftime("%Y-%m-%dT%H-%M-%S-%3fZ").to_string()
}

#[cfg(test)]
mod tests;
