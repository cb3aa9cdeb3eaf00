//! Passing a session on: a page without secrets, uploaded as a secret gist with the user's own `gh`.
//!
//! Nothing here asks or shows anything; the front end says what is about to leave the machine first.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pi_ai::Env;
use pi_session::Session;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::export::{ExportError, HtmlOptions, export_html};
use crate::private_directory::PrivateDirectory;

/// Where shared sessions are looked at; the gist's id follows.
const VIEWER: &str = "https://pi.dev/session/";

/// Another place to look at shared sessions.
const VIEWER_URL: &str = "PI_SHARE_VIEWER_URL";

/// What the page is called in the gist.
const PAGE_NAME: &str = "session.html";

/// How long `gh` may take to say whether it is signed in.
const STATUS_LIMIT: Duration = Duration::from_secs(20);

/// What is read of what `gh` says; it says a line or two.
const MOST_OUTPUT: u64 = 64 * 1024;

/// A page that is ready to be passed on. It is deleted with this value.
#[derive(Debug)]
pub struct SharePage {
    path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// How many secrets were replaced in it.
    pub redacted: usize,
    _directory: PrivateDirectory,
}

/// A gist with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gist {
    /// Where the gist is.
    pub url: String,
    /// Where the session can be looked at.
    pub viewer_url: String,
}

/// Why a session was not shared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// `gh` is not there.
    #[error("the GitHub command line, gh, is not installed")]
    NoProgram,
    /// `gh` knows no account.
    #[error("gh is not signed in to GitHub")]
    NotSignedIn,
    /// The page was not made.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A file or a process failed.
    #[error("{what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `gh` failed.
    #[error("gh could not create the gist: {0}")]
    Refused(String),
    /// `gh` did not say where the gist is.
    #[error("gh did not tell the address of the gist")]
    NoAddress,
    /// The user gave up.
    #[error("sharing was cancelled")]
    Cancelled,
}

impl ShareError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoProgram => Some(
                "install it from https://cli.github.com, or write the page to a file with /export",
            ),
            Self::NotSignedIn => Some("run `gh auth login` in a terminal, then /share again"),
            Self::Refused(_) => Some("`gh auth refresh -s gist` lets gh create gists"),
            Self::Export(_) | Self::System { .. } | Self::NoAddress | Self::Cancelled => None,
        }
    }
}

impl SharePage {
    /// Writes the page of a session; what the options say about the output does not count.
    pub fn write(session: &Session, options: HtmlOptions) -> Result<Self, ShareError> {
        let directory = PrivateDirectory::new("pi-share").map_err(|source| ShareError::System {
            what: "no folder for the page could be made",
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

    /// Returns where the page is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The user's own `gh`.
#[derive(Debug, Clone)]
pub struct GhCli {
    program: PathBuf,
    viewer: String,
}

impl GhCli {
    /// Looks for `gh` where the environment says.
    pub fn find(env: &Env) -> Result<Self, ShareError> {
        let program = which::which_in("gh", env.var("PATH"), "/").or(Err(ShareError::NoProgram))?;
        let viewer = env.var(VIEWER_URL);
        Ok(Self {
            program,
            viewer: viewer.unwrap_or_else(|| VIEWER.to_owned()),
        })
    }

    /// Asks whether somebody is signed in.
    pub async fn check(&self, cancel: &CancellationToken) -> Result<(), ShareError> {
        let words = ["auth", "status"].map(Path::new);
        let asked = self.run(&words, cancel);
        match tokio::time::timeout(STATUS_LIMIT, asked).await {
            Ok(Ok(answer)) if answer.succeeded => Ok(()),
            Ok(Ok(_)) | Err(_) => Err(ShareError::NotSignedIn),
            Ok(Err(error)) => Err(error),
        }
    }

    /// Uploads a page as a secret gist.
    pub async fn create(
        &self,
        page: &SharePage,
        cancel: &CancellationToken,
    ) -> Result<Gist, ShareError> {
        let [gist, create, secret] = ["gist", "create", "--public=false"].map(Path::new);
        let words = [gist, create, secret, page.path()];
        let answer = self.run(&words, cancel).await?;
        if !answer.succeeded {
            let said = answer.errors.lines().rfind(|line| !line.trim().is_empty());
            let said = said.unwrap_or("it gave no reason").trim().to_owned();
            return Err(ShareError::Refused(said));
        }
        let mut lines = answer.output.lines().map(str::trim);
        let url = lines.rfind(|line| line.starts_with("https://"));
        let url = url.ok_or(ShareError::NoAddress)?;
        let id = url.rsplit('/').find(|part| !part.is_empty());
        let id = id.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let id = id.ok_or(ShareError::NoAddress)?;
        Ok(Gist {
            url: url.to_owned(),
            viewer_url: format!("{}#{id}", self.viewer),
        })
    }

    /// Runs `gh` to its end; cancelling kills it.
    async fn run(
        &self,
        words: &[&Path],
        cancel: &CancellationToken,
    ) -> Result<GhAnswer, ShareError> {
        let failed = |source| ShareError::System {
            what: "gh could not be run",
            source,
        };
        let mut child = Command::new(&self.program)
            .args(words)
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
                tokio::join!(read_some(output), read_some(errors), child.wait());
            Ok::<_, io::Error>(GhAnswer {
                succeeded: status?.success(),
                output,
                errors,
            })
        };
        match cancel.run_until_cancelled(ended).await {
            Some(answer) => answer.map_err(failed),
            None => Err(ShareError::Cancelled),
        }
    }
}

struct GhAnswer {
    succeeded: bool,
    output: String,
    errors: String,
}

async fn read_some(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(stream) = stream else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let mut limited = stream.take(MOST_OUTPUT);
    if let Err(error) = limited.read_to_end(&mut bytes).await {
        tracing::debug!(%error, "what gh said could not be read to its end");
    }
    // The rest is read and dropped, so that gh does not wait for a reader.
    let mut rest = limited.into_inner();
    if let Err(error) = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await {
        tracing::debug!(%error, "what gh said could not be read to its end");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(all(test, unix))]
mod tests;
