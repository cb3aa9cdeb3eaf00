//! The prompt: submitted text, queued messages, shell commands, and the keys that interrupt.

mod shell;
#[cfg(test)]
mod tests;

use pi_host::Prompt;
use pi_protocol::settings::DoubleEscapeAction;
use pi_protocol::{Delivery, ThinkingLevel};
use pi_tui::ColorToken;
use pi_views::dialogs::intent::Intent;
use pi_views::dialogs::{NoteColumn, SearchEntry, SearchListOptions};
use pi_views::text::paths::with_tilde;

use self::shell::{ShellLine, ShellPrompt};
use super::dialogs::{DialogMsg, DialogRequest};
use super::terminal::TerminalMsg;
use crate::ExitReason;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::display_command::DisplayCommand;
use crate::prompt::double_press::DoublePress;
use crate::prompt::history_file::PastPrompt;
use crate::session::command::{SessionChange, SessionCommand};
use crate::session::outcome::{PromptRefusal, RefusalReason};
use crate::slash;
use crate::transcript::{BashOutcome, NoticeLevel};

#[derive(Debug)]
pub(crate) enum PromptMsg {
    Submitted {
        text: String,
        delivery: Delivery,
    },
    /// The text of the prompt changed.
    Changed,
    /// Runs a built-in command as if it had been typed.
    RunCommand(&'static str),
    /// Interrupts the innermost running operation.
    Interrupt,
    /// Clears the prompt; pressed twice, quits.
    Clear,
    /// Moves queued messages back to the prompt.
    Dequeue,
    SetText(String),
    /// Puts a draft aside, or restores the one put aside last if there is none.
    Stash(String),
    /// Opens the list of earlier prompts.
    SearchHistory,
    /// The prompts of all sessions.
    HistoryLoaded(Vec<PastPrompt>),
    HistorySaved,
    /// Sets the text unless something has been typed.
    RestoreText(String),
    Insert(String),
    /// The hooks of the first session's start have run.
    StartNotified,
    Prompted {
        text: String,
        delivery: Delivery,
        refusal: Option<PromptRefusal>,
    },
    PromptedInTurn {
        refused: Option<(String, PromptRefusal)>,
    },
    HeldSent {
        refused: Vec<(String, PromptRefusal)>,
    },
    QueueTaken {
        texts: Vec<String>,
        interrupted: bool,
    },
    ShellEnded(BashOutcome),
    QueueChanged,
    /// The prompt may be sent again: a compaction or a move in the tree has ended.
    SendHeld,
    /// The current model has credentials.
    ModelReady,
    /// Another session is shown; its earlier prompts, newest first.
    SessionShown(Vec<String>),
    SessionReplaced,
    PaintBorder,
    CompletionsArrived,
}

/// The state of the prompt besides the text in its editor.
#[derive(Debug, Default)]
pub(crate) struct PromptController {
    /// Prompts to send as soon as the session has started.
    initial: Vec<Prompt>,
    clear_key: DoublePress,
    escape_key: DoublePress,
    /// Whether the text in the prompt is a shell command.
    is_bash_mode: bool,
    shell: ShellPrompt,
    /// Messages typed during a compaction, sent when it finishes.
    held: Vec<(String, Delivery)>,
    /// A prompt that could not be sent because no model is configured; restored once one is.
    unsent: Option<String>,
    /// Drafts put aside, newest last.
    stashed: Vec<String>,
    /// Text that looks like a command but is none; submitting it again sends it to the model.
    questioned: Option<String>,
}

impl PromptController {
    pub(crate) fn new(initial: Vec<Prompt>) -> Self {
        Self {
            initial,
            ..Self::default()
        }
    }

