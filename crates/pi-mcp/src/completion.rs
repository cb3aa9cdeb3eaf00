//! Completion at the prompt: arguments of `/mcp`, arguments of prompts, and resources.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::McpState;
use serde_json::{Map, Value, json};

use crate::client::{ListKind, RequestOptions};
use crate::connection::{McpConnection, PageChoice, Repetition};
use crate::prompts::{COMMAND_PREFIX, McpPrompt};
use crate::servers::{McpCompletion, McpServers};

/// More completions are not shown.
const MAX_ITEMS: usize = 100;

/// How long a server may take to complete a word.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long the resources of a server are remembered.
const REMEMBERED: Duration = Duration::from_secs(10);

/// Completions and the text before the cursor that they replace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpSuggestions {
    pub prefix: String,
    pub items: Vec<McpCompletion>,
}

/// The resources of a server, as they were listed last.
#[derive(Default)]
pub(crate) struct KnownResources(Mutex<Vec<ListedResources>>);

struct ListedResources {
    server: String,
    listed: Instant,
    items: Arc<Vec<McpCompletion>>,
}

impl KnownResources {
    fn get(&self, server: &str) -> Option<Arc<Vec<McpCompletion>>> {
        let known = self.0.lock();
        let known = known.iter().find(|known| known.server == server)?;
        (known.listed.elapsed() < REMEMBERED).then(|| Arc::clone(&known.items))
    }

    fn put(&self, server: &str, items: Arc<Vec<McpCompletion>>) {
        let mut known = self.0.lock();
        known.retain(|known| known.server != server);
        known.push(ListedResources {
            server: server.to_owned(),
            listed: Instant::now(),
            items,
        });
    }
}

impl McpServers {
    /// Returns the completions of a line up to the cursor; `None` if servers have nothing to do with it.
    pub fn suggest(&self, line: &str) -> Option<BoxFuture<'static, McpSuggestions>> {
        if let Some(arguments) = line.strip_prefix("/mcp ") {
            let suggestions = McpSuggestions {
                items: self.complete(arguments),
                prefix: arguments.to_owned(),
            };
            return Some(std::future::ready(suggestions).boxed());
        }
        let command = line.strip_prefix('/');
        if let Some(command) = command.and_then(|it| it.strip_prefix(COMMAND_PREFIX)) {
            return self.suggest_argument(command);
        }
        self.suggest_resource(line)
    }

    /// Completes the argument of a prompt; `command` is `server:prompt words`.
    fn suggest_argument(&self, command: &str) -> Option<BoxFuture<'static, McpSuggestions>> {
        let (name, words) = command.split_once(' ')?;
        let (server, name) = name.split_once(':')?;
        let mut prompts = self.prompts().into_iter();
        let prompt = prompts.find(|prompt| prompt.server == server && prompt.name == name)?;
        let connection = self.live_connection(server)?;
        if !connection.status().has_completions {
            return None;
        }
        let (argument, value, earlier) = argument_at(&prompt, words)?;
        let params = json!({
            "ref": {"type": "ref/prompt", "name": name},
            "argument": {"name": argument, "value": value},
            "context": {"arguments": earlier},
        });
        let prefix = value.to_owned();
        let suggesting = async move {
            let items = complete_value(&connection, params).await;
            McpSuggestions { prefix, items }
        };
        Some(suggesting.boxed())
    }

    /// Completes `@server:uri` at the end of a line.
    fn suggest_resource(&self, line: &str) -> Option<BoxFuture<'static, McpSuggestions>> {
        let word = line.rsplit(char::is_whitespace).next()?;
        let (server, typed) = word.strip_prefix('@')?.split_once(':')?;
        let connection = self.live_connection(server)?;
        if !connection.status().has_resources {
            return None;
        }
        let state = Arc::clone(&self.0);
        let (server, typed) = (server.to_owned(), typed.to_lowercase());
        let prefix = word.to_owned();
        let suggesting = async move {
            let known = state.resources.get(&server);
            let resources = match known {
                Some(known) => known,
                None => {
                    let listed = Arc::new(list_resources(&connection, &server).await);
                    state.resources.put(&server, Arc::clone(&listed));
                    listed
                }
            };
            let matching = resources.iter().filter(|item| {
                let texts = [
                    Some(&item.value),
                    Some(&item.label),
                    item.description.as_ref(),
                ];
                let mut texts = texts.into_iter().flatten();
                texts.any(|text| text.to_lowercase().contains(&typed))
            });
            let items = matching.take(MAX_ITEMS).cloned().collect();
            McpSuggestions { prefix, items }
        };
        Some(suggesting.boxed())
    }

    fn live_connection(&self, server: &str) -> Option<McpConnection> {
        let inner = self.0.inner();
        let live = inner.find(server)?.live()?.clone();
        (live.state() == McpState::Connected).then_some(live)
    }
}

