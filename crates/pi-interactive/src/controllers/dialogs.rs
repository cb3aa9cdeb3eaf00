//! The stack of open dialogs, and the extension dialogs that wait for the user's own to close.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

use pi_host::{DialogPrompt, DialogResponse, ExtensionDialog};
use pi_protocol::{EntryId, LoginOption, TrustChoice};
use pi_views::dialogs::dialog::DialogKey;
use pi_views::dialogs::intent::QuestionAnswer;
use pi_views::dialogs::{ForkPoint, QuestionOptions, SearchListOptions};
use tokio::sync::oneshot;

use super::approvals::ApprovalMsg;
use super::llama::LlamaMsg;
use super::report::ReportMsg;
use super::share::ShareMsg;
use super::switching::SwitchMsg;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::extensions::bridge::DialogId;
use crate::extensions::question;
use crate::session::command::SessionCommand;

/// A dialog to open; the application adds the data it shows.
#[derive(Debug)]
pub(crate) enum DialogRequest {
    Settings,
    Models {
        search: String,
    },
    Thinking,
    ScopedModels,
    Fork(Vec<ForkPoint>),
    Tree {
        selected: Option<EntryId>,
    },
    /// Asks about a summary of the branch that is left for an entry of the tree.
    BranchSummary {
        target: EntryId,
    },
    /// Changes the saved trust of the project.
    Trust,
    /// Asks whether to trust a project that is being opened.
    AskTrust {
        cwd: PathBuf,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    },
    Login {
        provider: String,
    },
    Logout(Vec<LoginOption>),
    /// The sessions to resume, or those with this text.
    Resume {
        search: Option<String>,
    },
    Changelog,
    Hotkeys,
    SearchList(SearchListOptions),
    Palette,
    /// The changes of files in this session.
    Review,
    /// Asks whether to import a session file; the path as typed.
    Import(String),
    FirstStart,
    Choose {
        question: QuestionOptions,
        choices: Vec<String>,
    },
    Line {
        question: QuestionOptions,
        example: &'static str,
    },
    Progress {
        title: &'static str,
        subject: String,
    },
    Extension {
        dialog: ExtensionDialog,
        asked_at: Instant,
    },
}

impl DialogRequest {
    /// A short name, for tests.
    #[cfg(test)]
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Choose { question, .. } | Self::Line { question, .. } => question.title.clone(),
            Self::Progress { title, .. } => (*title).to_owned(),
            other => format!("{other:?}"),
        }
    }
}

/// The controller that asks a question or shows progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Share,
    Report,
    Llama,
    Approval,
    Takeover,
    HeldElsewhere,
    Compaction,
}

impl Asker {
    fn answered(self, answer: QuestionAnswer) -> AppCommand {
        match self {
            Self::Share => AppCommand::send(ShareMsg::Answered(answer)),
            Self::Report => AppCommand::send(ReportMsg::Answered(answer)),
            Self::Llama => AppCommand::send(LlamaMsg::Answered(answer)),
            Self::Approval => AppCommand::send(ApprovalMsg::Answered(answer)),
            Self::Takeover => AppCommand::send(SwitchMsg::TakeoverAnswered(answer)),
            Self::HeldElsewhere => AppCommand::send(SwitchMsg::HeldAnswered(answer)),
            Self::Compaction => AppCommand::send(SwitchMsg::CompactionAnswered(answer)),
        }
    }
}

#[derive(Debug)]
pub(crate) enum DialogMsg {
    Open(DialogRequest),
    /// Opens a dialog whose answer goes to a controller.
    Ask {
        request: DialogRequest,
        asker: Asker,
    },
    /// Closes the dialogs of a controller whose work is done.
    Finish(Asker),
    ExtensionAsked {
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogResponse>,
    },
    /// An extension no longer waits for the answer.
    Withdrawn(DialogId),
    /// The extensions that opened dialogs are gone.
    ExtensionsGone,
    TrustAsked {
        cwd: PathBuf,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
        answer: oneshot::Sender<Option<TrustChoice>>,
    },
    TrustChosen {
        key: DialogKey,
        choice: TrustChoice,
    },
    TrustSaved(Result<(), String>),
    Answered {
        key: DialogKey,
        answer: QuestionAnswer,
    },
    /// The dialog needs nothing more, or could not be opened.
    Done(DialogKey),
    SessionReplaced,
}

/// Where the answer of a dialog goes.
#[derive(Debug)]
enum AnswerRoute {
    Nowhere,
    Asker(Asker),
    Trust(oneshot::Sender<Option<TrustChoice>>),
    Extension {
        id: DialogId,
        prompt: DialogPrompt,
        answer: oneshot::Sender<DialogResponse>,
    },
}

#[derive(Debug)]
struct OpenDialog {
    key: DialogKey,
    route: AnswerRoute,
}

/// An extension dialog that waits while the user has a dialog open.
#[derive(Debug)]
struct WaitingDialog {
    id: DialogId,
    dialog: ExtensionDialog,
    answer: oneshot::Sender<DialogResponse>,
    asked_at: Instant,
}

/// The open dialogs: the last one has the focus, closing it shows the one before.
#[derive(Debug, Default)]
pub(crate) struct DialogController {
    stack: Vec<OpenDialog>,
    waiting: VecDeque<WaitingDialog>,
    last_key: u64,
}

