//! The listening side: one task per runtime that follows its current session.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::peer::check_peer;
use super::{LiveDirectory, LiveSocketError, Sessions};
use crate::connection::{ConnectionOptions, LineWriter, serve_connection};
use crate::host::SessionHandle;
use crate::runtime::{SessionRuntime, WeakRuntime, client_ui};
use crate::session::{AgentSession, LiveClients};

/// Leaves the first moments of a session to its front end.
const START_DELAY: Duration = Duration::from_millis(50);

/// Pause after a failed `accept`, such as with too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of clients of a session.
const MAX_CLIENTS: usize = 64;

/// Listens for clients of the current session, and of those that replace it. Never resolves unless the runtime is gone.
pub(crate) async fn listen(runtime: WeakRuntime, mut sessions: Sessions) {
    let mut clients = JoinSet::new();
    let observers = watch::Sender::new(0);
    tokio::time::sleep(START_DELAY).await;
    loop {
        let session = sessions.borrow_and_update().clone();
        tokio::select! {
            changed = sessions.changed() => if changed.is_err() {
                return;
            },
            () = listen_for(&runtime, session, &mut clients, &observers) => return,
        }
    }
}

/// Accepts clients of one session. Clients stay connected when it is replaced.
async fn listen_for(
    runtime: &WeakRuntime,
    session: AgentSession,
    clients: &mut JoinSet<()>,
    observers: &watch::Sender<usize>,
) {
    session.history().wait_until_saved().await;
    let id = session.session_id();
    drop(session);
    let Some(directory) = runtime.upgrade().map(|runtime| {
        let options = runtime.host().options();
        LiveDirectory::new(options.agent_dir.path(), &options.env)
    }) else {
        return;
    };
    let listening = match ListeningSocket::bind(directory, &id) {
        Ok(listening) => listening,
        Err(error) => {
            tracing::warn!(%error, "other processes cannot attach to the session");
            return std::future::pending().await;
        }
    };
    let mut count = observers.subscribe();
    loop {
        let observing = *count.borrow_and_update();
        if let Some(runtime) = runtime.upgrade() {
            let session = runtime.session();
            LiveClients::of(&session).set_count(observing).await;
        }
        let accepted = tokio::select! {
            Some(_ended) = clients.join_next(), if !clients.is_empty() => continue,
            Ok(()) = count.changed() => continue,
            accepted = listening.listener.accept(), if clients.len() < MAX_CLIENTS => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                if let Err(refused) = check_peer(&stream) {
                    tracing::warn!("refused a connection: {refused}");
                    continue;
                }
                let Some(runtime) = runtime.upgrade() else {
                    return;
                };
                clients.spawn(serve_client(runtime, stream, observers.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A socket that is removed when dropped.
struct ListeningSocket {
    listener: UnixListener,
    directory: LiveDirectory,
    id: String,
    path: PathBuf,
}

impl ListeningSocket {
    fn bind(directory: LiveDirectory, id: &str) -> Result<Self, LiveSocketError> {
        let path = directory.prepare(id)?;
        let failed = |source: io::Error| LiveSocketError::Socket {
            path: path.clone(),
            source,
        };
        remove_stale(&path).map_err(failed)?;
        // A socket exists before it listens. Until then, clients would take it for one of a dead process and remove it.
        let unlisted = unlisted_path(&path);
        let listener = bind_private(&unlisted).map_err(failed)?;
        if let Err(error) = fs::rename(&unlisted, &path) {
            remove_if_present(&unlisted).map_err(failed)?;
            return Err(failed(error));
        }
        Ok(Self {
            listener,
            directory,
            id: id.to_owned(),
            path: path.clone(),
        })
    }
}

impl Drop for ListeningSocket {
    fn drop(&mut self) {
        self.directory.remove(&self.id, &self.path);
    }
}

/// Returns a path next to a socket that no other bind uses, and that is not taken for the socket of a session.
fn unlisted_path(socket: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    socket.with_file_name(format!("{:x}-{count:x}.new", std::process::id()))
}

fn bind_private(path: &Path) -> io::Result<UnixListener> {
    // A killed process with the same ID may have left one.
    remove_if_present(path)?;
    // Others cannot enter the directory meanwhile.
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a socket on which no process listens.
fn remove_stale(path: &Path) -> io::Result<()> {
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another process listens on it",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let is_socket = fs::symlink_metadata(path).is_ok_and(|found| {
                use std::os::unix::fs::FileTypeExt as _;
                found.file_type().is_socket()
            });
            if is_socket {
                fs::remove_file(path)
            } else {
                Err(error)
            }
        }
        Err(error) => Err(error),
    }
}

/// Serves one client until it disconnects.
async fn serve_client(
    runtime: SessionRuntime,
    stream: UnixStream,
    observers: watch::Sender<usize>,
) {
    let (reader, writer) = stream.into_split();
    let options = ConnectionOptions {
        notices: client_ui(&runtime),
        observers: Some(observers),
        ..ConnectionOptions::default()
    };
    let handle = SessionHandle::of_owned(runtime);
    let end = serve_connection(handle, reader, LineWriter::start(writer), options).await;
    tracing::debug!(?end, "a client of the session has disconnected");
}
