//! The built-in commands: what they are called, what they take, what they do.
//!
//! A command is the whole text that was sent. One that takes an argument has it after a space; text that matches
//! no command goes on to extensions, skills, templates and the model.

mod conversation;
mod dialogs;
mod information;
mod program;

use pi_ai::ThinkingLevel;
use pi_runtime::AgentSession;
use pi_tui::{CommandCompletion, SelectItem, fuzzy_filter};

use crate::app::App;

/// A built-in command.
pub(crate) struct SlashCommand {
    /// What follows the slash.
    pub(crate) name: &'static str,
    /// What its argument is, for the menu; none if it takes no argument.
    pub(crate) argument: Option<&'static str>,
    /// What it does, for the menu; empty keeps it out of the menu.
    pub(crate) description: &'static str,
    /// Does it.
    pub(crate) run: fn(&mut App, &str),
}

/// Every built-in command, in the order of the menu.
pub(crate) const COMMANDS: &[SlashCommand] = &[
    plain("settings", "Look at and change settings", dialogs::settings),
    with("model", "[model]", "Choose the model", dialogs::model),
    with(
        "thinking",
        "[level]",
        "Choose how much the model thinks",
        dialogs::thinking,
    ),
    plain(
        "scoped-models",
        "Choose the models to cycle through",
        dialogs::scoped_models,
    ),
    with(
        "export",
        "[file]",
        "Write the session to a web page or JSONL file",
        program::export,
    ),
    with(
        "import",
        "<file>",
        "Copy a session file and go on with it",
        program::import,
    ),
    plain(
        "share",
        "Share the session as a secret gist",
        program::share,
    ),
    with(
        "bug",
        "[what happened]",
        "Write a report about a problem",
        program::bug,
    ),
    plain("copy", "Copy the last answer", program::copy),
    with("name", "[name]", "Name the session", information::name),
    plain(
        "session",
        "Show facts about the session",
        information::session,
    ),
    plain("changelog", "Show what is new", information::changelog),
    plain("hotkeys", "Show the keys", information::hotkeys),
    plain(
        "fork",
        "Start a session from an earlier message",
        dialogs::fork,
    ),
    plain(
        "clone",
        "Go on with a copy of the session",
        conversation::clone,
    ),
    plain("tree", "Move in the session's tree", dialogs::tree),
    plain(
        "trust",
        "Decide about the files of this project",
        dialogs::trust,
    ),
    with(
        "login",
        "[provider]",
        "Sign in, or store an API key",
        dialogs::login,
    ),
    plain("logout", "Delete a stored sign-in or key", dialogs::logout),
    plain(
        "llama",
        "Load and unload models of a llama.cpp server",
        dialogs::llama,
    ),
    plain("new", "Start a new session", conversation::new),
    with(
        "compact",
        "[instructions]",
        "Summarize the conversation so far",
        conversation::compact,
    ),
    plain("resume", "Go on with another session", dialogs::resume),
    plain(
        "reload",
        "Read keys, resources and settings again",
        conversation::reload,
    ),
    plain("quit", "Leave", program::quit),
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

/// Returns the command a text is, and its argument.
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

/// Returns the commands for the menu.
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
    fn a_command_is_the_whole_text() {
        assert_eq!(found("/model"), Some(("model", "")));
        assert_eq!(found("/model a b "), Some(("model", "a b")));
        assert_eq!(found("/new"), Some(("new", "")));
        assert_eq!(found("/new now"), None, "it takes no argument");
        assert_eq!(found("/models"), None);
        assert_eq!(found("model"), None);
        assert_eq!(found("/"), None);
    }

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }
}
