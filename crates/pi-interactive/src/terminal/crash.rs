//! Crash records: written on panic, reported at the next start.
//!
//! When the program panics, the terminal is restored first, then the record is written, then the program
//! exits. The session file has everything that was acknowledged. The record says where the panic happened; it
//! contains no conversation text and no secrets.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pi_env::Env;
use pi_host::redact_secrets;

/// The record until it has been reported.
const RECORD: &str = "pi-crash.log";

/// The record after it has been reported.
const REPORTED: &str = "pi-crash-mentioned.log";

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Installs a panic hook that writes a record, then runs the previous hook, which may exit the process.
pub(crate) fn install_panic_hook(directory: &Path, version: &str) {
    if DIRECTORY.set(directory.to_owned()).is_err() {
        return;
    }
    let version = version.to_owned();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = format!("pi {version}\n{panic}\n");
        if let Some(directory) = DIRECTORY.get() {
            write_record(directory, &text);
        }
        previous(panic);
    }));
}

fn write_record(directory: &Path, text: &str) {
    let path = directory.join(RECORD);
    let text = redact_secrets(text, &Env::process());
    // The newest crash replaces older records.
    drop(std::fs::remove_file(&path));
    if let Err(error) = pi_fs::private::write_new_file(&path, text.as_bytes()) {
        tracing::error!(%error, "cannot write the crash record");
    }
}

/// Returns the path of the last crash record, reported or not.
pub(crate) fn last_record(directory: &Path) -> Option<PathBuf> {
    let records = [RECORD, REPORTED].map(|name| directory.join(name));
    records.into_iter().find(|path| path.is_file())
}

/// Returns the path of an unreported crash record and marks it as reported.
pub(crate) fn take_unreported(directory: &Path) -> Option<PathBuf> {
    let mentioned = directory.join(REPORTED);
    std::fs::rename(directory.join(RECORD), &mentioned).ok()?;
    Some(mentioned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_contains_no_secrets() {
        let directory = tempfile::tempdir().unwrap();
        write_record(directory.path(), "panicked: sk-ant-api03-0123456789abcdef");
        let record = take_unreported(directory.path()).unwrap();
        assert_eq!(
            std::fs::read_to_string(record).unwrap(),
            "panicked: [redacted]"
        );
    }

    #[test]
    fn a_record_is_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(take_unreported(directory.path()), None);
        write_record(directory.path(), "first");
        write_record(directory.path(), "second");
        let record = take_unreported(directory.path()).unwrap();
        assert_eq!(std::fs::read_to_string(record).unwrap(), "second");
        assert_eq!(take_unreported(directory.path()), None);
    }
}
