//! What the model reads about scripts: the description of the tool, the declarations in it, and a line for each tool
//! that is declared and can be called from a script.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pi_core::{LoadoutChanges, RegisteredTool, ToolExposure, ToolLoadout, ToolNamespace};
use pi_protocol::settings::{CodeMode, CodemodeSettings};
use serde_json::Value;

use crate::declaration::{describe, identifier, output_schema, output_type};
use crate::tool::NAME;

/// Characters per token in the estimate of a declaration.
const CHARS_PER_TOKEN: usize = 4;

const INTRODUCTION: &str = r#"Run JavaScript that calls other tools. Pass the source as it is: no JSON, no code fence. It runs as the body of an async function, so `await` and `return` work at the top level. The sandbox has the language and the globals below; it has no modules, files, network, timers or Node API.
- `await tools.<name>({ ... })` runs a tool. It resolves to the tool's text, or to the object in its declaration, and rejects with an Error if the tool fails. A tool that declares an object resolves to it even if it reports a failure, so check its fields.
- Start independent calls together, with `Promise.all` or `Promise.allSettled`. Calls that are still running when the script ends are canceled.
- The first line may set limits: `// @options: {"max_output_tokens": 10000, "timeout_ms": 60000}`

Globals:
- `text(value)`, `console.log(...)` and the returned value are the output. Several texts are numbered with `==> text N/M <==` lines; console lines follow in a `<console_output>` block.
- `image(value)` outputs an image, given as a data URL or as `{ type: "image", data, mimeType }`, and saves it to a file that the result names.
- `store(key, value)` keeps a JSON value for later scripts, `load(key)` returns it. `exit()` ends the script.
- `ALL_TOOLS`, `await searchTools(query, { limit, namespace })`, `await describeTool(name)` and `await describeNamespace(name)` find tools that are not declared to you, such as those of MCP servers, and their types.
- `models`: the catalog of models. `pi docs codemode` describes it."#;

/// Returns the description with the declarations of these tools, as far as they fit the budget.
pub(crate) fn tool_description(listed: &[&RegisteredTool], budget: usize) -> String {
    let mut text = INTRODUCTION.to_owned();
    let groups = Group::all(listed);
    if groups.iter().all(|group| group.sections.is_empty()) {
        return text;
    }
    let shown = select_sections(&groups, budget);
    text.push_str("\n\nTools for scripts:");
    for group in &groups {
        let visible = group
            .sections
            .iter()
            .filter(|section| shown.contains(section.name));
        let visible: Vec<&Section<'_>> = visible.collect();
        if let Some(namespace) = group.namespace {
            text.push_str("\n\n## ");
            text.push_str(&namespace.name);
            text.push_str(match visible.len() {
                count if count == group.sections.len() => "",
                0 => " (search for its tools)",
                _ => " (search for its other tools)",
            });
            let description = namespace.description.as_deref().unwrap_or_default().trim();
            if !description.is_empty() {
                text.push('\n');
                text.push_str(description);
            }
        }
        for section in visible {
            text.push_str("\n\n");
            text.push_str(&section.text);
        }
        if group.namespace.is_none() && group.sections.iter().any(|it| !shown.contains(it.name)) {
            text.push_str("\n\nSearch for further tools.");
        }
    }
    text
}

/// The listed tools of a namespace, or those without one.
struct Group<'a> {
    namespace: Option<&'a ToolNamespace>,
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: &'a str,
    text: String,
    /// Estimated tokens.
    cost: usize,
}

