//! Resources that a user mentions in a prompt as `@server:uri`: their contents follow the prompt.

use serde_json::json;

use crate::client::RequestOptions;
use crate::connection::Repetition;
use crate::content::{limit_text, resource_blocks};
use crate::prompts::McpInput;
use crate::resources::contents_of;
use crate::servers::McpServers;

/// More resources in one prompt are not read.
const MAX_MENTIONS: usize = 20;

impl McpServers {
    /// Returns the prompt with the contents of the resources it mentions, and what could not be read; `None` if it mentions
    /// none.
    pub async fn attach_resources(&self, text: &str) -> Option<(McpInput, Vec<String>)> {
        let mut mentions = mentions(text);
        mentions.retain(|(server, _)| self.0.inner().find(server).is_some());
        mentions.truncate(MAX_MENTIONS);
        if mentions.is_empty() {
            return None;
        }
        let mut input = McpInput {
            text: text.to_owned(),
            ..McpInput::default()
        };
        let mut problems = Vec::new();
        for (server, uri) in mentions {
            if let Err(problem) = self.attach(server, uri, &mut input).await {
                problems.push(format!("@{server}:{uri}: {problem}"));
            }
        }
        Some((input, problems))
    }

    async fn attach(&self, server: &str, uri: &str, input: &mut McpInput) -> Result<(), String> {
        let connection = self.0.connected(server).await?;
        let options = RequestOptions::new(connection.spec().timeout);
        let params = json!({ "uri": uri });
        let result = connection
            .request("resources/read", params, options, Repetition::Allowed)
            .await
            .map_err(|error| error.to_string())?;
        let contents =
            contents_of(result).ok_or("the MCP server sent an invalid result of resources/read")?;
        let mut read = McpInput::default();
        read.push(limit_text(resource_blocks(&contents)).content);
        let name = format!("{server}:{uri}").replace(['"', '<', '>', '\n'], "_");
        let opening = ["\n\n<resource name=\"", &name, "\">\n"];
        input.text.extend(opening);
        input.text.extend([&read.text, "\n</resource>"]);
        input.images.append(&mut read.images);
        Ok(())
    }
}

/// Returns the servers and URIs that a text may mention. A mention starts a word.
fn mentions(text: &str) -> Vec<(&str, &str)> {
    let words = text.split_whitespace();
    let mut found = Vec::new();
    for word in words {
        let mention = word.strip_prefix('@').and_then(|rest| rest.split_once(':'));
        let Some((server, uri)) = mention else {
            continue;
        };
        // Punctuation that follows belongs to the sentence.
        let uri = uri.trim_end_matches(['.', ',', ';', '!', '?', ')']);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let is_mention = !uri.is_empty() && !server.is_empty() && server.bytes().all(is_name);
        if is_mention && !found.contains(&(server, uri)) {
            found.push((server, uri));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn mentions_start_words() {
        for (text, expected) in [
            (
                "read @docs:file:///a.md, please",
                vec![("docs", "file:///a.md")],
            ),
            (
                "@a:x @a:x @b-c:y://z?q=1&r",
                vec![("a", "x"), ("b-c", "y://z?q=1&r")],
            ),
            (
                "mail me@docs:1 or @docs or @docs: or @: or @sp ace:x",
                vec![],
            ),
            ("@a:../../etc/passwd", vec![("a", "../../etc/passwd")]),
        ] {
            assert_eq!(mentions(text), expected, "{text}");
        }
    }
}
