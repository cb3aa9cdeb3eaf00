//! Prompts of servers, which users send as `/mcp:<server>:<prompt>`.

use pi_config::split_template_arguments;
use pi_protocol::json::JsonObject;
use pi_protocol::{ImageContent, InputBlock, McpState};
use serde_json::{Map, Value, json};

use crate::client::{ListKind, RequestOptions};
use crate::connection::{McpConnection, PageChoice, Repetition};
use crate::content::prompt_blocks;
use crate::servers::{McpServers, ServersState};

/// How commands of prompts start, without the slash.
pub(crate) const COMMAND_PREFIX: &str = "mcp:";

/// More prompts of one server are not listed.
const MAX_PROMPTS: usize = 1_000;

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPrompt {
    pub server: String,
    pub name: String,
    pub description: Option<String>,
    pub arguments: Vec<McpPromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPromptArgument {
    pub name: String,
    pub is_required: bool,
}

/// What a user sends instead of what they entered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McpInput {
    pub text: String,
    pub images: Vec<ImageContent>,
}

impl McpInput {
    /// Adds blocks, separated by empty lines.
    pub(crate) fn push(&mut self, blocks: Vec<InputBlock>) {
        for block in blocks {
            match block {
                InputBlock::Text(text) => {
                    if !self.text.is_empty() {
                        self.text.push_str("\n\n");
                    }
                    self.text.push_str(&text.text);
                }
                InputBlock::Image(image) => self.images.push(image),
                InputBlock::Unknown(_) => {}
            }
        }
    }
}

impl McpPrompt {
    fn parse(server: &str, prompt: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| prompt.get(key).and_then(Value::as_str);
        let name = text("name")?;
        // The name is a part of a command, which ends at a space.
        if name.is_empty() || name.contains(|it: char| it.is_whitespace() || it.is_control()) {
            return None;
        }
        let arguments = prompt.get("arguments").and_then(Value::as_array);
        let arguments = arguments.into_iter().flatten().filter_map(|argument| {
            let is_required = argument.get("required").and_then(Value::as_bool);
            Some(McpPromptArgument {
                name: argument.get("name")?.as_str()?.to_owned(),
                is_required: is_required.unwrap_or_default(),
            })
        });
        let description = text("description").or_else(|| text("title"));
        Some(Self {
            server: server.to_owned(),
            name: name.to_owned(),
            description: description.map(str::to_owned),
            arguments: arguments.collect(),
        })
    }

    /// Returns the command that sends the prompt, without the slash.
    pub fn command(&self) -> String {
        format!("{COMMAND_PREFIX}{}:{}", self.server, self.name)
    }

    /// Returns the arguments as a hint: `<required> [optional]`.
    pub fn argument_hint(&self) -> String {
        let arguments = self.arguments.iter().map(|argument| {
            let name = &argument.name;
            if argument.is_required {
                format!("<{name}>")
            } else {
                format!("[{name}]")
            }
        });
        arguments.collect::<Vec<_>>().join(" ")
    }

    /// Assigns words to arguments: `name=value`, or in order; the last one gets what is left.
    fn assign(&self, words: Vec<String>) -> Result<JsonObject, String> {
        let mut assigned = JsonObject::default();
        let mut rest = Vec::new();
        for word in words {
            let named = word.split_once('=').filter(|(name, _)| {
                let mut arguments = self.arguments.iter();
                arguments.any(|argument| argument.name == *name)
            });
            match named {
                Some((name, value)) => drop(assigned.insert(name.to_owned(), value.into())),
                None => rest.push(word),
            }
        }
        let open = self.arguments.iter().map(|argument| &argument.name);
        let open: Vec<&String> = open
            .filter(|name| !assigned.contains_key(name.as_str()))
            .collect();
        if open.is_empty() && !rest.is_empty() {
            return Err("too many arguments".to_owned());
        }
        let mut rest = rest.into_iter();
        for (index, name) in open.iter().enumerate() {
            let value = if index + 1 == open.len() {
                rest.by_ref().collect::<Vec<_>>().join(" ")
            } else {
                rest.next().unwrap_or_default()
            };
            if !value.is_empty() {
                assigned.insert((*name).clone(), value.into());
            }
        }
        let mut required = self.arguments.iter().filter(|it| it.is_required);
        match required.find(|argument| !assigned.contains_key(&argument.name)) {
            Some(missing) => Err(format!("the argument {} is missing", missing.name)),
            None => Ok(assigned),
        }
    }
}

impl McpServers {
    /// Returns the prompts that are known.
    pub fn prompts(&self) -> Vec<McpPrompt> {
        let inner = self.0.inner();
        let servers = inner.servers.iter().filter(|server| server.spec().enabled);
        servers
            .flat_map(|server| server.prompts.iter().cloned())
            .collect()
    }

