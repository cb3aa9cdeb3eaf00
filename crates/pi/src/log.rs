//! Optional logging to a file, with secrets redacted.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use pi_config::{AgentDir, AuthFile};
use pi_env::Env;
use pi_export::{Redactor, environment_secrets, stored_secrets};
use tracing::Level;

use crate::output::warn;

/// The log file; without it nothing is logged.
const LOG: &str = "PI_LOG";

/// `error`, `warn`, `info` (default), `debug` or `trace`.
const LOG_LEVEL: &str = "PI_LOG_LEVEL";

/// Starts logging if `PI_LOG` is set.
pub(crate) fn start() {
    let Some(path) = std::env::var_os(LOG).filter(|path| !path.is_empty()) else {
        return;
    };
    let level = std::env::var(LOG_LEVEL).ok();
    let level = level
        .and_then(|level| level.parse().ok())
        .unwrap_or(Level::INFO);
    if let Err(error) = log_to(Path::new(&path), level) {
        warn(&format!("cannot log to {}: {error}", path.display()));
    }
}

fn log_to(path: &Path, level: Level) -> std::io::Result<()> {
    // Logs may quote the conversation.
    let file = pi_fs::private::open_for_append(path)?;
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_writer(Mutex::new(RedactedFile {
            file,
            redaction: secrets(),
        }))
        .init();
    Ok(())
}

/// Returns the secrets to redact.
fn secrets() -> Redactor {
    let env = Env::process();
    let known = environment_secrets(&env).with_pattern_detection();
    let reading = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match reading {
        Ok(runtime) => {
            let file = AuthFile::new(AgentDir::from_env(&env).auth_file());
            known.merge(runtime.block_on(stored_secrets(&file)))
        }
        Err(_) => known,
    }
}

/// A log file that redacts secrets line by line.
struct RedactedFile {
    file: File,
    redaction: Redactor,
}

impl Write for RedactedFile {
    /// Expects a complete line, which is how the subscriber writes events.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let cleaned = self.redaction.redact(&text);
        self.file.write_all(cleaned.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let directory = std::env::temp_dir().join(format!("pi-log-test-{}", std::process::id()));
        let mut clean = RedactedFile {
            file: File::create(&directory).unwrap(),
            redaction: environment_secrets(&Env::fixed([("MY_TOKEN", "plainvalue")]))
                .with_pattern_detection(),
        };
        let line = "refused: Bearer abcdefgh12345678, x-api-key: abc123456789, plainvalue\n";
        clean.write_all(line.as_bytes()).unwrap();
        let written = std::fs::read_to_string(&directory).unwrap();
        std::fs::remove_file(&directory).unwrap();
        assert_eq!(
            written,
            "refused: Bearer [redacted], x-api-key: [redacted] [redacted]\n"
        );
    }
}
