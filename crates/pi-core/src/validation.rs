//! Validates tool arguments against the tool's schema, after coercing common mistakes of models.
//!
//! Models send numbers as strings, `null` for omitted values, and booleans as words. Where the
//! schema makes the meaning clear, such values are coerced; every other fault is reported to
//! the model with its place. Schemas are plain JSON Schema, whatever built them.

mod coerce;
mod faults;
mod validator;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_protocol::Tool as ToolDeclaration;
use pi_protocol::json::JsonObject;
use serde_json::Value;
use thiserror::Error;

use validator::Validator;

/// Arguments that do not match the schema, with a message for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Validation failed for tool \"{tool}\":\n{violations}\n\nReceived arguments:\n{received}")]
pub struct ArgumentError {
    tool: String,
    violations: String,
    received: String,
}

/// Compiled schemas by tool, since a tool is called many times.
#[derive(Debug, Default)]
pub(crate) struct Validators(Mutex<HashMap<String, CompiledSchema>>);

#[derive(Debug)]
struct CompiledSchema {
    schema: Value,
    validator: Arc<Validator>,
}

impl Validators {
    /// Coerces the arguments and validates them.
    pub(crate) fn check(
        &self,
        tool: &ToolDeclaration,
        arguments: JsonObject,
    ) -> Result<JsonObject, ArgumentError> {
        // An invalid schema is the tool's bug; its arguments are passed through unchecked.
        let validator = self.compiled(tool).inspect_err(|error| {
            tracing::warn!(tool = tool.name, %error, "cannot compile tool schema");
        });
        check_with(validator.ok().as_deref(), tool, arguments)
    }

    fn compiled(&self, tool: &ToolDeclaration) -> Result<Arc<Validator>, String> {
        let mut known = self.0.lock();
        if let Some(compiled) = known.get(&tool.name)
            && compiled.schema == tool.parameters
        {
            return Ok(Arc::clone(&compiled.validator));
        }
        let validator = Arc::new(Validator::new(&tool.parameters)?);
        let compiled = CompiledSchema {
            schema: tool.parameters.clone(),
            validator: Arc::clone(&validator),
        };
        known.insert(tool.name.clone(), compiled);
        Ok(validator)
    }
}

/// Coerces the arguments of one call and validates them.
pub fn validate_arguments(
    tool: &ToolDeclaration,
    arguments: JsonObject,
) -> Result<JsonObject, ArgumentError> {
    Validators::default().check(tool, arguments)
}

fn check_with(
    validator: Option<&Validator>,
    tool: &ToolDeclaration,
    arguments: JsonObject,
) -> Result<JsonObject, ArgumentError> {
    let received = Value::Object(arguments);
    let coerced = coerce::coerce(received.clone(), &tool.parameters);
    let violations = validator.map_or_else(Vec::new, |validator| {
        violations(&coerced, &tool.parameters, validator)
    });
    match coerced {
        Value::Object(arguments) if violations.is_empty() => Ok(arguments),
        _ => Err(ArgumentError {
            tool: tool.name.clone(),
            violations: violations.join("\n"),
            received: serde_json::to_string_pretty(&received).unwrap_or_default(),
        }),
    }
}

