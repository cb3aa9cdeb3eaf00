//! What a list shows of one session, gathered in one pass over its file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::entry::{Entry, EntryBody};
use crate::header::SessionHeader;
use crate::kind::{EntryKind, MessageRole};
use crate::load::parse;
use crate::moment;
use crate::reader::{Flow, each_line};
use crate::scan::{Fields, Line, Scanner};
use crate::storage::{AccessMode, DiskStorage, LogStorage};

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    pub path: PathBuf,
    pub id: String,
    /// The directory it works in; empty if the header has none.
    pub cwd: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The session file it was forked from.
    pub parent_session: Option<String>,
    /// When it began, in milliseconds since the epoch, if the header says.
    pub created_ms: Option<i64>,
    /// When the user or the model last said something, else when it began, else when the file was
    /// written.
    pub modified_ms: i64,
    /// How many messages there are, on all branches.
    pub message_count: usize,
    /// The first thing the user said.
    pub first_message: Option<String>,
    /// Everything the user and the model said, if it was asked for.
    pub text: String,
}

/// Whether everything that was said is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageText {
    /// Only what a list shows.
    #[default]
    Skip,
    /// Everything, to be searched; this takes memory.
    Collect,
}

impl SessionInfo {
    /// Returns what stands for the session in a list: its name, or the first thing the user said.
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.first_message.as_deref())
    }

    /// Reads a file; none if it is no session.
    pub fn read(path: &Path, text: MessageText) -> Option<Self> {
        Self::read_until(path, text, &CancellationToken::new())
    }

    pub(crate) fn read_until(
        path: &Path,
        text: MessageText,
        token: &CancellationToken,
    ) -> Option<Self> {
        let file = DiskStorage.open(path, AccessMode::Read).ok()?;
        let length = file.length().ok()?;
        let mut scanner = Scanner::default();
        let mut gathered = Gathered::new(text);
        let mut header: Option<SessionHeader> = None;
        each_line(&*file, 0, length, |line| {
            if token.is_cancelled() {
                header = None;
                return Flow::Stop;
            }
            let fields = match scanner.scan(line.bytes) {
                Line::Blank | Line::Malformed => return Flow::Continue,
                Line::Scalar => None,
                Line::Object(fields) => Some(fields),
            };
            if header.is_none() {
                header = parse(line.bytes);
                return if header.is_some() {
                    Flow::Continue
                } else {
                    Flow::Stop
                };
            }
            if let Some(fields) = fields {
                gathered.add(&fields, line.bytes);
            }
            Flow::Continue
        })
        .ok()?;
        Some(gathered.finish(path, header?))
    }
}

/// What has been seen of a session so far.
#[derive(Debug)]
struct Gathered {
    collect: MessageText,
    name: Option<String>,
    message_count: usize,
    last_activity_ms: i64,
    first_message: Option<String>,
    text: String,
}

impl Gathered {
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

    fn add(&mut self, fields: &Fields<'_>, line: &[u8]) {
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
        let moment = fields
            .message_timestamp
            .or_else(|| moment::parse_iso(fields.timestamp.as_deref()?));
        self.last_activity_ms = self.last_activity_ms.max(moment.unwrap_or_default());
        let is_first = role == MessageRole::User && self.first_message.is_none();
        if !is_first && self.collect == MessageText::Skip {
            return;
        }
        let said = said(line);
        if said.is_empty() {
            return;
        }
        if self.collect == MessageText::Collect {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(&said);
        }
        if is_first {
            self.first_message = Some(said);
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
        let created_ms = moment::parse_iso(&header.timestamp);
        let spoken = (self.last_activity_ms > 0).then_some(self.last_activity_ms);
        SessionInfo {
            path: path.to_owned(),
            id: header.id,
            cwd: header.cwd,
            name: self.name,
            parent_session: header.parent_session,
            created_ms,
            modified_ms: spoken
                .or(created_ms)
                .or_else(|| written_ms(path))
                .unwrap_or_default(),
            message_count: self.message_count,
            first_message: self.first_message,
            text: self.text,
        }
    }
}

fn written_ms(path: &Path) -> Option<i64> {
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// Reads the text of a message, its blocks joined by spaces.
fn said(line: &[u8]) -> String {
    #[derive(Deserialize)]
    struct MessageLine<'line> {
        #[serde(borrow)]
        message: Message<'line>,
    }
    #[derive(Deserialize)]
    struct Message<'line> {
        #[serde(borrow, default)]
        content: Option<Content<'line>>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Content<'line> {
        Text(#[serde(borrow)] Cow<'line, str>),
        Blocks(#[serde(borrow)] Vec<Block<'line>>),
    }
    #[derive(Deserialize)]
    struct Block<'line> {
        #[serde(borrow, rename = "type", default)]
        type_name: Cow<'line, str>,
        #[serde(borrow, default)]
        text: Cow<'line, str>,
    }
    let line = String::from_utf8_lossy(line);
    let Ok(line) = pi_ai::json::from_str_lenient::<MessageLine<'_>>(&line) else {
        return String::new();
    };
    match line.message.content {
        None => String::new(),
        Some(Content::Text(text)) => text.into_owned(),
        Some(Content::Blocks(blocks)) => {
            let texts = blocks.iter().filter(|block| block.type_name == "text");
            let texts: Vec<&str> = texts.map(|block| &*block.text).collect();
            texts.join(" ")
        }
    }
}
