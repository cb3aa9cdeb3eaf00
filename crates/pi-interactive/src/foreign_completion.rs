//! Completion that extensions take part in: their commands' arguments, and providers of their own.

use std::sync::Arc;

use pi_runtime::ExtensionHandle;
use pi_tui::{
    CommandCompletion, CompletedLine, CompletionProvider, CompletionReply, CompletionRequest,
    SelectItem, Suggestions,
};
use tokio::runtime::Handle;

use crate::extension_desk::{question, select_item};

/// Makes a command of an extension complete its arguments.
pub(crate) fn with_arguments(
    completion: CommandCompletion,
    link: ExtensionHandle,
    command: String,
) -> CommandCompletion {
    let runtime = Handle::current();
    completion.arguments_later(move |typed, reply| {
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

/// The extensions' provider around the prompt's own.
pub(crate) struct ForeignProvider {
    link: ExtensionHandle,
    own: Arc<dyn CompletionProvider>,
    triggers: Vec<char>,
    runtime: Handle,
}

impl ForeignProvider {
    /// Asks extensions before the prompt's own provider; they ask that one themselves.
    pub(crate) fn new(
        link: ExtensionHandle,
        own: Arc<dyn CompletionProvider>,
        triggers: Vec<char>,
    ) -> Self {
        Self {
            link,
            own,
            triggers,
            runtime: Handle::current(),
        }
    }
}

impl CompletionProvider for ForeignProvider {
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
        let mut triggers = self.own.trigger_characters();
        triggers.extend(&self.triggers);
        triggers
    }

    fn completes_path(&self, request: &CompletionRequest) -> bool {
        self.own.completes_path(request)
    }

    fn complete(
        &self,
        line: &str,
        offset: usize,
        item: &SelectItem,
        prefix: &str,
    ) -> CompletedLine {
        self.own.complete(line, offset, item, prefix)
    }
}