impl<'a> Group<'a> {
    /// Groups tools: those without a namespace, then the namespaces by name.
    fn all(tools: &[&'a RegisteredTool]) -> Vec<Self> {
        let mut groups: BTreeMap<Option<&str>, Self> = BTreeMap::new();
        for tool in tools {
            let namespace = tool.metadata.namespace.as_ref();
            let key = namespace.map(|namespace| namespace.name.as_str());
            let group = groups.entry(key).or_insert_with(|| Self {
                namespace,
                sections: Vec::new(),
            });
            group.sections.push(Section::of(tool));
        }
        groups.into_values().collect()
    }
}

impl<'a> Section<'a> {
    fn of(tool: &'a RegisteredTool) -> Self {
        let name = tool.name();
        let id = identifier(name);
        let heading = if id == name {
            format!("### `{id}`")
        } else {
            format!("### `{id}` (`{name}`)")
        };
        let text = format!("{heading}\n{}", describe(tool));
        let cost = text.encode_utf16().count().div_ceil(CHARS_PER_TOKEN);
        Self { name, text, cost }
    }
}

/// Selects the sections that fit the budget. In each round every group adds its cheapest section that is left, so that
/// each is represented before one is complete; a group ends with the first section that does not fit.
fn select_sections<'a>(groups: &'a [Group<'_>], budget: usize) -> BTreeSet<&'a str> {
    let mut queues: Vec<VecDeque<&Section<'_>>> = groups
        .iter()
        .map(|group| {
            let mut queue: Vec<_> = group.sections.iter().collect();
            pi_protocol::sort_by_key(&mut queue, |section| section.cost);
            queue.into()
        })
        .collect();
    let mut left = budget;
    let mut shown = BTreeSet::new();
    while !queues.is_empty() {
        queues.retain_mut(|queue| {
            let Some(section) = queue.pop_front().filter(|section| section.cost <= left) else {
                return false;
            };
            left -= section.cost;
            shown.insert(section.name);
            true
        });
    }
    shown
}

/// Returns how the active tools are presented while the tool is active.
pub(crate) fn prepare_loadout(
    loadout: &ToolLoadout,
    settings: &CodemodeSettings,
) -> LoadoutChanges {
    let is_only = settings.mode() == CodeMode::Only;
    let callable: Vec<&RegisteredTool> = callable_tools(&loadout.callable).collect();
    let is_callable = |name: &str| callable.iter().any(|tool| tool.name() == name);
    let is_direct = |tool: &RegisteredTool| tool.metadata.exposure == ToolExposure::Direct;
    let mut changes = LoadoutChanges::default();
    for tool in loadout
        .declared
        .iter()
        .filter(|tool| is_callable(tool.name()))
    {
        let name = tool.name().to_owned();
        if is_only {
            if is_direct(tool) {
                changes.hidden.push(name);
            }
        } else {
            changes.descriptions.insert(name, with_script_line(tool));
        }
    }
    // By exposure, not by whether a tool is active: a tool that a search loads changes no other description.
    let listed: Vec<&RegisteredTool> = callable
        .into_iter()
        .filter(|tool| match tool.metadata.exposure {
            ToolExposure::Deferred => false,
            ToolExposure::Direct => is_only,
            _ => true,
        })
        .collect();
    let budget = usize::try_from(settings.inline_budget()).unwrap_or(usize::MAX);
    let description = tool_description(&listed, budget);
    changes.descriptions.insert(NAME.to_owned(), description);
    changes
}

/// Returns the tools that scripts may call: all but this one.
pub(crate) fn callable_tools(tools: &[RegisteredTool]) -> impl Iterator<Item = &RegisteredTool> {
    tools.iter().filter(|tool| tool.name() != NAME)
}

/// Returns the description of a declared tool with a line about its use in scripts.
fn with_script_line(tool: &RegisteredTool) -> String {
    let description = tool.tool.declaration().description.trim();
    let id = identifier(tool.name());
    let output = output_summary(tool);
    format!("{description}\n\nIn codemode, `tools.{id}(args)` resolves to {output}.")
}

/// Describes what a call resolves to in one line.
fn output_summary(tool: &RegisteredTool) -> String {
    let output = output_type(tool);
    if output == "string" {
        return "a string".to_owned();
    }
    let schema = output_schema(tool);
    if let Some(fields) = field_names(&schema, 1).or_else(|| variant_fields(&schema)) {
        return format!("`{fields}`");
    }
    if output.contains('\n') {
        let name = Value::from(tool.name());
        return format!("a value of the type that `await describeTool({name})` returns");
    }
    format!("`{output}`")
}

/// Returns the fields of an object, with the values of constants and the fields of inner objects to a depth.
fn field_names(schema: &Value, depth: usize) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return None;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten();
        names.any(|required| required.as_str() == Some(name))
    };
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, field)| {
            let mark = if is_required(name) { "" } else { "?" };
            let inner = match field.get("const") {
                Some(value) => Some(value.to_string()),
                None => depth
                    .checked_sub(1)
                    .and_then(|depth| field_names(field, depth)),
            };
            match inner {
                Some(inner) => format!("{name}{mark}: {inner}"),
                None => format!("{name}{mark}"),
            }
        })
        .collect();
    Some(format!("{{ {} }}", fields.join(", ")))
}

