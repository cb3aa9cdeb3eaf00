//! Switching between sessions and between the branches of one session.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use pi_host::{LinkStatus, NavigateOptions, NavigateOutcome, ReplaceOutcome};
use pi_protocol::{
    ConfigDiagnostic, EntryId, ListProgress, NavigateStep, SessionInfo, SessionScope,
    SessionSearchResults,
};
use pi_views::dialogs::dialog::DialogUpdate;
use pi_views::dialogs::intent::{QuestionAnswer, Summarize};
use pi_views::dialogs::{ForkPoint, QuestionOptions};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::dialogs::{Asker, DialogMsg, DialogRequest};
use super::extensions::ExtensionMsg;
use super::prompt::PromptMsg;
use super::status::StatusMsg;
use crate::ExitReason;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::tasks::AppHandle;
use crate::session::command::{Replacement, SessionChange, SessionCommand};
use crate::session::outcome::CompactFailure;
use crate::session::port::SessionHolder;
use crate::startup;
use crate::transcript::NoticeLevel;
use pi_views::working_indicator::Activity;

#[derive(Debug)]
pub(crate) enum SwitchMsg {
    /// Shows another session.
    Replace(Replacement),
    Replaced {
        request: Replacement,
        result: Result<ReplaceOutcome, String>,
    },
    Navigate {
        target: EntryId,
        summarize: Summarize,
    },
    Navigated {
        target: EntryId,
        result: Result<NavigateOutcome, String>,
    },
    SetLabel {
        entry: EntryId,
        label: Option<String>,
    },
    /// Searches the text of sessions.
    Search {
        query: String,
        scope: SessionScope,
        is_repeated: bool,
    },
    HitsFound {
        query: String,
        result: Result<SessionSearchResults, String>,
    },
    /// Shows an entry of a session that a search found.
    OpenHit {
        path: PathBuf,
        entry: EntryId,
    },
    List(SessionScope),
    StopListing,
    /// Sessions found so far.
    Listed {
        scope: SessionScope,
        progress: ListProgress,
    },
    /// All sessions; `None` if the listing was canceled or failed.
    ListingEnded {
        scope: SessionScope,
        sessions: Option<Vec<Arc<SessionInfo>>>,
    },
    RenameFile {
        path: PathBuf,
        name: Option<String>,
    },
    FileRenamed(Result<(), String>),
    DeleteFile(PathBuf),
    FileDeleted(Result<PathBuf, String>),
    ForkPoints(Result<Vec<ForkPoint>, String>),
    NameSet {
        name: String,
        result: Result<(), String>,
    },
    Compacted(Result<(), CompactFailure>),
    CompactionPreviewed {
        instructions: Option<String>,
        result: Result<String, String>,
    },
    /// Whether to run the compaction that was previewed.
    CompactionAnswered(QuestionAnswer),
    ProjectChecked(Option<ConfigDiagnostic>),
    /// The connection to the process that runs the session ended.
    Link(LinkStatus),
    /// The session is ready to continue in another process.
    Paused {
        was_running: bool,
    },
    /// Another process holds the session that is shown.
    Held(SessionHolder),
    /// What to do with a session that another process holds.
    HeldAnswered(QuestionAnswer),
    /// What to do with a session whose process has ended.
    TakeoverAnswered(QuestionAnswer),
}

/// What can be done with a session that another process holds, as choices of a question. Only a live session can be
/// attached to.
const HELD_CHOICES: [&str; 3] = ["Attach", "Read only", "Fork"];

/// What can be done after the preview of a compaction.
const PREVIEW_CHOICES: [&str; 2] = ["Compact", "Cancel"];

/// What can be done with a session whose process has ended, as choices of a question.
const TAKEOVER_CHOICES: [&str; 3] = ["Continue the session here", "Keep reading", "Quit"];

#[derive(Debug)]
pub(crate) struct SwitchController {
    handle: AppHandle,
    /// The session listing in progress; dropping it cancels the listing.
    listing: Option<DropGuard>,
    /// The holder that the user was asked about last.
    held_by: SessionHolder,
    /// The instructions of the compaction that was previewed last.
    previewed: Option<String>,
}

