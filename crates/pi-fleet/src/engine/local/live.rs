//! Clients of runs on this machine: a socket that only the user can access, for as long as the agent of a run works.

use std::io;
use std::path::Path;

use crate::live::{LiveClient, LiveHost};

#[cfg(unix)]
mod socket {
    use std::io;
    use std::path::{Path, PathBuf};

    use pi_fs::private::PrivateTempDir;
    use pi_lines::{COMMAND_LINE_LIMIT, LineFrame, LineReader, LineWriter};
    use serde_json::Value;
    use tokio::net::{UnixListener, UnixStream};
    use tokio::task::JoinSet;

    use crate::live::{LiveClient, LiveHost, LiveLink, LivePort};

    /// Longest line that a client receives: `get_entries` sends a complete session.
    const LINE_LIMIT: usize = 2 * 1024 * 1024 * 1024;

    const DIRECTORY: &str = "pi-fleet-live";

    /// Opens a socket and writes its path to a file. Directories of batches may have paths that are too long for sockets.
    pub(super) fn listen(record: &Path) -> io::Result<LiveHost> {
        remove_stale(record);
        let directory = PrivateTempDir::create(DIRECTORY)?;
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        let path = socket.to_string_lossy().into_owned();
        pi_fs::atomic_file::write(record, path.as_bytes(), pi_fs::NewFileMode::Private)?;
        Ok(LiveHost::new(|port| {
            let mut accepting = JoinSet::new();
            accepting.spawn(accept(listener, port, directory));
            accepting
        }))
    }

    /// Removes the directory of a killed worker.
    fn remove_stale(record: &Path) {
        let Ok(path) = std::fs::read_to_string(record) else {
            return;
        };
        let directory = PathBuf::from(path).parent().map(Path::to_owned);
        let name = directory.as_deref().and_then(Path::file_name);
        if let (Some(directory), Some(name)) = (&directory, name)
            && name.to_string_lossy().starts_with(DIRECTORY)
        {
            std::fs::remove_dir_all(directory).ok();
        }
        std::fs::remove_file(record).ok();
    }

    async fn accept(listener: UnixListener, port: LivePort, _directory: PrivateTempDir) {
        // Dropped with this task.
        let mut connections = JoinSet::new();
        while let Ok((stream, _address)) = listener.accept().await {
            connections.spawn(serve(stream, port.clone()));
        }
    }

    async fn serve(stream: UnixStream, port: LivePort) {
        let (input, output) = stream.into_split();
        let mut lines = LineReader::new(input, COMMAND_LINE_LIMIT);
        let writer = LineWriter::start(output);
        let sink = writer.sink();
        let mut events = port.events.watch();
        loop {
            let line = tokio::select! {
                event = events.next() => match event {
                    Some(event) => event.to_string(),
                    None => return,
                },
                line = lines.next() => match line {
                    Ok(Some(LineFrame::Line(line))) => {
                        let command: Value = serde_json::from_str(&line).unwrap_or_default();
                        let Some(response) = port.request(command).await else {
                            return;
                        };
                        response.to_string()
                    }
                    Ok(Some(LineFrame::TooLong)) => continue,
                    Ok(None) | Err(_) => return,
                },
            };
            if sink.send(line).await.is_err() {
                return;
            }
        }
    }

    /// Connects to the worker of a run; `None` if there is none.
    pub(super) async fn attach(record: &Path) -> io::Result<Option<LiveClient>> {
        let path = match std::fs::read_to_string(record) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A killed worker leaves its socket.
        let Ok(stream) = UnixStream::connect(path).await else {
            return Ok(None);
        };
        let (client, ends) = LiveClient::new();
        tokio::spawn(relay(stream, ends));
        Ok(Some(client))
    }

    async fn relay(stream: UnixStream, mut client: LiveLink) {
        let (input, output) = stream.into_split();
        let mut lines = LineReader::new(input, LINE_LIMIT);
        let writer = LineWriter::start(output);
        let sink = writer.sink();
        loop {
            tokio::select! {
                command = client.commands.recv() => {
                    let Some(command) = command else {
                        return;
                    };
                    if sink.send(command.to_string()).await.is_err() {
                        return;
                    }
                }
                line = lines.next() => match line {
                    Ok(Some(LineFrame::Line(line))) => {
                        let line = serde_json::from_str(&line).unwrap_or_default();
                        if client.lines.send(line).await.is_err() {
                            return;
                        }
                    }
                    Ok(Some(LineFrame::TooLong)) => {}
                    Ok(None) | Err(_) => return,
                },
            }
        }
    }
}

#[cfg(unix)]
pub(super) fn listen(record: &Path) -> io::Result<LiveHost> {
    socket::listen(record)
}

#[cfg(unix)]
pub(super) async fn attach(record: &Path) -> io::Result<Option<LiveClient>> {
    socket::attach(record).await
}

#[cfg(not(unix))]
pub(super) fn listen(_record: &Path) -> io::Result<LiveHost> {
    Ok(LiveHost::unreachable())
}

#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "as on Unix")]
pub(super) async fn attach(_record: &Path) -> io::Result<Option<LiveClient>> {
    Err(io::Error::other(
        "runs on this machine can be attached to on Unix only",
    ))
}