/// Returns the fields of each variant of a union of objects.
fn variant_fields(schema: &Value) -> Option<String> {
    let variants = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    let variants = variants.and_then(Value::as_array)?;
    let fields: Option<Vec<String>> = variants.iter().map(|it| field_names(it, 0)).collect();
    fields
        .filter(|fields| !fields.is_empty())
        .map(|fields| fields.join(" | "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::BoxFuture;
    use pi_core::{Tool, ToolContext, ToolError};
    use pi_protocol::json::JsonObject;
    use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    struct Named(ToolDeclaration);

    impl Tool for Named {
        fn declaration(&self) -> &ToolDeclaration {
            &self.0
        }

        fn call(
            &self,
            _cx: ToolContext,
            _arguments: JsonObject,
        ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
            Box::pin(std::future::ready(Ok(ToolOutput::text(""))))
        }
    }

    fn tool(name: &str, exposure: ToolExposure, namespace: Option<&str>) -> RegisteredTool {
        let mut tool = RegisteredTool::new(Arc::new(Named(ToolDeclaration {
            name: name.to_owned(),
            description: format!("About {name}."),
            parameters: json!({"type": "object", "properties": {}}),
            constrained_sampling: None,
            extra: JsonObject::new(),
        })));
        tool.metadata.exposure = exposure;
        tool.metadata.namespace = namespace.map(|name| ToolNamespace {
            name: name.to_owned(),
            aliases: None,
            description: Some(format!("All of {name}.")),
            instructions: None,
        });
        tool
    }

    #[test]
    fn every_namespace_is_represented_within_the_budget() {
        let tools = [
            tool("b_one", ToolExposure::Codemode, Some("b")),
            tool("plain-one", ToolExposure::Codemode, None),
            tool("a_much_longer_name", ToolExposure::Codemode, Some("a")),
            tool("a_one", ToolExposure::Codemode, Some("a")),
        ];
        let tools: Vec<&RegisteredTool> = tools.iter().collect();
        let all = tool_description(&tools, 10_000);
        let headings: Vec<&str> = all.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(
            headings,
            [
                "### `plain_one` (`plain-one`)",
                "## a",
                "### `a_much_longer_name`",
                "### `a_one`",
                "## b",
                "### `b_one`",
            ]
        );
        let section = Section::of(tools[1]).cost;
        let few = tool_description(&tools, 3 * section);
        assert!(
            few.contains("## a (search for its other tools)\nAll of a."),
            "{few}"
        );
        assert!(
            few.contains("### `a_one`") && few.contains("### `b_one`"),
            "{few}"
        );
        let none = tool_description(&tools, 0);
        assert!(none.contains("## b (search for its tools)"), "{none}");
        assert!(!none.contains("###"), "{none}");
        assert_eq!(tool_description(&[], 10_000), INTRODUCTION);
    }

    #[test]
    fn modes_differ_in_what_they_declare() {
        let mut shell = tool("shell", ToolExposure::Direct, None);
        shell.metadata.output_schema = Some(json!({
            "type": "object",
            "required": ["code"],
            "properties": {
                "code": {"type": "number"},
                "kind": {"const": "x"},
                "inner": {"type": "object", "properties": {"z": {}}},
            },
        }));
        let later = tool("later", ToolExposure::Deferred, None);
        let script = tool("script", ToolExposure::Codemode, None);
        let own = tool(NAME, ToolExposure::ModelOnly, None);
        let loadout = ToolLoadout {
            declared: vec![shell.clone(), own.clone()],
            callable: vec![shell.clone(), later.clone(), script.clone()],
            registered: vec![shell, later, script, own],
        };
        let on = prepare_loadout(&loadout, &CodemodeSettings::default());
        assert!(on.hidden.is_empty());
        assert!(
            on.descriptions["shell"].ends_with(
                "`tools.shell(args)` resolves to `{ code, kind?: \"x\", inner?: { z? } }`."
            ),
            "{}",
            on.descriptions["shell"]
        );
        let listed = |changes: &LoadoutChanges, name: &str| {
            changes.descriptions[NAME].contains(&format!("### `{name}`"))
        };
        assert!(listed(&on, "script") && !listed(&on, "shell") && !listed(&on, "later"));
        let settings = CodemodeSettings {
            mode: Some(CodeMode::Only),
            ..CodemodeSettings::default()
        };
        let only = prepare_loadout(&loadout, &settings);
        assert_eq!(only.hidden, ["shell"]);
        assert!(listed(&only, "script") && listed(&only, "shell") && !listed(&only, "later"));
        assert_eq!(only.descriptions.len(), 1);
    }
}
