//! Commands that only this pi has: sessions, moves in the tree, labels, tools, requests and completions.

use std::path::PathBuf;

use pi_protocol::{Command, EntryId, Rejected, RejectionCode, SessionScope, describe_error};
use serde_json::json;

use super::rejection::RejectionReason;
use super::{AcceptedCommand, CommandResult, done};
use crate::runtime::{SessionRuntime, session_search};
use crate::session::{AgentSession, NavigateOptions};
use crate::session_catalog::SessionCatalog;
use pi_search::{IndexFreshness, SessionSearchOptions};

/// Completions of a text.
const MAX_COMPLETIONS: usize = 100;

pub(super) async fn execute(
    runtime: &SessionRuntime,
    session: &AgentSession,
    command: Command,
) -> CommandResult {
    match command {
        Command::ListSessions { all } => list_sessions(runtime, session, all).await,
        Command::SearchSessions {
            query,
            cwd,
            since,
            role,
            limit,
        } => {
            let options = SessionSearchOptions {
                query,
                is_incomplete: false,
                cwd: cwd.map(PathBuf::from),
                since_ms: since,
                role,
                limit: limit.unwrap_or_default(),
            };
            let search = session_search(runtime);
            let found =
                tokio::task::spawn_blocking(move || search.search(&options, IndexFreshness::SoFar));
            let found = found
                .await
                .map_err(|error| Rejected::new(RejectionCode::Failed, describe_error(&error)))?;
            AcceptedCommand::with_data(&found.map_err(RejectionReason::reject)?)
        }
        Command::NavigateTree {
            entry_id,
            summarize,
            custom_instructions,
            step,
        } => {
            let options = NavigateOptions {
                step: step.unwrap_or_default(),
                summarize,
                instructions: custom_instructions,
                ..NavigateOptions::default()
            };
            let target = EntryId::from(entry_id);
            let moved = session.navigation().navigate(&target, options).await;
            let moved = moved.map_err(RejectionReason::reject)?;
            AcceptedCommand::with_data(&json!({
                "cancelled": moved.cancelled || moved.aborted,
                "text": moved.editor_text,
                "leafId": session.history().outline().leaf,
                "needsSummaryChoice": moved.needs_summary_choice,
            }))
        }
        Command::SetLabel { entry_id, label } => {
            let target = EntryId::from(entry_id);
            done(session.history().set_label(&target, label.as_deref()))
        }
        Command::GetTools => {
            let active = session.tools().active_names();
            let tools = session.tools().all().into_iter().map(|tool| {
                json!({
                    "active": active.contains(&tool.name),
                    "name": tool.name,
                    "description": tool.description,
                })
            });
            let tools: Vec<_> = tools.collect();
            AcceptedCommand::with_data(&json!({ "tools": tools }))
        }
        Command::SetActiveTools { tools } => {
            session.tools().set_active(&tools);
            Ok(AcceptedCommand::done())
        }
        Command::GetRequests => {
            let requests = session.requests().pending();
            AcceptedCommand::with_data(&json!({ "requests": requests }))
        }
        Command::Complete { text } if text.starts_with('@') => {
            let query = text.trim_start_matches('@').to_owned();
            let host = runtime.host();
            let files = host.find_files(session.cwd().to_owned(), query).await;
            let items = files.into_iter().take(MAX_COMPLETIONS);
            let items: Vec<_> = items.map(|path| json!({ "path": path })).collect();
            AcceptedCommand::with_data(&json!({ "items": items }))
        }
        Command::Complete { text } => {
            let name = text.strip_prefix('/').unwrap_or(&text);
            let commands = runtime.commands().into_iter().map(|command| json!(command));
            let matching = commands.filter(|command| {
                let known = command.get("name").and_then(|name| name.as_str());
                known.is_some_and(|known| known.starts_with(name))
            });
            let items: Vec<_> = matching.take(MAX_COMPLETIONS).collect();
            AcceptedCommand::with_data(&json!({ "items": items }))
        }
        _ => Ok(AcceptedCommand::done()),
    }
}

async fn list_sessions(
    runtime: &SessionRuntime,
    session: &AgentSession,
    all: bool,
) -> CommandResult {
    let catalog = SessionCatalog::new(&runtime.workspace(), session);
    let scope = if all {
        SessionScope::All
    } else {
        SessionScope::Project
    };
    let listing = tokio::task::spawn_blocking(move || catalog.list_titles(scope));
    let listed = listing.await.unwrap_or_default();
    let sessions = listed.iter().map(|info| {
        json!({
            "id": info.id,
            "path": info.path.to_string_lossy(),
            "cwd": info.cwd,
            "name": info.name,
            "created": info.created_ms,
            "modified": info.modified_ms,
            "messageCount": info.message_count,
            "firstMessage": info.first_message,
        })
    });
    let sessions: Vec<_> = sessions.collect();
    AcceptedCommand::with_data(&json!({ "sessions": sessions }))
}
