//! `log.jsonl` of a channel: every message that users and the bot have sent, one per line, in the format of the Slack
//! bot that pi-mom replaces. The file is the source of truth: a message counts as received once its line is on disk.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::chat::{ChatUser, HistoryPosition};
use crate::line_file::{self, LineFile};

/// User of lines that the bot wrote.
pub(crate) const BOT: &str = "bot";

/// User of lines that a scheduled event wrote.
pub(crate) const EVENT: &str = "EVENT";

/// A line of the log. Field names and their order are those of the predecessor, which ignores the fields that follow
/// `isBot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogLine {
    /// RFC 3339 in UTC with milliseconds.
    pub(crate) date: String,
    #[serde(default)]
    pub(crate) ts: String,
    #[serde(default)]
    pub(crate) user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) display_name: Option<String>,
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) attachments: Vec<LoggedFile>,
    #[serde(default)]
    pub(crate) is_bot: bool,
    /// Whether the bot has to answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) request: bool,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoggedFile {
    /// The name that the user gave it; untrusted.
    pub(crate) original: String,
    /// Relative to the workspace.
    pub(crate) local: String,
    /// Where it can be downloaded until it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

impl LogLine {
    pub(crate) fn position(&self) -> HistoryPosition {
        HistoryPosition {
            ts: self.ts.clone(),
            time_ms: self.time_ms(),
        }
    }

    /// Returns milliseconds since the Unix epoch; 0 if the date is invalid.
    pub(crate) fn time_ms(&self) -> i64 {
        let date: Result<Timestamp, _> = self.date.parse();
        date.map_or(0, Timestamp::as_millisecond)
    }

    pub(crate) fn author(&self) -> &str {
        self.user_name.as_deref().unwrap_or(&self.user)
    }

    /// Returns the line of an answer.
    pub(crate) fn of_bot(ts: &str, text: &str, now_ms: i64) -> Self {
        let user = ChatUser {
            id: BOT.to_owned(),
            ..ChatUser::default()
        };
        Self {
            is_bot: true,
            ..Self::new(ts, user, text, now_ms)
        }
    }

    pub(crate) fn new(ts: &str, user: ChatUser, text: &str, time_ms: i64) -> Self {
        Self {
            date: log_date(time_ms),
            ts: ts.to_owned(),
            user: user.id,
            user_name: user.name,
            display_name: user.display_name,
            text: text.to_owned(),
            attachments: Vec::new(),
            is_bot: false,
            request: false,
        }
    }
}

/// Formats a time like `Date.prototype.toISOString`.
fn log_date(time_ms: i64) -> String {
    let time = Timestamp::from_millisecond(time_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The log of a channel, open for appending.
#[derive(Debug)]
pub(crate) struct ChannelLog {
    file: LineFile,
    known: HashSet<String>,
    last: Option<HistoryPosition>,
}

impl ChannelLog {
    /// Opens or creates the log, and passes every line to `visit`.
    pub(crate) fn open(path: &Path, mut visit: impl FnMut(LogLine)) -> io::Result<Self> {
        let (mut known, mut last) = (HashSet::new(), None);
        let file = LineFile::open(path, |bytes| {
            if let Some(line) = parse(bytes) {
                remember(&mut known, &mut last, &line);
                visit(line);
            }
        })?;
        Ok(Self { file, known, last })
    }

    /// Returns the last message of the service, where missed messages begin.
    pub(crate) fn last(&self) -> Option<&HistoryPosition> {
        self.last.as_ref()
    }

    /// Appends the lines that the log does not have, by `ts`, and returns them. They are on disk when this returns.
    pub(crate) fn append(&mut self, lines: Vec<LogLine>) -> io::Result<Vec<LogLine>> {
        let mut text = Vec::new();
        let mut added: Vec<LogLine> = Vec::new();
        for line in lines {
            if self.known.contains(&line.ts) || added.iter().any(|other| other.ts == line.ts) {
                continue;
            }
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
            added.push(line);
        }
        if added.is_empty() {
            return Ok(added);
        }
        self.file.append(&text)?;
        for line in &added {
            remember(&mut self.known, &mut self.last, line);
        }
        Ok(added)
    }
}

fn remember(known: &mut HashSet<String>, last: &mut Option<HistoryPosition>, line: &LogLine) {
    known.insert(line.ts.clone());
    let is_message = !line.is_bot && line.user != EVENT;
    let time_ms = line.time_ms();
    if is_message && last.as_ref().is_none_or(|last| last.time_ms <= time_ms) {
        *last = Some(line.position());
    }
}

fn parse(bytes: &[u8]) -> Option<LogLine> {
    let line = serde_json::from_slice(bytes);
    line.map_err(|error| tracing::debug!(%error, "a line of the log is not valid"))
        .ok()
}

/// Reads the lines of a log in order; those that are not valid are skipped.
pub(crate) fn read_log(path: &Path, mut visit: impl FnMut(LogLine)) -> io::Result<()> {
    line_file::read_lines(&File::open(path)?, |bytes| {
        if let Some(line) = parse(bytes) {
            visit(line);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;

    fn message(ts: &str) -> LogLine {
        let user = ChatUser {
            id: "U1".to_owned(),
            name: Some("ann".to_owned()),
            display_name: Some("Ann Bee".to_owned()),
        };
        LogLine::new(ts, user, "hi \"there\"", 1_764_153_840_123)
    }

    fn opened(path: &Path) -> (ChannelLog, Vec<LogLine>) {
        let mut lines = Vec::new();
        let log = ChannelLog::open(path, |line| lines.push(line)).unwrap();
        (log, lines)
    }

    #[test]
    fn lines_have_the_bytes_of_the_predecessor() {
        let line = serde_json::to_string(&message("1764153840.123456")).unwrap();
        assert_eq!(
            line,
            r#"{"date":"2025-11-26T10:44:00.123Z","ts":"1764153840.123456","user":"U1","userName":"ann","displayName":"Ann Bee","text":"hi \"there\"","attachments":[],"isBot":false}"#
        );
        let line = serde_json::to_string(&LogLine::of_bot("2.0", "ok", 0)).unwrap();
        assert_eq!(
            line,
            r#"{"date":"1970-01-01T00:00:00.000Z","ts":"2.0","user":"bot","text":"ok","attachments":[],"isBot":true}"#
        );
    }

    #[test]
    fn a_message_is_stored_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        let (mut log, _) = opened(&path);
        let twice = vec![message("1.0"), message("1.0"), message("2.0")];
        assert_eq!(log.append(twice).unwrap().len(), 2);
        let (mut log, lines) = opened(&path);
        assert_eq!(lines.len(), 2);
        assert_eq!(log.append(vec![message("2.0")]).unwrap(), []);
        assert_eq!(log.last().unwrap().ts, "2.0");
    }

    #[test]
    fn a_cut_line_does_not_damage_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        std::fs::File::create(&path)
            .unwrap()
            .write_all(b"{\"date\":\"20")
            .unwrap();
        let (mut log, lines) = opened(&path);
        assert_eq!(lines, []);
        log.append(vec![message("1.0")]).unwrap();
        assert_eq!(opened(&path).1, [message("1.0")]);
    }
}