impl SwitchController {
    pub(crate) fn new(handle: AppHandle) -> Self {
        Self {
            handle,
            listing: None,
            held_by: SessionHolder::Other,
            previewed: None,
        }
    }

    pub(crate) fn update(&mut self, message: SwitchMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            SwitchMsg::Replace(request) => replace(request, ctx),
            SwitchMsg::Replaced {
                request,
                result: Ok(outcome),
            } => replaced(&request, outcome),
            SwitchMsg::Navigate { target, summarize } => navigate(target, summarize, ctx),
            SwitchMsg::Navigated { target, result } => navigated(target, result),
            SwitchMsg::SetLabel { entry, label } => {
                vec![AppCommand::Change(SessionChange::SetLabel { entry, label })]
            }
            SwitchMsg::Search {
                query,
                scope,
                is_repeated,
            } => {
                vec![AppCommand::Session(SessionCommand::SearchSessions {
                    query,
                    scope,
                    is_repeated,
                })]
            }
            SwitchMsg::HitsFound { query, result } => {
                let update = DialogUpdate::SessionHits { query, result };
                vec![AppCommand::UpdateDialog(update)]
            }
            SwitchMsg::OpenHit { path, entry } if ctx.session.file.as_ref() == Some(&path) => {
                vec![AppCommand::ShowEntry(entry)]
            }
            SwitchMsg::OpenHit { path, entry } => replace(Replacement::ResumeAt(path, entry), ctx),
            SwitchMsg::List(scope) => vec![self.list(scope)],
            SwitchMsg::StopListing => {
                self.listing = None;
                Vec::new()
            }
            SwitchMsg::Listed { scope, progress } => vec![listed(scope, progress, false)],
            SwitchMsg::ListingEnded { scope, sessions } => {
                let all = sessions.map(|sessions| ListProgress {
                    loaded: sessions.len(),
                    total: sessions.len(),
                    sessions: Some(sessions),
                });
                all.map(|all| listed(scope, all, true))
                    .into_iter()
                    .collect()
            }
            SwitchMsg::RenameFile { path, name } => {
                vec![AppCommand::Session(SessionCommand::RenameFile {
                    path,
                    name: name.unwrap_or_default(),
                })]
            }
            SwitchMsg::FileRenamed(result) => vec![AppCommand::UpdateDialog(match result {
                Ok(()) => DialogUpdate::SessionRenamed,
                Err(message) => DialogUpdate::Failed(message),
            })],
            SwitchMsg::DeleteFile(path) if ctx.session.file.as_ref() == Some(&path) => {
                let message = "The current session cannot be deleted".to_owned();
                vec![AppCommand::UpdateDialog(DialogUpdate::Failed(message))]
            }
            SwitchMsg::DeleteFile(path) => {
                vec![AppCommand::Session(SessionCommand::DeleteFile(path))]
            }
            SwitchMsg::FileDeleted(result) => vec![AppCommand::UpdateDialog(match result {
                Ok(path) => DialogUpdate::SessionDeleted(path),
                Err(message) => DialogUpdate::Failed(message),
            })],
            SwitchMsg::ForkPoints(Ok(points)) if points.is_empty() => {
                vec![AppCommand::status(
                    "The session has no messages to fork from",
                )]
            }
            SwitchMsg::ForkPoints(Ok(points)) => {
                vec![AppCommand::send(DialogMsg::Open(DialogRequest::Fork(
                    points,
                )))]
            }
            SwitchMsg::NameSet {
                name,
                result: Ok(()),
            } => vec![
                AppCommand::send(StatusMsg::NameChanged),
                AppCommand::status(format!("Session renamed to {name}")),
            ],
            SwitchMsg::Compacted(Err(CompactFailure::Canceled)) => {
                vec![AppCommand::status("Compaction canceled")]
            }
            SwitchMsg::Compacted(Ok(())) => {
                vec![AppCommand::status("Run /compact undo to go back")]
            }
            SwitchMsg::CompactionPreviewed {
                instructions,
                result: Ok(text),
            } => {
                self.previewed = instructions;
                vec![
                    AppCommand::notify(NoticeLevel::Report, text),
                    ask(
                        "Compact the conversation?",
                        PREVIEW_CHOICES.map(str::to_owned).to_vec(),
                        Asker::Compaction,
                    ),
                ]
            }
            SwitchMsg::CompactionAnswered(QuestionAnswer::Chosen(0)) => {
                vec![AppCommand::Session(SessionCommand::Compact {
                    instructions: self.previewed.take(),
                })]
            }
            SwitchMsg::Link(status) => vec![link_ended(status)],
            SwitchMsg::Paused { was_running } => {
                vec![AppCommand::Quit(ExitReason::Detach { was_running })]
            }
            SwitchMsg::Held(holder) => {
                self.held_by = holder;
                vec![held(holder)]
            }
            SwitchMsg::HeldAnswered(QuestionAnswer::Chosen(chosen)) => {
                // Without a live session, the first choice is missing.
                match chosen + usize::from(self.held_by == SessionHolder::Other) {
                    0 => vec![AppCommand::Quit(ExitReason::Attach)],
                    2 => replace(Replacement::Clone, ctx),
                    _ => Vec::new(),
                }
            }
            SwitchMsg::TakeoverAnswered(QuestionAnswer::Chosen(0)) => {
                vec![AppCommand::Quit(ExitReason::TakeOver)]
            }
            SwitchMsg::TakeoverAnswered(QuestionAnswer::Chosen(2)) => {
                vec![AppCommand::Quit(ExitReason::Quit)]
            }
            SwitchMsg::HeldAnswered(_)
            | SwitchMsg::TakeoverAnswered(_)
            | SwitchMsg::CompactionAnswered(_)
            | SwitchMsg::ProjectChecked(None) => Vec::new(),
            SwitchMsg::ProjectChecked(Some(changes)) => vec![startup::diagnostic(&changes)],
            // The session that was shown stays.
            SwitchMsg::Replaced {
                result: Err(message),
                ..
            }
            | SwitchMsg::NameSet {
                result: Err(message),
                ..
            }
            | SwitchMsg::ForkPoints(Err(message))
            | SwitchMsg::CompactionPreviewed {
                result: Err(message),
                ..
            }
            | SwitchMsg::Compacted(Err(CompactFailure::Failed(message))) => {
                vec![AppCommand::error(message)]
            }
        }
    }

    /// Lists sessions and updates the dialog as they are found; cancels an earlier listing.
    fn list(&mut self, scope: SessionScope) -> AppCommand {
        let cancel = CancellationToken::new();
        self.listing = Some(cancel.clone().drop_guard());
        let handle = self.handle.clone();
        AppCommand::Session(SessionCommand::ListSessions {
            scope,
            observer: Box::new(move |progress| handle.post(SwitchMsg::Listed { scope, progress })),
            cancel,
        })
    }
}

