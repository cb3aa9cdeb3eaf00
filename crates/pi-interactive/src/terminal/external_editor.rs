//! Edits text in the user's external editor, through a temporary file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use thiserror::Error;
use tokio::process::Command;

use super::editor_command::EditorCommand;

/// Errors of external editing.
#[derive(Debug, Error)]
pub(crate) enum EditorError {
    #[error("cannot access the temporary file for the editor")]
    File(#[source] io::Error),
    #[error("cannot start editor \"{command}\"; set externalEditor, VISUAL or EDITOR")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("editor \"{command}\" failed with {status}")]
    Exited {
        command: String,
        status: std::process::ExitStatus,
    },
    #[error("editor \"{command}\" failed with {status}; the text is unchanged")]
    Failed {
        command: String,
        status: std::process::ExitStatus,
    },
}

impl EditorError {
    fn start(command: &EditorCommand, source: io::Error) -> Self {
        Self::Start {
            command: command.program.clone(),
            source,
        }
    }
}

/// Edits a text; returns `None` if it is unchanged.
pub(crate) async fn edit(command: String, text: String) -> Result<Option<String>, EditorError> {
    let file = TempFile::create(&text).map_err(EditorError::File)?;
    let status = shell(&command, &file.0)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status()
        .await
        .map_err(|source| EditorError::Start {
            command: command.clone(),
            source,
        })?;
    if !status.success() {
        return Err(EditorError::Failed { command, status });
    }
    let edited = std::fs::read_to_string(&file.0).map_err(EditorError::File)?;
    let edited = edited.strip_suffix('\n').unwrap_or(&edited);
    Ok((edited != text).then(|| edited.to_owned()))
}

/// Runs an editor in the terminal until it is closed.
pub(crate) async fn run(command: &EditorCommand) -> Result<(), EditorError> {
    let status = Command::new(&command.program)
        .args(&command.arguments)
        .status()
        .await
        .map_err(|source| EditorError::start(command, source))?;
    if status.success() {
        return Ok(());
    }
    Err(EditorError::Exited {
        command: command.program.clone(),
        status,
    })
}

/// Starts an editor with a window, and does not wait for it.
pub(crate) fn start(command: &EditorCommand) -> Result<(), EditorError> {
    // Dropping the process leaves it running; the runtime collects its exit status.
    Command::new(&command.program)
        .args(&command.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
        .map_err(|source| EditorError::start(command, source))
}

/// Runs the command through the shell, since users set `code --wait` and the like.
#[cfg(unix)]
fn shell(command: &str, file: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("{command} \"$1\""))
        .arg("sh")
        .arg(file);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str, file: &Path) -> Command {
    let mut words = command.split_whitespace();
    let mut program = Command::new(words.next().unwrap_or("notepad"));
    program.args(words).arg(file);
    program
}

/// Deletes the file on drop.
struct TempFile(PathBuf);

impl TempFile {
    fn create(text: &str) -> io::Result<Self> {
        let name = format!("pi-editor-{}.md", uuid::Uuid::new_v4());
        let path = std::env::temp_dir().join(name);
        pi_fs::private::write_new_file(&path, text.as_bytes())?;
        Ok(Self(path))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, "cannot remove the editor's temporary file");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn edited_text_is_returned() {
        let edited = edit("printf 'changed\\n' >".to_owned(), "before".to_owned()).await;
        assert_eq!(edited.unwrap().as_deref(), Some("changed"));
    }

    #[tokio::test]
    async fn unchanged_text_and_failures_return_nothing() {
        assert_eq!(
            edit("true".to_owned(), "same".to_owned()).await.unwrap(),
            None
        );
        let failed = edit("false".to_owned(), "same".to_owned()).await;
        assert!(matches!(failed, Err(EditorError::Failed { .. })));
    }
}
