//! The tools of servers as tools of a session.

mod schema;

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_core::{
    RegisteredTool, Tool, ToolContext, ToolError, ToolExposure, ToolMetadata, ToolNamespace,
    ToolOrigin,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{McpExposure, Tool as ToolDeclaration, ToolOutput};
use serde_json::{Map, Value};

use crate::client::RequestOptions;
use crate::connection::{DeclaredTool, Repetition, call_params};
use crate::content;
use crate::elicitation;
use crate::error::{McpError, URL_ELICITATION_REQUIRED};
use crate::servers::ServersState;
use schema::{parameters, result_schema};

/// Hints about the effects of a tool.
const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Tools that are reached through other tools are not declared, however they are reached.
pub(crate) fn to_exposure(exposure: McpExposure) -> ToolExposure {
    match exposure {
        McpExposure::Codemode | McpExposure::Deferred => ToolExposure::Deferred,
        McpExposure::Direct => ToolExposure::Direct,
        McpExposure::Hidden => ToolExposure::Hidden,
    }
}

/// A tool of a server.
pub(crate) struct ServerTool {
    servers: Weak<ServersState>,
    server: String,
    tool: String,
    label: String,
    declaration: ToolDeclaration,
    /// What the server declares about the structured content of results.
    output_schema: Option<Value>,
}

/// What a tool is registered with.
pub(crate) struct ServerToolOptions<'a> {
    pub(crate) servers: Weak<ServersState>,
    pub(crate) server: &'a str,
    pub(crate) name: String,
    pub(crate) exposure: McpExposure,
    pub(crate) namespace: ToolNamespace,
}

/// Returns a tool that a server declares.
pub(crate) fn registered(tool: &DeclaredTool, options: ServerToolOptions<'_>) -> RegisteredTool {
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    let server = options.server;
    let name = text("name").unwrap_or_default();
    let annotations = tool.get("annotations");
    let annotation = |key: &str| annotations.and_then(|annotations| annotations.get(key));
    let title = text("title").or_else(|| annotation("title").and_then(Value::as_str));
    let description = text("description").map(str::trim);
    let description = description.filter(|text| !text.is_empty()).or(title);
    let description = description.map_or_else(
        || format!("The tool {name} of the MCP server {server}"),
        str::to_owned,
    );
    let hints = HINTS.iter().filter_map(|hint| {
        let value = annotation(hint).filter(|value| value.is_boolean())?;
        Some(((*hint).to_owned(), value.clone()))
    });
    let hints: JsonObject = hints.collect();
    let metadata = ToolMetadata {
        exposure: to_exposure(options.exposure),
        namespace: Some(options.namespace),
        annotations: (!hints.is_empty()).then_some(hints),
        output_schema: Some(result_schema(tool.get("outputSchema"))),
        ..ToolMetadata::default()
    };
    let output_schema = tool.get("outputSchema").cloned();
    let tool = ServerTool {
        output_schema,
        servers: options.servers,
        server: server.to_owned(),
        tool: name.to_owned(),
        label: format!("{server}/{name}"),
        declaration: ToolDeclaration {
            name: options.name,
            description,
            parameters: parameters(tool.get("inputSchema")),
            constrained_sampling: None,
            extra: JsonObject::new(),
        },
    };
    extension_tool(Arc::new(tool), metadata)
}

/// Returns the registration of a tool of this extension.
pub(crate) fn extension_tool(tool: Arc<dyn Tool>, metadata: ToolMetadata) -> RegisteredTool {
    RegisteredTool {
        tool,
        origin: ToolOrigin::Extension,
        snippet: None,
        guidelines: Vec::new(),
        is_default_active: true,
        metadata: ToolMetadata {
            builtin_extension: Some("mcp"),
            ..metadata
        },
    }
}

/// Returns a tool that can no longer be reached.
pub(crate) fn hidden(mut tool: RegisteredTool) -> RegisteredTool {
    tool.metadata.exposure = ToolExposure::Hidden;
    tool
}

impl Tool for ServerTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx, arguments))
    }
}

impl ServerTool {
    async fn run(&self, cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        let (server, tool) = (&self.server, &self.tool);
        let servers = self.servers.upgrade();
        let servers = servers
            .ok_or_else(|| ToolError::new(format!("MCP server \"{server}\" is shut down")))?;
        let connection = servers.connection_for(server, tool).map_err(ToolError)?;
        let progress = {
            let (updates, details) = (cx.progress.clone(), content::details(server, tool, None));
            move |params: &Map<String, Value>| {
                updates.send(ToolOutput {
                    details: Some(details.clone()),
                    ..ToolOutput::text(progress_text(params))
                });
            }
        };
        let options = RequestOptions {
            timeout: connection.spec().timeout,
            cancel: cx.cancel.clone(),
            progress: Some(Arc::new(progress)),
        };
        let params = call_params(tool, &arguments);
        let session = servers.session();
        let _active = match &session {
            Some(session) => Some(connection.begin_call(Arc::clone(session)).await),
            None => None,
        };
        let call = || {
            let (params, options) = (params.clone(), options.clone());
            connection.request("tools/call", params, options, Repetition::Never)
        };
        let mut result = call().await;
        if let (Some(data), Some(session)) = (required_pages(&result), &session)
            && connection.has_elicitation()
        {
            let visiting = elicitation::visit_required_pages(&**session, server, data);
            if cx.cancel.run_until_cancelled(visiting).await == Some(true) {
                result = call().await;
            }
        }
        let result = result.map_err(|error| ToolError::new(error.to_string()))?;
        let links = servers.linked_resources(server);
        let warning = self.schema_warning(&result);
        if let Some(warning) = &warning {
            connection.log_warning(warning);
        }
        let output = content::tool_output(server, tool, result, links);
        let mut output = output
            .ok_or_else(|| ToolError::new("the MCP server sent an invalid result of tools/call"))?;
        if let (Some(warning), Some(Value::Object(details))) = (warning, &mut output.details) {
            details.insert("warning".to_owned(), warning.into());
        }
        Ok(output)
    }
}

