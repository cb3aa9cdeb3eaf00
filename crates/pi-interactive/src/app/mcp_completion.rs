//! Completes what MCP servers offer, before commands and files.

use std::sync::Arc;

use pi_host::{McpCompleter, McpCompletion};
use pi_tui::{
    CompletedLine, CompletionProvider, CompletionReply, CompletionRequest, SelectItem, Suggestions,
};
use tokio::runtime::Handle;

pub(super) struct McpCompletionProvider {
    completer: McpCompleter,
    builtin: Arc<dyn CompletionProvider>,
    runtime: Handle,
}

impl McpCompletionProvider {
    pub(super) fn new(completer: McpCompleter, builtin: Arc<dyn CompletionProvider>) -> Self {
        Self {
            completer,
            builtin,
            runtime: Handle::current(),
        }
    }
}

impl CompletionProvider for McpCompletionProvider {
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply) {
        // Commands are on the first line.
        let line = request.before_cursor();
        let is_command = line.starts_with('/') && request.line > 0;
        let suggesting = if is_command {
            None
        } else {
            (self.completer)(line)
        };
        let Some(suggesting) = suggesting else {
            return self.builtin.suggest(request, reply);
        };
        self.runtime.spawn(async move {
            let found = suggesting.await;
            reply.send(Suggestions {
                items: found.items.into_iter().map(select_item).collect(),
                prefix: found.prefix,
            });
        });
    }

    fn trigger_characters(&self) -> Vec<char> {
        self.builtin.trigger_characters()
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

fn select_item(completion: McpCompletion) -> SelectItem {
    SelectItem {
        value: completion.value,
        label: completion.label,
        description: completion.description,
    }
}
