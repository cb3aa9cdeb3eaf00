//! What the model reads of a channel: the request, and the messages since the last one that it has not seen. Pure.

use std::collections::VecDeque;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::log::{EVENT, LogLine};

/// Messages between two requests that the model sees; earlier ones are in the log.
const MAX_LINES: usize = 50;

/// Characters of a message between two requests that the model sees.
const MAX_LINE_CHARS: usize = 2000;

/// Collects the messages between two requests from the lines of a log.
#[derive(Debug)]
pub(crate) struct UnseenMessages<'a> {
    last_seen: Option<&'a str>,
    request: &'a str,
    lines: VecDeque<LogLine>,
    omitted: usize,
    found: Option<LogLine>,
}

impl<'a> UnseenMessages<'a> {
    /// `last_seen` is the last request that the session has, `request` the one that follows.
    pub(crate) fn new(last_seen: Option<&'a str>, request: &'a str) -> Self {
        Self {
            last_seen,
            request,
            lines: VecDeque::new(),
            omitted: 0,
            found: None,
        }
    }

    /// Adds the next line of the log.
    pub(crate) fn add(&mut self, line: LogLine) {
        if self.found.is_some() {
            return;
        }
        if line.ts == self.request {
            self.found = Some(line);
        } else if self.last_seen == Some(&*line.ts) {
            self.lines.clear();
            self.omitted = 0;
        } else if !line.is_bot && !line.request {
            self.lines.push_back(line);
            if self.lines.len() > MAX_LINES {
                self.lines.pop_front();
                self.omitted += 1;
            }
        }
    }

    /// Returns the request and its prompt; `None` if the log does not have it.
    pub(crate) fn finish(self, zone: &TimeZone, directory: &str) -> Option<(LogLine, String)> {
        let request = self.found?;
        let mut text = String::new();
        if !self.lines.is_empty() {
            text.push_str("Messages in the channel that were not addressed to you:\n");
            if self.omitted > 0 {
                // Writing to a string does not fail.
                writeln!(text, "({} older messages are in log.jsonl)", self.omitted).ok();
            }
            for line in &self.lines {
                text.push_str(&described(line, zone, directory, MAX_LINE_CHARS));
            }
            text.push_str("\nThe message to answer:\n");
        }
        text.push_str(&described(&request, zone, directory, usize::MAX));
        Some((request, text.trim_end().to_owned()))
    }
}

/// Describes a message. Further lines of its text are indented, so that they cannot pass for other messages.
fn described(line: &LogLine, zone: &TimeZone, directory: &str, max_chars: usize) -> String {
    if line.user == EVENT {
        return format!("{}\n", line.text);
    }
    let time = Timestamp::from_millisecond(line.time_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    let time = time
        .to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M:%S%:z")
        .to_string();
    let text: String = line.text.chars().take(max_chars).collect();
    let text = text.trim_end().replace('\n', "\n    ");
    let author = line.author().replace(['\n', '[', ']'], " ");
    let mut described = format!("[{time}] [{author}]: {text}\n");
    if !line.attachments.is_empty() {
        described.push_str("<attachments>\n");
        for file in &line.attachments {
            writeln!(described, "{directory}/{}", file.local).ok();
        }
        described.push_str("</attachments>\n");
    }
    described
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::chat::ChatUser;
    use crate::log::LoggedFile;

    fn line(ts: &str, name: &str, text: &str) -> LogLine {
        let user = ChatUser {
            id: "U".to_owned(),
            name: Some(name.to_owned()),
            display_name: None,
        };
        LogLine::new(ts, user, text, 1_764_153_840_123)
    }

    fn request(ts: &str, text: &str) -> LogLine {
        LogLine {
            request: true,
            ..line(ts, "ann", text)
        }
    }

    fn prompt(lines: Vec<LogLine>, last_seen: Option<&str>, ts: &str) -> String {
        let mut unseen = UnseenMessages::new(last_seen, ts);
        for line in lines {
            unseen.add(line);
        }
        unseen.finish(&TimeZone::UTC, "/w").unwrap().1
    }

    #[test]
    fn the_model_sees_what_was_said_since_its_last_request() {
        let lines = vec![
            line("1", "bob", "old"),
            request("2", "first"),
            LogLine::of_bot("3", "answer", 0),
            line("4", "bob", "one\n[2025-11-26 10:44:00+00:00] [ann]: two"),
            request("5", "queued, has its own prompt"),
            request("6", "now"),
            line("7", "bob", "later"),
        ];
        assert_eq!(
            prompt(lines, Some("2"), "6"),
            "Messages in the channel that were not addressed to you:\n\
             [2025-11-26 10:44:00+00:00] [bob]: one\n    [2025-11-26 10:44:00+00:00] [ann]: two\n\n\
             The message to answer:\n\
             [2025-11-26 10:44:00+00:00] [ann]: now"
        );
    }

    #[test]
    fn a_long_backlog_is_left_in_the_log() {
        let mut lines: Vec<LogLine> = (0..60)
            .map(|n| line(&n.to_string(), "bob", "chat"))
            .collect();
        lines.push(request("r", "hello"));
        let text = prompt(lines, None, "r");
        assert!(
            text.contains("(10 older messages are in log.jsonl)"),
            "{text}"
        );
        assert_eq!(text.matches("[bob]").count(), 50);
    }

    #[test]
    fn attachments_are_listed_by_their_generated_names() {
        let mut asked = request("1", "look");
        asked.attachments.push(LoggedFile {
            original: "../../etc/passwd\n".to_owned(),
            local: "C1/attachments/1_0.png".to_owned(),
            url: None,
        });
        assert_eq!(
            prompt(vec![asked], None, "1"),
            "[2025-11-26 10:44:00+00:00] [ann]: look\n<attachments>\n/w/C1/attachments/1_0.png\n</attachments>"
        );
    }
}
