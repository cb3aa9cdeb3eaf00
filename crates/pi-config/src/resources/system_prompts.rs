//! What replaces or follows the system prompt: flags, which are a text or name a file, and
//! `SYSTEM.md` and `APPEND_SYSTEM.md` where there are no flags.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::location::normalize;
use crate::ConfigDiagnostic;
use crate::regular_file::{MAX_BYTES, ReadFileError, prose, read_prose, read_up_to};

/// A piece of system prompt and the file it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PromptPiece {
    pub(super) text: String,
    /// Its file; `None` when it was given as text.
    pub(super) path: Option<PathBuf>,
}

/// Reads a flag: the content of the file it names, otherwise its own text. Nothing comes of an
/// empty one.
pub(super) fn from_flag(
    value: &str,
    cwd: &Path,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<PromptPiece> {
    if value.is_empty() {
        return None;
    }
    let path = normalize(&cwd.join(value));
    let as_text = || PromptPiece {
        text: value.to_owned(),
        path: None,
    };
    let Ok(metadata) = std::fs::metadata(&path) else {
        return Some(as_text());
    };
    if metadata.is_dir() {
        return Some(as_text());
    }
    // A shell's `<(command)` is a pipe with somebody at its other end: reading it to its end is right.
    // A pipe or a device of another name may never say anything.
    let content = if metadata.is_file() || is_handed_over(&path) {
        File::open(&path)
            .map_err(ReadFileError::from)
            .and_then(|file| read_up_to(file, MAX_BYTES, Vec::new()))
    } else {
        Err(ReadFileError::NotRegular)
    };
    match content {
        Ok(bytes) => Some(PromptPiece {
            text: prose(bytes),
            path: Some(path),
        }),
        Err(error) => {
            let message = format!("system prompt file is left out: {error}");
            diagnostics.push(ConfigDiagnostic::error(message, path));
            None
        }
    }
}

/// Returns whether a path is a stream this process was started with.
fn is_handed_over(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc") || path == Path::new("/dev/stdin")
}

/// Reads the first of some files that is there.
pub(super) fn from_files(
    candidates: impl IntoIterator<Item = PathBuf>,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<PromptPiece> {
    for path in candidates {
        match read_prose(&path, MAX_BYTES) {
            Ok(Some(text)) => {
                return Some(PromptPiece {
                    text,
                    path: Some(path),
                });
            }
            Ok(None) => {}
            Err(error) => {
                let message = format!("system prompt file is left out: {error}");
                diagnostics.push(ConfigDiagnostic::warning(message, path));
            }
        }
    }
    None
}
