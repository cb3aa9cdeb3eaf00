//! The terminal: suspension, the external editor, the scrollback, the clipboard and the browser.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use pi_tui::ScreenMode;
use pi_views::dialogs::dialog::DialogUpdate;
use pi_views::keys;
use pi_views::text::web_address::is_web;

use super::prompt::PromptMsg;
use crate::ExitReason;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::display_command::DisplayCommand;
use crate::app::tasks::AppTask;
use crate::session::command::SessionCommand;
use crate::terminal::clipboard::{self, ClipboardContents};
use crate::terminal::editor_command::{EditorCommand, EditorSurface};
use crate::terminal::external_editor;
use crate::terminal::file_link::FileLink;
use crate::transcript::NoticeLevel;

/// Where edited text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditTarget {
    Prompt,
    Dialog,
    /// The file itself.
    File,
}

#[derive(Debug)]
pub(crate) enum TerminalMsg {
    /// Suspends the process until the shell resumes it.
    Suspend,
    /// Leaves the scrollback, or else interrupts.
    Interrupt,
    EnterScrollback,
    LeaveScrollback,
    /// The screen has another mode than the scrollback's.
    ModeChanged,
    /// Edits a text in the external editor; the session keeps running.
    Edit {
        text: String,
        target: EditTarget,
    },
    /// Opens a file in an editor: in the terminal, or in a separate window.
    OpenEditor(EditorCommand),
    /// An editor with a window was started.
    EditorStarted(Result<(), String>),
    Released(Result<(), String>),
    /// The text, or `None` if it was not changed.
    EditorClosed(Result<Option<String>, String>),
    Reclaimed(Result<(), String>),
    /// Copies the selection, or else the last response.
    CopyAnswer {
        selected: Option<String>,
    },
    LastResponse(Result<Option<String>, String>),
    Copy {
        text: String,
        done: &'static str,
    },
    Copied {
        done: &'static str,
    },
    /// Pastes the clipboard: an image as the path of a temporary file, otherwise text.
    Paste,
    Pasted(Result<ClipboardContents, String>),
    OpenUrl(String),
    /// Opens a file with the default application.
    OpenFile(PathBuf),
    OpenFailed {
        what: String,
    },
    Opened,
}

#[derive(Debug)]
enum EditorWork {
    Text(String),
    File(EditorCommand),
}

/// An external editor that has the terminal, or is about to.
#[derive(Debug)]
struct ActiveEditor {
    target: EditTarget,
    /// What to edit, until the terminal is released; then what came back.
    work: Option<EditorWork>,
    result: Option<Result<Option<String>, String>>,
}

#[derive(Debug, Default)]
pub(crate) struct TerminalController {
    editor: Option<ActiveEditor>,
    /// Whether another program has the terminal, such as an external editor.
    is_released: bool,
    is_suspending: bool,
    /// Whether the full screen shows scrollback because the user scrolled up.
    in_scrollback: bool,
}

impl TerminalController {
    /// Whether another program has the terminal: nothing may be read or drawn.
    pub(crate) fn is_released(&self) -> bool {
        self.is_released
    }

    /// Returns whether the process is to be suspended, once.
    pub(crate) fn take_suspension(&mut self) -> bool {
        std::mem::take(&mut self.is_suspending)
    }

