//! What controllers ask the application to do.

use pi_protocol::EntryId;
use pi_views::dialogs::dialog::{DialogKey, DialogUpdate};

use crate::ExitReason;
use crate::app::display_command::DisplayCommand;
use crate::app::message::AppMsg;
use crate::app::tasks::AppTask;
use crate::controllers::dialogs::DialogRequest;
use crate::session::command::{SessionChange, SessionCommand};
use crate::terminal::file_link::FileLink;
use crate::transcript::{Notice, NoticeLevel, TranscriptMsg};

/// An effect that a controller requests. The application performs them in order.
#[derive(Debug)]
pub(crate) enum AppCommand {
    /// Delivers a message to another controller.
    Send(AppMsg),
    /// Changes the session; shows the error if it fails.
    Change(SessionChange),
    /// Submits a command to the session; its outcome arrives as a message.
    Session(SessionCommand),
    Display(DisplayCommand),
    /// Runs other work; its result arrives as a message.
    Run(AppTask),
    OpenDialog {
        key: DialogKey,
        request: DialogRequest,
    },
    CloseDialog(DialogKey),
    /// Delivers something to the open dialog.
    UpdateDialog(DialogUpdate),
    /// Shows the footer, with the usage if it can be read without delay.
    RefreshFooter {
        with_usage: bool,
    },
    RefreshProviders,
    /// Rebuilds the completion of commands and files.
    RefreshCompletion,
    /// Exports the session in the current theme.
    Export(ExportRequest),
    /// Adds a prompt to the history of all sessions.
    SavePrompt(String),
    LoadPromptHistory,
    /// Opens a text in the external editor; the terminal has been released.
    EditExternally(String),
    /// Opens a file of the session's directory in the external editor.
    EditFile(FileLink),
    /// Copies the selection, or else the last response.
    CopyAnswer,
    /// Performs an application action by its ID.
    PerformAction(String),
    /// Runs the shortcut of an extension.
    RunShortcut {
        extension: String,
        key: String,
    },
    WriteReport {
        description: Option<String>,
        with_conversation: bool,
    },
    WriteDebugRecord,
    /// Rebuilds the transcript of the current session.
    RebuildTranscript,
    /// Scrolls to an entry of the current session.
    ShowEntry(EntryId),
    Quit(ExitReason),
}

/// Where an export goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExportRequest {
    /// The path as typed; `None` for a generated name.
    File(Option<String>),
    Share,
}

impl AppCommand {
    pub(crate) fn send(message: impl Into<AppMsg>) -> Self {
        Self::Send(message.into())
    }

    /// Adds a notice to the transcript.
    pub(crate) fn notify(level: NoticeLevel, text: impl Into<String>) -> Self {
        let text = text.into();
        Self::send(TranscriptMsg::Notice(Notice { level, text }))
    }

    /// Shows a status line; the next one replaces it.
    pub(crate) fn status(text: impl Into<String>) -> Self {
        Self::notify(NoticeLevel::Status, text)
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self::notify(NoticeLevel::Error, text)
    }
}

/// Formats commands one per line, for tests.
#[cfg(test)]
pub(crate) fn listed(commands: &[AppCommand]) -> Vec<String> {
    commands
        .iter()
        .map(|command| match command {
            AppCommand::Send(AppMsg::Transcript(TranscriptMsg::Notice(notice))) => {
                format!("{:?}: {}", notice.level, notice.text)
            }
            AppCommand::Send(message) => format!("{message:?}"),
            AppCommand::Session(command) => format!("session {}", command.name()),
            AppCommand::Change(change) => format!("change {change:?}"),
            AppCommand::Display(command) => format!("{command:?}"),
            AppCommand::Run(task) => format!("run {}", task.label()),
            AppCommand::OpenDialog { request, .. } => format!("open {}", request.name()),
            other => format!("{other:?}"),
        })
        .collect()
}
