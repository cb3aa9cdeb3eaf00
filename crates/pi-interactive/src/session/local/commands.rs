//! Dispatches commands.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::{AgentSession, Handover, SessionRuntime};

use super::{conversation, files, models, pages};
use crate::session::command::SessionCommand;
use crate::session::outcome::SessionOutcome;

/// Returns the work of a command. It is bound to the session that was current when it was submitted.
pub(super) fn submit(
    runtime: SessionRuntime,
    session: AgentSession,
    command: SessionCommand,
) -> BoxFuture<'static, SessionOutcome> {
    match command {
        SessionCommand::Prompt { text, delivery } => {
            conversation::prompt(session, text, delivery).boxed()
        }
        SessionCommand::PromptInTurn(prompts) => {
            conversation::prompt_in_turn(runtime, prompts).boxed()
        }
        SessionCommand::SendHeld(held) => conversation::send_held(session, held).boxed(),
        SessionCommand::TakeQueue { interrupt, held } => {
            conversation::take_queue(session, interrupt, held).boxed()
        }
        SessionCommand::RunShell { command, excluded } => {
            conversation::run_shell(session, command, excluded).boxed()
        }
        SessionCommand::Answer { request, answer } => {
            conversation::answer(session, request, answer).boxed()
        }
        SessionCommand::Compact { instructions } => {
            conversation::compact(session, instructions).boxed()
        }
        SessionCommand::SetModel { model, persist } => {
            models::set_model(session, model, persist).boxed()
        }
        SessionCommand::CycleModel(direction) => models::cycle_model(session, direction).boxed(),
        SessionCommand::SetThinking { level, persist } => {
            models::set_thinking(session, level, persist).boxed()
        }
        SessionCommand::CycleThinking => models::cycle_thinking(session).boxed(),
        SessionCommand::SetName(name) => files::set_name(session, name).boxed(),
        SessionCommand::Replace(request) => files::replace(runtime, request).boxed(),
        SessionCommand::Navigate { target, options } => {
            conversation::navigate(session, target, options).boxed()
        }
        SessionCommand::ListSessions {
            scope,
            observer,
            cancel,
        } => files::list(&runtime, &session, scope, observer, cancel).boxed(),
        SessionCommand::RenameFile { path, name } => {
            files::rename(runtime, session, path, name).boxed()
        }
        SessionCommand::DeleteFile(path) => files::delete(runtime, session, path).boxed(),
        SessionCommand::SaveTrust(choice) => files::save_trust(runtime, choice).boxed(),
        SessionCommand::ListForkPoints => pages::fork_points(session).boxed(),
        SessionCommand::ReadLastResponse => pages::last_response(session).boxed(),
        SessionCommand::CountUsage => pages::count_usage(session).boxed(),
        SessionCommand::ReadInsight(insight) => pages::read_insight(session, insight).boxed(),
        SessionCommand::DescribeExtensions => pages::describe_extensions(runtime).boxed(),
        SessionCommand::SearchSessions {
            query,
            scope,
            is_repeated,
        } => files::search(&runtime, query, scope, is_repeated).boxed(),
        SessionCommand::PreviewCompaction { instructions } => {
            pages::preview_compaction(session, instructions).boxed()
        }
        SessionCommand::UndoCompaction => conversation::undo_compaction(session).boxed(),
        SessionCommand::DescribeSession { version } => pages::describe(session, version).boxed(),
        SessionCommand::Export { output, theme } => {
            pages::export(runtime, session, output, theme).boxed()
        }
        SessionCommand::PrepareShare { theme } => {
            pages::prepare_share(runtime, session, theme).boxed()
        }
        SessionCommand::WriteReport(report) => {
            pages::write_report(runtime, session, *report).boxed()
        }
        SessionCommand::WriteDebugRecord { screen } => {
            pages::write_debug_record(runtime, session, screen).boxed()
        }
        SessionCommand::Pause => async move {
            let was_running = Handover::of(&session).pause().await;
            SessionOutcome::Paused { was_running }
        }
        .boxed(),
        SessionCommand::NotifyStart => async move {
            runtime.notify_session_start().await;
            SessionOutcome::StartNotified
        }
        .boxed(),
        SessionCommand::CheckProject => runtime
            .project_changes()
            .map(SessionOutcome::ProjectChecked)
            .boxed(),
        SessionCommand::SignIn {
            provider,
            kind,
            interaction,
            cancel,
        } => models::sign_in(runtime, provider, kind, interaction, cancel).boxed(),
        SessionCommand::StoreKey { provider, key } => {
            models::store_key(runtime, session, provider, key).boxed()
        }
        SessionCommand::SignOut { provider } => {
            models::sign_out(runtime, session, provider).boxed()
        }
        SessionCommand::ListLogins => models::list_logins(runtime, session).boxed(),
        SessionCommand::RefreshModels { provider } => models::refresh(session, provider).boxed(),
        SessionCommand::FindLlamaRouter => models::find_llama_router(session).boxed(),
        SessionCommand::ListLlama(router) => models::list_llama(session, router).boxed(),
    }
}

/// Runs blocking work on its own thread; a panic in it becomes an error message.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(pi_host::describe_error(&error)))
}
