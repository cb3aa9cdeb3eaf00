//! What is left of a crash: a record that the next start mentions.
//!
//! The terminal restores itself when the program panics, before the record is written; the program ends
//! after it. The session file has everything that was acknowledged. The record says where it happened, and
//! holds neither text of the conversation nor secrets.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pi_ai::Env;
use pi_runtime::environment_secrets;

/// The record, until it has been mentioned.
const RECORD: &str = "pi-crash.log";

/// The record, after that.
const MENTIONED: &str = "pi-crash-mentioned.log";

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Writes a record when this program panics, before what was arranged for that earlier: it may end the program.
pub(crate) fn keep_records(directory: &Path, version: &str) {
    if DIRECTORY.set(directory.to_owned()).is_err() {
        return;
    }
    let version = version.to_owned();
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = format!("pi {version}\n{panic}\n");
        if let Some(directory) = DIRECTORY.get() {
            write_record(directory, &text);
        }
        earlier(panic);
    }));
}

fn write_record(directory: &Path, text: &str) {
    let path = directory.join(RECORD);
    let redaction = environment_secrets(&Env::process()).with_pattern_detection();
    let text = redaction.redact(text);
    // The newest crash counts.
    drop(std::fs::remove_file(&path));
    if let Err(error) = crate::scratch::write_private(&path, text.as_bytes()) {
        tracing::error!(%error, "no crash record could be written");
    }
}

/// Returns where the record of the last crash is, mentioned or not.
pub(crate) fn last_record(directory: &Path) -> Option<PathBuf> {
    let records = [RECORD, MENTIONED].map(|name| directory.join(name));
    records.into_iter().find(|path| path.is_file())
}

/// Returns where the record of the last crash is, once.
pub(crate) fn take_record(directory: &Path) -> Option<PathBuf> {
    let mentioned = directory.join(MENTIONED);
    std::fs::rename(directory.join(RECORD), &mentioned).ok()?;
    Some(mentioned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        write_record(directory.path(), "panicked: sk-ant-api03-0123456789abcdef");
        let record = take_record(directory.path()).unwrap();
        assert_eq!(
            std::fs::read_to_string(record).unwrap(),
            "panicked: [redacted]"
        );
    }

    #[test]
    fn a_record_is_mentioned_once() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(take_record(directory.path()), None);
        write_record(directory.path(), "first");
        write_record(directory.path(), "second");
        let record = take_record(directory.path()).unwrap();
        assert_eq!(std::fs::read_to_string(record).unwrap(), "second");
        assert_eq!(take_record(directory.path()), None);
    }
}
