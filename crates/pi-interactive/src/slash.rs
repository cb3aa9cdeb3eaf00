//! The built-in slash commands.
//!
//! A command is the entire submitted text. An argument follows after a space; text that matches no command is
//! passed on to extensions, skills, templates and the model.

mod conversation;
mod dialogs;
mod information;
mod program;

use pi_protocol::ThinkingLevel;
use pi_runtime::AgentSession;
use pi_tui::{CommandCompletion, SelectItem, fuzzy_filter};

use crate::app::App;

pub(crate) struct SlashCommand {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// Argument hint for the menu; `None` if it takes no argument.
    pub(crate) argument: Option<&'static str>,
    /// Description for the menu; an empty one hides the command.
    pub(crate) description: &'static str,
    pub(crate) run: fn(&mut App, &str),
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
    plain("session", "Show session statistics", information::session),
    plain("changelog", "Show the changelog", information::changelog),
    plain("hotkeys", "Show keyboard shortcuts", information::hotkeys),
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
        "[instructions]",
        "Compact the conversation",
        conversation::compact,
    ),
    plain("resume", "Resume another session", dialogs::resume),
    plain(
        "reload",
        "Reload keys, resources and settings",
        conversation::reload,
    ),
    plain("quit", "Quit pi", program::quit),
    with("debug", "", "", program::debug),
];

const fn plain(
    name: &'static str,
    description: &'static str,
    run: fn(&mut App, &str),
) -> SlashCommand {
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
    run: fn(&mut App, &str),
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

pub(crate) fn completions(session: &AgentSession) -> Vec<CommandCompletion> {
    COMMANDS
        .iter()
        .filter(|command| !command.description.is_empty())
        .map(|command| {
            let completion = CommandCompletion::new(command.name, command.description);
            let completion = match command.argument {
                Some(hint) => completion.argument_hint(hint),
                None => completion,
            };
            let session = session.clone();
            match command.name {
                "model" => completion.arguments(move |typed| models(&session, typed)),
                "thinking" => completion.arguments(move |typed| levels(&session, typed)),
                "login" => completion.arguments(move |typed| providers(&session, typed)),
                _ => completion,
            }
        })
        .collect()
}

fn models(session: &AgentSession, typed: &str) -> Vec<SelectItem> {
    let references = session
        .models()
        .available()
        .into_iter()
        .map(|model| SelectItem {
            value: format!("{}/{}", model.provider, model.id),
            label: model.id.clone(),
            description: Some(model.provider.clone()),
        });
    fuzzy_filter(references.collect(), typed, |item: &SelectItem| {
        item.value.as_str()
    })
}

fn levels(session: &AgentSession, typed: &str) -> Vec<SelectItem> {
    let levels = session.available_thinking_levels().into_iter();
    let items = levels.map(|level: ThinkingLevel| item(level.as_str()));
    fuzzy_filter(items.collect(), typed, |item: &SelectItem| {
        item.value.as_str()
    })
}

fn providers(session: &AgentSession, typed: &str) -> Vec<SelectItem> {
    let providers = session.models().providers();
    let items = providers.iter().map(|provider| item(provider.id()));
    fuzzy_filter(items.collect(), typed, |item: &SelectItem| {
        item.value.as_str()
    })
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
