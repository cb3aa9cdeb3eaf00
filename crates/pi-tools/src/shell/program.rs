//! Finds the shell that runs commands.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use pi_core::ProcessError;

use crate::process_tree::{OutputPipe, ProcessTree};

/// A shell and how commands are passed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellProgram {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<OsString>,
    transport: Transport,
}

/// Names of PowerShell, newest version first.
const POWERSHELL_NAMES: &[&str] = if cfg!(windows) {
    &["pwsh.exe", "powershell.exe"]
} else {
    &["pwsh"]
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Argument,
    /// On standard input: the legacy `bash.exe` of the Windows Subsystem for Linux mangles
    /// arguments.
    #[cfg(windows)]
    Input,
}

impl ShellProgram {
    /// Finds the bash at a path, or the default one.
    pub(super) fn bash(path: Option<&Path>) -> Result<Self, ProcessError> {
        if let Some(path) = path {
            if !path.exists() {
                return Err(ProcessError::Other(format!(
                    "shell not found: {}. Correct or remove shellPath in the settings.",
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

    pub(super) fn power_shell() -> Result<Self, ProcessError> {
        let path = POWERSHELL_NAMES
            .iter()
            .find_map(|name| which::which(name).ok())
            .ok_or_else(|| {
                ProcessError::Other(
                    "PowerShell not found on PATH. Install it, or add it to PATH.".to_owned(),
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
                    // Completes when the shell exits and closes the other end.
                    tokio::spawn(async move {
                        use tokio::io::AsyncWriteExt;
                        if let Err(error) = input.write_all(command.as_bytes()).await {
                            tracing::debug!(%error, "cannot send the command to the shell");
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
        .map(|directory| Path::new(&directory).join(r"Git\bin\bash.exe"))
        .find(|path| path.exists());
    git_bash
        .or_else(|| which::which("bash.exe").ok())
        .ok_or_else(|| {
            ProcessError::Other(
                "bash not found. Install Git for Windows (https://git-scm.com/download/win), \
                 add bash to PATH, or set shellPath in the settings."
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
