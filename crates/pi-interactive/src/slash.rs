//! The built-in slash commands.
//!
//! A command is the entire submitted text. An argument follows after a space; text that matches no command is
//! passed on to extensions, skills, templates and the model.

mod conversation;
mod dialogs;
mod information;
mod program;
mod unknown;

use pi_host::Models;
use pi_protocol::ThinkingLevel;
use pi_tui::{CommandCompletion, SelectItem, fuzzy_filter};

use crate::app::command::AppCommand;
use crate::app::context::AppContext;

pub(crate) use unknown::explain;

/// Runs a command with its argument.
pub(crate) type SlashAction = fn(&str, &AppContext<'_>) -> Vec<AppCommand>;

pub(crate) struct SlashCommand {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// Argument hint for the menu; `None` if it takes no argument.
    pub(crate) argument: Option<&'static str>,
    /// Description for the menu; an empty one hides the command.
    pub(crate) description: &'static str,
    pub(crate) run: SlashAction,
}

/// All built-in commands, in menu order.
pub(crate) const COMMANDS: &[SlashCommand] = &[
    plain("settings", "Open settings", dialogs::settings),
    with("model", "[model]", "Select a model", dialogs::model),
    with(
        "thinking",
        "[level]",
        "Set the thinking level",
        dialogs::thinking,
    ),
    plain(
        "scoped-models",
        "Select models to cycle through",
        dialogs::scoped_models,
    ),
    with(
        "export",
        "[file]",
        "Export the session to an HTML or JSONL file",
        program::export,
    ),
    with(
        "import",
        "<file>",
        "Import and resume a session file",
        program::import,
    ),
    plain(
        "share",
        "Share the session as a secret GitHub gist",
        program::share,
    ),
    with("bug", "[what happened]", "Write a bug report", program::bug),
    plain("copy", "Copy the last response", program::copy),
    with("name", "[name]", "Set the session name", information::name),
    plain("diff", "Review the changes of files", dialogs::diff),
    plain("session", "Show session statistics", information::session),
    plain(
        "context",
        "Show what fills the context",
        information::context,
    ),
    plain("cost", "Show the cost of every turn", information::cost),
    plain("cache", "Explain prompt cache misses", information::cache),
    plain(
        "extensions",
        "Show what each extension costs",
        information::extensions,
    ),
    plain("changelog", "Show the changelog", dialogs::changelog),
    plain("hotkeys", "Show keyboard shortcuts", dialogs::hotkeys),
    plain(
        "fork",
        "Fork the session from an earlier message",
        dialogs::fork,
    ),
    plain(
        "clone",
        "Duplicate the session and continue in the copy",
        conversation::clone,
    ),
    plain("tree", "Navigate the session tree", dialogs::tree),
    plain("trust", "Change trust for this project", dialogs::trust),
    with(
        "login",
        "[provider]",
        "Sign in, or store an API key",
        dialogs::login,
    ),
    plain("logout", "Remove stored credentials", dialogs::logout),
    plain(
        "llama",
        "Load, unload and download llama.cpp models",
        dialogs::llama,
    ),
    plain("new", "Start a new session", conversation::new),
    with(
        "compact",
        "[--preview] [instructions] | undo",
        "Compact the conversation",
        conversation::compact,
    ),
    plain("resume", "Resume another session", dialogs::resume),
    with(
        "search",
        "[words]",
        "Search the text of all sessions",
        conversation::search,
    ),
    plain(
        "reload",
        "Reload keys, resources and settings",
        conversation::reload,
    ),
    plain(
        "detach",
        "Continue the session in the background",
        program::detach,
    ),
    plain("quit", "Quit pi", program::quit),
    with("debug", "", "", program::debug),
];

const fn plain(name: &'static str, description: &'static str, run: SlashAction) -> SlashCommand {
    SlashCommand {
        name,
        argument: None,
        description,
        run,
    }
}

const fn with(
    name: &'static str,
    argument: &'static str,
    description: &'static str,
    run: SlashAction,
) -> SlashCommand {
    SlashCommand {
        name,
        argument: Some(argument),
        description,
        run,
    }
}

/// Parses a command and its argument.
pub(crate) fn find(text: &str) -> Option<(&'static SlashCommand, &str)> {
    let typed = text.strip_prefix('/')?;
    let (name, argument) = match typed.split_once(' ') {
        Some((name, argument)) => (name, Some(argument.trim())),
        None => (typed, None),
    };
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    match argument {
        Some(_) if command.argument.is_none() => None,
        argument => Some((command, argument.unwrap_or_default())),
    }
}

/// Runs a built-in command as if it had been typed; does nothing for other text.
pub(crate) fn run(text: &str, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    find(text).map_or_else(Vec::new, |(command, argument)| (command.run)(argument, ctx))
}

/// Returns the completions of the commands and their arguments.
pub(crate) fn completions(models: &Models, levels: &[ThinkingLevel]) -> Vec<CommandCompletion> {
    COMMANDS
        .iter()
        .filter(|command| !command.description.is_empty())
        .map(|command| {
            let completion = CommandCompletion::new(command.name, command.description);
            let completion = match command.argument {
                Some(hint) => completion.argument_hint(hint),
                None => completion,
            };
            let (models, levels) = (models.clone(), levels.to_vec());
            match command.name {
                "model" => completion.arguments(move |typed| model_items(&models, typed)),
                "thinking" => completion.arguments(move |typed| level_items(&levels, typed)),
                "login" => completion.arguments(move |typed| provider_items(&models, typed)),
                _ => completion,
            }
        })
        .collect()
}

fn model_items(models: &Models, typed: &str) -> Vec<SelectItem> {
    let references = models.available().into_iter().map(|model| SelectItem {
        value: format!("{}/{}", model.provider, model.id),
        label: model.id.clone(),
        description: Some(model.provider.clone()),
    });
    filtered(references.collect(), typed)
}

fn level_items(levels: &[ThinkingLevel], typed: &str) -> Vec<SelectItem> {
    filtered(
        levels.iter().map(|level| item(level.as_str())).collect(),
        typed,
    )
}

fn provider_items(models: &Models, typed: &str) -> Vec<SelectItem> {
    let providers = models.providers();
    let items = providers.iter().map(|provider| item(provider.id()));
    filtered(items.collect(), typed)
}

fn filtered(items: Vec<SelectItem>, typed: &str) -> Vec<SelectItem> {
    fuzzy_filter(items, typed, |item: &SelectItem| item.value.as_str())
}

fn item(name: &str) -> SelectItem {
    SelectItem {
        value: name.to_owned(),
        label: name.to_owned(),
        description: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(&'static str, &str)> {
        find(text).map(|(command, argument)| (command.name, argument))
    }

    #[test]
    fn a_command_is_the_entire_text() {
        assert_eq!(found("/model"), Some(("model", "")));
        assert_eq!(found("/model a b "), Some(("model", "a b")));
        assert_eq!(found("/new"), Some(("new", "")));
        assert_eq!(found("/new now"), None, "it takes no argument");
        assert_eq!(found("/models"), None);
        assert_eq!(found("model"), None);
        assert_eq!(found("/"), None);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }
}