/// Returns a line for each fault.
fn violations(value: &Value, schema: &Value, validator: &Validator) -> Vec<String> {
    if validator.is_valid(value) {
        return Vec::new();
    }
    let faults = faults::faults(schema, value);
    if faults.is_empty() {
        // Keywords that the walk does not know.
        let errors = validator.errors(value).into_iter();
        return errors.map(|error| format!("  - root: {error}")).collect();
    }
    faults.iter().map(faults::Fault::line).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn check(schema: Value, arguments: Value) -> Result<Value, String> {
        let tool = ToolDeclaration {
            name: "probe".into(),
            description: String::new(),
            parameters: schema,
            constrained_sampling: None,
            extra: JsonObject::new(),
        };
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        validate_arguments(&tool, arguments)
            .map(Value::Object)
            .map_err(|error| error.to_string())
    }

    fn schema() -> Value {
        json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "limit": {"type": "number"}, "count": {"type": "integer"},
            "all": {"type": "boolean"}, "maybe": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
            "nothing": {"type": "null"}, "choice": {"enum": [1, "two", true]},
            "edits": {"type": "array", "items": {"type": "object", "required": ["new"],
                "properties": {"new": {"type": "string"}}}}
        }})
    }

    #[test]
    fn a_type_error_does_not_repeat_the_value() {
        for (arguments, fault) in [
            (
                json!({"path": ["ls"]}),
                "  - path: expected string, got array",
            ),
            (
                json!({"path": "a", "maybe": [1]}),
                "  - maybe: expected string or null, got array",
            ),
        ] {
            let error = check(schema(), arguments).unwrap_err();
            assert_eq!(error.lines().nth(1), Some(fault), "{error}");
        }
    }

    #[test]
    fn a_schema_is_compiled_once_until_it_changes() {
        let validators = Validators::default();
        let tool = |parameters: Value| ToolDeclaration {
            name: "probe".into(),
            description: String::new(),
            parameters,
            constrained_sampling: None,
            extra: JsonObject::new(),
        };
        let (old, new) = (tool(schema()), tool(json!({"type": "object"})));
        assert!(validators.check(&old, JsonObject::new()).is_err());
        let first = validators.compiled(&old).unwrap();
        assert!(Arc::ptr_eq(&first, &validators.compiled(&old).unwrap()));
        assert!(validators.check(&new, JsonObject::new()).is_ok());
        assert!(validators.check(&old, JsonObject::new()).is_err());
    }

    #[test]
    fn unambiguous_values_are_coerced() {
        for (given, coerced) in [
            (json!({"path": 5}), json!({"path": "5"})),
            (json!({"path": true}), json!({"path": "true"})),
            (
                json!({"path": "a", "limit": " 2.5 "}),
                json!({"path": "a", "limit": 2.5}),
            ),
            (
                json!({"path": "a", "limit": true}),
                json!({"path": "a", "limit": 1}),
            ),
            (
                json!({"path": "a", "count": "3"}),
                json!({"path": "a", "count": 3}),
            ),
            (
                json!({"path": "a", "all": "true"}),
                json!({"path": "a", "all": true}),
            ),
            (
                json!({"path": "a", "all": 0}),
                json!({"path": "a", "all": false}),
            ),
            (json!({"path": "a", "limit": null}), json!({"path": "a"})),
            (
                json!({"path": "a", "maybe": null}),
                json!({"path": "a", "maybe": null}),
            ),
            (
                json!({"path": "a", "limit": "", "all": "TRUE"}),
                json!({"path": "a", "limit": 0, "all": true}),
            ),
            (
                json!({"path": "a", "limit": "0x10", "count": 2.5}),
                json!({"path": "a", "limit": 16, "count": 2}),
            ),
            // The first branch of a union that fits after the conversion.
            (
                json!({"path": "a", "either": "true"}),
                json!({"path": "a", "either": 1}),
            ),
            (
                json!({"path": "a", "edits": {"new": 7}}),
                json!({"path": "a", "edits": [{"new": "7"}]}),
            ),
            (
                json!({"path": "a", "nothing": "undefined", "choice": "true"}),
                json!({"path": "a", "nothing": null, "choice": 1}),
            ),
            (
                json!({"path": "a", "edits": [{"new": 7}]}),
                json!({"path": "a", "edits": [{"new": "7"}]}),
            ),
            (
                json!({"path": "a", "extra": {"kept": 1}}),
                json!({"path": "a", "extra": {"kept": 1}}),
            ),
        ] {
            assert_eq!(check(schema(), given.clone()), Ok(coerced), "{given}");
        }
    }

    #[test]
    fn other_violations_are_reported_with_their_path() {
        for (given, path) in [
            (json!({}), "  - path: "),
            (json!({"path": null}), "  - path: "),
            (json!({"path": ["a"]}), "  - path: "),
            (json!({"path": "a", "limit": "two"}), "  - limit: "),
            (json!({"path": "a", "count": {}}), "  - count: "),
            (json!({"path": "a", "edits": [{}]}), "  - edits.0.new: "),
        ] {
            let error = check(schema(), given.clone()).unwrap_err();
            assert!(error.contains(path), "{given}: {error}");
            assert!(error.contains("\"probe\""), "{error}");
        }
    }

    #[test]
    fn faults_are_named_in_the_order_of_the_schema() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["kind", "size"],
            "properties": {
                "kind": {"enum": ["rose", "lily"]},
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
                "mail": {"type": "string", "format": "email"},
                "step": {"type": "number", "multipleOf": 5},
                "beds": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "object",
                    "required": ["row"], "properties": {"row": {"type": "integer"}}}},
                "either": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"],
                    "properties": {"a": {"type": "boolean"}}}]},
                "literal": {"anyOf": [{"const": "x"}, {"const": 3}]},
                "again": {"$ref": "#/properties/size"},
                "notes": {"type": "object", "additionalProperties": false,
                    "patternProperties": {"^n": {"type": "integer"}}}}});
        for (given, expected) in [
            (json!({}), vec!["kind: missing", "size: missing"]),
            (
                json!({"more": 2, "size": 12, "kind": "weed"}),
                vec![
                    r#"kind: expected one of ["rose","lily"]"#,
                    "size: expected <= 9",
                    "more: unknown field",
                ],
            ),
            (
                json!({"kind": "rose", "size": 3, "name": "TOOLONG", "mail": "x", "step": 7}),
                vec![
                    "name: expected at most 4 characters",
                    "name: expected to match ^[a-z]+$",
                    "mail: expected format email",
                    "step: expected a multiple of 5",
                ],
            ),
            (
                json!({"kind": "rose", "size": 3, "beds": [{"row": 1}, {"row": "two"}, {}]}),
                vec![
                    "beds.1.row: expected integer, got string",
                    "beds.2.row: missing",
                    "beds: expected at most 2 items",
                ],
            ),
            (
                json!({"kind": "rose", "size": 3, "either": {"b": 1}, "literal": "y", "again": 0}),
                vec![
                    "either.a: missing",
                    r#"literal: expected one of ["x",3]"#,
                    "again: expected >= 1",
                ],
            ),
            (
                json!({"kind": "rose", "size": 3, "notes": {"n1": "4", "n2": "z", "m": 1}}),
                vec![
                    "notes.n2: expected integer, got string",
                    "notes.m: unknown field",
                ],
            ),
        ] {
            let error = check(schema.clone(), given.clone()).unwrap_err();
            let (faults, _) = error.split_once("\n\n").unwrap();
            let faults = faults.lines().skip(1);
            let faults: Vec<_> = faults
                .filter_map(|line| line.strip_prefix("  - "))
                .collect();
            assert_eq!(faults, expected, "{given}");
        }
    }

    #[test]
    fn a_reference_that_leads_to_itself_ends() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}},
            "required": ["b"]});
        let error = check(schema, json!({"a": 1})).unwrap_err();
        assert!(error.contains("  - b: missing"), "{error}");
        let schema = json!({"$ref": "#"});
        assert!(check(schema, json!({"a": 1})).is_ok());
    }

    #[test]
    fn patterns_with_lookaround_are_checked() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string", "pattern": r"^(?!/)\S+$"},
            "either": {"anyOf": [{"type": "string", "pattern": r"^(a)\1$"}, {"type": "integer"}]},
            "notes": {"type": "object", "additionalProperties": false,
                "patternProperties": {"^(?!_)": {"type": "integer"}}}}});
        for (arguments, fault) in [
            (
                json!({"path": "/etc"}),
                r"path: expected to match ^(?!/)\S+$",
            ),
            (
                json!({"either": "ab"}),
                r"either: expected to match ^(a)\1$",
            ),
            (json!({"notes": {"_a": 1}}), "notes._a: unknown field"),
        ] {
            let error = check(schema.clone(), arguments).unwrap_err();
            assert!(error.contains(fault), "{error}");
        }
        for arguments in [
            json!({"path": "etc"}),
            json!({"either": "aa"}),
            json!({"notes": {"a": 1}}),
        ] {
            assert_eq!(check(schema.clone(), arguments.clone()), Ok(arguments));
        }
    }

    #[test]
    fn keywords_that_the_walk_does_not_know_are_checked() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}},
            "dependentRequired": {"a": ["b"]}, "not": {"required": ["c"]}});
        for arguments in [json!({"a": "x"}), json!({"c": "x"})] {
            let error = check(schema.clone(), arguments).unwrap_err();
            assert!(error.contains("  - root: "), "{error}");
        }
        assert!(check(schema, json!({"a": "x", "b": 1})).is_ok());
    }

    #[test]
    fn references_to_files_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("never.json");
        std::fs::File::create(&file)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"false"))
            .unwrap();
        let schema = json!({"$ref": format!("file://{}", file.display())});
        assert_eq!(check(schema, json!({"a": 1})), Ok(json!({"a": 1})));
    }

    #[test]
    fn arguments_pass_if_the_schema_is_invalid() {
        let broken = json!({"type": "no such type"});
        assert_eq!(check(broken, json!({"a": 1})), Ok(json!({"a": 1})));
    }
}
