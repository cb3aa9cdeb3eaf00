//! Servers that are child processes: one message per line on their standard input and output.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_http::KnownSecrets;
use pi_sandbox::{ConfinedProgram, Sandbox};
use pi_tools::{ServerProcess, ServerStreams};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::error::McpError;
use crate::secrets::secret_in;
use crate::transport::{MAX_MESSAGE_BYTES, Transport, WeakInbox};

/// How long a server may take to exit after its input was closed.
const EXIT_PATIENCE: Duration = Duration::from_millis(500);

/// How long a server may take to exit after it was asked to terminate.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);

/// How much of the standard error is kept.
const KEPT_ERROR_BYTES: usize = 64 << 10;

/// How much of the standard error is shown.
const SHOWN_ERROR_CHARS: usize = 2_000;

/// How long to wait for the output of a server that has exited: a descendant may keep it open.
const OUTPUT_PATIENCE: Duration = Duration::from_millis(500);

/// How long to wait until the server has read what was sent to it.
const WRITE_PATIENCE: Duration = Duration::from_millis(500);

/// A command whose values are resolved.
pub(crate) struct ServerCommand {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    /// The variables to start with; `None` for those of this process.
    pub(crate) base: Option<Vec<(String, String)>>,
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

pub(crate) struct StdioTransport {
    /// `None` once the transport is closed, which closes the input of the server.
    lines: Mutex<Option<mpsc::UnboundedSender<OutgoingLine>>>,
    errors: Arc<Mutex<Vec<u8>>>,
    /// Set when the process and its tasks have ended.
    ended: watch::Receiver<bool>,
    closing: CancellationToken,
    /// The configured variables that are credentials.
    secrets: KnownSecrets,
}

struct OutgoingLine {
    text: Vec<u8>,
    written: tokio::sync::oneshot::Sender<Result<(), McpError>>,
}

impl StdioTransport {
    /// Starts the server.
    pub(crate) fn start(command: ServerCommand, inbox: WeakInbox) -> Result<Self, McpError> {
        let name = command.program.display().to_string();
        let cwd = command.cwd.clone();
        let variables = command.variables.iter();
        let secrets = variables.filter_map(|(name, value)| secret_in(name, value));
        let secrets = KnownSecrets::new(secrets.map(str::to_owned));
        let started = to_command(command).and_then(ServerProcess::spawn);
        let (process, streams) = started.map_err(|error| {
            if cwd.is_dir() {
                McpError::Setup(format!("cannot start {name}: {error}"))
            } else {
                McpError::Setup(format!(
                    "cannot start {name}: the directory {} does not exist",
                    cwd.display()
                ))
            }
        })?;
        let ServerStreams {
            input,
            output,
            errors,
        } = streams;
        let (sender, lines) = mpsc::unbounded_channel();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let closing = CancellationToken::new();
        let (ended_sender, ended) = watch::channel(false);
        let error_reader = tokio::spawn(keep_errors(errors, Arc::clone(&kept)));
        let mut writer = tokio::spawn(write_lines(input, lines));
        let work = {
            let closing = closing.clone();
            async move {
                let mut process = process;
                let reading = read_messages(output, &inbox).fuse();
                tokio::pin!(reading);
                tokio::select! {
                    () = &mut reading => {}
                    () = closing.cancelled() => {
                        // What was sent before, such as a cancellation, still arrives.
                        tokio::time::timeout(WRITE_PATIENCE, &mut writer).await.ok();
                    }
                    _ = process.exited() => {
                        tokio::time::timeout(OUTPUT_PATIENCE, &mut reading).await.ok();
                    }
                }
                // Ends the writer, which closes the input of the server.
                writer.abort();
                let ending = process.end(EXIT_PATIENCE, TERMINATE_GRACE);
                tokio::pin!(ending);
                loop {
                    // A server that cannot write does not exit.
                    tokio::select! {
                        () = &mut ending => break,
                        () = &mut reading => {}
                    }
                }
                tokio::time::timeout(OUTPUT_PATIENCE, error_reader)
                    .await
                    .ok();
                ended_sender.send_replace(true);
                if !closing.is_cancelled()
                    && let Some(inbox) = inbox.upgrade()
                {
                    inbox.connection_lost();
                }
            }
        };
        tokio::spawn(work);
        Ok(Self {
            lines: Mutex::new(Some(sender)),
            errors: kept,
            ended,
            closing,
            secrets,
        })
    }
}

fn to_command(command: ServerCommand) -> io::Result<Command> {
    let mut process = match &command.sandbox {
        Some(sandbox) => {
            let base = command.base.iter().flatten();
            let variables = base.chain(&command.variables);
            let mut path = variables.filter(|(name, _)| name == "PATH");
            let path = match path.next_back() {
                Some((_, path)) => Some(OsString::from(path)),
                None => std::env::var_os("PATH"),
            };
            sandbox.command(ConfinedProgram {
                program: command.program.as_os_str(),
                path: path.as_deref(),
                cwd: Some(&command.cwd),
            })?
        }
        None => Command::new(&command.program),
    };
    process.args(command.args).current_dir(command.cwd);
    if let Some(base) = command.base {
        process.env_clear().envs(base);
    }
    process.envs(command.variables);
    Ok(process)
}

impl Transport for StdioTransport {
    fn send(&self, message: Value) -> BoxFuture<'static, Result<(), McpError>> {
        let mut text = message.to_string().into_bytes();
        text.push(b'\n');
        let (written, result) = tokio::sync::oneshot::channel();
        let lines = self.lines.lock();
        let line = OutgoingLine { text, written };
        let is_queued = lines.as_ref().is_some_and(|lines| lines.send(line).is_ok());
        Box::pin(async move {
            if !is_queued {
                return Err(McpError::Closed);
            }
            result.await.unwrap_or(Err(McpError::Closed))
        })
    }

