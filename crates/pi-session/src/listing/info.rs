//! Session metadata for lists, collected in one pass over the file.

use std::borrow::Cow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use pi_protocol::{
    Entry, EntryBody, EntryKind, MessageRole, SessionHeader, SessionInfo, timestamp,
};
use serde::Deserialize;

use super::progress::IsCanceled;
use crate::load::parse;
use crate::reader::{LineFlow, each_line};
use crate::scan::{LineFields, ScannedLine, Scanner};
use crate::storage::{AccessMode, DiskStorage, LogStorage};

/// Whether to collect the text of all messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageText {
    /// Collect only what a list shows.
    #[default]
    Skip,
    /// Collect all text for searching; uses more memory.
    Collect,
}

/// Reads a file; `None` if it is not a session.
pub fn read_info(path: &Path, text: MessageText) -> Option<SessionInfo> {
    read_info_until(path, text, &|| false)
}

pub(crate) fn read_info_until(
    path: &Path,
    text: MessageText,
    is_canceled: IsCanceled<'_>,
) -> Option<SessionInfo> {
    let file = DiskStorage.open(path, AccessMode::Read).ok()?;
    let length = file.length().ok()?;
    let mut scanner = Scanner::default();
    let mut builder = SessionInfoBuilder::new(text);
    let mut header: Option<SessionHeader> = None;
    each_line(&*file, 0, length, |line| {
        if is_canceled() {
            header = None;
            return LineFlow::Stop;
        }
        let fields = match scanner.scan(line.bytes) {
            ScannedLine::Blank | ScannedLine::Malformed => return LineFlow::Continue,
            ScannedLine::Scalar => None,
            ScannedLine::Object(fields) => Some(fields),
        };
        if header.is_none() {
            header = parse(line.bytes);
            return if header.is_some() {
                LineFlow::Continue
            } else {
                LineFlow::Stop
            };
        }
        if let Some(fields) = fields {
            builder.add(&fields, line.bytes);
        }
        LineFlow::Continue
    })
    .ok()?;
    Some(builder.finish(path, header?))
}

#[derive(Debug)]
struct SessionInfoBuilder {
    collect: MessageText,
    name: Option<String>,
    message_count: usize,
    last_activity_ms: i64,
    first_message: Option<String>,
    text: String,
}

impl SessionInfoBuilder {
    fn new(collect: MessageText) -> Self {
        Self {
            collect,
            name: None,
            message_count: 0,
            last_activity_ms: 0,
            first_message: None,
            text: String::new(),
        }
    }

    fn add(&mut self, fields: &LineFields<'_>, line: &[u8]) {
        let type_name = fields.type_name.as_deref().unwrap_or_default();
        let role = match EntryKind::from_names(type_name, fields.role.as_deref()) {
            EntryKind::SessionInfo => return self.rename(line),
            EntryKind::Message(role) => role,
            _ => return,
        };
        self.message_count += 1;
        if !matches!(role, MessageRole::User | MessageRole::Assistant) {
            return;
        }
        let timestamp = fields
            .message_timestamp
            .or_else(|| timestamp::parse_iso(fields.timestamp.as_deref()?));
        self.last_activity_ms = self.last_activity_ms.max(timestamp.unwrap_or_default());
        let is_first = role == MessageRole::User && self.first_message.is_none();
        if !is_first && self.collect == MessageText::Skip {
            return;
        }
        let text = message_text(line);
        if text.is_empty() {
            return;
        }
        if self.collect == MessageText::Collect {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(&text);
        }
        if is_first {
            self.first_message = Some(text);
        }
    }

    fn rename(&mut self, line: &[u8]) {
        if let Some(Entry {
            body: EntryBody::SessionInfo(info),
            ..
        }) = parse(line)
        {
            let name = info.name.as_deref().map_or("", str::trim);
            self.name = (!name.is_empty()).then(|| name.to_owned());
        }
    }

    fn finish(self, path: &Path, header: SessionHeader) -> SessionInfo {
        let created_ms = timestamp::parse_iso(&header.timestamp);
        let last_activity = (self.last_activity_ms > 0).then_some(self.last_activity_ms);
        SessionInfo {
            path: path.to_owned(),
            id: header.id,
            cwd: header.cwd,
            name: self.name,
            parent_session: header.parent_session,
            created_ms,
            modified_ms: last_activity
                .or(created_ms)
                .or_else(|| file_modified_ms(path))
                .unwrap_or_default(),
            message_count: self.message_count,
            first_message: self.first_message,
            text: self.text,
        }
    }
}

fn file_modified_ms(path: &Path) -> Option<i64> {
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// Returns the text of a message, its blocks joined by spaces.
fn message_text(line: &[u8]) -> String {
    #[derive(Deserialize)]
    struct TextLine<'line> {
        #[serde(borrow)]
        message: TextMessage<'line>,
    }
    #[derive(Deserialize)]
    struct TextMessage<'line> {
        #[serde(borrow, default)]
        content: Option<TextContent<'line>>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextContent<'line> {
        Text(#[serde(borrow)] Cow<'line, str>),
        Blocks(#[serde(borrow)] Vec<TextBlock<'line>>),
    }
    #[derive(Deserialize)]
    struct TextBlock<'line> {
        #[serde(borrow, rename = "type", default)]
        type_name: Cow<'line, str>,
        #[serde(borrow, default)]
        text: Cow<'line, str>,
    }
    let line = String::from_utf8_lossy(line);
    let mut repaired = String::new();
    let parsed = pi_protocol::json::from_str_repaired::<TextLine<'_>>(&line, &mut repaired);
    let Ok(line) = parsed else {
        return String::new();
    };
    match line.message.content {
        None => String::new(),
        Some(TextContent::Text(text)) => text.into_owned(),
        Some(TextContent::Blocks(blocks)) => {
            let texts = blocks.iter().filter(|block| block.type_name == "text");
            let texts: Vec<&str> = texts.map(|block| &*block.text).collect();
            texts.join(" ")
        }
    }
}
