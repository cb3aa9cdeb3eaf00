//! Custom system prompts: from flags, which contain text or name a file, otherwise from
//! `SYSTEM.md` and `APPEND_SYSTEM.md`.

use std::fs::File;
use std::path::{Path, PathBuf};

use pi_protocol::ConfigDiagnostic;

use super::location::normalize;
use crate::regular_file::{MAX_BYTES, ReadFileError, decode_prose, read_prose, read_up_to};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SystemPromptPart {
    pub(super) text: String,
    /// The file it was read from; `None` if it was given as text.
    pub(super) path: Option<PathBuf>,
}

/// Resolves a flag: the content of the file it names, otherwise its own text. Returns `None` for an
/// empty value.
pub(super) fn from_flag(
    value: &str,
    cwd: &Path,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<SystemPromptPart> {
    if value.is_empty() {
        return None;
    }
    let path = normalize(&cwd.join(value));
    let as_text = || SystemPromptPart {
        text: value.to_owned(),
        path: None,
    };
    let Ok(metadata) = std::fs::metadata(&path) else {
        return Some(as_text());
    };
    if metadata.is_dir() {
        return Some(as_text());
    }
    // A shell's `<(command)` is a pipe with a writer, so reading it to its end terminates.
    // Any other pipe or device might block forever.
    let content = if metadata.is_file() || is_inherited_stream(&path) {
        File::open(&path)
            .map_err(ReadFileError::from)
            .and_then(|file| read_up_to(file, MAX_BYTES, Vec::new()))
    } else {
        Err(ReadFileError::NotRegular)
    };
    match content {
        Ok(bytes) => Some(SystemPromptPart {
            text: decode_prose(bytes),
            path: Some(path),
        }),
        Err(error) => {
            let message = format!("cannot read system prompt file: {error}");
            diagnostics.push(ConfigDiagnostic::error(message, path));
            None
        }
    }
}

/// Returns whether a path is a stream inherited by this process.
fn is_inherited_stream(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc") || path == Path::new("/dev/stdin")
}

/// Reads the first file that exists.
pub(super) fn from_files(
    candidates: impl IntoIterator<Item = PathBuf>,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<SystemPromptPart> {
    for path in candidates {
        match read_prose(&path, MAX_BYTES) {
            Ok(Some(text)) => {
                return Some(SystemPromptPart {
                    text,
                    path: Some(path),
                });
            }
            Ok(None) => {}
            Err(error) => {
                let message = format!("cannot read system prompt file: {error}");
                diagnostics.push(ConfigDiagnostic::warning(message, path));
            }
        }
    }
    None
}