    fn set_protocol_version(&self, _version: &str) {}

    fn redact(&self, text: String) -> String {
        self.secrets.redact(text)
    }

    fn error_output(&self) -> Option<String> {
        let errors = self.errors.lock();
        // Before it is cut, which could leave a part of a credential.
        let text = self.redact(String::from_utf8_lossy(&errors).into_owned());
        let text = text.trim();
        let start = text.char_indices().rev().nth(SHOWN_ERROR_CHARS - 1);
        let text = text.get(start.map_or(0, |(index, _)| index)..)?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.closing.cancel();
        drop(self.lines.lock().take());
        let mut ended = self.ended.clone();
        Box::pin(async move {
            ended.wait_for(|ended| *ended).await.ok();
        })
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

async fn write_lines(mut input: ChildStdin, mut lines: mpsc::UnboundedReceiver<OutgoingLine>) {
    while let Some(line) = lines.recv().await {
        let result = async {
            input.write_all(&line.text).await?;
            input.flush().await
        };
        let result = result.await.map_err(|_broken_pipe| McpError::Closed);
        // The request may have been canceled.
        line.written.send(result).ok();
    }
}

/// Reads messages until the server closes its output. Lines that are no messages are skipped: some servers log there.
pub(crate) async fn read_messages(mut output: impl AsyncRead + Unpin, inbox: &WeakInbox) {
    let mut lines = LineBuffer::default();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = match output.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        for line in lines.push(chunk.get(..count).unwrap_or_default()) {
            let Ok(message) = serde_json::from_slice(&line) else {
                tracing::debug!("skipped a line of an MCP server that is no message");
                continue;
            };
            match inbox.upgrade() {
                Some(inbox) => inbox.receive(message),
                None => return,
            }
        }
    }
}

async fn keep_errors(mut errors: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 4 << 10];
    while let Ok(count @ 1..) = errors.read(&mut chunk).await {
        let mut kept = kept.lock();
        kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let excess = kept.len().saturating_sub(KEPT_ERROR_BYTES);
        kept.drain(..excess);
    }
}

/// Splits bytes into lines; lines that are too long are dropped.
#[derive(Debug, Default)]
struct LineBuffer {
    pending: Vec<u8>,
    is_too_long: bool,
}

impl LineBuffer {
    /// Returns the lines that are complete, without empty ones.
    fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.pending.len() + part.len() > MAX_MESSAGE_BYTES {
                self.is_too_long = true;
                self.pending = Vec::new();
            }
            if !self.is_too_long {
                self.pending.extend_from_slice(part);
            }
            if parts.peek().is_none() {
                break;
            }
            let line = std::mem::take(&mut self.pending);
            let is_dropped = std::mem::take(&mut self.is_too_long);
            if !is_dropped && !line.trim_ascii().is_empty() {
                lines.push(line);
            }
        }
        lines
    }
}

/// Replaces a leading `~` in a word by the home directory.
pub(crate) fn expand_home(word: &str, home: Option<&Path>) -> String {
    let Some(home) = home else {
        return word.to_owned();
    };
    if word == "~" {
        return home.to_string_lossy().into_owned();
    }
    match word.strip_prefix("~/") {
        Some(rest) => home.join(rest).to_string_lossy().into_owned(),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lines_may_be_split_anywhere() {
        let mut buffer = LineBuffer::default();
        assert_eq!(buffer.push(b"a"), Vec::<Vec<u8>>::new());
        assert_eq!(
            buffer.push(b"b\n\n  \nc\r\nd"),
            [b"ab".to_vec(), b"c\r".to_vec()]
        );
        assert_eq!(buffer.push(b"\n"), [b"d".to_vec()]);
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped() {
        let mut buffer = LineBuffer::default();
        assert!(buffer.push(&vec![b'x'; MAX_MESSAGE_BYTES]).is_empty());
        assert!(buffer.push(b"xx").is_empty());
        assert_eq!(buffer.push(b"x\nnext\n"), [b"next".to_vec()]);
    }

    #[test]
    fn the_home_directory_is_expanded() {
        let home = Some(Path::new("/home/u"));
        for (word, expected) in [
            ("~", "/home/u"),
            ("~/x", "/home/u/x"),
            ("~x", "~x"),
            ("a/~/b", "a/~/b"),
        ] {
            assert_eq!(expand_home(word, home), expected);
        }
    }
}
