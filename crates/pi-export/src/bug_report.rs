//! Bug reports: an archive on the user's disk, with secrets removed. Nothing is sent.
//!
//! A report describes program, system, terminal, model and settings, and contains the end of the
//! log and the last crash. Optionally it includes the conversation, as an HTML page and as a record
//! for a replay.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use pi_env::Env;
use pi_fs::private::PrivateTempDir;
use pi_protocol::{AuthStatus, Model, SourceInfo, ThinkingLevel};
use pi_session::Session;
use serde_json::{Value, json};
use thiserror::Error;

use crate::export::{
    ExportError, ExportTheme, HtmlOptions, JsonlOptions, export_html, export_jsonl,
};
use crate::redaction::Redactor;

/// Name of the record in the archive.
pub(crate) const REPLAY_FILE: &str = "replay.jsonl";

/// Name of the HTML page in the archive.
const PAGE_FILE: &str = "session.html";

/// Number of bytes kept from the end of the log.
const LOG_TAIL: u64 = 256 * 1024;

/// Type of the session entry that records a report.
const ENTRY_TYPE: &str = "pi.bug-report";

/// Environment variables that identify the terminal.
const TERMINAL_VARIABLES: [&str; 8] = [
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLORTERM",
    "LANG",
    "LC_ALL",
    "TERM_FEATURES",
    "WT_SESSION",
];

/// Options of a report.
#[derive(Debug, Clone, Default)]
pub struct BugReport {
    /// Description of the problem by the user.
    pub description: Option<String>,
    pub with_conversation: bool,
    pub version: String,
    /// Terminal information that only the front end has.
    pub terminal: Value,
    /// The log file.
    pub log: Option<PathBuf>,
    /// The report of the last crash.
    pub crash: Option<PathBuf>,
}

/// The live session that a report is about, apart from its transcript.
#[derive(Debug, Clone)]
pub struct ReportedSession {
    pub cwd: PathBuf,
    pub message_count: usize,
    pub model: Option<Arc<Model>>,
    /// How the model's provider is authenticated.
    pub authentication: Option<AuthStatus>,
    pub thinking_level: ThinkingLevel,
    pub active_tools: Vec<String>,
    pub system_prompt: String,
    pub extensions: Vec<SourceInfo>,
    /// The user's settings as JSON.
    pub user_settings: Value,
    /// The project's settings as JSON.
    pub project_settings: Value,
    pub diagnostics: Vec<String>,
    /// Theme of the exported page.
    pub theme: ExportTheme,
    pub env: Env,
}

/// A report that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenReport {
    pub id: String,
    pub path: PathBuf,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// Names of the files in the archive.
    pub files: Vec<String>,
    /// Number of secrets that were redacted.
    pub redacted: usize,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BugReportError {
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("cannot write bug report to {}", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl BugReport {
    /// Writes the archive into a directory. `redaction` is applied to everything in it.
    pub fn write(
        &self,
        session: &Session,
        reported: &ReportedSession,
        redaction: &Redactor,
        directory: &Path,
    ) -> Result<WrittenReport, BugReportError> {
        let id = uuid::Uuid::now_v7().to_string();
        let path = directory.join(format!("pi-bug-report-{id}.tar.gz"));
        let unwritable = |source| BugReportError::Unwritable {
            path: path.clone(),
            source,
        };
        let mut files = vec![
            ("README.txt", self.explanation().into_bytes()),
            (
                "report.json",
                self.facts(&id, session.id(), reported, redaction),
            ),
        ];
        if let Some(tail) = self.log.as_deref().and_then(tail_of) {
            files.push(("log.txt", redaction.redact(&tail).into_owned().into_bytes()));
        }
        if let Some(crash) = self.crash.as_deref().and_then(tail_of) {
            files.push((
                "crash.txt",
                redaction.redact(&crash).into_owned().into_bytes(),
            ));
        }
        if self.with_conversation {
            let scratch = PrivateTempDir::create("pi-bug").map_err(unwritable)?;
            for (name, content) in conversation(session, reported, redaction, scratch.path())? {
                files.push((name, content));
            }
        }
        write_archive(&path, &format!("pi-bug-report-{id}"), &files).map_err(unwritable)?;
        Ok(WrittenReport {
            bytes: std::fs::metadata(&path).map_or(0, |metadata| metadata.len()),
            id,
            path,
            files: files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            redacted: redaction.replaced(),
        })
    }

    /// Returns type and data of the session entry that records the report.
    pub fn entry(&self, written: &WrittenReport, env: &Env) -> (&'static str, Value) {
        let data = json!({
            "id": written.id,
            "createdAt": timestamp(env),
            "hint": self.description,
            "sessionIncluded": self.with_conversation,
            "summaryIncluded": false,
            "delivery": "archive",
            "path": written.path.to_string_lossy(),
        });
        (ENTRY_TYPE, data)
    }

    fn explanation(&self) -> String {
        let conversation = if self.with_conversation {
            "session.html  the conversation, to read in a browser\n\
             replay.jsonl  the current branch; `pi replay ARCHIVE` runs it again offline\n"
        } else {
            "The conversation is not included.\n"
        };
        format!(
            "Bug report for pi {}.\n\
             Nothing was sent anywhere. Review the files before you share them.\n\n\
             report.json   program, system, terminal, model and settings\n\
             log.txt       end of the log, if there is one\n\
             crash.txt     last crash, if there was one\n\
             {conversation}",
            self.version
        )
    }

    fn facts(
        &self,
        id: &str,
        session_id: &str,
        reported: &ReportedSession,
        redaction: &Redactor,
    ) -> Vec<u8> {
        let mut facts = json!({
            "schemaVersion": 1,
            "id": id,
            "createdAt": timestamp(&reported.env),
            "hint": self.description,
            "environment": self.environment(&reported.env),
            "session": {
                "id": session_id,
                "included": self.with_conversation,
                "summaryIncluded": false,
                "messageCount": reported.message_count,
                "cwd": self.with_conversation.then_some(&reported.cwd),
            },
            "model": reported.model.as_deref().map(describe_model),
            "authentication": reported.model.as_deref().and_then(|model| {
                let status = reported.authentication.as_ref()?;
                Some(json!({
                    "provider": model.provider,
                    "kind": status.kind.as_str(),
                    "source": format!("{:?}", status.source),
                }))
            }),
            "thinkingLevel": reported.thinking_level,
            "tools": reported.active_tools,
            "extensions": reported.extensions,
            "settings": {"global": reported.user_settings, "project": reported.project_settings},
            "diagnostics": reported.diagnostics,
        });
        if let Some(user) = facts
            .pointer_mut("/settings/global")
            .and_then(Value::as_object_mut)
        {
            user.shift_remove("trackingId");
            user.shift_remove("deviceId");
        }
        redaction.redact_value(&mut facts);
        let mut text = serde_json::to_vec_pretty(&facts).unwrap_or_default();
        text.push(b'\n');
        text
    }

    fn environment(&self, env: &Env) -> Value {
        let variables = env.variables();
        let mut terminal: serde_json::Map<String, Value> = TERMINAL_VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), variables.get(*name)?.clone().into())))
            .collect();
        let is_set = |name: &str| variables.contains_key(name);
        terminal.insert("tmux".to_owned(), is_set("TMUX").into());
        let is_remote = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"]
            .iter()
            .any(|name| is_set(name));
        terminal.insert("ssh".to_owned(), is_remote.into());
        if let Value::Object(known) = &self.terminal {
            terminal.extend(known.clone());
        }
        // Variable names help to find the configuration; values are not included.
        let ours = variables.keys().filter(|name| name.starts_with("PI_"));
        json!({
            "version": self.version,
            "platform": std::env::consts::OS,
            "arch": std::env::consts::ARCH,
            "shell": variables.get("SHELL").and_then(|shell| shell.rsplit('/').next()),
            "terminal": terminal,
            "ci": is_set("CI"),
            "piEnvironmentVariables": ours.collect::<Vec<_>>(),
        })
    }
}

