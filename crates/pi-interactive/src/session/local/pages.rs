//! What is read from a session for people: usage, reports, exports.

use pi_host::{
    AgentSession, BugReport, ExportTheme, Exporter, SessionRuntime, cache_text, context_text,
    cost_text, extension_costs, extension_costs_text, preview_text, redact_secrets,
};
use pi_views::dialogs::ForkPoint;

use super::commands::blocking;
use crate::session::command::SessionInsight;
use crate::session::outcome::SessionOutcome;
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
    let report = blocking(move || session_report(&session, &version));
    SessionOutcome::SessionDescribed(report.await)
}

pub(super) async fn describe_extensions(runtime: SessionRuntime) -> SessionOutcome {
    let costs = extension_costs(&runtime).await;
    SessionOutcome::SessionDescribed(Ok(extension_costs_text(&costs)))
}

pub(super) async fn read_insight(session: AgentSession, insight: SessionInsight) -> SessionOutcome {
    let report = blocking(move || {
        let history = session.history();
        let text = match insight {
            SessionInsight::CacheMisses => history.cache_misses().map(|it| cache_text(&it)),
            SessionInsight::Context => history.context_report().map(|it| context_text(&it)),
            SessionInsight::Cost => history.turn_costs().map(|it| cost_text(&it)),
        };
        text.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::SessionDescribed(report.await)
}

pub(super) async fn preview_compaction(
    session: AgentSession,
    instructions: Option<String>,
) -> SessionOutcome {
    let focus = instructions.clone();
    let preview = blocking(move || {
        let preview = session.compaction().preview(focus.as_deref());
        preview
            .map(|preview| preview_text(&preview))
            .map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::CompactionPreviewed {
        instructions,
        result: preview.await,
    }
}

pub(super) async fn export(
    runtime: SessionRuntime,
    session: AgentSession,
    output: Option<String>,
    theme: ExportTheme,
) -> SessionOutcome {
    let exporter = Exporter::new(runtime.workspace(), session);
    let written = exporter.export(output.as_deref(), theme).await;
    SessionOutcome::Exported(written.map_err(|error| error.describe()))
}

pub(super) async fn prepare_share(
    runtime: SessionRuntime,
    session: AgentSession,
    theme: ExportTheme,
) -> SessionOutcome {
    let exporter = Exporter::new(runtime.workspace(), session);
    let prepared = exporter.prepare_share(theme).await;
    SessionOutcome::SharePrepared(prepared.map_err(|error| error.describe()))
}

pub(super) async fn write_report(
    runtime: SessionRuntime,
    session: AgentSession,
    report: BugReport,
) -> SessionOutcome {
    let exporter = Exporter::new(runtime.workspace(), session);
    let written = exporter.write_report(report).await;
    SessionOutcome::ReportWritten(written.map_err(|error| error.describe()))
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
        let written = pi_fs::atomic_file::write(
            &file,
            redact_secrets(&text, &workspace.env).as_bytes(),
            pi_fs::NewFileMode::Private,
        );
        written.map(|()| file).map_err(|error| error.to_string())
    });
    SessionOutcome::DebugRecordWritten(written.await)
}