    pub(crate) fn update(&mut self, message: PromptMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            PromptMsg::Submitted { text, delivery } => self.submit(text.trim(), delivery, ctx),
            PromptMsg::Changed => self.changed(ctx),
            PromptMsg::RunCommand(text) => slash::run(text, ctx),
            PromptMsg::Interrupt => self.interrupt(ctx),
            PromptMsg::Clear if self.clear_key.press(ctx.now) => {
                vec![AppCommand::Quit(ExitReason::Quit)]
            }
            PromptMsg::Clear => vec![set_prompt("")],
            PromptMsg::Dequeue => vec![self.take_queue(false)],
            PromptMsg::SetText(text) => vec![set_prompt(text)],
            PromptMsg::Stash(draft) => self.stash(draft),
            PromptMsg::SearchHistory => vec![AppCommand::LoadPromptHistory],
            PromptMsg::HistoryLoaded(prompts) => vec![show_history(prompts, ctx)],
            PromptMsg::HistorySaved => Vec::new(),
            PromptMsg::RestoreText(text) => restore(&text, ctx),
            PromptMsg::Insert(text) => {
                vec![AppCommand::Display(DisplayCommand::InsertAtPrompt(text))]
            }
            PromptMsg::StartNotified if self.initial.is_empty() => Vec::new(),
            PromptMsg::StartNotified => {
                let prompts = std::mem::take(&mut self.initial);
                vec![AppCommand::Session(SessionCommand::PromptInTurn(prompts))]
            }
            PromptMsg::Prompted {
                text,
                delivery,
                refusal,
            } => match refusal {
                None => vec![self.show_queue(ctx)],
                // A compaction has started since.
                Some(refusal) if refusal.reason == RefusalReason::Compacting => {
                    self.hold(text, delivery, ctx)
                }
                Some(refusal) => self.refused(refusal, text, ctx),
            },
            PromptMsg::PromptedInTurn { refused } => match refused {
                Some((text, refusal)) => {
                    let mut commands = vec![remember(&text)];
                    commands.extend(self.refused(refusal, text, ctx));
                    commands
                }
                None => Vec::new(),
            },
            PromptMsg::HeldSent { refused } => {
                let mut commands = vec![self.show_queue(ctx)];
                for (text, refusal) in refused {
                    commands.extend(self.refused(refusal, text, ctx));
                }
                commands
            }
            PromptMsg::QueueTaken { texts, interrupted } => {
                self.queue_taken(texts, interrupted, ctx)
            }
            PromptMsg::ShellEnded(outcome) => self.shell.ended(outcome, ctx),
            PromptMsg::QueueChanged => vec![self.show_queue(ctx)],
            PromptMsg::SendHeld => self.send_held(ctx),
            PromptMsg::ModelReady => match self.unsent.take() {
                Some(text) => restore(&text, ctx),
                None => Vec::new(),
            },
            PromptMsg::SessionShown(prompts) => {
                let mut commands: Vec<_> =
                    prompts.iter().rev().map(|text| remember(text)).collect();
                commands.push(AppCommand::RefreshCompletion);
                commands.push(self.show_queue(ctx));
                commands
            }
            PromptMsg::SessionReplaced => {
                self.held.clear();
                Vec::new()
            }
            PromptMsg::PaintBorder => vec![self.paint_border(ctx)],
            PromptMsg::CompletionsArrived => {
                vec![AppCommand::Display(DisplayCommand::TouchPrompt)]
            }
        }
    }

    fn submit(&mut self, text: &str, delivery: Delivery, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        if text.is_empty() {
            return Vec::new();
        }
        let mut commands = vec![AppCommand::send(TerminalMsg::LeaveScrollback)];
        if let Some((command, argument)) = slash::find(text) {
            commands.extend((command.run)(argument, ctx));
            return commands;
        }
        if let Some(line) = ShellLine::parse(text) {
            commands.extend(self.shell.run(line, ctx));
            return commands;
        }
        commands.push(remember(text));
        if let Some(explanation) = self.question(text, ctx) {
            commands.push(set_prompt(text));
            commands.push(AppCommand::notify(NoticeLevel::Status, explanation));
            return commands;
        }
        if ctx.session.file.is_some() {
            commands.push(AppCommand::SavePrompt(text.to_owned()));
        }
        if ctx.session.activity.compacting && !is_immediate(text, ctx) {
            commands.extend(self.hold(text.to_owned(), delivery, ctx));
        } else {
            commands.push(AppCommand::Session(SessionCommand::Prompt {
                text: text.to_owned(),
                delivery,
            }));
        }
        commands
    }

