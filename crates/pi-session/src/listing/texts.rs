//! The text of a session file for full-text search, entry by entry.
//!
//! Searched are prompts, responses, arguments of tool calls, the start of tool results, summaries and names; thinking
//! and images are not.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use pi_protocol::{EntryKind, MessageRole, timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::reader::{LineFlow, RawLine, each_bounded_line};
use crate::scan::{ScannedLine, Scanner};
use crate::storage::{AccessMode, DiskStorage, LogStorage};

/// How much of the result of a tool or command is searched.
const MAX_RESULT_BYTES: usize = 8 * 1024;

/// Longer lines are skipped: they contain images or dumps, and would have to fit in memory.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Who an entry is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextRole {
    User,
    Assistant,
    /// The result of a tool, or of a command of the user.
    Tool,
    /// Summaries and messages of extensions.
    Other,
    /// The name of the session.
    Name,
}

/// An entry that has text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryText {
    /// Where the line of the entry starts.
    pub offset: u64,
    pub id: String,
    pub role: TextRole,
    pub timestamp_ms: Option<i64>,
    /// Parts are separated by line feeds.
    pub text: String,
}

/// Whether to continue with the next entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFlow {
    Continue,
    Stop,
}

/// Calls `visit` with the entries that have text and start at `start` or later, until it returns [`TextFlow::Stop`]. An
/// unfinished last line is not read. Returns where the next line starts.
pub fn each_text(
    path: &Path,
    start: u64,
    mut visit: impl FnMut(EntryText) -> TextFlow,
) -> io::Result<u64> {
    let file = DiskStorage.open(path, AccessMode::Read)?;
    let length = file.length()?;
    let mut reader = TextReader::default();
    let mut end = start;
    each_bounded_line(&*file, start, length, MAX_LINE_BYTES, |line| {
        if !line.terminated {
            return LineFlow::Stop;
        }
        end = line.offset + line.bytes.len() as u64 + 1;
        match reader.read(line).map(&mut visit) {
            Some(TextFlow::Stop) => LineFlow::Stop,
            Some(TextFlow::Continue) | None => LineFlow::Continue,
        }
    })?;
    Ok(end)
}

/// Returns the text of the entry whose line starts at an offset; `None` if no line with text starts there.
pub fn read_text_at(path: &Path, offset: u64) -> io::Result<Option<EntryText>> {
    let file = DiskStorage.open(path, AccessMode::Read)?;
    let length = file.length()?;
    if let Some(before) = offset.checked_sub(1) {
        let mut byte = [0];
        if file.read_at(&mut byte, before)? != 1 || byte != *b"\n" {
            return Ok(None);
        }
    }
    let mut found = None;
    each_bounded_line(&*file, offset, length, MAX_LINE_BYTES, |line| {
        if line.terminated && line.offset == offset {
            found = TextReader::default().read(line);
        }
        LineFlow::Stop
    })?;
    Ok(found)
}

#[derive(Default)]
struct TextReader {
    scanner: Scanner,
    repaired: String,
}

impl TextReader {
    fn read(&mut self, line: RawLine<'_>) -> Option<EntryText> {
        let ScannedLine::Object(fields) = self.scanner.scan(line.bytes) else {
            return None;
        };
        let type_name = fields.type_name.as_deref()?;
        let role = match EntryKind::from_names(type_name, fields.role.as_deref()) {
            EntryKind::SessionInfo => TextRole::Name,
            EntryKind::Message(MessageRole::User) => TextRole::User,
            EntryKind::Message(MessageRole::Assistant) => TextRole::Assistant,
            EntryKind::Message(MessageRole::ToolResult | MessageRole::BashExecution) => {
                TextRole::Tool
            }
            EntryKind::Message(_)
            | EntryKind::CustomMessage
            | EntryKind::Compaction
            | EntryKind::BranchSummary => TextRole::Other,
            _ => return None,
        };
        let id = fields.id.as_deref()?.to_owned();
        let timestamp_ms = fields
            .message_timestamp
            .or_else(|| timestamp::parse_iso(fields.timestamp.as_deref()?));
        self.repaired.clear();
        let text = String::from_utf8_lossy(line.bytes);
        let parsed =
            pi_protocol::json::from_str_repaired::<SearchedLine<'_>>(&text, &mut self.repaired);
        let text = parsed.ok()?.text(role);
        (!text.is_empty()).then_some(EntryText {
            offset: line.offset,
            id,
            role,
            timestamp_ms,
            text,
        })
    }
}

#[derive(Deserialize)]
struct SearchedLine<'line> {
    #[serde(borrow, default)]
    message: Option<SearchedMessage<'line>>,
    /// Of a message of an extension.
    #[serde(borrow, default)]
    content: Option<SearchedContent<'line>>,
    #[serde(default)]
    summary: Option<String>,
    /// Of a session.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