    /// Returns what the command of a prompt sends; `None` if the text is not such a command. An error is a message for the
    /// user.
    pub async fn expand_prompt(&self, text: &str) -> Option<Result<McpInput, String>> {
        let command = text.strip_prefix('/')?.strip_prefix(COMMAND_PREFIX)?;
        let end = command.find(char::is_whitespace).unwrap_or(command.len());
        let (command, arguments) = command.split_at_checked(end)?;
        let (server, name) = command.split_once(':')?;
        Some(self.prompt_input(server, name, arguments).await)
    }

    async fn prompt_input(
        &self,
        server: &str,
        name: &str,
        arguments: &str,
    ) -> Result<McpInput, String> {
        let connection = self.0.connected(server).await?;
        self.0.load_prompts(server, &connection).await?;
        let known = self.prompts();
        let mut prompts = known
            .iter()
            .filter(|prompt| prompt.server == server && prompt.name == name);
        let prompt = prompts
            .next()
            .ok_or_else(|| format!("MCP server \"{server}\" has no prompt \"{name}\""))?;
        let usage = || format!("Usage: /{} {}", prompt.command(), prompt.argument_hint());
        let arguments = prompt
            .assign(split_template_arguments(arguments))
            .map_err(|problem| format!("/{}: {problem}\n{}", prompt.command(), usage()))?;
        let params = json!({"name": name, "arguments": arguments});
        let options = RequestOptions::new(connection.spec().timeout);
        let result = connection
            .request("prompts/get", params, options, Repetition::Allowed)
            .await
            .map_err(|error| format!("/{}: {error}", prompt.command()))?;
        let Some(Value::Array(messages)) = result.get("messages") else {
            return Err(format!(
                "MCP server \"{server}\" sent an invalid result of prompts/get"
            ));
        };
        let mut input = McpInput::default();
        input.push(prompt_blocks(server, messages));
        Ok(input)
    }
}

impl ServersState {
    /// Returns the connection to a server once it is connected.
    pub(crate) async fn connected(&self, server: &str) -> Result<McpConnection, String> {
        self.wait_for_server(server).await;
        let connection = {
            let inner = self.inner();
            let managed = inner.find(server).filter(|managed| managed.spec().enabled);
            managed.and_then(|managed| managed.live().cloned())
        };
        let unknown = || format!("no MCP server is named \"{server}\", or it is disabled");
        let connection = connection.ok_or_else(unknown)?;
        let connected = connection.connect().await;
        connected.map_err(|error| error.to_string())?;
        Ok(connection)
    }

    /// Reads the prompts of a server.
    pub(crate) async fn load_prompts(
        &self,
        name: &str,
        connection: &McpConnection,
    ) -> Result<(), String> {
        let status = connection.status();
        if status.state != McpState::Connected || !status.has_prompts {
            return Ok(());
        }
        let options = RequestOptions::new(connection.spec().timeout);
        let page = connection
            .list(ListKind::Prompts, PageChoice::All, options)
            .await
            .map_err(|error| format!("cannot list the prompts of \"{name}\": {error}"))?;
        let prompts = page.items.iter().take(MAX_PROMPTS);
        let prompts = prompts
            .filter_map(|prompt| McpPrompt::parse(name, prompt))
            .collect();
        if let Some(server) = self.inner().find_mut(name) {
            server.prompts = prompts;
        }
        self.changed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn prompt() -> McpPrompt {
        let prompt = json!({
            "name": "review",
            "description": "Review code",
            "arguments": [{"name": "file", "required": true}, {"name": "focus"}],
        });
        McpPrompt::parse("s", prompt.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_prompt_is_a_command_with_a_hint() {
        let prompt = prompt();
        assert_eq!(prompt.command(), "mcp:s:review");
        assert_eq!(prompt.argument_hint(), "<file> [focus]");
        let spaced = json!({"name": "a b"});
        assert_eq!(McpPrompt::parse("s", spaced.as_object().unwrap()), None);
    }

    #[test]
    fn words_become_arguments() {
        let assign = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            prompt().assign(words).map(Value::Object)
        };
        for (words, expected) in [
            (&["a.rs"][..], json!({"file": "a.rs"})),
            (
                &["a.rs", "speed", "and", "size"],
                json!({"file": "a.rs", "focus": "speed and size"}),
            ),
            (
                &["focus=speed", "a.rs"],
                json!({"focus": "speed", "file": "a.rs"}),
            ),
            (&["x=y"], json!({"file": "x=y"})),
        ] {
            assert_eq!(assign(words), Ok(expected), "{words:?}");
        }
        assert!(assign(&[]).unwrap_err().contains("file"));
        assert!(assign(&["file=a", "focus=b", "c"]).is_err());
    }
}