    pub(crate) fn update(&mut self, message: TerminalMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            TerminalMsg::Suspend if cfg!(unix) => {
                self.is_suspending = true;
                Vec::new()
            }
            TerminalMsg::Suspend => {
                vec![AppCommand::status(
                    "Suspending is not supported on this platform",
                )]
            }
            TerminalMsg::Interrupt if self.in_scrollback => self.leave_scrollback(),
            TerminalMsg::Interrupt => vec![AppCommand::send(PromptMsg::Interrupt)],
            TerminalMsg::EnterScrollback => self.enter_scrollback(ctx),
            TerminalMsg::LeaveScrollback => self.leave_scrollback(),
            TerminalMsg::ModeChanged => {
                self.in_scrollback = false;
                Vec::new()
            }
            TerminalMsg::Edit { text, target } => {
                vec![self.start_editor(target, EditorWork::Text(text))]
            }
            TerminalMsg::OpenEditor(command) => match command.surface {
                EditorSurface::Terminal => {
                    vec![self.start_editor(EditTarget::File, EditorWork::File(command))]
                }
                EditorSurface::Window => vec![AppCommand::Run(AppTask::new(
                    "start the editor",
                    async move {
                        let started = external_editor::start(&command);
                        TerminalMsg::EditorStarted(
                            started.map_err(|error| pi_host::describe_error(&error)),
                        )
                    },
                ))],
            },
            TerminalMsg::Released(result) => self.released(result),
            TerminalMsg::EditorClosed(result) => {
                if let Some(editor) = &mut self.editor {
                    editor.result = Some(result);
                }
                vec![AppCommand::Display(DisplayCommand::ReclaimTerminal)]
            }
            TerminalMsg::Reclaimed(result) => self.reclaimed(result),
            TerminalMsg::CopyAnswer { selected } => vec![match selected {
                Some(text) => AppCommand::send(TerminalMsg::Copy {
                    text,
                    done: "Copied the selection",
                }),
                None => AppCommand::Session(SessionCommand::ReadLastResponse),
            }],
            TerminalMsg::LastResponse(Ok(Some(text))) => {
                vec![AppCommand::send(TerminalMsg::Copy {
                    text,
                    done: "Copied the last response",
                })]
            }
            TerminalMsg::LastResponse(Ok(None)) => vec![AppCommand::status("No response to copy")],
            TerminalMsg::LastResponse(Err(message)) | TerminalMsg::EditorStarted(Err(message)) => {
                vec![AppCommand::error(message)]
            }
            TerminalMsg::Copy { text, done } => copy(text, done),
            TerminalMsg::Copied { done } => vec![AppCommand::status(done)],
            TerminalMsg::Paste => vec![AppCommand::Run(AppTask::blocking(
                "read the clipboard",
                || TerminalMsg::Pasted(clipboard::read().map_err(|error| error.to_string())),
            ))],
            TerminalMsg::Pasted(pasted) => vec![pasted_command(pasted, ctx.prompt)],
            TerminalMsg::OpenUrl(url) if let Some(link) = FileLink::parse(&url) => {
                vec![AppCommand::EditFile(link)]
            }
            TerminalMsg::OpenUrl(url) if is_web(&url) => vec![open(url.clone(), url)],
            TerminalMsg::OpenUrl(url) => vec![AppCommand::notify(
                NoticeLevel::Warning,
                format!("Not a web URL, not opened: {url}"),
            )],
            TerminalMsg::OpenFile(path) => {
                let what = path.display().to_string();
                vec![open(path, what)]
            }
            // A dialog that opens a page shows its URL, too.
            TerminalMsg::OpenFailed { .. } if ctx.has_dialog => Vec::new(),
            TerminalMsg::OpenFailed { what } => vec![AppCommand::notify(
                NoticeLevel::Warning,
                format!("No application could be started. Open it yourself: {what}"),
            )],
            TerminalMsg::Opened | TerminalMsg::EditorStarted(Ok(())) => Vec::new(),
        }
    }

    /// Switches to the full-screen scrollback; older entries are loaded while scrolling.
    fn enter_scrollback(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        if ctx.screen_mode != ScreenMode::Main {
            return Vec::new();
        }
        self.in_scrollback = true;
        let back = ctx.ui.context().key(keys::INTERRUPT);
        let hint = format!("Press {back} to return to the prompt");
        vec![
            AppCommand::Display(DisplayCommand::ViewScrollback),
            AppCommand::Display(DisplayCommand::Flash(hint)),
        ]
    }

    /// Returns from the scrollback to the end of the conversation.
    fn leave_scrollback(&mut self) -> Vec<AppCommand> {
        if std::mem::take(&mut self.in_scrollback) {
            vec![AppCommand::Display(DisplayCommand::LeaveScrollback)]
        } else {
            Vec::new()
        }
    }

    fn start_editor(&mut self, target: EditTarget, work: EditorWork) -> AppCommand {
        self.editor = Some(ActiveEditor {
            target,
            work: Some(work),
            result: None,
        });
        AppCommand::Display(DisplayCommand::ReleaseTerminal)
    }

    fn released(&mut self, result: Result<(), String>) -> Vec<AppCommand> {
        let work = self.editor.as_mut().and_then(|editor| editor.work.take());
        match (result, work) {
            (Ok(()), Some(work)) => {
                self.is_released = true;
                vec![match work {
                    EditorWork::Text(text) => AppCommand::EditExternally(text),
                    EditorWork::File(command) => {
                        AppCommand::Run(AppTask::new("run the editor", async move {
                            let closed = external_editor::run(&command).await;
                            TerminalMsg::EditorClosed(
                                closed
                                    .map(|()| None)
                                    .map_err(|error| pi_host::describe_error(&error)),
                            )
                        }))
                    }
                }]
            }
            (Ok(()), None) => Vec::new(),
            (Err(message), _) => {
                self.editor = None;
                vec![AppCommand::error(message)]
            }
        }
    }

    fn reclaimed(&mut self, result: Result<(), String>) -> Vec<AppCommand> {
        self.is_released = false;
        let editor = self.editor.take();
        if let Err(error) = result {
            tracing::error!(%error, "cannot restore the terminal after the editor");
            return vec![AppCommand::Quit(ExitReason::Terminated)];
        }
        let Some(ActiveEditor {
            target,
            result: Some(result),
            ..
        }) = editor
        else {
            return Vec::new();
        };
        vec![match (result, target) {
            (Ok(_), EditTarget::File) => return Vec::new(),
            (Ok(Some(text)), EditTarget::Prompt) => AppCommand::send(PromptMsg::SetText(text)),
            (Ok(Some(text)), EditTarget::Dialog) => {
                AppCommand::UpdateDialog(DialogUpdate::Edited(text))
            }
            (Ok(None), _) => AppCommand::status("No changes from the editor"),
            (Err(message), _) => AppCommand::error(message),
        }]
    }
}

