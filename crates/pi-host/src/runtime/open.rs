//! Opens the session file of a runtime.

use std::path::{Path, PathBuf};

use pi_config::session_directory;
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use pi_session::{MAX_CONTEXT_MESSAGES, OpenReport, Session};

use super::error::StartError;
use super::session_options::SessionOptions;
use crate::host::Host;
use crate::session_choice::SessionResolver;
use crate::workspace::ProjectProbe;

/// Opens the chosen session before any other project file is read.
pub(super) fn open_session(
    host: &Host,
    options: &SessionOptions,
    probe: &ProjectProbe,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Result<Session, StartError> {
    let resolver = SessionResolver {
        agent_dir: host.options().agent_dir.clone(),
        chosen: chosen_directory(host, options, probe),
        cwd: options.cwd.clone(),
        cwd_override: options.cwd_override.clone(),
        env: host.env().clone(),
    };
    let mut session = resolver.open(options.session.clone(), diagnostics)?;
    check_cwd(&session, &options.cwd)?;
    diagnostics.extend(open_warnings(&session));
    if let Some(name) = &options.name {
        let name = name.split(['\r', '\n']).filter(|part| !part.is_empty());
        let name = name.collect::<Vec<_>>().join(" ");
        match name.trim() {
            "" => return Err(StartError::BlankName),
            name => session.set_name(name)?,
        };
    }
    Ok(session)
}

/// Returns the configured session directory. Project settings apply only if the project is trusted,
/// and the user is not prompted here: the session may belong to another project.
fn chosen_directory(
    host: &Host,
    options: &SessionOptions,
    probe: &ProjectProbe,
) -> Option<PathBuf> {
    session_directory(
        options.session_dir.as_deref(),
        host.env(),
        &probe.settings().settings(),
        &options.cwd,
    )
}

fn check_cwd(session: &Session, fallback_cwd: &Path) -> Result<(), StartError> {
    if session.path().is_some() && session.check_cwd().is_err() {
        return Err(StartError::MissingCwd {
            cwd: session.cwd().to_owned(),
            session_file: session.path().map(Path::to_owned).unwrap_or_default(),
            instead: fallback_cwd.to_owned(),
        });
    }
    Ok(())
}

/// Whether the model does not see the beginning of the conversation because it is too long.
fn is_context_cut(session: &Session) -> bool {
    // Only then is it worth walking the branch.
    session.entries().len() > MAX_CONTEXT_MESSAGES
        && session
            .current_branch()
            .context_outline()
            .is_ok_and(|outline| outline.messages > MAX_CONTEXT_MESSAGES)
}

/// Returns warnings about the session file for the user.
pub(super) fn open_warnings(session: &Session) -> Vec<ConfigDiagnostic> {
    let OpenReport {
        torn_tail,
        locked_elsewhere,
        restored_commands,
        restored_messages,
        ..
    } = session.open_report();
    let warnings = [
        (
            is_context_cut(session),
            "only the last 25,000 messages of the conversation are sent to the model; run /compact to summarize it",
        ),
        (
            *torn_tail,
            "the last record of the session is incomplete and was skipped",
        ),
        (
            *locked_elsewhere,
            "the session is open in another pi process; close it there before you continue here",
        ),
        (
            *restored_commands > 0,
            "results of shell commands that an interrupted pi had not stored were restored",
        ),
        (
            *restored_messages > 0,
            "messages that an interrupted pi had queued were restored and follow your next message",
        ),
    ];
    warnings
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, message)| ConfigDiagnostic {
            level: DiagnosticLevel::Warning,
            message: message.to_owned(),
            path: session.path().map(Path::to_owned),
        })
        .collect()
}
