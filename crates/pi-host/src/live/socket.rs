//! Connects to the socket of a session.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::{LiveDirectory, LiveSocketError, RemoteError};
use pi_lines::{LineFrame, LineReader};

/// Maximum length of a line of the session.
const LINE_LIMIT: usize = 256 * 1024 * 1024;

/// How long a session may take to answer the first line.
pub const GREETING_TIME: Duration = Duration::from_secs(10);

/// A connection to the process that runs a session: lines in both directions.
pub struct LiveConnection {
    pub lines: LiveLines,
    pub writer: LiveWriter,
    /// The process, where the system reports it.
    pub pid: Option<u32>,
}

/// The lines of the process that runs a session.
pub struct LiveLines(LineReader<Box<dyn AsyncRead + Send + Unpin>>);

impl LiveLines {
    /// Waits for the next line; `None` once the connection has ended. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            match self.0.next().await {
                Ok(Some(LineFrame::Line(line))) => return Some(line),
                Ok(Some(LineFrame::TooLong)) => {
                    tracing::warn!("skipped a line of the session that is too long");
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "cannot read from the session");
                    return None;
                }
            }
        }
    }
}

/// Sends lines to the process that runs a session.
pub struct LiveWriter(Box<dyn AsyncWrite + Send + Unpin>);

impl LiveWriter {
    /// Sends a line without its line ending.
    pub async fn send(&mut self, mut line: String) -> io::Result<()> {
        line.push('\n');
        self.0.write_all(line.as_bytes()).await
    }

    /// Sends what `reader` has, until its end.
    pub async fn copy(&mut self, reader: &mut (dyn AsyncRead + Send + Unpin)) -> io::Result<()> {
        tokio::io::copy(reader, &mut self.0).await.map(drop)
    }

    /// Ends the lines of the client.
    pub async fn shutdown(&mut self) {
        if let Err(error) = self.0.shutdown().await {
            tracing::debug!(%error, "cannot end the connection to the session");
        }
    }
}

impl LiveDirectory {
    /// Connects to the process that runs a session. It waits for a first line, which should be `hello`.
    pub async fn open(&self, id: &str) -> Result<LiveConnection, RemoteError> {
        let socket = self.find(id)?;
        open_socket(&socket).await.map_err(|error| {
            let is_missing = matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            );
            if is_missing {
                LiveSocketError::NotLive(id.to_owned()).into()
            } else {
                RemoteError::Connect(error)
            }
        })
    }
}

#[cfg(unix)]
async fn open_socket(path: &std::path::Path) -> io::Result<LiveConnection> {
    let stream = tokio::net::UnixStream::connect(path).await?;
    let peer = stream.peer_cred()?;
    if peer.uid() != pi_fs::private::effective_user() {
        return Err(io::Error::other("it belongs to another user"));
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let (reader, writer) = stream.into_split();
    Ok(LiveConnection {
        lines: LiveLines(LineReader::new(Box::new(reader), LINE_LIMIT)),
        writer: LiveWriter(Box::new(writer)),
        pid,
    })
}

#[cfg(not(unix))]
async fn open_socket(_path: &std::path::Path) -> io::Result<LiveConnection> {
    Err(io::ErrorKind::Unsupported.into())
}