/// Returns the page and the record of a conversation.
fn conversation(
    session: &Session,
    reported: &ReportedSession,
    redaction: &Redactor,
    scratch: &Path,
) -> Result<Vec<(&'static str, Vec<u8>)>, BugReportError> {
    let page = HtmlOptions {
        output: Some(scratch.join(PAGE_FILE)),
        theme: reported.theme,
        system_prompt: Some(reported.system_prompt.clone()),
        redaction: redaction.clone(),
        env: reported.env.clone(),
        ..HtmlOptions::default()
    };
    let record = JsonlOptions {
        output: Some(scratch.join(REPLAY_FILE)),
        redaction: redaction.clone(),
        env: reported.env.clone(),
    };
    let page = match export_html(session, &page) {
        Ok(page) => Some(page),
        // The problem may be that no response was ever received.
        Err(ExportError::NothingYet) => None,
        Err(error) => return Err(error.into()),
    };
    let record = export_jsonl(session, &record)?;
    let mut files = Vec::new();
    for (name, path) in [(PAGE_FILE, page), (REPLAY_FILE, Some(record))] {
        if let Some(path) = path {
            let content = std::fs::read(&path);
            let content = content.map_err(|source| BugReportError::Unwritable { path, source })?;
            files.push((name, content));
        }
    }
    Ok(files)
}

/// Describes a model without its header values.
fn describe_model(model: &Model) -> Value {
    let mut value = serde_json::to_value(model).unwrap_or_default();
    if let Some(fields) = value.as_object_mut()
        && let Some(headers) = fields.shift_remove("headers")
    {
        let names = headers
            .as_object()
            .map(|headers| headers.keys().cloned().collect::<Vec<_>>());
        fields.insert("headerNames".to_owned(), json!(names));
    }
    value
}

/// Returns the end of a text file; `None` if it does not exist.
fn tail_of(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(LOG_TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if length <= LOG_TAIL {
        return Some(text);
    }
    // Drop the first line: it is cut, and a cut secret would not be recognized.
    text.split_once('\n').map(|(_, whole)| whole.to_owned())
}

fn write_archive(path: &Path, root: &str, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    use pi_fs::NewFileMode;
    use pi_fs::atomic_file::write_with;

    write_with(path, NewFileMode::Private, |out| {
        let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o600);
            header.set_cksum();
            archive.append_data(&mut header, format!("{root}/{name}"), content.as_slice())?;
        }
        archive.into_inner()?.finish()?.flush()
    })
}

fn timestamp(env: &Env) -> String {
    Timestamp::from_millisecond(env.now_ms())
        .unwrap_or_default()
        .to_string()
}
