//! Optional logging to a file, with secrets redacted.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use pi_config::{AgentDir, AuthFile};
use pi_env::Env;
use pi_export::{Redactor, environment_secrets, stored_secrets};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::output::warn;

/// The log file; without it nothing is logged.
const LOG: &str = "PI_LOG";

/// A level (`error`, `warn`, `info`, `debug` or `trace`), or a comma-separated filter: `info,pi_providers=trace` sets a
/// crate's level, `[session{id=0199…}]=debug` selects what happens in a span.
const LOG_LEVEL: &str = "PI_LOG_LEVEL";

const DEFAULT_LEVEL: &str = "info";

/// Starts logging if `PI_LOG` is set.
pub(crate) fn start() {
    let Some(path) = std::env::var_os(LOG).filter(|path| !path.is_empty()) else {
        return;
    };
    let filter = match parse_filter(std::env::var(LOG_LEVEL).ok().as_deref()) {
        Ok(filter) => filter,
        Err(error) => {
            warn(&format!("{LOG_LEVEL} is ignored: {error}"));
            EnvFilter::new(DEFAULT_LEVEL)
        }
    };
    if let Err(error) = log_to(Path::new(&path), filter) {
        warn(&format!("cannot log to {}: {error}", path.display()));
    }
}

fn parse_filter(text: Option<&str>) -> Result<EnvFilter, ParseError> {
    match text.map(str::trim) {
        Some(text) if !text.is_empty() => EnvFilter::builder().parse(text),
        Some(_) | None => Ok(EnvFilter::new(DEFAULT_LEVEL)),
    }
}

fn log_to(path: &Path, filter: EnvFilter) -> std::io::Result<()> {
    // Logs may quote the conversation.
    let file = pi_fs::private::open_for_append(path)?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
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
