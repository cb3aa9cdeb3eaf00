//! The provider of the prompt: commands, their arguments, attached files, paths.

use std::fmt;
use std::path::PathBuf;

use super::command::{self, CommandCompletion};
use super::files::FileFinder;
use super::paths::{self, Places};
use super::prefix;
use super::{
    CompletionProvider, CompletionReply, CompletionRequest, CompletionTrigger, Suggestions,
};

/// Completes slash commands and files.
pub struct CombinedCompletionProvider {
    commands: Vec<CommandCompletion>,
    places: Places,
    files: FileFinder,
}

impl CombinedCompletionProvider {
    /// Returns a provider for these commands and the files below `base`; `home` is what `~` means.
    pub fn new(commands: Vec<CommandCompletion>, base: PathBuf, home: Option<PathBuf>) -> Self {
        let places = Places { base, home };
        Self {
            commands,
            files: FileFinder::new(places.clone()),
            places,
        }
    }
}

impl fmt::Debug for CombinedCompletionProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CombinedCompletionProvider")
            .field("commands", &self.commands)
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

impl CompletionProvider for CombinedCompletionProvider {
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply) {
        let before = request.before_cursor();
        if let Some(attachment) = prefix::attachment(before) {
            self.files.find(attachment, reply);
            return;
        }
        let path = match request.trigger {
            CompletionTrigger::Path => Some(prefix::path_on_demand(before)),
            CompletionTrigger::Typing if before.starts_with('/') => {
                command::suggest(&self.commands, before, reply);
                return;
            }
            CompletionTrigger::Typing => prefix::path(before),
        };
        if let Some(path) = path {
            reply.send(Suggestions {
                items: paths::list(&self.places, path),
                prefix: path.to_owned(),
            });
        }
    }
}
