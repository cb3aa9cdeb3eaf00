//! Package errors and hints for resolving them.

use std::io;
use std::path::{Path, PathBuf};

/// Why a package could not be installed, updated or removed. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    #[error("no npm registry is configured")]
    NoRegistry,
    #[error("cannot fetch {what}: pi is offline")]
    Offline {
        /// The operation that needs the network.
        what: String,
    },
    /// The connection failed or was interrupted.
    #[error("{url}: {problem}")]
    Network {
        /// Without credentials.
        url: String,
        problem: String,
    },
    #[error("{url}: HTTP status {status}")]
    HttpStatus {
        /// Without credentials.
        url: String,
        status: u16,
    },
    /// The npm configuration is invalid.
    #[error("{}: {problem}", file.display())]
    Configuration { file: PathBuf, problem: String },
    #[error("package not found in the registry: {0}")]
    UnknownPackage(String),
    #[error("no version of {name} matches {spec}")]
    NoVersion { name: String, spec: String },
    /// The dependency is not in a registry: a git URL, an archive or a local path.
    #[error("{name} depends on {dependency} from {spec}, which is not a registry")]
    UnsupportedDependency {
        name: String,
        dependency: String,
        spec: String,
    },
    /// The package does not support this platform.
    #[error("{0} does not support this platform")]
    WrongPlatform(String),
    /// A registry response or a package is invalid.
    #[error("{what}: {problem}")]
    Malformed { what: String, problem: String },
    /// The archive does not match the checksum of the lock file or the registry.
    #[error("checksum mismatch: {0}")]
    Integrity(String),
    #[error("unsafe archive: {name}: {problem}")]
    UnsafeArchive { name: String, problem: String },
    #[error("{what} is too large: more than {limit}")]
    TooLarge {
        what: String,
        /// Including its unit.
        limit: String,
    },
    #[error("{command} failed: {problem}")]
    Command {
        command: String,
        /// The end of its output, or why it could not be started.
        problem: String,
    },
    /// A repository or ref that git could interpret as something else.
    #[error("invalid git repository or ref: {0:?}")]
    UnsafeGit(String),
    /// Another process holds the installation lock.
    #[error("another process is installing packages in {}", .0.display())]
    Busy(PathBuf),
    #[error("{}: {error}", path.display())]
    Disk { path: PathBuf, error: io::Error },
    /// A release could not be verified or installed.
    #[error("{0}")]
    Release(String),
}

impl PackageError {
    /// Creates a [`Self::Disk`] error for a path.
    pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::Disk {
            path: path.to_owned(),
            error,
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass both errors and strings"
    )]
    pub(crate) fn malformed(what: impl Into<String>, problem: impl ToString) -> Self {
        Self::Malformed {
            what: what.into(),
            problem: problem.to_string(),
        }
    }

    /// Returns hints for the user.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoRegistry => vec![
                "add `registry=URL` with the URL of your npm registry to ~/.npmrc".to_owned(),
                "or set the variable npm_config_registry to it".to_owned(),
                "or set npmCommand in settings.json to a package manager: [\"npm\"], [\"pnpm\"]".to_owned(),
            ],
            Self::Offline { .. } => {
                vec!["run pi without --offline and PI_OFFLINE".to_owned()]
            }
            Self::Network { .. } => {
                vec!["check your connection and proxy, then try again".to_owned()]
            }
            Self::HttpStatus {
                status: 401 | 403, ..
            } => {
                vec!["add a token for the registry to ~/.npmrc: `//HOST/:_authToken=…`".to_owned()]
            }
            Self::UnknownPackage(_) => vec![
                "check the name; for a private package, add `@scope:registry=URL` to ~/.npmrc"
                    .to_owned(),
            ],
            Self::UnsupportedDependency { .. } => {
                vec!["set npmCommand to [\"npm\"] to install it with npm".to_owned()]
            }
            Self::Integrity(_) => vec![
                "nothing was installed; report this to the package author".to_owned(),
                "to accept other contents under the same version, remove the package and install it again"
                    .to_owned(),
            ],
            Self::UnsafeArchive { .. } => {
                vec!["nothing was installed; report this to the package author".to_owned()]
            }
            Self::Busy(_) => vec!["wait for it to finish, then try again".to_owned()],
            Self::HttpStatus { .. }
            | Self::Configuration { .. }
            | Self::NoVersion { .. }
            | Self::WrongPlatform(_)
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::Command { .. }
            | Self::UnsafeGit(_)
            | Self::Disk { .. }
            | Self::Release(_) => Vec::new(),
        }
    }
}
