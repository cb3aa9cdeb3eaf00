//! What scripts may ask about tools and models.

use pi_core::RegisteredTool;
use pi_tool_search::{DEFAULT_LIMIT, rank_tools};
use serde_json::{Value, json};

use crate::declaration::{describe, identifier};
use crate::model_calls::{ModelDirectory, list_models};

/// Answers a question of a script; `None` is `undefined`.
pub(crate) fn answer(
    name: &str,
    arguments: &[Value],
    tools: &[RegisteredTool],
    models: Option<&dyn ModelDirectory>,
) -> Result<Option<Value>, String> {
    match name {
        "searchTools" => search_tools(arguments, tools).map(Some),
        "describeTool" => describe_tool(arguments, tools),
        "describeNamespace" => describe_namespace(arguments, tools),
        _ => match name.strip_prefix("models.") {
            Some(function) => list_models(function, arguments, models),
            None => Err(format!("unknown function {name}")),
        },
    }
}

fn text_argument<'a>(arguments: &'a [Value], message: &str) -> Result<&'a str, String> {
    let first = arguments.first().and_then(Value::as_str);
    first.ok_or_else(|| message.to_owned())
}

fn search_tools(arguments: &[Value], tools: &[RegisteredTool]) -> Result<Value, String> {
    let query = text_argument(arguments, "searchTools(query) needs a query string")?;
    let options = arguments.get(1);
    let option = |name: &str| {
        options
            .and_then(|it| it.get(name))
            .filter(|it| !it.is_null())
    };
    let limit = match option("limit") {
        None => DEFAULT_LIMIT,
        Some(limit) => limit
            .as_u64()
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0)
            .ok_or("the limit of searchTools() must be a positive integer")?,
    };
    let namespace = match option("namespace") {
        None => None,
        Some(Value::String(name)) => Some(name.as_str()).filter(|name| !name.is_empty()),
        Some(_) => return Err("the namespace of searchTools() must be a string".to_owned()),
    };
    let candidates: Vec<RegisteredTool> = tools
        .iter()
        .filter(|tool| namespace.is_none_or(|name| is_in_namespace(tool, name)))
        .cloned()
        .collect();
    let found = rank_tools(query, &candidates, limit).into_iter();
    let found = found.filter_map(|position| candidates.get(position));
    Ok(found
        .map(|tool| json!({ "name": identifier(tool.name()), "description": describe(tool) }))
        .collect())
}

fn describe_tool(arguments: &[Value], tools: &[RegisteredTool]) -> Result<Option<Value>, String> {
    let name = text_argument(arguments, "describeTool(name) needs the name of a tool")?;
    let mut tools = tools.iter();
    let tool = tools.find(|tool| tool.name() == name || identifier(tool.name()) == name);
    Ok(tool.map(|tool| describe(tool).into()))
}

fn describe_namespace(
    arguments: &[Value],
    tools: &[RegisteredTool],
) -> Result<Option<Value>, String> {
    let name = text_argument(
        arguments,
        "describeNamespace(name) needs the name of a namespace",
    )?;
    let members: Vec<&RegisteredTool> = tools
        .iter()
        .filter(|tool| is_in_namespace(tool, name))
        .collect();
    let first = members
        .first()
        .and_then(|tool| tool.metadata.namespace.as_ref());
    let Some(namespace) = first else {
        return Ok(None);
    };
    let mut described = json!({ "name": namespace.name });
    let texts = [
        ("description", &namespace.description),
        ("instructions", &namespace.instructions),
    ];
    for (key, text) in texts {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty())
            && let Some(fields) = described.as_object_mut()
        {
            fields.insert(key.to_owned(), text.into());
        }
    }
    let names: Vec<String> = members.iter().map(|tool| identifier(tool.name())).collect();
    if let Some(fields) = described.as_object_mut() {
        fields.insert("tools".to_owned(), names.into());
    }
    Ok(Some(described))
}

/// Whether a name or alias of the tool's namespace is this one, as written or as an identifier.
fn is_in_namespace(tool: &RegisteredTool, name: &str) -> bool {
    let Some(namespace) = &tool.metadata.namespace else {
        return false;
    };
    let id = identifier(name);
    let aliases = namespace.aliases.iter().flatten();
    let mut names = std::iter::once(&namespace.name).chain(aliases);
    names.any(|known| known == name || identifier(known) == id)
}
