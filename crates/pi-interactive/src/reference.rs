//! What the manual says of the application: its commands and its keys, from the tables that serve them.

use pi_tui::{ActionDefinition, TUI_ACTIONS};

use crate::keys::APP_ACTIONS;
use crate::slash::COMMANDS;

/// A built-in command, as the manual shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandReference {
    /// What follows the slash.
    pub name: &'static str,
    /// What it takes, if it takes something.
    pub argument: Option<&'static str>,
    /// What it does.
    pub description: &'static str,
}

/// Returns the commands of the menu, in its order.
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

/// Returns everything a key can be bound to: in the application first, then in editor, lists and screen.
pub fn actions() -> impl Iterator<Item = &'static ActionDefinition> {
    APP_ACTIONS.iter().chain(TUI_ACTIONS)
}
