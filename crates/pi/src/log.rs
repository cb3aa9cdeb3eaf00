//! Logs, for those who ask for them: to a file, never to the screen.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Mutex;

use tracing::Level;

use crate::output::warn;

/// The file to log to. Without it nothing is logged.
const LOG: &str = "PI_LOG";

/// How much is logged: `error`, `warn`, `info`, `debug` or `trace`; `info` if it is not said.
const LOG_LEVEL: &str = "PI_LOG_LEVEL";

/// Starts logging if the environment asks for it.
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
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    // What is logged may quote a conversation.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .init();
    Ok(())
}
