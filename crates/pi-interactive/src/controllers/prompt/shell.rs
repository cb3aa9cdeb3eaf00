//! Shell commands typed into the prompt: `!` runs one, `!!` runs one that models do not see.

use super::{remember, set_prompt};
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::controllers::status::StatusMsg;
use crate::session::command::SessionCommand;
use crate::transcript::{BashOutcome, NoticeLevel, TranscriptMsg};

/// A shell command that the user typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellLine {
    typed: String,
    command: String,
    /// Whether it is excluded from the context (`!!`).
    excluded: bool,
}

impl ShellLine {
    /// Parses `!command` and `!!command`; `None` for other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('!')?;
        let (command, excluded) = match rest.strip_prefix('!') {
            Some(command) => (command.trim(), true),
            None => (rest.trim(), false),
        };
        (!command.is_empty()).then(|| Self {
            typed: text.to_owned(),
            command: command.to_owned(),
            excluded,
        })
    }
}

/// The shell command in progress; one runs at a time.
#[derive(Debug, Default)]
pub(super) struct ShellPrompt {
    /// Whether a command is running, or its end has not reached the screen yet.
    running: bool,
    next: Option<ShellLine>,
}

impl ShellPrompt {
    /// Runs a command, unless one is running.
    pub(super) fn run(&mut self, line: ShellLine, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        if self.running && !ctx.session.activity.shell {
            // The previous command has ended, but its block has not been updated yet.
            self.next = Some(line);
            return Vec::new();
        }
        if self.running {
            let stop = ctx.ui.context().key(pi_views::keys::INTERRUPT);
            let text = format!("A command is already running. Press {stop} to stop it.");
            return vec![
                AppCommand::notify(NoticeLevel::Warning, text),
                set_prompt(line.typed),
            ];
        }
        self.running = true;
        let ShellLine {
            typed,
            command,
            excluded,
        } = line;
        vec![
            remember(&typed),
            set_prompt(""),
            AppCommand::send(TranscriptMsg::BashStarted {
                command: command.clone(),
                excluded,
            }),
            AppCommand::Session(SessionCommand::RunShell { command, excluded }),
        ]
    }

    /// Shows how a command ended, and runs the one that waited for it.
    pub(super) fn ended(&mut self, outcome: BashOutcome, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        self.running = false;
        let mut commands = vec![
            AppCommand::send(TranscriptMsg::BashEnded(outcome)),
            AppCommand::send(StatusMsg::Refresh),
        ];
        if let Some(line) = self.next.take() {
            commands.extend(self.run(line, ctx));
        }
        commands
    }
}
