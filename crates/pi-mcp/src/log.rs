//! `mcp.log`: the messages that servers log.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use parking_lot::Mutex;
use serde_json::Value;

/// A longer file is renamed.
const MAX_LOG_BYTES: u64 = 5 << 20;

/// The log of all servers. Several processes may write to it, so each message is one write.
#[derive(Debug)]
pub struct McpLog {
    path: PathBuf,
    /// Serializes the tasks of this process.
    writing: Mutex<()>,
}

impl McpLog {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            writing: Mutex::default(),
        }
    }

    /// Appends a message. A log that cannot be written does not disturb the tools.
    pub(crate) fn write(&self, server: &str, params: &Value) {
        let line = format_line(server, params, &jiff::Timestamp::now().to_string());
        if let Err(error) = self.append(&line) {
            tracing::debug!(%error, "cannot write to mcp.log");
        }
    }

    fn append(&self, line: &str) -> std::io::Result<()> {
        let _writing = self.writing.lock();
        if fs::metadata(&self.path).is_ok_and(|file| file.len() > MAX_LOG_BYTES) {
            let mut older = self.path.clone().into_os_string();
            older.push(".1");
            fs::rename(&self.path, older)?;
        }
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(line.as_bytes())
    }
}

/// Formats a message; further lines are indented.
fn format_line(server: &str, params: &Value, time: &str) -> String {
    let field = |name: &str| params.get(name).and_then(Value::as_str);
    let level = field("level").unwrap_or("info");
    let logger = field("logger").filter(|logger| !logger.is_empty());
    let logger = logger.map_or_else(String::new, |logger| format!(" {logger}:"));
    let data = match params {
        Value::Object(params) => params.get("data").unwrap_or(&Value::Null),
        other => other,
    };
    let text = match data {
        Value::String(text) => text.replace("\r\n", "\n"),
        other => other.to_string(),
    };
    let text = text.replace('\n', "\n    ");
    format!("{time} [{server}] {level}{logger} {text}\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_formatted() {
        for (params, expected) in [
            (
                json!({"level": "error", "logger": "db", "data": "one\r\ntwo"}),
                "T [s] error db: one\n    two\n",
            ),
            (json!({"data": {"a": 1}}), "T [s] info {\"a\":1}\n"),
            (json!("text"), "T [s] info text\n"),
        ] {
            assert_eq!(format_line("s", &params, "T"), expected);
        }
    }

    #[test]
    fn a_long_file_is_renamed() {
        let directory = tempfile::tempdir().unwrap();
        let log = McpLog::new(directory.path().join("mcp.log"));
        log.write("s", &json!({"data": "x".repeat(6 << 20)}));
        log.write("s", &json!({"data": "second"}));
        let read = |name| fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(read("mcp.log.1").len() > 6 << 20);
        assert!(read("mcp.log").ends_with("[s] info second\n"));
    }
}