fn listed(scope: SessionScope, progress: ListProgress, finished: bool) -> AppCommand {
    AppCommand::UpdateDialog(DialogUpdate::Sessions {
        scope,
        sessions: progress.sessions,
        loaded: progress.loaded,
        total: progress.total,
        finished,
    })
}

/// Asks what to do with a session that another process holds.
fn held(holder: SessionHolder) -> AppCommand {
    let choices = HELD_CHOICES.iter().copied();
    let choices = choices.skip(usize::from(holder == SessionHolder::Other));
    ask(
        "This session is open in another pi",
        choices.map(str::to_owned).collect(),
        Asker::HeldElsewhere,
    )
}

fn ask(title: &str, choices: Vec<String>, asker: Asker) -> AppCommand {
    AppCommand::send(DialogMsg::Ask {
        request: DialogRequest::Choose {
            question: QuestionOptions {
                title: title.to_owned(),
                // The user may be typing when the other process ends.
                guards_type_ahead: asker == Asker::Takeover,
                ..QuestionOptions::default()
            },
            choices,
        },
        asker,
    })
}

/// Returns what follows when the process that runs the session no longer does.
fn link_ended(status: LinkStatus) -> AppCommand {
    if status != LinkStatus::Ended {
        let text = "The pi that runs this session started another one. It opens here after its first message.";
        return AppCommand::notify(NoticeLevel::Info, text.to_owned());
    }
    ask(
        "The pi that ran this session has ended",
        TAKEOVER_CHOICES.map(str::to_owned).to_vec(),
        Asker::Takeover,
    )
}

