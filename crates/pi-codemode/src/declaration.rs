//! TypeScript declarations of tools, as scripts and the model read them.

mod schema_type;

use pi_core::RegisteredTool;
use serde_json::{Value, json};

pub(crate) use schema_type::schema_type;

/// Characters of the type of arguments; longer ones lose their constraints, then everything.
const MAX_INPUT_CHARS: usize = 16_000;

/// Returns the name of a tool or namespace as an identifier: invalid characters become `_`.
pub(crate) fn identifier(name: &str) -> String {
    let mut id = String::with_capacity(name.len());
    for character in name.chars() {
        let is_valid = character.is_ascii_alphabetic()
            || matches!(character, '_' | '$')
            || (character.is_ascii_digit() && !id.is_empty());
        id.push(if is_valid { character } else { '_' });
    }
    if id.is_empty() {
        id.push('_');
    }
    id
}

/// Returns the type of what a call resolves to. A tool without a schema resolves to its text.
pub(crate) fn output_type(tool: &RegisteredTool) -> String {
    schema_type(&output_schema(tool), None)
}

pub(crate) fn output_schema(tool: &RegisteredTool) -> Value {
    let schema = tool.metadata.output_schema.clone();
    schema.unwrap_or_else(|| json!({ "type": "string" }))
}

/// Returns description, rules and declaration of a tool.
pub(crate) fn describe(tool: &RegisteredTool) -> String {
    let declaration = tool.tool.declaration();
    let mut text = declaration.description.trim().to_owned();
    let mut separator = "\n\n";
    for rule in &tool.guidelines {
        let rule = rule.trim();
        if !rule.is_empty() {
            text.push_str(separator);
            text.push_str("- ");
            text.push_str(rule);
            separator = "\n";
        }
    }
    let arguments = schema_type(&declaration.parameters, Some(MAX_INPUT_CHARS));
    let id = identifier(&declaration.name);
    let output = output_type(tool);
    format!(
        "{text}\n\nIn a script:\n```ts\n\
         declare const tools: {{ {id}(args: {arguments}): Promise<{output}>; }};\n```"
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_become_identifiers() {
        for (name, id) in [
            ("read", "read"),
            ("odd-name", "odd_name"),
            ("1st", "_st"),
            ("mcp__a.b", "mcp__a_b"),
            ("größe", "gr__e"),
            ("", "_"),
        ] {
            assert_eq!(identifier(name), id);
        }
    }
}
