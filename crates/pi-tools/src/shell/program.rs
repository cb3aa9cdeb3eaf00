//! Finds the shell that runs commands.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::operations::ProcessError;
use crate::process_tree::{OutputPipe, ProcessTree};

/// A shell and how it is given a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellProgram {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<OsString>,
    transport: Transport,
}

/// The way a command takes to its shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    /// As the last argument.
    Argument,
    /// On the shell's input: the first `bash.exe` of the Windows Subsystem for Linux mangles
    /// arguments.
    #[cfg(windows)]
    Input,
}

impl ShellProgram {
    /// Finds the bash at a path, or the system's own.
    pub(super) fn bash(path: Option<&Path>) -> Result<Self, ProcessError> {
        if let Some(path) = path {
            if !path.exists() {
                return Err(ProcessError::Other(format!(
                    "The shell {} does not exist. Correct shellPath in the settings, or remove it.",
                    path.display()
                )));
            }
            return Ok(Self::bash_at(path.to_owned()));
        }
        find_bash().map(Self::bash_at)
    }

    fn bash_at(path: PathBuf) -> Self {
        #[cfg(windows)]
        if is_legacy_wsl(&path) {
            return Self {
                path,
                arguments: vec!["-s".into()],
                transport: Transport::Input,
            };
        }
        Self {
            path,
            arguments: vec!["-c".into()],
            transport: Transport::Argument,
        }
    }

    /// Finds PowerShell.
    #[cfg(windows)]
    pub(super) fn power_shell() -> Result<Self, ProcessError> {
        let path = ["pwsh.exe", "powershell.exe"]
            .into_iter()
            .find_map(|name| which::which(name).ok())
            .ok_or_else(|| {
                ProcessError::Other(
                    "There is no PowerShell on the PATH. Install it, or add its folder.".to_owned(),
                )
            })?;
        let arguments = [
            "-NoProfile",
            "-NonInteractive",
            "-ExecutionPolicy",
            "Bypass",
            "-Command",
        ];
        Ok(Self {
            path,
            arguments: arguments.map(OsString::from).into(),
            transport: Transport::Argument,
        })
    }

    /// Starts a command.
    pub(super) fn start(
        &self,
        mut process: Command,
        command: &str,
    ) -> io::Result<(ProcessTree, OutputPipe)> {
        match self.transport {
            Transport::Argument => {
                process.arg(command);
                ProcessTree::spawn(process)
            }
            #[cfg(windows)]
            Transport::Input => {
                process.stdin(std::process::Stdio::piped());
                let (mut tree, pipe) = ProcessTree::spawn(process)?;
                if let Some(mut input) = tree.take_input() {
                    let command = command.to_owned();
                    // Ends with the shell, which closes the other end.
                    tokio::spawn(async move {
                        use tokio::io::AsyncWriteExt;
                        if let Err(error) = input.write_all(command.as_bytes()).await {
                            tracing::debug!(%error, "the shell did not read its command");
                        }
                    });
                }
                Ok((tree, pipe))
            }
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems may have no bash")]
fn find_bash() -> Result<PathBuf, ProcessError> {
    let standard = Path::new("/bin/bash");
    if standard.exists() {
        return Ok(standard.to_owned());
    }
    Ok(which::which("bash").unwrap_or_else(|_| "sh".into()))
}

#[cfg(windows)]
fn find_bash() -> Result<PathBuf, ProcessError> {
    let git_bash = ["ProgramFiles", "ProgramFiles(x86)"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(|folder| Path::new(&folder).join(r"Git\bin\bash.exe"))
        .find(|path| path.exists());
    git_bash
        .or_else(|| which::which("bash.exe").ok())
        .ok_or_else(|| {
            ProcessError::Other(
                "There is no bash here. Install Git for Windows (https://git-scm.com/download/win), \
                 put another bash on the PATH, or name one as shellPath in the settings."
                    .to_owned(),
            )
        })
}

#[cfg(windows)]
fn is_legacy_wsl(path: &Path) -> bool {
    let path = path.to_string_lossy().replace('/', "\\").to_lowercase();
    [
        r":\windows\system32\bash.exe",
        r":\windows\sysnative\bash.exe",
    ]
    .iter()
    .any(|end| path.len() == end.len() + 1 && path.ends_with(end))
}
