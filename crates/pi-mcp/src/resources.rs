//! Tools that list and read the resources of all servers.

use std::sync::{Arc, Weak};

use futures_util::future::{BoxFuture, join_all};
use pi_core::{RegisteredTool, Tool, ToolContext, ToolError, ToolMetadata};
use pi_protocol::json::JsonObject;
use pi_protocol::{InputBlock, McpExposure, Tool as ToolDeclaration, ToolOutput};
use serde_json::{Map, Value, json};

use crate::client::{ListKind, RequestOptions};
use crate::connection::{McpConnection, PageChoice, Repetition};
use crate::content::{details, limit_text, resource_blocks};
use crate::servers::ServersState;
use crate::tool::{extension_tool, to_exposure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceAction {
    List,
    ListTemplates,
    Read,
}

struct ResourceTool {
    servers: Weak<ServersState>,
    action: ResourceAction,
    declaration: ToolDeclaration,
}

/// Returns the tools for resources.
pub(crate) fn resource_tools(
    servers: &Weak<ServersState>,
    exposure: McpExposure,
) -> Vec<RegisteredTool> {
    use ResourceAction::{List, ListTemplates, Read};
    let tools = [List, ListTemplates, Read].into_iter().map(|action| {
        let hints = json!({"readOnlyHint": true});
        let metadata = ToolMetadata {
            exposure: to_exposure(exposure),
            annotations: hints.as_object().cloned(),
            output_schema: Some(action.output_schema()),
            ..ToolMetadata::default()
        };
        let tool = ResourceTool {
            servers: Weak::clone(servers),
            action,
            declaration: action.declaration(),
        };
        extension_tool(Arc::new(tool), metadata)
    });
    tools.collect()
}

impl ResourceAction {
    fn name(self) -> &'static str {
        let [list, templates, read] = pi_protocol::MCP_RESOURCE_TOOLS;
        match self {
            Self::List => list,
            Self::ListTemplates => templates,
            Self::Read => read,
        }
    }

    fn declaration(self) -> ToolDeclaration {
        let text = |description: &str| json!({"type": "string", "description": description});
        let (description, parameters) = match self {
            Self::List | Self::ListTemplates => {
                let description = if self == Self::List {
                    "List the resources of MCP servers: files, database schemas and other data that servers share as context. Check them before searching the web."
                } else {
                    "List the resource templates of MCP servers: resources with parameters, such as files or database schemas, that servers share as context. Check them before searching the web."
                };
                let parameters = json!({
                    "type": "object",
                    "properties": {
                        "server": text("Name of an MCP server. Without it, the resources of all servers are listed."),
                        "cursor": text("The nextCursor of an earlier call with the same server. Without it, the first page is listed."),
                    },
                    "additionalProperties": false,
                });
                (description, parameters)
            }
            Self::Read => {
                let parameters = json!({
                    "type": "object",
                    "properties": {
                        "server": text("Name of the MCP server, as in the field server of list_mcp_resources"),
                        "uri": text("URI of the resource, as list_mcp_resources returns it"),
                    },
                    "required": ["server", "uri"],
                    "additionalProperties": false,
                });
                ("Read a resource of an MCP server by its URI.", parameters)
            }
        };
        ToolDeclaration {
            name: self.name().to_owned(),
            description: description.to_owned(),
            parameters,
            constrained_sampling: None,
            extra: JsonObject::new(),
        }
    }

    fn output_schema(self) -> Value {
        let text = || json!({"type": "string"});
        let errors = json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"server": text(), "error": text()},
                "required": ["server", "error"],
            },
        });
        let (key, item) = match self {
            Self::List => (
                "resources",
                json!({
                    "type": "object",
                    "properties": {
                        "server": text(), "uri": text(), "name": text(), "title": text(),
                        "description": text(), "mimeType": text(), "size": {"type": "number"},
                    },
                    "required": ["server", "uri", "name"],
                }),
            ),
            Self::ListTemplates => (
                "resourceTemplates",
                json!({
                    "type": "object",
                    "properties": {
                        "server": text(), "uriTemplate": text(), "name": text(), "title": text(),
                        "description": text(), "mimeType": text(),
                    },
                    "required": ["server", "uriTemplate", "name"],
                }),
            ),
            Self::Read => {
                let content = json!({
                    "type": "object",
                    "properties": {"uri": text(), "mimeType": text(), "text": text(), "blob": text()},
                    "required": ["uri"],
                });
                return json!({
                    "type": "object",
                    "properties": {
                        "server": text(), "uri": text(),
                        "contents": {"type": "array", "items": content},
                    },
                    "required": ["server", "uri", "contents"],
                });
            }
        };
        json!({
            "type": "object",
            "properties": {
                "server": text(),
                key: {"type": "array", "items": item},
                "nextCursor": text(),
                "errors": errors,
            },
            "required": [key],
        })
    }
}

