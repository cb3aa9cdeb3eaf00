//! The tool `tool_search`: activates the tools that match a query.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    ReachedTools, RegisteredTool, Tool, ToolContext, ToolError, ToolExposure, ToolMetadata,
    ToolOrigin,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde_json::{Value, json};

use crate::ranking::{DEFAULT_LIMIT, rank_tools};

/// Name of the built-in extension that has the tool.
const EXTENSION: &str = "tool-search";

const DESCRIPTION: &str = "Find and load tools that are not declared to you yet, such as the tools of MCP servers.\n\n\
    Describe what you need in a few words. The tools that match best by name, description and parameters are loaded; \
    call them from your next response on. Search before you conclude that no tool for a task exists.";

/// Returns the tool, inactive until flags, settings or a session name it.
pub fn tool_search() -> RegisteredTool {
    RegisteredTool {
        tool: Arc::new(ToolSearch(ToolDeclaration {
            name: "tool_search".to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: json!({
                "type": "object",
                "required": ["query"],
                "properties": {
                    "query": {"type": "string", "description": "What the tool should do, in a few words."},
                    "limit": {
                        "type": "number",
                        "description": format!("Number of tools to load (default: {DEFAULT_LIMIT})."),
                    },
                },
            }),
            constrained_sampling: None,
            extra: JsonObject::new(),
        })),
        origin: ToolOrigin::Builtin,
        snippet: Some("Find tools that are not declared yet, and load them".to_owned()),
        guidelines: Vec::new(),
        is_default_active: false,
        metadata: ToolMetadata {
            exposure: ToolExposure::ModelOnly,
            reaches_tools: true,
            builtin_extension: Some(EXTENSION),
            ..ToolMetadata::default()
        },
    }
}

struct ToolSearch(ToolDeclaration);

impl Tool for ToolSearch {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn reached_tools(&self, _arguments: &JsonObject) -> ReachedTools {
        ReachedTools::All
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(search(&cx, &arguments)))
    }
}

fn search(cx: &ToolContext, arguments: &JsonObject) -> Result<ToolOutput, ToolError> {
    let query = arguments.get("query").and_then(Value::as_str);
    let query = query.unwrap_or_default().trim();
    if query.is_empty() {
        return Err(ToolError::new(
            "The query is empty. Describe the tool you need.",
        ));
    }
    let limit = match arguments.get("limit") {
        None | Some(Value::Null) => DEFAULT_LIMIT,
        Some(limit) => positive_integer(limit)
            .ok_or_else(|| ToolError::new("The limit must be a positive integer."))?,
    };
    let active = cx.session.active_tools();
    let mut candidates = cx.session.registered_tools();
    candidates.retain(|tool| {
        let exposure = tool.metadata.exposure;
        let is_searched = matches!(exposure, ToolExposure::Codemode | ToolExposure::Deferred);
        is_searched && !active.iter().any(|active| active == tool.name())
    });
    let found: Vec<&RegisteredTool> = rank_tools(query, &candidates, limit)
        .into_iter()
        .filter_map(|position| candidates.get(position))
        .collect();
    let names: Vec<String> = found.iter().map(|tool| tool.name().to_owned()).collect();
    cx.session.activate_tools(&names);
    Ok(ToolOutput {
        details: Some(json!({ "loaded": names })),
        ..ToolOutput::text(report(&found))
    })
}

/// Returns a number that counts something, such as `8` or `8.0`.
fn positive_integer(value: &Value) -> Option<usize> {
    let number = value.as_f64()?;
    if number.fract() != 0.0 || number < 1.0 {
        return None;
    }
    // More than any list of tools has.
    let number = number.min(f64::from(u32::MAX));
    format!("{number:.0}").parse().ok()
}

fn report(found: &[&RegisteredTool]) -> String {
    let Some(count) = Some(found.len()).filter(|count| *count > 0) else {
        return "No tool matches. Try other words.".to_owned();
    };
    let noun = if count == 1 { "tool" } else { "tools" };
    let mut text = format!("{count} {noun} loaded, callable from your next response on:");
    for tool in found {
        let description = tool.tool.declaration().description.trim();
        let first = description.lines().next().unwrap_or_default();
        text.extend(["\n- ", tool.name(), ": ", first]);
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn limits_are_positive_integers() {
        for (value, expected) in [
            (json!(1), Some(1)),
            (json!(8.0), Some(8)),
            (json!(2.5), None),
            (json!(0), None),
            (json!(-1), None),
            (json!("3"), None),
        ] {
            assert_eq!(positive_integer(&value), expected, "{value}");
        }
        assert!(positive_integer(&json!(1e300)).is_some());
    }
}
