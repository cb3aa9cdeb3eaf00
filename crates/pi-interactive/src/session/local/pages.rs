//! What is read from a session for people: usage, reports, exports.

use std::path::Path;

use pi_export::{
    BugReport, ExportTheme, GhCli, HtmlOptions, JsonlOptions, ShareError, SharePage, export_html,
    export_jsonl, secrets_in_use, stored_secrets,
};
use pi_host::{AgentSession, SessionRuntime};
use pi_views::dialogs::ForkPoint;
use tokio_util::sync::CancellationToken;

use super::commands::blocking;
use crate::session::outcome::{PreparedShare, SessionOutcome};
use crate::session::report::session_report;

pub(super) async fn fork_points(session: AgentSession) -> SessionOutcome {
    let points = blocking(move || {
        let points = session.history().messages_for_forking();
        let points = points.map_err(|error| pi_host::describe_error(&error))?;
        let points = points.into_iter().map(|point| ForkPoint {
            entry: point.entry_id,
            text: point.text,
        });
        Ok(points.collect())
    });
    SessionOutcome::ForkPoints(points.await)
}

pub(super) async fn last_response(session: AgentSession) -> SessionOutcome {
    let text = blocking(move || {
        let text = session.history().last_assistant_text();
        text.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::LastResponse(text.await)
}

pub(super) async fn count_usage(session: AgentSession) -> SessionOutcome {
    let id = session.session_id();
    let counted = blocking(move || {
        let counted = session.history().precompute_stats();
        counted.map_err(|error| pi_host::describe_error(&error))
    });
    let counted = counted.await;
    if let Err(error) = &counted {
        tracing::warn!(%error, "cannot compute session stats");
    }
    SessionOutcome::UsageCounted {
        session: id,
        is_counted: counted.is_ok(),
    }
}

pub(super) async fn describe(session: AgentSession, version: String) -> SessionOutcome {
    let report = blocking(move || {
        let report = session_report(&session, &version);
        report.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::SessionDescribed(report.await)
}

pub(super) async fn export(
    runtime: SessionRuntime,
    session: AgentSession,
    output: Option<String>,
    theme: ExportTheme,
) -> SessionOutcome {
    let workspace = runtime.workspace();
    let env = workspace.env.clone();
    let output = output.map(|path| workspace.cwd.join(pi_config::expand_home(&path, &env)));
    let is_jsonl = output
        .as_deref()
        .and_then(Path::extension)
        .is_some_and(|extension| extension == "jsonl");
    let redaction = stored_secrets(session.models().authenticator().store().as_ref()).await;
    let write = move || {
        let system_prompt = Some(session.tools().system_prompt());
        let written = session.history().with_copy(|session| {
            if is_jsonl {
                let options = JsonlOptions {
                    output,
                    redaction,
                    env,
                };
                return export_jsonl(session, &options);
            }
            let options = HtmlOptions {
                output,
                theme,
                system_prompt,
                redaction,
                env,
                ..HtmlOptions::default()
            };
            export_html(session, &options)
        });
        written.map_err(|error| pi_host::describe_error(&error))
    };
    SessionOutcome::Exported(blocking(write).await)
}

pub(super) async fn prepare_share(
    runtime: SessionRuntime,
    session: AgentSession,
    theme: ExportTheme,
) -> SessionOutcome {
    SessionOutcome::SharePrepared(share_page(runtime, session, theme).await)
}

async fn share_page(
    runtime: SessionRuntime,
    session: AgentSession,
    theme: ExportTheme,
) -> Result<PreparedShare, String> {
    let workspace = runtime.workspace();
    let program = GhCli::find(&workspace.env).map_err(|error| describe_share_error(&error))?;
    let cancel = CancellationToken::new();
    let checked = program.check(&cancel).await;
    checked.map_err(|error| describe_share_error(&error))?;
    let redaction = secrets_in_use(session.models(), &workspace.env).await;
    let write = move || {
        let options = HtmlOptions {
            theme,
            system_prompt: Some(session.tools().system_prompt()),
            redaction,
            env: workspace.env.clone(),
            ..HtmlOptions::default()
        };
        let page = session
            .history()
            .with_session(|session| SharePage::write(session, options));
        page.map_err(|error| describe_share_error(&error))
    };
    let page = blocking(write).await?;
    Ok(PreparedShare { program, page })
}

/// Returns the message of an error, with what to do about it.
pub(crate) fn describe_share_error(error: &ShareError) -> String {
    let message = pi_host::describe_error(error);
    match error.hint() {
        Some(advice) => format!("{message}; {advice}"),
        None => message,
    }
}

pub(super) async fn write_report(
    runtime: SessionRuntime,
    session: AgentSession,
    report: BugReport,
) -> SessionOutcome {
    let workspace = runtime.workspace();
    let redaction = secrets_in_use(session.models(), &workspace.env).await;
    let writing = (session.clone(), report.clone(), workspace.clone());
    let written = blocking(move || {
        let (session, report, workspace) = writing;
        let reported = workspace.report(&session);
        let written = session
            .history()
            .with_session(|session| report.write(session, &reported, &redaction, &workspace.cwd));
        written.map_err(|error| pi_host::describe_error(&error))
    });
    let written = written.await;
    if let Ok(written) = &written {
        let (kind, data) = report.entry(written, &workspace.env);
        let remembered = session
            .history()
            .append_custom_entry(kind, Some(data))
            .await;
        if let Err(error) = remembered {
            tracing::warn!(%error, "cannot record the report in the session");
        }
    }
    SessionOutcome::ReportWritten(written)
}

pub(super) async fn write_debug_record(
    runtime: SessionRuntime,
    session: AgentSession,
    screen: String,
) -> SessionOutcome {
    let workspace = runtime.workspace();
    let file = workspace.agent_dir.path().join("pi-debug.log");
    let written = blocking(move || {
        let messages = session.history().messages().map(|messages| {
            let lines = messages
                .iter()
                .map(|message| serde_json::to_string(&**message));
            lines.flatten().collect::<Vec<_>>().join("\n")
        });
        let messages = messages.unwrap_or_else(|error| error.to_string());
        let text = format!("{screen}\n\n== messages ==\n{messages}\n");
        let redaction = pi_export::environment_secrets(&workspace.env).with_pattern_detection();
        let written = pi_fs::atomic_file::write(
            &file,
            redaction.redact(&text).as_bytes(),
            pi_fs::NewFileMode::Private,
        );
        written.map(|()| file).map_err(|error| error.to_string())
    });
    SessionOutcome::DebugRecordWritten(written.await)
}
