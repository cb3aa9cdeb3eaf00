//! Completion by extensions: arguments of their commands, and their completion providers.

use std::sync::Arc;

use pi_host::ExtensionHandle;
use pi_tui::{
    CommandCompletion, CompletedLine, CompletionProvider, CompletionReply, CompletionRequest,
    SelectItem, Suggestions,
};
use tokio::runtime::Handle;

use crate::extensions::bridge::{question, select_item};

/// Lets an extension complete the arguments of its command.
pub(crate) fn with_arguments(
    completion: CommandCompletion,
    link: ExtensionHandle,
    command: String,
) -> CommandCompletion {
    let runtime = Handle::current();
    completion.arguments_async(move |typed, reply| {
        let (link, command, typed) = (link.clone(), command.clone(), typed.to_owned());
        runtime.spawn(async move {
            let items = link.complete_command(&command, &typed).await;
            reply.send(Suggestions {
                items: items.into_iter().map(select_item).collect(),
                prefix: typed,
            });
        });
    })
}

/// Wraps the built-in completion provider with the extensions' providers.
pub(crate) struct ExtensionCompletionProvider {
    link: ExtensionHandle,
    builtin: Arc<dyn CompletionProvider>,
    triggers: Vec<char>,
    runtime: Handle,
}

impl ExtensionCompletionProvider {
    /// Extensions are asked first; they call the built-in provider themselves.
    pub(crate) fn new(
        link: ExtensionHandle,
        builtin: Arc<dyn CompletionProvider>,
        triggers: Vec<char>,
    ) -> Self {
        Self {
            link,
            builtin,
            triggers,
            runtime: Handle::current(),
        }
    }
}

impl CompletionProvider for ExtensionCompletionProvider {
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply) {
        let link = self.link.clone();
        self.runtime.spawn(async move {
            let found = link.suggest(&question(&request)).await.unwrap_or_default();
            reply.send(Suggestions {
                items: found.items.into_iter().map(select_item).collect(),
                prefix: found.prefix,
            });
        });
    }

    fn trigger_characters(&self) -> Vec<char> {
        let mut triggers = self.builtin.trigger_characters();
        triggers.extend(&self.triggers);
        triggers
    }

    fn completes_path(&self, request: &CompletionRequest) -> bool {
        self.builtin.completes_path(request)
    }

    fn complete(
        &self,
        line: &str,
        offset: usize,
        item: &SelectItem,
        prefix: &str,
    ) -> CompletedLine {
        self.builtin.complete(line, offset, item, prefix)
    }
}