impl Tool for ResourceTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.action {
                ResourceAction::List => self.list(&cx, &arguments, ListKind::Resources).await,
                ResourceAction::ListTemplates => {
                    self.list(&cx, &arguments, ListKind::ResourceTemplates)
                        .await
                }
                ResourceAction::Read => self.read(&cx, &arguments).await,
            }
        })
    }
}

impl ResourceTool {
    fn connections(&self) -> Vec<McpConnection> {
        let servers = self.servers.upgrade();
        servers.map_or_else(Vec::new, |servers| servers.with_resources())
    }

    fn connection(&self, server: &str) -> Result<McpConnection, ToolError> {
        let connections = self.connections();
        let mut names = Vec::new();
        for connection in connections {
            if connection.spec().name == server {
                return Ok(connection);
            }
            names.push(connection.spec().name.clone());
        }
        let mut text = format!("MCP server \"{server}\" has no resources");
        if !names.is_empty() {
            text.extend(["; servers with resources: ", &names.join(", ")]);
        }
        Err(ToolError(text))
    }

    async fn list(
        &self,
        cx: &ToolContext,
        arguments: &JsonObject,
        list: ListKind,
    ) -> Result<ToolOutput, ToolError> {
        let server = argument(arguments, "server")?;
        let cursor = argument(arguments, "cursor")?;
        let mut payload = Map::new();
        if let Some(server) = &server {
            let connection = self.connection(server)?;
            let options = request_options(cx, &connection);
            let page = connection
                .list(list, PageChoice::One(cursor), options)
                .await
                .map_err(|error| ToolError::new(error.to_string()))?;
            payload.insert("server".to_owned(), server.as_str().into());
            payload.insert(list.key().to_owned(), listed(server, page.items).into());
            if let Some(cursor) = page.next_cursor {
                payload.insert("nextCursor".to_owned(), cursor.into());
            }
        } else {
            if cursor.is_some() {
                return Err(ToolError::new("cursor needs a server"));
            }
            let mut connections = self.connections();
            pi_protocol::sort_by(&mut connections, |one, other| {
                one.spec().name.cmp(&other.spec().name)
            });
            let pages = connections.iter().map(|connection| {
                let options = request_options(cx, connection);
                connection.list(list, PageChoice::All, options)
            });
            let (mut items, mut errors) = (Vec::new(), Vec::new());
            for (connection, page) in connections.iter().zip(join_all(pages).await) {
                let server = &connection.spec().name;
                match page {
                    Ok(page) => items.extend(listed(server, page.items)),
                    Err(error) => {
                        errors.push(json!({"server": server, "error": error.to_string()}));
                    }
                }
            }
            payload.insert(list.key().to_owned(), items.into());
            if !errors.is_empty() {
                payload.insert("errors".to_owned(), errors.into());
            }
        }
        let payload = Value::Object(payload);
        let text = InputBlock::text(payload.to_string());
        Ok(self.output(server.as_deref().unwrap_or_default(), vec![text], payload))
    }

