//! What can go wrong between a package's source and its directory, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a package could not be installed, updated or removed. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// Nobody says where packages come from.
    #[error("no npm registry is configured")]
    NoRegistry,
    /// The network may not be used.
    #[error("{what} needs the network, and pi is offline")]
    Offline {
        /// What was to be done.
        what: String,
    },
    /// A service could not be reached, or broke off.
    #[error("{url}: {problem}")]
    Network {
        /// What was asked for, without credentials.
        url: String,
        problem: String,
    },
    #[error("{url} answered {status}")]
    Refused {
        /// What was asked for, without credentials.
        url: String,
        status: u16,
    },
    /// The registry's configuration is unusable.
    #[error("{}: {problem}", file.display())]
    Configuration {
        /// The file that says so.
        file: PathBuf,
        problem: String,
    },
    /// The registry does not know a package.
    #[error("the registry has no package {0}")]
    UnknownPackage(String),
    /// No version of a package is what was asked for.
    #[error("no version of {name} matches {wanted}")]
    NoVersion {
        name: String,
        /// The range or tag.
        wanted: String,
    },
    /// A dependency comes from somewhere this program does not fetch from.
    #[error("{name} wants {dependency} from {spec}, which is not a registry")]
    ForeignDependency {
        name: String,
        dependency: String,
        spec: String,
    },
    /// A package is made for other machines.
    #[error("{0} does not run on this system")]
    WrongPlatform(String),
    /// What the registry or a package says is not understood.
    #[error("{what}: {problem}")]
    Malformed {
        what: String,
        /// What is wrong with them.
        problem: String,
    },
    /// An archive is not what the registry said.
    #[error("the archive of {0} does not match its checksum")]
    Integrity(String),
    /// An archive holds what must not be unpacked.
    #[error("the archive of {name} is refused: {problem}")]
    UnsafeArchive { name: String, problem: String },
    /// A package asks for more than there should be.
    #[error("{what} is too large: more than {limit}")]
    TooLarge {
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// A program that was needed failed.
    #[error("{command} failed: {problem}")]
    Command {
        /// The command line, as far as it matters.
        command: String,
        /// Its last words, or why it could not be started.
        problem: String,
    },
    /// A git source would make git do something else.
    #[error("git will not be asked for {0:?}")]
    UnsafeGit(String),
    /// Another program is installing and does not end.
    #[error("another program is installing packages in {}", .0.display())]
    Busy(PathBuf),
    #[error("{}: {error}", path.display())]
    Disk { path: PathBuf, error: io::Error },
    /// A release could not be verified or put in place.
    #[error("{0}")]
    Release(String),
}

impl PackageError {
    /// Says what the disk refused.
    pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::Disk {
            path: path.to_owned(),
            error,
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over errors and texts alike"
    )]
    pub(crate) fn malformed(what: impl Into<String>, problem: impl ToString) -> Self {
        Self::Malformed {
            what: what.into(),
            problem: problem.to_string(),
        }
    }

    /// Returns what the user can do about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoRegistry => vec![
                "add a line `registry=URL` with the address of your npm registry to ~/.npmrc"
                    .to_owned(),
                "the setting npmCommand lets another program install packages".to_owned(),
            ],
            Self::Offline { .. } => {
                vec!["start without --offline and without PI_OFFLINE".to_owned()]
            }
            Self::Network { .. } => {
                vec!["check the connection and the proxy, then try again".to_owned()]
            }
            Self::Refused {
                status: 401 | 403, ..
            } => vec![
                "the registry wants a token: `//HOST/:_authToken=…` in ~/.npmrc".to_owned(),
            ],
            Self::UnknownPackage(_) => vec![
                "check the name; a private package needs its registry: `@scope:registry=URL` in ~/.npmrc"
                    .to_owned(),
            ],
            Self::ForeignDependency { .. } => vec![
                "set npmCommand to [\"npm\"] in the settings to let npm install it".to_owned(),
            ],
            Self::Integrity(_) | Self::UnsafeArchive { .. } => {
                vec!["nothing of it was kept; tell the author of the package".to_owned()]
            }
            Self::Busy(_) => vec!["wait for it to end, then try again".to_owned()],
            Self::Refused { .. }
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