fn replace(request: Replacement, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    if request == Replacement::Reload && !ctx.session.activity.idle {
        return vec![AppCommand::notify(
            NoticeLevel::Warning,
            "Cannot reload while a run is in progress",
        )];
    }
    vec![AppCommand::Session(SessionCommand::Replace(request))]
}

/// Reports a replacement; the new session is already on screen.
fn replaced(request: &Replacement, outcome: ReplaceOutcome) -> Vec<AppCommand> {
    let selected = outcome.selected_text.map(PromptMsg::SetText);
    let mut commands: Vec<_> = selected.map(AppCommand::send).into_iter().collect();
    if !outcome.cancelled {
        commands.push(AppCommand::status(match request {
            Replacement::New => "New session started",
            Replacement::Clone => "Switched to a copy; the original session is unchanged",
            Replacement::Reload => "Reloaded keys, settings, resources and context files",
            Replacement::Resume(_) | Replacement::ResumeAt(..) => "Session resumed",
            Replacement::Fork(_) => "Forked before the selected message",
            Replacement::Import(_) => "Session imported",
        }));
        if let Replacement::ResumeAt(_, entry) = request {
            commands.push(AppCommand::ShowEntry(entry.clone()));
        }
    }
    commands
}

fn navigate(target: EntryId, summarize: Summarize, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    if ctx.session.leaf.as_ref() == Some(&target) {
        return vec![AppCommand::status("Already at this entry")];
    }
    let (step, summarize, instructions) = match summarize {
        Summarize::Skip => (NavigateStep::Whole, false, None),
        Summarize::Ask => (NavigateStep::UntilSummary, false, None),
        Summarize::No => (NavigateStep::Rest, false, None),
        Summarize::Plain => (NavigateStep::Rest, true, None),
        Summarize::With(instructions) => (NavigateStep::Rest, true, Some(instructions)),
    };
    let options = NavigateOptions {
        step,
        summarize,
        instructions,
        ..NavigateOptions::default()
    };
    let mut commands = vec![AppCommand::send(ExtensionMsg::NavigationStarted)];
    if options.summarize {
        commands.push(AppCommand::send(StatusMsg::Show(Activity::Summarizing)));
    }
    commands.push(AppCommand::Session(SessionCommand::Navigate {
        target,
        options,
    }));
    commands
}

fn navigated(target: EntryId, result: Result<NavigateOutcome, String>) -> Vec<AppCommand> {
    let mut commands = vec![AppCommand::send(StatusMsg::Show(Activity::Idle))];
    match result {
        Ok(moved) if moved.needs_summary_choice => {
            let request = DialogRequest::BranchSummary { target };
            commands.push(AppCommand::send(DialogMsg::Open(request)));
        }
        Ok(moved) if moved.aborted => {
            commands.push(AppCommand::status("Branch not summarized"));
            let selected = Some(target);
            let request = DialogRequest::Tree { selected };
            commands.push(AppCommand::send(DialogMsg::Open(request)));
        }
        // No status, which could replace the report of the files that were restored instead.
        Ok(moved) if moved.cancelled => {
            let text = "Conversation unchanged";
            commands.push(AppCommand::notify(NoticeLevel::Info, text));
        }
        Ok(moved) => {
            commands.push(AppCommand::RebuildTranscript);
            let text = moved.editor_text.map(PromptMsg::RestoreText);
            commands.extend(text.map(AppCommand::send));
            commands.push(AppCommand::status("Moved to the selected entry"));
            commands.push(AppCommand::send(PromptMsg::SendHeld));
        }
        Err(message) => commands.push(AppCommand::error(message)),
    }
    commands.push(AppCommand::send(ExtensionMsg::NavigationEnded));
    commands
}
