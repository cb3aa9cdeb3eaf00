//! What a user takes out of a session: files, shared pages and bug reports, with secrets redacted.

use pi_protocol::describe_error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_config::expand_home;
use pi_env::Env;
use pi_export::{
    BugReport, BugReportError, ExportError, ExportTheme, GhCli, Gist, HtmlOptions, JsonlOptions,
    Redactor, ShareError, SharePage, WrittenReport, environment_secrets, export_html, export_jsonl,
    secrets_in_use, stored_secrets,
};
use thiserror::Error;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::session::AgentSession;
use crate::workspace::Workspace;

/// Why nothing left the session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExporterError {
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Share(#[from] ShareError),
    #[error(transparent)]
    Report(#[from] BugReportError),
    /// The work panicked.
    #[error(transparent)]
    Panicked(#[from] JoinError),
}

impl ExporterError {
    /// Returns the message with its causes, and what to do about it.
    pub fn describe(&self) -> String {
        let message = describe_error(self);
        let hint = match self {
            Self::Share(error) => error.hint(),
            Self::Export(_) | Self::Report(_) | Self::Panicked(_) => None,
        };
        match hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message,
        }
    }
}

/// A page that can be uploaded, and the program that does it.
#[derive(Debug)]
pub struct PreparedShare {
    pub program: GhCli,
    pub page: SharePage,
}

impl PreparedShare {
    /// Checks that there is a program that uploads pages.
    pub fn check_program(env: &Env) -> Result<(), ExporterError> {
        GhCli::find(env)?;
        Ok(())
    }

    /// Uploads the page; returns `None` if it was canceled.
    pub async fn upload(&self, cancel: &CancellationToken) -> Result<Option<Gist>, ExporterError> {
        match self.program.create(&self.page, cancel).await {
            Ok(gist) => Ok(Some(gist)),
            Err(ShareError::Cancelled) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Exports one session.
#[derive(Clone)]
pub struct Exporter {
    workspace: Arc<Workspace>,
    session: AgentSession,
}

impl Exporter {
    pub fn new(workspace: Arc<Workspace>, session: AgentSession) -> Self {
        Self { workspace, session }
    }

    /// Writes the session to a file, as JSONL if the path ends like that, otherwise as HTML.
    ///
    /// `output` is the path as typed; `None` for a generated name.
    pub async fn export(
        &self,
        output: Option<&str>,
        theme: ExportTheme,
    ) -> Result<PathBuf, ExporterError> {
        let is_jsonl = output
            .map(Path::new)
            .and_then(Path::extension)
            .is_some_and(|extension| extension == "jsonl");
        if !is_jsonl {
            return self.export_html(output, theme).await;
        }
        let options = JsonlOptions {
            output: self.output_path(output),
            redaction: self.stored_secrets().await,
            env: self.workspace.env.clone(),
        };
        self.write(move |session| session.history().with_copy(|it| export_jsonl(it, &options)))
            .await
    }

    /// Writes the session to an HTML file, whatever its name; see [`Self::export`].
    pub async fn export_html(
        &self,
        output: Option<&str>,
        theme: ExportTheme,
    ) -> Result<PathBuf, ExporterError> {
        let options = HtmlOptions {
            output: self.output_path(output),
            theme,
            system_prompt: Some(self.session.tools().system_prompt()),
            redaction: self.stored_secrets().await,
            env: self.workspace.env.clone(),
            ..HtmlOptions::default()
        };
        self.write(move |session| session.history().with_copy(|it| export_html(it, &options)))
            .await
    }

    fn output_path(&self, typed: Option<&str>) -> Option<PathBuf> {
        let Workspace { cwd, env, .. } = &*self.workspace;
        typed.map(|path| cwd.join(expand_home(path, env)))
    }

    async fn stored_secrets(&self) -> Redactor {
        let store = self.session.models().authenticator().store();
        stored_secrets(store.as_ref()).await
    }

    async fn write(
        &self,
        write: impl FnOnce(&AgentSession) -> Result<PathBuf, ExportError> + Send + 'static,
    ) -> Result<PathBuf, ExporterError> {
        let session = self.session.clone();
        Ok(tokio::task::spawn_blocking(move || write(&session)).await??)
    }

    /// Writes a redacted page, after checking that it can be uploaded.
    pub async fn prepare_share(&self, theme: ExportTheme) -> Result<PreparedShare, ExporterError> {
        let env = self.workspace.env.clone();
        let program = GhCli::find(&env)?;
        program.check(&CancellationToken::new()).await?;
        let redaction = secrets_in_use(self.session.models(), &env).await;
        let session = self.session.clone();
        let write = move || {
            let options = HtmlOptions {
                theme,
                system_prompt: Some(session.tools().system_prompt()),
                redaction,
                env,
                ..HtmlOptions::default()
            };
            session
                .history()
                .with_session(|session| SharePage::write(session, options))
        };
        let page = tokio::task::spawn_blocking(write).await??;
        Ok(PreparedShare { program, page })
    }

    /// Writes a bug report into the working directory and records it in the session.
    pub async fn write_report(&self, report: BugReport) -> Result<WrittenReport, ExporterError> {
        let redaction = secrets_in_use(self.session.models(), &self.workspace.env).await;
        let Self { workspace, session } = self.clone();
        let write = move || {
            let reported = workspace.report(&session);
            let written = session.history().with_session(|session| {
                report.write(session, &reported, &redaction, &workspace.cwd)
            });
            written.map(|written| (report, written))
        };
        let (report, written) = tokio::task::spawn_blocking(write).await??;
        let (kind, data) = report.entry(&written, &self.workspace.env);
        let history = self.session.history();
        if let Err(error) = history.append_custom_entry(kind, Some(data)).await {
            tracing::warn!(%error, "cannot record the report in the session");
        }
        Ok(written)
    }
}

/// Removes from a text what the environment names as secret, and what looks like a key.
pub fn redact_secrets(text: &str, env: &Env) -> String {
    let redactor = environment_secrets(env).with_pattern_detection();
    redactor.redact(text).into_owned()
}