/// Returns the pages that a user must visit before a call can succeed.
fn required_pages(result: &Result<Value, McpError>) -> Option<&Value> {
    match result {
        Err(McpError::Rpc { code, data, .. }) if *code == URL_ELICITATION_REQUIRED => Some(data),
        _ => None,
    }
}

impl ServerTool {
    /// Describes how a result violates the schema that the server declares for it. The result is used all the same.
    fn schema_warning(&self, result: &Value) -> Option<String> {
        let schema = self.output_schema.as_ref()?;
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            return None;
        }
        let violation = violation(schema, result.get("structuredContent")?)?;
        Some(format!(
            "the result of {} does not match its outputSchema: {violation}",
            self.label
        ))
    }
}

/// Returns the first violation of a schema. Values that only have another type for the same meaning are accepted, as in
/// arguments.
fn violation(schema: &Value, value: &Value) -> Option<String> {
    let Value::Object(value) = value else {
        return Some("structuredContent is not an object".to_owned());
    };
    let declaration = ToolDeclaration {
        name: "result".to_owned(),
        description: String::new(),
        parameters: schema.clone(),
        constrained_sampling: None,
        extra: JsonObject::new(),
    };
    let error = pi_core::validate_arguments(&declaration, value.clone()).err()?;
    let text = error.to_string();
    let line = text.lines().nth(1).unwrap_or_default();
    Some(line.trim().trim_start_matches("- ").to_owned())
}

fn progress_text(params: &Map<String, Value>) -> String {
    if let Some(Value::String(message)) = params.get("message") {
        return message.clone();
    }
    let number = |key: &str| params.get(key).map(Value::to_string);
    let done = number("progress").unwrap_or_default();
    let total = number("total").map_or_else(String::new, |total| format!("/{total}"));
    format!("Progress {done}{total}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn register(tool: Value, exposure: McpExposure) -> RegisteredTool {
        let Value::Object(tool) = tool else {
            panic!("not a tool");
        };
        let options = ServerToolOptions {
            servers: Weak::new(),
            server: "s",
            name: "mcp__s__t".to_owned(),
            exposure,
            namespace: ToolNamespace {
                name: "mcp__s".to_owned(),
                aliases: None,
                description: None,
                instructions: None,
            },
        };
        registered(&tool, options)
    }

    #[test]
    fn a_tool_has_a_description_and_an_object_schema() {
        for (tool, description) in [
            (
                json!({"name": "t", "description": " D ", "title": "T"}),
                "D",
            ),
            (json!({"name": "t", "title": "T"}), "T"),
            (json!({"name": "t", "annotations": {"title": "A"}}), "A"),
            (json!({"name": "t"}), "The tool t of the MCP server s"),
        ] {
            let tool = register(tool, McpExposure::Direct);
            assert_eq!(tool.tool.declaration().description, description);
            assert_eq!(
                tool.tool.declaration().parameters,
                json!({"type": "object", "properties": {}})
            );
            assert_eq!(tool.tool.label(), "s/t");
        }
    }

    #[test]
    fn hints_and_exposure_are_metadata() {
        let annotations = json!({"readOnlyHint": true, "title": "T", "openWorldHint": "x"});
        let tool = register(
            json!({"name": "t", "annotations": annotations}),
            McpExposure::Codemode,
        );
        assert_eq!(tool.metadata.exposure, ToolExposure::Deferred);
        let hints = tool.metadata.annotations.clone().map(Value::Object);
        assert_eq!(hints, Some(json!({"readOnlyHint": true})));
        assert_eq!(hidden(tool).metadata.exposure, ToolExposure::Hidden);
    }

    #[test]
    fn structured_content_is_checked() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]});
        let tool = |schema: Option<Value>| ServerTool {
            servers: Weak::new(),
            server: "s".to_owned(),
            tool: "t".to_owned(),
            label: "s/t".to_owned(),
            declaration: register(json!({"name": "t"}), McpExposure::Direct)
                .tool
                .declaration()
                .clone(),
            output_schema: schema,
        };
        for (schema, result, is_valid) in [
            (
                Some(schema.clone()),
                json!({"structuredContent": {"a": 1}}),
                true,
            ),
            (
                Some(schema.clone()),
                json!({"structuredContent": {"a": "x"}}),
                false,
            ),
            (Some(schema.clone()), json!({"content": []}), true),
            (Some(schema), json!({"isError": true, "content": []}), true),
            (None, json!({"structuredContent": {"a": "x"}}), true),
            (
                Some(json!({"$ref": "#"})),
                json!({"structuredContent": {}}),
                true,
            ),
            (
                Some(json!({"type": 7})),
                json!({"structuredContent": {}}),
                true,
            ),
        ] {
            let warning = tool(schema.clone()).schema_warning(&result);
            assert_eq!(
                warning.is_none(),
                is_valid,
                "{schema:?} {result} {warning:?}"
            );
        }
    }

    #[test]
    fn progress_is_shown_as_text() {
        let text = |params: Value| progress_text(params.as_object().unwrap());
        assert_eq!(
            text(json!({"progress": 1, "message": "sprouting"})),
            "sprouting"
        );
        assert_eq!(text(json!({"progress": 1, "total": 4})), "Progress 1/4");
        assert_eq!(text(json!({"progress": 0.5})), "Progress 0.5");
    }
}
