//! Completion at the prompt: commands, their arguments, and files.

use std::sync::Arc;

use pi_protocol::{CommandInfo, CommandSource};
use pi_tui::{CombinedCompletionProvider, CommandCompletion, CompletionProvider};

use super::display::Display;
use super::mcp_completion::McpCompletionProvider;
use crate::extensions::completion::{self, ExtensionCompletionProvider};
use crate::session::port::SessionPort;
use crate::slash;

/// Returns the completion provider for the session's commands and files, and publishes it to extensions.
///
/// `triggers` are the characters at which extensions complete; `None` if they do not.
pub(super) fn provider(
    session: &dyn SessionPort,
    display: &Display,
    triggers: Option<&[char]>,
) -> Arc<dyn CompletionProvider> {
    let snapshot = session.snapshot();
    let workspace = session.workspace();
    let mut commands = slash::completions(&workspace.models, &snapshot.thinking_levels);
    let skills = snapshot.settings.enable_skill_commands();
    let link = display.bridge.link();
    let known = session.commands().into_iter().filter(|command| {
        (skills || !command.name.starts_with("skill:"))
            // Built-in commands take precedence.
            && !slash::COMMANDS.iter().any(|own| own.name == command.name)
    });
    let resources = Arc::clone(&workspace.resources);
    let hint = |command: &CommandInfo| {
        let is_template = command.source == CommandSource::Prompt;
        let mut templates = resources.prompt_templates.iter().filter(|_| is_template);
        let template = templates.find(|template| template.name == command.name)?;
        template.argument_hint.clone()
    };
    commands.extend(known.map(|command| {
        let (name, hint) = (command.name.clone(), hint(&command));
        let mut completion =
            CommandCompletion::new(command.name, command.description.unwrap_or_default());
        if let Some(hint) = hint {
            completion = completion.argument_hint(hint);
        }
        match &link {
            Some(link) if link.completes(&name) => {
                completion::with_arguments(completion, link.clone(), name)
            }
            _ => completion,
        }
    }));
    let home = display.ui.context().home.clone();
    let provider = CombinedCompletionProvider::new(commands, snapshot.cwd, home);
    let mut provider: Arc<dyn CompletionProvider> = Arc::new(provider);
    if let Some(completer) = session.mcp_completer() {
        provider = Arc::new(McpCompletionProvider::new(completer, provider));
    }
    display.bridge.set_completion(Arc::clone(&provider));
    match (link, triggers) {
        (Some(link), Some(triggers)) => Arc::new(ExtensionCompletionProvider::new(
            link,
            provider,
            triggers.to_vec(),
        )),
        _ => provider,
    }
}
