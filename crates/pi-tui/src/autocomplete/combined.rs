//! The prompt's completion provider: commands, their arguments, attached files and paths.

use std::fmt;
use std::path::PathBuf;

use super::command::{self, CommandCompletion};
use super::files::FileFinder;
use super::paths::{self, PathRoots};
use super::prefix;
use super::{
    CompletionProvider, CompletionReply, CompletionRequest, CompletionTrigger, Suggestions,
};

pub struct CombinedCompletionProvider {
    commands: Vec<CommandCompletion>,
    roots: PathRoots,
    files: FileFinder,
}

impl CombinedCompletionProvider {
    /// Returns a provider for these commands and the files below `base`. `home` is the expansion of
    /// `~`.
    pub fn new(commands: Vec<CommandCompletion>, base: PathBuf, home: Option<PathBuf>) -> Self {
        let roots = PathRoots { base, home };
        Self {
            commands,
            files: FileFinder::new(roots.clone()),
            roots,
        }
    }
}

impl fmt::Debug for CombinedCompletionProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CombinedCompletionProvider")
            .field("commands", &self.commands)
            .field("roots", &self.roots)
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
                items: paths::list(&self.roots, path),
                prefix: path.to_owned(),
            });
        }
    }
}