struct SearchedMessage<'line> {
    #[serde(borrow, default)]
    content: Option<SearchedContent<'line>>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    output: Option<String>,
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SearchedContent<'line> {
    Text(#[serde(borrow)] Cow<'line, str>),
    Blocks(#[serde(borrow)] Vec<SearchedBlock<'line>>),
}

#[derive(Deserialize)]
struct SearchedBlock<'line> {
    #[serde(borrow, rename = "type", default)]
    type_name: Cow<'line, str>,
    #[serde(borrow, default)]
    text: Cow<'line, str>,
    #[serde(default)]
    arguments: Option<Value>,
}

impl SearchedLine<'_> {
    fn text(self, role: TextRole) -> String {
        let mut text = TextCollector {
            text: String::new(),
            limit: match role {
                TextRole::Tool => MAX_RESULT_BYTES,
                _ => usize::MAX,
            },
        };
        if let Some(message) = self.message {
            for part in [message.command, message.output, message.summary] {
                text.push(&part.unwrap_or_default());
            }
            text.push_content(message.content);
        }
        text.push_content(self.content);
        text.push(&self.summary.unwrap_or_default());
        text.push(&self.name.unwrap_or_default());
        text.text
    }
}

struct TextCollector {
    text: String,
    /// In bytes.
    limit: usize,
}

impl TextCollector {
    fn push(&mut self, part: &str) {
        let room = self.limit.saturating_sub(self.text.len());
        let end = part.floor_char_boundary(room);
        let Some(part) = part.get(..end).filter(|part| !part.is_empty()) else {
            return;
        };
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(part);
    }

    fn push_content(&mut self, content: Option<SearchedContent<'_>>) {
        match content {
            None => {}
            Some(SearchedContent::Text(text)) => self.push(&text),
            Some(SearchedContent::Blocks(blocks)) => {
                for block in blocks {
                    match &*block.type_name {
                        "text" => self.push(&block.text),
                        "toolCall" => self.push_strings(&block.arguments.unwrap_or_default()),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Adds the strings of a JSON value. The depth is limited by the parser.
    fn push_strings(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.push(text),
            Value::Array(values) => values.iter().for_each(|it| self.push_strings(it)),
            Value::Object(fields) => fields.values().for_each(|it| self.push_strings(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn texts(content: &[u8]) -> (Vec<(TextRole, String)>, u64) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s.jsonl");
        pi_fs::atomic_file::write(&path, content, pi_fs::atomic_file::NewFileMode::Private)
            .unwrap();
        let mut found = Vec::new();
        let end = each_text(&path, 0, |entry| {
            let again = read_text_at(&path, entry.offset).unwrap();
            assert_eq!(again.as_ref(), Some(&entry));
            assert_eq!(read_text_at(&path, entry.offset + 1).unwrap(), None);
            found.push((entry.role, entry.text));
            TextFlow::Continue
        });
        (found, end.unwrap())
    }

    #[test]
    fn text_arguments_results_summaries_and_names_are_read() {
        let long = "x".repeat(MAX_RESULT_BYTES + 10);
        let lines = [
            r#"{"type":"session","id":"s","cwd":"/p"}"#.to_owned(),
            r#"{"type":"message","id":"1","message":{"role":"user","content":"prompt"}}"#.to_owned(),
            r#"{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"secret"},{"type":"text","text":"answer"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls -l","n":[1,"deep"]}}]}}"#.to_owned(),
            format!(r#"{{"type":"message","id":"3","message":{{"role":"toolResult","content":[{{"type":"image","data":"AAAA"}},{{"type":"text","text":"{long}"}}]}}}}"#),
            r#"{"type":"message","id":"4","message":{"role":"bashExecution","command":"pwd","output":"/home"}}"#.to_owned(),
            r#"{"type":"compaction","id":"5","summary":"what happened"}"#.to_owned(),
            r#"{"type":"session_info","id":"6","name":"a name"}"#.to_owned(),
            r#"{"type":"label","id":"7","label":"not searched"}"#.to_owned(),
            "not JSON".to_owned(),
            r#"{"type":"custom_message","id":"8","content":"of an extension"}"#.to_owned(),
        ];
        let mut content = lines.join("\n").into_bytes();
        content.push(b'\n');
        let complete = content.len() as u64;
        content
            .extend(br#"{"type":"message","id":"9","message":{"role":"user","content":"torn"}}"#);
        let (found, end) = texts(&content);
        assert_eq!(
            found,
            [
                (TextRole::User, "prompt".to_owned()),
                (TextRole::Assistant, "answer\nls -l\ndeep".to_owned()),
                (TextRole::Tool, "x".repeat(MAX_RESULT_BYTES)),
                (TextRole::Tool, "pwd\n/home".to_owned()),
                (TextRole::Other, "what happened".to_owned()),
                (TextRole::Name, "a name".to_owned()),
                (TextRole::Other, "of an extension".to_owned()),
            ]
        );
        assert_eq!(end, complete);
    }

    #[test]
    fn binary_files_and_odd_types_have_no_text() {
        let (found, _) = texts(b"\x00\xff\n[1]\n{\"type\":\"message\",\"id\":\"1\",\"message\":{\"role\":\"user\",\"content\":7}}\n");
        assert_eq!(found, []);
    }
}
