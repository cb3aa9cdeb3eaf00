//! Command and key reference for the manual, generated from the tables the application uses.

use pi_tui::{ActionDefinition, TUI_ACTIONS};
use pi_views::keys::APP_ACTIONS;

use crate::slash::COMMANDS;

/// A built-in command, as the manual shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandReference {
    /// Without the slash.
    pub name: &'static str,
    pub argument: Option<&'static str>,
    pub description: &'static str,
}

/// Returns the commands in menu order.
pub fn commands() -> impl Iterator<Item = CommandReference> {
    COMMANDS
        .iter()
        .filter(|command| !command.description.is_empty())
        .map(|command| CommandReference {
            name: command.name,
            argument: command.argument,
            description: command.description,
        })
}

/// Returns all bindable actions: the application's first, then those of editor, lists and screen.
pub fn actions() -> impl Iterator<Item = &'static ActionDefinition> {
    APP_ACTIONS.iter().chain(TUI_ACTIONS)
}
