//! Completion of slash commands and their arguments.

use std::fmt;
use std::sync::Arc;

use super::{CompletionReply, Suggestions};
use crate::components::SelectItem;
use crate::fuzzy::fuzzy_filter;

type ArgumentCompleter = Arc<dyn Fn(&str, CompletionReply) + Send + Sync>;

/// Commands with this prefix are also found without it.
const SKILL_PREFIX: &str = "skill:";

/// A slash command that can be completed.
#[derive(Clone, Default)]
pub struct CommandCompletion {
    name: String,
    description: String,
    argument_hint: Option<String>,
    arguments: Option<ArgumentCompleter>,
}

impl CommandCompletion {
    /// Returns a command without arguments. `name` has no leading slash.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Sets the hint that describes the arguments.
    #[must_use]
    pub fn argument_hint(mut self, hint: impl Into<String>) -> Self {
        self.argument_hint = Some(hint.into());
        self
    }

    /// Sets a function that completes arguments synchronously from the text typed so far.
    #[must_use]
    pub fn arguments(
        self,
        complete: impl Fn(&str) -> Vec<SelectItem> + Send + Sync + 'static,
    ) -> Self {
        self.arguments_async(move |text, reply| {
            reply.send(Suggestions {
                items: complete(text),
                prefix: text.to_owned(),
            });
        })
    }

    /// Sets a function that completes arguments asynchronously.
    #[must_use]
    pub fn arguments_async(
        mut self,
        complete: impl Fn(&str, CompletionReply) + Send + Sync + 'static,
    ) -> Self {
        self.arguments = Some(Arc::new(complete));
        self
    }

    fn item(&self) -> SelectItem {
        let description = match &self.argument_hint {
            Some(hint) if self.description.is_empty() => hint.clone(),
            Some(hint) => format!("{hint} — {}", self.description),
            None => self.description.clone(),
        };
        SelectItem {
            value: self.name.clone(),
            label: self.name.clone(),
            description: (!description.is_empty()).then_some(description),
        }
    }
}

impl fmt::Debug for CommandCompletion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CommandCompletion")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Suggests commands or arguments for a line that starts with a slash.
pub(super) fn suggest(commands: &[CommandCompletion], before: &str, reply: CompletionReply) {
    let typed = before.strip_prefix('/').unwrap_or(before);
    let Some((name, argument)) = typed.split_once(' ') else {
        let with_prefix =
            typed.starts_with(SKILL_PREFIX) || typed.len() > 1 && SKILL_PREFIX.starts_with(typed);
        let by_name = fuzzy_filter(commands.iter().collect(), typed, |command| {
            command
                .name
                .strip_prefix(SKILL_PREFIX)
                .filter(|_| !with_prefix)
                .unwrap_or(&command.name)
        });
        reply.send(Suggestions {
            items: by_name.into_iter().map(CommandCompletion::item).collect(),
            prefix: before.to_owned(),
        });
        return;
    };
    let command = commands.iter().find(|command| command.name == name);
    if let Some(complete) = command.and_then(|command| command.arguments.as_ref()) {
        complete(argument, reply);
    }
}
