//! Shares a session: a page without secrets, uploaded as a secret gist with the user's `gh`.
//!
//! This file does not interact with the user; the front end first shows what will be uploaded.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pi_env::Env;
use pi_fs::private::PrivateTempDir;
use pi_session::Session;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::export::{ExportError, HtmlOptions, export_html};

/// URL prefix of the viewer for shared sessions; the gist ID follows.
const DEFAULT_VIEWER: &str = "https://pi.dev/session/";

/// Environment variable for a different viewer URL.
const VIEWER_URL_VAR: &str = "PI_SHARE_VIEWER_URL";

/// Name of the page in the gist.
const PAGE_NAME: &str = "session.html";

/// Time limit for `gh auth status`.
const STATUS_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum output read from `gh`; it normally prints a line or two.
const MAX_OUTPUT: u64 = 64 * 1024;

/// A page ready to be shared; deleted when dropped.
#[derive(Debug)]
pub struct SharePage {
    path: PathBuf,
    /// Size of the page in bytes.
    pub bytes: u64,
    /// Number of secrets that were redacted.
    pub redacted: usize,
    _directory: PrivateTempDir,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gist {
    pub url: String,
    /// URL to view the session.
    pub viewer_url: String,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    #[error("The GitHub CLI `gh` was not found")]
    GhNotFound,
    #[error("gh is not signed in to GitHub")]
    NotSignedIn,
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("{what}")]
    System {
        /// The operation that failed.
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("gh could not create the gist: {0}")]
    GistRejected(String),
    #[error("gh did not print the URL of the gist")]
    NoGistUrl,
    #[error("sharing canceled")]
    Cancelled,
}

impl ShareError {
    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::GhNotFound => Some(
                "install it from https://cli.github.com, or save the page to a file with /export",
            ),
            Self::NotSignedIn => Some("run `gh auth login` in a terminal, then /share again"),
            Self::GistRejected(_) => {
                Some("run `gh auth refresh -s gist` to allow gh to create gists")
            }
            Self::Export(_) | Self::System { .. } | Self::NoGistUrl | Self::Cancelled => None,
        }
    }
}

impl SharePage {
    /// Writes the page of a session; the output path in the options is ignored.
    pub fn write(session: &Session, options: HtmlOptions) -> Result<Self, ShareError> {
        let directory =
            PrivateTempDir::create("pi-share").map_err(|source| ShareError::System {
                what: "cannot create a directory for the page",
                source,
            })?;
        let redaction = options.redaction.clone();
        let path = directory.path().join(PAGE_NAME);
        let options = HtmlOptions {
            output: Some(path.clone()),
            ..options
        };
        export_html(session, &options)?;
        let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        Ok(Self {
            path,
            bytes,
            redacted: redaction.replaced(),
            _directory: directory,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The user's GitHub CLI.
#[derive(Debug, Clone)]
pub struct GhCli {
    program: PathBuf,
    viewer: String,
}

impl GhCli {
    /// Finds `gh` in the `PATH`.
    pub fn find(env: &Env) -> Result<Self, ShareError> {
        let program =
            which::which_in("gh", env.var("PATH"), "/").or(Err(ShareError::GhNotFound))?;
        let viewer = env.var(VIEWER_URL_VAR);
        Ok(Self {
            program,
            viewer: viewer.unwrap_or_else(|| DEFAULT_VIEWER.to_owned()),
        })
    }

    /// Checks that the user is signed in.
    pub async fn check(&self, cancel: &CancellationToken) -> Result<(), ShareError> {
        let arguments = ["auth", "status"].map(Path::new);
        let status = self.run(&arguments, cancel);
        match tokio::time::timeout(STATUS_TIMEOUT, status).await {
            Ok(Ok(output)) if output.succeeded => Ok(()),
            Ok(Ok(_)) | Err(_) => Err(ShareError::NotSignedIn),
            Ok(Err(error)) => Err(error),
        }
    }

    pub async fn create(
        &self,
        page: &SharePage,
        cancel: &CancellationToken,
    ) -> Result<Gist, ShareError> {
        let [gist, create, secret] = ["gist", "create", "--public=false"].map(Path::new);
        let arguments = [gist, create, secret, page.path()];
        let output = self.run(&arguments, cancel).await?;
        if !output.succeeded {
            let reason = output.errors.lines().rfind(|line| !line.trim().is_empty());
            let reason = reason.unwrap_or("no reason given").trim().to_owned();
            return Err(ShareError::GistRejected(reason));
        }
        let mut lines = output.output.lines().map(str::trim);
        let url = lines.rfind(|line| line.starts_with("https://"));
        let url = url.ok_or(ShareError::NoGistUrl)?;
        let id = url.rsplit('/').find(|part| !part.is_empty());
        let id = id.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let id = id.ok_or(ShareError::NoGistUrl)?;
        Ok(Gist {
            url: url.to_owned(),
            viewer_url: format!("{}#{id}", self.viewer),
        })
    }

    /// Runs `gh` to completion; cancellation kills it.
    async fn run(
        &self,
        arguments: &[&Path],
        cancel: &CancellationToken,
    ) -> Result<GhOutput, ShareError> {
        let failed = |source| ShareError::System {
            what: "cannot run gh",
            source,
        };
        let mut child = Command::new(&self.program)
            .args(arguments)
            .env("GH_PROMPT_DISABLED", "1")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let (output, errors, status) =
                tokio::join!(read_limited(output), read_limited(errors), child.wait());
            Ok::<_, io::Error>(GhOutput {
                succeeded: status?.success(),
                output,
                errors,
            })
        };
        match cancel.run_until_cancelled(ended).await {
            Some(output) => output.map_err(failed),
            None => Err(ShareError::Cancelled),
        }
    }
}

struct GhOutput {
    succeeded: bool,
    output: String,
    errors: String,
}

async fn read_limited(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(stream) = stream else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let mut limited = stream.take(MAX_OUTPUT);
    if let Err(error) = limited.read_to_end(&mut bytes).await {
        tracing::debug!(%error, "cannot read output of gh");
    }
    // Drain the rest, so that gh does not block.
    let mut rest = limited.into_inner();
    if let Err(error) = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await {
        tracing::debug!(%error, "cannot read output of gh");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(all(test, unix))]
mod tests;
