//! A compiled JSON Schema.

use std::fmt;

use boon::{CompileError, Compiler, Draft, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::{Map, Value, json};

use super::faults;

/// The address of the compiled schema. References to other documents are not loaded: a tool could read any file.
const ADDRESS: &str = "schema:///tool.json";

/// Keywords whose value is data and not a schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Decides whether values match a schema.
pub(super) struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
    /// The schema, if it has patterns with lookaround or backreferences, which the compiled one does not contain.
    with_other_patterns: Option<Value>,
}

impl fmt::Debug for Validator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Validator").finish_non_exhaustive()
    }
}

impl Validator {
    /// Compiles a schema, including its formats. Lists of `items` are valid only in older drafts.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        let supported = without_other_patterns(schema);
        let with_other_patterns = (supported != *schema).then(|| schema.clone());
        compile(supported.clone(), Draft::V2020_12)
            .or_else(|error| compile(supported, Draft::V7).map_err(|_older_error| error))
            .map(|(schemas, root)| Self {
                schemas,
                root,
                with_other_patterns,
            })
    }

    pub(super) fn is_valid(&self, value: &Value) -> bool {
        let result = self.schemas.validate(value, self.root);
        result.map_or_else(|error| is_only_cycle(&error), |()| true)
            && self
                .with_other_patterns
                .as_ref()
                .is_none_or(|schema| faults::faults(schema, value).is_empty())
    }

    /// Returns what the compiled schema does not accept, for keywords that the walk does not know.
    pub(super) fn errors(&self, value: &Value) -> Vec<String> {
        let Err(error) = self.schemas.validate(value, self.root) else {
            return Vec::new();
        };
        let causes = error.causes.iter().map(|cause| cause.kind.to_string());
        causes.collect()
    }
}

/// Whether a reference that leads to itself is the only error: a bug of the schema, which says nothing about the value.
fn is_only_cycle(error: &ValidationError<'_, '_>) -> bool {
    match error.kind {
        ErrorKind::RefCycle { .. } => true,
        _ => !error.causes.is_empty() && error.causes.iter().all(is_only_cycle),
    }
}

fn compile(schema: Value, draft: Draft) -> Result<(Schemas, SchemaIndex), String> {
    let mut compiler = Compiler::new();
    compiler.set_default_draft(draft);
    compiler.enable_format_assertions();
    compiler.use_loader(Box::new(boon::SchemeUrlLoader::new()));
    let mut schemas = Schemas::new();
    let problem = |error: CompileError| error.to_string();
    compiler.add_resource(ADDRESS, schema).map_err(problem)?;
    let root = compiler.compile(ADDRESS, &mut schemas).map_err(problem)?;
    Ok((schemas, root))
}

/// Whether a text meets a keyword; an invalid pattern and an unknown format are met.
pub(super) fn is_met(keyword: &str, expected: &str, text: &str) -> bool {
    if keyword == "pattern" && !is_regular(expected) {
        // A pattern that takes too long is met as well.
        let regex = fancy_regex::Regex::new(expected);
        return regex.map_or(true, |regex| regex.is_match(text).unwrap_or(true));
    }
    let schema = json!({ keyword: expected });
    Validator::new(&schema).map_or(true, |validator| validator.is_valid(&json!(text)))
}

/// Returns the schema without the patterns that need backtracking, and without the keywords that depend on them.
fn without_other_patterns(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(fields_without_other_patterns(fields)),
        Value::Array(items) => items.iter().map(without_other_patterns).collect(),
        other => other.clone(),
    }
}

fn fields_without_other_patterns(fields: &Map<String, Value>) -> Map<String, Value> {
    let patterns = fields.get("patternProperties").and_then(Value::as_object);
    let has_other_names =
        patterns.is_some_and(|patterns| patterns.keys().any(|pattern| !is_regular(pattern)));
    let mut kept = Map::new();
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("pattern", Value::String(pattern)) if !is_regular(pattern) => continue,
            ("patternProperties" | "additionalProperties" | "unevaluatedProperties", _)
                if has_other_names =>
            {
                continue;
            }
            (name, data) if DATA.contains(&name) => data.clone(),
            (_, nested) => without_other_patterns(nested),
        };
        kept.insert(name.clone(), value);
    }
    kept
}

/// Whether a pattern can be matched without backtracking.
fn is_regular(pattern: &str) -> bool {
    regex::Regex::new(pattern).is_ok()
}
