//! Where the server listens: the rules for addresses, and the Unix socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use thiserror::Error;
use tokio::net::TcpListener;

/// Where to listen.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// The Unix socket; ignored on other systems.
    pub socket: Option<PathBuf>,
    pub tcp: Option<SocketAddr>,
    /// Names of a reverse proxy that adds TLS (`serve.hosts`).
    pub host_names: Vec<String>,
    /// Allow an address outside of loopback, behind a reverse proxy.
    pub allow_remote: bool,
}

/// Why the server cannot listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    #[error("{0} is not a loopback address: traffic would not be encrypted")]
    NotLoopback(IpAddr),
    #[error("cannot listen on {0}: {1}")]
    Tcp(SocketAddr, io::Error),
    #[error("cannot listen on {path}: {error}", path = .0.display(), error = .1)]
    Socket(PathBuf, io::Error),
    #[error("pi serve is already running on {}", .0.display())]
    AlreadyRunning(PathBuf),
    #[error("{} belongs to another user or can be changed by others", .0.display())]
    UnsafeDirectory(PathBuf),
    #[error("cannot open credentials: {path}: {error}", path = .0.display(), error = .1)]
    Credentials(PathBuf, io::Error),
}

impl ListenError {
    /// Returns what the user can do, if that is not obvious.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotLoopback(_) => Some(
                "reach this machine with `ssh -L 4141:127.0.0.1:4141 HOST` or `tailscale serve 4141`; behind a reverse proxy with TLS, set serve.hosts and pass --allow-remote",
            ),
            Self::UnsafeDirectory(_) => {
                Some("choose a socket in a directory of your own with --socket")
            }
            Self::AlreadyRunning(_) => {
                Some("print a URL for a further browser with: pi serve --pair")
            }
            Self::Tcp(..) | Self::Socket(..) | Self::Credentials(..) => None,
        }
    }
}

/// Listens on TCP, if the rules allow it.
pub(crate) async fn listen_tcp(
    address: SocketAddr,
    options: &ListenOptions,
) -> Result<TcpListener, ListenError> {
    let is_behind_proxy = options.allow_remote && !options.host_names.is_empty();
    if !address.ip().is_loopback() && !is_behind_proxy {
        return Err(ListenError::NotLoopback(address.ip()));
    }
    let listening = TcpListener::bind(address).await;
    listening.map_err(|error| ListenError::Tcp(address, error))
}

#[cfg(unix)]
pub(crate) use unix::OwnSocket;

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};

    use tokio::net::{UnixListener, UnixStream};

    use super::ListenError;

    /// A listening socket; removed when dropped.
    pub(crate) struct OwnSocket {
        pub(crate) listener: UnixListener,
        path: PathBuf,
    }

    impl OwnSocket {
        /// Listens on a socket that only this user can connect to. The socket of a process that has ended is replaced.
        pub(crate) async fn listen(path: &Path) -> Result<Self, ListenError> {
            let failed = |error| ListenError::Socket(path.to_owned(), error);
            let directory = path.parent().unwrap_or(Path::new("."));
            pi_fs::private::create_directory(directory).map_err(failed)?;
            // Follows links, so that the directory is checked that the socket is created in.
            let owner = fs::metadata(directory).map_err(failed)?;
            // A group often has only its user.
            let others_may_write = owner.mode() & 0o002 != 0;
            if owner.uid() != pi_fs::private::effective_user() || others_may_write {
                return Err(ListenError::UnsafeDirectory(directory.to_owned()));
            }
            match fs::symlink_metadata(path) {
                Ok(existing) if existing.file_type().is_socket() => {
                    if UnixStream::connect(path).await.is_ok() {
                        return Err(ListenError::AlreadyRunning(path.to_owned()));
                    }
                    fs::remove_file(path).map_err(failed)?;
                }
                Ok(_) => {
                    let problem = "there is a file that is not a socket";
                    return Err(failed(io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        problem,
                    )));
                }
                Err(_) => {}
            }
            let listener = UnixListener::bind(path).map_err(failed)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
            Ok(Self {
                listener,
                path: path.to_owned(),
            })
        }
    }

    impl Drop for OwnSocket {
        fn drop(&mut self) {
            if let Err(error) = fs::remove_file(&self.path) {
                tracing::debug!(%error, "cannot remove the socket");
            }
        }
    }
}