/// Returns the argument that is being entered, its value so far, and the earlier ones.
fn argument_at<'a>(
    prompt: &'a McpPrompt,
    words: &'a str,
) -> Option<(&'a str, &'a str, Map<String, Value>)> {
    let mut words: Vec<&str> = words.split(' ').collect();
    let last = words.pop()?;
    let names = || {
        prompt
            .arguments
            .iter()
            .map(|argument| argument.name.as_str())
    };
    let assignment = |word: &'a str| {
        let (name, value) = word.split_once('=')?;
        names()
            .find(|known| *known == name)
            .map(|name| (name, value))
    };
    let mut earlier = Map::new();
    let mut positional = Vec::new();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        match assignment(word) {
            Some((name, value)) => drop(earlier.insert(name.to_owned(), value.into())),
            None => positional.push(word),
        }
    }
    let mut open = names().filter(|name| !earlier.contains_key(*name));
    let assigned: Vec<_> = open.by_ref().zip(positional).collect();
    let argument = match assignment(last) {
        Some((name, value)) => (name, value),
        None => {
            let taken = assigned.len();
            let mut open = names().filter(|name| !earlier.contains_key(*name));
            (open.nth(taken)?, last)
        }
    };
    for (name, value) in assigned {
        earlier.insert(name.to_owned(), value.into());
    }
    Some((argument.0, argument.1, earlier))
}

async fn complete_value(connection: &McpConnection, params: Value) -> Vec<McpCompletion> {
    let options = RequestOptions::new(TIMEOUT);
    let result = connection
        .request("completion/complete", params, options, Repetition::Allowed)
        .await;
    let result = result.unwrap_or_default();
    let values = result.get("completion").and_then(|it| it.get("values"));
    let values = values.and_then(Value::as_array).into_iter().flatten();
    let values = values.filter_map(Value::as_str).take(MAX_ITEMS);
    let values = values.map(|value| McpCompletion {
        value: if value.contains(char::is_whitespace) {
            format!("\"{}\"", value.replace('"', ""))
        } else {
            value.to_owned()
        },
        label: value.to_owned(),
        description: None,
    });
    values.collect()
}

/// Returns the resources of a server, and its templates up to their first variable.
async fn list_resources(connection: &McpConnection, server: &str) -> Vec<McpCompletion> {
    let mut items = Vec::new();
    for (list, key) in [
        (ListKind::Resources, "uri"),
        (ListKind::ResourceTemplates, "uriTemplate"),
    ] {
        let options = RequestOptions::new(TIMEOUT);
        let page = connection.list(list, PageChoice::All, options).await;
        for item in page.unwrap_or_default().items {
            let text = |key: &str| item.get(key).and_then(Value::as_str);
            let Some(uri) = text(key) else {
                continue;
            };
            // A URI with spaces could not be mentioned.
            if uri.contains(char::is_whitespace) {
                continue;
            }
            let start = uri.split('{').next().unwrap_or(uri);
            let name = text("title").or_else(|| text("name"));
            items.push(McpCompletion {
                value: format!("@{server}:{start}"),
                // What ends in a slash is continued.
                label: start.to_owned(),
                description: name.filter(|name| *name != uri).map(str::to_owned),
            });
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::prompts::McpPromptArgument;

    #[test]
    fn the_argument_at_the_cursor_is_found() {
        let argument = |name: &str| McpPromptArgument {
            name: name.to_owned(),
            is_required: true,
        };
        let prompt = McpPrompt {
            server: "s".to_owned(),
            name: "p".to_owned(),
            description: None,
            arguments: vec![argument("one"), argument("two")],
        };
        for (words, expected) in [
            ("", Some(("one", "", json!({})))),
            ("a", Some(("one", "a", json!({})))),
            ("a b", Some(("two", "b", json!({"one": "a"})))),
            ("two=x y", Some(("one", "y", json!({"two": "x"})))),
            ("a two=x", Some(("two", "x", json!({"one": "a"})))),
            ("a b c", None),
        ] {
            let found = argument_at(&prompt, words);
            let found = found.map(|(name, value, earlier)| (name, value, Value::Object(earlier)));
            assert_eq!(found, expected, "{words}");
        }
    }
}
