//! The body of a `GenerateContent` request.

use std::borrow::Cow;

use pi_protocol::{ProviderError, Tool, ToolChoice, transcript};
use serde::Serialize;
use serde_json::Value;

use super::contents::{RequestPart, Turn, contents};
use super::family::{requires_call_ids, supports_strict_tools};
use super::thinking::{ThinkingConfig, thinking_config};
use crate::constrained_sampling::strict_parameters;
use crate::options::ModelRequest;
use crate::token_limits;
use crate::transform::{self, tool_ids};
use crate::wire::to_json_value;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerateContentRequest<'a> {
    contents: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[FunctionTools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    generation_config: GenerationConfig,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: Cow<'a, Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: FunctionCallingConfig,
}

#[derive(Debug, Serialize)]
struct FunctionCallingConfig {
    mode: CallingMode,
}

/// How the model may use tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum CallingMode {
    Auto,
    Any,
    None,
    /// Like `Auto`, but a call must match its schema.
    Validated,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

pub(crate) fn request_body(request: &ModelRequest) -> Result<Value, ProviderError> {
    let model = &request.model;
    let resolved = transcript::resolve(&request.messages, false);
    let instruction = resolved
        .first()
        .and_then(|message| message.as_system())
        .map(transcript::system_text)
        .filter(|text| !text.is_empty());
    let messages = transform::hand_off(
        resolved,
        model,
        &|id, _| tool_ids::google(id, requires_call_ids(&model.id)),
        request.env.now_ms(),
    );
    let tools = transcript::current_tools(&request.messages);
    let declared = declare(&tools, supports_strict_tools(&model.id))?;
    let mode = calling_mode(request, &declared);
    let body = GenerateContentRequest {
        contents: contents(&messages, model),
        system_instruction: instruction.map(|text| Turn::user(vec![RequestPart::text(text)])),
        tools: (!tools.is_empty()).then(|| {
            [FunctionTools {
                function_declarations: declared.declarations,
            }]
        }),
        tool_config: mode.map(|mode| ToolConfig {
            function_calling_config: FunctionCallingConfig { mode },
        }),
        generation_config: GenerationConfig {
            temperature: request.options.temperature,
            max_output_tokens: token_limits::output_limit(request),
            thinking_config: thinking_config(request)?,
        },
    };
    to_json_value(&body)
}

struct DeclaredFunctions<'a> {
    declarations: Vec<FunctionDeclaration<'a>>,
    any_strict: bool,
}

fn declare(tools: &[Tool], api_is_strict: bool) -> Result<DeclaredFunctions<'_>, ProviderError> {
    let mut any_strict = false;
    let mut declarations = Vec::with_capacity(tools.len());
    for tool in tools {
        let strict = strict_parameters(tool, api_is_strict)?;
        any_strict |= strict.is_some();
        declarations.push(FunctionDeclaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: const_as_enum(
                strict.map_or(Cow::Borrowed(&tool.parameters), Cow::Owned),
            ),
        });
    }
    Ok(DeclaredFunctions {
        declarations,
        any_strict,
    })
}

/// Keywords whose values are schemas by name.
const SCHEMA_MAPS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose value is a schema or a list of schemas.
const SUBSCHEMAS: [&str; 16] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// Replaces `const` by an `enum` with one value: Gemini ignores the former.
fn const_as_enum(schema: Cow<'_, Value>) -> Cow<'_, Value> {
    if !pi_protocol::json::value_to_string(&schema).contains("\"const\"") {
        return schema;
    }
    let mut schema = schema.into_owned();
    replace_const(&mut schema);
    Cow::Owned(schema)
}

fn replace_const(schema: &mut Value) {
    let fields = match schema {
        Value::Array(schemas) => {
            schemas.iter_mut().for_each(replace_const);
            return;
        }
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (keyword, value) in fields.iter_mut() {
        if SUBSCHEMAS.contains(&keyword.as_str()) {
            replace_const(value);
        } else if SCHEMA_MAPS.contains(&keyword.as_str()) {
            let schemas = value.as_object_mut().into_iter();
            schemas
                .flat_map(|schemas| schemas.values_mut())
                .for_each(replace_const);
        }
    }
    let is_replaced = |value: &Value| value.is_string() || value.is_number();
    if !fields.contains_key("enum") && fields.get("const").is_some_and(is_replaced) {
        let value = fields.shift_remove("const").unwrap_or_default();
        fields.insert("enum".to_owned(), Value::Array(vec![value]));
    }
}

/// Returns the calling mode: `none` or `any` win, then strict schemas, then `auto`.
fn calling_mode(request: &ModelRequest, tools: &DeclaredFunctions<'_>) -> Option<CallingMode> {
    if tools.declarations.is_empty() {
        return None;
    }
    let chosen = match request.options.provider_option("toolChoice") {
        Some(choice) => Some(match choice.as_str() {
            Some("none") => CallingMode::None,
            Some("any") => CallingMode::Any,
            _ => CallingMode::Auto,
        }),
        None => request.options.tool_choice.map(|choice| match choice {
            ToolChoice::Auto => CallingMode::Auto,
            ToolChoice::None => CallingMode::None,
        }),
    };
    match chosen {
        Some(CallingMode::None | CallingMode::Any) => chosen,
        _ if tools.any_strict => Some(CallingMode::Validated),
        _ => chosen,
    }
}