impl DialogController {
    pub(crate) fn update(&mut self, message: DialogMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            DialogMsg::Open(request) => vec![self.push(request, AnswerRoute::Nowhere)],
            DialogMsg::Ask { request, asker } => {
                vec![self.push(request, AnswerRoute::Asker(asker))]
            }
            DialogMsg::Finish(asker) => self
                .close_where(|route| matches!(route, AnswerRoute::Asker(known) if *known == asker)),
            DialogMsg::ExtensionAsked { id, dialog, answer } => {
                self.waiting.push_back(WaitingDialog {
                    id,
                    dialog,
                    answer,
                    asked_at: ctx.now,
                });
                self.open_waiting()
            }
            DialogMsg::Withdrawn(id) => {
                self.waiting.retain(|waiting| waiting.id != id);
                self.close_where(
                    |route| matches!(route, AnswerRoute::Extension { id: known, .. } if *known == id),
                )
            }
            DialogMsg::ExtensionsGone => {
                self.waiting.clear();
                self.close_where(|route| matches!(route, AnswerRoute::Extension { .. }))
            }
            DialogMsg::TrustAsked {
                cwd,
                choices,
                changes,
                answer,
            } => {
                let request = DialogRequest::AskTrust {
                    cwd,
                    choices,
                    changes,
                };
                vec![self.push(request, AnswerRoute::Trust(answer))]
            }
            DialogMsg::TrustChosen { key, choice } => self.trust_chosen(key, choice),
            DialogMsg::TrustSaved(Ok(())) => {
                vec![AppCommand::status(
                    "Saved. Run /reload or restart to apply.",
                )]
            }
            DialogMsg::TrustSaved(Err(message)) => vec![AppCommand::error(message)],
            DialogMsg::Answered { key, answer } => self.answered(key, answer),
            DialogMsg::Done(key) => self.close(key),
            DialogMsg::SessionReplaced => {
                let open = self.stack.drain(..);
                open.map(|dialog| AppCommand::CloseDialog(dialog.key))
                    .collect()
            }
        }
    }

    fn push(&mut self, request: DialogRequest, route: AnswerRoute) -> AppCommand {
        self.last_key += 1;
        let key = DialogKey(self.last_key);
        self.stack.push(OpenDialog { key, route });
        AppCommand::OpenDialog { key, request }
    }

    fn take_route(&mut self, key: DialogKey) -> AnswerRoute {
        let open = self.stack.iter_mut().find(|open| open.key == key);
        open.map_or(AnswerRoute::Nowhere, |open| {
            std::mem::replace(&mut open.route, AnswerRoute::Nowhere)
        })
    }

    fn answered(&mut self, key: DialogKey, answer: QuestionAnswer) -> Vec<AppCommand> {
        match self.take_route(key) {
            AnswerRoute::Nowhere | AnswerRoute::Trust(_) => Vec::new(),
            AnswerRoute::Asker(asker) => vec![asker.answered(answer)],
            AnswerRoute::Extension {
                prompt,
                answer: reply,
                ..
            } => {
                if reply
                    .send(question::to_dialog_answer(&prompt, answer))
                    .is_err()
                {
                    tracing::debug!("extension no longer waits for its answer");
                }
                Vec::new()
            }
        }
    }

    fn trust_chosen(&mut self, key: DialogKey, choice: TrustChoice) -> Vec<AppCommand> {
        match self.take_route(key) {
            // The runtime saves it.
            AnswerRoute::Trust(reply) => {
                if reply.send(Some(choice)).is_err() {
                    tracing::debug!("trust decision is no longer awaited");
                }
                Vec::new()
            }
            _ => vec![AppCommand::Session(SessionCommand::SaveTrust(choice))],
        }
    }

    fn close(&mut self, key: DialogKey) -> Vec<AppCommand> {
        self.stack.retain(|open| open.key != key);
        let mut commands = vec![
            AppCommand::CloseDialog(key),
            AppCommand::send(SwitchMsg::StopListing),
        ];
        commands.extend(self.open_waiting());
        commands
    }

    /// Closes the dialogs with such a route without an answer.
    fn close_where(&mut self, is_closed: impl Fn(&AnswerRoute) -> bool) -> Vec<AppCommand> {
        let (closed, open) = std::mem::take(&mut self.stack)
            .into_iter()
            .partition::<Vec<_>, _>(|open| is_closed(&open.route));
        self.stack = open;
        let mut commands: Vec<_> = closed
            .iter()
            .map(|dialog| AppCommand::CloseDialog(dialog.key))
            .collect();
        if !commands.is_empty() {
            commands.extend(self.open_waiting());
        }
        commands
    }

    /// Opens the waiting extension dialogs, unless the user has a dialog open. They stack: the newest one is shown
    /// first, and closing it shows the one before.
    fn open_waiting(&mut self) -> Vec<AppCommand> {
        let is_extension = |open: &OpenDialog| matches!(open.route, AnswerRoute::Extension { .. });
        if !self.stack.last().is_none_or(is_extension) {
            return Vec::new();
        }
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting
            .map(|next| {
                let WaitingDialog {
                    id,
                    dialog,
                    answer,
                    asked_at,
                } = next;
                let route = AnswerRoute::Extension {
                    id,
                    prompt: dialog.prompt.clone(),
                    answer,
                };
                self.push(DialogRequest::Extension { dialog, asked_at }, route)
            })
            .collect()
    }

    /// Returns what the program waits for, for the program status: the title of the newest extension dialog.
    pub(crate) fn extension_title(&self) -> Option<&str> {
        self.stack.iter().rev().find_map(|open| match &open.route {
            AnswerRoute::Extension { prompt, .. } => Some(match prompt {
                DialogPrompt::Select { title, .. }
                | DialogPrompt::Confirm { title, .. }
                | DialogPrompt::Input { title, .. }
                | DialogPrompt::Editor { title, .. } => title.as_str(),
            }),
            AnswerRoute::Nowhere | AnswerRoute::Asker(_) | AnswerRoute::Trust(_) => None,
        })
    }
}
