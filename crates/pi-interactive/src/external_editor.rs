//! The user's own editor on a temporary file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use thiserror::Error;
use tokio::process::Command;

/// Why a text was not edited.
#[derive(Debug, Error)]
pub(crate) enum EditorError {
    /// The temporary file cannot be used.
    #[error("the temporary file for the editor cannot be used")]
    File(#[source] io::Error),
    /// The editor does not start.
    #[error("the editor \"{command}\" does not start; set externalEditor, VISUAL or EDITOR")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("the editor \"{command}\" ended with {status}; the text stays as it was")]
    Failed {
        command: String,
        status: std::process::ExitStatus,
    },
}

/// Edits a text; none if the editor left it as it was.
pub(crate) async fn edit(command: String, text: String) -> Result<Option<String>, EditorError> {
    let file = ScratchFile::create(&text).map_err(EditorError::File)?;
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

/// The command is a line for the shell, since people set `code --wait` and the like.
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

/// A file that is gone when this is.
struct ScratchFile(PathBuf);

impl ScratchFile {
    fn create(text: &str) -> io::Result<Self> {
        let name = format!("pi-editor-{}.md", uuid::Uuid::new_v4());
        let path = std::env::temp_dir().join(name);
        crate::temp_files::write_private(&path, text.as_bytes())?;
        Ok(Self(path))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, "the editor's file is gone already");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_editor_wrote_comes_back() {
        let edited = edit("printf 'changed\\n' >".to_owned(), "before".to_owned()).await;
        assert_eq!(edited.unwrap().as_deref(), Some("changed"));
    }

    #[tokio::test]
    async fn an_editor_that_changes_nothing_or_fails_changes_nothing() {
        assert_eq!(
            edit("true".to_owned(), "same".to_owned()).await.unwrap(),
            None
        );
        let failed = edit("false".to_owned(), "same".to_owned()).await;
        assert!(matches!(failed, Err(EditorError::Failed { .. })));
    }
}