    async fn read(
        &self,
        cx: &ToolContext,
        arguments: &JsonObject,
    ) -> Result<ToolOutput, ToolError> {
        let required = |key: &str| {
            argument(arguments, key)?.ok_or_else(|| ToolError(format!("{key} is required")))
        };
        let (server, uri) = (required("server")?, required("uri")?);
        let connection = self.connection(&server)?;
        let options = request_options(cx, &connection);
        let result = connection
            .request(
                "resources/read",
                json!({ "uri": uri }),
                options,
                Repetition::Allowed,
            )
            .await
            .map_err(|error| ToolError::new(error.to_string()))?;
        let contents = contents_of(result).ok_or_else(|| {
            ToolError::new("the MCP server sent an invalid result of resources/read")
        })?;
        let mut blocks = resource_blocks(&contents);
        if blocks.is_empty() {
            blocks.push(InputBlock::text(format!("The resource {uri} is empty.")));
        }
        let payload = json!({"server": server, "uri": uri, "contents": contents});
        Ok(self.output(&server, blocks, payload))
    }

    fn output(&self, server: &str, content: Vec<InputBlock>, payload: Value) -> ToolOutput {
        let limited = limit_text(content);
        let full_output = limited.full_output.as_deref();
        ToolOutput {
            content: limited.content,
            details: Some(details(server, self.action.name(), full_output)),
            structured_content: Some(payload),
            ..ToolOutput::default()
        }
    }
}

fn request_options(cx: &ToolContext, connection: &McpConnection) -> RequestOptions {
    RequestOptions {
        cancel: cx.cancel.clone(),
        ..RequestOptions::new(connection.spec().timeout)
    }
}

fn argument(arguments: &JsonObject, key: &str) -> Result<Option<String>, ToolError> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let text = text.trim();
            Ok((!text.is_empty()).then(|| text.to_owned()))
        }
        Some(_) => Err(ToolError(format!("{key} must be a string"))),
    }
}

/// Returns the items of a list with their server. User interfaces of servers are left out, and so is what only programs need.
fn listed(server: &str, items: Vec<Map<String, Value>>) -> Vec<Value> {
    let items = items.into_iter().filter(|item| !is_user_interface(item));
    let items = items.map(|mut item| {
        let mut listed = Map::new();
        listed.insert("server".to_owned(), server.into());
        item.shift_remove("_meta");
        item.shift_remove("icons");
        listed.append(&mut item);
        Value::Object(listed)
    });
    items.collect()
}

fn is_user_interface(item: &Map<String, Value>) -> bool {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let uri = text("uri")
        .or_else(|| text("uriTemplate"))
        .unwrap_or_default();
    let kind = text("mimeType").unwrap_or_default();
    let kind: String = kind
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '"')
        .collect();
    let kind = kind.to_ascii_lowercase();
    let mut parameters = kind.split(';').skip(1);
    uri.starts_with("ui://") || parameters.any(|parameter| parameter == "profile=mcp-app")
}

/// Returns the contents of a resource without what only programs need; `None` if they are invalid.
pub(crate) fn contents_of(result: Value) -> Option<Vec<Map<String, Value>>> {
    let Value::Object(mut result) = result else {
        return None;
    };
    let Value::Array(contents) = result.shift_remove("contents")? else {
        return None;
    };
    let contents = contents.into_iter().map(|content| {
        let Value::Object(mut content) = content else {
            return None;
        };
        let is_text = |key: &str| content.get(key).is_some_and(Value::is_string);
        let is_valid = is_text("uri") && (is_text("text") || is_text("blob"));
        content.shift_remove("_meta");
        is_valid.then_some(content)
    });
    contents.collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn user_interfaces_are_left_out() {
        let item = |value: Value| value.as_object().unwrap().clone();
        let items = vec![
            item(json!({"uri": "a:b", "name": "n", "icons": [], "_meta": {}})),
            item(json!({"uri": "ui://x", "name": "n"})),
            item(json!({"uri": "a:c", "name": "n", "mimeType": "text/html; profile=\"mcp-app\""})),
        ];
        assert_eq!(
            listed("s", items),
            [json!({"server": "s", "uri": "a:b", "name": "n"})]
        );
    }

    #[test]
    fn invalid_contents_are_rejected() {
        for result in [
            json!(null),
            json!({}),
            json!({"contents": [1]}),
            json!({"contents": [{"uri": "a:b"}]}),
            json!({"contents": [{"text": "t"}]}),
        ] {
            assert_eq!(contents_of(result), None);
        }
        let contents = contents_of(json!({"contents": [{"uri": "a:b", "text": "t", "_meta": 1}]}));
        assert_eq!(contents.unwrap()[0].get("_meta"), None);
    }
}