/// Copies text through the system clipboard and through the terminal (OSC 52).
fn copy(text: String, done: &'static str) -> Vec<AppCommand> {
    let copied = text.clone();
    vec![
        AppCommand::Display(DisplayCommand::CopyToTerminal(text)),
        AppCommand::Run(AppTask::blocking("write the clipboard", move || {
            if let Err(error) = clipboard::write(copied) {
                // Over SSH only OSC 52 works, and the text was already sent that way.
                tracing::debug!(%error, "system clipboard not available");
            }
            TerminalMsg::Copied { done }
        })),
    ]
}

/// Returns the command that inserts what was pasted into the prompt with the text `prompt`.
fn pasted_command(pasted: Result<ClipboardContents, String>, prompt: &str) -> AppCommand {
    match pasted {
        Ok(ClipboardContents::Files(files)) => {
            let is_shell = prompt.trim_start().starts_with('!');
            let paths = files.iter().map(|path| {
                let path = path.to_string_lossy();
                if is_shell {
                    shell_quoted(&path)
                } else {
                    path.into_owned()
                }
            });
            AppCommand::send(PromptMsg::Insert(paths.collect::<Vec<_>>().join(" ")))
        }
        Ok(ClipboardContents::Image(path)) => {
            AppCommand::send(PromptMsg::Insert(path.to_string_lossy().into_owned()))
        }
        Ok(ClipboardContents::Text(text)) => AppCommand::send(PromptMsg::Insert(text)),
        Ok(ClipboardContents::Nothing) => AppCommand::status("The clipboard is empty"),
        Err(error) => AppCommand::status(format!("Cannot read the clipboard: {error}")),
    }
}

/// Quotes a path for a POSIX shell, if necessary.
fn shell_quoted(path: &str) -> String {
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+' | ',')
    };
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// Opens a URL or a file with the default application; `what` names it in a warning.
fn open(target: impl AsRef<std::ffi::OsStr> + Send + 'static, what: String) -> AppCommand {
    AppCommand::Run(AppTask::blocking(
        "open",
        move || match open::that_detached(target) {
            Ok(()) => TerminalMsg::Opened,
            Err(error) => {
                tracing::info!(%error, "cannot open with the default application");
                TerminalMsg::OpenFailed { what }
            }
        },
    ))
}