    fn stash(&mut self, draft: String) -> Vec<AppCommand> {
        if !draft.trim().is_empty() {
            self.stashed.push(draft);
            let hint = "Draft stashed; the same key restores it at an empty prompt";
            return vec![set_prompt(""), AppCommand::status(hint)];
        }
        match self.stashed.pop() {
            Some(draft) => vec![set_prompt(draft)],
            None => vec![AppCommand::status("No stashed draft")],
        }
    }

    /// Returns what to say instead of sending text that looks like a mistyped command, the first time.
    fn question(&mut self, text: &str, ctx: &AppContext<'_>) -> Option<String> {
        let is_repeated = self.questioned.take().is_some_and(|before| before == text);
        if is_repeated || is_immediate(text, ctx) {
            return None;
        }
        let explanation = slash::explain(text, ctx.commands)?;
        self.questioned = Some(text.to_owned());
        Some(format!(
            "{explanation} Press Enter again to send it as a message."
        ))
    }

    fn changed(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        let is_bash_mode = ctx.prompt.trim_start().starts_with('!');
        if is_bash_mode == self.is_bash_mode {
            return Vec::new();
        }
        self.is_bash_mode = is_bash_mode;
        vec![self.paint_border(ctx)]
    }

    /// Colors the border by thinking level, or marks a shell command.
    fn paint_border(&self, ctx: &AppContext<'_>) -> AppCommand {
        let token = if self.is_bash_mode {
            ColorToken::BashMode
        } else {
            border_token(ctx.session.thinking)
        };
        AppCommand::Display(DisplayCommand::PaintBorder(token))
    }

    fn interrupt(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        let activity = ctx.session.activity;
        if activity.retrying {
            vec![AppCommand::Change(SessionChange::AbortRetry)]
        } else if activity.compacting {
            vec![AppCommand::Change(SessionChange::AbortCompaction)]
        } else if activity.streaming {
            vec![self.take_queue(true)]
        } else if activity.shell {
            vec![AppCommand::Change(SessionChange::AbortShell)]
        } else if self.is_bash_mode {
            vec![set_prompt("")]
        } else if ctx.prompt.trim().is_empty() && self.escape_key.press(ctx.now) {
            match ctx.session.settings.double_escape_action() {
                DoubleEscapeAction::Tree => slash::run("/tree", ctx),
                DoubleEscapeAction::Fork => slash::run("/fork", ctx),
                DoubleEscapeAction::None => Vec::new(),
            }
        } else {
            // A handler may run without any activity of the session, for example at its start.
            vec![AppCommand::Change(SessionChange::InterruptHooks)]
        }
    }

    /// Takes the queued messages back; `interrupt` stops the run.
    fn take_queue(&mut self, interrupt: bool) -> AppCommand {
        let held = std::mem::take(&mut self.held);
        AppCommand::Session(SessionCommand::TakeQueue {
            interrupt,
            held: held.into_iter().map(|(text, _)| text).collect(),
        })
    }

    fn queue_taken(
        &self,
        mut texts: Vec<String>,
        interrupted: bool,
        ctx: &AppContext<'_>,
    ) -> Vec<AppCommand> {
        let count = texts.len();
        let mut commands = Vec::new();
        if count > 0 {
            texts.push(ctx.prompt.to_owned());
            texts.retain(|text| !text.trim().is_empty());
            commands.push(set_prompt(texts.join("\n\n")));
        }
        commands.push(self.show_queue(ctx));
        if !interrupted {
            commands.push(AppCommand::status(match count {
                0 => "No queued messages".to_owned(),
                1 => "Queued message restored to the editor".to_owned(),
                _ => format!("{count} queued messages restored to the editor"),
            }));
        }
        commands
    }

    /// Shows the queue of the session, followed by the messages held back here.
    fn show_queue(&self, ctx: &AppContext<'_>) -> AppCommand {
        let mut waiting = ctx.session.queue.clone();
        for (text, delivery) in &self.held {
            match delivery {
                Delivery::Steer => waiting.steering.push(text.clone()),
                Delivery::FollowUp => waiting.follow_up.push(text.clone()),
            }
        }
        AppCommand::Display(DisplayCommand::SetQueue(waiting))
    }

    /// Holds a message back until the compaction finishes.
    fn hold(&mut self, text: String, delivery: Delivery, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        self.held.push((text, delivery));
        vec![
            self.show_queue(ctx),
            AppCommand::status("Queued until compaction finishes"),
        ]
    }

    fn send_held(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return Vec::new();
        }
        vec![
            self.show_queue(ctx),
            AppCommand::Session(SessionCommand::SendHeld(held)),
        ]
    }

    /// Reports why a prompt was refused, and keeps its text.
    ///
    /// Without a model, the next input is usually a command that configures one: the prompt stays empty for
    /// it, and the text is restored afterwards.
    fn refused(
        &mut self,
        refusal: PromptRefusal,
        text: String,
        ctx: &AppContext<'_>,
    ) -> Vec<AppCommand> {
        let mut commands = vec![AppCommand::error(refusal.message)];
        if refusal.reason != RefusalReason::NoModel {
            commands.extend(restore(&text, ctx));
            return commands;
        }
        let key = ctx.ui.context().key(pi_tui::action::EDITOR_CURSOR_UP);
        commands.push(AppCommand::notify(
            NoticeLevel::Info,
            format!(
                "Your message is saved and will be restored once a model is configured. Press {key} to restore it now."
            ),
        ));
        self.unsent = Some(text);
        commands
    }
}

fn set_prompt(text: impl Into<String>) -> AppCommand {
    AppCommand::Display(DisplayCommand::SetPrompt(text.into()))
}

fn remember(text: &str) -> AppCommand {
    AppCommand::Display(DisplayCommand::AddToHistory(text.to_owned()))
}

/// Opens the list of earlier prompts: those of the directory first.
fn show_history(prompts: Vec<PastPrompt>, ctx: &AppContext<'_>) -> AppCommand {
    let home = ctx.ui.context().home.clone();
    let entry = |prompt: PastPrompt| {
        let is_here = prompt.cwd == ctx.session.cwd;
        SearchEntry {
            note: if is_here {
                String::new()
            } else {
                with_tilde(&prompt.cwd, home.as_deref())
            },
            intent: Intent::SetPromptText(prompt.text.clone()),
            label: prompt.text,
        }
    };
    let options = SearchListOptions {
        title: "Prompt history",
        verb: "edit",
        empty: "No earlier prompts.",
        notes: NoteColumn::RightEdge,
        entries: prompts.into_iter().map(entry).collect(),
    };
    AppCommand::send(DialogMsg::Open(DialogRequest::SearchList(options)))
}

/// Restores text, unless something else has been typed.
fn restore(text: &str, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    if ctx.prompt.trim().is_empty() {
        vec![set_prompt(text)]
    } else {
        Vec::new()
    }
}

/// Whether the text is a command that runs even during a compaction.
fn is_immediate(text: &str, ctx: &AppContext<'_>) -> bool {
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let name = rest.split(' ').next().unwrap_or(rest);
    let mut immediate = ctx.session.immediate_commands.iter();
    immediate.any(|command| command == name)
}

/// Returns the border color of a thinking level.
fn border_token(level: ThinkingLevel) -> ColorToken {
    match level {
        ThinkingLevel::Off => ColorToken::ThinkingOff,
        ThinkingLevel::Minimal => ColorToken::ThinkingMinimal,
        ThinkingLevel::Low => ColorToken::ThinkingLow,
        ThinkingLevel::Medium => ColorToken::ThinkingMedium,
        ThinkingLevel::High => ColorToken::ThinkingHigh,
        ThinkingLevel::Xhigh => ColorToken::ThinkingXhigh,
        ThinkingLevel::Max => ColorToken::ThinkingMax,
    }
}
